// Ranks the messages that answer a plain question, scores their conversations, and says how sure the answer is. Besides its own
// words, a message gains from the messages around it, the rest of its session, its speaker, and a date that the question names.
// Pure: the caller reads the rows and counts how many messages contain each term.
import type { TimeSpan } from "./query.ts";
import {
  type Confidence,
  type ConversationKind,
  type Facts,
  type Question,
  type RankInput,
  type RankRow,
  type RankTerm,
  type Reading,
  reader,
  sum,
  tellingWords,
} from "./ranking-reading.ts";
import { FRAME_WORDS, NUMBER_WORDS, TIME_WORDS, tokenize } from "./words.ts";

type RankedRow = {
  readonly row: RankRow;
  /** Messages are sorted by this. Comparable only within one answer. */
  readonly score: number;
  /** The message's contribution to its conversation's score; see `groupScore`. */
  readonly group: number;
  /** Indexes of the terms it contains. */
  readonly matched: readonly number[];
  /** True when it contains every term as it was asked for, not in another form. */
  readonly isFull: boolean;
};

type Ranking = {
  /** Best first; ties by id. */
  readonly rows: readonly RankedRow[];
  readonly confidence: Confidence;
  readonly kind: ConversationKind;
};

// The starting values come from experiments on LoCoMo. They were varied one at a time on the LoCoMo and LongMemEval development
// questions (`bench -- recall`) with both halves of each set in view, so results on those questions are optimistic. Most values
// lie on a plateau and were only rounded. The shares for tools, recall and the whole query are judgement: neither set has tool
// messages or short queries.

/** Words such as `kind` or `mention` frame a question; the answer rarely repeats them. */
const FRAME_SHARE = 0.7;
/** The words of a named date also count through `spans`. */
const DATE_SHARE = 0.2;
/** The weight of a word that occurs only in a tool call. */
const DID_SHARE = 0.4;
/**
 * A row in which neither user nor assistant says a term keeps this share of its score; the output of a recall tool keeps less.
 */
const MACHINE_SHARE = 0.5;
const RECALL_SHARE = 0.25;
/**
 * A row with all words of the query, function words included, gains this share of the best score; adjacent words gain all of it.
 */
const WHOLE_QUERY_SHARE = 0.25;
/** People talk about an event in the days after it. */
const AFTERWARDS_SECONDS = 10 * 86_400;
const AFTERWARDS_SHARE = 0.8;
/** A following message says slightly less about a message than the one it answers. */
const FOLLOWING_SHARE = 0.8;
/** Longer queries are pasted text, not questions. Their terms are still counted. */
const MOST_QUERY_CHARS = 1000;
/** How many of the best rows are checked for signs that they state facts. */
const READ_CLOSELY = 60;
/** Scores of single messages in conversations with named speakers. */
const MESSAGE = {
  k1: 0.8,
  b: 0.5,
  sessionK: 0.8,
  author: 1.5,
  before: [0.1, 0.9, 0.4],
  after: [0.3, 0.2],
  /** The previous message asks a question and this one answers it. */
  answers: 2,
  /** Terms covered within 1 message and within 2 messages. */
  cover: [0.4, 1.7],
  proximity: 1.5,
  session: 0.75,
  near: 4,
  base: 2,
  authorBase: 12,
};

/** Signs that a message states the fact asked for, in tenths of an exponent. */
const PRIOR = {
  mentionsName: -0.6,
  endsInQuestion: -0.6,
  tellingWords: 0.2,
  capitals: 0.4,
  isFirst: 0.7,
  times: 1,
  numbers: 0.5,
};

