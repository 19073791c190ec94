// Which providers hang, so that each is waited for at length once and not in every hook again. A provider that is merely slow is
// not among them: whatever settles within its deadline counts as a sign of life.
import { LOST_CALL_MS } from "./deadlines.ts";

/** What is left of the time that providers which hang may take from one step: the end of a session, a switch, a shutdown, ... */
export type StepPatience = { leftMs: number };

/** Calls that settled too late, one after the other, before a provider counts as one that hangs. */
const LATE_IN_A_ROW = 2;
/** Timers may fire a little before their time. */
const SLACK_MS = 5;

type Running = { readonly startedAt: number; readonly overdueMs: number };
type Known = { readonly running: Set<Running>; late: number };

export class Patience {
  readonly #stepMs: number;
  readonly #providers = new Map<string, Known>();

  /** `stepMs`: for all calls of one step together. */
  constructor(stepMs: number) {
    this.#stepMs = stepMs;
  }

  forStep(): StepPatience {
    return { leftMs: this.#stepMs };
  }

  /** A call of it runs beyond its deadline, or the last ones ended only because they were told to. */
  isHanging(provider: string): boolean {
    const known = this.#providers.get(provider);
    if (known === undefined) return false;
    const now = performance.now();
    return known.late >= LATE_IN_A_ROW || [...known.running].some((call) => isOverdue(call, now));
  }

  /** A call begins. The returned function is told when it settles, and whether that was after its deadline. */
  begin(provider: string, deadlineMs: number): (isLate: boolean) => void {
    const known = this.#of(provider);
    // Without any time of its own a call proves nothing before it has had as much as a step gives.
    const call = { startedAt: performance.now(), overdueMs: Math.max(deadlineMs, this.#stepMs) };
    known.running.add(call);
    return (isLate) => {
      known.running.delete(call);
      if (!isLate) this.alive(provider);
      else if (performance.now() - call.startedAt >= this.#stepMs - SLACK_MS) known.late += 1;
    };
  }

  /**
   * It has answered. Calls that were lost long ago no longer tell anything; one that hangs since just now does, because hooks that
   * only count or give a constant answer at once whatever else hangs.
   */
  alive(provider: string): void {
    const known = this.#of(provider);
    const now = performance.now();
    known.late = 0;
    for (const call of known.running)
      if (isOverdue(call, now) && now - call.startedAt >= LOST_CALL_MS) known.running.delete(call);
  }

  #of(provider: string): Known {
    const known = this.#providers.get(provider) ?? { running: new Set(), late: 0 };
    this.#providers.set(provider, known);
    return known;
  }
}

function isOverdue({ startedAt, overdueMs }: Running, now: number): boolean {
  return now - startedAt >= overdueMs - SLACK_MS;
}
