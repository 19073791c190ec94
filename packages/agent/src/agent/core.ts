// Everything the phases of a turn and the session commands share. What an agent is made of stays; what a command can change
// (model, window, session) is a field.

import type { HermesConfig } from "@hermes-memory/core/config";
import { type CachingPolicy, type ContextEngine, cacheTtl, cachingPolicy } from "@hermes-memory/core/context";
import type { MemoryStore } from "@hermes-memory/core/curated";
import { type Clock, describeCause } from "@hermes-memory/core/lib";
import type { Logger } from "@hermes-memory/core/lib/logger";
import type { MemoryUser, Person } from "@hermes-memory/core/memory";
import type { Message } from "@hermes-memory/core/message";
import type { MemoryManager } from "@hermes-memory/core/providers";
import { type ResultLimits, type SessionStore, scopeOfUser } from "@hermes-memory/core/sessions";
import type { ToolTable } from "@hermes-memory/core/tools";
import type { ChatModel, ChosenModel, ContextWindow, TokenCalibration } from "../models/index.ts";
import type { AgentEvent, EventListener } from "./events.ts";
import type { AgentHooks } from "./hooks.ts";
import type { Nudges, NudgesDue } from "./nudges.ts";
import { SessionLease } from "./session/lease.ts";
import type { PromptKeeper } from "./session/prompt-keeper.ts";
import { reserve } from "./session/reserve.ts";
import type { Totals } from "./session/totals.ts";
import type { Transcript } from "./session/transcript.ts";
import { resultLimits } from "./tools/run-calls.ts";
import type { TodoStore } from "./tools/todo.ts";
import type { Turn } from "./turn/turn.ts";

export type CoreParts = {
  readonly home: string;
  readonly config: HermesConfig;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly platform: string;
  /** For whom the agent works: the layers above are theirs. */
  readonly person: Person;
  /** Undefined: the owner of the home. */
  readonly user: MemoryUser | undefined;
  readonly cwd: string | undefined;
  readonly maxTurns: number;
  /** The session that ran this one for a piece of its work. */
  readonly delegateFrom: string | undefined;
  readonly ephemeral: string | undefined;
  readonly prefill: readonly Message[];
  readonly holder: string;
  /** Undefined: with a timer. */
  readonly waitForRetry: ((ms: number, signal: AbortSignal | undefined) => Promise<void>) | undefined;
  readonly hooks: AgentHooks;
  readonly store: SessionStore | undefined;
  /** With the sessions of all users, where the agent may have that. */
  readonly wholeStore: SessionStore | undefined;
  readonly memory: MemoryStore | undefined;
  readonly manager: MemoryManager | undefined;
  readonly engine: ContextEngine;
  readonly todo: TodoStore;
  readonly transcript: Transcript;
  readonly prompt: PromptKeeper;
  readonly totals: Totals;
  readonly nudges: Nudges;
};

/**
 * A locked database makes every write wait for seconds. One that has just done so is left alone for this long in the middle of a
 * turn, so that the turn goes on; its end tries again.
 */
const RESPITE_MS = 30_000;

export class AgentCore {
  readonly parts: CoreParts;
  /** Ids of long tool results that this agent put into files. */
  readonly keptResults = new Set<string>();
  model: ChatModel;
  window: ContextWindow;
  table: ToolTable;
  /** How the model's server counts, compared with our estimates. */
  calibration: TokenCalibration;
  /** How the model was chosen; undefined for a model object that somebody passed in. */
  chosen: ChosenModel | undefined;
  /** The session in which a vendor refused its own earlier reasoning: it is left out from then on. */
  withoutReasoningIn: string | undefined;
  /** Given before there was a row to put it in. */
  queuedTitle: string | undefined;
  parentSessionId: string | undefined;
  /** Begins a review; false when it cannot now. Undefined: there is nobody to do it. */
  startReview: ((turn: Turn, due: NudgesDue) => boolean) | undefined;
  /**
   * Of what runs now. Without one nothing is written. One that is not taken, because the database was away, is asked for before
   * the next write; once it is lost nothing more is written: another process goes on with the session.
   */
  lease: SessionLease | undefined;
  /** The last request that the model's server has counted; undefined when the list is no longer the same. */
  lastSent: { readonly estimate: number; readonly counted: number } | undefined;
  /** The most tokens its server has taken in one request. */
  mostTaken = 0;
  /** The window that was known before a server stated a smaller one in this session. */
  windowBefore: ContextWindow | undefined;
  /** A compaction came to nothing: the next one costs a summary again, so only who insists gets it before the next turn. */
  isCompactionPaused = false;
  readonly #listeners = new Set<EventListener>();
  readonly #told = new Set<string>();
  #rowOf: string | undefined;
  #awayUntilMs = 0;
  #isAskedLast = false;