/** Contributions of messages to the score of their conversation. In agent chats, messages are sorted by it as well. */
const GROUP = {
  speakers: {
    k1: 0.7,
    b: 0.6,
    sessionK: 0.6,
    user: 1,
    author: 0.6,
    authorOwn: 1,
    proximity: 0.3,
    question: 0.8,
    beside: [0.35, 0.15, 0.1],
    besideName: 0.5,
    session: 0.3,
    answers: 0.4,
    cover: 0.3,
    times: 0.5,
    numbers: 0.25,
    near: 1.5,
    second: 0.5,
  },
  agent: {
    k1: 0.7,
    b: 0.6,
    sessionK: 0.6,
    user: 2,
    author: 0,
    authorOwn: 0,
    proximity: 1,
    question: 1,
    beside: [0.2, 0.1, 0],
    besideName: 1,
    session: 0.3,
    answers: 0,
    cover: 0.1,
    times: 0.5,
    numbers: 0.25,
    near: 1.5,
    second: 0.4,
  },
};

export function rank(whole: RankInput): Ranking {
  const input = { ...whole, query: whole.query.slice(0, MOST_QUERY_CHARS) };
  const question = understand(input);
  const { kind } = question;
  const read = reader(input.query, input.terms);
  const rows = input.rows.map((row) => ({ row, reading: read(row) }));
  const facts = factsOf(rows, question, input);
  const groups = groupScores(facts, question);
  const scores = kind === "agent" ? groups : messageScores(facts, question);
  const ranked = facts.map(({ row, reading, share }, at): RankedRow => {
    const matched = input.terms.flatMap((_, term) => (holds(reading, term) ? [term] : []));
    const score = (scores[at] ?? 0) * share;
    return { row, score, group: (groups[at] ?? 0) * share, matched, isFull: reading.isFull };
  });
  ranked.sort((a, b) => b.score - a.score || a.row.id - b.row.id);
  return { rows: ranked, confidence: confidenceOf(facts, question, input), kind };
}

/** The score of a conversation: its best message plus a share of the second best. */
export function groupScore(groups: readonly number[], kind: ConversationKind): number {
  let [best, second] = [0, 0];
  for (const group of groups) {
    if (group > best) [best, second] = [group, best];
    else if (group > second) second = group;
  }
  return best + GROUP[kind].second * second;
}

/** The weight of a term that occurs in `holders` of `all` messages. */
export function rarity(holders: number, all: number): number {
  return Math.log(1 + Math.max(0, all - holders + 0.5) / (holders + 0.5));
}

const WHEN =
  /^\W*(?:when|since when|what (?:year|month|day|date|time)|which (?:year|month|day|date)|how long ago)\b/i;
const HOW_MANY = /\bhow (?:many|much|often|long|old)\b|\bwhat (?:number|percentage|amount)\b/i;
const DATE_WORD =
  /^(?:january|february|march|april|may|june|july|august|september|october|november|december|\d{1,2}(?:st|nd|rd|th)?|(?:19|20)\d\d)$/;

export function kindOf(rows: readonly Spoken[]): ConversationKind {
  return speakersOf(rows).size > 0 ? "speakers" : "agent";
}

function understand({ query, terms, rows, spans }: RankInput): Question {
  const speakers = speakersOf(rows);
  const kind: ConversationKind = speakers.size > 0 ? "speakers" : "agent";
  const isSpeaker = terms.map(({ words }) => words.length === 1 && speakers.has(words[0] ?? ""));
  const isName = isSpeaker.every(Boolean) ? isSpeaker.map(() => false) : isSpeaker;
  const isFrame = terms.map(({ words }) => words.length === 1 && FRAME_WORDS.has(words[0] ?? ""));
  const isDate = terms.map(({ words }) => spans.length > 0 && words.every((word) => DATE_WORD.test(word)));
  const weights = terms.map(
    ({ weight }, at) => weight * (isFrame[at] ? FRAME_SHARE : 1) * (isDate[at] ? DATE_SHARE : 1),
  );
  const named = terms.flatMap((_, at) => (isSpeaker[at] ? [at] : []));
  return {
    kind,
    weights,
    total: sum(weights.map((weight, at) => (isName[at] ? 0 : weight))),
    isName,
    name: named.length === 1 ? named[0] : undefined,
    isFrame,
    isDate,
    asksWhen: WHEN.test(query),
    asksHowMany: HOW_MANY.test(query),
  };
}

