// Thoughts that a chat server leaves in the text, between `<think>` and `</think>`: told apart while they stream. Whatever way the
// text is cut into pieces, the outcome is the same.

/** Pieces in the order they were written. */
export type Piece = { readonly kind: "text" | "reasoning"; readonly text: string };

const OPENING = ["<think>", "<thinking>", "<reasoning>"];
/** In front of a tag they mean that the text speaks about tags. */
const QUOTES = new Set(["`", '"', "'", "(", "[", "\\"]);

type Thought = {
  readonly tag: string;
  /** It began a line. Elsewhere it may be a word of a sentence, and only its end shows what it was. */
  readonly isSure: boolean;
  /** Of one that is not sure: everything since, the tag included. */
  held: string;
};

export class ThinkTags {
  #buffer = "";
  #thought: Thought | undefined;
  /** The last character told as text. */
  #last = "";
  /** How the current line begins. */
  #line = "";
  #isFenced = false;
  #hasText = false;
  #isAfterThought = false;

  feed(chunk: string): Piece[] {
    this.#buffer += chunk;
    return this.#drain(false);
  }

  /** The end of the stream. A thought that was never closed stays a thought, when it began a line. */
  flush(): Piece[] {
    return this.#drain(true);
  }

  #drain(isEnd: boolean): Piece[] {
    const pieces: Piece[] = [];
    let goesOn = true;
    while (goesOn) goesOn = this.#thought ? this.#think(pieces, isEnd) : this.#speak(pieces, isEnd);
    return pieces.filter(({ text }) => text !== "");
  }

  /** Up to the next tag. True when there is more to do. */
  #speak(pieces: Piece[], isEnd: boolean): boolean {
    const start = this.#buffer.indexOf("<");
    if (start < 0) {
      this.#tell(pieces, this.#buffer);
      this.#buffer = "";
      return false;
    }
    this.#tell(pieces, this.#buffer.slice(0, start));
    this.#buffer = this.#buffer.slice(start);
    const head = this.#buffer.toLowerCase();
    const tag = OPENING.find((each) => head.startsWith(each));
    if (tag === undefined && !isEnd && OPENING.some((each) => each.startsWith(head))) return false; // wait for the rest
    if (tag === undefined || this.#isFenced || QUOTES.has(this.#last)) {
      this.#tell(pieces, this.#buffer.slice(0, 1));
      this.#buffer = this.#buffer.slice(1);
      return true;
    }
    const isSure = this.#line === "";
    this.#thought = { tag, isSure, held: this.#buffer.slice(0, tag.length) };
    this.#buffer = this.#buffer.slice(tag.length);
    return true;
  }

  /** Up to the end of the thought. True when there is more to do. */
  #think(pieces: Piece[], isEnd: boolean): boolean {
    const thought = this.#thought;
    if (!thought) return false;
    const closing = thought.tag.replace("<", "</");
    const lower = this.#buffer.toLowerCase();
    const end = lower.indexOf(closing);
    const kept = end < 0 && !isEnd ? partOf(closing, lower) : 0;
    const inside = this.#buffer.slice(0, end < 0 ? this.#buffer.length - kept : end);
    this.#buffer = this.#buffer.slice(inside.length + (end < 0 ? 0 : closing.length));
    if (thought.isSure) pieces.push({ kind: "reasoning", text: inside });
    else thought.held += inside;
    if (end >= 0) {
      if (!thought.isSure) pieces.push({ kind: "reasoning", text: thought.held.slice(thought.tag.length) });
      this.#thought = undefined;
      this.#isAfterThought = true;
      return true;
    }
    if (isEnd && !thought.isSure) this.#tell(pieces, thought.held);
    return false;
  }

  #tell(pieces: Piece[], text: string): void {
    // Blank lines between a thought and the answer belong to neither.
    const told = this.#isAfterThought && !this.#hasText ? text.trimStart() : text;
    if (text !== "") this.#last = text.at(-1) ?? "";
    for (const character of text) this.#follow(character);
    if (told.trim() !== "") this.#hasText = true;
    pieces.push({ kind: "text", text: told });
  }

  /** Where in its line, and in or out of a block of code, the text is now. */
  #follow(character: string): void {
    if (character === "\n") this.#line = "";
    else if (this.#line.length < 4 && (this.#line !== "" || character.trim() !== "")) {
      this.#line += character;
      if (this.#line === "```") this.#isFenced = !this.#isFenced;
    }
  }
}

/** How many characters at the end of the text may be the beginning of the tag. */
function partOf(tag: string, text: string): number {
  for (let length = Math.min(tag.length - 1, text.length); length > 0; length -= 1)
    if (tag.startsWith(text.slice(-length))) return length;
  return 0;
}
