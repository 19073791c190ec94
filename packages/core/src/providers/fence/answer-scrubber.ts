// What a model says, without recalled memory that it repeats in a fence. `StreamingContextScrubber` removes a fence whose tag is alone on its
// line, as Hermes does. Here also one that begins behind other words: showing memory is worse than cutting an answer. A tag without a line
// break behind it is only mentioned, and one in code is an example: both stay.
import { isWhitespaceUnit } from "../../lib/index.ts";
import { CLOSE_TAG, endOfMatch, OPEN_TAG, StreamingContextScrubber } from "./recall-fence.ts";

/** The text of a complete answer that may be shown and stored. */
export function scrubAnswer(text: string): string {
  if (!text.includes("<")) return text;
  const scrubber = new AnswerScrubber();
  return scrubber.feed(text) + scrubber.end();
}

/** Code as Markdown writes it: between runs of equally many backticks, or between lines that begin with three or more signs. */
type Code =
  | { readonly kind: "span"; readonly length: number }
  | { readonly kind: "block"; readonly sign: string; readonly length: number; isOpeningLine: boolean };

type Run = { readonly sign: string; readonly isFirst: boolean; length: number };

/** Text behind a tag in a code span is held back until the span ends; a longer one is none. */
const MOST_HELD = 4_000;

/** One per stream. The division into chunks does not change the result. */
export class AnswerScrubber {
  readonly #lineRule = new StreamingContextScrubber();
  #code: Code | undefined;
  #run: Run | undefined;
  /** The line so far has only blanks. */
  #isLineStart = true;
  /** The line so far may end a block of code. */
  #isClosingLine = false;
  /** The beginning of a tag, or a whole one behind which nothing has come yet. */
  #held = "";
  /** From a tag on that stands behind a backtick: a code span, if another backtick follows in its paragraph. */
  #doubtful: string | undefined;
  /** In a hidden fence: what may be the beginning of its end tag. */
  #closing: string | undefined;

  /** Text is held back that may have to be shown. */
  get isHolding(): boolean {
    return this.#held !== "" || this.#doubtful !== undefined;
  }

  /** Returns the text that can be shown now. */
  feed(chunk: string): string {
    return this.#lineRule.feed(this.#take(chunk));
  }

  /** The model has ended: a fence that is not closed stays hidden. Another text may follow. */
  end(): string {
    let shown = this.#endRun();
    while (this.#doubtful !== undefined) shown += this.#hideDoubtful() + this.#endRun();
    shown += this.#held;
    const rest = this.#lineRule.feed(shown) + this.#lineRule.flush();
    this.#lineRule.reset();
    this.#code = undefined;
    this.#run = undefined;
    this.#isLineStart = true;
    this.#isClosingLine = false;
    this.#held = "";
    this.#closing = undefined;
    return rest;
  }

  #take(text: string): string {
    let shown = "";
    for (let at = 0; at < text.length; at += 1) {
      if (this.#closing !== undefined) this.#hide(text.charAt(at));
      else shown += this.#next(text.charAt(at));
    }
    return shown;
  }

  #hide(unit: string): void {
    const said = (this.#closing ?? "") + unit;
    const matched = endOfMatch(said, 0, CLOSE_TAG);
    if (matched === CLOSE_TAG.length) this.#closing = undefined;
    else this.#closing = matched === said.length ? said : unit === "<" ? unit : "";
  }

  #next(unit: string): string {
    let before = this.#run !== undefined && this.#run.sign !== unit ? this.#endRun() : "";
    if (this.#closing !== undefined) return before + this.#take(unit);
    if (this.#doubtful === undefined && this.#held !== "") {
      const said = this.#held + unit;
      const isWhole = this.#held.length >= OPEN_TAG.length;
      if (isWhole ? unit === " " || unit === "\t" : endOfMatch(said, 0, OPEN_TAG) === said.length) {
        this.#held = said;
        return before;
      }
      const tag = this.#held;
      this.#held = "";
      const isFence = isWhole && (unit === "\n" || unit === "\r") && this.#code?.kind !== "block";
      if (isFence && this.#code === undefined) {
        this.#closing = "";
        return before;
      }
      if (isFence) this.#doubtful = tag;
      else before += tag;
    }
    if (this.#doubtful === undefined && unit === "<") {
      this.#held = unit;
      this.#isLineStart = false;
      this.#isClosingLine = false;
      return before;
    }
    if (this.#doubtful === undefined) {
      this.#follow(unit);
      return before + unit;
    }
    this.#doubtful += unit;
    const isParagraphEnd = unit === "\n" && this.#isLineStart;
    this.#follow(unit);
    return isParagraphEnd || this.#doubtful.length > MOST_HELD ? before + this.#hideDoubtful() : before;
  }

  /** Where the text is after this character: in which code, at the start of a line. */
  #follow(unit: string): void {
    if (unit === "\n") {
      if (this.#code?.kind === "span" && this.#isLineStart) this.#code = undefined; // the paragraph has ended
      if (this.#code?.kind === "block") this.#code.isOpeningLine = false;
      if (this.#isClosingLine) this.#code = undefined;
      this.#isClosingLine = false;
      this.#isLineStart = true;
    } else if (unit === "`" || unit === "~") {
      this.#run ??= { sign: unit, isFirst: this.#isLineStart, length: 0 };
      this.#run.length += 1;
      this.#isLineStart = false;
    } else if (!isWhitespaceUnit(unit.charCodeAt(0))) {
      this.#isLineStart = false;
      this.#isClosingLine = false;
    }
  }

  /** Returns text that was held back, if the run decides about it. */
  #endRun(): string {
    if (this.#run === undefined) return "";
    const { sign, isFirst, length } = this.#run;
    this.#run = undefined;
    const code = this.#code;
    const isTick = sign === "`";
    if (code?.kind === "block") {
      this.#isClosingLine = isFirst && sign === code.sign && length >= code.length;
      // Backticks on the opening line: it was a code span.
      if (isTick && code.isOpeningLine && code.sign === sign && !isFirst)
        this.#code = length === code.length ? undefined : { kind: "span", length: code.length };
      return "";
    }
    if (isFirst && length >= 3) {
      const shown = this.#doubtful === undefined ? "" : this.#hideDoubtful();
      if (this.#closing === undefined) this.#code = { kind: "block", sign, length, isOpeningLine: true };
      return shown;
    }
    if (!isTick) return "";
    if (code === undefined) this.#code = { kind: "span", length };
    else if (code.length === length) {
      this.#code = undefined;
      const shown = this.#doubtful ?? "";
      this.#doubtful = undefined;
      return shown;
    }
    return "";
  }

  /** It was no code span, so it is a fence. Returns what follows its end. */
  #hideDoubtful(): string {
    const text = (this.#doubtful ?? "").slice(OPEN_TAG.length);
    this.#doubtful = undefined;
    this.#code = undefined;
    this.#closing = "";
    return this.#take(text);
  }
}