const SPEAKER = /^\s*(\p{Lu}[\p{L}\p{M}'\u2019.-]*(?: \p{Lu}[\p{L}\p{M}'\u2019.-]*){0,2}): /u;

function speakerOf(said: string): string | undefined {
  return SPEAKER.exec(said.length > 80 ? said.slice(0, 80) : said)?.[1];
}

type Spoken = Pick<RankRow, "role" | "said" | "isRecall">;

/** The words of the speakers' names. Empty unless most messages begin with a name and few speakers have many messages. */
function speakersOf(rows: readonly Spoken[]): ReadonlySet<string> {
  const said = rows.filter(({ role, isRecall }) => isPerson(role) && !isRecall);
  const names = said.flatMap((row) => speakerOf(row.said) ?? []);
  const distinct = new Set(names);
  const isNamed = names.length > 0.6 * said.length && distinct.size <= Math.max(2, names.length / 3);
  return new Set(isNamed ? [...distinct].flatMap((name) => tokenize(name).map(({ term }) => term)) : []);
}

function isPerson(role: string): boolean {
  return role === "user" || role === "assistant";
}

type Read = { readonly row: RankRow; readonly reading: Reading };

function factsOf(
  rows: readonly Read[],
  question: Question,
  { terms, spans, sessionCounts }: RankInput,
): Facts[] {
  const places = new Map(rows.map(({ row }, at) => [row.id, at]));
  const averageLength = Math.max(
    1,
    sum(rows.map(({ reading }) => reading.length)) / Math.max(1, rows.length),
  );
  const asked = question.name === undefined ? undefined : terms[question.name]?.words[0];
  const none = terms.map(() => 0);
  return rows.map(({ row, reading }) => {
    const isSaid = isPerson(row.role) && reading.said.some((count) => count > 0);
    const text = row.said.trimEnd();
    const speaker = asked === undefined ? undefined : speakerOf(row.said);
    return {
      row,
      reading,
      share: row.isRecall ? RECALL_SHARE : isSaid ? 1 : MACHINE_SHARE,
      isAuthor: speaker !== undefined && tokenize(speaker).some(({ term }) => term === asked),
      hasQuestion: text.includes("?"),
      endsInQuestion: text.endsWith("?"),
      before: row.before.map((id) => (id === undefined ? undefined : places.get(id))),
      after: row.after.map((id) => (id === undefined ? undefined : places.get(id))),
      near: nearness(row.timestamp, spans),
      proximity: proximity(reading, terms, question.isName),
      sessionCounts: sessionCounts.get(row.session) ?? none,
      averageLength,
    };
  });
}

function nearness(timestamp: number, spans: readonly TimeSpan[]): number {
  let best = 0;
  for (const { from, to } of spans) {
    if (timestamp >= from && timestamp < to) return 1;
    if (timestamp >= from && timestamp < to + AFTERWARDS_SECONDS) best = AFTERWARDS_SHARE;
  }
  return best;
}

/** Rewards terms that are neighbours in the query and close together in the message. Names are skipped. */
function proximity({ places }: Reading, terms: readonly RankTerm[], isName: readonly boolean[]): number {
  let total = 0;
  let previous: number | undefined;
  for (let at = 0; at < terms.length; at += 1) {
    if (isName[at]) continue;
    const [left = [], right = []] = [previous === undefined ? [] : places[previous], places[at]];
    if (previous !== undefined && left.length > 0 && right.length > 0)
      total += Math.min(terms[previous]?.weight ?? 0, terms[at]?.weight ?? 0) / smallestDistance(left, right);
    previous = at;
  }
  return total;
}

