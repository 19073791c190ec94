// The agent: one conversation with a model, its tools and its memory. The stories of a turn, a compaction and a change of session
// are in turn/ and session/; this class runs one of them at a time and stops them when it is closed.
import type { CompressCommand, EngineCommand } from "@hermes-memory/core/internal/context";
import type { CommittedWrite, MemoryStore } from "@hermes-memory/core/internal/curated";
import {
  describeCause,
  err,
  HermesError,
  isRecord,
  ok,
  percentOf,
  pyStrip,
  type Result,
} from "@hermes-memory/core/internal/lib";
import type { MemoryUser, Person } from "@hermes-memory/core/internal/memory";
import type { Message } from "@hermes-memory/core/internal/message";
import { forgetHolder, type SessionStore } from "@hermes-memory/core/internal/sessions";
import type { SkillStore } from "@hermes-memory/core/internal/skills";
import {
  auxiliaryModel,
  type ContextWindow,
  type ModelIdentity,
  type ModelSelection,
} from "../models/index.ts";
import type { AgentEvent, EventListener } from "./events.ts";
import {
  branchSession,
  type ChangeDeps,
  closeSession,
  resumeSession,
  type SessionFate,
  startNewSession,
  undoTurns,
} from "./session/change-session.ts";
import { compressNow } from "./session/compact.ts";
import {
  type UIChunk,
  type UIResponseOptions,
  type UIStreamOptions,
  uiMessageResponse,
  uiMessageStream,
} from "./stream/ui-message-stream.ts";
import type {
  AgentStatus,
  ClientToolResult,
  CloseOptions,
  CompressChoices,
  CompressReport,
  RunOptions,
  SessionChange,
  SessionProblem,
  UndoReport,
  UserInput,
} from "./surface.ts";
import { runTurn, type TurnDeps, type TurnRequest } from "./turn/turn.ts";
import type { TurnControl } from "./turn/turn-state.ts";
import type { TurnResult } from "./turn-result.ts";

export type AgentDeps = TurnDeps &
  ChangeDeps & {
    readonly person: Person;
    readonly engineCommands: readonly EngineCommand[];
    readonly warnings: readonly string[];
    readonly mirrorWrite: (write: CommittedWrite, source: { readonly origin: string | undefined }) => void;
    readonly background: BackgroundWork;
    /** Closes the stores, providers and servers that were opened for the agent. */
    readonly close: () => Promise<void>;
  };

/** Work after a turn that the user does not wait for. */
type BackgroundWork = {
  /** Undefined: sessions get no titles. Resolves when the title is set, or there is none to set. */
  readonly titles: { afterTurn(result: TurnResult): Promise<void>; stop(): void } | undefined;
  /** Undefined: there are no reviews. */
  readonly reviewer: { readonly running: Promise<void> | undefined; stop(): Promise<void> } | undefined;
};

/** On close, wait at most this long for the running turn, and then for the background review. */
const CLOSING_MS = 5_000;
/** On close, wait at most this long for a title. */
const TITLE_MS = 1_000;

/** A conversation with a model: turns, tools, memory and sessions. Made by `createAgent`; close it, or create it with `await using`. */
export class Agent implements AsyncDisposable {
  readonly #deps: AgentDeps;
  /** One thing at a time works on a conversation: a turn, a compaction, a change of session or model. */
  #work: { readonly what: string; readonly end: Promise<void> } | undefined;
  readonly #titling = new Set<Promise<void>>();
  #steering: TurnSteering | undefined;
  #compacting: AbortController | undefined;
  #closing: Promise<void> | undefined;

  readonly home: string;
  readonly platform: string;
  /** The person the agent works for: the owner of the home or one of its users. */
  readonly person: Person;
  /** Undefined for the owner of the home, who sees every session. */
  readonly user: MemoryUser | undefined;
  /** Undefined when it could not be opened; the agent then works without it. */
  readonly store: SessionStore | undefined;
  /** Curated memory; undefined when it is switched off or could not be opened. */
  readonly memory: MemoryStore | undefined;
  readonly skills: SkillStore;
  /** Slash commands of the context engine's plugin. */
  readonly engineCommands: readonly EngineCommand[];
  /** For the user: layers that could not be opened, and settings that are not used. */
  readonly warnings: readonly string[];

