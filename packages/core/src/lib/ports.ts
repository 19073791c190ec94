// The clock and the text model are passed in, so that tests can replace them.

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