/** Of two ascending lists; at least 1. */
function smallestDistance(left: readonly number[], right: readonly number[]): number {
  let [i, j] = [0, 0];
  let best = Number.POSITIVE_INFINITY;
  while (i < left.length && j < right.length) {
    const [a = 0, b = 0] = [left[i], right[j]];
    best = Math.min(best, Math.abs(a - b));
    if (a < b) i += 1;
    else j += 1;
  }
  return Math.max(1, best);
}

/** BM25 over the terms, each weighted by `shareOf`. */
function wordScore(
  { reading, averageLength }: Facts,
  weights: readonly number[],
  { k1, b }: { readonly k1: number; readonly b: number },
  shareOf: (term: number) => number,
): number {
  const norm = k1 * (1 - b + (b * reading.length) / averageLength);
  let total = 0;
  for (let term = 0; term < weights.length; term += 1) {
    const count = (reading.said[term] ?? 0) + DID_SHARE * (reading.did[term] ?? 0);
    if (count > 0) total += ((weights[term] ?? 0) * shareOf(term) * count * (k1 + 1)) / (count + norm);
  }
  return total;
}

function sessionScore(
  { sessionCounts }: Facts,
  weights: readonly number[],
  k: number,
  shareOf: (term: number) => number,
): number {
  let total = 0;
  sessionCounts.forEach((count, term) => {
    total += ((weights[term] ?? 0) * shareOf(term) * count * (k + 1)) / (count + k);
  });
  return total;
}

/** Sum of the weights of the terms that occur in the message or in one of the `reach` messages before and after it. */
function coverage(facts: readonly Facts[], at: number, weights: readonly number[], reach: number): number {
  const own = facts[at];
  if (own === undefined) return 0;
  const around = [at, ...own.before.slice(0, reach), ...own.after.slice(0, reach)];
  let total = 0;
  for (let term = 0; term < weights.length; term += 1) {
    let best = 0;
    for (const place of around) {
      const { said = [], did = [] } = (place === undefined ? undefined : facts[place]?.reading) ?? {};
      best = Math.max(best, said[term] ?? 0, DID_SHARE * Math.min(1, did[term] ?? 0));
    }
    total += (weights[term] ?? 0) * Math.min(1, best);
  }
  return total;
}

function groupScores(
  facts: readonly Facts[],
  { kind, weights, total, isName, asksWhen, asksHowMany }: Question,
): number[] {
  const by = GROUP[kind];
  const every = () => 1;
  const own = facts.map((each) => {
    const words = wordScore(each, weights, by, every);
    const score = words + (each.isAuthor ? by.authorOwn : 0) + by.proximity * each.proximity;
    return score * (each.endsInQuestion ? by.question : 1) * (each.row.role === "user" ? by.user : 1);
  });
  const beside = facts.map(
    (each) => each.share * wordScore(each, weights, by, (term) => (isName[term] ? by.besideName : 1)),
  );
  const best = max(own);
  const scores = facts.map((each, at) => {
    const score =
      (own[at] ?? 0) +
      weighted(by.beside, each.before, beside) +
      FOLLOWING_SHARE * weighted(by.beside, each.after, beside) +
      by.session * sessionScore(each, weights, by.sessionK, every) +
      by.answers * asked(each, facts, beside) +
      by.cover * coverage(facts, at, weights, 2) +
      (asksWhen ? by.times * Math.min(2, timeWords(each.row.said)) : 0) +
      (asksHowMany ? by.numbers * Math.min(2, numberWords(each.row.said)) : 0);
    return score * (each.isAuthor ? 1 + by.author : 1) + by.near * best * each.near;
  });
  return withWholeQuery(scores, facts, total);
}

