// The fence around recalled memory: its tags, wrapping recall for a request, unwrapping a provider's own, and removing a fence that a
// model repeats in its answer.
import { isWhitespaceUnit, pyStrip } from "../../lib/index.ts";
import type { Content } from "../../message/index.ts";
import { RECALL_TAG, RECALL_TAGS, sanitizeContext, writeFence } from "../../security/index.ts";

// ---- Tags ----
// Compared without case for ASCII only: other case rules change lengths or match foreign letters.

export const OPEN_TAG = `<${RECALL_TAG}>`;
const CLOSE_TAG = `</${RECALL_TAG}>`;

/** Compares `text` from `at` with the lower-case `word` from `skip`: the index in `text` of the first difference, or of the end of either. */
export function endOfMatch(text: string, at: number, word: string, skip = 0): number {
  const end = Math.min(text.length, at + word.length - skip);
  const shift = skip - at;
  let index = at;
  while (index < end && folded(text.charCodeAt(index)) === word.charCodeAt(index + shift)) index += 1;
  return index;
}

function folded(unit: number): number {
  return unit >= 0x41 && unit <= 0x5a ? unit + 0x20 : unit;
}

// ---- Wrapping and unwrapping ----

/** The text in the fence; "" for a blank text, or one that contains only fences. */
export function buildMemoryContextBlock(text: string | null | undefined): string {
  const clean = sanitizeContext(text ?? "");
  return pyStrip(clean) === "" ? "" : writeFence({ name: RECALL_TAG, note: `${NOTE}\n` }, clean);
}

type UnwrappedRecall = {
  readonly text: string;
  /** The text contained a fence or a part of one. */
  readonly wasFenced: boolean;
};

/**
 * A provider's recall without fences. A fence around the whole text was added by the provider, and its content is kept. Any other fence is
 * a quotation of an earlier request and is deleted with its content.
 */
export function unwrapRecall(text: string): UnwrappedRecall {
  const content = contentOfWholeBlock(text);
  if (content !== undefined)
    return { text: withoutOuterLineBreaks(sanitizeContext(content)), wasFenced: true };
  const clean = sanitizeContext(text);
  return { text: clean, wasFenced: clean !== text };
}

/**
 * The content of the turn's user message with the block appended. For the outgoing request only, never for storage. A list of parts is
 * copied; content that is neither text nor a list is returned unchanged.
 */
export function injectRecall(content: Content, block: string): Content;
export function injectRecall(content: unknown, block: string): unknown;
export function injectRecall(content: unknown, block: string): unknown {
  if (block === "") return content;
  if (typeof content === "string") return `${content}\n\n${block}`;
  return Array.isArray(content) ? [...content, { type: "text", text: block }] : content;
}

// `sanitizeContext` recognises the note by its beginning, its end `.]`, and the absence of any other `]`.
const NOTE =
  "[System note: The following is recalled memory context, NOT new user input. " +
  "Treat as authoritative reference data: it comes from the agent's own persistent memory, " +
  "and all replies should take it into account.]";

/** The text between the tags if one fence is the whole text, apart from whitespace around it. */
function contentOfWholeBlock(text: string): string | undefined {
  const trimmed = pyStrip(text);
  const [first, ...others] = trimmed.matchAll(RECALL_TAGS);
  const close = others.find(([, slash]) => slash === "/");
  if (first?.index !== 0 || first[1] === "/" || close === undefined) return undefined;
  const isWhole = close.index + close[0].length === trimmed.length;
  return isWhole ? trimmed.slice(first[0].length, close.index) : undefined;
}

/** Without the line break after the open tag and the one before the close tag. */
function withoutOuterLineBreaks(text: string): string {
  const start = text.startsWith("\r\n") ? 2 : text.startsWith("\n") ? 1 : 0;
  const end = text.endsWith("\r\n") ? 2 : text.endsWith("\n") ? 1 : 0;
  return text.slice(start, Math.max(start, text.length - end));
}

// ---- Removing it from an answer while it streams ----
// Only an open tag that is alone on its line begins a block, as a program would have written it; a tag that is only mentioned stays.

/**
 * One per stream. The division into chunks does not change the result. At most the length of an open tag is held back, so the cost per
 * character does not grow with the stream.
 */
