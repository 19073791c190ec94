// A networked memory as a provider. The server is never on the user's path: a finished turn and a curated write go into the outbox, recall is
// fetched after a turn for the next one, and only the first turn of a session waits for it, at most 3 s.
import { existsSync } from "node:fs";
import { environmentOf } from "../../../config/index.ts";
import { type Clock, HermesError, pyStrip, systemClock } from "../../../lib/index.ts";
import { type Logger, silentLogger } from "../../../lib/logger.ts";
import type { OpenAiMessage } from "../../../message/index.ts";
import { sanitizeContext } from "../../../security/index.ts";
import type { ToolDefinition } from "../../../tools/index.ts";
import {
  type CallOptions,
  type ConfigField,
  type ForgetOptions,
  type ForgetReport,
  type InitializeOptions,
  type MemoryProvider,
  type MemoryWriteMetadata,
  type MemoryWriteReport,
  type PostSetupOptions,
  PROVIDER_CONTRACT,
  type RecallOptions,
  type RecallStatus,
  type SelfTestReport,
  type SessionSwitchOptions,
  type SyncOptions,
} from "../../contract.ts";
import { Breaker } from "../breaker.ts";
import { describeForeign } from "../foreign-code.ts";
import { createHttpClient, deliveryOf, ServiceError } from "../http.ts";
import {
  type Batch,
  type Delivery,
  type LaneOptions,
  type NewItem,
  type OutboxLane,
  openLane,
  outboxPath,
} from "../outbox/outbox.ts";
import { createPrefetchCache, type PrefetchCache } from "../prefetch-cache.ts";
import { fitChars, hasContext, hasTools } from "../provider-mode.ts";
import { laneUser, remoteUser } from "./identity.ts";
import { testConnection } from "./self-test.ts";
import {
  type CommonSettings,
  type Connection,
  type Environment,
  type MirrorWrite,
  type Place,
  type Recalled,
  type Service,
  ToolRefusal,
} from "./service.ts";

export type NetworkedOptions = {
  /** The home that `isAvailable` and setup look into; `initialize` has its own. */
  readonly home: string;
  /** Default: the environment of this process with the `.env` of the home. */
  readonly env?: Environment;
  readonly clock?: Clock;
  readonly log?: Logger;
  /** For tests. */
  readonly limits?: Partial<Limits>;
};

type Limits = {
  readonly breakerFailures: number;
  readonly breakerMs: number;
  /** How long a turn waits for recall. */
  readonly recallMs: number;
  /** How long a curated write waits until it is at the server; then it is reported as queued. */
  readonly mirrorMs: number;
  readonly sessionEndMs: number;
  readonly shutdownMs: number;
  readonly outboxItems: number;
  readonly outboxBytes: number;
  readonly pauses: LaneOptions["pauses"];
};

const LIMITS: Limits = {
  breakerFailures: 5,
  breakerMs: 120_000,
  recallMs: 3_000,
  mirrorMs: 3_000,
  sessionEndMs: 8_000,
  shutdownMs: 2_000,
  outboxItems: 10_000,
  outboxBytes: 100 * 2 ** 20,
  pauses: undefined,
};

const NOTHING: Recalled = { text: "", count: 0 };
const GLYPH = "◆";

/** Set by `initialize`. */
type Running<S> = {
  readonly settings: S;
  readonly connection: Connection;
  readonly outbox: OutboxLane;
  readonly recalls: PrefetchCache<Recalled>;
  readonly isWriting: boolean;
  /** The remote memory belongs to this user alone. */
  readonly isOwnMemory: boolean;
};

