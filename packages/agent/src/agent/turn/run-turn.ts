// A turn from beginning to end. Whatever happens in between, it passes the one finaliser.
import { randomUUID } from "node:crypto";
import { describeCause, HermesError } from "@hermes-memory/core/lib";
import type { AgentCore } from "../core.ts";
import type { TurnResult } from "../result.ts";
import { beginTurn } from "./begin.ts";
import { finishTurn } from "./finish.ts";
import { runLoop } from "./loop.ts";
import { unlessTakenOver } from "./taken-over.ts";
import { interruptedEnd, Turn, type TurnEnd, type TurnRequest } from "./turn.ts";

export async function runTurn(core: AgentCore, request: TurnRequest): Promise<TurnResult> {
  const turn = new Turn(request.options.taskId ?? randomUUID(), request.control);
  const end = await unlessTakenOver(core, turn, await attempt(core, turn, request));
  return finishTurn(core, turn, end);
}

async function attempt(
  core: AgentCore,
  turn: Turn,
  { input, options, control }: TurnRequest,
): Promise<TurnEnd> {
  try {
    return (await beginTurn(core, turn, input, options)) ?? (await runLoop(core, turn));
  } catch (cause) {
    if (control.signal.aborted) return interruptedEnd(turn, "");
    core.parts.log.error("A turn failed", { cause });
    return {
      exit: "model_error",
      text: "",
      failed: true,
      error: describeCause(cause),
      ...(cause instanceof HermesError && cause.hint !== undefined ? { hint: cause.hint } : {}),
    };
  }
}
