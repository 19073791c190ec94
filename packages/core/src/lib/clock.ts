// Time comes in from outside, so that tests can stop it.

export type Clock = { now(): Date };

/** True for every name and offset that this Node's `Intl` knows. */
export function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en-US", { timeZone: name });
    return true;
  } catch {
    return false; // what the constructor throws for every name it does not know
  }
}

export const systemClock: Clock = { now: () => new Date() };

let lastMs = 0;
let inLastMs = 0;

/** A time in seconds that is later than the one before, also within a millisecond: records are listed in the order they were made. */
export function distinctSeconds(nowMs: number): number {
  inLastMs = nowMs === lastMs ? inLastMs + 1 : 0;
  lastMs = nowMs;
  return nowMs / 1000 + inLastMs / 1_000_000;
}