export class NetworkedProvider<S extends CommonSettings> implements MemoryProvider {
  readonly contract = PROVIDER_CONTRACT;
  readonly name: string;
  readonly #service: Service<S>;
  readonly #home: string;
  readonly #env: Environment | undefined;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #limits: Limits;
  readonly #breaker: Breaker;
  /** Aborted at shutdown, which ends every running request. */
  readonly #closing = new AbortController();
  readonly #warned = new Set<string>();
  #running: Running<S> | undefined;
  #sessionId = "";
  #turn = 0;
  /** Finished turns of each session of this process. */
  readonly #turns = new Map<string, number>();
  #lastRecall = NOTHING;
  /** Turns that wait for recall now. */
  #waiting = 0;
  /** A turn waited in vain: no other one waits until a recall was answered. */
  #isHanging = false;

  constructor(service: Service<S>, { home, env, clock, log, limits }: NetworkedOptions) {
    this.name = service.name;
    this.#service = service;
    this.#home = home;
    this.#env = env;
    this.#clock = clock ?? systemClock;
    this.#log = log ?? silentLogger;
    this.#limits = { ...LIMITS, ...limits };
    this.#breaker = new Breaker({ failures: this.#limits.breakerFailures, openMs: this.#limits.breakerMs });
  }

  // ---- Before it runs ----

  isAvailable(): boolean {
    return this.#missing() === undefined;
  }

  unavailableReason(): string {
    return this.#missing() ?? "";
  }

  getConfigSchema(): readonly ConfigField[] {
    return this.#service.fields;
  }

  saveConfig(values: Readonly<Record<string, string>>, hermesHome: string): void {
    this.#service.saveSettings(values, hermesHome);
  }

  readConfig(hermesHome: string): Readonly<Record<string, unknown>> {
    return this.#service.savedSettings(this.#place(hermesHome));
  }

  get postSetup(): MemoryProvider["postSetup"] {
    const { postSetup } = this.#service;
    if (postSetup === undefined) return undefined;
    return (hermesHome: string, _config: unknown, options: PostSetupOptions) =>
      postSetup(hermesHome, options, this.#place(hermesHome).env);
  }

  backupPaths(hermesHome: string): readonly string[] {
    const place = this.#place(hermesHome);
    const paths = [outboxPath(hermesHome), ...(this.#service.backupPaths?.(place) ?? [])];
    return paths.filter((path) => existsSync(path));
  }

  // ---- Start ----

  initialize(sessionId: string, options: InitializeOptions): void {
    const { agent_context = "primary", platform = "cli" } = options;
    this.#start(sessionId, options, agent_context === "primary" && platform !== "cron");
  }

  initializeForInspection(sessionId: string, options: InitializeOptions): void {
    this.#start(sessionId, options, false);
  }

  #start(sessionId: string, options: InitializeOptions, isWriting: boolean): void {
    const place = this.#place(options.hermes_home);
    const settings = this.#service.readSettings(place);
    for (const remark of this.#service.remarks?.(place) ?? []) this.#warnOnce(remark);
    const outbox = openLane({
      home: place.home,
      provider: this.name,
      user: laneUser(options),
      isDurable: options.outbox ?? true,
      maxItems: options.outbox_max_items ?? this.#limits.outboxItems,
      maxBytes: this.#limits.outboxBytes,
      log: this.#log,
      pauses: this.#limits.pauses,
    });
    const user = remoteUser(options, settings.userScope);
    const connection = this.#service.connect(settings, {
      ...place,
      options,
      sessionId,
      user,
      isWriting,
      http: (own) =>
        createHttpClient({
          ...own,
          service: this.#service.label,
          breaker: this.#breaker,
          closing: this.#closing.signal,
        }),
      outbox,
      log: this.#log,
      clock: this.#clock,
      inBackground: (what, work) => this.#inBackground(what, work),
    });
    this.#sessionId = sessionId;
    this.#running = {
      settings,
      connection,
      outbox,
      recalls: createPrefetchCache<Recalled>({
        waitMs: this.#limits.recallMs,
        isEmpty: ({ text }) => pyStrip(text) === "",
      }),
      isWriting,
      isOwnMemory: user !== undefined || (options.user_id ?? "") === "",
    };
    if (isWriting)
      outbox.start(
        (batch, signal) => this.#deliver(connection, batch, signal),
        (kind) => connection.batchLimit(kind),
      );
  }

