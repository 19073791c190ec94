// What work that may refuse gives: its value, or the problem that it throws.
import { err, ok, type Result } from "@hermes-memory/core/internal/lib";
import { type GatewayProblem, ProblemError } from "../src/problem.ts";

export function attempt<T>(work: () => T): Result<T, GatewayProblem> {
  try {
    return ok(work());
  } catch (cause) {
    if (cause instanceof ProblemError) return err(cause.problem);
    throw cause;
  }
}
