// Stems of English words, by the published rules of the Snowball English stemmer (Porter2), with forms that no rule finds
// reduced by a table first. Words with digits or letters beyond a-z are their own stem.
import { IRREGULAR, STOP_WORDS } from "./english.ts";

/** Takes a folded word. */
export function stem(word: string): string {
  if (!/^[a-z']+$/.test(word)) return word;
  const base = IRREGULAR.get(word) ?? word;
  return EXCEPTIONS.get(base) ?? (base.length <= 2 ? base : applyRules(base));
}

/** Words that no rule leads back to this stem, but the table does. */
export function irregularForms(root: string): readonly string[] {
  return FORMS_BY_STEM.get(root) ?? [];
}

/** Question and function words, which a question holds and its answer need not. */
export function isStopWord(word: string): boolean {
  return STOP_WORDS.has(word);
}

const EXCEPTIONS: ReadonlyMap<string, string> = new Map([
  ["skis", "ski"],
  ["skies", "sky"],
  ["dying", "die"],
  ["lying", "lie"],
  ["tying", "tie"],
  ["idly", "idl"],
  ["gently", "gentl"],
  ["ugly", "ugli"],
  ["early", "earli"],
  ["only", "onli"],
  ["singly", "singl"],
  ["sky", "sky"],
  ["news", "news"],
  ["howe", "howe"],
  ["atlas", "atlas"],
  ["cosmos", "cosmos"],
  ["bias", "bias"],
  ["andes", "andes"],
]);

/** Complete once their plural ending is off. */
const DONE_AFTER_PLURAL = new Set([
  "inning",
  "outing",
  "canning",
  "herring",
  "earring",
  "proceed",
  "exceed",
  "succeed",
]);

/** Longest first among those that end alike. */
const STEP_2: readonly (readonly [suffix: string, replacement: string])[] = [
  ["ization", "ize"],
  ["ational", "ate"],
  ["fulness", "ful"],
  ["ousness", "ous"],
  ["iveness", "ive"],
  ["tional", "tion"],
  ["biliti", "ble"],
  ["lessli", "less"],
  ["entli", "ent"],
  ["ation", "ate"],
  ["alism", "al"],
  ["aliti", "al"],
  ["ousli", "ous"],
  ["iviti", "ive"],
  ["fulli", "ful"],
  ["enci", "ence"],
  ["anci", "ance"],
  ["abli", "able"],
  ["izer", "ize"],
  ["ator", "ate"],
  ["alli", "al"],
  ["bli", "ble"],
];

const STEP_3: readonly (readonly [suffix: string, replacement: string])[] = [
  ["ational", "ate"],
  ["tional", "tion"],
  ["alize", "al"],
  ["icate", "ic"],
  ["iciti", "ic"],
  ["ical", "ic"],
  ["ness", ""],
  ["ful", ""],
];

const STEP_4 = [
  "ement",
  "ance",
  "ence",
  "able",
  "ible",
  "ment",
  "ant",
  "ent",
  "ism",
  "ate",
  "iti",
  "ous",
  "ive",
  "ize",
  "al",
  "er",
  "ic",
] as const;

const EARLY_REGION = /^(?:gener|commun|arsen)/;
const REGION = /[aeiouy][^aeiouy]/;
/** The end of a syllable that a word like `hop` has: what comes off may have been doubled or have ended in e. */
const SHORT_SYLLABLE = /(?:^[aeiouy][^aeiouy]|[^aeiouy][aeiouy][^aeiouywxY])$/;
const VOWEL = /[aeiouy]/;
const DOUBLE = /(?:bb|dd|ff|gg|mm|nn|pp|rr|tt)$/;

/** The word on its way; `r1` and `r2` are where the regions begin in which endings may be taken off. */
type Shape = { readonly word: string; readonly r1: number; readonly r2: number };

function applyRules(original: string): string {
  const word = markConsonantY(original.replace(/^'/, ""));
  const r1 = EARLY_REGION.exec(word)?.[0].length ?? regionAfter(word, 0);
  const shape: Shape = { word, r1, r2: regionAfter(word, r1) };
  const singular = withoutPlural(word.replace(/'s?'?$/, ""));
  if (DONE_AFTER_PLURAL.has(singular)) return singular;
  let stemmed = withoutVerbEnding(singular, shape.r1);
  stemmed = stemmed.replace(/(?<=.[^aeiouy])[yY]$/, "i");
  stemmed = replaceDerived(stemmed, shape.r1);
  stemmed = shortenDerived(stemmed, shape);
  stemmed = dropDerived(stemmed, shape.r2);
  return dropFinal(stemmed, shape).toLowerCase();
}

/** A y that is a consonant is written Y until the end. */
function markConsonantY(word: string): string {
  return word.replace(/^y/, "Y").replace(/([aeiouy])y/g, "$1Y");
}

function regionAfter(word: string, from: number): number {
  const match = REGION.exec(word.slice(from));
  return match === null ? word.length : from + match.index + 2;
}

function withoutPlural(word: string): string {
  if (word.endsWith("sses")) return word.slice(0, -2);
  if (word.endsWith("ied") || word.endsWith("ies")) return word.slice(0, word.length > 4 ? -2 : -1);
  if (!word.endsWith("s") || word.endsWith("us") || word.endsWith("ss")) return word;
  return VOWEL.test(word.slice(0, -2)) ? word.slice(0, -1) : word;
}

function withoutVerbEnding(word: string, r1: number): string {
  const eed = /eed(?:ly)?$/.exec(word);
  if (eed !== null) return eed.index >= r1 ? `${word.slice(0, eed.index)}ee` : word;
  const ending = /(?:ed|ing)(?:ly)?$/.exec(word);
  if (ending === null) return word;
  const rest = word.slice(0, ending.index);
  if (!VOWEL.test(rest)) return word;
  if (/(?:at|bl|iz)$/.test(rest)) return `${rest}e`;
  if (DOUBLE.test(rest)) return rest.slice(0, -1);
  return rest.length <= r1 && SHORT_SYLLABLE.test(rest) ? `${rest}e` : rest;
}

function replaceDerived(word: string, r1: number): string {
  for (const [suffix, replacement] of STEP_2) {
    if (word.endsWith(suffix)) return isWithin(word, suffix, r1) ? cut(word, suffix) + replacement : word;
  }
  if (word.endsWith("ogi"))
    return isWithin(word, "ogi", r1) && word.endsWith("logi") ? word.slice(0, -1) : word;
  if (word.endsWith("li") && isWithin(word, "li", r1) && /[cdeghkmnrt]li$/.test(word)) return cut(word, "li");
  return word;
}

function shortenDerived(word: string, { r1, r2 }: Shape): string {
  for (const [suffix, replacement] of STEP_3) {
    if (word.endsWith(suffix)) return isWithin(word, suffix, r1) ? cut(word, suffix) + replacement : word;
  }
  return word.endsWith("ative") && isWithin(word, "ative", r2) ? cut(word, "ative") : word;
}

function dropDerived(word: string, r2: number): string {
  for (const suffix of STEP_4) {
    if (word.endsWith(suffix)) return isWithin(word, suffix, r2) ? cut(word, suffix) : word;
  }
  return /[st]ion$/.test(word) && isWithin(word, "ion", r2) ? cut(word, "ion") : word;
}

function dropFinal(word: string, { r1, r2 }: Shape): string {
  const rest = word.slice(0, -1);
  if (word.endsWith("e")) {
    if (rest.length >= r2 || (rest.length >= r1 && !SHORT_SYLLABLE.test(rest))) return rest;
  } else if (word.endsWith("ll") && rest.length >= r2) return rest;
  return word;
}

function isWithin(word: string, suffix: string, region: number): boolean {
  return word.length - suffix.length >= region;
}

function cut(word: string, suffix: string): string {
  return word.slice(0, -suffix.length);
}

const FORMS_BY_STEM: ReadonlyMap<string, readonly string[]> = new Map(
  [...Map.groupBy([...IRREGULAR], ([, base]) => stem(base))].map(([root, pairs]) => [
    root,
    [...new Set(pairs.flat())],
  ]),
);
