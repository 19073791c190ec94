// Failed calls of the model: the turn shortens the request, continues a reply that broke off, leaves out messages that the
// provider refuses to read, or ends.
import { isRefused, type Message, toolCallsOf } from "@hermes-memory/core/internal/message";
import type { ModelFailure } from "../../models/index.ts";
import type { CompactDeps } from "../session/compact.ts";
import { judge, type Troubles } from "./judge.ts";
import { shrinkAfterOverflow } from "./keep-within-window.ts";
import type { Draft } from "./model-call.ts";
import { gaveUpEnd, interruptedEnd, type Turn, type TurnEnd } from "./turn-state.ts";

export type FailureDeps = CompactDeps & { readonly maxTurns: number };

/** Without an `end` the model is asked again. */
export type AfterFailure = { readonly end?: TurnEnd | undefined; readonly troubles: Troubles };

/** The failures of one turn. Made with the first one. */
export class ModelFailures {
  readonly #deps: FailureDeps;
  readonly #turn: Turn;
  readonly #draft: Draft;
  /** The first request was refused with recall and a hook's text in it, and is sent again without them. */
  #refusedAdditions = false;
  /** Messages still to be left out for a try, one list after the other, while the cause of a refusal is looked for. */
  #trials: (readonly Message[])[] | undefined;
  /** Left out of the request that is under way. */
  #tried: readonly Message[] = [];

  constructor(deps: FailureDeps, turn: Turn, draft: Draft) {
    this.#deps = deps;
    this.#turn = turn;
    this.#draft = draft;
  }

