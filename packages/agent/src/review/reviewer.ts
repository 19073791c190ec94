// The background review: after a reply, when enough has been said, the model looks for what to save in memory and skills. One
// review runs at a time. The user sees one line about what was written; a failure gives one notice, is counted and logged.
import type { NotificationLevel } from "@hermes-memory/core/internal/config";
import {
  type Clock,
  describeCause,
  isRecord,
  outsideJsonOr,
  preview,
} from "@hermes-memory/core/internal/lib";
import type { Logger } from "@hermes-memory/core/internal/logger";
import type { Message } from "@hermes-memory/core/internal/message";
import { redactSecrets } from "@hermes-memory/core/internal/security";
import type { HomeStore } from "@hermes-memory/core/internal/sessions";
import type { Usage } from "../models/index.ts";
import type { ReviewScope } from "./schedule.ts";
import { reviewSummary, reviewWrites } from "./summary.ts";

/** A review whose model never answers is stopped after this time. */
const LONGEST_MINUTES = 10;

/** Counted, but without a notice: the agent is being closed. */
const BROKEN_OFF = "It was broken off, because the agent was closed.";

/** The background review of a session: a model looks for things worth keeping in memory or skills. */
export type ReviewEvent =
  | {
      readonly type: "review-start";
      readonly sessionId: string;
      readonly memory: boolean;
      readonly skills: boolean;
    }
  | {
      readonly type: "review-end";
      readonly sessionId: string;
      /** A line for the user about what was written; null when nothing was, or `display.memory_notifications` is off. */
      readonly summary: string | null;
      readonly failed: boolean;
      /** Of all its model calls. */
      readonly usage: Usage;
    };

/** One review on a fork of the agent. */
export type ReviewFork = {
  readonly sessionId: string;
  run(): Promise<{
    readonly failed?: boolean;
    readonly partial?: boolean;
    readonly error?: string | undefined;
  }>;
  /** Call when `run` is over: cleans up, and gives the messages that the review added. */
  finish(): Promise<{ readonly added: readonly Message[]; readonly usage: Usage }>;
};

type ReviewDeps = {
  readonly events: {
    emit(event: ReviewEvent): void;
    notice(level: "info", cause: string, text: string): void;
  };
  readonly notifications: NotificationLevel;
  /** Where reviews are counted: the store with the sessions of all users. Undefined: they are not. */
  readonly countersStore: HomeStore | undefined;
  readonly clock: Clock;
  readonly log: Logger;
};

export class Reviewer {
  readonly #deps: ReviewDeps;
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;

  constructor(deps: ReviewDeps) {
    this.#deps = deps;
  }

  /** Resolves when the review has ended; undefined when none runs. Never rejects. */
  get running(): Promise<void> | undefined {
    return this.#running;
  }

  /** False when a review is running already; the caller tries again after the next turn. */
  start(scope: ReviewScope, fork: (signal: AbortSignal) => ReviewFork): boolean {
    if (this.#running !== undefined || this.#closing.signal.aborted) return false;
    this.#running = this.#review(scope, fork)
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

  async #review(scope: ReviewScope, forkWith: (signal: AbortSignal) => ReviewFork): Promise<void> {
    const { events, notifications } = this.#deps;
    const late = AbortSignal.timeout(LONGEST_MINUTES * 60_000);
    const fork = forkWith(AbortSignal.any([this.#closing.signal, late]));
    const { sessionId } = fork;
    events.emit({ type: "review-start", sessionId, ...scope });
    const error = await this.#problem(fork, late);
    const { added, usage } = await fork.finish();
    const summary = reviewSummary(reviewWrites(added, notifications)) ?? null;
    await this.#count(error);
    events.emit({ type: "review-end", sessionId, summary, failed: error !== undefined, usage });
    if (error !== undefined && error !== BROKEN_OFF) this.#failed(error);
  }

  /** Runs the review and returns why it failed, or undefined. */
  async #problem(fork: ReviewFork, late: AbortSignal): Promise<string | undefined> {
    try {
      const end = await fork.run();
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

const NO_COUNTS: ReviewCounts = {
  runs: 0,
  failures: 0,
  last_at: null,
  last_failure_at: null,
  last_error: null,
};

/** Anything unreadable counts as 0. */
export function readReviewCounts(text: string | null): ReviewCounts {
  const parsed = outsideJsonOr(text ?? "", undefined);
  return isRecord(parsed) ? { ...NO_COUNTS, ...parsed } : NO_COUNTS;
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
