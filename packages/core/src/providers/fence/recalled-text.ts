// The recall of a turn as words, and how far a text repeats it. Pure.
import { matchTag, readToken } from "./fenced-words.ts";

/** For each place of the recall where the text so far ends, how many of its last words stand there too. */
export type Matches = ReadonlyMap<number, number>;

export const NO_MATCHES: Matches = new Map();

/** So many words in a row are no chance any more, when they are long enough. */
const LEAST_WORDS = 5;
const LEAST_CHARS = 16;
const LEAST_NOTE_WORDS = 12;
/** A whole line may be shorter. */
const LEAST_LINE_WORDS = 2;
const LEAST_LINE_CHARS = 6;
/** Of the whole content of a fence, or all there is before the stream ends. */
const LEAST_CONTENT_WORDS = 3;

export class RecalledText {
  readonly #words: string[] = [];
  readonly #places = new Map<string, number[]>();
  /** For each word, where its line begins and ends. */
  readonly #lines: { readonly start: number; end: number; readonly isNote: boolean }[] = [];
  /** Letters before each word. */
  readonly #chars: number[] = [0];

  /** `block`: recall in its fence, as it is injected. */
  constructor(block: string) {
    for (const line of block.split("\n")) if (typeof matchTag(line, 0) !== "object") this.#addLine(line);
  }

  /** The text goes on with one more word. `isCut`: the text ended here, maybe in the middle of the word. */
  step(before: Matches, word: string, isCut = false): Matches {
    const after = new Map<number, number>();
    for (const at of this.#places.get(word) ?? []) after.set(at, 1 + (before.get(at - 1) ?? 0));
    if (isCut)
      for (const [at, count] of before)
        if (this.#words[at + 1]?.startsWith(word)) after.set(at + 1, count + 1);
    return after;
  }

  /** How many of the last words repeat the recall beyond doubt: enough of them in a row, or a whole line. 0 for none. */
  repeated(matches: Matches): number {
    let longest = 0;
    for (const [at, count] of matches) longest = Math.max(longest, this.#repeatedAt(at, count));
    return longest;
  }

  /** May `count` words be the beginning of a repetition? */
  canGoOn(matches: Matches, count: number): boolean {
    return [...matches.values()].some((each) => each >= count);
  }

  /** Is a fence with these `count` words and nothing else a repetition? Shorter ones count than in the middle of a text. */
  isAll(matches: Matches, count: number): boolean {
    if (count === 0) return false;
    return [...matches].some(([at, each]) => {
      const line = this.#lines[at];
      if (line === undefined || each < count) return false;
      const isFromStart = at - line.start + 1 === count;
      if (line.isNote) return isFromStart && count >= LEAST_CONTENT_WORDS;
      return count >= LEAST_CONTENT_WORDS || (isFromStart && at === line.end);
    });
  }

  #repeatedAt(at: number, count: number): number {
    const line = this.#lines[at];
    if (line === undefined) return 0;
    const inLine = at - line.start + 1;
    // The note is ordinary English: a few words of it are only the note when they are its beginning.
    if (line.isNote && count < LEAST_NOTE_WORDS) return count >= inLine && inLine >= LEAST_WORDS ? inLine : 0;
    if (count >= LEAST_WORDS && this.#charsOf(at, count) >= LEAST_CHARS) return count;
    const isLine = at === line.end && count >= inLine && inLine >= LEAST_LINE_WORDS;
    return isLine && this.#charsOf(at, inLine) >= LEAST_LINE_CHARS ? inLine : 0;
  }

  #charsOf(last: number, count: number): number {
    return (this.#chars[last + 1] ?? 0) - (this.#chars[last + 1 - count] ?? 0);
  }

  #addLine(text: string): void {
    const line = {
      start: this.#words.length,
      end: this.#words.length,
      isNote: text.trimStart().startsWith("[System note:"),
    };
    for (let at = 0; at < text.length; ) {
      const token = readToken(text, at, true);
      if (token === undefined) break;
      at = token.end;
      if (token.kind === "word") this.#addWord(token.word, line);
    }
    line.end = this.#words.length - 1;
  }

  #addWord(word: string, line: { readonly start: number; end: number; readonly isNote: boolean }): void {
    const places = this.#places.get(word);
    if (places === undefined) this.#places.set(word, [this.#words.length]);
    else places.push(this.#words.length);
    this.#chars.push((this.#chars.at(-1) ?? 0) + word.length);
    this.#lines.push(line);
    this.#words.push(word);
  }
}
