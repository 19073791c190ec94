// The lossless engine: messages that leave the list are summarised in parts, and every part can be read again from the
// session store, message by message. The engine itself keeps no copy of the conversation; everything is in the database.
import { HermesError, systemClock } from "../../lib/index.ts";
import type { Message, OpenAiMessage } from "../../message/index.ts";
import { redactSecrets } from "../../security/index.ts";
import { type MessageRow, readScope, type Scope, type SessionStore } from "../../sessions/index.ts";
import type { ToolDefinition } from "../../tools/index.ts";
import { type InKind, readList } from "../chat-rows.ts";
import { leftOut, localSummaryNotice, rescuedNotice, tooLargeNotice } from "../compressor/notices.ts";
import type {
  CompressOptions,
  CompressOutcome,
  ContextEngine,
  LeftOut,
  Notice,
  UnchangedReason,
} from "../engine.ts";
import { orphanResults, repairPairs } from "../list-repair.ts";
import { SummaryModels, type SummaryOptions } from "../summary/models.ts";
import { focusOf } from "../summary/request.ts";
import type { ReadingWindow } from "../summary/summarise.ts";
import { estimateMessages, fitTokens, shortenSections } from "../tokens.ts";
import { soundFactor, WatchedEngine } from "../trigger.ts";
import { type Compaction, type CompactionJob, compactLossless } from "./compact.ts";
import { loadLineage, messageKeys } from "./lineage.ts";
import type { Part } from "./overview.ts";
import { chooseWindow, leavingMessages } from "./plan.ts";
import { type LcmSettings, lcmSettings, settingsInEstimates } from "./settings.ts";
import { LCM_TOOLS, lcmTool } from "./tools/tools.ts";
import { NodeWriter } from "./writer.ts";

export type LosslessEngineOptions = SummaryOptions &
  Partial<LcmSettings> & {
    readonly store: SessionStore;
    /** The conversation; `onSessionStart` sets the next one. */
    readonly sessionId: string;
    readonly contextLength: number;
    /**
     * Whose sessions may be read. Absent: those of the session's own user, or all if it has no user. Passing `undefined` is an
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
  #sessionId: string;

  constructor(options: LosslessEngineOptions) {
    const settings = lcmSettings(options);
    const { contextLength, tokenFactor } = options;
    const { threshold, freshTailRatio: targetRatio } = settings;
    super({ contextLength, threshold, targetRatio, tokenFactor });
    this.#options = options;
    this.#scope = readScope(options);
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
    if (options.force) this.#models.wake();
    const compaction = await this.#compact(messages, options);
    const window = { tokens: this.contextLength, factor: this.tokenFactor };
    const outcome = toOutcome(messages, compaction, this.newNotices(noticesOf(compaction, window)));
    const { kind, reason, tokensBefore, tokensAfter } = outcome;
    if (kind === "compacted") this.noteAttempt("compacted", tokensBefore, tokensAfter);
    else if (reason === "nothing_to_gain") this.noteAttempt("nothing", tokensBefore, tokensAfter);
    return outcome;
  }

  /** Also called after a rotation. The database knows which sessions belong to one conversation. */
  onSessionStart(sessionId: string): void {
    this.#sessionId = sessionId;
  }

  override onSessionReset(): void {
    super.onSessionReset();
    this.#models.wake();
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
      user: this.#scope,
      status: this.getStatus(),
      tokenFactor: this.tokenFactor,
      live: messages,
    });
  }

  /** The stored messages of a leaf, in order. Empty for a node above, or a node of another conversation. */
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
      return await compactLossless(messages, this.#job(messages, options));
    } catch (cause) {
      options.signal?.throwIfAborted();
      if (cause instanceof HermesError) return { kind: "refused", cause };
      throw cause;
    }
  }

  #job(
    messages: readonly Message[],
    { focusTopic, providerText, roomTokens, signal, confirmDigest }: CompressOptions,
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
      scope: this.#scope,
      settings,
      budgets,
      contextLength,
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
      signal,
    };
  }
}

// ----
// Turns a compaction of the lossless engine into the outcome every engine returns, and into notices for the user.

/** The store cannot keep summaries. */
type Refusal = { readonly kind: "refused"; readonly cause: "read_only" | HermesError };

