// The session an agent works on: its transcript, its row in the database, its lease, its system prompt and its usage. Everything
// that a turn, a compaction or a change of session stores goes through here. Without the lease nothing is written: another
// process may be working on the session. While the database cannot be used the conversation goes on, and the messages are
// stored later.
import { estimateRequest, withoutRefused } from "@hermes-memory/core/internal/context";
import {
  describeCause,
  err,
  HermesError,
  ok,
  type Result,
  withoutUndefined,
} from "@hermes-memory/core/internal/lib";
import type { RecallAnswer } from "@hermes-memory/core/internal/memory";
import { type Message, toNewMessage, withMeta } from "@hermes-memory/core/internal/message";
import {
  newSessionId,
  type SessionMark,
  type SessionStore,
  scopeOfUser,
  type TokenUpdate,
} from "@hermes-memory/core/internal/sessions";
import type { ToolTable } from "@hermes-memory/core/internal/tools";
import type { Usage } from "../../models/index.ts";
import { type CallCost, type ModelInUse, tokenUpdate, UsageTotals } from "../model-in-use.ts";
import type { AgentParts } from "../parts.ts";
import { type Refusal, SessionLease } from "./session-lease.ts";
import type { SessionPrompt } from "./session-prompt.ts";
import { Transcript } from "./transcript.ts";

export type SessionDeps = Pick<
  AgentParts,
  "store" | "home" | "platform" | "user" | "model" | "engine" | "manager" | "events" | "log" | "clock"
> & {
  /** The name of this agent as a holder of leases and locks. */
  readonly holder: string;
  /** For the session's row. */
  readonly row: {
    readonly cwd: string | undefined;
    readonly maxTurns: number;
    readonly maxOutputTokens: number | undefined;
    /** The session whose agent delegated this work. */
    readonly delegatedFrom: string | undefined;
  };
  /** Sent with every request and stored nowhere: additions to the system prompt, and messages before the first one. */
  readonly ephemeral: string | undefined;
  readonly prefill: readonly Message[];
  readonly prompt: SessionPrompt;
};

export type SessionStart = {
  readonly id: string;
  readonly messages: readonly Message[];
  readonly parentId?: string | undefined;
  readonly hasRow: boolean;
};

/** `away`: the database could not be asked. */
export type Hold = { readonly kind: "ours" } | { readonly kind: "away" } | Refusal;

export type SwitchReason = "new_session" | "resume" | "branch";

/**
 * A locked database makes every write wait for seconds. After a failed write no other one is tried for this long in the middle of
 * a turn, so that the turn goes on; the end of the turn tries again.
 */
const PAUSE_AFTER_TROUBLE_MS = 30_000;

const STORE_CLOSED =
  "The session database was closed while the agent was in use, so the last messages are not stored.";

/** What a turn used, and what it recalled. */
export type TurnFacts = {
  readonly startedAtMs: number;
  readonly used: UsageTotals;
  readonly recalled: (RecallAnswer & { readonly query: string }) | undefined;
};

export class Session {
  /** Usage and cost of the calls, as this agent counted them. */
  readonly usage = new UsageTotals();
  /**
   * A compaction failed in this turn. The next one would cost another summary, so until the next turn only a forced one is tried.
   */
  isCompactionPaused = false;
  readonly #deps: SessionDeps;
  readonly #transcript: Transcript;
  #parentId: string | undefined;
  /** The session whose row is known to exist. */
  #rowOf: string | undefined;
  /**
   * The lease of the turn or command that runs now. One that could not be taken because of database trouble is asked for before
   * the next write. Once it is lost nothing more is written.
   */
  #lease: SessionLease | undefined;
  #unstoredUsage: readonly { readonly sessionId: string; readonly update: TokenUpdate }[] = [];
  #noWritesBeforeMs = 0;
  #wasClaimedAtEnd = false;
  #isStoreClosed = false;
  /** A title given before there was a row to store it in. */
  #queuedTitle: string | undefined;

  constructor(deps: SessionDeps, start: SessionStart) {
    this.#deps = deps;
    this.#transcript = new Transcript(start.id, deps.store, (cause) => this.#noteTrouble(cause));
    this.#transcript.adopt(start.id, start.messages);
    this.#parentId = start.parentId;
    this.#rowOf = start.hasRow ? start.id : undefined;
  }

