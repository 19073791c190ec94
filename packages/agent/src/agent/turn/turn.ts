// A turn, from the user's text to the result, from top to bottom: begin (reserve the session, store the message, build the prompt,
// ask memory), loop (call the model and run its tools until there is an answer), finish (store, hooks, providers, result). Every
// way out passes `finishTurn`.
import { randomUUID } from "node:crypto";
import { estimateMessage, leastTokens } from "@hermes-memory/core/internal/context";
import { describeCause, HermesError, untilAborted } from "@hermes-memory/core/internal/lib";
import { type AssistantMessage, type Content, newMessage } from "@hermes-memory/core/internal/message";
import { buildMemoryContextBlock, findingsIn } from "@hermes-memory/core/internal/providers";
import type { ModelReply } from "../../models/index.ts";
import type { ReviewSchedule, ReviewScope } from "../../review/index.ts";
import type { AgentHooks } from "../agent-options.ts";
import type { AgentParts } from "../parts.ts";
import { writeJsonSnapshot } from "../session/session-files.ts";
import { contentOf, withMaskedArguments } from "../session/transcript.ts";
import type { ClientToolResult, RunOptions, UserInput } from "../surface.ts";
import {
  appendResults,
  closeOpenCalls,
  isOfClient,
  noResult,
  runBatch,
  toolMessage,
  withClientTools,
} from "../tools/run-calls.ts";
import type { TurnResult } from "../turn-result.ts";
import { type CheckedCall, checkCalls, judge, NO_TROUBLES, type Troubles, type Verdict } from "./judge.ts";
import {
  compactAfterTools,
  compactUntilItFits,
  compactWhileTooLong,
  refuseSmallWindow,
  refuseTooLarge,
} from "./keep-within-window.ts";
import { type CallDeps, callOnce, Draft } from "./model-call.ts";
import { type FailureDeps, ModelFailures } from "./model-failure.ts";
import {
  answers,
  gaveUpEnd,
  interruptedEnd,
  newTurn,
  noOpenCalls,
  sessionBusy,
  sessionFoundBusy,
  sessionGone,
  sessionTakenOver,
  type Turn,
  type TurnControl,
  type TurnEnd,
  toResult,
  type Waiting,
} from "./turn-state.ts";

/** For the loop alone: the background review runs it without the rest of a turn. */
export type LoopDeps = AgentParts &
  CallDeps &
  FailureDeps & {
    readonly reviewSchedule: ReviewSchedule;
    readonly hooks: AgentHooks;
  };

export type TurnDeps = LoopDeps & {
  readonly waiting: Waiting;
  /** Begins a background review; false when it cannot now. Undefined: there are none. */
  readonly startReview: ((turn: Turn, due: ReviewScope) => boolean) | undefined;
};

export type TurnRequest = {
  /** `results`: of the client's tools, with which the turn before goes on. */
  readonly given:
    | { readonly kind: "message"; readonly input: UserInput }
    | { readonly kind: "results"; readonly results: readonly ClientToolResult[] };
  readonly options: RunOptions;
  readonly control: TurnControl;
};

export async function runTurn(given: TurnDeps, request: TurnRequest): Promise<TurnResult> {
  const deps = withClientTools(given, request.options.clientTools);
  const { taskId = randomUUID(), maxOutputTokens, temperature } = request.options;
  const turn = newTurn(taskId, request.control, { maxOutputTokens, temperature });
  const end = await answer(deps, turn, request);
  return finishTurn(deps, turn, await unlessTakenOver(deps, turn, end));
}

async function answer(deps: TurnDeps, turn: Turn, request: TurnRequest): Promise<TurnEnd> {
  try {
    return (await beginTurn(deps, turn, request)) ?? (await runLoop(deps, turn));
  } catch (cause) {
    if (turn.control.signal.aborted) return interruptedEnd(turn, "");
    deps.log.error("A turn failed", { cause });
    const hint = cause instanceof HermesError ? cause.hint : undefined;
    return { exit: "model_error", text: "", failed: true, error: describeCause(cause), hint };
  }
}

// Begin. Failures on the way are noticed or logged, and the turn goes on, unless the model cannot be called.

