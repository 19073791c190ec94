// Queries of every kind that match messages of a database. The same database gives the same queries.
import { DatabaseSync } from "node:sqlite";
import { pick, type Random, randomNumbers } from "../../packages/core/test/fakes/random.ts";

const PER_KIND = 30;

/** Leaves out kinds for which no message has text. */
export function deriveQueries(path: string): Queries {
  using db = new DatabaseSync(path, { readOnly: true });
  const random = randomNumbers(7);
  const all = { ...wordQueries(vocabularyOf(db), random), ...textQueries(sampleMessages(db), random) };
  return Object.fromEntries(Object.entries(all).filter(([, list]) => list.length > 0));
}

function wordQueries({ words, messages }: Vocabulary, random: Random): Queries {
  const rare = words.filter(({ term, holders }) => holders <= 5 && term.length >= 6).map(({ term }) => term);
  const common = nearest(words, messages * 0.04, PER_KIND);
  const uncommon = shuffled(nearest(words, messages * 0.01, 3 * PER_KIND), random);
  const frequent = words.slice(0, PER_KIND).map(({ term }) => term);
  return {
    rare: some(rare, random),
    or3: inThrees(uncommon),
    common,
    very_common: frequent,
    prefix: some(frequentBeginnings(words), random).map((beginning) => `${beginning}*`),
  };
}

function textQueries(sample: Sample, random: Random): Queries {
  return {
    phrase: adjacentPairs(sample)
      .slice(0, PER_KIND)
      .map((pair) => `"${pair}"`),
    question: some(questions(sample, random), random),
    cjk3: some(hanPieces(sample, 3, random), random),
    cjk2: some(hanPieces(sample, 2, random), random),
    cjk1: some(hanPieces(sample, 1, random), random),
    path: some(paths(sample), random),
    email: some(emails(sample), random),
  };
}

/** The hundred most frequent three-letter beginnings of words, by number of messages. */
function frequentBeginnings(words: Vocabulary["words"]): string[] {
  const holders = new Map<string, number>();
  for (const word of words) {
    const beginning = word.term.slice(0, 3);
    holders.set(beginning, (holders.get(beginning) ?? 0) + word.holders);
  }
  return [...holders]
    .sort((a, b) => b[1] - a[1])
    .slice(0, 100)
    .map(([beginning]) => beginning);
}

function inThrees(words: readonly string[]): string[] {
  const out: string[] = [];
  for (let i = 0; i + 3 <= words.length; i += 3) out.push(words.slice(i, i + 3).join(" OR "));
  return out;
}

/** A random choice of distinct items, at most `PER_KIND`. */
function some(items: readonly string[], random: Random): string[] {
  return shuffled([...new Set(items)], random).slice(0, PER_KIND);
}

function shuffled(items: readonly string[], random: Random): string[] {
  return items
    .map((item) => ({ item, key: random() }))
    .sort((a, b) => a.key - b.key)
    .map(({ item }) => item);
}

/** By kind. */
export type Queries = Readonly<Record<string, readonly string[]>>;

// A sample of some thousand messages, spread over a database.

type Sample = readonly { readonly role: string; readonly text: string }[];

const SAMPLED = 6_000;

function sampleMessages(db: DatabaseSync): Sample {
  const last = (db.prepare("SELECT COALESCE(MAX(id), 0) AS id FROM messages").get() as { id: number }).id;
  const next = db.prepare("SELECT id, role, content FROM messages WHERE id >= ? ORDER BY id LIMIT 1");
  const found = new Map<number, Sample[number]>();
  for (let i = 0; i < Math.min(SAMPLED, last); i += 1) {
    const row = next.get(1 + Math.floor((i * last) / Math.min(SAMPLED, last))) as Row | undefined;
    if (typeof row?.content === "string") found.set(row.id, { role: row.role, text: row.content });
  }
  return [...found.values()];
}

type Row = { readonly id: number; readonly role: string; readonly content: unknown };

// Queries copied from message texts: pairs of words, questions, Chinese, paths, addresses.

