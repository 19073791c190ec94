// The only place that calls a provider. The manager passes every event on in order, and makes sure that the provider costs the agent at
// most the deadline of each hook.
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
  argumentPreview,
  definitionOf,
  described,
  namesLike,
  PROVIDER_RESERVED_NAMES,
  readForeignTools,
  type Tool,
  type ToolDefinition,
  ToolTable,
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
import { type CallOutcome, GuardedProvider, type Hook, nameToRegister } from "./guarded-provider.ts";
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
import { Recall, readRecallStatus } from "./recall.ts";

type Messages = readonly (Message | OpenAiMessage)[];

/** The registered provider. */
type Slot = { readonly guarded: GuardedProvider; readonly recall: Recall };

type Work = (provider: MemoryProvider, call: CallOptions) => unknown;

const DEFAULT_RECALL_CHARS = 16_000;
const DEFAULT_MAX_AGE_TURNS = 2;
/** More waiting tasks than this mean that the provider has stopped working. */
const MAX_WAITING_TASKS = 100;
/** No context window holds more, and a cut answer would not be valid JSON. */
const MAX_RESULT_CHARS = 1_000_000;

/** Runs a memory provider: a deadline for each hook, a breaker, a queue for writes, and a fence around what it recalls. */
export class MemoryManager {
  readonly #options: MemoryManagerOptions;
  readonly #log: Logger;
  readonly #deadlines: Deadlines;
  readonly #queue = new SerialQueue({ maxWaiting: MAX_WAITING_TASKS });
  #slot: Slot | undefined;
  #tools = new ToolTable([]);
  #refusedTools: ReadonlySet<string> = new Set();
  #turn = 0;
  /** The time that `onTurnStart` took: the recall of the same turn gets the rest. */
  #turnStartMs = 0;
  #recallStatus: readonly RecallStatus[] = [];
  /** The last session ended with queued work that did not finish in time. */
  #isQueueStuck = false;
  #shutdown: Promise<void> | undefined;

  constructor(options: MemoryManagerOptions = {}) {
    this.#options = options;
    this.#log = options.log ?? silentLogger;
    this.#deadlines = deadlinesOf(options);
  }

  // ---- Registration ----

