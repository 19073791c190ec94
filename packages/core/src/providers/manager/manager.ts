// The only place that calls providers. The manager has a slot for one external provider and one named `builtin`, passes every event on
// in order, and makes sure that a provider costs the agent at most the deadline of each hook.
import { systemClock } from "../../lib/index.ts";
import { type Logger, silentLogger } from "../../lib/logger.ts";
import {
  flattenContent,
  isMessage,
  type Message,
  type OpenAiMessage,
  toOpenAi,
} from "../../message/index.ts";
import {
  definitionOf,
  PROVIDER_RESERVED_NAMES,
  type Tool,
  type ToolDefinition,
  textOutcome,
} from "../../tools/index.ts";
import {
  type CallOptions,
  DEADLINES_MS,
  type Deadlines,
  type DelegationOptions,
  type MemoryProvider,
  type MemoryWriteMetadata,
  type RecallStatus,
  type TurnStartOptions,
} from "../contract.ts";
import { SerialQueue } from "../kit/serial-queue.ts";
import {
  BUILTIN,
  type CallOutcome,
  GuardedProvider,
  type Hook,
  nameToRegister,
  type StepBudget,
} from "./guarded-provider.ts";
import {
  type MirroredWrite,
  type ProviderForgot,
  readForgetReport,
  readWriteReport,
  type WriteReport,
  withoutEmpty,
} from "./memory-writes.ts";
import {
  type Checkpoint,
  type FinishedTurn,
  type InitializeAllOptions,
  type MemoryManagerOptions,
  NO_PROVIDER,
  type SwitchOptions,
} from "./options.ts";
import { isBlank, isTrivialPrompt, toPromptText, withoutSkillScaffolding } from "./provider-text.ts";
import { ProviderTools } from "./provider-tools.ts";
import { Recall, readRecallStatus } from "./recall.ts";

type Messages = readonly (Message | OpenAiMessage)[];

/** One registered provider. */
type Slot = { readonly guarded: GuardedProvider; readonly recall: Recall };

type Work = (provider: MemoryProvider, call: CallOptions) => unknown;

type TellRules = {
  readonly deadlineMs: number;
  readonly budget?: StepBudget;
  /** The slots share the deadline. Default: each has all of it. */
  readonly isShared?: boolean;
  readonly isOneAtATime?: boolean;
};

const DEFAULT_RECALL_CHARS = 16_000;
const DEFAULT_MAX_AGE_TURNS = 2;
/** More waiting tasks than this mean that the provider has stopped working. */
const MAX_WAITING_TASKS = 100;
/** No context window holds more, and a cut answer would not be valid JSON. */
const MAX_RESULT_CHARS = 1_000_000;

/** Runs memory providers: a deadline for each hook, a breaker, a queue for writes, and a fence around what they recall. */
export class MemoryManager {
  readonly #options: MemoryManagerOptions;
  readonly #log: Logger;
  readonly #deadlines: Deadlines;
  readonly #slots: Slot[] = [];
  readonly #tools: ProviderTools;
  readonly #queue = new SerialQueue({ maxWaiting: MAX_WAITING_TASKS });
  #turn = 0;
  /** The time that `onTurnStart` took, and its budget: the recall of the same turn gets the rest of both. */
  #turnStartMs = 0;
  #turnBudget: StepBudget | undefined;
  #recallStatus: readonly RecallStatus[] = [];
  /** The last session ended with queued work that did not finish in time. */
  #isQueueStuck = false;
  #shutdown: Promise<void> | undefined;