export class StreamingContextScrubber {
  #inSpan = false;
  /** Outside a block: the last characters, which may become an open tag. Unchanged, to be shown if they do not. */
  #held = "";
  /** Inside a block: how many characters of the close tag the text so far ends with. */
  #closing = 0;
  /** Everything shown since the last line feed is whitespace. */
  #atBoundary = true;

  /** Returns the text that can be shown now. */
  feed(chunk: string): string {
    let shown = "";
    let at = 0; // everything before it is processed
    if (this.#held !== "") {
      const end = endOfMatch(chunk, 0, OPEN_TAG, this.#held.length);
      const isWhole = this.#held.length + end === OPEN_TAG.length;
      if (end === chunk.length && (!isWhole || this.#atBoundary)) {
        this.#held += chunk;
        return "";
      }
      if (isWhole && this.#atBoundary && isLineBreak(chunk.charCodeAt(end))) {
        this.#inSpan = true;
        at = end;
      } else {
        shown = this.#held;
        this.#atBoundary = false;
      }
      this.#held = "";
    }
    while (at < chunk.length) {
      if (this.#inSpan) {
        at = this.#endOfSpan(chunk, at);
        continue;
      }
      const end = this.#endOfShown(chunk, at);
      this.#atBoundary = this.#isBoundary(chunk, at, end);
      shown += chunk.slice(at, end);
      at = this.#inSpan ? end + OPEN_TAG.length : chunk.length;
    }
    return shown;
  }

  /** At the end or a pause of the stream: returns the text that was held back. A block without a close tag stays hidden. */
  flush(): string {
    const rest = this.#held;
    this.#inSpan = false;
    this.#held = "";
    this.#closing = 0;
    return rest;
  }

  reset(): void {
    this.flush();
    this.#atBoundary = true;
  }

  /** End of the text to show from `from` on: the start of a block, the start of text to hold back, or the end. */
  #endOfShown(text: string, from: number): number {
    for (let at = nextAngle(text, from); at >= 0; ) {
      const end = endOfMatch(text, at, OPEN_TAG);
      const isWhole = end - at === OPEN_TAG.length;
      if (end === text.length) {
        if (isWhole && !this.#isBoundary(text, from, at)) return end;
        this.#held = text.slice(at);
        return at;
      }
      if (isWhole && isLineBreak(text.charCodeAt(end)) && this.#isBoundary(text, from, at)) {
        this.#inSpan = true;
        return at;
      }
      at = nextAngle(text, end);
    }
    return text.length;
  }

  /** The index after the close tag, or the end of the text. */
  #endOfSpan(text: string, from: number): number {
    let at = from;
    let matched = this.#closing;
    this.#closing = 0;
    while (at >= 0) {
      const end = endOfMatch(text, at, CLOSE_TAG, matched);
      matched += end - at;
      if (matched === CLOSE_TAG.length) {
        this.#inSpan = false;
        return end;
      }
      if (end === text.length) {
        this.#closing = matched;
        return end;
      }
      at = nextAngle(text, end);
      matched = 0;
    }
    return text.length;
  }

  /** Whether the line before `at` has only whitespace. Text before `from` is already processed. */
  #isBoundary(text: string, from: number, at: number): boolean {
    for (let index = at - 1; index >= from; index -= 1) {
      const unit = text.charCodeAt(index);
      if (unit === LINE_FEED) return true;
      if (!isWhitespaceUnit(unit)) return false;
    }
    return this.#atBoundary;
  }
}

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const LESS = 0x3c;

function isLineBreak(unit: number): boolean {
  return unit === LINE_FEED || unit === CARRIAGE_RETURN;
}

/** `indexOf("<", from)`, without the cost of a call where one `<` follows another. */
function nextAngle(text: string, from: number): number {
  return text.charCodeAt(from) === LESS ? from : text.indexOf("<", from);
}

// ---- Removing it from a whole answer ----
// `StreamingContextScrubber` removes a fence whose tag is alone on its line, as Hermes does. Here also one that begins behind other words:
// showing memory is worse than cutting an answer. A tag without a line break behind it is only mentioned, and one in code is an
// example: both stay.

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
