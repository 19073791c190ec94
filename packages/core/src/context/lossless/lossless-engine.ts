// The lossless engine: messages that leave the list are summarised in parts, and every part can be read again from the
// session store, message by message. The engine itself keeps no copy of the conversation; everything is in the database.
import { HermesError, systemClock } from "../../lib/index.ts";
import type { Message, OpenAiMessage } from "../../message/index.ts";
import { redactSecrets } from "../../security/index.ts";
import {
  type HomeStore,
  type MessageRow,
  narrowed,
  readScope,
  type Scope,
  type SessionStore,
} from "../../sessions/index.ts";
import type { ToolDefinition } from "../../tools/index.ts";
import { withoutSummary } from "../compressor/notices.ts";
import {
  type CompressOptions,
  type CompressOutcome,
  type ContextEngine,
  type InKind,
  type Notice,
  readList,
} from "../engine.ts";
import { focusOf, SummaryModels, type SummaryOptions } from "../summary/summarise.ts";
import { fitTokens, shortenSections } from "../tokens.ts";
import { soundFactor, WatchedEngine } from "../trigger.ts";
import { type CompactionJob, compactLossless } from "./compact.ts";
import { loadLineage, messageKeys } from "./lineage.ts";
import { chooseWindow, leavingMessages } from "./lossless-plan.ts";
import { type LcmSettings, lcmSettings, settingsInEstimates } from "./settings.ts";
import { LCM_TOOLS, lcmTool } from "./tools/lcm-tools.ts";
import { NodeWriter } from "./writer.ts";

/** The store and session whose messages are summarised, the window, and the model that summarises. */
export type LosslessEngineOptions = SummaryOptions &
  Partial<LcmSettings> & {
    /** Of one person, or of the whole home: then the sessions of the session's own user are read. */
    readonly store: HomeStore | SessionStore;
    /** The conversation; `onSessionStart` sets the next one. */
    readonly sessionId: string;
    readonly contextLength: number;
  };

const LEAST_GAIN = 0.1;
const PROVIDER_TOKENS = 4_000;
const PROVIDER_SHARE = 0.1;

/** A context engine whose summaries can be expanded to the stored messages again. Needs a `SessionStore` that has the messages. */
export class LosslessEngine extends WatchedEngine implements ContextEngine {
  readonly name = "lcm";
  readonly #options: LosslessEngineOptions;
  readonly #settings: LcmSettings;
  readonly #models: SummaryModels;
  #sessionId: string;

  constructor(options: LosslessEngineOptions) {
    const settings = lcmSettings(options);
    const { contextLength, tokenFactor } = options;
    const { threshold, freshTailRatio: targetRatio } = settings;
    super({ contextLength, threshold, targetRatio, tokenFactor });
    // Where 0.3 had the user, for programs without types.
    this.#options = { ...options, store: narrowed(options.store, readScope(options as Scope)) };
    this.#settings = settings;
    this.#sessionId = options.sessionId;
    this.#models = new SummaryModels(options);
  }

  /** The session whose messages are summarised now. */
  get sessionId(): string {
    return this.#sessionId;
  }

