// The background review: after a reply, when enough has been said, the model looks for what to save in memory and skills. One
// review runs at a time. The user sees one line about what was written; a failure gives one notice, is counted and logged.
import type { HermesConfig, NotificationLevel } from "@hermes-memory/core/internal/config";
import { sessionFiles } from "@hermes-memory/core/internal/home";
import { describeCause, isRecord, outsideJsonOr, preview } from "@hermes-memory/core/internal/lib";
import { redactSecrets } from "@hermes-memory/core/internal/security";
import { removeKeptResults, type SessionStore } from "@hermes-memory/core/internal/sessions";
import type { OpenedTools } from "../create/open-tools.ts";
import { keptResults } from "../session/transcript.ts";
import { type LoopDeps, runLoop } from "../turn/turn.ts";
import type { Turn } from "../turn/turn-state.ts";
import { type Fork, forkForReview } from "./review-fork.ts";
import type { ReviewScope } from "./review-schedule.ts";
import { reviewSummary, reviewWrites } from "./review-summary.ts";

/** A review whose model never answers is stopped after this time. */
const LONGEST_MINUTES = 10;

/** Counted, but without a notice: the agent is being closed. */
const BROKEN_OFF = "It was broken off, because the agent was closed.";

export type ReviewDeps = LoopDeps & {
  readonly platform: string;
  /** Where reviews are counted: the store with the sessions of all users. Undefined: they are not. */
  readonly countersStore: SessionStore | undefined;
};

export class Reviewer {
  readonly #deps: ReviewDeps;
  readonly #tools: OpenedTools["reviewTools"];
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;

  constructor(deps: ReviewDeps, tools: OpenedTools["reviewTools"]) {
    this.#deps = deps;
    this.#tools = tools;
  }

  /** Resolves when the review has ended; undefined when none runs. Never rejects. */
  get running(): Promise<void> | undefined {
    return this.#running;
  }

  /** False when a review is running already; the caller tries again after the next turn. */
  start(turn: Turn, scope: ReviewScope): boolean {
    if (this.#running !== undefined || this.#closing.signal.aborted) return false;
    this.#running = this.#review(turn, scope)
      .catch((cause: unknown) => this.#failed(describeCause(cause)))
      .finally(() => {
        this.#running = undefined;
      });
    return true;
  }

  /** Aborts the running review and resolves when it has ended. */
  async stop(): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }

  async #review(turn: Turn, scope: ReviewScope): Promise<void> {
    const { session, events, home, config, platform } = this.#deps;
    const { id: sessionId, messages } = session; // read before the first await: the user may switch to another session
    const late = AbortSignal.timeout(LONGEST_MINUTES * 60_000);
    const fork = forkForReview(this.#deps, turn, {
      scope,
      tools: this.#tools(sessionId),
      isGone: async () => (await session.store?.getSessionMark(sessionId).catch(() => undefined)) === null,
      signal: AbortSignal.any([this.#closing.signal, late]),
    });
    events.emit({ type: "review-start", sessionId, ...scope });
    const error = await this.#problem(fork, late);
    const added = fork.deps.session.messages.slice(messages.length + 1);
    // A review stores no messages, so its long results could never be read again.
    await removeKeptResults(sessionFiles(home).resultsDir, keptResults(added));
    const summary = reviewSummary(reviewWrites(added, notificationLevel(config, platform)));
    await session.storeUsageOf(sessionId, fork.deps.session.usage, fork.deps.model);
    await this.#count(error);
    events.emit({
      type: "review-end",
      sessionId,
      summary: summary ?? null,
      failed: error !== undefined,
      usage: fork.deps.session.usage.usage,
    });
    if (error !== undefined && error !== BROKEN_OFF) this.#failed(error);
  }

  /** Runs the review and returns why it failed, or undefined. */
  async #problem({ deps, turn }: Fork, late: AbortSignal): Promise<string | undefined> {
    try {
      const end = await runLoop(deps, turn);
      if (this.#closing.signal.aborted) return BROKEN_OFF;
      if (late.aborted) return `It took longer than ${LONGEST_MINUTES} minutes.`;
      // A partial answer counts as a failure: the review did not finish.
      return end.failed || end.partial ? (end.error ?? "The model gave no answer.") : undefined;
    } catch (cause) {
      return this.#closing.signal.aborted ? BROKEN_OFF : describeCause(cause);
    }
  }

  #failed(error: string): void {
    const detail = reviewDetail(error);
    this.#deps.log.warn(`The background review failed: ${detail}`);
    this.#deps.events.notice("info", "review-failed", `Auxiliary background review failed: ${detail}`);
  }

  async #count(error: string | undefined): Promise<void> {
    const { countersStore: store, clock } = this.#deps;
    if (store === undefined) return;
    try {
      const counts = readReviewCounts(await store.getMeta(REVIEW_COUNTS_KEY));
      await store.setMeta(REVIEW_COUNTS_KEY, JSON.stringify(withReview(counts, clock.now(), error)));
    } catch {
      // Only counters; the next review counts again.
    }
  }
}

function notificationLevel({ display }: HermesConfig, platform: string): NotificationLevel {
  return display.platforms[platform]?.memoryNotifications ?? display.memoryNotifications;
}

// Counters of reviews in this home, for `hermes doctor`

/** The key in the session store's metadata. */
export const REVIEW_COUNTS_KEY = "hermes_memory_review";

const DETAIL_CHARS = 220;

/** Stored as JSON with these field names. */
type ReviewCounts = {
  readonly runs: number;
  readonly failures: number;
  readonly last_at: string | null;
  /** Equal to `last_at` when the newest review failed. */
  readonly last_failure_at: string | null;
  readonly last_error: string | null;
};

/** Anything unreadable counts as 0. */
export function readReviewCounts(text: string | null): ReviewCounts {
  const parsed = outsideJsonOr(text ?? "", undefined);
  const value = isRecord(parsed) ? parsed : {};
  return {
    runs: numberOf(value.runs),
    failures: numberOf(value.failures),
    last_at: textOf(value.last_at),
    last_failure_at: textOf(value.last_failure_at),
    last_error: textOf(value.last_error),
  };
}

/** The counters after one more review. `error`: why it failed, if it did. */
function withReview(counts: ReviewCounts, at: Date, error: string | undefined): ReviewCounts {
  const run = { ...counts, runs: counts.runs + 1, last_at: at.toISOString() };
  if (error === undefined) return run;
  return {
    ...run,
    failures: counts.failures + 1,
    last_failure_at: run.last_at,
    last_error: reviewDetail(error),
  };
}

/** Why a review failed, shortened and without secrets. */
function reviewDetail(error: string): string {
  return preview(redactSecrets(error).replace(/\s+/g, " "), DETAIL_CHARS);
}

function numberOf(value: unknown): number {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : 0;
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