  constructor(options: MemoryManagerOptions = {}) {
    this.#options = options;
    this.#log = options.log ?? silentLogger;
    this.#deadlines = deadlinesOf(options);
    this.#tools = new ProviderTools({
      log: this.#log,
      coreToolNames: options.coreToolNames ?? PROVIDER_RESERVED_NAMES,
      deadlineMs: this.#deadlines.toolSchemas,
      run: async (name, args) => textOutcome(await this.handleToolCall(name, args)),
    });
  }

  // ---- Registration ----

  /** False when the provider was refused; the log says why. */
  addProvider(provider: MemoryProvider): boolean {
    const name = nameToRegister(provider, this.#guarded);
    if (!name.ok) {
      this.#log.warn(name.error);
      return false;
    }
    const { home, selectedAs, onTrouble, clock = systemClock } = this.#options;
    const guarded = new GuardedProvider(name.value, provider, {
      home,
      selectedAs,
      clock,
      log: this.#log,
      hangingMs: this.#deadlines.hanging,
      onTrouble,
    });
    const maxAgeTurns = this.#options.prefetchMaxAgeTurns ?? DEFAULT_MAX_AGE_TURNS;
    this.#slots.push({
      guarded,
      recall: new Recall(guarded, { maxAgeTurns, maxChars: this.#recallMaxChars }),
    });
    this.#tools.add(guarded);
    return true;
  }

  get providers(): readonly MemoryProvider[] {
    return this.#guarded.map(({ provider }) => provider);
  }

  getProvider(name: string): MemoryProvider | undefined {
    return this.#guarded.find((guarded) => guarded.name === name)?.provider;
  }

  /** Sets the providers up for a session, then asks for their tools again. */
  async initializeAll(sessionId: string, options: InitializeAllOptions = {}): Promise<void> {
    const home = options.hermes_home ?? this.#options.home;
    if (home === undefined)
      throw new Error("A memory manager needs a home directory before it can start its providers.");
    const known = { ...withoutEmpty(options), hermes_home: home };
    await this.#tell("initialize", { deadlineMs: this.#deadlines.initialize }, (provider, call) =>
      provider.initialize(sessionId, { ...known, ...call }),
    );
    const budget = this.#newBudget();
    for (const guarded of this.#guarded) await this.#tools.refresh(guarded, budget);
  }

  // ---- Tools ----

  /** The tools that providers offer now, in their order. A call goes through `handleToolCall`, with its deadline and limits. */
  tools(): readonly Tool[] {
    return this.#tools.table.tools;
  }

  getAllToolSchemas(): readonly ToolDefinition[] {
    return this.tools().map(definitionOf);
  }

  getAllToolNames(): ReadonlySet<string> {
    return new Set(this.tools().map(({ name }) => name));
  }

  /** Names of tools that were offered and refused. No other tool may be taken for them. */
  getRefusedToolNames(): ReadonlySet<string> {
    return this.#tools.refusedNames;
  }

  hasTool(name: string): boolean {
    return this.#tools.table.has(name);
  }

  /** The provider's JSON text, or one with an `error`. Never rejects. */
  async handleToolCall(name: string, args: unknown): Promise<string> {
    const guarded = this.#tools.ownerOf(name);
    if (!guarded) return toolError(`No memory provider handles tool '${name}'`);
    const failure = `Memory tool '${name}' failed`;
    if (this.#isShutDown) return toolError(`${failure}: its provider has been shut down`);
    const given = typeof args === "object" && args !== null ? (args as Record<string, unknown>) : {};
    const outcome = await guarded.call<unknown>(
      "handleToolCall",
      { deadlineMs: this.#deadlines.toolCall },
      (provider, signal) => provider.handleToolCall?.(name, given, { signal }),
    );
    if (outcome.kind !== "ok") return toolError(`${failure}: ${outcome.message}`);
    const { value } = outcome;
    if (typeof value !== "string")
      return toolError(`${failure}: its provider answered with something that is not text`);
    if (value.length > MAX_RESULT_CHARS)
      return toolError(`${failure}: its answer of ${value.length} characters is too long; ask for less`);
    return value;
  }

  // ---- A turn ----

  /** The providers' texts for the system prompt, made safe for a prompt; without a fence. */
  async buildSystemPrompt(): Promise<string> {
    return this.#collect("systemPromptBlock", this.#deadlines.systemPromptBlock, (provider, call) =>
      provider.systemPromptBlock?.(call),
    );
  }

  async onTurnStart(turn: number, message: unknown, options: TurnStartOptions = {}): Promise<void> {
    if (this.#isShutDown) return;
    this.#turn = turn;
    const startedAt = performance.now();
    const text = typeof message === "string" ? message : "";
    const budget = this.#newBudget();
    this.#turnBudget = budget;
    const rules = { deadlineMs: this.#deadlines.turnStart, budget, isShared: true, isOneAtATime: true };
    await this.#tell("onTurnStart", rules, (provider, call) =>
      provider.onTurnStart?.(turn, text, { ...options, ...call }),
    );
    this.#turnStartMs = performance.now() - startedAt;
  }

  /** Recall for this turn, made safe for a prompt; `buildMemoryContextBlock` puts the fence around it. */
  async prefetchAll(query: unknown, options: { readonly session_id?: string } = {}): Promise<string> {
    const until = performance.now() + Math.max(0, this.#deadlines.turnStart - this.#turnStartMs);
    this.#turnStartMs = 0;
    const budget = this.#turnBudget ?? this.#newBudget();
    this.#turnBudget = undefined;
    this.#recallStatus = [];
    const text = withoutSkillScaffolding(query);
    if (!text || isTrivialPrompt(text) || this.#isShutDown) return "";
    const parts: string[] = [];
    const statuses: RecallStatus[] = [];
    for (const { guarded, recall } of this.#slots) {
      if (!guarded.has("prefetch")) continue;
      const recalled = await recall.ask({
        query: text,
        sessionId: options.session_id ?? "",
        turn: this.#turn,
        deadlineMs: Math.max(0, until - performance.now()),
        budget,
      });
      const part = this.#forPrompt(guarded, "prefetch", recalled.text);
      parts.push(part);
      if (recalled.isFresh && !isBlank(part)) statuses.push(...this.#statusOf(guarded));
    }
    this.#recallStatus = statuses;
    return joinTexts(parts);
  }

  /** How much the providers recalled in the last `prefetchAll`; empty when that gave no text, or they do not tell. */
  recallStatus(): readonly RecallStatus[] {
    return this.#recallStatus;
  }

  /** Hands a completed turn to the providers. Interrupted and failed turns, and turns without text, are not handed over. */
  finishTurn(turn: FinishedTurn): void {
    if (turn.interrupted || turn.failed) return;
    const user = flattenContent(turn.user);
    const assistant = flattenContent(turn.assistant);
    if (user === "" || assistant === "") return;
    const { session_id, messages } = turn;
    this.syncAll(user, assistant, { session_id, messages });
    this.queuePrefetchAll(user, { session_id });
  }

  syncAll(
    user: unknown,
    assistant: string,
    options: { readonly session_id?: string; readonly messages?: Messages } = {},
  ): void {
    const text = withoutSkillScaffolding(user);
    if (!text) return;
    const messages = options.messages && toRows(options.messages); // now: the agent appends to its list while the task waits
    const session_id = options.session_id ?? "";
    this.#isQueueStuck = false;
    this.#later("syncTurn", (provider, call) =>
      provider.syncTurn?.(text, assistant, {
        ...call,
        session_id,
        ...(messages ? { messages: [...messages] } : {}), // without messages there is no such key
      }),
    );
  }

  queuePrefetchAll(query: unknown, options: { readonly session_id?: string } = {}): void {
    const text = withoutSkillScaffolding(query);
    if (!text || isTrivialPrompt(text)) return;
    const session_id = options.session_id ?? "";
    this.#later("queuePrefetch", (provider, call) => provider.queuePrefetch?.(text, { ...call, session_id }));
  }

  onDelegation(task: string, result: string, options: Partial<Omit<DelegationOptions, "signal">> = {}): void {
    const child_session_id = options.child_session_id ?? "";
    this.#later("onDelegation", (provider, call) =>
      provider.onDelegation?.(task, result, { ...call, child_session_id }),
    );
  }

  /** The providers' texts for the summary request, made safe for a prompt. */
  async onPreCompress(messages: Messages): Promise<string> {
    return (await this.checkpoint(messages)).text;
  }

  /** `onPreCompress`, and whether the external provider has stored the messages durably. */
  async checkpoint(messages: Messages): Promise<Checkpoint> {
    if (this.#isShutDown) return { text: "", missing: "the memory providers have been shut down" };
    const rows = toRows(messages);
    const outcomes = new Map<GuardedProvider, CallOutcome<unknown>>();
    const text = await this.#collect(
      "onPreCompress",
      this.#deadlines.preCompress,
      (provider, call) => provider.onPreCompress?.([...rows], call),
      outcomes,
    );
    return { text, missing: this.#missingCheckpoint(outcomes) };
  }

  // ---- Writes of the built-in memory ----

  /** Only for a write that was committed. */
  onMemoryWrite(
    action: "add" | "replace" | "remove",
    target: "memory" | "user",
    content: string,
    metadata: MemoryWriteMetadata = {},
  ): void {
    if (action === "remove" && this.#options.mirrorRemove === false) return;
    const tell: Work = (provider) => provider.onMemoryWrite?.(action, target, content, { ...metadata });
    this.#later("onMemoryWrite", tell, this.#external);
  }

  /**
   * `onMemoryWrite` for several writes, in order and awaited, for a caller that is about to shut down. `failed` is the reason why a write was
   * not taken in time; the writes after it are not handed over. `reports` has what the provider reported about each write.
   */
  async mirrorNow(
    writes: readonly MirroredWrite[],
    metadataOf: (oldText: string | undefined) => MemoryWriteMetadata,
    deadlineMs: number,
  ): Promise<{ readonly failed?: string; readonly reports: readonly WriteReport[] }> {
    const reports: WriteReport[] = [];
    const [external] = this.#external;
    if (!external?.has("onMemoryWrite")) return { reports };
    const until = performance.now() + deadlineMs;
    for (const { target, op } of writes) {
      if (op.action === "remove" && this.#options.mirrorRemove === false) continue;
      const content = op.action === "remove" ? "" : op.content;
      const metadata = metadataOf(op.action === "add" ? undefined : op.oldText);
      const left = Math.max(0, until - performance.now());
      const outcome = await external.call<unknown>("onMemoryWrite", { deadlineMs: left }, async (provider) =>
        provider.onMemoryWrite?.(op.action, target, content, { ...metadata }),
      );
      if (outcome.kind !== "ok") return { failed: `onMemoryWrite: ${outcome.message}.`, reports };
      reports.push(readWriteReport(outcome.value));
    }
    return { reports };
  }

  /** Erases a text in the external provider; with `isDryRun` only counts what would be erased. */
  async forget(
    text: string,
    { isDryRun, deadlineMs }: { readonly isDryRun: boolean; readonly deadlineMs: number },
  ): Promise<ProviderForgot> {
    const [external] = this.#external;
    if (!external?.has("forget")) return { kind: "cannot" };
    const outcome = await external.call<unknown>("forget", { deadlineMs }, (provider, signal) =>
      provider.forget?.(text, { signal, dry_run: isDryRun || undefined }),
    );
    if (outcome.kind !== "ok") return { kind: "failed", reason: `forget: ${outcome.message}.` };
    return readForgetReport("forget", outcome.value);
  }

  /** Erases everything of this manager's user in the external provider; with `isDryRun` only counts it. */
  async eraseUser({
    isDryRun,
    deadlineMs,
  }: {
    readonly isDryRun: boolean;
    readonly deadlineMs: number;
  }): Promise<ProviderForgot> {
    const [external] = this.#external;
    if (!external?.has("eraseUser")) return { kind: "cannot" };
    if (!isDryRun) for (const { recall } of this.#slots) recall.forgetSession();
    const outcome = await external.call<unknown>("eraseUser", { deadlineMs }, (provider, signal) =>
      provider.eraseUser?.({ signal, dry_run: isDryRun || undefined }),
    );
    if (outcome.kind !== "ok") return { kind: "failed", reason: `eraseUser: ${outcome.message}.` };
    return readForgetReport("eraseUser", outcome.value);
  }

  // ---- The end of a session, and of the agent ----

  /** Turns that were queued before are synced first, as far as 5 s allow. */
  async onSessionEnd(messages: Messages = []): Promise<void> {
    if (this.#isShutDown) return;
    const budget = this.#newBudget();
    this.#isQueueStuck = !(await this.#drain(budget));
    const rows = toRows(messages);
    await this.#tell("onSessionEnd", { deadlineMs: this.#deadlines.sessionEnd, budget }, (provider, call) =>
      provider.onSessionEnd?.([...rows], call),
    );
  }

  async onSessionSwitch(newSessionId: string | null | undefined, options: SwitchOptions = {}): Promise<void> {
    if (!newSessionId || this.#isShutDown) return;
    for (const { recall } of this.#slots) recall.forgetSession();
    const { rewound, parent_session_id = "", reset = false, ...rest } = options;
    // By the contract, `rewound` is present only when true.
    const known = { ...rest, parent_session_id, reset, ...(rewound ? { rewound: true as const } : {}) };
    await this.#tell("onSessionSwitch", { deadlineMs: this.#deadlines.sessionSwitch }, (provider, call) =>
      provider.onSessionSwitch?.(newSessionId, { ...known, ...call }),
    );
  }

  /** True when everything queued so far has run; false when it has not after this many milliseconds. */
  async flushPending(timeoutMs: number = this.#deadlines.drain): Promise<boolean> {
    return (await this.#queue.drain(timeoutMs)) === 0;
  }

  /** Runs queued work as far as time allows, then shuts the providers down, the last one first. May be called twice. */
  shutdownAll(): Promise<void> {
    this.#shutdown ??= this.#shutDown();
    return this.#shutdown;
  }

  async #shutDown(): Promise<void> {
    for (const { recall } of this.#slots) recall.forgetSession();
    const budget = this.#newBudget();
    // Work that did not finish within the drain of the session's end does not get another one.
    if (!this.#isQueueStuck) await this.#drain(budget);
    this.#closeQueue();
    for (const guarded of this.#guarded) guarded.stopCalls(); // a hanging call may hold a socket that keeps the process alive
    await this.#shutDownProviders(budget);
    for (const { health } of this.#guarded) health.write();
  }

  /** Tasks that have not finished are counted as dropped. */
  #closeQueue(): void {
    const lost = this.#queue.close();
    if (lost === 0) return;
    for (const { health } of this.#guarded) health.dropped(lost);
    this.#log.warn(`${lost} background task(s) of memory providers did not finish before shutdown.`, {
      lost,
    });
  }

  async #shutDownProviders(budget: StepBudget): Promise<void> {
    const until = performance.now() + this.#deadlines.shutdown;
    for (const guarded of this.#guarded.toReversed()) {
      if (!guarded.has("shutdown")) continue;
      const startedAt = performance.now();
      const left = Math.max(0, until - startedAt);
      // A shortened deadline instead of a shortened wait: this is the last call, so it has to end when the manager stops waiting.
      const { isHanging } = guarded;
      const deadlineMs = isHanging ? Math.min(left, budget.leftMs) : left;
      await guarded.call<unknown>("shutdown", { deadlineMs }, (provider, signal) =>
        provider.shutdown?.({ signal }),
      );
      if (isHanging) budget.leftMs = Math.max(0, budget.leftMs - (performance.now() - startedAt));
    }
  }

  // ---- Ways to call a hook ----

  /** Calls the hook of each provider, in order, and awaits it. */
  async #tell(hook: Hook, rules: TellRules, work: Work): Promise<void> {
    const { isOneAtATime, isShared = false, budget = this.#newBudget() } = rules;
    const startedAt = performance.now();
    for (const guarded of this.#having(hook)) {
      const used = isShared ? performance.now() - startedAt : 0;
      const deadlineMs = Math.max(0, rules.deadlineMs - used);
      await this.#call(guarded, hook, { deadlineMs, isOneAtATime, budget }, work);
    }
  }

  /** The texts that the hooks return, made safe for a prompt and joined by blank lines. `outcomes` gets the outcome of each call. */
  async #collect(
    hook: Hook,
    deadlineMs: number,
    work: Work,
    outcomes?: Map<GuardedProvider, CallOutcome<unknown>>,
  ): Promise<string> {
    if (this.#isShutDown) return "";
    const parts: string[] = [];
    const budget = this.#newBudget();
    for (const guarded of this.#having(hook)) {
      const outcome = await this.#call(guarded, hook, { deadlineMs, budget }, work);
      outcomes?.set(guarded, outcome);
      const raw = outcome.kind === "ok" && typeof outcome.value === "string" ? outcome.value : "";
      parts.push(this.#forPrompt(guarded, hook, raw));
    }
    return joinTexts(parts);
  }

  /** Why the external provider has not durably stored what it was handed before a compaction; undefined: it has. */
  #missingCheckpoint(outcomes: ReadonlyMap<GuardedProvider, CallOutcome<unknown>>): string | undefined {
    const [external] = this.#external;
    if (external === undefined) return NO_PROVIDER;
    if (checkpointVersion(external.provider) !== 2)
      return `the memory provider '${external.name}' does not promise to store them before a compaction`;
    const outcome = outcomes.get(external);
    if (outcome?.kind === "ok") return undefined;
    const why = outcome?.message ?? "it has no onPreCompress()";
    return `the memory provider '${external.name}' did not confirm that it has stored them (${why})`;
  }

  #statusOf(guarded: GuardedProvider): readonly RecallStatus[] {
    if (!guarded.has("recallStatus")) return [];
    const outcome = guarded.callNow<unknown>("recallStatus", (provider) => provider.recallStatus?.());
    const status = outcome.kind === "ok" ? readRecallStatus(outcome.value) : undefined;
    return status === undefined ? [] : [status];
  }

  /** In the background, after everything that was queued before. */
  #later(hook: Hook, work: Work, told: readonly GuardedProvider[] = this.#guarded): void {
    const concerned = told.filter((guarded) => guarded.has(hook));
    if (concerned.length === 0) return;
    if (this.#queue.isClosed) {
      this.#log.debug(`Nothing is handed to memory providers after shutdown (${hook}).`, { hook });
      return;
    }
    if (this.#queue.isFull) {
      for (const guarded of concerned) {
        guarded.skip(hook, `${MAX_WAITING_TASKS} tasks wait already, so this one was dropped`);
        guarded.health.dropped(1);
      }
      return;
    }
    const rules = { deadlineMs: this.#deadlines.background, isBackground: true };
    void this.#queue.push(async () => {
      for (const guarded of concerned) {
        if (this.#queue.isClosed) return; // shut down while the provider before this one hung
        await this.#call(guarded, hook, rules, work);
      }
    });
  }

  #call(
    guarded: GuardedProvider,
    hook: Hook,
    rules: Parameters<GuardedProvider["call"]>[1],
    work: Work,
  ): Promise<CallOutcome<unknown>> {
    return guarded.call<unknown>(hook, rules, (provider, signal) => work(provider, { signal }));
  }

  /** True when the queue is empty. When a provider hangs, stops as soon as no task has ended for as long as the budget allows. */
  async #drain(budget: StepBudget): Promise<boolean> {
    const { drain } = this.#deadlines;
    if (!this.#guarded.some(({ isHanging }) => isHanging)) return (await this.#queue.drain(drain)) === 0;
    const idleMs = budget.leftMs;
    const isDone = (await this.#queue.drain(drain, { idleMs })) === 0;
    if (!isDone) budget.leftMs = Math.max(0, budget.leftMs - Math.min(idleMs, drain));
    return isDone;
  }

  #forPrompt(guarded: GuardedProvider, hook: Hook, raw: string): string {
    if (isBlank(raw)) return "";
    const { allowSecrets = false } = this.#options;
    const { text, ...change } = toPromptText(raw, this.#recallMaxChars, { allowSecrets });
    guarded.health.text(change);
    if (change.wasCut || change.wasFenced || change.blockedParagraphs > 0 || change.maskedSecrets > 0) {
      const message = `Text of the memory provider '${guarded.name}' was changed before it reached a prompt.`;
      guarded.warnOnce(`${hook} text`, message, { hook, ...change });
    }
    return text;
  }

  #newBudget(): StepBudget {
    return { leftMs: this.#deadlines.hanging };
  }

  #having(hook: Hook): readonly GuardedProvider[] {
    return this.#guarded.filter((guarded) => guarded.has(hook));
  }

  get #guarded(): readonly GuardedProvider[] {
    return this.#slots.map(({ guarded }) => guarded);
  }

  /** Not the built-in one: the built-in memory is where writes come from. */
  get #external(): readonly GuardedProvider[] {
    return this.#guarded.filter(({ name }) => name !== BUILTIN);
  }

  get #recallMaxChars(): number {
    return this.#options.recallMaxChars ?? DEFAULT_RECALL_CHARS;
  }

  get #isShutDown(): boolean {
    return this.#shutdown !== undefined;
  }
}

/** 1 for a getter that throws. */
function checkpointVersion(provider: MemoryProvider): unknown {
  try {
    return provider.preCompressCheckpointApiVersion ?? 1;
  } catch {
    return 1;
  }
}

function deadlinesOf({ prefetchTimeoutS, deadlinesMs }: MemoryManagerOptions): Deadlines {
  const seconds = prefetchTimeoutS ?? DEADLINES_MS.turnStart / 1000;
  const turnStart = seconds === 0 ? Number.POSITIVE_INFINITY : seconds * 1000;
  return { ...DEADLINES_MS, turnStart, ...deadlinesMs };
}

/** Blank texts are left out; the others are not trimmed. */
function joinTexts(parts: readonly string[]): string {
  return parts.filter((part) => !isBlank(part)).join("\n\n");
}

function toRows(messages: Messages): readonly OpenAiMessage[] {
  return messages.map((message) => (isMessage(message) ? toOpenAi(message, { forOthers: true }) : message));
}

function toolError(error: string): string {
  return JSON.stringify({ error });
}