  systemPromptBlock(): string {
    return this.#running?.connection.promptBlock() ?? "";
  }

  // ---- Recall ----

  onTurnStart(turn: number, message: string): void {
    this.#turn = Math.max(0, turn);
    this.#running?.connection.onTurnStart?.(this.#turn, message);
  }

  async prefetch(query: string, { session_id, signal }: RecallOptions): Promise<string> {
    this.#lastRecall = NOTHING;
    const running = this.#running;
    const text = cleaned(query);
    if (running === undefined || !hasContext(running.settings.mode) || text === "") return "";
    this.#noteUnanswered();
    const startedAt = performance.now();
    this.#waiting += 1;
    const recalled = await this.#recall(running, text, session_id || this.#sessionId, signal).finally(() => {
      this.#waiting -= 1;
    });
    if (recalled.count > 0) this.#isHanging = false;
    else if (performance.now() - startedAt > 0.9 * this.#limits.recallMs) this.#isHanging = true;
    this.#lastRecall = { ...recalled, text: "" };
    return fitChars(sanitizeContext(recalled.text), running.settings.maxChars);
  }

  /** A turn that is over went on without its recall. */
  #noteUnanswered(): void {
    if (this.#waiting > 0) this.#isHanging = true;
  }

  async #recall(
    { connection, recalls }: Running<S>,
    query: string,
    sessionId: string,
    signal: AbortSignal | undefined,
  ): Promise<Recalled> {
    const turn = this.#turn;
    if (connection.prefetch !== undefined)
      return await connection.prefetch(query, {
        sessionId,
        turn,
        shownInTurn: turn,
        mayWait: !this.#isHanging,
        signal: this.#untilClosed(signal),
      });
    const { recall } = connection;
    if (recall === undefined) return NOTHING;
    const startedAt = performance.now();
    if (recalls.has(sessionId)) {
      const patience = this.#isHanging ? AbortSignal.abort() : signal;
      const prepared = await recalls.take(sessionId, turn, patience);
      if (prepared !== undefined) return prepared;
    }
    if (this.#isHanging) return NOTHING; // the recall that is prepared after each turn finds out when the server answers again
    // Nothing was prepared for this turn, so this one waits, unless the wait for a hanging server has used up the time.
    const isLate = performance.now() - startedAt > this.#limits.recallMs / 2;
    if (isLate || this.#breaker.state === "open") return NOTHING;
    const work = recalls.fetch(sessionId, turn, (fetching) =>
      this.#answered(
        recall.call(connection, query, {
          sessionId,
          turn,
          shownInTurn: turn,
          signal: this.#untilClosed(fetching),
        }),
      ),
    );
    const now = await recalls.take(sessionId, turn, signal);
    if (now !== undefined) return now;
    // A failure that is known already is the manager's to count; a fetch that still runs may serve the next turn.
    const outcome = await Promise.race([work, Promise.resolve(undefined)]);
    if (outcome?.kind === "failed") throw outcome.cause;
    return NOTHING;
  }

  async #answered(recall: Promise<Recalled>): Promise<Recalled> {
    const recalled = await recall;
    this.#isHanging = false;
    return recalled;
  }

  /** Starts the recall for the next turn and does not wait for it. */
  async queuePrefetch(query: string, { session_id }: RecallOptions): Promise<void> {
    this.#noteUnanswered();
    const running = this.#running;
    const text = cleaned(query);
    if (running === undefined || !hasContext(running.settings.mode) || text === "") return;
    if (this.#closing.signal.aborted || this.#breaker.state === "open") return;
    const { connection, recalls } = running;
    const sessionId = session_id || this.#sessionId;
    const ask = { sessionId, turn: this.#turn, shownInTurn: this.#turn + 1 };
    if (connection.queuePrefetch !== undefined) {
      const work = connection.queuePrefetch.bind(connection);
      this.#inBackground("Preparing recall", (signal) => work(text, { ...ask, signal }));
      return;
    }
    const { recall } = connection;
    if (recall === undefined) return;
    void recalls
      .fetch(sessionId, this.#turn, (signal) =>
        this.#answered(recall.call(connection, text, { ...ask, signal: this.#untilClosed(signal) })),
      )
      .then((outcome) => {
        if (outcome.kind === "failed")
          this.#warnOnce(`Preparing recall failed: ${describeForeign(outcome.cause)}`);
      });
  }

  recallStatus(): RecallStatus | undefined {
    const { count } = this.#lastRecall;
    return count > 0 ? { provider_label: this.#service.label, count, glyph: GLYPH } : undefined;
  }

  // ---- Writes ----

  /** Rejects when the turn could not be queued: the outbox is full, or its file cannot be written. */
  async syncTurn(
    user: string,
    assistant: string,
    { session_id, messages, signal }: SyncOptions,
  ): Promise<void> {
    const running = this.#writing();
    const texts = { user: cleaned(user), assistant: cleaned(assistant) };
    if (running === undefined || (texts.user === "" && texts.assistant === "")) return;
    const sessionId = session_id || this.#sessionId;
    const number = (this.#turns.get(sessionId) ?? 0) + 1;
    this.#turns.set(sessionId, number);
    const at = this.#clock.now().toISOString();
    this.#queue(running, running.connection.turnItems({ ...texts, sessionId, at, number, messages }));
    if (running.connection.awaitsTurns === true) await this.#flush(running, signal);
  }

  /** What is left is on disk, so nobody waits for a server that is known to hang. */
  async #flush({ outbox }: Running<S>, signal: AbortSignal | undefined): Promise<void> {
    if (!this.#isHanging) await outbox.flush(this.#limits.sessionEndMs, signal);
  }

  async onMemoryWrite(
    action: "add" | "replace" | "remove",
    target: "memory" | "user",
    content: string,
    { old_text }: MemoryWriteMetadata,
  ): Promise<MemoryWriteReport | undefined> {
    const running = this.#writing();
    if (running === undefined || !running.settings.isMirroring) return undefined;
    const oldText = old_text === undefined ? undefined : cleaned(old_text); // as it was stored
    const write: MirrorWrite = { action, target, text: cleaned(content), oldText };
    const items = running.connection.mirrorItems(write);
    if (items.length === 0) return undefined;
    const ids = this.#queue(running, items);
    running.recalls.clear(); // what was prepared may hold the old entry
    await running.outbox.flush(this.#limits.mirrorMs);
    const places = ids.map((id) => running.outbox.where(id));
    if (places.every((place) => place === "gone")) return { stored: true };
    const { label } = this.#service;
    const error = running.outbox.state().lastError?.message;
    if (!places.includes("dead"))
      return { stored: false, queued: true, reason: error ?? `${label} has not answered yet.` };
    return {
      stored: false,
      reason: `${label} refused it: ${error ?? ""} 'hermes memory outbox list' shows it, 'hermes memory outbox retry' sends it again.`,
    };
  }

  onPreCompress(): string {
    return "";
  }

  async onSessionEnd(messages: readonly OpenAiMessage[], { signal }: CallOptions): Promise<void> {
    const running = this.#writing();
    if (running === undefined) return;
    this.#endSession(running, this.#sessionId, messages);
    await this.#flush(running, signal);
  }

  onSessionSwitch(newSessionId: string, options: SessionSwitchOptions): void {
    const running = this.#running;
    if (running === undefined || newSessionId === "") return;
    const old = this.#sessionId;
    running.recalls.clear(old);
    running.recalls.clear(newSessionId);
    if (options.rewound !== true && newSessionId !== old && this.#writing() !== undefined)
      this.#endSession(running, old, []);
    running.connection.onSessionSwitch?.(newSessionId, options, old);
    this.#sessionId = newSessionId;
    if (options.reset) this.#turn = 0;
  }

  /** Lets held items go and adds what closes the conversation. Called more than once for some sessions: the service's dedupe keys see to that. */
  #endSession(running: Running<S>, sessionId: string, messages: readonly OpenAiMessage[]): void {
    running.outbox.release(sessionId);
    this.#queue(running, running.connection.endItems?.(sessionId, messages) ?? []);
  }

  /** What cannot be sent within 2 s stays in the outbox for the next process. */
  async shutdown({ signal }: CallOptions = {}): Promise<void> {
    const running = this.#running;
    if (running === undefined) return;
    const isWriting = this.#writing() !== undefined;
    this.#running = undefined;
    if (isWriting) {
      running.outbox.release();
      const left = await running.outbox.flush(this.#limits.shutdownMs, signal);
      if (left > 0)
        this.#log.info(
          `${left} writes wait in the outbox for ${this.#service.label}; they are sent at the next start.`,
          {
            provider: this.name,
            left,
          },
        );
    }
    this.#closing.abort(new DOMException(`${this.#service.label} is shut down.`, "AbortError"));
    running.recalls.clear();
    running.outbox.close();
  }

  async #deliver(connection: Connection, batch: Batch, signal: AbortSignal): Promise<Delivery> {
    try {
      return (await connection.deliver(batch, this.#untilClosed(signal))) ?? { kind: "delivered" };
    } catch (cause) {
      if (cause instanceof ServiceError) return deliveryOf(cause.failure);
      return { kind: "refused", reason: `It could not be sent: ${describeForeign(cause)}.` };
    }
  }

  /** The ids of the queued items. */
  #queue({ outbox }: Running<S>, items: readonly NewItem[]): readonly number[] {
    const ids: number[] = [];
    for (const item of items) {
      const added = outbox.add(item);
      if (added.kind === "queued") ids.push(added.id);
      else if (added.kind !== "known") throw new HermesError(`outbox-${added.kind}`, added.reason);
    }
    return ids;
  }

  // ---- Tools ----

  getToolSchemas(): readonly ToolDefinition[] {
    const running = this.#running;
    if (running === undefined || !hasTools(running.settings.mode)) return [];
    return running.connection.tools.map(({ definition }) => definition);
  }

  async handleToolCall(
    name: string,
    args: Readonly<Record<string, unknown>>,
    { signal }: CallOptions,
  ): Promise<string> {
    return JSON.stringify(await this.#answer(name, args, this.#untilClosed(signal)));
  }

  async #answer(name: string, args: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<object> {
    const { label } = this.#service;
    const running = this.#running;
    if (running === undefined) return { error: `${label} is not active for this session.` };
    const { inactive } = running.connection;
    if (inactive !== undefined) return { error: inactive };
    const tool = running.connection.tools.find(({ definition }) => definition.name === name);
    if (tool === undefined) return { error: `Unknown tool: ${name}` };
    if (tool.isWriting === true && !running.isWriting)
      return {
        error: `${label} stores nothing for this agent: only the agent that talks to the user writes.`,
      };
    try {
      const answer = await tool.run(args, signal);
      if (tool.isWriting === true) running.recalls.clear();
      return answer;
    } catch (cause) {
      if (cause instanceof ToolRefusal) return { error: cause.message };
      if (cause instanceof ServiceError) return { error: `${tool.failure}: ${cause.failure.message}` };
      throw cause;
    }
  }

  // ---- Erasing ----

  async forget(text: string, { dry_run = false, signal }: ForgetOptions = {}): Promise<ForgetReport> {
    if (text === "") return { erased: 0 };
    const { connection, outbox, recalls } = await this.#readyToErase();
    const { mirrors } = outbox;
    const mirrored = mirrors.containing(text);
    const queued = outbox.forget(text, dry_run);
    if (!dry_run) recalls.clear();
    const atServer = await connection.forget?.(text, dry_run, this.#untilClosed(signal));
    if (!dry_run) for (const each of mirrored) mirrors.remove(each); // they were needed to find the entries at the server
    return sumOf(atServer, queued, connection.cannotErase);
  }

  /** What waits here is erased even if the server cannot be reached; the failure is thrown afterwards. */
  async eraseUser({ dry_run = false, signal }: ForgetOptions = {}): Promise<ForgetReport> {
    const { connection, outbox, recalls, isOwnMemory } = await this.#readyToErase();
    if (!dry_run) recalls.clear();
    if (!isOwnMemory) {
      const remaining = `All users share one memory at ${this.#service.label} (user_scope: shared), so nothing was erased there.`;
      return { erased: outbox.eraseAll(dry_run), remaining };
    }
    let queued = 0;
    let atServer: ForgetReport | undefined;
    try {
      atServer = await connection.eraseUser?.(dry_run, this.#untilClosed(signal));
    } finally {
      queued = outbox.eraseAll(dry_run);
    }
    return sumOf(atServer, queued, connection.cannotErase);
  }

  /** A write that is on its way now would come to the server after everything there was erased. */
  async #readyToErase(): Promise<Running<S>> {
    const running = this.#running;
    if (running === undefined)
      throw new HermesError("provider-not-started", `${this.#service.label} has not been started.`);
    if (running.isWriting) await running.outbox.flush(this.#limits.shutdownMs);
    return running;
  }

  // ---- Checks ----

  async checkConnection(signal: AbortSignal): Promise<string> {
    if (this.#running === undefined)
      throw new HermesError("provider-not-started", `${this.#service.label} has not been started.`);
    return await this.#running.connection.check(this.#untilClosed(signal));
  }

  async selfTest(signal: AbortSignal): Promise<SelfTestReport> {
    if (this.#running === undefined)
      throw new HermesError("provider-not-started", `${this.#service.label} has not been started.`);
    return await testConnection(this.#running.connection, this.#untilClosed(signal));
  }

  // ---- Small parts ----

  #missing(): string | undefined {
    return this.#service.missing(this.#service.readSettings(this.#place(this.#home)));
  }

  #place(home: string): Place {
    return { home, env: this.#env ?? environmentOf(home) };
  }

  /** Undefined when nothing may be written: a subagent or cron job, or after shutdown. */
  #writing(): Running<S> | undefined {
    return this.#running?.isWriting === true ? this.#running : undefined;
  }

  #untilClosed(signal: AbortSignal | undefined): AbortSignal {
    return signal === undefined ? this.#closing.signal : AbortSignal.any([signal, this.#closing.signal]);
  }

  #inBackground(what: string, work: (signal: AbortSignal) => Promise<void>): void {
    const { signal } = this.#closing;
    if (signal.aborted) return;
    void Promise.resolve()
      .then(() => work(signal))
      .catch((cause: unknown) => {
        if (!signal.aborted) this.#warnOnce(`${what} failed: ${describeForeign(cause)}`);
      });
  }

  #warnOnce(message: string): void {
    const fields = { provider: this.name };
    if (this.#warned.has(message)) this.#log.debug(message, fields);
    else this.#log.warn(message, fields);
    this.#warned.add(message);
  }
}

/** The report of the server with what was erased in the outbox; a service that cannot erase says why. */
function sumOf(
  atServer: ForgetReport | undefined,
  queued: number,
  cannotErase: string | undefined,
): ForgetReport {
  if (atServer !== undefined) return { ...atServer, erased: atServer.erased + queued };
  return cannotErase === undefined ? { erased: queued } : { erased: queued, remaining: cannotErase };
}

/** Without fences and blanks at the ends, and without half characters, which no JSON body can carry. */
function cleaned(text: string): string {
  return pyStrip(sanitizeContext(text.toWellFormed()));
}
