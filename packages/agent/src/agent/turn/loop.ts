// Calls the model and runs its tools until the turn has an answer or a reason to end. What to do with a reply is judge.ts's; here
// it is done, and after every step the list is stored.
import { basename } from "node:path";
import { type AssistantMessage, type Message, newMessage } from "@hermes-memory/core/message";
import type { ModelFailure, ModelReply } from "../../models/index.ts";
import type { AgentCore } from "../core.ts";
import { withMaskedArguments } from "../masked.ts";
import { type CheckedCall, checkCalls } from "../tools/check-calls.ts";
import { runBatch, toolMessage } from "../tools/run-calls.ts";
import { Draft } from "./draft.ts";
import { judge, NO_TROUBLES, type Troubles, type Verdict } from "./judge.ts";
import { callOnce } from "./model-call.ts";
import { GO_ON_HINT, leftOutText, suspects, trials } from "./refused.ts";
import { compactAfterTools, makeRoom } from "./room.ts";
import { isOurs, takenOver } from "./taken-over.ts";
import { interruptedEnd, type Turn, type TurnEnd } from "./turn.ts";

export async function runLoop(core: AgentCore, turn: Turn): Promise<TurnEnd> {
  const loop = new Loop(core, turn);
  for (;;) {
    const end = await loop.step();
    if (end !== undefined) return end;
  }
}

const BASE_OUTPUT_TOKENS = 4_096;
const MOST_OUTPUT_TOKENS = 32_768;

class Loop {
  readonly #core: AgentCore;
  readonly #turn: Turn;
  readonly #draft: Draft;
  #troubles: Troubles = NO_TROUBLES;
  /** Text that came with housekeeping calls only. */
  #earlierText = "";
  /** The first request was refused with recall and a hook's text in it, and is sent again without them. */
  #refusedAdditions = false;
  /** What is still to be left out for a try, while the cause of a refusal is looked for. */
  #trials: (readonly Message[])[] | undefined;
  /** Left out of the request that is under way. */
  #tried: readonly Message[] = [];

  constructor(core: AgentCore, turn: Turn) {
    this.#core = core;
    this.#turn = turn;
    this.#draft = new Draft(core, turn);
  }

  async step(): Promise<TurnEnd | undefined> {
    const core = this.#core;
    const turn = this.#turn;
    if (turn.control.signal.aborted) return this.#interrupted();
    if (!(await isOurs(turn))) return takenOver(core.sessionId);
    if (turn.apiCalls >= core.parts.maxTurns) return turn.wrapsUp ? this.#summarise() : spent(turn);
    core.parts.nudges.noteModelCall({ hasSkillTool: core.table.has("skill_manage") });
    const outcome = await callOnce(core, turn, {
      text: this.#draft.stream,
      maxOutputTokens: this.#outputTokens(),
    });
    switch (outcome.kind) {
      case "interrupted":
        return this.#interrupted();
      case "failure":
        return this.#failed(outcome.failure);
      case "reply":
        // An empty reply that a filter stopped says nothing about the request.
        if (outcome.reply.finishReason !== "content_filter" || this.#draft.text !== "") this.#noteAccepted();
        return this.#handle(outcome.reply);
      default:
        return outcome satisfies never;
    }
  }

  #noteAccepted(): void {
    if (this.#tried.length > 0) {
      this.#mark(this.#tried);
      this.#endTrials();
    }
    if (!this.#refusedAdditions) return;
    this.#refusedAdditions = false;
    this.#core.notice(
      "warn",
      `additions-refused:${this.#turn.userMessageId}`,
      "The model's provider refused the request with recalled memory in it, so this turn goes on without recall. Look through the external memory if it happens again.",
    );
  }

