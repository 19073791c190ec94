// Looks after memory and skills when enough has been said: after the reply, one at a time, and never in the user's way. What it
// wrote is told in a line; what goes wrong is told once, counted and logged.
import type { HermesConfig, NotificationLevel } from "@hermes-memory/core/config";
import { sessionFiles } from "@hermes-memory/core/home";
import { describeCause, preview } from "@hermes-memory/core/lib";
import { redactSecrets } from "@hermes-memory/core/security";
import { removeKeptResults } from "@hermes-memory/core/sessions";
import type { Tool } from "@hermes-memory/core/tools";
import type { AgentCore } from "../core.ts";
import { tokenUpdate } from "../session/totals.ts";
import { keptResults } from "../session/transcript.ts";
import { runLoop } from "../turn/loop.ts";
import type { Turn } from "../turn/turn.ts";
import { type Fork, forkForReview, type ReviewScope } from "./review-fork.ts";
import { reviewSummary, reviewWrites } from "./review-summary.ts";

/** A reviewer that never answers must not run for ever. */
const LONGEST_MINUTES = 10;

/** Counted, but not told: whoever closes an agent does not wait for news. */
const BROKEN_OFF = "It was broken off, because the agent was closed.";

/** The tools that write, with the journal's origin `review`, for a review of this session. By name. */
export type ReviewTools = (sessionId: string) => ReadonlyMap<string, Tool>;

export class Reviewer {
  readonly #core: AgentCore;
  readonly #tools: ReviewTools;
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;

  constructor(core: AgentCore, tools: ReviewTools) {
    this.#core = core;
    this.#tools = tools;
  }

  /** Resolves when nothing runs. */
  get idle(): Promise<void> {
    return this.#running ?? Promise.resolve();
  }

  /** False when one runs already: what is due stays due. */
  start(turn: Turn, scope: ReviewScope): boolean {
    if (this.#running !== undefined || this.#closing.signal.aborted) return false;
    this.#running = this.#review(turn, scope)
      .catch((cause: unknown) => this.#failed(describeCause(cause)))
      .finally(() => {
        this.#running = undefined;
      });
    return true;
  }

  /** Breaks off what runs, and resolves when it has ended. */
  stop(): Promise<void> {
    this.#closing.abort();
    return this.idle;
  }

  async #review(turn: Turn, scope: ReviewScope): Promise<void> {
    const core = this.#core;
    const { parts, sessionId } = core; // of now: the user may go on in another session meanwhile
    const late = AbortSignal.timeout(LONGEST_MINUTES * 60_000);
    const { messages } = parts.transcript;
    const fork = forkForReview(core, turn, {
      scope,
      tools: this.#tools(sessionId),
      signal: AbortSignal.any([this.#closing.signal, late]),
    });
    core.emit({ type: "review-start", sessionId, ...scope });
    const error = await this.#problem(fork, late);
    const added = fork.core.parts.transcript.messages.slice(messages.length + 1);
    // A review has no rows, so nobody can read its long results any more.
    await removeKeptResults(sessionFiles(parts.home).resultsDir, keptResults(added));
    const summary = reviewSummary(reviewWrites(added, notificationLevel(parts.config, parts.platform)));
    await this.#charge(fork.core, sessionId);
    await this.#count(error);
    core.emit({
      type: "review-end",
      sessionId,
      summary: summary ?? null,
      failed: error !== undefined,
    });
    if (error !== undefined && error !== BROKEN_OFF) this.#failed(error);
  }

  /** Runs it. Undefined when it came to its end. */
  async #problem({ core, turn }: Fork, late: AbortSignal): Promise<string | undefined> {
    try {
      const end = await runLoop(core, turn);
      if (this.#closing.signal.aborted) return BROKEN_OFF;
      if (late.aborted) return `It took longer than ${LONGEST_MINUTES} minutes.`;
      // Half an answer: what it was about to do it has not done.
      return end.failed || end.partial ? (end.error ?? "The model gave no answer.") : undefined;
    } catch (cause) {
      return this.#closing.signal.aborted ? BROKEN_OFF : describeCause(cause);
    }
  }

  /** The tokens were used for this session, whoever used them. */
  async #charge(fork: AgentCore, sessionId: string): Promise<void> {
    const { usage, lastCost, costUsd, apiCalls } = fork.parts.totals;
    const { store, totals, log } = this.#core.parts;
    if (apiCalls === 0) return;
    if (this.#core.sessionId === sessionId) totals.addForeignCost(costUsd);
    const update = tokenUpdate(usage, { ...lastCost, costUsd }, fork.model.identity);
    // A session that was deleted meanwhile must not come back as a row without an owner.
    if (store === undefined || (await store.getSessionMark(sessionId).catch(() => null)) === null) return;
    await store
      .updateTokenCounts(sessionId, { ...update, apiCallCount: apiCalls })
      .catch((cause: unknown) => log.warn("The usage of a review could not be stored", { cause }));
  }

  #failed(error: string): void {
    const detail = reviewDetail(error);
    this.#core.parts.log.warn(`The background review failed: ${detail}`);
    this.#core.notice("info", "review-failed", `Auxiliary background review failed: ${detail}`);
  }

  async #count(error: string | undefined): Promise<void> {
    const { wholeStore: store, clock } = this.#core.parts;
    if (store === undefined) return;
    try {
      const counts = readReviewCounts(await store.getMeta(REVIEW_COUNTS_KEY));
      await store.setMeta(REVIEW_COUNTS_KEY, JSON.stringify(withReview(counts, clock.now(), error)));
    } catch {
      // counters; the next review counts again
    }
  }
}

function notificationLevel({ display }: HermesConfig, platform: string): NotificationLevel {
  return display.platforms[platform]?.memoryNotifications ?? display.memoryNotifications;
}

// ----
// How often memory and skills were looked after in this home, and how often that failed. `hermes doctor` tells.

/** Of the session store. */
export const REVIEW_COUNTS_KEY = "hermes_memory_review";

const DETAIL_CHARS = 220;

/** Snake case: it is stored so. */
type ReviewCounts = {
  readonly runs: number;
  readonly failures: number;
  readonly last_at: string | null;
  /** The same as `last_at` when the newest one failed. */
  readonly last_failure_at: string | null;
  readonly last_error: string | null;
};

/** What is no count reads as none. */
export function readReviewCounts(text: string | null): ReviewCounts {
  const value = objectOf(text);
  return {
    runs: numberOf(value.runs),
    failures: numberOf(value.failures),
    last_at: textOf(value.last_at),
    last_failure_at: textOf(value.last_failure_at),
    last_error: textOf(value.last_error),
  };
}

/** One more; `error`: why it failed, if it did. */
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

/** Why a review failed, as it may be shown and kept. */
function reviewDetail(error: string): string {
  return preview(redactSecrets(error).replace(/\s+/g, " "), DETAIL_CHARS);
}

function objectOf(text: string | null): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text ?? "{}");
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

function numberOf(value: unknown): number {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : 0;
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
