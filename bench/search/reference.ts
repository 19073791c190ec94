// The times of the Python original. Not measured here: the figures are from the issue that asked for this search.

type Reference = { readonly messages: number; readonly discover_p50_ms: Readonly<Record<string, number>> };

const SMALL: Reference = {
  messages: 100_000,
  discover_p50_ms: {
    ...{ rare: 3.2, or3: 32, common: 34, very_common: 128, phrase: 13, prefix: 43 },
    ...{ cjk3: 16, cjk2: 150, cjk1: 150 }, // it scans for one character as it does for two
  },
};
const LARGE: Reference = {
  messages: 500_000,
  discover_p50_ms: {
    ...{ rare: 6.4, or3: 98, common: 150, very_common: 500, phrase: 17, prefix: 230 },
    ...{ cjk3: 36, cjk2: 880, cjk1: 880 },
  },
};

/** In a session of 5,000 messages. */
export const LONG_REFERENCE = { discover_ms: 212, scroll_ms: 5.7 };

/** The figures of the larger database apply only to a database that is at least as large. */
export function referenceAt(messages: number): Reference {
  return messages >= LARGE.messages ? LARGE : SMALL;
}

/** The share of the original's time that a kind of query may take. */
export function shareAllowed(kind: string): number {
  return SHARES[kind] ?? 1;
}

const SHARES: Readonly<Record<string, number>> = {
  common: 1 / 3,
  very_common: 1 / 3,
  prefix: 1 / 3,
  cjk2: 1 / 10,
  cjk1: 1 / 10,
};
