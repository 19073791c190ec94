// The text of one reply on its way to the user: without recalled memory that a model repeats, without blanks at either end.
// What went out is the text, so streamed, returned, stored and synced are the same by construction.
import { isWhitespaceUnit } from "@hermes-memory/core/lib";
import { EchoScrubber, StreamingContextScrubber } from "@hermes-memory/core/providers";

export class ReplyText {
  /** First: it knows what was injected. Undefined when nothing was. */
  readonly #echoes: EchoScrubber | undefined;
  readonly #scrubber = new StreamingContextScrubber();
  readonly #emit: (text: string) => void;
  #text = "";
  #heldBlanks = "";

  /** `recall`: what this turn's requests hold of it, in its fence; "" for none. */
  constructor(emit: (text: string) => void, recall = "") {
    this.#emit = emit;
    this.#echoes = recall === "" ? undefined : new EchoScrubber(recall);
  }

  /** Everything told so far. */
  get text(): string {
    return this.#text;
  }

  feed(delta: string): void {
    this.#tell(this.#scrubber.feed(this.#echoes?.feed(delta) ?? delta));
  }

  /** The model has ended. A fence that was never closed is dropped with what is behind it. A reply in several pieces goes on with `feed`. */
  end(): void {
    this.#tell(this.#scrubber.feed(this.#echoes?.end() ?? "") + this.#scrubber.flush());
    this.#scrubber.reset();
  }

  /** Blanks wait until something follows them: at the end of the reply they would be cut off. */
  #tell(text: string): void {
    let end = text.length;
    while (end > 0 && isWhitespaceUnit(text.charCodeAt(end - 1))) end -= 1;
    if (end === 0) {
      this.#heldBlanks += text;
      return;
    }
    let out = this.#heldBlanks + text.slice(0, end);
    this.#heldBlanks = text.slice(end);
    if (this.#text === "") out = withoutLeadingBlanks(out);
    if (out === "") return;
    this.#text += out;
    this.#emit(out);
  }
}

function withoutLeadingBlanks(text: string): string {
  let start = 0;
  while (start < text.length && isWhitespaceUnit(text.charCodeAt(start))) start += 1;
  return text.slice(start);
}
