// The facts that a merge of entries may neither lose nor add: numbers, names, paths, quotations, and every "not", "always" and "never".
// Decided by words alone; in doubt, the entries are not merged. Pure.
import {
  ABSOLUTES,
  COMMON,
  FILLERS,
  HEDGES,
  isNegatingWord,
  isNegation,
  MODIFIERS,
  NUMBER_WORDS,
  OPENINGS,
  REPLACEABLE,
  SCOPED,
  sentencesOf,
  significant,
  stem,
  VAGUE_NUMBERS,
  type Word,
  wordsOf,
} from "./words.ts";

export type FactProblem =
  | { readonly kind: "lost"; readonly what: FactKind | "word"; readonly word: string }
  | { readonly kind: "invented"; readonly word: string }
  | { readonly kind: "moved"; readonly word: string }
  | { readonly kind: "negation-lost" }
  | { readonly kind: "negation-invented" };

type FactKind = "number" | "name" | "path" | "quotation" | "condition" | "sign";

/** Undefined when `merged` says the same as the sources, as far as that can be checked by words. */
export function factProblem(sources: readonly string[], merged: string): FactProblem | undefined {
  const lost = lostFact(sources, merged);
  if (lost) return lost;
  const known = new Set(sources.flatMap((text) => wordsOf(text).map(({ raw }) => plain(raw))));
  const invented = hardWords(merged).find(
    ({ word, what }) =>
      (what !== "condition" || HEDGES.has(word.toLowerCase())) &&
      !VAGUE_NUMBERS.has(word.toLowerCase()) &&
      !known.has(plain(word)),
  );
  if (invented) return { kind: "invented", word: invented.word };
  const amounts = new Set(sources.flatMap(smallAmounts));
  const amount = smallAmounts(merged).find((each) => !amounts.has(each));
  if (amount !== undefined) return { kind: "invented", word: amount };
  const added = addedWords(sources, merged);
  if (added !== undefined) return { kind: "invented", word: added };
  const moved = movedWord(sources, merged) ?? strayedWord(sources, merged) ?? unscopedWord(sources, merged);
  if (moved !== undefined) return { kind: "moved", word: moved };
  const before = denialsIn(sources);
  const after = denialsIn([merged]);
  if ([...before.meant].some((word) => !after.all.has(word))) return { kind: "negation-lost" };
  if ([...after.content].some((word) => !before.all.has(word))) return { kind: "negation-invented" };
  const word = lostWord(sources, merged);
  return word === undefined ? undefined : { kind: "lost", what: "word", word };
}

/** The first specific word, quotation or sign of the sources that is missing in `merged`. */
export function lostFact(sources: readonly string[], merged: string): FactProblem | undefined {
  const kept = wordsOf(merged);
  for (const source of sources) {
    const lost = hardWords(source).find((word) => !isKept(word, kept));
    if (lost && isNegation(lost.word.toLowerCase())) return { kind: "negation-lost" }; // "never", "nobody"
    if (lost) return { kind: "lost", what: lost.what, word: lost.word };
    const quotation = quotationsOf(source).find((each) => !oneLine(merged).includes(each));
    if (quotation !== undefined) return { kind: "lost", what: "quotation", word: quotation };
    const sign = signsOf(source).find((each) => !merged.includes(each));
    if (sign !== undefined) return { kind: "lost", what: "sign", word: sign };
    const amount = smallAmounts(source).find((each) => !smallAmounts(merged).includes(each));
    if (amount !== undefined) return { kind: "lost", what: "condition", word: amount };
  }
  return undefined;
}

type HardWord = { readonly word: string; readonly what: FactKind; readonly isFirst: boolean };

/** The words of a text that mean something specific: numbers, names, paths, conditions. */
export function hardWords(text: string): HardWord[] {
  const words = wordsOf(text);
  return words.flatMap((word, index): HardWord[] => {
    const what = kindOf(word, words[index - 1]);
    return what === undefined ? [] : [{ word: word.raw, what, isFirst: word.isFirst }];
  });
}

