// Streamed text as a terminal may see it. What can only be judged with what comes next, half a line end or half a
// character, waits for it.
import { normalizeNewlines } from "@hermes-memory/core/lib";
import { printable } from "../printing.ts";

export class SafeText {
  #held = "";

  feed(chunk: string): string {
    const text = this.#held + chunk;
    const isOpen = /[\r\ud800-\udbff]$/.test(text);
    this.#held = isOpen ? text.slice(-1) : "";
    return safe(isOpen ? text.slice(0, -1) : text);
  }

  /** What was waiting, when nothing comes any more. */
  flush(): string {
    const rest = this.#held;
    this.#held = "";
    return safe(rest);
  }
}

/** A whole text: no control character but newline and tab. */
export function safe(text: string): string {
  return printable(normalizeNewlines(text).toWellFormed());
}