/** Undefined when the model may be called. */
async function beginTurn(
  deps: TurnDeps,
  turn: Turn,
  { given, options }: TurnRequest,
): Promise<TurnEnd | undefined> {
  const { session, tools, reviewSchedule, memory, events, hooks } = deps;
  const { signal } = turn.control;
  const tooLarge = given.kind === "message" ? refuseTooLarge(deps, leastTokensOf(given.input)) : undefined;
  if (tooLarge !== undefined) return tooLarge;
  const refusal = await session.reserve();
  if (refusal !== undefined)
    return refusal.kind === "gone" ? sessionGone(session.id) : sessionBusy(refusal.message);
  await session.ensureRow();
  const history = session.messages;
  reviewSchedule.hydrate(history);
  if (given.kind === "message") {
    reviewSchedule.noteTurn({ hasMemoryTool: tools.has("memory") && memory !== undefined });
    closeOpenCalls(deps);
    appendUserMessage(deps, turn, contentOf(given.input), options);
  } else {
    if (!(await appendResults(deps, given.results, options.messageId))) return noOpenCalls(session.id);
    const user = session.messages.findLast(({ role }) => role === "user");
    if (user !== undefined) answers(turn, user);
  }
  events.emit({ type: "turn-start", sessionId: session.id, turn: reviewSchedule.turns });

  const { text: system, isFresh } = await session.prompt.ensure(session.id, history.length > 0, tools, {
    instructions: options.instructions,
  });
  turn.system = system;
  if (isFresh) {
    const started = callHook(deps, "sessionStart", () => hooks.sessionStart?.(session.id));
    await unlessInterrupted(signal, started);
  }
  await session.flush();
  const tooSmall = refuseSmallWindow(deps, system);
  if (tooSmall !== undefined) return tooSmall;
  if (given.kind === "message") await compactWhileTooLong(deps, turn);
  await addToRequest(deps, turn, options.onRecall);
  if (signal.aborted) return undefined;
  if (given.kind === "message") await compactUntilItFits(deps, turn);
  else
    await compactAfterTools(
      deps,
      turn,
      session.messages.findLastIndex(({ role }) => role === "assistant"),
    );
  return undefined;
}

function leastTokensOf(input: UserInput): number {
  if (typeof input === "string") return leastTokens(input);
  return estimateMessage(newMessage({ role: "user", content: contentOf(input) }));
}

/** What hooks and memory add to the user's message in the requests of this turn. */
async function addToRequest(deps: TurnDeps, turn: Turn, onRecall: RunOptions["onRecall"]): Promise<void> {
  const { session, reviewSchedule, hooks, waiting, events } = deps;
  const { signal } = turn.control;
  const kept = waiting.turn;
  waiting.turn = undefined;
  if (kept !== undefined && kept.userMessageId === turn.userMessageId) {
    turn.recall = kept.recall;
    turn.hookContext = kept.hookContext;
    return;
  }
  const view = { sessionId: session.id, turn: reviewSchedule.turns, userText: turn.userText };
  const added = callHook(deps, "preModelCall", () => hooks.preModelCall?.(view));
  turn.hookContext = (await unlessInterrupted(signal, added)) ?? "";
  if (signal.aborted) return;
  const startedAtMs = performance.now();
  const text = await unlessInterrupted(signal, recall(deps, turn));
  turn.recall = buildMemoryContextBlock(text);
  if (text === undefined) return;
  const recalled = {
    query: turn.userText,
    text: turn.recall,
    found: findingsIn(text),
    durationMs: performance.now() - startedAtMs,
  };
  turn.recalled = recalled;
  events.callQuietly("The listener onRecall", () => onRecall?.({ sessionId: session.id, ...recalled }));
}

function appendUserMessage(
  { session, clock }: TurnDeps,
  turn: Turn,
  content: Content,
  { persistUserMessage: stored, persistUserTimestamp: at = 0, messageId }: RunOptions,
): void {
  const storedContent = stored === undefined ? undefined : contentOf(stored);
  const atSeconds = at > 0 ? at : clock.now().getTime() / 1000;
  const meta = { atSeconds, storedContent, platformMessageId: messageId };
  const message = newMessage({ role: "user", content }, meta);
  session.append(message);
  answers(turn, message);
}

/** Undefined: there is nobody to ask. */
async function recall(
  { manager, session, model, tools, platform, reviewSchedule, events }: TurnDeps,
  turn: Turn,
): Promise<string | undefined> {
  if (manager === undefined) return undefined;
  const used = model.tokens(session.requestEstimate(tools));
  await manager.onTurnStart(reviewSchedule.turns, turn.userText, {
    model: model.identity.model,
    platform,
    tool_count: tools.definitions().length,
    remaining_tokens: Math.max(0, model.window.tokens - used),
  });
  const text = await manager.prefetchAll(turn.userText, { session_id: session.id });
  if (!turn.control.signal.aborted)
    for (const { provider_label: label, count, glyph } of manager.recallStatus())
      events.emit({ type: "recall", label, count, glyph });
  return text;
}

