// One turn while it runs: what it answers, what it was given, how far it has come, how it ended.

import type { Content } from "@hermes-memory/core/message";
import type { TurnExit } from "../result.ts";
import type { SessionLease } from "../session/lease.ts";
import type { RunOptions, UserInput } from "../surface.ts";

/** The user's hand on a running turn. */
export type TurnControl = {
  /** Aborted by an interrupt. */
  readonly signal: AbortSignal;
  /** What was typed since the last time, taken away; undefined for nothing. */
  takeSteer(): string | undefined;
  /** The same for the last time: from now on nothing is taken any more. */
  closeSteering(): string | undefined;
  interruptMessage(): string | null;
};

export type TurnRequest = {
  readonly input: UserInput;
  readonly options: RunOptions;
  readonly control: TurnControl;
};

export class Turn {
  readonly taskId: string;
  readonly control: TurnControl;
  readonly startedAtMs = performance.now();
  lease: SessionLease | undefined;
  /** `meta.id` of the message it answers. */
  userMessageId = "";
  /** As the user wrote it; for memory and search. */
  userText = "";
  userContent: Content = "";
  system = "";
  recall = "";
  hookContext = "";
  /** `meta.id`s of messages that the next request is tried without, after a refusal. */
  triedWithout: ReadonlySet<string> = new Set();
  apiCalls = 0;
  lastReasoning: string | null = null;
  overflows = 0;
  /** Estimated tokens of the last request. */
  sentEstimate = 0;
  /** Out of steps, the model is asked to sum up. Not where nobody reads it. */
  wrapsUp = true;

  constructor(taskId: string, control: TurnControl) {
    this.taskId = taskId;
    this.control = control;
  }
}

/** `text`: what the user had read by then. Front ends know the other text by its beginning. */
export function interruptedEnd(turn: Turn, text: string): TurnEnd {
  const seconds = Math.round((performance.now() - turn.startedAtMs) / 1000);
  const waiting = `Operation interrupted: waiting for model response (${seconds}s elapsed).`;
  return { exit: "interrupted_by_user", text: text || waiting, interrupted: true, partial: text !== "" };
}

/** How a turn ended, before anything is made of it. */
export type TurnEnd = {
  readonly exit: TurnExit;
  readonly text: string;
  /** `text_response(finish_reason=stop)`: the exit with what is worth knowing about it. */
  readonly detail?: string;
  readonly failed?: boolean;
  readonly partial?: boolean;
  readonly interrupted?: boolean;
  readonly error?: string;
  readonly hint?: string;
  readonly compressionExhausted?: boolean;
  /** Nothing of it is in the list: somebody else has the session. */
  readonly isRefused?: boolean;
};