  async #handle(reply: ModelReply): Promise<TurnEnd | undefined> {
    const core = this.#core;
    const { message, finishReason } = reply;
    const { reasoning: thought, reasoning_details: details } = message.vendor ?? {};
    const reasoning = typeof thought === "string" ? thought : "";
    if (reasoning !== "") this.#turn.lastReasoning = reasoning;
    const { verdict, troubles } = judge(
      {
        text: this.#draft.text,
        finishReason,
        hasReasoning: reasoning !== "" || details !== undefined,
        calls: message.toolCalls.length > 0 ? checkCalls(message, core.table) : undefined,
        followsTools: core.parts.transcript.messages.at(-1)?.role === "tool",
        earlierText: this.#earlierText,
      },
      this.#troubles,
    );
    this.#troubles = troubles;
    return this.#carryOut(verdict, reply);
  }

  async #carryOut(verdict: Verdict, reply: ModelReply): Promise<TurnEnd | undefined> {
    switch (verdict.kind) {
      case "answer":
        return this.#answer(verdict, reply);
      case "run_tools":
        return this.#runTools(verdict.message, verdict.calls, reply);
      case "refuse_tools": {
        const results = verdict.results.map(({ id, name, text }) => toolMessage({ callId: id, name, text }));
        this.#core.parts.transcript.dropEphemeral();
        this.#draft.append(withMaskedArguments(this.#draft.finished(verdict.message, reply)), ...results);
        await this.#core.flush();
        this.#draft.begin();
        if (!verdict.isLast) return undefined;
        const error = "The model kept calling tools that do not exist, so the turn was ended.";
        return { exit: "invalid_tool_calls", text: "", partial: true, failed: true, error };
      }
      case "again":
        this.#draft.discard();
        return undefined;
      case "continue":
        this.#draft.appendPiece(reply.message);
        return undefined;
      case "nudge":
        this.#draft.append(
          newMessage(
            { role: "assistant", content: "(empty)", toolCalls: [] },
            { ephemeral: "empty_recovery" },
          ),
          newMessage({ role: "user", content: verdict.text }, { ephemeral: "empty_recovery" }),
        );
        return undefined;
      case "give_up":
        return this.#giveUp(verdict.exit, verdict.why);
      default:
        return verdict satisfies never;
    }
  }

  #answer(verdict: Verdict & { kind: "answer" }, reply: ModelReply): TurnEnd {
    const detail = `text_response(finish_reason=${reply.finishReason})`;
    if (verdict.isEarlier)
      return {
        exit: "fallback_prior_turn_content",
        detail: "fallback_prior_turn_content",
        text: verdict.text,
      };
    this.#core.parts.transcript.dropEphemeral();
    this.#draft.append(this.#draft.finished(reply.message, reply));
    return { exit: "text_response", detail, text: verdict.text };
  }

  async #runTools(
    message: AssistantMessage,
    calls: readonly CheckedCall[],
    reply: ModelReply,
  ): Promise<TurnEnd | undefined> {
    const core = this.#core;
    const { signal } = this.#turn.control;
    const isHousekeeping = calls.every(({ name }) => core.table.get(name)?.policy.isHousekeeping === true);
    if (this.#draft.text !== "") this.#earlierText = isHousekeeping ? this.#draft.text : "";
    else if (!isHousekeeping) this.#earlierText = "";
    core.parts.transcript.dropEphemeral(); // pieces of this reply are in its text now
    const counted = core.parts.transcript.messages.length;
    this.#draft.append(withMaskedArguments(this.#draft.finished(message, reply)));
    await core.flush();
    if (!(await isOurs(this.#turn))) return takenOver(core.sessionId);
    const results = await runBatch(core.table, calls, {
      home: core.parts.home,
      limits: core.resultLimits,
      taskId: this.#turn.taskId,
      turnId: this.#turn.userMessageId,
      sessionId: () => core.sessionId,
      messages: () => core.parts.transcript.messages,
      signal,
      onEvent: (event) => core.emit(event),
      hooks: core.parts.hooks,
    });
    for (const { spilledTo } of results)
      if (spilledTo !== undefined) core.keptResults.add(basename(spilledTo, ".txt"));
    for (const { name, kind } of results)
      if (kind !== "blocked" && kind !== "skipped") core.parts.nudges.noteTool(name);
    this.#draft.append(...results.map(toolMessage));
    this.#steer();
    await core.flush();
    this.#draft.begin();
    if (signal.aborted) return this.#interrupted();
    try {
      await compactAfterTools(core, this.#turn, counted);
    } catch (cause) {
      if (!signal.aborted) throw cause;
    }
    return undefined;
  }

  /** What the user typed meanwhile is a message of its own. */
  #steer(): void {
    const text = this.#turn.control.takeSteer();
    if (text !== undefined) this.#draft.append(newMessage({ role: "user", content: text }));
  }

  async #failed(failure: ModelFailure): Promise<TurnEnd | undefined> {
    const { kind } = failure;
    if (this.#draft.text !== "" || failure.partialText !== "") this.#noteAccepted();
    if (kind === "overflow" || kind === "payload_too_large") return this.#overflown(failure);
    if (kind === "reply_too_long") return this.#giveUp("truncated_response", failure.message);
    if (kind === "bad_signature" && this.#core.withoutReasoningIn !== this.#core.sessionId) {
      this.#core.withoutReasoningIn = this.#core.sessionId;
      return undefined;
    }
    if (failure.isRetryable && (this.#draft.text !== "" || failure.partialText !== "")) {
      // The line broke in the middle of the text: what the user has seen stays, and the model goes on from there.
      const { verdict, troubles } = judge({ ...CUT_OFF, text: this.#draft.text }, this.#troubles);
      this.#troubles = troubles;
      if (verdict.kind === "again") return undefined; // blanks, or what is kept from the user, was all there was
      if (verdict.kind === "continue") {
        this.#draft.appendPiece();
        return undefined;
      }
      const end = this.#giveUp("truncated_response", failure.message);
      return { ...end, exit: "partial_stream_recovery", detail: "partial_stream_recovery" };
    }
    const partial = this.#draft.text;
    // With words of a reply it is the reply that was stopped, and the request had been accepted.
    if (kind === "content_policy" && partial === "" && failure.partialText === "")
      return this.#refused(failure);
    if (partial !== "") this.#draft.keepText("error");
    return {
      exit: "model_error",
      text: partial,
      failed: true,
      partial: partial !== "",
      error: failure.message,
    };
  }

  /** The same request would be refused in every later turn, so the cause is looked for, and left out from now on. */
  #refused({ message }: ModelFailure): TurnEnd | undefined {
    const turn = this.#turn;
    const { transcript, maxTurns } = this.#core.parts;
    const hasAdditions = turn.recall !== "" || turn.hookContext !== "";
    if (turn.apiCalls === 1 && hasAdditions) {
      // It may not be the user's words: memory and hooks have added theirs to the first request.
      this.#refusedAdditions = true;
      turn.recall = "";
      turn.hookContext = "";
      return undefined;
    }
    this.#refusedAdditions = false; // they were not the cause, or not alone
    this.#trials ??= [...trials(transcript.messages, turn.userMessageId)];
    const next = turn.apiCalls < maxTurns ? this.#trials.shift() : undefined;
    if (next !== undefined) {
      this.#tried = next;
      turn.triedWithout = new Set(next.map(({ meta }) => meta.id));
      return undefined;
    }
    return { exit: "model_error", text: "", failed: true, error: message, ...this.#leaveOut() };
  }

  #endTrials(): void {
    this.#trials = undefined;
    this.#tried = [];
    this.#turn.triedWithout = new Set();
  }

  #leaveOut(): Pick<TurnEnd, "detail" | "hint"> {
    const wasTried = this.#trials?.length === 0;
    this.#endTrials();
    const left = suspects(this.#core.parts.transcript.messages, this.#turn.userMessageId, wasTried);
    if (left.length === 0) return {};
    this.#mark(left);
    return { detail: "model_error(content_policy)", hint: GO_ON_HINT };
  }

  #mark(left: readonly Message[]): void {
    this.#core.parts.transcript.refuse(new Set(left.map(({ meta }) => meta.id)));
    this.#core.notice("warn", `message-refused:${left[0]?.meta.id}`, leftOutText(left));
  }

  async #overflown(failure: ModelFailure): Promise<TurnEnd | undefined> {
    let end: TurnEnd | undefined;
    try {
      end = await makeRoom(this.#core, this.#turn, failure);
    } catch (cause) {
      if (this.#turn.control.signal.aborted) return this.#interrupted();
      throw cause;
    }
    const text = this.#draft.text;
    if (end !== undefined && text !== "") {
      this.#draft.keepText("error");
      return { ...end, text, partial: true };
    }
    this.#draft.discard(); // a compaction leaves nothing of a reply that has only begun
    return end;
  }

  #giveUp(exit: "truncated_response" | "empty_response_exhausted" | "model_error", error: string): TurnEnd {
    const text = this.#draft.text;
    if (text !== "") this.#draft.keepText("length");
    return { exit, text, failed: text === "", partial: text !== "", error };
  }

  #interrupted(): TurnEnd {
    const text = this.#draft.text;
    if (text !== "") this.#draft.keepText("interrupted");
    return interruptedEnd(this.#turn, text);
  }

  /** The budget is spent: one call without tools, so that the user gets to know where things stand. */
  async #summarise(): Promise<TurnEnd> {
    const core = this.#core;
    const { maxTurns } = core.parts;
    const detail = `max_iterations_reached(${this.#turn.apiCalls}/${maxTurns})`;
    if (this.#draft.text !== "") {
      // It was in the middle of its reply; there is nothing to sum up that the user has not read.
      const end = this.#giveUp(
        "truncated_response",
        "The steps of this turn ended in the middle of the reply.",
      );
      return { ...end, exit: "max_iterations_reached", detail };
    }
    this.#draft.append(newMessage({ role: "user", content: WRAP_UP }));
    const outcome = await callOnce(core, this.#turn, { text: this.#draft.stream, isToolless: true });
    if (outcome.kind === "interrupted") return this.#interrupted();
    const text = this.#draft.text;
    if (outcome.kind === "failure" || text === "") {
      const error =
        outcome.kind === "failure"
          ? outcome.failure.message
          : "The model gave no summary of what it had done.";
      if (text !== "") this.#draft.keepText("error");
      const isRefused =
        outcome.kind === "failure" && outcome.failure.kind === "content_policy" && text === "";
      const { hint } = isRefused ? this.#leaveOut() : {};
      return {
        exit: "max_iterations_reached",
        detail,
        text,
        failed: true,
        partial: text !== "",
        error,
        ...(hint === undefined ? {} : { hint }),
      };
    }
    const message = this.#draft.finished(outcome.reply.message, outcome.reply);
    this.#draft.append({ ...message, toolCalls: [] });
    return { exit: "max_iterations_reached", detail, text };
  }

  /** A reply that was cut off gets more room each time, where the user has set a limit. */
  #outputTokens(): number | undefined {
    const base = this.#core.parts.config.agent.maxOutputTokens;
    const cuts = this.#troubles.cutTexts + this.#troubles.cutCalls;
    if (base === undefined || cuts === 0) return undefined;
    return Math.max(base, Math.min(Math.max(base, BASE_OUTPUT_TOKENS) * (cuts + 1), MOST_OUTPUT_TOKENS));
  }
}

const CUT_OFF = {
  finishReason: "length",
  hasReasoning: false,
  calls: undefined,
  followsTools: false,
  earlierText: "",
} as const;

function spent({ apiCalls }: Turn): TurnEnd {
  const error = `The model did not come to an end within ${apiCalls} calls.`;
  return { exit: "max_iterations_reached", text: "", failed: true, error };
}

const WRAP_UP =
  "You have used all the steps of this turn. Without calling any more tools, sum up what you have done, what you found out and what is still open.";