  constructor(deps: AgentDeps) {
    this.#deps = deps;
    this.home = deps.home;
    this.platform = deps.platform;
    this.person = deps.person;
    this.user = deps.user;
    this.store = deps.session.store;
    this.memory = deps.memory;
    this.skills = deps.skills;
    this.engineCommands = deps.engineCommands;
    this.warnings = deps.warnings;
  }

  get sessionId(): string {
    return this.#deps.session.id;
  }
  get model(): ModelIdentity {
    return this.#deps.model.identity;
  }
  get window(): ContextWindow {
    return this.#deps.model.window;
  }
  /** The list of messages, stored or not. */
  get messages(): readonly Message[] {
    return this.#deps.session.messages;
  }
  get isRunning(): boolean {
    return this.#steering !== undefined;
  }
  /** Names of the tools it has. */
  get toolNames(): readonly string[] {
    return this.#deps.tools.names;
  }
  /** Undefined until the first turn has built or restored it. */
  get systemPrompt(): string | undefined {
    return this.#deps.session.prompt.text;
  }

  /** Until the returned function is called. */
  onEvent(listener: EventListener): () => void {
    return this.#deps.events.listen(listener);
  }

  /** One turn. Failures of models, tools, providers and the database are in the result; it rejects only for mistakes of the caller. */
  run(input: UserInput, options: RunOptions = {}): Promise<TurnResult> {
    return this.#runTurn("run", options, () => {
      checkInput(input);
      return { kind: "message", input };
    });
  }

  /**
   * Goes on with a turn that ended with `client_tool_calls`, also one of another process that is stored. Calls without a result here get
   * one that says so. The exit is `no_open_calls`, and nothing is stored, when the newest reply made none of these calls.
   */
  continueWith(results: readonly ClientToolResult[], options: RunOptions = {}): Promise<TurnResult> {
    return this.#runTurn("continueWith", options, () => {
      checkResults(results);
      return { kind: "results", results };
    });
  }

  #runTurn(what: string, options: RunOptions, read: () => TurnRequest["given"]): Promise<TurnResult> {
    return this.#exclusive(what, async () => {
      const given = read();
      const steering = new TurnSteering(options.signal);
      this.#steering = steering;
      const stopListening = options.onEvent && this.#deps.events.listen(options.onEvent);
      try {
        const result = await runTurn(this.#deps, { given, options, control: steering });
        this.#giveTitle(result);
        return result;
      } finally {
        stopListening?.();
        steering.end();
        this.#steering = undefined;
      }
    });
  }

  /**
   * One turn as an async iterable of its events, in order. Leaving the loop early interrupts the turn. The turn starts at once, and
   * `result` resolves as `run` does. The iteration throws what `run` would reject with; failures of the turn are in its `turn-end`.
   */
  stream(input: UserInput, options: RunOptions = {}): AgentStream {
    return this.#start(input, options);
  }

  #start(input: UserInput, options: RunOptions) {
    return startStream((added) => this.run(input, added), options);
  }

  /** One turn as chunks of the AI SDK's UI message stream, for `createUIMessageStreamResponse` and other transports. */
  toUIMessageStream(input: UserInput, options: UIStreamOptions = {}): ReadableStream<UIChunk> {
    const { hooks, log } = this.#deps;
    const { onEvent, closeWhenDone } = options;
    let isCutOff = false;
    const { events, result } = this.#start(input, {
      ...options,
      onEvent: (event) => {
        if (event.type === "turn-end") isCutOff = this.#closing !== undefined;
        onEvent?.(event);
      },
    });
    return uiMessageStream(events, {
      ...options,
      holdText: options.holdText ?? hooks.transformOutput !== undefined,
      log,
      isCutOff: () => isCutOff,
      closed: closeWhenDone ? this.#closeAfter(result) : undefined,
    });
  }

  /**
   * One turn as the HTTP response that `useChat` of the AI SDK reads (versions 5, 6 and 7). A client that disconnects interrupts the
   * turn. What `useChat` posts is read by `lastUserInput(messages)`: the agent has the earlier messages itself. With `closeWhenDone` a
   * route returns the response and need not close the agent.
   */
  toUIMessageStreamResponse(input: UserInput, options: UIResponseOptions = {}): Response {
    return uiMessageResponse(this.toUIMessageStream(input, options), options);
  }

  /** Stops the running turn or compaction; harmless without one. */
  interrupt(message?: string): void {
    this.#steering?.interrupt(message);
    this.#compacting?.abort(new DOMException("The compaction was stopped by the user.", "AbortError"));
  }

  /** Text typed while a turn runs: becomes a user message after the tools that run now. False: the turn is over. */
  steer(text: string): boolean {
    return this.#steering?.add(text) ?? false;
  }

  async status(): Promise<AgentStatus> {
    const { session, model, engine, tools, reviewSchedule, memory, manager } = this.#deps;
    const { usage } = session;
    const used =
      engine.lastPromptTokens > 0 ? engine.lastPromptTokens : model.tokens(session.requestEstimate(tools));
    const fill = (target: "memory" | "user") => {
      if (memory === undefined || !memory.isEnabled(target)) return null;
      const { used: chars, limit } = memory.usage(target);
      return { used: chars, limit };
    };
    return {
      session_id: session.id,
      title: await session.title().catch(() => null),
      model: model.identity.model,
      provider: model.identity.provider,
      // Turns are counted from the first one on; before it the messages of a resumed session tell.
      turns: reviewSchedule.turns || session.messages.filter(({ role }) => role === "user").length,
      messages: session.messages.length,
      context: {
        used_tokens: used,
        limit_tokens: model.window.tokens,
        percent: percentOf(used, model.window.tokens),
        threshold_tokens: engine.thresholdTokens,
        engine: engine.name,
        compactions: engine.compressionCount,
      },
      memory: {
        memory: fill("memory"),
        user: fill("user"),
        provider: manager?.providers.map(({ name }) => name).find((name) => name !== "builtin") ?? null,
      },
      usage: usage.usage,
      api_calls: usage.apiCalls,
      cost_usd: usage.costUsd,
      caching: { enabled: model.caching.enabled, ttl: model.cacheTtl },
      savings: await model.savings(usage.calls),
    };
  }

  title(): Promise<string | null> {
    return this.#deps.session.title();
  }

  /** Null clears it. Before the session has a row, the title is kept until it has one. No event: the caller knows the title. */
  async setTitle(title: string | null): Promise<Result<string | null, SessionProblem>> {
    if (this.store === undefined)
      return err({ kind: "no_database", message: "There is no session database to keep a title in." });
    try {
      return ok(await this.#deps.session.setTitle(pyStrip(title ?? "") || null));
    } catch (cause) {
      return err({ kind: "refused", message: describeCause(cause) });
    }
  }

  newSession(options: { readonly title?: string } = {}): Promise<Result<SessionChange, SessionProblem>> {
    return this.#changeSession("newSession", () => startNewSession(this.#deps, options.title));
  }

  /** An id, a unique beginning of one, or a title. */
  resume(target: string): Promise<Result<SessionChange, SessionProblem>> {
    return this.#changeSession("resume", () => resumeSession(this.#deps, target));
  }

  branch(options: { readonly title?: string } = {}): Promise<Result<SessionChange, SessionProblem>> {
    return this.#changeSession("branch", () => branchSession(this.#deps, options.title));
  }

  /** Stores what could not be stored when its turn ended, before the next turn does. False: it still cannot be. */
  storeUnsaved(): Promise<boolean> {
    return this.#exclusive("storeUnsaved", async () => {
      const { session } = this.#deps;
      if (session.isAllStored) return true;
      return session.whileReserved(async ({ kind }) => kind === "ours" && (await session.flush()));
    });
  }

  undo(turns = 1): Promise<Result<UndoReport, SessionProblem>> {
    return this.#changeSession("undo", () => undoTurns(this.#deps, turns));
  }

  compress(
    command: CompressCommand = { kind: "full" },
    choices: CompressChoices = {},
  ): Promise<CompressReport> {
    return this.#exclusive("compress", async () => {
      const compacting = new AbortController();
      this.#compacting = compacting;
      try {
        return await compressNow(this.#deps, command, choices, compacting.signal);
      } finally {
        this.#compacting = undefined;
      }
    });
  }

  /** Another model from the next turn on. The prompt is built again, with the memory the session began with. */
  switchModel(selection: ModelSelection): Promise<Result<ModelIdentity, SessionProblem>> {
    return this.#exclusive("switchModel", async () => {
      const { session, model, engine, config, env, log } = this.#deps;
      // A name alone means the server in use, whatever config says: the conversation must not go elsewhere by accident.
      const wanted = {
        model: selection.model ?? model.identity.model,
        provider: selection.provider ?? "",
        baseUrl: selection.baseUrl ?? "",
        apiKey: selection.apiKey ?? "",
        apiMode: selection.apiMode,
      };
      const found = await auxiliaryModel(wanted, model.main, { env, config, log });
      if (!found.ok) return err({ kind: "refused", message: `${found.error.message} ${found.error.hint}` });
      await model.switchTo(found.value);
      engine.updateModel?.(model.engineWindow);
      session.prompt.dropKeepingMemory();
      await session.storeModel();
      return ok(model.identity);
    });
  }

  /** Mirrors a memory write that a command committed to the provider. `origin`: of a pending write that was approved. */
  noteMemoryWrite(write: CommittedWrite, origin?: string): void {
    this.#deps.mirrorWrite(write, { origin });
  }

  /** Ends the session (reason `agent_close`, for the command line `cli_close`), tells the provider, closes the stores and servers. A second call is harmless. */
  close(options: CloseOptions = {}): Promise<void> {
    this.#closing ??= this.#close(options.deleteSession ? "deleted" : options.keepSession ? "kept" : "ended");
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #closeAfter(turn: Promise<unknown>): Promise<void> {
    try {
      await turn.catch(() => {}); // the stream tells it
      await this.close();
    } catch (cause) {
      this.#deps.log.warn(`Closing the agent met a problem: ${describeCause(cause)}`);
    }
  }

  async #close(fate: SessionFate): Promise<void> {
    this.interrupt();
    const { background, session, log } = this.#deps;
    const { titles, reviewer } = background;
    try {
      await within(CLOSING_MS, this.#work?.end); // an interrupted turn still stores its messages
      await within(TITLE_MS, Promise.allSettled([...this.#titling, reviewer?.running]));
      await within(CLOSING_MS - TITLE_MS, reviewer?.running);
      titles?.stop();
      await within(CLOSING_MS, reviewer?.stop());
      await closeSession(this.#deps, fate);
    } catch (cause) {
      log.warn("Closing the agent met a problem", { cause });
    } finally {
      forgetHolder(session.holder);
      await this.#deps.close();
    }
  }

  /** Rejects with `agent-busy` while other work runs. */
  async #exclusive<T>(what: string, work: () => Promise<T>): Promise<T> {
    if (this.#closing !== undefined)
      throw new HermesError("agent-closed", `The agent is closed, so '${what}' cannot be done any more.`);
    if (this.#work !== undefined) throw busy(this.#work.what, what);
    const { promise: end, resolve } = Promise.withResolvers<void>();
    this.#work = { what, end };
    try {
      return await work();
    } finally {
      this.#work = undefined;
      resolve();
    }
  }

  /** A refusal of the database, such as a title that is taken, is a problem for the user. */
  #changeSession<T>(
    what: string,
    work: () => Promise<Result<T, SessionProblem>>,
  ): Promise<Result<T, SessionProblem>> {
    return this.#exclusive(what, async () => {
      try {
        return await work();
      } catch (cause) {
        this.#deps.log.warn(`The session was not changed: ${describeCause(cause)}`, { cause });
        return err({ kind: "refused", message: describeCause(cause) });
      }
    });
  }

  #giveTitle(result: TurnResult): void {
    const work = this.#deps.background.titles?.afterTurn(result);
    if (work === undefined) return;
    const tracked: Promise<void> = work
      .catch((cause: unknown) => this.#deps.log.warn("Work after a turn failed", { cause }))
      .finally(() => this.#titling.delete(tracked));
    this.#titling.add(tracked);
  }
}

/** The part of an agent that a user interface and its slash commands use. */
export type AgentSurface = Pick<
  Agent,
  | ("home" | "platform" | "sessionId" | "model" | "window" | "store" | "person" | "user" | "memory")
  | (
      | "skills"
      | "systemPrompt"
      | "engineCommands"
      | "messages"
      | "isRunning"
      | "warnings"
      | "run"
      | "interrupt"
    )
  | ("steer" | "status" | "title" | "setTitle" | "newSession" | "resume" | "branch" | "storeUnsaved" | "undo")
  | ("compress" | "switchModel" | "noteMemoryWrite" | "close")
>;

async function within(limitMs: number, work: Promise<unknown> | undefined): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, limitMs);
  await Promise.race([work, promise]);
  clearTimeout(timer);
}