  /** False when the provider was refused; the log says why. */
  addProvider(provider: MemoryProvider): boolean {
    const name = nameToRegister(provider, this.#slot?.guarded.name);
    if (!name.ok) {
      this.#log.warn(name.error);
      return false;
    }
    const { home, selectedAs, onTrouble, clock = systemClock, prefetchMaxAgeTurns } = this.#options;
    const guarded = new GuardedProvider(name.value, provider, {
      home,
      selectedAs,
      clock,
      log: this.#log,
      hangingMs: this.#deadlines.hanging,
      onTrouble,
    });
    const maxAgeTurns = prefetchMaxAgeTurns ?? DEFAULT_MAX_AGE_TURNS;
    const recall = new Recall(guarded, { maxAgeTurns, maxChars: this.#recallMaxChars });
    this.#slot = { guarded, recall };
    // Asked again after `initialize`, where a provider chooses its tools: one that answers asynchronously has none until then.
    const offered = guarded.callNow<unknown>("getToolSchemas", () => {
      const answer: unknown = toolsOf(provider);
      if (!isThenable(answer)) return answer;
      Promise.resolve(answer).catch(() => {});
      return [];
    });
    this.#takeTools(guarded, offered);
    return true;
  }

  /** The registered provider, in a list. */
  get providers(): readonly MemoryProvider[] {
    return this.#slot === undefined ? [] : [this.#slot.guarded.provider];
  }

  /** Sets the provider up for a session, then asks for its tools again. */
  async initializeAll(sessionId: string, options: InitializeAllOptions = {}): Promise<void> {
    const home = options.hermes_home ?? this.#options.home;
    if (home === undefined)
      throw new Error("A memory manager needs a home directory before it can start its provider.");
    const known = { ...withoutEmpty(options), hermes_home: home };
    await this.#tell("initialize", this.#deadlines.initialize, (provider, call) =>
      provider.initialize(sessionId, { ...known, ...call }),
    );
    const guarded = this.#slot?.guarded;
    if (guarded === undefined) return;
    const rules = { deadlineMs: this.#deadlines.toolSchemas };
    this.#takeTools(guarded, await guarded.call<unknown>("getToolSchemas", rules, toolsOf));
  }

  // ---- Tools ----

  /** The tools that the provider offers now, in its order. A call goes through `handleToolCall`, with its deadline and limits. */
  tools(): readonly Tool[] {
    return this.#tools.tools;
  }

  getAllToolSchemas(): readonly ToolDefinition[] {
    return this.tools().map(definitionOf);
  }

  getAllToolNames(): ReadonlySet<string> {
    return new Set(this.tools().map(({ name }) => name));
  }

  /** Names of tools that were offered and refused. A model that writes one means that tool, so no other tool may be taken for it. */
  getRefusedToolNames(): ReadonlySet<string> {
    return this.#refusedTools;
  }

  hasTool(name: string): boolean {
    return this.#tools.has(name);
  }

  /** The provider's JSON text, or one with an `error`. Never rejects. */
  async handleToolCall(name: string, args: unknown): Promise<string> {
    const guarded = this.#slot?.guarded;
    if (guarded === undefined || !this.hasTool(name))
      return toolError(`No memory provider handles tool '${name}'`);
    const failure = `Memory tool '${name}' failed`;
    if (this.#isShutDown) return toolError(`${failure}: its provider has been shut down`);
    const given = typeof args === "object" && args !== null ? (args as Record<string, unknown>) : {};
    const outcome = await guarded.call<unknown>(
      "handleToolCall",
      { deadlineMs: this.#deadlines.toolCall, isPatient: true },
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

  #takeTools(guarded: GuardedProvider, offered: CallOutcome<unknown>): void {
    const { name: provider } = guarded;
    const answer = offered.kind === "ok" ? offered.value : [];
    const { definitions, refused } = readForeignTools(answer, {
      who: `The memory provider '${provider}'`,
      reserved: namesLike(PROVIDER_RESERVED_NAMES),
    });
    for (const { remark } of refused) guarded.warnOnce(remark, remark, {});
    // Without handleToolCall no tool can run, so none is offered.
    const usable = guarded.has("handleToolCall") ? definitions : [];
    this.#tools = new ToolTable(
      usable.map((definition): Tool => {
        const { name } = definition;
        return {
          ...described(definition),
          owner: { kind: "provider", name: provider },
          policy: { toolset: "memory", effect: "write", untrustedSource: `${provider}/${name}` },
          preview: argumentPreview,
          run: async (args) => textOutcome(await this.handleToolCall(name, args)),
        };
      }),
    );
    this.#refusedTools = new Set(
      refused.flatMap(({ name }) => name ?? []).filter((name) => !this.hasTool(name)),
    );
  }

  // ---- A turn ----

  /** The provider's text for the system prompt, made safe for a prompt; without a fence. */
  async buildSystemPrompt(): Promise<string> {
    if (this.#isShutDown) return "";
    const outcome = await this.#tell(
      "systemPromptBlock",
      this.#deadlines.systemPromptBlock,
      (provider, call) => provider.systemPromptBlock?.(call),
    );
    return this.#forPrompt("systemPromptBlock", outcome);
  }

  async onTurnStart(turn: number, message: unknown, options: TurnStartOptions = {}): Promise<void> {
    if (this.#isShutDown) return;
    this.#turn = turn;
    const startedAt = performance.now();
    const text = typeof message === "string" ? message : "";
    await this.#tell(
      "onTurnStart",
      this.#deadlines.turnStart,
      (provider, call) => provider.onTurnStart?.(turn, text, { ...options, ...call }),
      { isOneAtATime: true },
    );
    this.#turnStartMs = performance.now() - startedAt;
  }

  /** Recall for this turn, made safe for a prompt; `buildMemoryContextBlock` puts the fence around it. */
  async prefetchAll(query: unknown, options: { readonly session_id?: string } = {}): Promise<string> {
    const deadlineMs = Math.max(0, this.#deadlines.turnStart - this.#turnStartMs);
    this.#turnStartMs = 0;
    this.#recallStatus = [];
    const text = withoutSkillScaffolding(query);
    const slot = this.#slot;
    if (!text || isTrivialPrompt(text) || this.#isShutDown || !slot?.guarded.has("prefetch")) return "";
    const sessionId = options.session_id ?? "";
    const recalled = await slot.recall.ask({ query: text, sessionId, turn: this.#turn, deadlineMs });
    const part = this.#forPrompt("prefetch", { kind: "ok", value: recalled.text });
    if (recalled.isFresh && !isBlank(part)) this.#recallStatus = statusOf(slot.guarded);
    return part;
  }

  /** How much was recalled in the last `prefetchAll`; empty when that gave no text, or the provider does not tell. */
  recallStatus(): readonly RecallStatus[] {
    return this.#recallStatus;
  }

  /** Hands a completed turn to the provider. Interrupted and failed turns, and turns without text, are not handed over. */
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

  /** The provider's text for the summary request, made safe for a prompt. */
  async onPreCompress(messages: Messages): Promise<string> {
    return (await this.checkpoint(messages)).text;
  }

  /** `onPreCompress`, and whether the provider has stored the messages durably. */
  async checkpoint(messages: Messages): Promise<Checkpoint> {
    if (this.#isShutDown) return { text: "", missing: "the memory provider has been shut down" };
    const rows = toRows(messages);
    const outcome = await this.#tell("onPreCompress", this.#deadlines.preCompress, (provider, call) =>
      provider.onPreCompress?.([...rows], call),
    );
    return { text: this.#forPrompt("onPreCompress", outcome), missing: this.#missingCheckpoint(outcome) };
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
    this.#later("onMemoryWrite", (provider) =>
      provider.onMemoryWrite?.(action, target, content, { ...metadata }),
    );
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
    const guarded = this.#slot?.guarded;
    if (!guarded?.has("onMemoryWrite")) return { reports };
    const until = performance.now() + deadlineMs;
    for (const { target, op } of writes) {
      if (op.action === "remove" && this.#options.mirrorRemove === false) continue;
      const content = op.action === "remove" ? "" : op.content;
      const metadata = metadataOf(op.action === "add" ? undefined : op.oldText);
      const left = Math.max(0, until - performance.now());
      const outcome = await guarded.call<unknown>(
        "onMemoryWrite",
        { deadlineMs: left, isPatient: true },
        async (provider) => provider.onMemoryWrite?.(op.action, target, content, { ...metadata }),
      );
      if (outcome.kind !== "ok") return { failed: `onMemoryWrite: ${outcome.message}.`, reports };
      reports.push(readWriteReport(outcome.value));
    }
    return { reports };
  }

  /** Erases a text in the provider; with `isDryRun` only counts what would be erased. */
  forget(text: string, rules: EraseRules): Promise<ProviderForgot> {
    return this.#erase("forget", rules, (provider, options) => provider.forget?.(text, options));
  }

  /** Erases everything of this manager's user in the provider; with `isDryRun` only counts it. */
  eraseUser(rules: EraseRules): Promise<ProviderForgot> {
    if (!rules.isDryRun) this.#slot?.recall.forgetSession();
    return this.#erase("eraseUser", rules, (provider, options) => provider.eraseUser?.(options));
  }

  async #erase(
    hook: "forget" | "eraseUser",
    { isDryRun, deadlineMs }: EraseRules,
    work: (provider: MemoryProvider, options: { signal: AbortSignal; dry_run: true | undefined }) => unknown,
  ): Promise<ProviderForgot> {
    const guarded = this.#slot?.guarded;
    if (!guarded?.has(hook)) return { kind: "cannot" };
    const outcome = await guarded.call<unknown>(hook, { deadlineMs, isPatient: true }, (provider, signal) =>
      work(provider, { signal, dry_run: isDryRun || undefined }),
    );
    if (outcome.kind !== "ok") return { kind: "failed", reason: `${hook}: ${outcome.message}.` };
    return readForgetReport(hook, outcome.value);
  }

  // ---- The end of a session, and of the agent ----

  /** Turns that were queued before are synced first, as far as 5 s allow. */
  async onSessionEnd(messages: Messages = []): Promise<void> {
    if (this.#isShutDown) return;
    this.#isQueueStuck = !(await this.#drain());
    const rows = toRows(messages);
    await this.#tell("onSessionEnd", this.#deadlines.sessionEnd, (provider, call) =>
      provider.onSessionEnd?.([...rows], call),
    );
  }

  async onSessionSwitch(newSessionId: string | null | undefined, options: SwitchOptions = {}): Promise<void> {
    if (!newSessionId || this.#isShutDown) return;
    this.#slot?.recall.forgetSession();
    const { rewound, parent_session_id = "", reset = false, ...rest } = options;
    // By the contract, `rewound` is present only when true.
    const known = { ...rest, parent_session_id, reset, ...(rewound ? { rewound: true as const } : {}) };
    await this.#tell("onSessionSwitch", this.#deadlines.sessionSwitch, (provider, call) =>
      provider.onSessionSwitch?.(newSessionId, { ...known, ...call }),
    );
  }

  /** True when everything queued so far has run; false when it has not after this many milliseconds. */
  async flushPending(timeoutMs: number = this.#deadlines.drain): Promise<boolean> {
    return (await this.#queue.drain(timeoutMs)) === 0;
  }

  /** Runs queued work as far as time allows, then shuts the provider down. May be called twice. */
  shutdownAll(): Promise<void> {
    this.#shutdown ??= this.#shutDown();
    return this.#shutdown;
  }

  async #shutDown(): Promise<void> {
    this.#slot?.recall.forgetSession();
    // Work that did not finish within the drain of the session's end does not get another one.
    if (!this.#isQueueStuck) await this.#drain();
    const guarded = this.#slot?.guarded;
    const lost = this.#queue.close();
    if (lost > 0) {
      guarded?.health.dropped(lost);
      const message = `${lost} background task(s) of memory providers did not finish before shutdown.`;
      this.#log.warn(message, { lost });
    }
    guarded?.stopCalls(); // a hanging call may hold a socket that keeps the process alive
    // A shortened deadline instead of a shortened wait: this is the last call, so it has to end when the manager stops waiting.
    const { shutdown, hanging } = this.#deadlines;
    const deadlineMs = guarded?.isHanging ? Math.min(shutdown, hanging) : shutdown;
    await this.#tell("shutdown", deadlineMs, (provider, call) => provider.shutdown?.(call));
    guarded?.health.write();
  }

  // ---- Ways to call a hook ----

  /** Undefined without a provider, or one without the hook. */
  async #tell(
    hook: Hook,
    deadlineMs: number,
    work: Work,
    rules: { readonly isOneAtATime?: boolean; readonly isBackground?: boolean } = {},
  ): Promise<CallOutcome<unknown> | undefined> {
    const guarded = this.#slot?.guarded;
    if (!guarded?.has(hook)) return undefined;
    return guarded.call<unknown>(hook, { deadlineMs, ...rules }, (provider, signal) =>
      work(provider, { signal }),
    );
  }

  /** Why the provider has not durably stored what it was handed before a compaction; undefined: it has. */
  #missingCheckpoint(outcome: CallOutcome<unknown> | undefined): string | undefined {
    const guarded = this.#slot?.guarded;
    if (guarded === undefined) return NO_PROVIDER;
    if (checkpointVersion(guarded.provider) !== 2)
      return `the memory provider '${guarded.name}' does not promise to store them before a compaction`;
    if (outcome?.kind === "ok") return undefined;
    const why = outcome?.message ?? "it has no onPreCompress()";
    return `the memory provider '${guarded.name}' did not confirm that it has stored them (${why})`;
  }

  /** In the background, after everything that was queued before. */
  #later(hook: Hook, work: Work): void {
    const guarded = this.#slot?.guarded;
    if (!guarded?.has(hook)) return;
    if (this.#queue.isClosed) {
      this.#log.debug(`Nothing is handed to memory providers after shutdown (${hook}).`, { hook });
    } else if (this.#queue.isFull) {
      guarded.skip(hook, `${MAX_WAITING_TASKS} tasks wait already, so this one was dropped`);
      guarded.health.dropped(1);
    } else
      void this.#queue.push(async () => {
        await this.#tell(hook, this.#deadlines.background, work, { isBackground: true });
      });
  }

  /** True when the queue is empty. When the provider hangs, stops as soon as no task has ended for a second. */
  async #drain(): Promise<boolean> {
    const { drain, hanging } = this.#deadlines;
    const idleMs = this.#slot?.guarded.isHanging ? hanging : drain;
    return (await this.#queue.drain(drain, { idleMs })) === 0;
  }

  /** The text of an answer, made safe for a prompt. */
  #forPrompt(hook: Hook, outcome: CallOutcome<unknown> | undefined): string {
    const guarded = this.#slot?.guarded;
    const raw = outcome?.kind === "ok" && typeof outcome.value === "string" ? outcome.value : "";
    if (guarded === undefined || isBlank(raw)) return "";
    const { allowSecrets = false } = this.#options;
    const { text, ...change } = toPromptText(raw, this.#recallMaxChars, { allowSecrets });
    guarded.health.text(change);
    if (change.wasCut || change.wasFenced || change.blockedParagraphs > 0 || change.maskedSecrets > 0) {
      const message = `Text of the memory provider '${guarded.name}' was changed before it reached a prompt.`;
      guarded.warnOnce(`${hook} text`, message, { hook, ...change });
    }
    return isBlank(text) ? "" : text;
  }

  get #recallMaxChars(): number {
    return this.#options.recallMaxChars ?? DEFAULT_RECALL_CHARS;
  }

  get #isShutDown(): boolean {
    return this.#shutdown !== undefined;
  }
}

export type EraseRules = { readonly isDryRun: boolean; readonly deadlineMs: number };

function toolsOf(provider: MemoryProvider): unknown {
  return provider.getToolSchemas === undefined ? [] : provider.getToolSchemas();
}

function isThenable(value: unknown): boolean {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

function statusOf(guarded: GuardedProvider): readonly RecallStatus[] {
  if (!guarded.has("recallStatus")) return [];
  const outcome = guarded.callNow<unknown>("recallStatus", (provider) => provider.recallStatus?.());
  const status = outcome.kind === "ok" ? readRecallStatus(outcome.value) : undefined;
  return status === undefined ? [] : [status];
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

function toRows(messages: Messages): readonly OpenAiMessage[] {
  return messages.map((message) => (isMessage(message) ? toOpenAi(message, { forOthers: true }) : message));
}

function toolError(error: string): string {
  return JSON.stringify({ error });
}
