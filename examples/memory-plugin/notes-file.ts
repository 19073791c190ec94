// Notes in a file, one JSON object per line. The file is small and local, so it is read and written synchronously; slower storage should
// be asynchronous.
import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";

export type Note = { readonly from: string; readonly text: string };

export class NotesFile {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  add(note: Note): void {
    appendFileSync(this.#path, `${JSON.stringify(note)}\n`, { mode: 0o600 });
  }

  /** Removes the notes from this origin that contain the text. */
  remove({ from, text }: Note): void {
    const rest = this.#read().filter((note) => note.from !== from || !note.text.includes(text));
    const lines = rest.map((note) => `${JSON.stringify(note)}\n`);
    writeFileSync(`${this.#path}.new`, lines.join(""), { mode: 0o600 });
    renameSync(`${this.#path}.new`, this.#path); // a concurrent reader sees either the old file or the new one
  }

  /** Removes all notes that contain the text, unless `isLook` is set. Returns their number. */
  forget(text: string, isLook: boolean): number {
    const holding = this.#read().filter((note) => note.text.includes(text));
    if (!isLook) for (const note of holding) this.remove(note);
    return holding.length;
  }

  /** The three notes that share the most words with the text. */
  find(text: string): string[] {
    const asked = new Set(wordsOf(text));
    const scored = this.#read().map((note) => ({
      text: note.text,
      score: wordsOf(note.text).filter((word) => asked.has(word)).length,
    }));
    const best = scored.filter(({ score }) => score > 0).sort((one, other) => other.score - one.score);
    return best.slice(0, 3).map((note) => note.text);
  }

  #read(): Note[] {
    const text = existsSync(this.#path) ? readFileSync(this.#path, "utf8") : "";
    return text.split("\n").flatMap((line) => (line === "" ? [] : (JSON.parse(line) as Note)));
  }
}

function wordsOf(text: string): string[] {
  return [...new Set(text.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu))];
}