function busy(running: string, wanted: string): HermesError {
  const isTurn = running === "run" || running === "continueWith";
  const [now, hint] = isTurn
    ? ["A turn is running", "Await the running turn, call interrupt(), or hand the text to steer()."]
    : [`'${running}' is not done yet`, "Await it first."];
  return new HermesError("agent-busy", `${now}, so '${wanted}' has to wait.`, { hint });
}

/** How the user reaches a running turn: the interrupt, and text typed meanwhile. */
class TurnSteering implements TurnControl {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #texts: string[] = [];
  readonly #onOuterAbort = (): void => this.interrupt();
  #message: string | null = null;
  #isClosed = false;

  /** `outer`: the caller's own signal. */
  constructor(outer: AbortSignal | undefined) {
    this.#outer = outer;
    outer?.addEventListener("abort", this.#onOuterAbort, { once: true });
    if (outer?.aborted) this.interrupt();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Also drops the text that was typed for the running turn. */
  interrupt(message?: string): void {
    if (this.#controller.signal.aborted) return;
    this.#message = message ?? null;
    this.#texts.length = 0;
    this.#controller.abort(new DOMException("The turn was interrupted by the user.", "AbortError"));
  }

  interruptMessage(): string | null {
    return this.#message;
  }

  /** False once the turn is over. After an interrupt the text is kept for the next turn. */
  add(text: string): boolean {
    if (this.#isClosed) return false;
    if (pyStrip(text) !== "") this.#texts.push(pyStrip(text));
    return true;
  }

  closeSteering(): string | undefined {
    this.#isClosed = true;
    return this.takeSteer();
  }

  takeSteer(): string | undefined {
    const texts = this.#texts.splice(0);
    return texts.length === 0 ? undefined : texts.join("\n\n");
  }

  end(): void {
    this.#outer?.removeEventListener("abort", this.#onOuterAbort);
  }
}

// The events of one turn as an async iterable. They are kept until they are read, so a slow reader misses none.

/** To be iterated once. */
export type AgentStream = AsyncIterable<AgentEvent> & {
  /** Rejects when the turn was refused, as `run` does. */
  readonly result: Promise<TurnResult>;
};

/** `events`: the same as a stream. Cancelling it interrupts the turn, and waits for its end, so that the agent is free for the next one. */
function startStream(
  run: (options: RunOptions) => Promise<TurnResult>,
  { signal, onEvent, ...options }: RunOptions,
): AgentStream & { readonly events: ReadableStream<AgentEvent> } {
  const stop = new AbortController();
  let queue: ReadableStreamDefaultController<AgentEvent> | undefined;
  const events = new ReadableStream<AgentEvent>({
    start: (controller) => {
      queue = controller;
    },
    cancel: async () => {
      queue = undefined;
      stop.abort();
      await result.catch(() => undefined);
    },
  });
  const result = run({
    ...options,
    signal: signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]),
    onEvent: (event) => {
      queue?.enqueue(event);
      onEvent?.(event);
    },
  });
  // Also keeps a rejection from being unhandled when the caller reads only the events.
  result.then(
    () => queue?.close(),
    (cause: unknown) => queue?.error(cause),
  );
  return { result, events, [Symbol.asyncIterator]: () => events[Symbol.asyncIterator]() };
}

/** Callers without types pass anything. Throws `empty-message` and `bad-message`. */
function checkInput(input: unknown): void {
  const isParts = Array.isArray(input) && input.every(isRecord);
  if (typeof input !== "string" && !isParts)
    throw new HermesError("bad-message", "The message is neither a text nor a list of parts.", {
      hint: "Pass a text, or parts such as [{ type: 'text', text }]. lastUserInput(messages) reads what useChat posts.",
    });
  if (typeof input === "string" ? pyStrip(input) === "" : input.length === 0)
    throw new HermesError("empty-message", "There is nothing to answer: the message is empty.");
}

/** Throws `bad-message`. */
function checkResults(results: unknown): void {
  const isResult = (value: unknown): boolean =>
    isRecord(value) &&
    typeof value.id === "string" &&
    (typeof value.output === "string" || (Array.isArray(value.output) && value.output.every(isRecord)));
  if (Array.isArray(results) && results.length > 0 && results.every(isResult)) return;
  throw new HermesError("bad-message", "These are not results of tool calls.", {
    hint: "Pass a list of { id, output }: the id of the call, and a text or a list of parts.",
  });
}
