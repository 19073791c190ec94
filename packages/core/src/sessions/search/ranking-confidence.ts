// How sure an answer is. Calibrated with `bench -- recall`: what a threshold flags and what it costs.
import {
  type Confidence,
  type Facts,
  type Question,
  type RankInput,
  type Reading,
  sum,
} from "./ranking-facts.ts";
import { tokenize } from "./words.ts";

/** How sure an answer is: the share of the question's weight that the best message covers, alone and with its neighbours. */
const CONFIDENCE = {
  frame: 0.5,
  /** A name that is asked for and never mentioned is the best sign that there is no answer. */
  capital: 2,
  /** Weight of a named date, covered by messages of that time. */
  dates: 6,
  window: 0.5,
  beside: [0.5, 0.3],
  /** Words of a message that are looked at together. */
  stretch: 30,
  /** Taken off where someone else than the named speaker said more of it. */
  others: 0.3,
  /** Long answers of assistants hold more of any question; this makes the scores of both kinds comparable. */
  exponent: { speakers: 1, agent: 1.2 },
  /** Below this an answer is weak: costs about 1 point of message recall on the development questions. */
  weakBelow: 0.22,
};

/** Not the first word, which is always written so. */
const CAPITALISED = /(?<=\S\s+["'(\u2018\u201c]?)\p{Lu}[\p{L}\p{M}\p{N}]*/gu;

/** Neither tool calls nor the output of earlier searches count: they repeat a question that may have had no answer. */
export function confidenceOf(facts: readonly Facts[], question: Question, input: RankInput): Confidence {
  const { name, kind } = question;
  const asked = weightsOf(question, input);
  const datesWeight = input.spans.length > 0 ? CONFIDENCE.dates : 0;
  const total = sum(asked) + datesWeight;
  if (total === 0) return { score: facts.length > 0 ? 1 : 0, isWeak: facts.length === 0 };
  let [single, window, anyone] = [0, 0, 0];
  for (const each of facts) {
    if (each.row.isRecall) continue;
    const dated = datesWeight * (each.near > 0 ? 1 : 0);
    const covered = bestStretch(each.reading, asked);
    const own = dated + weightOf(covered, asked);
    anyone = Math.max(anyone, own);
    if (name !== undefined && !each.isAuthor) continue;
    single = Math.max(single, own);
    window = Math.max(window, dated + weightOf(withNeighbours(covered, each, facts), asked));
  }
  const { window: share, others, exponent, weakBelow } = CONFIDENCE;
  const covered = (1 - share) * single + share * window - others * (anyone - single);
  const score = Math.min(1, Math.max(0, covered / total)) ** exponent[kind];
  return { score, isWeak: score < weakBelow };
}

/** Speakers and dates count elsewhere, words that frame the question half, other names twice. */
function weightsOf({ isName, isDate, isFrame }: Question, { query, terms }: RankInput): number[] {
  const capitalised = new Set(tokenize((query.match(CAPITALISED) ?? []).join(" ")).map(({ term }) => term));
  return terms.map(({ weight, words }, at) => {
    if (isName[at] || isDate[at]) return 0;
    const isCapital = words.some((word) => capitalised.has(word));
    return weight * (isFrame[at] ? CONFIDENCE.frame : 1) * (isCapital ? CONFIDENCE.capital : 1);
  });
}

/** Which terms the stretch of a message that says most holds, 0 to 1 each: words scattered over a page are no answer. */
function bestStretch({ said, places }: Reading, weights: readonly number[]): number[] {
  const hits = places.flatMap((list, term) => list.map((place) => ({ place, term })));
  hits.sort((a, b) => a.place - b.place);
  const inside = weights.map(() => 0);
  const worth = (term: number) => (weights[term] ?? 0) * Math.min(1, said[term] ?? 0);
  let [first, value, best] = [0, 0, -1];
  let covered = weights.map(() => 0);
  for (const { place, term } of hits) {
    for (
      let hit = hits[first];
      hit !== undefined && place - hit.place >= CONFIDENCE.stretch;
      hit = hits[first]
    ) {
      inside[hit.term] = (inside[hit.term] ?? 0) - 1;
      if (inside[hit.term] === 0) value -= worth(hit.term);
      first += 1;
    }
    inside[term] = (inside[term] ?? 0) + 1;
    if (inside[term] === 1) value += worth(term);
    if (value <= best) continue;
    best = value;
    covered = inside.map((count, at) => (count > 0 ? Math.min(1, said[at] ?? 0) : 0));
  }
  return covered;
}

function withNeighbours(
  covered: readonly number[],
  { before, after }: Facts,
  facts: readonly Facts[],
): number[] {
  const beside = CONFIDENCE.beside.flatMap((share, at) =>
    [before[at], after[at]].flatMap((place) => {
      const each = place === undefined ? undefined : facts[place];
      return each === undefined || each.row.isRecall ? [] : [{ share, said: each.reading.said }];
    }),
  );
  return covered.map((own, term) =>
    beside.reduce((best, { share, said }) => Math.max(best, share * Math.min(1, said[term] ?? 0)), own),
  );
}

function weightOf(covered: readonly number[], weights: readonly number[]): number {
  return sum(covered.map((share, term) => share * (weights[term] ?? 0)));
}
