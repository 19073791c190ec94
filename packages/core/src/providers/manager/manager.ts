// The one place that talks to providers. It holds the built-in slot and at most one external provider, hands every
// event on in order, and makes sure that nothing a provider does costs the agent more than its deadline.
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
import type {
  DelegationOptions,
  MemoryProvider,
  MemoryWriteMetadata,
  TurnStartOptions,
} from "../contract.ts";
import { type Deadlines, deadlinesOf } from "./deadlines.ts";
import { FanOut, joinTexts, type Work } from "./fan-out.ts";
import { readForgetReport, readWriteReport, type WriteReport } from "./forget-report.ts";
import { type CallOutcome, GuardedCalls } from "./guarded-call.ts";
import { HealthRecorder } from "./health-recorder.ts";
import type {
  FinishedTurn,
  InitializeAllOptions,
  MemoryManagerOptions,
  MirroredWrite,
  ProviderForgot,
  SwitchOptions,
} from "./options.ts";
import { Patience, type StepPatience } from "./patience.ts";
import { ProviderTools } from "./provider-tools.ts";
import { Recaller } from "./recaller.ts";
import { admit, BUILTIN, type Hook, hasHook, type Registered } from "./registered.ts";
import { withoutSkillScaffolding } from "./skill-scaffolding.ts";

const DEFAULT_RECALL_CHARS = 16_000;
const DEFAULT_MAX_AGE_TURNS = 2;
/** No window holds more; cutting would leave text that is no JSON. */
const MOST_RESULT_CHARS = 1_000_000;

export class MemoryManager {
  readonly #options: MemoryManagerOptions;
  readonly #log: Logger;
  readonly #deadlines: Deadlines;
  readonly #providers: Registered[] = [];
  readonly #health: HealthRecorder;
  readonly #calls: GuardedCalls;
  readonly #fanOut: FanOut;
  readonly #recaller: Recaller;
  readonly #tools: ProviderTools;
  readonly #patience: Patience;
  /** Of the turn that begins: its start and its recall share it. */
  #turnPatience: StepPatience | undefined;
  #turn = 0;
  #turnStartMs = 0;
  #shutdown: Promise<void> | undefined;
  /** The last session ended with work in the queue that did not come to its end. */
  #isStuck = false;

