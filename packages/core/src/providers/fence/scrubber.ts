// Takes fenced memory out of a model's answer while it streams. A block counts only where a program would have
// put it: its open tag is the first thing on a line and the last. A tag that is merely talked about stays.
import { isWhitespaceUnit } from "../../lib/index.ts";
import { CLOSE_TAG, endOfMatch, OPEN_TAG } from "./block.ts";

/**
 * One per stream. How the text is cut into chunks never changes what is shown in the end. At most one open tag is
 * held back and nothing else is kept, so a character costs the same however long the stream is.
 */
export class StreamingContextScrubber {
  #inSpan = false;
  /** Outside a span: the last characters, which may be an open tag. As they came, to be shown if they are none. */
  #held = "";
  /** Inside a span: how much of the close tag the text so far ends with. */
  #closing = 0;
  /** All that was shown since the last line feed is blank. */
  #atBoundary = true;

  /** What can be shown now. */
  feed(chunk: string): string {
    let shown = "";
    let at = 0; // everything before it is dealt with
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

  /** The stream is over, or pauses: what was held back is shown, a block that was never closed stays hidden. */
  flush(): string {
    const rest = this.#held;
    this.#inSpan = false;
    this.#held = "";
    this.#closing = 0;
    return rest;
  }

  /** As new. */
  reset(): void {
    this.flush();
    this.#atBoundary = true;
  }

  /** How far the text can be shown from `from` on: to a block, to what has to be held back, or to its end. */
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

  /** Behind the close tag, or the end of the text. */
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

  /** Is there nothing but blanks on the line in front of `at`, when the text before `from` has been dealt with? */
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

/** `indexOf("<", from)`, without the price of a call where one `<` follows another. */
function nextAngle(text: string, from: number): number {
  return text.charCodeAt(from) === LESS ? from : text.indexOf("<", from);
}