/** An interrupt does not wait for the work; undefined then. */
async function unlessInterrupted<T>(signal: AbortSignal, work: Promise<T>): Promise<T | undefined> {
  return untilAborted(signal, work).catch((cause: unknown) => {
    if (!signal.aborted) throw cause;
    return undefined;
  });
}

/** A hook that fails is logged. */
async function callHook<T>(
  { log }: TurnDeps,
  name: string,
  call: () => T | Promise<T>,
): Promise<T | undefined> {
  try {
    return await call();
  } catch (cause) {
    log.warn(`The hook ${name} failed: ${describeCause(cause)}`);
    return undefined;
  }
}

// Loop. judge.ts decides the next step, the loop carries it out. The list is stored after every step.

export async function runLoop(deps: LoopDeps, turn: Turn): Promise<TurnEnd> {
  const loop = new Loop(deps, turn);
  for (;;) {
    const end = await loop.step();
    if (end !== undefined) return end;
  }
}

const BASE_OUTPUT_TOKENS = 4_096;
const MOST_OUTPUT_TOKENS = 32_768;

class Loop {
  readonly #deps: LoopDeps;
  readonly #turn: Turn;
  readonly #draft: Draft;
  #failures: ModelFailures | undefined;
  #troubles: Troubles = NO_TROUBLES;
  /** Text that came with calls to housekeeping tools only. */
  #earlierText = "";

  constructor(deps: LoopDeps, turn: Turn) {
    this.#deps = deps;
    this.#turn = turn;
    this.#draft = new Draft(deps, turn);
  }

  /** One call of the model and its consequences. Undefined: another step follows. */
  async step(): Promise<TurnEnd | undefined> {
    const { session, tools, reviewSchedule, maxTurns } = this.#deps;
    const turn = this.#turn;
    if (turn.control.signal.aborted) return this.#interrupted();
    if (!(await session.isOurs())) return sessionTakenOver(session.id);
    if (turn.apiCalls >= maxTurns) return turn.wrapsUp ? this.#sumUp() : outOfSteps(turn);
    reviewSchedule.noteModelCall({ hasSkillTool: tools.has("skill_manage") });
    const outcome = await callOnce(this.#deps, turn, {
      draft: this.#draft,
      maxOutputTokens: this.#maxOutputTokens(),
    });
    switch (outcome.kind) {
      case "interrupted":
        return this.#interrupted();
      case "failure": {
        this.#failures ??= new ModelFailures(this.#deps, turn, this.#draft);
        const { end, troubles } = await this.#failures.handle(outcome.failure, this.#troubles);
        this.#troubles = troubles;
        return end;
      }
      case "reply":
        // An empty reply that a filter stopped does not show that the request was accepted.
        if (outcome.reply.finishReason !== "content_filter" || this.#draft.text !== "")
          this.#failures?.noteAccepted();
        return this.#carryOut(this.#judge(outcome.reply), outcome.reply);
      default:
        return outcome satisfies never;
    }
  }

