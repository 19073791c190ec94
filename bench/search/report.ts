// The figures of a run beside those of the Python original and the targets of the search.
import type { Completeness } from "./completeness.ts";
import type { LongSession, Pair } from "./long-session.ts";
import type { ByKind } from "./measure.ts";

type Measured = {
  readonly corpus: string;
  readonly messages: number;
  readonly search: ByKind;
  readonly discover: ByKind;
  readonly newest: ByKind;
  readonly completeness: Completeness;
  readonly longSession: LongSession;
};

export function report({ corpus, messages, longSession, completeness, ...measured }: Measured) {
  const figures = {
    ...named("search", measured.search),
    ...named("discover", measured.discover),
    ...named("newest", measured.newest),
  };
  const reference = referenceAt(messages);
  return {
    bench: "search",
    corpus,
    messages,
    ...figures,
    long_session: longSession,
    completeness,
    reference: { ...reference, long_session: LONG_REFERENCE },
    meets: {
      complete: completeness.wrong.length === 0,
      discover: mapValues(measured.discover, ({ p50_ms }, kind) => {
        const theirs = reference.discover_p50_ms[kind];
        return theirs === undefined ? null : p50_ms <= theirs * shareAllowed(kind);
      }),
      long_session: {
        discover: costsNoMore(longSession.discover),
        discover_often: costsNoMore(longSession.discover_often),
        scroll: costsNoMore(longSession.scroll),
      },
    },
  };
}

/** Two measurements of equal costs differ by up to this. */
const NOISE = { times: 1.25, ms: 0.5 };

function costsNoMore({ long, short }: Pair): boolean {
  return long.cpu_p50_ms <= short.cpu_p50_ms * NOISE.times + NOISE.ms;
}

function named(prefix: string, byKind: ByKind): ByKind {
  return Object.fromEntries(Object.entries(byKind).map(([kind, timed]) => [`${prefix}.${kind}`, timed]));
}

function mapValues<T, R>(record: Readonly<Record<string, T>>, map: (value: T, key: string) => R) {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value, key)]));
}

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
const LONG_REFERENCE = { discover_ms: 212, scroll_ms: 5.7 };

/** The figures of the larger database apply only to a database that is at least as large. */
function referenceAt(messages: number): Reference {
  return messages >= LARGE.messages ? LARGE : SMALL;
}

/** The share of the original's time that a kind of query may take. */
function shareAllowed(kind: string): number {
  return SHARES[kind] ?? 1;
}

const SHARES: Readonly<Record<string, number>> = {
  common: 1 / 3,
  very_common: 1 / 3,
  prefix: 1 / 3,
  cjk2: 1 / 10,
  cjk1: 1 / 10,
};