  /** The same conversation with other messages, stored nowhere and known to no provider: for the background review. */
  detached(messages: readonly Message[], parts: Pick<SessionDeps, "engine" | "model" | "events">): Session {
    const deps = { ...this.#deps, ...parts, store: undefined, manager: undefined };
    return new Session(deps, { id: this.id, messages, parentId: this.#parentId, hasRow: false });
  }

  get id(): string {
    return this.#transcript.sessionId;
  }
  /** The session before: the one that was compacted, branched from, or whose agent delegated this work. */
  get parentId(): string | undefined {
    return this.#parentId;
  }
  get store(): SessionStore | undefined {
    return this.#deps.store;
  }
  get holder(): string {
    return this.#deps.holder;
  }
  get prompt(): SessionPrompt {
    return this.#deps.prompt;
  }
  get prefill(): readonly Message[] {
    return this.#deps.prefill;
  }
  /** The caller's text of this kind, and instructions that have changed since the prompt was stored. */
  get ephemeral(): string | undefined {
    const { ephemeral = "", prompt } = this.#deps;
    return [ephemeral, prompt.changedInstructions].filter((text) => text !== "").join("\n\n") || undefined;
  }
  /** As far as this process knows. */
  get hasRow(): boolean {
    return this.#rowOf === this.id;
  }

  // The list of messages. It is replaced, never changed in place.

  get messages(): readonly Message[] {
    return this.#transcript.messages;
  }
  append(...messages: readonly Message[]): void {
    this.#transcript.append(...messages);
  }
  /** Drops the messages that were only for the model in this turn. */
  dropEphemeral(): void {
    this.#transcript.dropEphemeral();
  }
  /** Marks messages that the model's provider refused to read: they stay, and requests leave them out. */
  refuse(ids: ReadonlySet<string>): void {
    this.#transcript.refuse(ids);
  }
  /** Drops the messages from this one on that are not stored: another process has cut off their turn. */
  dropUnsaved(fromId: string): void {
    this.#transcript.dropUnsaved(fromId);
  }
  /** Estimated tokens of the next request, before any server has counted. */
  requestEstimate(tools: ToolTable): number {
    const { prefill, prompt } = this.#deps;
    const { ephemeral = "" } = this;
    const messages = withoutRefused(this.messages);
    return estimateRequest({
      system: ephemeral === "" ? (prompt.text ?? "") : `${prompt.text ?? ""}\n\n${ephemeral}`,
      messages: prefill.length === 0 ? messages : [...prefill, ...messages],
      tools: tools.definitions(),
    });
  }

  // The lease.

  /** For a turn, until `release`: takes the lease and reads the messages that other processes added. */
  async reserve(): Promise<Refusal | undefined> {
    this.isCompactionPaused = false;
    this.#wasClaimedAtEnd = false;
    const lease = this.#newLease();
    const refusal = lease === undefined ? undefined : await this.#reserve(lease);
    if (refusal === undefined) this.#lease = lease;
    return refusal;
  }

  async release(): Promise<void> {
    const lease = this.#lease;
    this.#lease = undefined;
    await lease?.release();
  }

  /** The same for work outside of a turn. `hold` says whether it could be done. */
  whileReserved<T>(work: (hold: Hold) => Promise<T>): Promise<T> {
    return this.#whileHeld((lease) => this.#reserve(lease), work);
  }

  /** The same for leaving the session: messages of other processes are read only when there are some to store. */
  whileLeaving<T>(work: (hold: Hold) => Promise<T>): Promise<T> {
    return this.isAllStored ? this.#whileHeld((lease) => this.#claim(lease), work) : this.whileReserved(work);
  }

  /** False once another process has the session. True as well while the database cannot be asked. */
  async isOurs(): Promise<boolean> {
    const lease = this.#lease;
    if (lease === undefined) return true;
    return lease.isTaken ? lease.isHeld() : !lease.isLost;
  }

  /** Why the lease was refused when it was asked for in the middle of a turn. */
  get lateRefusal(): string | undefined {
    return this.#lease?.refusal;
  }

  /** Asked of the database; false also when it cannot be asked. */
  async isDeleted(): Promise<boolean> {
    return (await this.store?.getSessionMark(this.id).catch(() => undefined)) === null;
  }

  #newLease(): SessionLease | undefined {
    const { store, holder } = this.#deps;
    return store === undefined ? undefined : new SessionLease(store, this.id, holder);
  }

  async #whileHeld<T>(
    ask: (lease: SessionLease) => Promise<Refusal | undefined>,
    work: (hold: Hold) => Promise<T>,
  ): Promise<T> {
    const lease = this.#newLease();
    this.#lease = lease;
    try {
      if (lease === undefined) return await work({ kind: "ours" });
      const refusal = await ask(lease);
      return await work(refusal ?? { kind: lease.isTaken ? "ours" : "away" });
    } finally {
      await this.release();
    }
  }

  /** Undefined when the lease is ours, and also when the database could not be asked: the lease is then not taken yet. */
  async #reserve(lease: SessionLease): Promise<Refusal | undefined> {
    const { store, events } = this.#deps;
    if (store === undefined) return undefined;
    try {
      for (;;) {
        const id = this.id;
        const busy = await lease.take(id);
        if (busy !== undefined) return await lease.giveUp({ kind: "busy", message: busy });
        const mark = await store.getSessionMark(id);
        if (this.hasRow && mark === null)
          return await lease.giveUp({ kind: "gone", message: goneMessage(id) });
        const tip = await continuationOf(store, id, mark);
        if (tip === undefined) {
          if (await this.#transcript.catchUp())
            events.notice(
              "info",
              "caught-up",
              "Another process has written to this session; its messages were read first.",
            );
          this.#noWritesBeforeMs = 0;
          return undefined;
        }
        await this.#follow(tip, lease);
      }
    } catch (cause) {
      await lease.release();
      this.#noteTrouble(cause);
      return undefined;
    }
  }

  /** Another process compacted the session: the conversation goes on in its continuation. */
  async #follow(tip: string, lease: SessionLease): Promise<void> {
    const { prompt, events } = this.#deps;
    const old = this.id;
    await this.#transcript.follow(tip);
    this.#rowOf = tip;
    this.#parentId = old;
    prompt.drop();
    await lease.release();
    await this.tellStart(old);
    await this.#tellSwitch(old, "compression");
    events.notice(
      "info",
      `followed:${tip}`,
      `Another process compacted this conversation; it goes on in session ${tip}.`,
    );
  }

