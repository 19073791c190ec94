// Which of the messages that match answers a question best. Beside its own words, what was said right before and after
// it and in the rest of its session speaks for a message, and so does a date the question names.

export type Candidate = {
  readonly id: number;
  readonly session: string;
  readonly timestamp: number;
  /** How many words the message has. */
  readonly length: number;
  /** How often each term of the query, in any form, is in it. */
  readonly counts: readonly number[];
  /** Up to two ids before and two after it in its session, nearest first; undefined where there is none. */
  readonly before: readonly (number | undefined)[];
  readonly after: readonly (number | undefined)[];
};

export type Ranked = { readonly candidate: Candidate; readonly score: number };

export type RankingInput = {
  readonly candidates: readonly Candidate[];
  /** How much each term of the query says: rare ones more. */
  readonly weights: readonly number[];
  /** Spans of time the query names. */
  readonly spans: readonly TimeSpan[];
};

/** Seconds; the end is not part of it. */
export type TimeSpan = { readonly from: number; readonly to: number };

// Tuned on five conversations of LoCoMo (bench/recall.ts), so figures for those flatter it a little. Messages are
// short, so a word counts once more or less (K1), and their length matters less than in prose (B).
const K1 = 0.9;
const B = 0.4;
const SESSION_K = 1.2;
const NEIGHBOUR_SHARE = [0.35, 0.15] as const;
/** What follows a message says a little less about it than what it answers. */
const FOLLOWING = 0.8;
const SESSION_SHARE = 0.3;
const NAMED_TIME_SHARE = 1;
/** People talk about an event in the days after it. */
const AFTERWARDS_SECONDS = 10 * 86_400;
const SOON_AFTER = 0.6;

/** Best first; equal ones by id. */
export function rank({ candidates, weights, spans }: RankingInput): Ranked[] {
  const average = mean(candidates.map(({ length }) => length));
  const own = new Map(candidates.map((each) => [each.id, ownScore(each, weights, average)]));
  const sessions = sessionScores(candidates, weights);
  const best = Math.max(0, ...own.values());
  return candidates
    .map((candidate) => {
      const score =
        (own.get(candidate.id) ?? 0) +
        neighbourScore(candidate, own) +
        SESSION_SHARE * (sessions.get(candidate.session) ?? 0) +
        NAMED_TIME_SHARE * best * nearness(candidate.timestamp, spans);
      return { candidate, score };
    })
    .sort((a, b) => b.score - a.score || a.candidate.id - b.candidate.id);
}

/** The weight of a term that `holders` of `all` messages hold. */
export function rarity(holders: number, all: number): number {
  return Math.log(1 + Math.max(0, all - holders + 0.5) / (holders + 0.5));
}

/** The three best messages speak for a group of them: one good one weighs most, more of them help. */
export function groupScore(scores: readonly number[]): number {
  const [first = 0, second = 0, third = 0] = [...scores].sort((a, b) => b - a);
  return first + 0.5 * second + 0.25 * third;
}

function ownScore({ counts, length }: Candidate, weights: readonly number[], average: number): number {
  const norm = K1 * (1 - B + (B * length) / Math.max(1, average));
  return sum(counts.map((count, term) => ((weights[term] ?? 0) * count * (K1 + 1)) / (count + norm)));
}

function neighbourScore(candidate: Candidate, own: ReadonlyMap<number, number>): number {
  const side = (ids: readonly (number | undefined)[]) =>
    sum(NEIGHBOUR_SHARE.map((share, at) => share * (own.get(ids[at] ?? -1) ?? 0)));
  return side(candidate.before) + FOLLOWING * side(candidate.after);
}

function sessionScores(candidates: readonly Candidate[], weights: readonly number[]): Map<string, number> {
  const totals = new Map<string, number[]>();
  for (const { session, counts } of candidates) {
    const total = totals.get(session) ?? weights.map(() => 0);
    counts.forEach((count, term) => {
      total[term] = (total[term] ?? 0) + count;
    });
    totals.set(session, total);
  }
  return new Map(
    [...totals].map(([session, counts]) => [
      session,
      sum(
        counts.map((count, term) => ((weights[term] ?? 0) * count * (SESSION_K + 1)) / (count + SESSION_K)),
      ),
    ]),
  );
}

function nearness(timestamp: number, spans: readonly TimeSpan[]): number {
  let best = 0;
  for (const { from, to } of spans) {
    if (timestamp >= from && timestamp < to) return 1;
    if (timestamp >= from && timestamp < to + AFTERWARDS_SECONDS) best = SOON_AFTER;
  }
  return best;
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : sum(values) / values.length;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