  #judge({ message, finishReason }: ModelReply): Verdict {
    const { session, tools } = this.#deps;
    const { reasoning: given, reasoning_details: details } = message.vendor ?? {};
    const reasoning = typeof given === "string" ? given : "";
    if (reasoning !== "") this.#turn.lastReasoning = reasoning;
    const { verdict, troubles } = judge(
      {
        text: this.#draft.text,
        finishReason,
        hasReasoning: reasoning !== "" || details !== undefined,
        calls: message.toolCalls.length > 0 ? checkCalls(message, tools) : undefined,
        followsTools: session.messages.at(-1)?.role === "tool",
        earlierText: this.#earlierText,
        limitTokens: this.#turn.maxOutputTokens,
      },
      this.#troubles,
    );
    this.#troubles = troubles;
    return verdict;
  }

  async #carryOut(verdict: Verdict, reply: ModelReply): Promise<TurnEnd | undefined> {
    const { session } = this.#deps;
    const draft = this.#draft;
    switch (verdict.kind) {
      case "answer": {
        const { text, isEarlier } = verdict;
        const earlier = "fallback_prior_turn_content";
        if (isEarlier) return { exit: earlier, detail: earlier, text };
        session.dropEphemeral();
        draft.append(draft.finished(reply.message, reply));
        return { exit: "text_response", detail: `text_response(finish_reason=${reply.finishReason})`, text };
      }
      case "run_tools":
        return this.#runTools(verdict.message, verdict.calls, reply);
      case "refuse_tools": {
        const results = verdict.results.map(({ id, name, text }) => toolMessage({ callId: id, name, text }));
        session.dropEphemeral();
        draft.append(withMaskedArguments(draft.finished(verdict.message, reply)), ...results);
        await session.flush();
        draft.begin();
        if (!verdict.isLast) return undefined;
        const error = "The model kept calling tools that do not exist, so the turn was ended.";
        return { exit: "invalid_tool_calls", text: "", partial: true, failed: true, error };
      }
      case "again":
        draft.discard();
        return undefined;
      case "continue":
        draft.appendPiece(reply.message);
        return undefined;
      case "nudge": {
        const meta = { ephemeral: "empty_recovery" } as const;
        draft.append(
          newMessage({ role: "assistant", content: "(empty)", toolCalls: [] }, meta),
          newMessage({ role: "user", content: verdict.text }, meta),
        );
        return undefined;
      }
      case "give_up":
        return gaveUpEnd(verdict.exit, draft.keepText("length"), verdict.why);
      default:
        return verdict satisfies never;
    }
  }

  async #runTools(
    message: AssistantMessage,
    calls: readonly CheckedCall[],
    reply: ModelReply,
  ): Promise<TurnEnd | undefined> {
    const { session, model, tools, events, reviewSchedule, hooks, home } = this.#deps;
    const draft = this.#draft;
    const turn = this.#turn;
    const { signal } = turn.control;
    const isHousekeeping = calls.every(({ name }) => tools.get(name)?.policy.isHousekeeping === true);
    if (!isHousekeeping) this.#earlierText = "";
    else if (draft.text !== "") this.#earlierText = draft.text;
    session.dropEphemeral(); // pieces of this reply are in its text now
    const counted = session.messages.length;
    draft.append(withMaskedArguments(draft.finished(message, reply)));
    await session.flush();
    if (!(await session.isOurs())) return sessionTakenOver(session.id);
    const theirs = calls.filter(({ name }) => isOfClient(tools.get(name)));
    const own = calls.filter((call) => !theirs.includes(call));
    const results = await runBatch(tools, own, {
      home,
      limits: model.resultLimits,
      taskId: turn.taskId,
      turnId: turn.userMessageId,
      sessionId: () => session.id,
      messages: () => session.messages,
      signal,
      onEvent: (event) => events.emit(event),
      hooks,
    });
    for (const { name, kind } of results)
      if (kind !== "blocked" && kind !== "skipped") reviewSchedule.noteTool(name);
    draft.append(...results.map(toolMessage));
    if (theirs.length > 0 && !signal.aborted) return this.#handBack(message, theirs);
    draft.append(
      ...theirs.map(({ id: callId, name }) =>
        toolMessage({ callId, name, text: noResult(name, "interrupt") }),
      ),
    );
    const steered = turn.control.takeSteer(); // typed while the tools ran
    if (steered !== undefined) draft.append(newMessage({ role: "user", content: steered }));
    await session.flush();
    draft.begin();
    if (signal.aborted) return this.#interrupted();
    try {
      await compactAfterTools(this.#deps, turn, counted);
    } catch (cause) {
      if (!signal.aborted) throw cause;
    }
    return undefined;
  }

  /** The turn goes on when the client has sent the results. Text typed meanwhile is for the next turn. */
  async #handBack(message: AssistantMessage, calls: readonly CheckedCall[]): Promise<TurnEnd> {
    await this.#deps.session.flush();
    const clientCalls = message.toolCalls
      .filter(({ id }) => calls.some((call) => call.id === id))
      .map(({ id, name, arguments: text }) => ({ id, name, arguments: text }));
    return { exit: "client_tool_calls", text: this.#draft.text, clientCalls };
  }

  #interrupted(): TurnEnd {
    return interruptedEnd(this.#turn, this.#draft.keepText("interrupted"));
  }

  /** All steps are used: one call without tools tells the user where things stand. */
  async #sumUp(): Promise<TurnEnd> {
    const turn = this.#turn;
    const draft = this.#draft;
    const exit = "max_iterations_reached";
    const detail = `${exit}(${turn.apiCalls}/${this.#deps.maxTurns})`;
    if (draft.text !== "") {
      const error = "The steps of this turn ended in the middle of the reply.";
      return { ...gaveUpEnd(exit, draft.keepText("length"), error), detail };
    }
    draft.append(newMessage({ role: "user", content: WRAP_UP }));
    const outcome = await callOnce(this.#deps, turn, { draft, isToolless: true });
    if (outcome.kind === "interrupted") return this.#interrupted();
    if (outcome.kind === "reply" && draft.text !== "") {
      draft.append({ ...draft.finished(outcome.reply.message, outcome.reply), toolCalls: [] });
      return { exit, detail, text: draft.text };
    }
    const failure = outcome.kind === "failure" ? outcome.failure : undefined;
    const text = draft.keepText("error");
    const failures = this.#failures ?? new ModelFailures(this.#deps, turn, draft);
    return {
      exit,
      detail,
      text,
      failed: true,
      partial: text !== "",
      error: failure?.message ?? "The model gave no summary of what it had done.",
      failure,
      hint: failure?.kind === "content_policy" && text === "" ? failures.leaveOutUnread().hint : undefined,
    };
  }

  /** Where the user has set a limit, a reply that was cut off gets more room each time. */
  #maxOutputTokens(): number | undefined {
    const base = this.#turn.maxOutputTokens ?? this.#deps.config.agent.maxOutputTokens;
    const cuts = this.#troubles.cutTexts + this.#troubles.cutCalls;
    if (base === undefined || cuts === 0) return undefined;
    return Math.max(base, Math.min(Math.max(base, BASE_OUTPUT_TOKENS) * (cuts + 1), MOST_OUTPUT_TOKENS));
  }
}