  constructor(parts: CoreParts, running: Pick<AgentCore, "model" | "window" | "table" | "calibration">) {
    this.parts = parts;
    this.model = running.model;
    this.window = running.window;
    this.table = running.table;
    this.calibration = running.calibration;
  }

  get sessionId(): string {
    return this.parts.transcript.sessionId;
  }

  /** Turns of this session, those of its history included. */
  get turns(): number {
    return this.parts.nudges.turns;
  }

  /** Tokens the model's server counts for each token we estimate; at least 1. */
  get tokenFactor(): number {
    return this.calibration.factor;
  }

  get nowSeconds(): number {
    return this.parts.clock.now().getTime() / 1000;
  }

  get caching(): CachingPolicy {
    return cachingPolicy(this.model.identity);
  }

  get ttl(): "5m" | "1h" {
    return cacheTtl(this.parts.config.promptCaching.cacheTtl);
  }

  /** How much of the window one tool result may take. */
  get resultLimits(): ResultLimits {
    return resultLimits(this.parts.config.agent.maxResultChars, this.window, this.tokenFactor);
  }

  listen(listener: EventListener): () => void {
    const entry: EventListener = (event) => listener(event); // the same function may listen twice, and leave once
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }

  /** Whoever watches must not change what happens. */
  emit(event: AgentEvent): void {
    for (const listener of this.#listeners) this.tell(`A listener of ${event.type}`, () => listener(event));
  }

  /** Calls somebody else's code that nobody waits for. What it throws, or rejects with later, costs a line in the log. */
  tell(what: string, call: () => unknown): boolean {
    const failed = (cause: unknown): void => this.parts.log.warn(`${what} failed: ${describeCause(cause)}`);
    try {
      const returned = call();
      if (returned instanceof Promise) returned.catch(failed);
      return true;
    } catch (cause) {
      failed(cause);
      return false;
    }
  }

  /** Each cause is told once per session. */
  notice(level: "info" | "warn", cause: string, text: string): void {
    if (this.#told.has(cause)) return;
    this.#told.add(cause);
    if (level === "warn") this.parts.log.warn(text, { cause });
    this.emit({ type: "notice", level, cause, text });
  }

  forgetNotices(): void {
    this.#told.clear();
  }

  turnBegins(): void {
    this.isCompactionPaused = false;
    this.#isAskedLast = false;
  }

  /** Of the session, not taken yet. Undefined without a database. */
  newLease(): SessionLease | undefined {
    const { store, holder } = this.parts;
    return store === undefined ? undefined : new SessionLease(store, this.sessionId, holder);
  }

  /** The session's row, made with its first turn. False when that failed; the next turn, call or flush tries again. */
  async ensureRow(): Promise<boolean> {
    const { store } = this.parts;
    if (store === undefined) return true;
    return (await this.#mayWrite()) && (this.hasRow || this.#makeRow(store));
  }

  async #makeRow(store: SessionStore): Promise<boolean> {
    const { platform, user, cwd, config, log } = this.parts;
    try {
      await store.createSession(this.sessionId, {
        source: platform,
        model: this.model.identity.model,
        modelConfig: {
          max_iterations: this.parts.maxTurns,
          reasoning_config: null,
          max_tokens: config.agent.maxOutputTokens ?? null,
          ...(this.parts.delegateFrom === undefined ? {} : { _delegate_from: this.parts.delegateFrom }),
        },
        ...scopeOfUser(user),
        ...(this.parentSessionId === undefined ? {} : { parentSessionId: this.parentSessionId }),
        ...(platform === "cli" && cwd !== undefined ? { cwd } : {}),
      });
      this.#rowOf = this.sessionId;
      await this.#setQueuedTitle(store);
      return true;
    } catch (cause) {
      this.noteStoreTrouble(cause);
      log.warn("The session row could not be made", { cause });
      return false;
    }
  }

  /** As far as this process knows. */
  get hasRow(): boolean {
    return this.#rowOf === this.sessionId;
  }

  /** The row is there: the session was resumed or is a continuation. */
  noteRow(sessionId: string): void {
    this.#rowOf = sessionId;
  }

  /** Stored as far as that is possible; what is not is tried again later. */
  async flush(): Promise<boolean> {
    const isStored = (await this.ensureRow()) && (await this.#flushTranscript());
    if (isStored) await this.storeUsage();
    return isStored;
  }

  /** A session that another program has closed meanwhile is followed to where it goes on, once. */
  async #flushTranscript(): Promise<boolean> {
    const { transcript, holder } = this.parts;
    const isStored = await transcript.flush(holder);
    if (isStored || !transcript.isClosed || this.lease === undefined) return isStored;
    if ((await reserve(this, this.lease)) !== undefined || transcript.isClosed) return false;
    return transcript.flush(holder);
  }

  /** The end of a turn: whether the session is ours is asked now at the latest. Worth a wait, but `flushLast` then does without. */
  async askLast(): Promise<void> {
    if (this.lease === undefined || this.lease.isTaken) return;
    this.#awayUntilMs = 0;
    await this.#mayWrite();
    this.#isAskedLast = true;
  }

  /** At the end of a turn it is worth a wait, and what comes after it as well. */
  async flushLast(): Promise<boolean> {
    if (!this.#isAskedLast) this.#awayUntilMs = 0;
    const isStored = await this.flush();
    this.#awayUntilMs = 0;
    return isStored;
  }

  /** What calls have used. As with messages, what cannot be stored now is stored later. */
  async storeUsage(): Promise<void> {
    const { store, totals, log } = this.parts;
    if (store === undefined || totals.owed.length === 0) return;
    if (!(await this.ensureRow())) return;
    try {
      await totals.pay((sessionId, update) => store.updateTokenCounts(sessionId, update));
    } catch (cause) {
      log.warn(`The usage of a call could not be stored yet: ${describeCause(cause)}`);
    }
  }

  /** One notice for everything that a database which cannot be written stops. */
  noteStoreTrouble(cause: unknown): void {
    this.#awayUntilMs = performance.now() + RESPITE_MS;
    this.notice(
      "warn",
      "session-store",
      `The session database cannot be used right now: ${describeCause(cause)} The conversation goes on, and what is said is stored as soon as that is possible.`,
    );
  }

  /** It has just been written to. */
  noteStoreBack(): void {
    this.#awayUntilMs = 0;
  }

  async #mayWrite(): Promise<boolean> {
    const { lease } = this;
    if (lease === undefined || lease.isLost || performance.now() < this.#awayUntilMs) return false;
    if (!lease.isTaken) await reserve(this, lease);
    return lease.isHeld();
  }

  async #setQueuedTitle(store: SessionStore): Promise<void> {
    const title = this.queuedTitle;
    this.queuedTitle = undefined;
    if (title === undefined) return;
    try {
      await store.setSessionTitle(this.sessionId, title);
    } catch (cause) {
      this.notice("warn", `title:${title}`, `The title was not set: ${describeCause(cause)}`);
    }
  }
}
