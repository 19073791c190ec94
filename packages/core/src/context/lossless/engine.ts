// The lossless engine: what leaves the list is summarised in parts, and every part can be read again from the session
// store, message by message. It keeps no copies and no state of its own about the conversation; both are in the database.
import { HermesError, systemClock } from "../../lib/index.ts";
import type { Message, OpenAiMessage } from "../../message/index.ts";
import { redactSecrets } from "../../security/index.ts";
import { type MessageRow, readScope, type Scope, type SessionStore } from "../../sessions/index.ts";
import type { ToolDefinition } from "../../tools/index.ts";
import { type InKind, readList } from "../chat-rows.ts";
import { NoticeBoard } from "../compressor/notices.ts";
import type { CompressOptions, CompressOutcome, ContextEngine, ModelWindow } from "../engine.ts";
import { type SummaryModels, type SummaryOptions, summaryModels } from "../summary/models.ts";
import { focusOf, type Redact } from "../summary/request.ts";
import { fitTokens, shortenSections } from "../tokens.ts";
import {
  type Budgets,
  DEFAULT_SETTINGS,
  deriveBudgets,
  inEstimates,
  soundFactor,
  WatchedEngine,
} from "../trigger.ts";
import { type Compaction, type CompactionJob, compactLossless } from "./compact.ts";
import { loadLineage, messageKeys } from "./lineage.ts";
import { chooseWindow, leavingMessages } from "./plan.ts";
import { type Refusal, toOutcome } from "./report.ts";
import { type LcmSettings, lcmSettings, settingsInEstimates } from "./settings.ts";
import { LCM_TOOLS, lcmTool } from "./tools/tools.ts";
import { NodeWriter } from "./writer.ts";

export type LosslessEngineOptions = SummaryOptions & {
  readonly [Key in keyof LcmSettings]?: LcmSettings[Key];
} & {
  readonly store: SessionStore;
  /** The conversation; `onSessionStart` names the next one. */
  readonly sessionId: string;
  readonly contextLength: number;
  /**
   * Whose sessions may be seen. Absent: those of the session's own user, or all when it has none. The key with `undefined` is an
   * error.
   */
  readonly userId?: string;
  /** The platform `userId` belongs to. */
  readonly userPlatform?: string;
};

const LEAST_GAIN = 0.1;
const PROVIDER_TOKENS = 4_000;
const PROVIDER_SHARE = 0.1;

export class LosslessEngine extends WatchedEngine implements ContextEngine {
  readonly name = "lcm";
  readonly #options: LosslessEngineOptions;
  readonly #scope: Scope;
  readonly #settings: LcmSettings;
  readonly #models: SummaryModels;
  readonly #board = new NoticeBoard();
  #sessionId: string;
  #contextLength: number;
  #budgets: Budgets;

  constructor(options: LosslessEngineOptions) {
    super();
    this.#options = options;
    this.#scope = readScope(options);
    this.#settings = lcmSettings(options);
    this.#sessionId = options.sessionId;
    this.#contextLength = windowOf(options.contextLength);
    this.#budgets = this.#budgetsFor(this.#contextLength);
    this.#models = summaryModels(options);
  }

  override get thresholdTokens(): number {
    return this.#budgets.thresholdTokens;
  }
  override get contextLength(): number {
    return this.#contextLength;
  }
  /** The session whose messages are summarised now. */
  get sessionId(): string {
    return this.#sessionId;
  }

