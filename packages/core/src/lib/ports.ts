// Time, ids and the text model. Clock and text model are passed in, so that tests can replace them.
import { hash, randomUUID } from "node:crypto";

/** Tells the time. Pass one of your own in tests. */
export type Clock = { now(): Date };

/** True for every name and offset that this Node's `Intl` knows. */
export function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en-US", { timeZone: name });
    return true;
  } catch {
    return false; // the constructor throws a RangeError for an unknown name
  }
}

export const systemClock: Clock = { now: () => new Date() };

let lastMs = 0;
let inLastMs = 0;

/** `nowMs` in seconds, made strictly increasing within a millisecond, so that records sort in the order they were made. */
export function distinctSeconds(nowMs: number): number {
  inLastMs = nowMs === lastMs ? inLastMs + 1 : 0;
  lastMs = nowMs;
  return nowMs / 1000 + inLastMs / 1_000_000;
}

/** How summaries, titles and query expansion ask a language model. */
export interface TextModel {
  complete(request: {
    system?: string;
    prompt: string;
    maxOutputTokens?: number;
    signal?: AbortSignal;
  }): Promise<string>;
}

/**
 * `bytes` random bytes in lower-case hex: 4 give the 8-digit ids of pending writes and journal lines.
 * Cut from a UUID, because Node generates UUIDs from a pool of random bytes; `randomBytes` makes a system call each time.
 */
export function randomHex(bytes: 4 | 6): string {
  const uuid = randomUUID();
  return `${uuid.slice(0, 8)}${uuid.slice(9, 13)}`.slice(0, bytes * 2); // the twelve digits before the version digit
}

/** In lower-case hex. */
export function sha256(data: string | Uint8Array): string {
  return hash("sha256", data, "hex");
}