function messageScores(facts: readonly Facts[], question: Question): number[] {
  const { weights, isName, total } = question;
  const scale = total > 0 ? 1 / total : 0;
  const content = weights.map((weight, at) => (isName[at] ? 0 : weight));
  const every = () => 1;
  const own = facts.map((each) => wordScore(each, content, MESSAGE, every) * scale);
  const beside = facts.map((each, at) => each.share * (own[at] ?? 0));
  const best = max(own);
  const scores = facts.map((each, at) => {
    const cover = sum(MESSAGE.cover.map((share, reach) => share * coverage(facts, at, content, reach + 1)));
    return (
      (own[at] ?? 0) * (each.isAuthor ? 1 + MESSAGE.author : 1) +
      weighted(MESSAGE.before, each.before, beside) +
      weighted(MESSAGE.after, each.after, beside) +
      MESSAGE.answers * asked(each, facts, beside) +
      (cover + MESSAGE.proximity * each.proximity) * scale +
      MESSAGE.session * sessionScore(each, content, MESSAGE.sessionK, every) * scale +
      MESSAGE.near * best * each.near +
      MESSAGE.base +
      (each.isAuthor ? MESSAGE.authorBase / Math.max(3, total) : 0)
    );
  });
  return withPriors(withWholeQuery(scores, facts, total), facts, question);
}

/** The score of the message before it, if that one asks a question. */
function asked({ before: [previous] }: Facts, facts: readonly Facts[], scores: readonly number[]): number {
  return previous !== undefined && facts[previous]?.hasQuestion ? (scores[previous] ?? 0) : 0;
}

/** Ranks a message with `turn off` above every message with only `turn`. */
function withWholeQuery(scores: readonly number[], facts: readonly Facts[], total: number): number[] {
  const best = total > 0 ? max(scores) : 0;
  return scores.map((score, at) => {
    const closeness = facts[at]?.reading.closeness ?? 0;
    return closeness === 0 ? score : score + best * (WHOLE_QUERY_SHARE + (1 - WHOLE_QUERY_SHARE) * closeness);
  });
}

/** Only the best rows are checked closely. The others stay below them. */
function withPriors(
  scores: readonly number[],
  facts: readonly Facts[],
  { name, asksWhen, asksHowMany }: Question,
): number[] {
  const limit = [...scores].sort((a, b) => b - a)[READ_CLOSELY - 1] ?? Number.NEGATIVE_INFINITY;
  return scores.map((score, at) => {
    const each = facts[at];
    if (each === undefined) return score;
    const { row, reading, isAuthor, endsInQuestion } = each;
    const mentions = name !== undefined && !isAuthor && (reading.said[name] ?? 0) > 0;
    let prior =
      (mentions ? PRIOR.mentionsName : 0) +
      (endsInQuestion ? PRIOR.endsInQuestion : 0) +
      (row.isFirst ? PRIOR.isFirst : 0);
    if (score >= limit) {
      prior +=
        PRIOR.tellingWords * Math.log(1 + tellingWords(row.said.slice(0, CLOSE_READING_CHARS))) +
        PRIOR.capitals * Math.min(3, capitals(row.said)) +
        (asksWhen ? PRIOR.times * Math.min(2, timeWords(row.said)) : 0) +
        (asksHowMany ? PRIOR.numbers * Math.min(2, numberWords(row.said)) : 0);
    }
    return score * Math.exp(prior / 10);
  });
}

const CAPITAL = /(?<=[\p{Ll}\d,;] )\p{Lu}\p{L}+/gu;
const LATIN_WORD = /[a-z]+|\d+/g;
/** Facts are near the beginning of what people say; long texts are full of numbers. */
const CLOSE_READING_CHARS = 1000;

function capitals(said: string): number {
  return said.slice(0, CLOSE_READING_CHARS).match(CAPITAL)?.length ?? 0;
}

function timeWords(said: string): number {
  return countWords(said, (word) => TIME_WORDS.has(word) || /^(?:19|20)\d\d$/.test(word));
}

function numberWords(said: string): number {
  return countWords(said, (word) => NUMBER_WORDS.has(word) || /^\d/.test(word));
}

function countWords(said: string, isCounted: (word: string) => boolean): number {
  const words = said.slice(0, CLOSE_READING_CHARS).toLowerCase().match(LATIN_WORD) ?? [];
  return words.filter(isCounted).length;
}