  hasContentToCompress(given: readonly (Message | OpenAiMessage)[]): boolean {
    const { messages } = readList(given);
    const factor = this.#factor;
    const settings = { ...this.#settings, contextLength: Math.trunc(this.#contextLength / factor) };
    const window = chooseWindow(messages, settings, inEstimates(this.#budgets, factor));
    if (window === undefined) return false;
    const { boundaries, expectedTokens, tokensBefore } = window;
    const gain = tokensBefore - expectedTokens;
    return leavingMessages(messages, boundaries).length >= 2 && gain >= LEAST_GAIN * tokensBefore;
  }

  /**
   * The messages have to be stored first and carry their rows in `meta.rowId` (chat rows: in `_row_id`); what does not, stays in the
   * list. Chat rows are answered with chat rows; those that stay are the same objects.
   */
  async compress<M extends Message | OpenAiMessage>(
    given: readonly M[],
    options: CompressOptions = {},
  ): Promise<CompressOutcome<InKind<M>>> {
    const { messages, inKind } = readList(given);
    return inKind(await this.#compress(messages, options));
  }

  async #compress(messages: readonly Message[], options: CompressOptions): Promise<CompressOutcome> {
    options.signal?.throwIfAborted();
    if (options.force) this.#models.wake();
    const compaction = await this.#compact(messages, options);
    const window = { tokens: this.contextLength, factor: this.#factor };
    const outcome = toOutcome(messages, compaction, window, this.#board);
    const { kind, reason, tokensBefore, tokensAfter } = outcome;
    if (kind === "compacted") this.noteAttempt("compacted", tokensBefore, tokensAfter);
    else if (reason === "nothing_to_gain") this.noteAttempt("nothing", tokensBefore, tokensAfter);
    return outcome;
  }

  /** Also after a rotation. Where a conversation begins, the database knows: a continuation belongs to what it continues. */
  onSessionStart(sessionId: string): void {
    this.#sessionId = sessionId;
  }

  override onSessionReset(): void {
    super.onSessionReset();
    this.#models.wake();
    this.#board.clear();
  }

  updateModel({ contextLength }: ModelWindow): void {
    this.#contextLength = windowOf(contextLength);
    this.#budgets = this.#budgetsFor(this.#contextLength);
    this.noteModelSwitch();
  }

  getToolSchemas(): readonly ToolDefinition[] {
    return LCM_TOOLS;
  }

  handleToolCall(
    name: string,
    args: Readonly<Record<string, unknown>>,
    messages: readonly (Message | OpenAiMessage)[] = [],
  ): Promise<string> {
    const { store } = this.#options;
    const { sessionId } = this;
    return lcmTool(name, args, {
      store,
      sessionId,
      user: this.#scope,
      status: this.getStatus(),
      tokenFactor: this.#factor,
      live: messages,
    });
  }

  /** The messages a leaf stands for, as they are stored, in order. None for a node above, or one of another conversation. */
  async expand(nodeId: string): Promise<readonly MessageRow[]> {
    const { store } = this.#options;
    const lineage = await loadLineage(store, this.#sessionId, this.#scope);
    const node = lineage.forest.nodes.get(nodeId);
    if (node === undefined) return [];
    return store.getMessagesById(
      messageKeys(node).flatMap((key) => lineage.rowOf(key) ?? []),
      this.#scope,
    );
  }

  async #compact(messages: readonly Message[], options: CompressOptions): Promise<Compaction | Refusal> {
    if (this.#options.store.readOnly) return { kind: "refused", cause: "read_only" };
    try {
      return await compactLossless(messages, this.#workplace(messages, options));
    } catch (cause) {
      options.signal?.throwIfAborted();
      if (cause instanceof HermesError) return { kind: "refused", cause };
      throw cause;
    }
  }

  #workplace(
    messages: readonly Message[],
    { focusTopic, providerText, roomTokens, signal, confirmDigest }: CompressOptions,
  ): CompactionJob {
    const { store, clock, summaryContextLength, summaryTokenFactor } = this.#options;
    const factor = this.#factor;
    const summaryFactor = summaryTokenFactor === undefined ? factor : soundFactor(summaryTokenFactor());
    const windowTokens = Math.trunc(
      Math.min(
        this.contextLength / factor,
        (summaryContextLength ?? this.contextLength) / Math.max(factor, summaryFactor),
      ),
    );
    const providerTokens = Math.min(PROVIDER_TOKENS, Math.trunc(windowTokens * PROVIDER_SHARE));
    return {
      store,
      sessionId: this.#sessionId,
      scope: this.#scope,
      settings: settingsInEstimates(this.#settings, factor),
      budgets: inEstimates(this.#budgets, factor),
      contextLength: Math.trunc(this.contextLength / factor),
      roomTokens: roomTokens === undefined ? undefined : Math.trunc(roomTokens / factor),
      writer: new NodeWriter({
        models: this.#models,
        summaryTokens: settingsInEstimates(this.#settings, factor).leafSummaryTokens,
        windowTokens,
        factor,
        focus: focusOf(messages, focusTopic, this.#redact),
        signal,
      }),
      redact: this.#redact,
      clock: clock ?? systemClock,
      providerText: providerText
        ? fitTokens(this.#redact(providerText), providerTokens, shortenSections)
        : undefined,
      confirmDigest,
      signal,
    };
  }

  #budgetsFor(contextLength: number): Budgets {
    const { threshold, freshTailRatio: targetRatio } = this.#settings;
    return deriveBudgets({ ...DEFAULT_SETTINGS, threshold, targetRatio, contextLength });
  }

  get #factor(): number {
    return soundFactor(this.#options.tokenFactor?.());
  }

  get #redact(): Redact {
    return this.#options.redact ?? redactSecrets;
  }
}

function windowOf(contextLength: number): number {
  return Number.isFinite(contextLength) && contextLength > 0 ? Math.trunc(contextLength) : 0;
}
