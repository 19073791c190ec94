// One turn while it runs, the ways it can end before the loop has an answer, and the result that is made of it.
import { pyStrip } from "@hermes-memory/core/internal/lib";
import { type Content, type Message, textOf } from "@hermes-memory/core/internal/message";
import { type ModelFailure, promptTokens, totalTokens } from "../../models/index.ts";
import { UsageTotals } from "../model-in-use.ts";
import type { AgentParts } from "../parts.ts";
import { goneMessage, type Session, type TurnFacts } from "../session/session.ts";
import { shownContent } from "../session/transcript.ts";
import type { ClientToolCall, TurnExit, TurnResult } from "../turn-result.ts";

/** How the user reaches a running turn. */
export type TurnControl = {
  /** Aborted by an interrupt. */
  readonly signal: AbortSignal;
  /** Takes the text that was typed since the last time; undefined for none. */
  takeSteer(): string | undefined;
  /** The same for the last time: later texts are refused. */
  closeSteering(): string | undefined;
  interruptMessage(): string | null;
};

export type Turn = {
  readonly taskId: string;
  readonly control: TurnControl;
  readonly startedAtMs: number;
  /** Out of steps, the model is asked to sum up. False where no user reads it. */
  readonly wrapsUp: boolean;
  /** The caller's limit for each reply; undefined: the one in config. */
  readonly maxOutputTokens: number | undefined;
  /** Undefined also after the model has refused it. */
  temperature: number | undefined;
  /** `meta.id` of the message it answers. */
  userMessageId: string;
  /** As the user wrote it; for memory and search. */
  userText: string;
  userContent: Content;
  system: string;
  recall: string;
  /** What memory was asked, and what it found. */
  recalled: TurnFacts["recalled"];
  hookContext: string;
  /** Of the calls of this turn. */
  readonly used: UsageTotals;
  /** `meta.id`s of messages that the next request is tried without, after a refusal. */
  triedWithout: ReadonlySet<string>;
  apiCalls: number;
  lastReasoning: string | null;
  /** Estimated tokens of the last request. */
  sentEstimate: number;
};

/**
 * What the requests of a turn have besides the list. Kept while the turn waits for results of the client, so that its next request begins
 * with the same bytes. Another process asks memory again.
 */
export type Waiting = {
  turn: Pick<Turn, "userMessageId" | "recall" | "hookContext"> | undefined;
};

/** How a turn ended, before the result is made of it. */
export type TurnEnd = {
  readonly exit: TurnExit;
  readonly text: string;
  /** The exit with a detail, such as `text_response(finish_reason=stop)`. */
  readonly detail?: string | undefined;
  readonly failed?: boolean;
  readonly partial?: boolean;
  readonly interrupted?: boolean;
  readonly error?: string | undefined;
  readonly hint?: string | undefined;
  /** Of the model's call that ended the turn. */
  readonly failure?: Pick<ModelFailure, "kind" | "retryAfterMs"> | undefined;
  /** The turn waits for the results of these. */
  readonly clientCalls?: readonly ClientToolCall[];
  readonly compressionExhausted?: boolean;
  /** Nothing of the turn is in the list, so nothing is stored. */
  readonly isRefused?: boolean;
};

export function newTurn(
  taskId: string,
  control: TurnControl,
  {
    wrapsUp = true,
    maxOutputTokens,
    temperature,
  }: Partial<Pick<Turn, "wrapsUp" | "maxOutputTokens" | "temperature">> = {},
): Turn {
  return {
    taskId,
    control,
    wrapsUp,
    maxOutputTokens,
    temperature,
    startedAtMs: performance.now(),
    userMessageId: "",
    userText: "",
    userContent: "",
    system: "",
    recall: "",
    recalled: undefined,
    hookContext: "",
    used: new UsageTotals(),
    triedWithout: new Set(),
    apiCalls: 0,
    lastReasoning: null,
    sentEstimate: 0,
  };
}

/** `message`: what the turn answers. */
export function answers(turn: Turn, message: Message): void {
  turn.userMessageId = message.meta.id;
  turn.userContent = shownContent(message);
  turn.userText = pyStrip(textOf(turn.userContent));
}

