// A networked memory as a provider. The server is never on the user's path: a finished turn and a curated write go into the outbox, recall is
// fetched after a turn for the next one, and only the first turn of a session waits for it, at most 3 s.
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { environmentOf } from "@hermes-memory/core/internal/config";
import {
  type Clock,
  describeCause,
  HermesError,
  systemClock,
  untilAborted,
} from "@hermes-memory/core/internal/lib";
import { type Logger, silentLogger } from "@hermes-memory/core/internal/logger";
import type { OpenAiMessage } from "@hermes-memory/core/internal/message";
import {
  Breaker,
  type CallOptions,
  type ConfigField,
  describeForeign,
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
} from "@hermes-memory/core/internal/providers";
import { sanitizeContext } from "@hermes-memory/core/internal/security";
import type { ToolDefinition } from "@hermes-memory/core/internal/tools";
import { ServiceError } from "../http.ts";
import { type LaneOptions, OutboxLane, outboxPath } from "../outbox/outbox.ts";
import { fitChars, hasContext, hasTools } from "../provider-mode.ts";
import { outgoing } from "./answers.ts";
import { deliverBatch, entryItems, mirrorReport, queueAll, removeById, testEntry } from "./entries.ts";
import { type Erasing, eraseEverything, forgetText } from "./erasing.ts";
import { laneUser } from "./identity.ts";
import { Link } from "./link.ts";
import { Recaller } from "./recall.ts";
import { type CommonSettings, type Connection, type Entries, type Service, ToolRefusal } from "./service.ts";
import type { Environment, Place } from "./settings.ts";

/** Times and sizes. */
export type Limits = {
  readonly breakerFailures: number;
  readonly breakerMs: number;
  /** How long a turn waits for recall. */
  readonly recallMs: number;
  /** How long a curated write waits until it is at the server; then it is reported as queued. */
  readonly mirrorMs: number;
  readonly sessionEndMs: number;
  readonly shutdownMs: number;
  /** For all requests of a check together: someone waits in front of a command. */
  readonly checkMs: number;
  /** Least time between two looks at the settings, while the server refuses the key. */
  readonly renewMs: number;
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
  checkMs: 8_000,
  renewMs: 5_000,
  outboxItems: 10_000,
  outboxBytes: 100 * 2 ** 20,
  pauses: undefined,
};

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

const GLYPH = "◆";

