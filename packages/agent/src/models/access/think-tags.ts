// Separates reasoning that a chat server leaves in the text, between `<think>` and `</think>`, while the text streams. The result
// does not depend on how the text is cut into chunks.

export type Piece = { readonly kind: "text" | "reasoning"; readonly text: string };

const OPENING = ["<think>", "<thinking>", "<reasoning>"];
/** One of these before a tag means that the text is about tags. */
const QUOTES = new Set(["`", '"', "'", "(", "[", "\\"]);

type Thought = {
  readonly tag: string;
  /** The tag began a line. Elsewhere it may be part of a sentence, and only a closing tag shows that it was reasoning. */
  readonly isSure: boolean;
  /** When not sure: everything since the tag, the tag included. */
  held: string;
};

export class ThinkTags {
  #buffer = "";
  #thought: Thought | undefined;
  /** The last character of the text. */
  #last = "";
  /** The first characters of the current line. */
  #line = "";
  #isFenced = false;
  #hasText = false;
  #isAfterThought = false;

  feed(chunk: string): Piece[] {
    this.#buffer += chunk;
    return this.#drain(false);
  }

  /** At the end of the stream. Reasoning without a closing tag stays reasoning if its tag began a line. */
  flush(): Piece[] {
    return this.#drain(true);
  }

  #drain(isEnd: boolean): Piece[] {
    const pieces: Piece[] = [];
    let goesOn = true;
    while (goesOn) goesOn = this.#thought ? this.#readThought(pieces, isEnd) : this.#readText(pieces, isEnd);
    return pieces.filter(({ text }) => text !== "");
  }

  /** Reads up to the next opening tag. True when there is more to do. */
  #readText(pieces: Piece[], isEnd: boolean): boolean {
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

  /** Reads up to the closing tag. True when there is more to do. */
  #readThought(pieces: Piece[], isEnd: boolean): boolean {
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
    // Blank lines between reasoning and answer are dropped.
    const told = this.#isAfterThought && !this.#hasText ? text.trimStart() : text;
    if (text !== "") this.#last = text.at(-1) ?? "";
    for (const character of text) this.#follow(character);
    if (told.trim() !== "") this.#hasText = true;
    pieces.push({ kind: "text", text: told });
  }

  /** Keeps track of the current line and of code blocks. */
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