function outOfSteps({ apiCalls }: Turn): TurnEnd {
  const error = `The model did not come to an end within ${apiCalls} calls.`;
  return { exit: "max_iterations_reached", text: "", failed: true, error };
}

const WRAP_UP =
  "You have used all the steps of this turn. Without calling any more tools, sum up what you have done, what you found out and what is still open.";

// Finish.

/** Messages that came after another process had continued the session are dropped: they would follow words they do not answer. */
async function unlessTakenOver({ session }: TurnDeps, turn: Turn, end: TurnEnd): Promise<TurnEnd> {
  if (end.exit === "session_gone") return end;
  await session.claimAtTurnEnd();
  if (await session.isOurs()) return end;
  session.dropUnsaved(turn.userMessageId);
  const { text, interrupted = false } = end;
  const busy = session.lateRefusal;
  const why = (await session.isDeleted())
    ? sessionGone(session.id)
    : busy === undefined
      ? sessionTakenOver(session.id)
      : sessionFoundBusy(busy);
  return { ...why, text, interrupted };
}

async function finishTurn(deps: TurnDeps, turn: Turn, end: TurnEnd): Promise<TurnResult> {
  const { session, config, hooks, manager, events, log, waiting } = deps;
  const isWaiting = end.exit === "client_tool_calls";
  const isAnswered = end.text !== "" && !end.interrupted && !end.failed && !isWaiting;
  if (isWaiting) waiting.turn = turn;
  session.dropEphemeral();
  if (!end.isRefused) {
    await session.flushAtTurnEnd();
    await session.noteTurn(turn);
    if (config.sessions.writeJsonSnapshots) writeJsonSnapshot(deps);
  }
  const transformed = isAnswered
    ? await callHook(deps, "transformOutput", () => hooks.transformOutput?.(end.text))
    : undefined;
  const result = toResult(deps, turn, end, transformed ?? end.text);
  if (isAnswered && !end.partial)
    manager?.finishTurn({
      session_id: session.id,
      user: turn.userContent,
      assistant: end.text,
      messages: session.messages,
    });
  if (isAnswered) announceReview(deps, turn);
  await session
    .release()
    .catch((cause: unknown) => log.warn(`The lease was not given back: ${describeCause(cause)}`));
  await callHook(deps, "turnEnd", () => hooks.turnEnd?.(result));
  events.emit({ type: "turn-end", result });
  return result;
}

/** A review that neither the hook nor the reviewer takes on stays due for the next turn. */
function announceReview({ reviewSchedule, hooks, session, events, startReview }: TurnDeps, turn: Turn): void {
  const due = reviewSchedule.due();
  if (!(due.memory || due.skills)) return;
  const { reviewDue } = hooks;
  const isTaken =
    reviewDue === undefined
      ? startReview?.(turn, due)
      : events.callQuietly("The hook reviewDue", () => reviewDue({ sessionId: session.id, ...due }));
  if (isTaken) reviewSchedule.taken();
}
