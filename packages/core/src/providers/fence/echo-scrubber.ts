// Removes recall from a model's reply that repeats it in a fence, wherever the fence is: in the middle of a line, indented, nested, never
// closed. It compares with the recall of the turn, so text that only mentions the tag stays. The line rule of scrubber.ts runs after
// it, for fences with other content.
import { isWhitespaceUnit } from "../../lib/index.ts";
import {
  type Matches,
  matchTag,
  NO_MATCHES,
  RecalledText,
  readToken,
  TAG_START,
  type Token,
} from "./echo-matching.ts";
import { OPEN_TAG } from "./recall-fence.ts";

/** Most text held back after an open tag while all of it repeats the recall. In UTF-16 units, like the next two. */
const MAX_HELD = 2_000;
/** The same while it began with other words and repeats nothing yet. */
const MAX_LEAD = 400;
/** Most words of a heading: separate lines between an open tag and the repetition. */
const MAX_HEADING_WORDS = 8;
/** Most text after a repetition that is still dropped if the fence is closed behind it. */
const MAX_TAIL = 1_000;

const MENTIONED = /[`.,;)?!]/;

type Span = {
  /** `repeating`: every word so far is in the recall. `leading`: it began with other words. `dropping`: it is a repetition. */
  state: "repeating" | "leading" | "dropping";
  /** The open tag is alone on its line. The line rule would hide everything up to the close tag, so this class does too. */
  isLine: boolean;
  /** Number of open fences. */
  depth: number;
  /** Number of open fences that opened within the held text. */
  heldOpens: number;
  /** Number of words in the held text, and where each begins. */
  words: number;
  starts: number[];
  /** Where the first word or tag of the held text begins. */
  ownStart: number | undefined;
  matches: Matches;
  hasRepetition: boolean;
};

/**
 * One per stream. The division into chunks does not change the result, because every decision is made at the end of a word or a tag. The
 * amount of held text is bounded.
 */
export class EchoScrubber {
  readonly #block: string;
  #recalled: RecalledText | undefined;
  /** Text that is not shown yet. In a span, text before `#at` is held back and text after it is not read yet. */
  #text = "";
  #at = 0;
  #span: Span | undefined;
  /** Number of close tags still expected, of repetitions that ended without one. */
  #owedCloses = 0;
  /** Everything shown since the last line feed is whitespace. */
  #isLineBlank = true;
  #shown = "";

  /** `block` is the recall of this turn in its fence. */
  constructor(block: string) {
    this.#block = block;
  }

  /** Returns the text that can be shown now. */
  feed(chunk: string): string {
    this.#text += chunk;
    return this.#run(false);
  }

  /** For the end of the stream. Afterwards the object can be used for a new one. */
  end(): string {
    const shown = this.#run(true);
    this.#owedCloses = 0;
    this.#isLineBlank = true;
    return shown;
  }

  #run(isFinal: boolean): string {
    while (this.#span === undefined ? this.#readText(isFinal) : this.#readSpan(this.#span, isFinal));
    const shown = this.#shown;
    this.#shown = "";
    return shown;
  }

  /** True when a span begins. */
  #readText(isFinal: boolean): boolean {
    for (let from = 0; ; ) {
      TAG_START.lastIndex = from;
      const at = TAG_START.exec(this.#text)?.index;
      if (at === undefined) break;
      const tag = matchTag(this.#text, at);
      // The character after an open tag shows whether the tag is alone on its line.
      const isOpenEnded = tag === "partial" || (tag?.kind === "open" && tag.end === this.#text.length);
      if (isOpenEnded && !isFinal) {
        this.#show(at);
        return false;
      }
      from = at + 1;
      if (typeof tag !== "object") continue;
      if (tag.kind === "open") {
        this.#show(at);
        this.#begin(tag.end - at);
        return true;
      }
      if (this.#owedCloses === 0) continue;
      this.#owedCloses -= 1;
      this.#show(at);
      this.#text = this.#text.slice(tag.end - at);
      from = 0;
    }
    this.#show(this.#text.length);
    return false;
  }

  #begin(tagEnd: number): void {
    const isPlain = this.#text.slice(0, tagEnd).toLowerCase() === OPEN_TAG;
    const next = this.#text.charAt(tagEnd);
    this.#at = tagEnd;
    this.#span = {
      // These characters after a tag mean that a sentence only mentions it.
      state: MENTIONED.test(next) ? "leading" : "repeating",
      isLine: isPlain && this.#isLineBlank && /[\r\n]/.test(next),
      depth: 1,
      heldOpens: 0,
      words: 0,
      starts: [],
      ownStart: undefined,
      matches: NO_MATCHES,
      hasRepetition: false,
    };
  }

  /** True when the span is over. */
  #readSpan(span: Span, isFinal: boolean): boolean {
    while (this.#at < this.#text.length) {
      const token = readToken(this.#text, this.#at, isFinal);
      if (token === undefined) return false;
      if (token.kind === "word") span.starts.push(this.#at);
      if (token.kind !== "other") span.ownStart ??= this.#at;
      this.#at = token.end;
      if (this.#take(span, token, isFinal) || this.#isOver(span)) return true;
    }
    return isFinal && this.#finish(span);
  }

  /** True when the span is over. */
  #take(span: Span, token: Token, isFinal: boolean): boolean {
    switch (token.kind) {
      case "open":
        if (span.state === "leading") return this.#release(); // the first tag was only a mention; this one is examined separately
        span.depth += 1;
        if (span.state === "dropping") span.heldOpens += 1;
        return false;
      case "close":
        return this.#close(span);
      case "word":
        return this.#word(span, token.word, isFinal && token.end === this.#text.length);
      case "other":
        return false;
      default:
        return token satisfies never;
    }
  }

  #close(span: Span): boolean {
    span.depth -= 1;
    if (span.state === "dropping") {
      this.#forget(span);
      span.isLine = false; // the line rule would end here
      return span.depth === 0 && this.#leave();
    }
    if (span.depth > 0) return false;
    const { matches, words, hasRepetition } = span;
    if (!hasRepetition && !this.#recall.isAll(matches, words)) return this.#release();
    this.#forget(span);
    return this.#leave();
  }

  #word(span: Span, word: string, isCut: boolean): boolean {
    span.matches = this.#recall.step(span.matches, word, isCut);
    span.words += 1;
    const repeated = this.#recall.repeated(span.matches);
    if (span.state === "dropping") {
      if (repeated > 0) this.#forget(span);
      return false;
    }
    if (repeated > 0) span.hasRepetition = true;
    const isBegun = span.state === "repeating" && repeated >= span.words;
    if (isBegun || (repeated > 0 && this.#hasHeading(span, span.words - repeated))) {
      span.state = "dropping";
      this.#forget(span);
    } else if (span.state === "leading") return false;
    else if (!this.#recall.canGoOn(span.matches, span.words)) {
      if (span.isLine) return this.#release(); // the line rule hides it, whatever its content
      span.state = "leading";
    }
    return false;
  }

  /** Whether the span is an open tag, one or two lines of other words, and the recall from the next line on. */
  #hasHeading({ starts }: Span, words: number): boolean {
    if (words === 0 || words > MAX_HEADING_WORDS) return false;
    const hasBreak = (from = 0, to = 0): boolean => this.#text.slice(from, to).includes("\n");
    const tag = matchTag(this.#text, 0);
    return (
      typeof tag === "object" && hasBreak(tag.end, starts[0]) && hasBreak(starts[words - 1], starts[words])
    );
  }

  /** Whether the limit of held text is reached and the span has ended because of it. */
  #isOver(span: Span): boolean {
    if (span.state === "dropping") {
      if (this.#at <= MAX_TAIL) return false;
      if (!span.isLine) return this.#giveBack(span);
      this.#forget(span);
      return false;
    }
    const isHopeful = span.state === "repeating" || span.hasRepetition;
    return this.#at > (isHopeful ? MAX_HELD : MAX_LEAD) && this.#release();
  }

  /** The stream ended inside the span. */
  #finish(span: Span): boolean {
    const { state, matches, words, isLine } = span;
    const isAll = this.#recall.isAll(matches, words);
    if (state === "dropping") {
      // An incomplete last line counts as a repetition too.
      if (!isLine && words > 0 && !this.#recall.canGoOn(matches, words)) return this.#giveBack(span);
    } else if (state === "leading" || !isAll) return this.#release();
    this.#forget(span);
    return this.#leave();
  }

  /** The tag was only a mention: it is shown, and the text after it is read again outside a span. */
  #release(): boolean {
    const tag = matchTag(this.#text, 0);
    this.#show(typeof tag === "object" ? tag.end : this.#text.length);
    return this.#leave();
  }

  /** The repetition ended without a close tag so far: the text after it is the model's own and is shown. */
  #giveBack(span: Span): boolean {
    this.#owedCloses += span.depth - span.heldOpens;
    this.#text = ownWords(this.#text, span.ownStart ?? this.#at);
    return this.#leave();
  }

  #forget(span: Span): void {
    this.#text = this.#text.slice(this.#at);
    this.#at = 0;
    span.words = 0;
    span.starts = [];
    span.ownStart = undefined;
    span.heldOpens = 0;
  }

  #leave(): boolean {
    this.#span = undefined;
    this.#at = 0;
    return true;
  }

  #show(end: number): void {
    const text = this.#text.slice(0, end);
    this.#text = this.#text.slice(end);
    this.#shown += text;
    const line = text.lastIndexOf("\n");
    this.#isLineBlank = (line >= 0 || this.#isLineBlank) && isBlank(text, line + 1);
  }

  get #recall(): RecalledText {
    this.#recalled ??= new RecalledText(this.#block);
    return this.#recalled;
  }
}

/** The text from `start` on, without the punctuation that ended the repetition. */
function ownWords(text: string, start: number): string {
  const before = text.slice(0, start);
  const line = before.lastIndexOf("\n");
  const kept = line >= 0 ? before.slice(line + 1) : (/[([{"“«'*_`#-]*$/.exec(before)?.[0] ?? "");
  return kept + text.slice(start);
}

function isBlank(text: string, from: number): boolean {
  for (let at = from; at < text.length; at += 1) if (!isWhitespaceUnit(text.charCodeAt(at))) return false;
  return true;
}
