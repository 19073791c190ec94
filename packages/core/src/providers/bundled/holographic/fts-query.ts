// What a person typed, as FTS5 queries. Taken as syntax a sentence hardly ever matches: marks are errors, and words side
// by side must all be there.
import { matchWords } from "./words.ts";

/** Every word asked for costs time, and of a long text the question stands at its beginning or its end. */
const MOST_WORDS = 32;
const MOST_CHARS = 2000;

const STOP_WORDS = new Set(
  `a about an and any are as at be been but by can could did do does for from had has have he her his how i if in is it
   its just me my no not of on or our please she should so tell than that the their them there these they this those to
   us was we were what when where which who whom whose why will with would you your`.split(/\s+/),
);

/** Endings that the same English word is met with. What is left has to be long enough to be that word. */
const ENDING = /(?:ings?|ed|es|ers?|s|e|y|ies|ied)$/;
const LEAST_STEM = 4;

/** The text, or the beginning and the end of one that is too long to be a question as a whole. */
export function questionIn(text: string): string {
  const half = MOST_CHARS / 2;
  return text.length <= MOST_CHARS ? text : `${text.slice(0, half)} ${text.slice(-half)}`.toWellFormed();
}

/** Any of the words as they are. Empty when there is no word to ask for. */
export function anyWord(text: string): string {
  return firstAndLast(wordsOf(text)).map(quoted).join(" OR ");
}

/** Any of the words that tell something, also in another form. A word that is there as asked counts twice. */
export function anyTellingWord(text: string): string {
  const words = wordsOf(text);
  const telling = words.filter((word) => !STOP_WORDS.has(word));
  const asked = firstAndLast(telling.length > 0 ? telling : words);
  return asked.flatMap((word) => [quoted(word), ...otherForms(word)]).join(" OR ");
}

/** The words of a name, one after the other. */
export function phrase(name: string): string {
  return quoted(name.replaceAll("\0", " "));
}

function wordsOf(text: string): string[] {
  return [...new Set(matchWords(text.replaceAll("\0", " ")))];
}

function firstAndLast(words: readonly string[]): readonly string[] {
  const half = MOST_WORDS / 2;
  return words.length <= MOST_WORDS ? words : [...words.slice(0, half), ...words.slice(-half)];
}

function otherForms(word: string): string[] {
  const stem = word.replace(ENDING, "");
  return /^\p{L}+$/u.test(stem) && stem.length >= LEAST_STEM ? [`${quoted(stem)}*`] : [];
}

function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}
