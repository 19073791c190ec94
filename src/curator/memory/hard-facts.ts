// What may not get lost or be made up when several entries become one: numbers, names, paths, and every "not".
import { sentencesOf, significant, stem, type Word, wordsOf } from "./fold.ts";
import { COMMON, FILLERS, MODIFIERS, NEGATIONS, OPENINGS } from "./words.ts";

export type FactProblem =
  | { readonly kind: "lost"; readonly what: "number" | "name" | "path" | "condition"; readonly word: string }
  | { readonly kind: "invented"; readonly word: string }
  | { readonly kind: "moved"; readonly word: string }
  | { readonly kind: "negation-lost" }
  | { readonly kind: "negation-invented" };

/** Undefined when `merged` says what the sources say, as far as that can be checked without understanding it. */
export function factProblem(sources: readonly string[], merged: string): FactProblem | undefined {
  const given = sources.flatMap(hardWords);
  const kept = new Set(wordsOf(merged).map(({ raw }) => plain(raw)));
  const lost = given.find(({ word }) => !kept.has(plain(word)));
  if (lost) return { kind: "lost", what: lost.what, word: lost.word };
  const known = new Set(sources.flatMap((text) => wordsOf(text).map(({ raw }) => plain(raw))));
  const invented = hardWords(merged).find(
    ({ word, what }) => what !== "condition" && !known.has(plain(word)),
  );
  if (invented) return { kind: "invented", word: invented.word };
  const added = addedWords(sources, merged);
  if (added !== undefined) return { kind: "invented", word: added };
  const moved = movedWord(sources, merged);
  if (moved !== undefined) return { kind: "moved", word: moved };
  const before = deniedWords(sources);
  const after = deniedWords([merged]);
  if ([...before].some((word) => !after.has(word))) return { kind: "negation-lost" };
  return [...after].some((word) => !before.has(word)) ? { kind: "negation-invented" } : undefined;
}

type HardWord = { readonly word: string; readonly what: "number" | "name" | "path" | "condition" };

/** The words of a text that stand for something particular. */
export function hardWords(text: string): HardWord[] {
  return wordsOf(text).flatMap((word): HardWord[] => {
    const what = kindOf(word);
    return what === undefined ? [] : [{ word: word.raw, what }];
  });
}

function kindOf({ raw, folded, isFirst }: Word): HardWord["what"] | undefined {
  if (/\p{N}/u.test(raw)) return "number";
  if (/[/\\@_=$%&<>|~^+#]|\p{L}[.:]\p{L}|^[.-]|\p{Ll}\p{Lu}/u.test(raw)) return "path";
  if (MODIFIERS.has(folded)) return "condition";
  if (!/^\p{Lu}/u.test(raw) || FILLERS.has(folded) || NEGATIONS.has(folded)) return undefined;
  // In front of a sentence every word is capitalised; there a name is what no note usually begins with.
  const isOrdinary = isFirst && (OPENINGS.has(folded) || COMMON.has(folded) || OPENINGS.has(stem(folded)));
  return isOrdinary ? undefined : "name";
}

/** Letter case and the plural aside, so that a name in front of a sentence is found behind it. */
function plain(raw: string): string {
  return stem(raw.toLowerCase().replace(/\?+$/, ""));
}

/** More new words than a rewording needs: the text says something of its own. */
function addedWords(sources: readonly string[], merged: string): string | undefined {
  const known = new Set(sources.flatMap(significant).map((word) => word.toLowerCase()));
  const words = significant(merged).map((word) => word.toLowerCase());
  const added = words.filter((word) => !known.has(word) && !COMMON.has(word) && !NEGATIONS.has(word));
  return added.length > Math.max(2, Math.floor(words.length * 0.2)) ? added[0] : undefined;
}

/**
 * A number, name or path that stands beside words it did not stand with before: "API on 5432, database on 8080" has all the
 * words of its sources. It is enough that the word before it or the one behind it comes from the same sentence.
 */
function movedWord(sources: readonly string[], merged: string): string | undefined {
  const sentences = sources.flatMap((text) =>
    sentencesOf(text).map(({ words }) => new Set(words.map(({ raw }) => plain(raw)))),
  );
  for (const part of merged.split(/[,;\n]|\.(?=\s|$)/u)) {
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

const CLAUSE = /[,;:!?()\n]|\.(?=\s|$)|\s[-–—]\s|\b(?:but|aber|sondern|mais|sino)\b/iu;
/** Stands for a denial of which no more can be said. */
const SOMETHING = "";

/** What is denied: the words behind a negation within its clause, or before it where there are none ("is forbidden"). */
function deniedWords(texts: readonly string[]): Set<string> {
  const denied = new Set<string>();
  for (const clause of texts.flatMap((text) => text.split(CLAUSE))) {
    const words = wordsOf(clause).map(({ folded }) => folded.toLowerCase());
    const places = words.flatMap((word, index) => (NEGATIONS.has(word) ? [index] : []));
    for (const [nth, place] of places.entries()) {
      const behind = content(words.slice(place + 1, places[nth + 1] ?? words.length));
      const scope = behind.length > 0 ? behind : content(words.slice((places[nth - 1] ?? -1) + 1, place));
      for (const word of [...scope, SOMETHING]) denied.add(word);
    }
  }
  return denied;
}

function content(words: readonly string[]): string[] {
  return words
    .filter((word) => !NEGATIONS.has(word) && !FILLERS.has(word) && !COMMON.has(word) && !MODIFIERS.has(word))
    .map(stem);
}