/** `text`: the part of the reply that the user has read. Front ends know the other text by its beginning. */
export function interruptedEnd(turn: Turn, text: string): TurnEnd {
  const seconds = Math.round((performance.now() - turn.startedAtMs) / 1000);
  const waiting = `Operation interrupted: waiting for model response (${seconds}s elapsed).`;
  return { exit: "interrupted_by_user", text: text || waiting, interrupted: true, partial: text !== "" };
}

export function gaveUpEnd(exit: TurnExit, text: string, error: string): TurnEnd {
  return { exit, text, failed: text === "", partial: text !== "", error };
}

// A session that this process may no longer write to, or that has no such calls. Nothing of the turn is stored.

function refused(exit: TurnExit, error: string, hint: string): TurnEnd {
  return { exit, text: "", failed: true, error, hint, isRefused: true };
}

export function sessionBusy(error: string): TurnEnd {
  return refused("session_busy", error, "Wait until its turn is over, or begin another session with /new.");
}

/** The lease could not be asked for when the turn began, and later another process had it. */
export function sessionFoundBusy(busy: string): TurnEnd {
  const error = `${busy} This was not known when the turn began, because the session database could not be used. Nothing of the turn is stored.`;
  return refused("session_busy", error, "Send the message again when the other process is done.");
}

export function sessionTakenOver(sessionId: string): TurnEnd {
  const error = `Another process has taken over session ${sessionId} while this one was not running. The messages from before that are stored.`;
  return refused("session_busy", error, "Send the message again: the session is read anew first.");
}

export function sessionGone(sessionId: string): TurnEnd {
  const hint = "Begin a new one with /new, or go on with another one with /resume.";
  return refused("session_gone", goneMessage(sessionId), hint);
}

export function noOpenCalls(sessionId: string): TurnEnd {
  const error = `The newest reply of session ${sessionId} made none of the calls that these results answer.`;
  const hint =
    "Send the results with the ids of the calls, before any other message; or send the user's next message.";
  return refused("no_open_calls", error, hint);
}

export function toResult(
  {
    session,
    model,
    engine,
    maxTurns,
  }: Pick<AgentParts, "model" | "engine"> & { readonly session: Session; readonly maxTurns: number },
  turn: Turn,
  end: TurnEnd,
  shown: string,
): TurnResult {
  const { usage, costUsd, lastCost } = session.usage;
  const failed = end.failed ?? false;
  const { loss } = session;
  return {
    final_response: shown,
    last_reasoning: turn.lastReasoning,
    messages: session.messages,
    client_tool_calls: end.clientCalls ?? [],
    api_calls: turn.apiCalls,
    completed:
      end.text !== "" &&
      !failed &&
      !end.interrupted &&
      !end.partial &&
      end.clientCalls === undefined &&
      turn.apiCalls <= maxTurns,
    turn_exit_reason: end.detail ?? end.exit,
    exit: end.exit,
    failed,
    partial: end.partial ?? false,
    interrupted: end.interrupted ?? false,
    error: end.error ?? loss ?? null,
    hint: end.hint ?? (loss === undefined ? null : "Close the agent before its store or its memory."),
    error_kind: end.failure?.kind ?? null,
    retry_after_seconds: end.failure?.retryAfterMs === undefined ? null : end.failure.retryAfterMs / 1000,
    response_transformed: shown !== end.text,
    model: model.identity.model,
    provider: model.identity.provider,
    base_url: model.address,
    input_tokens: usage.input,
    output_tokens: usage.output,
    cache_read_tokens: usage.cacheRead,
    cache_write_tokens: usage.cacheWrite,
    reasoning_tokens: usage.reasoning,
    prompt_tokens: promptTokens(usage),
    completion_tokens: usage.output,
    total_tokens: totalTokens(usage),
    last_prompt_tokens: Math.max(0, engine.lastPromptTokens),
    estimated_cost_usd: costUsd,
    cost_status: lastCost.status,
    cost_source: lastCost.source,
    session_id: session.id,
    compression_exhausted: end.compressionExhausted ?? false,
    pending_steer: turn.control.closeSteering() ?? null,
    interrupt_message: end.interrupted ? turn.control.interruptMessage() : null,
  };
}