  /** The lease alone, when there is no message to store. */
  async #claim(lease: SessionLease): Promise<Refusal | undefined> {
    try {
      const busy = await lease.take(this.id);
      return busy === undefined ? undefined : await lease.giveUp({ kind: "busy", message: busy });
    } catch (cause) {
      this.#noteTrouble(cause);
      return undefined;
    }
  }

  // Storing.

  /** Nothing is left to store, neither messages nor usage. */
  get isAllStored(): boolean {
    return this.#transcript.unsaved.length === 0 && this.#unstoredUsage.length === 0;
  }
  /** What the caller of a turn must know: the program closed the store, so the messages will not be stored later either. */
  get loss(): string | undefined {
    return this.#isStoreClosed && this.hasUnsavedMessages ? STORE_CLOSED : undefined;
  }
  get hasUnsavedMessages(): boolean {
    return this.#transcript.unsaved.length > 0;
  }

  /** The row is made with the first turn. False when that failed; the next turn, call or flush tries again. */
  async ensureRow(): Promise<boolean> {
    const { store } = this.#deps;
    if (store === undefined) return true;
    return (await this.#mayWrite()) && (this.hasRow || this.#makeRow(store));
  }

  /** Stores the messages and usage that are not stored yet. False when some could not be; the next call tries again. */
  async flush(): Promise<boolean> {
    const isStored = (await this.ensureRow()) && (await this.#flushTranscript());
    if (isStored) await this.#storeUsage();
    return isStored;
  }

  /** At the end of a turn: an untaken lease is asked for once more, however long the database makes this wait. */
  async claimAtTurnEnd(): Promise<void> {
    if (this.#lease === undefined || this.#lease.isTaken) return;
    this.#noWritesBeforeMs = 0;
    await this.#mayWrite();
    this.#wasClaimedAtEnd = true; // the flush that follows does not wait a second time
  }

  async flushAtTurnEnd(): Promise<boolean> {
    if (!this.#wasClaimedAtEnd) this.#noWritesBeforeMs = 0;
    const isStored = await this.flush();
    this.#noWritesBeforeMs = 0;
    return isStored;
  }

  /** The usage of one call, added to the session's row now or with a later flush. */
  async storeCall(usage: Usage, cost: CallCost): Promise<void> {
    if (this.store === undefined) return;
    const isBehind = this.#unstoredUsage.length > 0; // the database is in trouble; the next flush tries again
    const update = tokenUpdate(usage, cost, this.#deps.model);
    this.#unstoredUsage = [...this.#unstoredUsage, { sessionId: this.id, update }];
    if (!isBehind) await this.#storeUsage();
  }

  /** What the turn used and recalled, for people who look into it later. The turn does not fail because of it. */
  async noteTurn({ startedAtMs, used, recalled }: TurnFacts): Promise<void> {
    const { store, log, clock, model } = this.#deps;
    if (store === undefined || !this.hasRow) return;
    const { usage, costUsd: cost, apiCalls: calls } = used;
    const duration_ms = performance.now() - startedAtMs;
    const at = clock.now().getTime() / 1000 - duration_ms / 1000;
    const of = { session_id: this.id, mode: "agent" } as const;
    try {
      const recall =
        recalled &&
        (await store.turns.addRecall({
          ...of,
          at,
          query: recalled.query,
          injected: recalled.text,
          found: JSON.stringify(recalled.found),
          duration_ms: recalled.durationMs,
        }));
      await store.turns.addTurn({
        ...of,
        at,
        duration_ms,
        calls,
        cost,
        model: model.identity.model,
        input_tokens: usage.input,
        output_tokens: usage.output,
        cache_read_tokens: usage.cacheRead,
        cache_write_tokens: usage.cacheWrite,
        reasoning_tokens: usage.reasoning,
        recall,
      });
    } catch (cause) {
      log.warn("What a turn used could not be stored", { cause });
    }
  }

  /** The usage of background work for `sessionId`, which the agent may have left meanwhile. */
  async storeUsageOf(sessionId: string, work: UsageTotals, model: ModelInUse): Promise<void> {
    const { store, log } = this.#deps;
    if (work.apiCalls === 0) return;
    if (this.id === sessionId) this.usage.addCost(work.costUsd);
    // A session that was deleted meanwhile must not come back as a row without an owner.
    if (store === undefined || (await store.getSessionMark(sessionId).catch(() => null)) === null) return;
    const update = tokenUpdate(work.usage, { ...work.lastCost, costUsd: work.costUsd }, model);
    await store
      .updateTokenCounts(sessionId, { ...update, apiCallCount: work.apiCalls })
      .catch((cause: unknown) => log.warn("The usage of a review could not be stored", { cause }));
  }

  async #mayWrite(): Promise<boolean> {
    const lease = this.#lease;
    if (lease === undefined || lease.isLost || performance.now() < this.#noWritesBeforeMs) return false;
    if (!lease.isTaken) await this.#reserve(lease);
    return lease.isHeld();
  }

  /** One notice for everything that fails because the database cannot be used. */
  #noteTrouble(cause: unknown): void {
    this.#noWritesBeforeMs = performance.now() + PAUSE_AFTER_TROUBLE_MS;
    if (cause instanceof HermesError && cause.code === "session-db-closed") {
      this.#isStoreClosed = true;
      this.#deps.events.notice("warn", "session-store-closed", STORE_CLOSED);
      return;
    }
    this.#deps.log.warn(`The session database cannot be used: ${describeCause(cause)}`);
    this.#deps.events.notice(
      "warn",
      "session-store",
      // Without the cause, which names files: users of a gateway read this, too.
      `The session database cannot be used right now (${cause instanceof HermesError ? cause.code : "unknown error"}; 'hermes doctor' says more). The conversation goes on, and its messages are stored with the next turn, unless the program ends before.`,
    );
  }

  async #makeRow(store: SessionStore): Promise<boolean> {
    const { platform, user, row, model, log } = this.#deps;
    try {
      await store.createSession(this.id, {
        source: platform,
        model: model.identity.model,
        modelConfig: withoutUndefined({
          max_iterations: row.maxTurns,
          reasoning_config: null,
          max_tokens: row.maxOutputTokens ?? null,
          _delegate_from: row.delegatedFrom, // a key without a value would still mark a delegate
        }),
        ...scopeOfUser(user),
        parentSessionId: this.#parentId,
        cwd: platform === "cli" ? row.cwd : undefined,
      });
      this.#rowOf = this.id;
      await this.#storeQueuedTitle(store);
      return true;
    } catch (cause) {
      this.#noteTrouble(cause);
      log.warn("The session row could not be made", { cause });
      return false;
    }
  }

  async #storeQueuedTitle(store: SessionStore): Promise<void> {
    const title = this.#queuedTitle;
    this.#queuedTitle = undefined;
    if (title === undefined) return;
    try {
      await store.setSessionTitle(this.id, title);
    } catch (cause) {
      this.#deps.events.notice("warn", `title:${title}`, `The title was not set: ${describeCause(cause)}`);
    }
  }

  /** When another program has closed the session meanwhile, its continuation is followed once. */
  async #flushTranscript(): Promise<boolean> {
    const transcript = this.#transcript;
    const isStored = await transcript.flush(this.holder);
    if (isStored || !transcript.isClosed || this.#lease === undefined) return isStored;
    if ((await this.#reserve(this.#lease)) !== undefined || transcript.isClosed) return false;
    return transcript.flush(this.holder);
  }

  /** Oldest first. The first update that cannot be stored ends it; it is tried again later. */
  async #storeUsage(): Promise<void> {
    const { store, log } = this.#deps;
    if (store === undefined || this.#unstoredUsage.length === 0 || !(await this.ensureRow())) return;
    for (;;) {
      const [first, ...rest] = this.#unstoredUsage;
      if (first === undefined) return;
      this.#unstoredUsage = rest; // before the wait, so that no other call stores it as well
      try {
        await store.updateTokenCounts(first.sessionId, first.update);
      } catch (cause) {
        this.#unstoredUsage = [first, ...this.#unstoredUsage];
        log.warn(`The usage of a call could not be stored yet: ${describeCause(cause)}`);
        return;
      }
    }
  }

  async storeModel(): Promise<void> {
    const { store, model, log } = this.#deps;
    await store?.updateSessionModel(this.id, model.identity.model).catch((cause: unknown) => {
      log.warn("The new model could not be noted in the session", { cause });
    });
  }

  async title(): Promise<string | null> {
    return this.#queuedTitle ?? (await this.store?.getSessionTitle(this.id)) ?? null;
  }

  /** Kept until there is a row, when there is none yet. Rejects when the database refuses the title. */
  async setTitle(title: string | null): Promise<string | null> {
    if (await this.store?.setSessionTitle(this.id, title))
      return (await this.store?.getSessionTitle(this.id)) ?? null;
    this.#queuedTitle = title ?? undefined;
    return title;
  }

  // From one session to the next.

  /** Tells provider and engine that the session ends, while its messages are still there. */
  async tellEnd(messages: readonly Message[]): Promise<void> {
    const { manager, engine, log } = this.#deps;
    await manager?.onSessionEnd(messages);
    await Promise.resolve(engine.onSessionEnd?.(this.id, messages)).catch((cause: unknown) =>
      log.warn("The context engine failed at the end of the session", { cause }),
    );
  }

  /** Tells the engine that the session begins. `continues`: the session that was compacted. */
  async tellStart(continues?: string): Promise<void> {
    const { engine, home, platform, model, log } = this.#deps;
    try {
      await engine.onSessionStart?.(this.id, {
        boundaryReason: continues === undefined ? undefined : "compression",
        oldSessionId: continues,
        hermesHome: home,
        platform,
        model: model.identity.model,
        contextLength: model.window.tokens,
      });
    } catch (cause) {
      log.warn("The context engine failed at the start of the session", { cause });
    }
  }

  /**
   * After a compaction: ends the session and goes on in a new one that holds `messages`, in one transaction. When it fails, nothing
   * has changed, and the reason is returned. Without a database only the list and the prompt change.
   */
  async continueWith(
    messages: readonly Message[],
    { tools, lockHolder }: { readonly tools: ToolTable; readonly lockHolder: string | undefined },
  ): Promise<Result<void, string>> {
    const { store, prompt, clock, model, holder } = this.#deps;
    const old = this.id;
    const id = store === undefined ? old : newSessionId(clock.now());
    const previous = prompt.kept;
    try {
      prompt.drop();
      const systemPrompt = await prompt.build(id, tools);
      if (store === undefined) {
        this.#transcript.adopt(id, messages);
        return ok(undefined);
      }
      await this.#lease?.prepare(id);
      const { messageIds } = await store.continueSession(old, {
        id,
        systemPrompt,
        ownPrompt: prompt.own,
        model: model.identity.model,
        messages: messages.map(toNewMessage),
        lockHolder,
        leaseHolder: holder,
      });
      this.#transcript.adopt(
        id,
        messages.map((message, index) => withMeta(message, { rowId: messageIds[index] })),
      );
    } catch (cause) {
      prompt.restore(previous);
      await this.#lease?.abandon(id);
      return err(describeCause(cause));
    }
    this.#rowOf = id;
    this.#parentId = old;
    await this.#lease?.switchTo(id);
    await this.tellStart(old);
    await this.#tellSwitch(old, "compression");
    return ok(undefined);
  }

  /** Another session from now on, with the rows it has. The session before must have been left. */
  async switchTo(
    next: SessionStart & { readonly title?: string | undefined },
    reason: SwitchReason,
  ): Promise<void> {
    const { prompt, engine } = this.#deps;
    const old = this.id;
    this.#transcript.adopt(next.id, next.messages);
    this.#parentId = next.parentId;
    this.#rowOf = next.hasRow ? next.id : undefined;
    this.#queuedTitle = next.title;
    prompt.drop();
    this.usage.reset();
    engine.onSessionReset?.();
    await this.tellStart();
    await this.#tellSwitch(old, reason);
  }

  async #tellSwitch(from: string, reason: SwitchReason | "compression"): Promise<void> {
    const { manager, events } = this.#deps;
    const reset = reason === "new_session";
    await manager?.onSessionSwitch(this.id, { parent_session_id: from, reset, reason });
    events.emit({ type: "session-switch", from, to: this.id, reason });
  }

  /** Turns were taken back in the database: reads the list again. */
  async reloadAfterUndo(turns: number): Promise<void> {
    const { manager, events } = this.#deps;
    await this.#transcript.reload();
    const rewound = { parent_session_id: "", reset: false, rewound: true, undone_turns: turns };
    await manager?.onSessionSwitch(this.id, rewound);
    events.emit({ type: "session-switch", from: this.id, to: this.id, reason: "rewind" });
  }

  /** Ends the row. One without messages is deleted. */
  async endRow(reason: string): Promise<void> {
    const { store, log } = this.#deps;
    try {
      if (await store?.deleteSessionIfEmpty(this.id)) return;
      await store?.endSession(this.id, reason);
    } catch (cause) {
      log.warn("The end of the session could not be stored", { cause });
    }
  }
}

export function goneMessage(sessionId: string): string {
  return `Session ${sessionId} has been deleted, so nothing more is stored in it.`;
}

/** The session in which a compacted one goes on. A session that was closed otherwise is opened again. */
async function continuationOf(
  store: SessionStore,
  id: string,
  mark: SessionMark | null,
): Promise<string | undefined> {
  if (mark?.end_reason === "compression") {
    const tip = await store.getCompressionTip(id);
    if (tip !== id) return tip;
    await store.reopenSession(id); // its continuation was deleted
  } else if (mark !== null && mark.ended_at !== null) await store.reopenSession(id);
  return undefined;
}
