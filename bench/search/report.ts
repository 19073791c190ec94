// The figures of a run beside those of the Python original and the targets of the search.
import { round } from "../statistics.ts";
import type { Baseline } from "./baseline.ts";
import type { Completeness } from "./completeness.ts";
import type { LongSession, Pair } from "./long-session.ts";
import type { ByKind, Timed } from "./measure.ts";
import { LONG_REFERENCE, referenceAt, shareAllowed } from "./reference.ts";

export type Measured = {
  readonly corpus: string;
  readonly messages: number;
  readonly search: ByKind;
  readonly discover: ByKind;
  readonly newest: ByKind;
  readonly completeness: Completeness;
  readonly longSession: LongSession;
  readonly baseline: Baseline | undefined;
};

export function report({ corpus, messages, longSession, completeness, baseline, ...measured }: Measured) {
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
    growth: baseline === undefined ? undefined : growthOf(figures, baseline),
    meets: {
      complete: completeness.wrong.length === 0,
      discover: mapValues(measured.discover, ({ p50_ms }, kind) => {
        const theirs = reference.discover_p50_ms[kind];
        return theirs === undefined ? null : p50_ms <= theirs * shareAllowed(kind);
      }),
      p95: mapValues(figures, (timed, key) => staysQuick(timed, baseline?.p95.get(key))),
      long_session: {
        discover: costsNoMore(longSession.discover),
        discover_often: costsNoMore(longSession.discover_often),
        scroll: costsNoMore(longSession.scroll),
      },
    },
  };
}

const MOST_GROWTH = 1.5;
const QUICK_MS = 10;
/** Two measurements of equal costs differ by up to this. */
const NOISE = { times: 1.25, ms: 0.5 };

/** Null without a run on a smaller database. */
function staysQuick({ p95_ms }: Timed, before: number | undefined): boolean | null {
  if (p95_ms < QUICK_MS) return true;
  return before === undefined ? null : p95_ms <= before * MOST_GROWTH;
}

function costsNoMore({ long, short }: Pair): boolean {
  return long.cpu_p50_ms <= short.cpu_p50_ms * NOISE.times + NOISE.ms;
}

function growthOf(figures: ByKind, { messages, p95 }: Baseline) {
  const times = Object.entries(figures).flatMap(([key, { p95_ms }]) => {
    const before = p95.get(key);
    return before === undefined ? [] : [[key, round(p95_ms / before)] as const];
  });
  return { from_messages: messages, p95: Object.fromEntries(times) };
}

function named(prefix: string, byKind: ByKind): ByKind {
  return Object.fromEntries(Object.entries(byKind).map(([kind, timed]) => [`${prefix}.${kind}`, timed]));
}

function mapValues<T, R>(record: Readonly<Record<string, T>>, map: (value: T, key: string) => R) {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value, key)]));
}
