// Removes fenced memory from a model's answer while it streams. Only an open tag that is alone on its line begins a block, as a program
// would have written it; a tag that is only mentioned stays.
import { isWhitespaceUnit } from "../../lib/index.ts";
import { CLOSE_TAG, endOfMatch, OPEN_TAG } from "./block.ts";

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
