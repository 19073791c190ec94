// Decides whether a provider or a service is worth waiting for. It opens after several failures in a row, or while a call runs past its
// deadline, and closes at the next success. The manager has one for each provider, where a failure is a call that settled after
// its deadline; a provider may have one for its service, where a failure is a failed request.

export type BreakerOptions = {
  /** Failures in a row that open it. */
  readonly failures: number;
  /** How long it stays open before one trial call is allowed. Default: until a call succeeds. */
  readonly openMs?: number;
  /** The current time in milliseconds. Default: `performance.now`. */
  readonly now?: () => number;
};

export type BreakerState = "closed" | "open" | "half-open";

/** A call that has not settled after this long is taken for lost: once another call succeeds, it no longer keeps the breaker open. */
export const LOST_CALL_MS = 60_000;

/** Timers may fire a few milliseconds early. */
export const TIMER_SLACK_MS = 5;

export class Breaker {
  readonly #limit: number;
  readonly #openMs: number;
  readonly #now: () => number;
  #failures = 0;
  #openedAt: number | undefined;
  /** When the trial call of the half-open state began. */
  #trialAt: number | undefined;
  readonly #running = new Set<{ readonly startedAt: number; readonly deadlineMs: number }>();

  constructor({
    failures,
    openMs = Number.POSITIVE_INFINITY,
    now = () => performance.now(),
  }: BreakerOptions) {
    this.#limit = failures;
    this.#openMs = openMs;
    this.#now = now;
  }

  get state(): BreakerState {
    const now = this.#now();
    if ([...this.#running].some(({ startedAt, deadlineMs }) => isOverdue(now - startedAt, deadlineMs)))
      return "open";
    if (this.#openedAt === undefined) return "closed";
    return this.#isOver(this.#openedAt) ? "half-open" : "open";
  }

  /** Whether a call may be made now. After `true`, report `succeeded`, `failed` or `abandoned`. */
  tryEnter(): boolean {
    const { state } = this;
    if (state !== "half-open") return state === "closed";
    // A trial call without a report is taken for lost after `openMs`.
    if (this.#trialAt !== undefined && !this.#isOver(this.#trialAt)) return false;
    this.#trialAt = this.#now();
    return true;
  }

  /** From `deadlineMs` on, the breaker is open until the returned function is called. */
  watch(deadlineMs: number): () => void {
    const call = { startedAt: this.#now(), deadlineMs };
    this.#running.add(call);
    return () => void this.#running.delete(call);
  }

  /**
   * Calls that became overdue recently keep the breaker open all the same: a hook that only returns a constant succeeds while
   * every other call hangs.
   */
  succeeded(): void {
    this.#failures = 0;
    this.#openedAt = undefined;
    this.#trialAt = undefined;
    const now = this.#now();
    for (const call of this.#running) {
      const elapsed = now - call.startedAt;
      if (elapsed >= LOST_CALL_MS && isOverdue(elapsed, call.deadlineMs)) this.#running.delete(call);
    }
  }

  failed(): void {
    this.#failures += 1;
    this.#trialAt = undefined;
    if (this.#failures >= this.#limit) this.#openedAt = this.#now();
  }

  /** The caller cancelled the call, so it says nothing about the service. */
  abandoned(): void {
    this.#trialAt = undefined;
  }

  #isOver(since: number): boolean {
    return this.#now() - since >= this.#openMs;
  }
}

function isOverdue(elapsedMs: number, deadlineMs: number): boolean {
  return elapsedMs >= deadlineMs - TIMER_SLACK_MS;
}