  hasContentToCompress(given: readonly (Message | OpenAiMessage)[]): boolean {
    const { messages } = readList(given);
    const { contextLength, budgets } = this.estimatedWindow();
    const window = chooseWindow(messages, { ...this.#settings, contextLength }, budgets);
    if (window === undefined) return false;
    const { boundaries, expectedTokens, tokensBefore } = window;
    const gain = tokensBefore - expectedTokens;
    return leavingMessages(messages, boundaries).length >= 2 && gain >= LEAST_GAIN * tokensBefore;
  }

  /**
   * Messages must be stored first and carry their row in `meta.rowId` (chat rows: in `_row_id`); others stay in the list. Given
   * chat rows, the outcome has chat rows; rows that stay are the same objects.
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
    if (options.force) this.#models.endCooldowns();
    const outcome = await this.#compact(messages, options);
    const { kind, reason, tokensBefore, tokensAfter } = outcome;
    if (kind === "compacted") this.noteAttempt("compacted", tokensBefore, tokensAfter);
    else if (reason === "nothing_to_gain") this.noteAttempt("nothing", tokensBefore, tokensAfter);
    return { ...outcome, notices: this.newNotices(outcome.notices) };
  }

  /** Also called after a rotation. The database knows which sessions belong to one conversation. */
  onSessionStart(sessionId: string): void {
    this.#sessionId = sessionId;
  }

  override onSessionReset(): void {
    super.onSessionReset();
    this.#models.endCooldowns();
  }

  getToolSchemas(): readonly ToolDefinition[] {
    return LCM_TOOLS;
  }

  handleToolCall(
    name: string,
    args: Readonly<Record<string, unknown>>,
    messages: readonly (Message | OpenAiMessage)[] = [],
  ): Promise<string> {
    return lcmTool(name, args, {
      store: this.#options.store,
      sessionId: this.#sessionId,
      status: this.getStatus(),
      tokenFactor: this.tokenFactor,
      live: messages,
    });
  }

  /** The stored messages of a leaf, in order. Empty for a node above, or a node of another conversation. */
  async expand(nodeId: string): Promise<readonly MessageRow[]> {
    const { store } = this.#options;
    const lineage = await loadLineage(store, this.#sessionId);
    const node = lineage.forest.nodes.get(nodeId);
    if (node === undefined) return [];
    return store.getMessagesById(messageKeys(node).flatMap((key) => lineage.rowOf(key) ?? []));
  }

  async #compact(messages: readonly Message[], options: CompressOptions): Promise<CompressOutcome> {
    const refused = (notice: Notice, isAborted: boolean): CompressOutcome =>
      withoutSummary(messages, messages, { isAborted, reason: "not_stored", notices: [notice] });
    if (this.#options.store.readOnly) return refused(READ_ONLY, false);
    try {
      return await compactLossless(messages, this.#job(messages, options));
    } catch (cause) {
      options.signal?.throwIfAborted();
      if (cause instanceof HermesError) return refused(storeFailed(cause), true);
      throw cause;
    }
  }

  #job(
    messages: readonly Message[],
    { focusTopic, providerText, roomTokens, signal, confirmDigest, stored = "kept" }: CompressOptions, // messages without a row stay in the list
  ): CompactionJob {
    const { store, clock = systemClock, summaryContextLength, summaryTokenFactor } = this.#options;
    const redact = this.#options.redact ?? redactSecrets;
    const { factor, contextLength, budgets } = this.estimatedWindow();
    const summaryFactor = summaryTokenFactor === undefined ? factor : soundFactor(summaryTokenFactor());
    const windowTokens = Math.trunc(
      Math.min(
        this.contextLength / factor,
        (summaryContextLength ?? this.contextLength) / Math.max(factor, summaryFactor),
      ),
    );
    const providerTokens = Math.min(PROVIDER_TOKENS, Math.trunc(windowTokens * PROVIDER_SHARE));
    const settings = settingsInEstimates(this.#settings, factor);
    return {
      store,
      sessionId: this.#sessionId,
      settings,
      budgets,
      contextLength,
      window: { tokens: this.contextLength, factor },
      roomTokens: roomTokens === undefined ? undefined : Math.trunc(roomTokens / factor),
      writer: new NodeWriter({
        models: this.#models,
        summaryTokens: settings.leafSummaryTokens,
        windowTokens,
        factor,
        focus: focusOf(messages, focusTopic, redact),
        signal,
      }),
      redact,
      clock,
      providerText: providerText
        ? fitTokens(redact(providerText), providerTokens, shortenSections)
        : undefined,
      confirmDigest,
      stored,
      signal,
    };
  }
}

const READ_ONLY: Notice = {
  cause: "lcm_read_only",
  text: "The session database is open for reading only, so the lossless engine (lcm) cannot keep summaries and leaves the conversation as it is. Make the database writable, or set context.engine to compressor.",
};

function storeFailed({ code, message, hint }: HermesError): Notice {
  const text = `The conversation was not compacted, because its summaries could not be stored: ${message}`;
  return { cause: `lcm_store_failed:${code}`, text: hint === undefined ? text : `${text} ${hint}` };
}