function toOutcome(
  messages: readonly Message[],
  compaction: Compaction | Refusal,
  notices: readonly Notice[],
): CompressOutcome {
  const tokensBefore = estimateMessages(messages);
  if (compaction.kind === "compacted") return compacted(compaction, tokensBefore, notices);
  // No model accepts results without a call. Their rows stay in the store.
  const repaired = repairPairs(messages);
  const orphans = orphanResults(messages);
  const declined = compaction.kind === "declined" ? compaction.failure : undefined;
  return {
    kind: outcomeKind(compaction, repaired !== messages),
    messages: repaired,
    reason: reasonOf(compaction),
    leftOut: orphans.length === 0 ? [] : [leftOut(orphans, "no_call")],
    prunedResults: 0,
    tokensBefore,
    tokensAfter: repaired === messages ? tokensBefore : estimateMessages(repaired),
    failure: declined,
    notices,
  };
}

function reasonOf(compaction: Exclude<Compaction, { kind: "compacted" }> | Refusal): UnchangedReason {
  if (compaction.kind === "refused") return "not_stored";
  return compaction.kind === "declined" ? "summary_failed" : compaction.reason;
}

function compacted(
  { assembled, overview, span, excerpts, failure }: Extract<Compaction, { kind: "compacted" }>,
  tokensBefore: number,
  notices: readonly Notice[],
): CompressOutcome {
  return {
    kind: "compacted",
    messages: assembled.messages,
    summarised: span,
    summaryIndex: assembled.summaryIndex,
    summary: overview.text,
    method: failure === undefined ? "model" : "local",
    leftOut: [...missing(excerpts, "summary_failed"), ...missing(overview.shortened, "summary_shortened")],
    prunedResults: 0,
    tokensBefore,
    tokensAfter: estimateMessages(assembled.messages),
    failure,
    notices,
  };
}

function outcomeKind(
  compaction: Exclude<Compaction, { kind: "compacted" }> | Refusal,
  isRepaired: boolean,
): CompressOutcome["kind"] {
  if (compaction.kind === "declined") return "aborted";
  if (isRepaired) return "pruned";
  return compaction.kind === "refused" && compaction.cause !== "read_only" ? "aborted" : "unchanged";
}

function missing(parts: readonly Part[], reason: LeftOut["reason"]): readonly LeftOut[] {
  const [first] = parts;
  const last = parts.at(-1);
  if (first === undefined || last === undefined) return [];
  return [
    {
      count: parts.reduce((sum, { messages }) => sum + messages, 0),
      reason,
      firstRowId: first.node.first_message_id,
      lastRowId: last.node.last_message_id,
    },
  ];
}

function noticesOf(compaction: Compaction | Refusal, window: ReadingWindow): readonly (Notice | undefined)[] {
  switch (compaction.kind) {
    case "refused":
      return [compaction.cause === "read_only" ? READ_ONLY : storeFailed(compaction.cause)];
    case "declined":
      return [];
    case "unchanged":
      if (compaction.tooLarge) return [tooLargeNotice(compaction.tooLarge, window)];
      return compaction.reason === "not_stored" ? [notStored(compaction.unstored)] : [];
    case "compacted": {
      const { excerpts, failure, rescuedFrom, unstored, isAgreed } = compaction;
      const [summary] = missing(excerpts, "summary_failed");
      return [
        failure && summary && !isAgreed ? localSummaryNotice(failure, summary) : undefined,
        rescuedFrom && rescuedNotice(rescuedFrom),
        unstored > 0 ? notStored(unstored) : undefined,
      ];
    }
    default:
      return compaction satisfies never;
  }
}

const READ_ONLY: Notice = {
  cause: "lcm_read_only",
  text: "The session database is open for reading only, so the lossless engine (lcm) cannot keep summaries and leaves the conversation as it is. Make the database writable, or set context.engine to compressor.",
};

function storeFailed(error: HermesError): Notice {
  const hint = error.hint === undefined ? "" : ` ${error.hint}`;
  return {
    cause: `lcm_store_failed:${error.code}`,
    text: `The conversation was not compacted, because its summaries could not be stored: ${error.message}${hint}`,
  };
}

function notStored(count: number): Notice {
  if (count === 0)
    return {
      cause: "lcm_conflict",
      text: "The conversation was not compacted: other processes kept compacting it at the same time. It is tried again later.",
    };
  const messages = count === 1 ? "1 message is" : `${count} messages are`;
  return {
    cause: "lcm_not_stored",
    text: `${messages} not in the session database yet and could not be read again once summarised, so they stay in the conversation.`,
  };
}
