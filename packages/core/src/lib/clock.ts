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
