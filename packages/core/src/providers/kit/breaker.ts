// Stops asking a service that keeps failing, and tries it again after a while with a single call.
import { type Clock, systemClock } from "../../lib/index.ts";

export type BreakerOptions = {
  /** Failures in a row that open it. */
  readonly failures: number;
  /** How long nothing is tried then. */
  readonly openMs: number;
  readonly clock?: Clock;
};

export type BreakerState = "closed" | "open" | "half-open";

export class Breaker {
  readonly #limit: number;
  readonly #openMs: number;
  readonly #clock: Clock;
  #failures = 0;
  #openedAt: number | undefined;
  /** When the one try of the half-open state began. */
  #trialAt: number | undefined;

  constructor({ failures, openMs, clock = systemClock }: BreakerOptions) {
    this.#limit = failures;
    this.#openMs = openMs;
    this.#clock = clock;
  }

  get state(): BreakerState {
    if (this.#openedAt === undefined) return "closed";
    return this.#isOver(this.#openedAt) ? "half-open" : "open";
  }

  /** May the service be asked now? Whoever gets a yes reports `succeeded`, `failed` or `abandoned`. */
  tryEnter(): boolean {
    switch (this.state) {
      case "closed":
        return true;
      case "open":
        return false;
      case "half-open":
        // A try nobody reported on is taken for lost after the same time.
        if (this.#trialAt !== undefined && !this.#isOver(this.#trialAt)) return false;
        this.#trialAt = this.#now();
        return true;
    }
  }

  succeeded(): void {
    this.#failures = 0;
    this.#openedAt = undefined;
    this.#trialAt = undefined;
  }

  failed(): void {
    this.#failures += 1;
    this.#trialAt = undefined;
    if (this.#failures >= this.#limit) this.#openedAt = this.#now();
  }

  /** The call was given up by the caller and says nothing about the service. */
  abandoned(): void {
    this.#trialAt = undefined;
  }

  /** A clock that was set back ends the wait too: better one try too early than none for hours. */
  #isOver(since: number): boolean {
    const elapsed = this.#now() - since;
    return elapsed < 0 || elapsed >= this.#openMs;
  }

  #now(): number {
    return this.#clock.now().getTime();
  }
}