  constructor(options: MemoryManagerOptions = {}) {
    this.#options = options;
    this.#log = options.log ?? silentLogger;
    this.#deadlines = deadlinesOf(options);
    this.#health = new HealthRecorder(options.home, options.clock ?? systemClock, (name) =>
      name === BUILTIN ? name : (options.selectedAs ?? name),
    );
    this.#patience = new Patience(this.#deadlines.hanging);
    this.#calls = new GuardedCalls({
      log: this.#log,
      health: this.#health,
      patience: this.#patience,
      onTrouble: options.onTrouble,
    });
    this.#fanOut = new FanOut({
      providers: this.#providers,
      calls: this.#calls,
      health: this.#health,
      patience: this.#patience,
      log: this.#log,
      recallMaxChars: options.recallMaxChars ?? DEFAULT_RECALL_CHARS,
      allowSecrets: options.allowSecrets ?? false,
      backgroundMs: this.#deadlines.background,
    });
    this.#recaller = new Recaller(this.#calls, this.#patience, {
      maxAgeTurns: options.prefetchMaxAgeTurns ?? DEFAULT_MAX_AGE_TURNS,
      maxChars: options.recallMaxChars ?? DEFAULT_RECALL_CHARS,
    });
    this.#tools = new ProviderTools({
      calls: this.#calls,
      log: this.#log,
      coreToolNames: options.coreToolNames ?? PROVIDER_RESERVED_NAMES,
      deadlineMs: this.#deadlines.toolSchemas,
      run: async (name, args) => textOutcome(await this.handleToolCall(name, args)),
    });
  }

  /** False when it was not taken; the log says why. */
  addProvider(provider: MemoryProvider): boolean {
    const admitted = admit(provider, this.#providers);
    if (!admitted.ok) {
      this.#log.warn(admitted.error);
      return false;
    }
    this.#providers.push(admitted.value);
    this.#tools.add(admitted.value);
    return true;
  }

  get providers(): readonly MemoryProvider[] {
    return this.#providers.map(({ provider }) => provider);
  }

  getProvider(name: string): MemoryProvider | undefined {
    return this.#providers.find((registered) => registered.name === name)?.provider;
  }

  /** The tools providers offer now, in their order. A call goes through `handleToolCall`, with its deadline and bounds. */
  tools(): readonly Tool[] {
    return this.#tools.table.tools;
  }

  getAllToolSchemas(): readonly ToolDefinition[] {
    return this.tools().map(definitionOf);
  }

  getAllToolNames(): ReadonlySet<string> {
    return new Set(this.tools().map(({ name }) => name));
  }

  /** Names of tools that providers offer and do not get. No other tool may be taken for them. */
  getRefusedToolNames(): ReadonlySet<string> {
    return this.#tools.refusedNames;
  }

  hasTool(name: string): boolean {
    return this.#tools.table.has(name);
  }

  async initializeAll(sessionId: string, options: InitializeAllOptions = {}): Promise<void> {
    const home = options.hermes_home ?? this.#options.home;
    if (home === undefined)
      throw new Error("A memory manager needs a home directory before it can start its providers.");
    const known = { ...present(options), hermes_home: home };
    await this.#fanOut.tell("initialize", this.#deadlines.initialize, (provider, call) =>
      provider.initialize(sessionId, { ...known, ...call }),
    );
    const patience = this.#patience.forStep();
    for (const registered of this.#providers) await this.#tools.refresh(registered, patience);
  }

  /** What providers say about themselves, for the system prompt. Made safe for it; no fence. */
  async buildSystemPrompt(): Promise<string> {
    if (this.#isShutDown) return "";
    return this.#fanOut.collect("systemPromptBlock", this.#deadlines.systemPromptBlock, (provider, call) =>
      provider.systemPromptBlock?.(call),
    );
  }

  async onTurnStart(turn: number, message: unknown, options: TurnStartOptions = {}): Promise<void> {
    if (this.#isShutDown) return;
    this.#turn = turn;
    const startedAt = performance.now();
    const text = typeof message === "string" ? message : "";
    const patience = this.#patience.forStep();
    this.#turnPatience = patience;
    const tell: Work = (provider, call) => provider.onTurnStart?.(turn, text, { ...options, ...call });
    await this.#fanOut.tellWithin("onTurnStart", this.#deadlines.turnStart, tell, patience);
    this.#turnStartMs = performance.now() - startedAt;
  }

  /** Recall for this turn, made safe for a prompt; `buildMemoryContextBlock` puts the fence around it. */
  async prefetchAll(query: unknown, options: { readonly session_id?: string } = {}): Promise<string> {
    const until = performance.now() + Math.max(0, this.#deadlines.turnStart - this.#turnStartMs);
    this.#turnStartMs = 0;
    const patience = this.#turnPatience ?? this.#patience.forStep();
    this.#turnPatience = undefined;
    const text = withoutSkillScaffolding(query);
    if (!text || this.#isShutDown) return "";
    const request = { query: text, sessionId: options.session_id ?? "", turn: this.#turn, until, patience };
    const parts: string[] = [];
    for (const registered of this.#providers) {
      if (!hasHook(registered, "prefetch")) continue;
      const raw = await this.#recaller.recall(registered, request);
      parts.push(this.#fanOut.forPrompt(registered, "prefetch", raw));
    }
    return joinTexts(parts);
  }

  queuePrefetchAll(query: unknown, options: { readonly session_id?: string } = {}): void {
    const text = withoutSkillScaffolding(query);
    if (!text) return;
    const session_id = options.session_id ?? "";
    this.#fanOut.later("queuePrefetch", (provider, call) =>
      provider.queuePrefetch?.(text, { ...call, session_id }),
    );
  }

  syncAll(
    user: unknown,
    assistant: string,
    options: { readonly session_id?: string; readonly messages?: readonly (Message | OpenAiMessage)[] } = {},
  ): void {
    const text = withoutSkillScaffolding(user);
    if (!text) return;
    const messages = options.messages && toRows(options.messages); // the agent goes on appending to its list while the worker waits
    const session_id = options.session_id ?? "";
    this.#isStuck = false;
    this.#fanOut.later("syncTurn", (provider, call) =>
      provider.syncTurn?.(text, assistant, {
        ...call,
        session_id,
        ...(messages ? { messages: [...messages] } : {}),
      }),
    );
  }

  /** Hands a completed turn to the providers: no interrupted, failed or wordless one. */
  finishTurn(turn: FinishedTurn): void {
    if (turn.interrupted || turn.failed) return;
    const user = flattenContent(turn.user);
    const assistant = flattenContent(turn.assistant);
    if (user === "" || assistant === "") return;
    const { session_id, messages } = turn;
    this.syncAll(user, assistant, { session_id, ...(messages === undefined ? {} : { messages }) });
    this.queuePrefetchAll(user, { session_id });
  }

  /** The provider's JSON text, or one with an `error`. Never rejects. */
  async handleToolCall(name: string, args: unknown): Promise<string> {
    const registered = this.#tools.ownerOf(name);
    if (!registered) return toolError(`No memory provider handles tool '${name}'`);
    const failure = `Memory tool '${name}' failed`;
    if (this.#isShutDown) return toolError(`${failure}: its provider has been shut down`);
    const given = typeof args === "object" && args !== null ? (args as Record<string, unknown>) : {};
    const outcome: CallOutcome<unknown> = await this.#calls.call<unknown>(
      { registered, hook: "handleToolCall", deadlineMs: this.#deadlines.toolCall },
      (signal) => registered.provider.handleToolCall?.(name, given, { signal }),
    );
    if (outcome.kind !== "ok") return toolError(`${failure}: ${outcome.message}`);
    if (typeof outcome.value === "string" && outcome.value.length > MOST_RESULT_CHARS)
      return toolError(
        `${failure}: its answer of ${outcome.value.length} characters is too long; ask for less`,
      );
    if (typeof outcome.value === "string") return outcome.value;
    return toolError(`${failure}: its provider answered with something that is not text`);
  }

  /** Syncs that were handed in before go first. */
  async onSessionEnd(messages: readonly (Message | OpenAiMessage)[] = []): Promise<void> {
    if (this.#isShutDown) return;
    const patience = this.#patience.forStep();
    this.#isStuck = !(await this.#fanOut.drain(this.#deadlines.drain, patience));
    const rows = toRows(messages);
    const tell: Work = (provider, call) => provider.onSessionEnd?.([...rows], call);
    await this.#fanOut.tell("onSessionEnd", this.#deadlines.sessionEnd, tell, patience);
  }

  async onSessionSwitch(newSessionId: string | null | undefined, options: SwitchOptions = {}): Promise<void> {
    if (!newSessionId || this.#isShutDown) return;
    this.#recaller.forgetSession();
    const { rewound, parent_session_id = "", reset = false, ...rest } = options;
    const known = { ...rest, parent_session_id, reset, ...(rewound ? { rewound: true as const } : {}) };
    await this.#fanOut.tell("onSessionSwitch", this.#deadlines.sessionSwitch, (provider, call) =>
      provider.onSessionSwitch?.(newSessionId, { ...known, ...call }),
    );
  }

  /** What providers want kept in the summary, made safe for a prompt. */
  async onPreCompress(messages: readonly (Message | OpenAiMessage)[]): Promise<string> {
    if (this.#isShutDown) return "";
    const rows = toRows(messages);
    return this.#fanOut.collect("onPreCompress", this.#deadlines.preCompress, (provider, call) =>
      provider.onPreCompress?.([...rows], call),
    );
  }

  /** For a write that was committed, and for no other. */
  onMemoryWrite(
    action: "add" | "replace" | "remove",
    target: "memory" | "user",
    content: string,
    metadata: MemoryWriteMetadata = {},
  ): void {
    if (action === "remove" && this.#options.mirrorRemove === false) return;
    const tell = (provider: MemoryProvider) =>
      provider.onMemoryWrite?.(action, target, content, { ...metadata });
    this.#fanOut.later("onMemoryWrite", tell, { except: BUILTIN }); // where the write came from
  }

  /**
   * `onMemoryWrite` for several writes, in order, now and awaited: for whoever is about to shut down. `failed` is the reason when one
   * was not taken in time; those after it are then not handed over. `reports` has what the provider said of each, if anything.
   */
  async mirrorNow(
    writes: readonly MirroredWrite[],
    metadataOf: (oldText: string | undefined) => MemoryWriteMetadata,
    deadlineMs: number,
  ): Promise<{ readonly failed?: string; readonly reports: readonly WriteReport[] }> {
    const reports: WriteReport[] = [];
    const until = performance.now() + deadlineMs;
    for (const { target, op } of writes) {
      if (op.action === "remove" && this.#options.mirrorRemove === false) continue;
      const content = op.action === "remove" ? "" : op.content;
      const metadata = metadataOf(op.action === "add" ? undefined : op.oldText);
      for (const registered of this.#external("onMemoryWrite")) {
        const left = Math.max(0, until - performance.now());
        const outcome = await this.#calls.call<unknown>(
          { registered, hook: "onMemoryWrite", deadlineMs: left },
          async () => registered.provider.onMemoryWrite?.(op.action, target, content, { ...metadata }),
        );
        if (outcome.kind !== "ok") return { failed: `onMemoryWrite: ${outcome.message}.`, reports };
        reports.push(readWriteReport(outcome.value));
      }
    }
    return { reports };
  }

  /** Erases a text in the external provider, or counts what would go. */
  async forget(
    text: string,
    { isDryRun, deadlineMs }: { readonly isDryRun: boolean; readonly deadlineMs: number },
  ): Promise<ProviderForgot> {
    const [registered] = this.#external("forget");
    if (registered === undefined) return { kind: "cannot" };
    const outcome = await this.#calls.call<unknown>({ registered, hook: "forget", deadlineMs }, (signal) =>
      registered.provider.forget?.(text, { signal, ...(isDryRun ? { dry_run: true } : {}) }),
    );
    if (outcome.kind !== "ok") return { kind: "failed", reason: `forget: ${outcome.message}.` };
    return readForgetReport(outcome.value);
  }

  #external(hook: Hook): readonly Registered[] {
    return this.#providers.filter((each) => each.name !== BUILTIN && hasHook(each, hook));
  }

  onDelegation(task: string, result: string, options: Partial<Omit<DelegationOptions, "signal">> = {}): void {
    const child_session_id = options.child_session_id ?? "";
    this.#fanOut.later("onDelegation", (provider, call) =>
      provider.onDelegation?.(task, result, { ...call, child_session_id }),
    );
  }

  /** True when everything queued so far has run; false when it has not after this many milliseconds. */
  flushPending(timeoutMs: number = this.#deadlines.drain): Promise<boolean> {
    return this.#fanOut.drain(timeoutMs);
  }

  /** Runs what is queued as far as time allows, then closes the providers, last one first. Harmless when done twice. */
  shutdownAll(): Promise<void> {
    this.#shutdown ??= this.#shutDown();
    return this.#shutdown;
  }

  async #shutDown(): Promise<void> {
    this.#recaller.forgetSession();
    const patience = this.#patience.forStep();
    // Work that did not end when the session did has had its time.
    if (!this.#isStuck) await this.#fanOut.drain(this.#deadlines.drain, patience);
    this.#fanOut.close();
    this.#calls.stopAll(); // what still hangs may hold sockets that would keep the process alive
    await this.#fanOut.shutDown(this.#deadlines.shutdown, patience);
    this.#health.write();
  }

  get #isShutDown(): boolean {
    return this.#shutdown !== undefined;
  }
}

function toRows(messages: readonly (Message | OpenAiMessage)[]): readonly OpenAiMessage[] {
  return messages.map((message) => (isMessage(message) ? toOpenAi(message, { forOthers: true }) : message));
}

function toolError(error: string): string {
  return JSON.stringify({ error });
}

/** Without keys that say nothing: providers test for presence. */
function present<T extends object>(options: T): T {
  return Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined && value !== null && value !== ""),
  ) as T;
}