  async handle(failure: ModelFailure, troubles: Troubles): Promise<AfterFailure> {
    const { session, model } = this.#deps;
    const { kind } = failure;
    const hasBegun = this.#draft.text !== "" || failure.partialText !== "";
    if (hasBegun) this.noteAccepted();
    if (kind === "overflow" || kind === "payload_too_large")
      return { end: await this.#afterOverflow(failure), troubles };
    if (kind === "reply_too_long") {
      const end = gaveUpEnd("truncated_response", this.#draft.keepText("length"), failure.message);
      return { end, troubles };
    }
    if (kind === "bad_signature" && !model.leavesOutReasoning(session.id)) {
      model.leaveOutReasoning(session.id);
      return { troubles };
    }
    const hasTemperature = this.#turn.temperature !== undefined;
    if (kind === "bad_request" && hasTemperature && /temperature/i.test(failure.message)) {
      this.#turn.temperature = undefined;
      return { troubles };
    }
    if (failure.isRetryable && hasBegun) return this.#continueReply(failure, troubles);
    // Once the reply has begun, the request was accepted, and it is the reply that was stopped.
    if (kind === "content_policy" && !hasBegun) return { end: this.#afterRefusal(failure), troubles };
    const text = this.#draft.keepText("error");
    return {
      end: { exit: "model_error", text, failed: true, partial: text !== "", error: failure.message, failure },
      troubles,
    };
  }

  /** The connection broke in the middle of the text: the user has read it, so it stays and the model continues it. */
  #continueReply(failure: ModelFailure, before: Troubles): AfterFailure {
    const { verdict, troubles } = judge({ ...CUT_OFF, text: this.#draft.text }, before);
    if (verdict.kind === "again") return { troubles }; // only blanks or scrubbed text had arrived
    if (verdict.kind === "continue") {
      this.#draft.appendPiece();
      return { troubles };
    }
    const exit = "partial_stream_recovery";
    const end = gaveUpEnd(exit, this.#draft.keepText("length"), failure.message);
    return { end: { ...end, detail: exit }, troubles };
  }

  async #afterOverflow(failure: ModelFailure): Promise<TurnEnd | undefined> {
    let end: TurnEnd | undefined;
    try {
      end = await shrinkAfterOverflow(this.#deps, this.#turn, failure);
    } catch (cause) {
      if (!this.#turn.control.signal.aborted) throw cause;
      return interruptedEnd(this.#turn, this.#draft.keepText("interrupted"));
    }
    const text = end === undefined ? "" : this.#draft.keepText("error");
    if (end !== undefined && text !== "") return { ...end, text, partial: true };
    this.#draft.discard(); // a compaction drops the pieces of a reply that has only begun
    return end;
  }

  // The provider refused to read the request. The same request would be refused in every later turn, so the cause is looked for and
  // left out from then on.

  #afterRefusal(failure: ModelFailure): TurnEnd | undefined {
    const { message } = failure;
    const turn = this.#turn;
    const { session, maxTurns } = this.#deps;
    const hasAdditions = turn.recall !== "" || turn.hookContext !== "";
    if (turn.apiCalls === 1 && hasAdditions) {
      // The user's words may be innocent: memory and hooks have added theirs to the first request.
      this.#refusedAdditions = true;
      turn.recall = "";
      turn.hookContext = "";
      return undefined;
    }
    this.#refusedAdditions = false; // they were not the cause, or not alone
    this.#trials ??= [...trials(session.messages, turn.userMessageId)];
    const next = turn.apiCalls < maxTurns ? this.#trials.shift() : undefined;
    if (next !== undefined) {
      this.#tried = next;
      turn.triedWithout = new Set(next.map(({ meta }) => meta.id));
      return undefined;
    }
    return { exit: "model_error", text: "", failed: true, error: message, failure, ...this.leaveOutUnread() };
  }

  /** A reply has begun: the messages that its request was tried without were the cause of the refusals. */
  noteAccepted(): void {
    if (this.#tried.length > 0) {
      this.#leaveOut(this.#tried);
      this.#endTrials();
    }
    if (!this.#refusedAdditions) return;
    this.#refusedAdditions = false;
    this.#deps.events.notice(
      "warn",
      `additions-refused:${this.#turn.userMessageId}`,
      "The model's provider refused the request with recalled memory in it, so this turn goes on without recall. Look through the external memory if it happens again.",
    );
  }

  /** No request was accepted: leaves out the messages that no accepted request has held. */
  leaveOutUnread(): Pick<TurnEnd, "detail" | "hint"> {
    const wasTried = this.#trials?.length === 0;
    this.#endTrials();
    const left = suspects(this.#deps.session.messages, this.#turn.userMessageId, wasTried);
    if (left.length === 0) return {};
    this.#leaveOut(left);
    return { detail: "model_error(content_policy)", hint: GO_ON_HINT };
  }

  #endTrials(): void {
    this.#trials = undefined;
    this.#tried = [];
    this.#turn.triedWithout = new Set();
  }

  #leaveOut(messages: readonly Message[]): void {
    this.#deps.session.refuse(new Set(messages.map(({ meta }) => meta.id)));
    this.#deps.events.notice("warn", `message-refused:${messages[0]?.meta.id}`, leftOutText(messages));
  }
}

const CUT_OFF = {
  finishReason: "length",
  hasReasoning: false,
  calls: undefined,
  followsTools: false,
  earlierText: "",
} as const;

// Which messages may be the cause. Pure.

/** Messages that no accepted request has held. Refused ones are not among them: requests leave them out already. */
type Unread = {
  /** The newest reply: no accepted request has held it since it was made. */
  readonly reply: readonly Message[];
  /** Left unanswered by earlier turns. */
  readonly earlier: readonly Message[];
  /** Of this turn: the user's message, or the results of the newest calls. */
  readonly own: readonly Message[];
  /** A message was refused since the newest reply. */
  readonly isRepeated: boolean;
};

function unread(messages: readonly Message[], userMessageId: string): Unread {
  const spoken = messages.filter(({ meta }) => meta.ephemeral === undefined);
  const at = spoken.findLastIndex(({ role }) => role === "assistant");
  const behind = spoken.slice(at + 1);
  const own = Math.max(
    0,
    behind.findIndex(({ meta }) => meta.id === userMessageId),
  ); // with results behind the reply, all are of this turn
  const open = (list: readonly Message[]) => list.filter((message) => !isRefused(message));
  return {
    reply: open(spoken.slice(Math.max(0, at), at + 1)),
    earlier: open(behind.slice(0, own)),
    own: open(behind.slice(own)),
    isRepeated: behind.some(isRefused),
  };
}

/**
 * The lists of messages that a refused request is tried without, before this turn's own messages are taken for the cause: the newest
 * reply, the unanswered messages of earlier turns, both. The first request that is accepted shows which messages were refused.
 */
export function trials(messages: readonly Message[], userMessageId: string): readonly (readonly Message[])[] {
  const { reply, earlier } = unread(messages, userMessageId);
  const isMixed = reply.length > 0 && earlier.length > 0;
  return [reply, earlier, ...(isMixed ? [[...reply, ...earlier]] : [])].filter(({ length }) => length > 0);
}

/**
 * The messages to leave out from now on when no trial was accepted: this turn's own. Where there were no trials (`wasTried` false: no
 * model calls were left for them) and an earlier message was refused already, all that no accepted request has held.
 */
export function suspects(
  messages: readonly Message[],
  userMessageId: string,
  wasTried: boolean,
): readonly Message[] {
  const { reply, earlier, own, isRepeated } = unread(messages, userMessageId);
  return isRepeated && !wasTried ? [...reply, ...earlier, ...own] : own;
}

function leftOutText(messages: readonly Message[]): string {
  const results = messages.filter(({ role }) => role === "tool").length;
  const typed = messages.filter(({ role }) => role === "user").length;
  const reply = messages.find(({ role }) => role === "assistant");
  const made =
    reply !== undefined && toolCallsOf(reply).length > 0
      ? "the text and arguments of the model's last calls"
      : "the model's last reply";
  const parts = [
    reply === undefined ? "" : made,
    typed === 0 ? "" : typed === 1 ? "your message" : `${typed} messages of yours`,
    results === 0 ? "" : results === 1 ? "the result of 1 tool call" : `the results of ${results} tool calls`,
  ].filter((part) => part !== "");
  const what = parts.join(" and ");
  return `The model's provider refused the request, so ${what} will be left out of later requests. The database keeps it, with a mark.`;
}

const GO_ON_HINT =
  "Go on with another message, or put this one differently. /retry sends it again, for example after /model. If everything is refused, an earlier message may be the cause: take turns back with /undo, or begin anew with /new.";