/** Adjacent words; pairs that occur in the most messages come first. */
function adjacentPairs(sample: Sample): string[] {
  const counts = new Map<string, number>();
  for (const { text } of sample) {
    const pairs = new Set([...text.matchAll(PAIR)].map(([, a = "", b = ""]) => `${a} ${b}`.toLowerCase()));
    for (const pair of pairs) counts.set(pair, (counts.get(pair) ?? 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([pair]) => pair);
}

/** Six to ten consecutive words of a user's message. */
function questions(sample: Sample, random: Random): string[] {
  return sample.flatMap(({ role, text }) => {
    const words = role === "user" ? [...text.matchAll(WORD)].map(([word]) => word) : [];
    const length = 6 + Math.floor(random() * 5);
    if (words.length < length) return [];
    const start = Math.floor(random() * (words.length - length + 1));
    return [`${words.slice(start, start + length).join(" ")}?`];
  });
}

/** `length` Chinese characters in a row. */
function hanPieces(sample: Sample, length: number, random: Random): string[] {
  return sample.flatMap(({ text }) => {
    const runs = (text.match(HAN) ?? []).filter((run) => run.length >= length);
    if (runs.length === 0) return [];
    const run = pick(runs, random);
    const start = Math.floor(random() * (run.length - length + 1));
    return [run.slice(start, start + length)];
  });
}

function paths(sample: Sample): string[] {
  return sample.flatMap(({ text }) => text.match(PATH) ?? []);
}

/** Without any address in the messages, one is made from a file name: it searches for the same adjacent words. */
function emails(sample: Sample): string[] {
  const found = sample.flatMap(({ text }) => text.match(EMAIL) ?? []);
  if (found.length > 0) return found;
  return sample.flatMap(({ text }) =>
    [...text.matchAll(FILE)].map(([, name = "", host = "", ending = ""]) => `${name}@${host}.${ending}`),
  );
}

/** The second word is matched by a lookahead, so that it is also the first word of the next pair. */
const PAIR = /\b([a-z]{2,})(?= ([a-z]{2,})\b)/gi;
const WORD = /(?<![\w/.-])[a-z]{2,20}(?![\w/-])/gi;
const HAN = /[\u4e00-\u9fff]+/g;
const PATH = /(?<![\w/])[~.]{0,2}\/?(?:[a-z][\w-]*\/){2,}[\w-]+\.[a-z]{1,5}\b/gi;
const EMAIL = /\b[\w.+-]+@[\w-]+\.[a-z]{2,}\b/gi;
const FILE = /\b([a-z]{2,})_([a-z]{2,})\.([a-z]{2,4})\b/g;

// The plain words of a database, each with the number of messages that contain it.

type Word = { readonly term: string; readonly holders: number };
type Vocabulary = {
  /** The most frequent first. */
  readonly words: readonly Word[];
  readonly messages: number;
};

/** Read from the index, which keeps these counts. */
function vocabularyOf(db: DatabaseSync): Vocabulary {
  db.exec("CREATE VIRTUAL TABLE temp.bench_words USING fts5vocab(main, hermes_memory_fts, row)");
  const words: Word[] = [];
  for (const row of db.prepare("SELECT term, doc AS holders FROM temp.bench_words").iterate()) {
    const { term, holders } = row as Word;
    if (PLAIN_WORD.test(term)) words.push({ term, holders });
  }
  const counted = db.prepare("SELECT COUNT(*) AS messages FROM messages").get() as { messages: number };
  return { words: words.sort((a, b) => b.holders - a.holders || byName(a, b)), ...counted };
}

/** The words whose number of messages is closest to the wanted one. */
function nearest(words: readonly Word[], holders: number, count: number): string[] {
  return words
    .map((word) => ({ ...word, distance: Math.abs(word.holders - holders) }))
    .sort((a, b) => a.distance - b.distance || byName(a, b))
    .slice(0, count)
    .map(({ term }) => term);
}

/** Operators of the query language are not plain words. */
const PLAIN_WORD = /^(?!(?:and|or|not|near)$)[a-z]{2,20}$/;

function byName(a: Word, b: Word): number {
  return a.term < b.term ? -1 : 1;
}
