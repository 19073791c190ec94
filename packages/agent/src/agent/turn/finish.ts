// The one way out of a turn: storing, hooks, providers, title, nudges, result. Every exit passes here, whatever happened.
import { describeCause } from "@hermes-memory/core/lib";
import { promptTokens, safeAddress, totalTokens } from "../../models/index.ts";
import type { AgentCore } from "../core.ts";
import type { TurnResult } from "../result.ts";
import { writeJsonSnapshot } from "../session/json-snapshot.ts";
import { quietly } from "./begin.ts";
import type { Turn, TurnEnd } from "./turn.ts";

export async function finishTurn(core: AgentCore, turn: Turn, end: TurnEnd): Promise<TurnResult> {
  const { transcript, hooks, manager } = core.parts;
  const isAnswered = end.text !== "" && !end.interrupted && !end.failed;
  transcript.dropEphemeral();
  if (!end.isRefused) {
    await core.flushLast();
    writeJsonSnapshot(core);
  }
  const shown = isAnswered
    ? ((await quietly(core, "transformOutput", () => hooks.transformOutput?.(end.text))) ?? end.text)
    : end.text;
  const result = toResult(core, turn, end, shown);
  if (isAnswered && !end.partial)
    manager?.finishTurn({
      session_id: core.sessionId,
      user: turn.userContent,
      assistant: end.text,
      messages: transcript.messages,
    });
  if (isAnswered) announceReview(core, turn);
  await turn.lease
    ?.release()
    .catch((cause: unknown) => core.parts.log.warn(`The lease was not given back: ${describeCause(cause)}`));
  core.lease = undefined;
  await quietly(core, "turnEnd", () => hooks.turnEnd?.(result));
  core.emit({ type: "turn-end", result });
  return result;
}

/** A flag that nobody takes stays set for the next turn. */
function announceReview(core: AgentCore, turn: Turn): void {
  const { nudges, hooks } = core.parts;
  const due = nudges.due();
  if (!(due.memory || due.skills)) return;
  if (hooks.reviewDue !== undefined) {
    const news = { sessionId: core.sessionId, ...due };
    if (core.tell("The hook reviewDue", () => hooks.reviewDue?.(news))) nudges.taken();
  } else if (core.startReview?.(turn, due)) nudges.taken();
}

function toResult(core: AgentCore, turn: Turn, end: TurnEnd, shown: string): TurnResult {
  const { totals, transcript, maxTurns, engine } = core.parts;
  const { model, provider, baseUrl } = core.model.identity;
  const { usage } = totals;
  const failed = end.failed ?? false;
  return {
    final_response: shown,
    last_reasoning: turn.lastReasoning,
    messages: transcript.messages,
    api_calls: turn.apiCalls,
    completed: end.text !== "" && !failed && !end.interrupted && !end.partial && turn.apiCalls <= maxTurns,
    turn_exit_reason: end.detail ?? end.exit,
    exit: end.exit,
    failed,
    partial: end.partial ?? false,
    interrupted: end.interrupted ?? false,
    error: end.error ?? null,
    hint: end.hint ?? null,
    response_transformed: shown !== end.text,
    model,
    provider,
    base_url: safeAddress(baseUrl),
    input_tokens: usage.input,
    output_tokens: usage.output,
    cache_read_tokens: usage.cacheRead,
    cache_write_tokens: usage.cacheWrite,
    reasoning_tokens: usage.reasoning,
    prompt_tokens: promptTokens(usage),
    completion_tokens: usage.output,
    total_tokens: totalTokens(usage),
    last_prompt_tokens: Math.max(0, engine.lastPromptTokens),
    estimated_cost_usd: totals.costUsd,
    cost_status: totals.lastCost.status,
    cost_source: totals.lastCost.source,
    session_id: core.sessionId,
    compression_exhausted: end.compressionExhausted ?? false,
    pending_steer: turn.control.closeSteering() ?? null,
    interrupt_message: end.interrupted ? turn.control.interruptMessage() : null,
  };
}