/** Set by `initialize`. */
type Running<S extends CommonSettings> = {
  readonly link: Link<S>;
  readonly outbox: OutboxLane;
  readonly recaller: Recaller<S>;
  readonly isWriting: boolean;
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
  /** Memories in the recall of the last turn. */
  #recalled = 0;

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
    return this.#service.settings.fields;
  }

  saveConfig(values: Readonly<Record<string, string>>, hermesHome: string): void {
    this.#service.settings.save(values, hermesHome);
  }

  readConfig(hermesHome: string): Readonly<Record<string, unknown>> {
    return this.#service.settings.saved(this.#place(hermesHome));
  }

  get postSetup(): MemoryProvider["postSetup"] {
    const { postSetup } = this.#service;
    if (postSetup === undefined) return undefined;
    return (hermesHome: string, _config: unknown, options: PostSetupOptions) =>
      postSetup(this.#place(hermesHome), options);
  }

  backupPaths(hermesHome: string): readonly string[] {
    const paths = [outboxPath(hermesHome), ...(this.#service.backupPaths?.(hermesHome) ?? [])];
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
    const place = () => this.#place(options.hermes_home);
    for (const remark of this.#service.settings.remarks(place())) this.#warnOnce(remark);
    const outbox = new OutboxLane({
      home: options.hermes_home,
      provider: this.name,
      user: laneUser(options),
      isDurable: options.outbox ?? true,
      maxItems: options.outbox_max_items ?? this.#limits.outboxItems,
      maxBytes: this.#limits.outboxBytes,
      log: this.#log,
      pauses: this.#limits.pauses,
    });
    this.#sessionId = sessionId;
    const inBackground = (what: string, work: (signal: AbortSignal) => Promise<void>) =>
      this.#inBackground(what, work);
    const closing = this.#closing.signal;
    const link = new Link({
      service: this.#service,
      place,
      options,
      sessionId: () => this.#sessionId,
      breaker: this.#breaker,
      closing,
      base: { isWriting, outbox, log: this.#log, clock: this.#clock, inBackground },
      renewMs: this.#limits.renewMs,
    });
    const recaller = new Recaller({
      link,
      breaker: this.#breaker,
      waitMs: this.#limits.recallMs,
      closing,
      inBackground,
    });
    this.#running = { link, outbox, recaller, isWriting };
    if (isWriting)
      outbox.start(
        (batch, signal) => deliverBatch(link, outbox.mirrors, batch, AbortSignal.any([signal, closing])),
        (kind) => (kind === "turn" ? (link.connection.turnsAtOnce ?? 1) : 1),
        { isAskedFor: options.outbox_send_now === true },
      );
  }

  systemPromptBlock(): string {
    return this.#running?.link.connection.promptBlock() ?? "";
  }

  // ---- Recall ----

  onTurnStart(turn: number, message: string): void {
    this.#turn = Math.max(0, turn);
    this.#running?.link.connection.onTurnStart?.(this.#turn, message);
  }

  async prefetch(query: string, { session_id, signal }: RecallOptions): Promise<string> {
    this.#recalled = 0;
    const running = this.#running;
    const text = outgoing(query);
    if (running === undefined || !hasContext(running.link.settings.mode) || text === "") return "";
    const sessionId = session_id || this.#sessionId;
    const recalled = await running.recaller.take(text, { sessionId, turn: this.#turn, signal });
    this.#recalled = recalled.count;
    return fitChars(sanitizeContext(recalled.text), running.link.settings.maxChars);
  }

  /** Starts the recall for the next turn and does not wait for it. */
  async queuePrefetch(query: string, { session_id }: RecallOptions): Promise<void> {
    const running = this.#running;
    running?.recaller.noteUnanswered();
    const text = outgoing(query);
    if (running === undefined || !hasContext(running.link.settings.mode) || text === "") return;
    running.recaller.prepare(text, { sessionId: session_id || this.#sessionId, turn: this.#turn });
  }

  recallStatus(): RecallStatus | undefined {
    const count = this.#recalled;
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
    const texts = { user: outgoing(user), assistant: outgoing(assistant) };
    if (running === undefined || (texts.user === "" && texts.assistant === "")) return;
    const sessionId = session_id || this.#sessionId;
    const number = (this.#turns.get(sessionId) ?? 0) + 1;
    this.#turns.set(sessionId, number);
    const at = this.#clock.now().toISOString();
    const connection = running.link.current();
    await queueAll(running.outbox, connection.turnItems({ ...texts, sessionId, at, number, messages }));
    if (connection.awaitsTurns === true) await this.#flush(running, signal);
  }

  /** What is left is on disk, so nobody waits for a server that is known to hang. */
  async #flush({ outbox, recaller }: Running<S>, signal: AbortSignal | undefined): Promise<void> {
    if (!recaller.isHanging) await outbox.flush(this.#limits.sessionEndMs, signal);
  }

  async onMemoryWrite(
    action: "add" | "replace" | "remove",
    target: "memory" | "user",
    content: string,
    { old_text }: MemoryWriteMetadata,
  ): Promise<MemoryWriteReport | undefined> {
    const running = this.#writing();
    if (running === undefined || !running.link.settings.isMirroring) return undefined;
    const texts = { text: outgoing(content), oldText: outgoing(old_text ?? "") }; // as they were stored
    const connection = running.link.current();
    connection.onEntryChange?.(action !== "add");
    const items = entryItems(connection.entries, { action, target, ...texts });
    if (items.length === 0) return undefined;
    const ids = await queueAll(running.outbox, items);
    running.recaller.clear(); // what was prepared may hold the old entry
    await running.outbox.flush(this.#limits.mirrorMs);
    return mirrorReport(this.#service.label, running.outbox, ids);
  }

  onPreCompress(): string {
    return "";
  }

  async onSessionEnd(messages: readonly OpenAiMessage[], { signal }: CallOptions): Promise<void> {
    const running = this.#writing();
    if (running === undefined) return;
    await this.#endSession(running, this.#sessionId, messages);
    await this.#flush(running, signal);
  }

  onSessionSwitch(newSessionId: string, options: SessionSwitchOptions): void {
    const running = this.#running;
    if (running === undefined || newSessionId === "") return;
    const old = this.#sessionId;
    running.recaller.clear(old);
    running.recaller.clear(newSessionId);
    if (options.rewound !== true && newSessionId !== old && this.#writing() !== undefined)
      void this.#endSession(running, old, []).catch((cause: unknown) =>
        this.#warnOnce(`What ends a session was not queued: ${describeForeign(cause)}`),
      );
    running.link.connection.onSessionSwitch?.(newSessionId, options, old);
    this.#sessionId = newSessionId;
    if (options.reset) this.#turn = 0;
  }

  /** Lets held items go and adds what closes the conversation. Called more than once for some sessions: the service's dedupe keys see to that. */
  async #endSession(
    running: Running<S>,
    sessionId: string,
    messages: readonly OpenAiMessage[],
  ): Promise<void> {
    running.outbox.release(sessionId);
    await queueAll(running.outbox, running.link.connection.endItems?.(sessionId, messages) ?? []);
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
    running.recaller.clear();
    running.outbox.close();
  }

  // ---- Tools ----

  getToolSchemas(): readonly ToolDefinition[] {
    const running = this.#running;
    if (running === undefined || !hasTools(running.link.settings.mode)) return [];
    return running.link.connection.tools.map(({ definition }) => definition);
  }

  async handleToolCall(
    name: string,
    args: Readonly<Record<string, unknown>>,
    { signal }: CallOptions,
  ): Promise<string> {
    const answer = await this.#answer(name, args, this.#untilClosed(signal));
    return JSON.stringify(answer, (_key, value: unknown) =>
      typeof value === "string" ? sanitizeContext(value) : value,
    );
  }

  async #answer(name: string, args: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<object> {
    const { label } = this.#service;
    const running = this.#running;
    if (running === undefined) return { error: `${label} is not active for this session.` };
    const { inactive, tools } = running.link.current();
    if (inactive !== undefined) return { error: inactive };
    const tool = tools.find(({ definition }) => definition.name === name);
    if (tool === undefined) return { error: `Unknown tool: ${name}` };
    if (tool.isWriting === true && !running.isWriting)
      return {
        error: `${label} stores nothing for this agent: only the agent that talks to the user writes.`,
      };
    try {
      const answer = await tool.run(args, signal);
      if (tool.isWriting === true) running.recaller.clear();
      return answer;
    } catch (cause) {
      if (cause instanceof ToolRefusal) return { error: cause.message };
      if (cause instanceof ServiceError) return { error: `${tool.failure}: ${cause.message}` };
      throw cause;
    }
  }

  // ---- Erasing ----

  /** What waits here is erased in any case; a server that cannot be reached is named in `remaining`. */
  async forget(text: string, { dry_run = false, signal }: ForgetOptions = {}): Promise<ForgetReport> {
    if (text === "") return { erased: 0 };
    return await forgetText(this.#erasing(dry_run, signal), text);
  }

  /** As `forget`, for everything of the user. */
  async eraseUser({ dry_run = false, signal }: ForgetOptions = {}): Promise<ForgetReport> {
    return await eraseEverything(this.#erasing(dry_run, signal));
  }

  #erasing(isDryRun: boolean, signal: AbortSignal | undefined): Erasing<S> {
    const { link, outbox, recaller } = this.#started();
    if (!isDryRun) recaller.clear();
    return { label: this.#service.label, link, outbox, isDryRun, signal: this.#untilClosed(signal) };
  }

  // ---- Checks ----

  async checkConnection(signal: AbortSignal): Promise<string> {
    return await checkWithin(this.#tested(signal));
  }

  async selfTest(signal: AbortSignal): Promise<SelfTestReport> {
    return await testConnection(this.#tested(signal));
  }

  #tested(signal: AbortSignal): Tested {
    const { connection } = this.#started().link;
    const { checkMs } = this.#limits;
    return { connection, label: this.#service.label, signal: this.#untilClosed(signal), checkMs };
  }

  // ---- Small parts ----

  #started(): Running<S> {
    if (this.#running === undefined)
      throw new HermesError("provider-not-started", `${this.#service.label} has not been started.`);
    return this.#running;
  }

  #missing(): string | undefined {
    return this.#service.missing(this.#service.settings.read(this.#place(this.#home)));
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

// ---- The self-test ----
// `hermes memory test` for a networked memory: one request with the key, then an entry is stored, found and removed again.

/** Servers index in the background; the test asks again until then. */
const FIND_MS = 15_000;
const PAUSE_MS = 250;
/** Removing must also work after the user stopped the test. */
const REMOVE_MS = 10_000;

export type Tested = {
  readonly connection: Pick<Connection, "check" | "entries">;
  readonly label: string;
  readonly signal: AbortSignal;
  readonly checkMs: number;
};

/** The check of a connection, which ends within `checkMs` whatever the server does. */
async function checkWithin({ connection, label, signal, checkMs }: Tested): Promise<string> {
  const limit = AbortSignal.timeout(checkMs);
  const message = `${label} did not answer within ${checkMs / 1000} s.`;
  const late = new HermesError("check-timeout", message, {
    hint: "Check its address, the server and the network.",
  });
  try {
    return await untilAborted(limit, connection.check(AbortSignal.any([signal, limit])));
  } catch (cause) {
    throw limit.aborted && !signal.aborted ? late : cause;
  }
}

async function testConnection(tested: Tested): Promise<SelfTestReport> {
  const { connection, signal } = tested;
  const { entries } = connection;
  const steps: SelfTestReport["steps"][number][] = [];
  const step = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const startedAt = performance.now();
    const value = await work().catch((cause: unknown) => {
      if (signal.aborted) throw cause;
      throw new HermesError("self-test-failed", `The step '${name}' failed: ${describeForeign(cause)}.`);
    });
    const ms = performance.now() - startedAt;
    steps.push(typeof value === "string" && value !== "" ? { name, ms, detail: value } : { name, ms });
    return value;
  };
  signal.throwIfAborted();
  await step("connect", () => checkWithin(tested));
  const mark = `Self-test of hermes-memory ${randomUUID()}`;
  const text = `${mark}: the lighthouse keeper paints the railing green.`;
  const entry = testEntry(entries, randomUUID(), { target: "memory", text });
  let id = "";
  await step("write", async () => {
    id = await entries.add(entry, signal);
  });
  const remove = () => step("clean up", () => whenFree((limit) => removeById(entries, id, entry, limit)));
  try {
    await step("recall", () => find(entries, text, signal));
  } catch (cause) {
    await remove().catch(() => {}); // what failed first is reported
    throw cause;
  }
  await remove().catch((cause: unknown) => {
    throw new HermesError(
      "self-test-failed",
      `The memory of the test could not be removed and stays at the server (${describeCause(cause).replace(/\.$/, "")}). It begins with '${mark}'.`,
    );
  });
  return { steps };
}

/** Again while the server still works on it. */
async function whenFree(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const signal = AbortSignal.timeout(REMOVE_MS);
  for (;;) {
    try {
      return await work(signal);
    } catch (cause) {
      if (!(cause instanceof ServiceError) || cause.failure.kind !== "conflict") throw cause;
    }
    await sleep(PAUSE_MS, undefined, { signal });
  }
}

/** "" when it was found. */
async function find({ recalls, appearsLater }: Entries, text: string, signal: AbortSignal): Promise<string> {
  const until = performance.now() + FIND_MS;
  while (performance.now() <= until) {
    if (await recalls(text, signal)) return "";
    await sleep(PAUSE_MS, undefined, { signal });
  }
  if (appearsLater !== undefined) return `not found yet: ${appearsLater}`;
  throw new HermesError(
    "self-test-failed",
    `The memory was stored and not found again within ${FIND_MS / 1000} s.`,
  );
}