function kindOf({ raw, folded, isFirst }: Word, before: Word | undefined): FactKind | undefined {
  const lower = folded.toLowerCase();
  if (/\p{N}/u.test(raw) || NUMBER_WORDS.has(lower)) return "number";
  if (/^[ap]m$/.test(lower) && /\p{N}/u.test(before?.raw ?? "")) return "number";
  if (/[/\\@_=$%&<>|~^+#]|\p{L}[.:]\p{L}|^[.-]|\p{Ll}\p{Lu}/u.test(raw)) return "path";
  if (!isFirst && /^(?:Will|May)$/.test(raw)) return "name"; // a person, a month
  if ([MODIFIERS, ABSOLUTES, HEDGES].some((words) => words.has(lower))) return "condition";
  if (!/^\p{Lu}/u.test(raw) || isNegation(lower)) return undefined;
  if (/^\p{Lu}{2,}s?$/u.test(raw)) return FILLERS.has(lower) ? undefined : "name"; // `IT`, `US`, `PRs`
  if (FILLERS.has(folded)) return undefined;
  // The first word of a sentence is always capitalised; it counts as a name unless notes often begin with it.
  const isOrdinary = isFirst && (OPENINGS.has(folded) || COMMON.has(folded) || OPENINGS.has(stem(folded)));
  return isOrdinary ? undefined : "name";
}

function isKept({ word, what, isFirst }: HardWord, kept: readonly Word[]): boolean {
  const same = kept.filter(({ raw }) => plain(raw) === plain(word));
  switch (what) {
    case "path": // `/srv/Data` and `/srv/data` may be two directories, `userId` and `userid` two variables
      return same.some(({ raw }) => bare(raw) === bare(word));
    case "name":
      if (/^\p{Lu}{2,}s?$/u.test(word)) return same.some(({ raw }) => /^\p{Lu}{2}/u.test(raw));
      return same.some(({ raw }) => (isFirst || /^\p{Lu}/u.test(raw)) && isSameName(raw, word));
    default:
      return same.length > 0;
  }
}

/** Names keep their `s`: `Peter Williams` and `Peter William` are two people. Weekdays such as `Tuesdays` do not. */
function isSameName(one: string, other: string): boolean {
  const [a, b] = [bare(one).toLowerCase(), bare(other).toLowerCase()];
  return a === b || (/days?$/.test(a) && /days?$/.test(b));
}

function bare(raw: string): string {
  return raw.replace(/\?+$/, "").replace(/'s$/, "");
}

/** Without letter case and plural, so that the first word of a sentence is found elsewhere. */
function plain(raw: string): string {
  return stem(raw.toLowerCase().replace(/\?+$/, ""));
}

const QUOTATIONS =
  /`([^`\n]+)`|"([^"\n]+)"|“([^”\n]+)”|«([^»\n]+)»|(?<![\p{L}\p{N}])'([^'\n]+)'(?![\p{L}\p{N}])/gu;

/** Commands and quoted words must be kept letter for letter; the quotation marks may change. */
function quotationsOf(text: string): string[] {
  return [...text.matchAll(QUOTATIONS)].flatMap((match) => {
    const quoted = oneLine(match.slice(1).find((group) => group !== undefined) ?? "");
    return quoted === "" ? [] : [quoted];
  });
}

function oneLine(text: string): string {
  return text.normalize("NFC").replace(/\s+/gu, " ").trim();
}

/** An amount in brackets, which is negative in accounting: `(100)`, `(€1,000)`, `(100 EUR)`. */
const BRACKETED = /\((?:\p{Sc}|\p{Lu}{3})?\s?\p{N}[\p{N}.,']*\s?(?:\p{Sc}|%|\p{Lu}{3})?\)/gu;

/** Signs with a meaning, such as a crossed-out circle, a currency or a question mark. */
function signsOf(text: string): string[] {
  const signs = [
    ...(text.match(/[\p{Extended_Pictographic}\p{Sc}≠≤≥±×÷→←↔¬∉]/gu) ?? []),
    ...(text.match(BRACKETED) ?? []),
  ];
  return /\?(?:\s|$)/.test(text) ? [...signs, "?"] : signs;
}

/** "A few users" are some, "few users" are hardly any. */
function smallAmounts(text: string): string[] {
  const found = text.toLowerCase().match(/(?<!\p{L})(?:a\s+)?(?:few|little)(?!\p{L})/gu) ?? [];
  return found.map((each) => each.replace(/\s+/gu, " "));
}

/** Undefined unless `merged` has more new words than a rewording needs, and so says something new. */
function addedWords(sources: readonly string[], merged: string): string | undefined {
  const known = new Set(sources.flatMap(significant).map((word) => word.toLowerCase()));
  const words = significant(merged).map((word) => word.toLowerCase());
  const added = words.filter((word) => !known.has(word) && !COMMON.has(word) && !isNegation(word));
  return added.length > Math.max(2, Math.floor(words.length * 0.2)) ? added[0] : undefined;
}

/** A word in lower case may be a name too (`pnpm`, `carla`): every word that is not an ordinary one has to be kept, in any form. */
function lostWord(sources: readonly string[], merged: string): string | undefined {
  const kept = new Set(wordsOf(merged).map(({ raw }) => root(raw)));
  const words = sources.flatMap(wordsOf).map(({ raw }) => bare(raw).toLowerCase());
  return words.find((word) => isParticular(word) && !kept.has(root(word)));
}

function isParticular(word: string): boolean {
  const isOrdinary = [FILLERS, COMMON, MODIFIERS, REPLACEABLE].some((words) => words.has(word));
  return /[\p{L}\p{N}]/u.test(word) && !isNegatingWord(word) && (!isOrdinary || /^(?:new|old)$/.test(word));
}

/** Stronger than `stem`, so that "rebooted" matches "reboots". Never used to decide that two entries are the same. */
function root(raw: string): string {
  const word = bare(raw).toLowerCase();
  if (!/^\p{L}{5,}$/u.test(word)) return stem(word);
  return word.replace(/(?:ing|ed|es|s|e)$/u, "").replace(/(\p{L})\1$/u, "$1");
}

/**
 * A number, name or path whose neighbours come from other sentences: "API on 5432, database on 8080" has all the words of its
 * sources, but swapped. It is enough that the word before or after it comes from the same sentence.
 */
function movedWord(sources: readonly string[], merged: string): string | undefined {
  const sentences = sources.flatMap((text) =>
    sentencesOf(text).map(({ words }) => new Set(words.map(({ raw }) => plain(raw)))),
  );
  for (const part of partsOf(merged)) {
    const hard = new Set(
      hardWords(part).flatMap(({ word, what }) => (what === "condition" ? [] : [plain(word)])),
    );
    const words = content(wordsOf(part).map(({ raw }) => plain(raw)));
    for (const [index, word] of words.entries()) {
      const beside = [words[index - 1], words[index + 1]].filter((each) => each !== undefined);
      if (!hard.has(word) || beside.length === 0) continue;
      const homes = sentences.filter((sentence) => sentence.has(word));
      if (!homes.some((home) => beside.some((each) => home.has(each)))) return word;
    }
  }
  return undefined;
}

/** A number without any word of its sentence beside it: in "Anna has 2 cats, Ben dogs", the 2 of "Ben has 2 dogs" is missing. */
function strayedWord(sources: readonly string[], merged: string): string | undefined {
  const parts = partsOf(merged).map((part) => new Set(content(wordsOf(part).map(({ raw }) => plain(raw)))));
  for (const sentence of sources.flatMap((text) => partsOf(text))) {
    const words = new Set(content(wordsOf(sentence).map(({ raw }) => plain(raw))));
    for (const { word, what } of hardWords(sentence)) {
      const name = plain(word);
      const others = [...words].filter((each) => each !== name);
      if (what !== "number" || !words.has(name) || others.length === 0) continue;
      const homes = parts.filter((part) => part.has(name));
      if (homes.some((part) => part.size === 1 || others.some((each) => part.has(each)))) continue;
      if (homes.length > 0) return word;
    }
  }
  return undefined;
}

function partsOf(text: string): string[] {
  return text.split(/[,;\n]|\.(?=\s|$)/u);
}

/** An "always", "only" or "unless" that no longer applies to the same words. */
function unscopedWord(sources: readonly string[], merged: string): string | undefined {
  const after = scopesOf(merged);
  for (const { word, behind, around } of sources.flatMap(scopesOf)) {
    const said = behind[0] ?? around.at(-1);
    if (said === undefined) continue;
    const isThere = after.some(
      (scope) => scope.word === word && (scope.around.includes(said) || scope.around.length === 0),
    );
    if (!isThere) return word;
  }
  return undefined;
}

type Scope = {
  readonly word: string;
  readonly behind: readonly string[];
  readonly around: readonly string[];
};

function scopesOf(text: string): Scope[] {
  return text.split(CLAUSE).flatMap((clause) => {
    const words = wordsOf(clause).map(({ folded }) => folded.toLowerCase());
    return words.flatMap((word, index): Scope[] =>
      SCOPED.has(word) ? [{ word, behind: content(words.slice(index + 1)), around: content(words) }] : [],
    );
  });
}

const CLAUSE = /[,;:!?()\n]|\.(?=\s|$)|\s[-–—]\s|\b(?:but|aber|sondern|mais|sino)\b/iu;
/** Marks a negation of unknown content. */
const SOMETHING = "";

type Denials = {
  /** The content words that are negated. */
  readonly content: ReadonlySet<string>;
  /** The same, or the small words if there are no others: "do not use it". */
  readonly meant: ReadonlySet<string>;
  readonly all: ReadonlySet<string>;
};

/** The negated words: those after a negation within its clause, or before it if there are none ("is forbidden"). */
function denialsIn(texts: readonly string[]): Denials {
  const found = { content: new Set<string>(), meant: new Set<string>(), all: new Set<string>() };
  for (const clause of texts.flatMap((text) => text.split(CLAUSE))) {
    const words = wordsOf(clause).map(({ folded }) => folded.toLowerCase());
    const places = words.flatMap((word, index) => (isNegation(word) ? [index] : []));
    for (const [nth, place] of places.entries()) {
      const behind = words.slice(place + 1, places[nth + 1] ?? words.length);
      const before = words.slice((places[nth - 1] ?? -1) + 1, place);
      const said = [content(behind), content(before)].find((scope) => scope.length > 0) ?? [];
      const small = (behind.length > 0 ? behind : before).map(stem);
      for (const word of [...said, SOMETHING]) found.content.add(word);
      for (const word of said.length > 0 ? said : [...small, SOMETHING]) found.meant.add(word);
      for (const word of [...said, ...small, SOMETHING]) found.all.add(word);
    }
  }
  return found;
}

function content(words: readonly string[]): string[] {
  return words
    .filter((word) => !isNegation(word) && !FILLERS.has(word) && !COMMON.has(word) && !MODIFIERS.has(word))
    .map(stem);
}