function holds({ said, did }: Reading, term: number): boolean {
  return (said[term] ?? 0) > 0 || (did[term] ?? 0) > 0;
}

function weighted(
  shares: readonly number[],
  places: readonly (number | undefined)[],
  scores: readonly number[],
): number {
  let total = 0;
  for (let at = 0; at < shares.length; at += 1) {
    const place = places[at];
    if (place !== undefined) total += (shares[at] ?? 0) * (scores[place] ?? 0);
  }
  return total;
}

function max(values: readonly number[]): number {
  return values.reduce((best, value) => Math.max(best, value), 0);
}

// ---- Confidence ----
// Calibrated with `bench -- recall`, which reports what a threshold flags and what it costs.

/** The share of the question's weight that the best message covers, alone and together with its neighbours. */
const CONFIDENCE = {
  frame: 0.5,
  /** A name that is asked for and never mentioned is the best sign that there is no answer. */
  capital: 2,
  /** Weight of a named date; messages of that time cover it. */
  dates: 6,
  window: 0.5,
  beside: [0.5, 0.3],
  /** How many words of a message are considered together. */
  stretch: 30,
  /** Subtracted when someone other than the named speaker said more of it. */
  others: 0.3,
  /** Long assistant answers contain more words of any question. This makes the scores of both kinds comparable. */
  exponent: { speakers: 1, agent: 1.2 },
  /** A lower score is a weak answer. Costs about 1 point of message recall on the development questions. */
  weakBelow: 0.22,
};

/** Skips the first word, which is always capitalised. */
const CAPITALISED = /(?<=\S\s+["'(\u2018\u201c]?)\p{Lu}[\p{L}\p{M}\p{N}]*/gu;

/** Earlier searches, calls and output, do not count: they repeat a question that may have had no answer. */
function confidenceOf(facts: readonly Facts[], question: Question, input: RankInput): Confidence {
  const { name, kind } = question;
  const asked = weightsOf(question, input);
  const datesWeight = input.spans.length > 0 ? CONFIDENCE.dates : 0;
  const total = sum(asked) + datesWeight;
  if (total === 0) return { score: facts.length > 0 ? 1 : 0, isWeak: facts.length === 0 };
  let [single, window, anyone] = [0, 0, 0];
  for (const each of facts) {
    if (each.row.isRecall) continue;
    const dated = datesWeight * (each.near > 0 ? 1 : 0);
    const { said, places, did, didPlaces } = each.reading;
    const spoken = bestStretch(said, places, asked);
    const called = callsRecall(each.row) ? [] : bestStretch(did, didPlaces, asked);
    const covered = weightOf(called, asked) > weightOf(spoken, asked) ? called : spoken;
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

/** Tools that show earlier messages; their output repeats them. */
const RECALL_TOOL = /(?:^|_)(?:session_search|search_sessions|search_messages|memory_search|lcm_\w+|recall)$/;

export function isRecallTool(name: string): boolean {
  return RECALL_TOOL.test(name);
}

function callsRecall({ did }: RankRow): boolean {
  return did.split(/\s+/).some(isRecallTool);
}

/** Speakers and dates count elsewhere, words that frame the question count half, other names twice. */
function weightsOf({ isName, isDate, isFrame }: Question, { query, terms }: RankInput): number[] {
  const capitalised = new Set(tokenize((query.match(CAPITALISED) ?? []).join(" ")).map(({ term }) => term));
  return terms.map(({ weight, words }, at) => {
    if (isName[at] || isDate[at]) return 0;
    const isCapital = words.some((word) => capitalised.has(word));
    return weight * (isFrame[at] ? CONFIDENCE.frame : 1) * (isCapital ? CONFIDENCE.capital : 1);
  });
}

/** Per term, 0 to 1, how well the best range of a message covers it. Words scattered over a page are not an answer. */
function bestStretch(
  said: readonly number[],
  places: Reading["places"],
  weights: readonly number[],
): number[] {
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
