// What work that may refuse gives: its value, or the problem that it throws.

import { err, ok, type Result } from "@hermes-memory/core/internal/lib";
import { type GatewayProblem, ProblemError } from "../src/problem.ts";
import type { WireRequest } from "../src/wires/wire.ts";

export function attempt<T>(work: () => T): Result<T, GatewayProblem> {
  try {
    return ok(work());
  } catch (cause) {
    if (cause instanceof ProblemError) return err(cause.problem);
    throw cause;
  }
}

/** A request of a client that says nothing but its ids. */
export function requestWith(wire: WireRequest["wire"], ids: WireRequest["ids"]): WireRequest {
  const [messages, tools, unsupported] = [[], [], []];
  const limits = { maxOutputTokens: undefined, temperature: undefined };
  const plain = { model: "m", isStream: false, system: "", toolChoice: "auto", includeUsage: false } as const;
  return { wire, messages, tools, ids, unsupported, ...limits, ...plain };
}
