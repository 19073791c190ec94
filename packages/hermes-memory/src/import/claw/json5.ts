// Parses JSON5, the format of OpenClaw's config: JSON with comments, trailing commas, unquoted keys and single quotes.

/** A mistake in the text. The message names the line and never quotes the text, which may hold a key. */
class Json5Error extends Error {
  constructor(reason: string, line: number) {
    super(`line ${line}: ${reason}`);
    this.name = "Json5Error";
  }
}

// A config nests about ten levels. The limit keeps a hostile file from exhausting the stack.
const MAX_DEPTH = 200;

const SPACE_OR_COMMENT = /(?:[\s\ufeff]|\/\/[^\n\r\u2028\u2029]*|\/\*[\s\S]*?\*\/)+/y;
const NAME = /[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*/uy;
const NUMBER = /[+-]?(?:0[xX][0-9a-fA-F]+|Infinity|NaN|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)/y;
const PLAIN_TEXT = { '"': /[^"\\\n\r]+/y, "'": /[^'\\\n\r]+/y } as const;
const WORDS: Readonly<Record<string, unknown>> = { true: true, false: false, null: null };
const ESCAPES: Readonly<Record<string, string>> = {
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "0": "\0",
};

/** Throws `Json5Error`. */
export function parseJson5(text: string): unknown {
  const reader = new Reader(text);
  const value = reader.value(0);
  reader.skipSpace();
  if (!reader.isAtEnd) throw reader.error("there is text after the end");
  return value;
}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#text.length;
  }

  error(reason: string): Json5Error {
    return new Json5Error(reason, this.#text.slice(0, this.#at).split("\n").length);
  }

  skipSpace(): void {
    this.#match(SPACE_OR_COMMENT);
  }

  value(depth: number): unknown {
    if (depth > MAX_DEPTH) throw this.error(`more than ${MAX_DEPTH} levels`);
    this.skipSpace();
    const next = this.#text[this.#at];
    if (next === "{") return this.#object(depth);
    if (next === "[") return this.#list(depth);
    if (next === '"' || next === "'") return this.#string(next);
    const number = this.#match(NUMBER);
    if (number !== undefined) return toNumber(number);
    const word = this.#match(NAME);
    if (word !== undefined && Object.hasOwn(WORDS, word)) return WORDS[word];
    throw this.error(next === undefined ? "the text ends too early" : "a value was expected");
  }

  #object(depth: number): Record<string, unknown> {
    const entries: [string, unknown][] = [];
    this.#at += 1;
    while (!this.#closes("}")) {
      const quote = this.#text[this.#at];
      const name = quote === '"' || quote === "'" ? this.#string(quote) : this.#match(NAME);
      if (name === undefined) throw this.error("a key was expected");
      this.skipSpace();
      if (this.#text[this.#at] !== ":") throw this.error("':' was expected");
      this.#at += 1;
      entries.push([name, this.value(depth + 1)]);
      this.#separator("}");
    }
    return Object.fromEntries(entries); // a key `__proto__` becomes an ordinary field
  }

  #list(depth: number): unknown[] {
    const values: unknown[] = [];
    this.#at += 1;
    while (!this.#closes("]")) {
      values.push(this.value(depth + 1));
      this.#separator("]");
    }
    return values;
  }

  #closes(bracket: "}" | "]"): boolean {
    this.skipSpace();
    if (this.#text[this.#at] !== bracket) return false;
    this.#at += 1;
    return true;
  }

  #separator(bracket: "}" | "]"): void {
    this.skipSpace();
    if (this.#text[this.#at] === ",") this.#at += 1;
    else if (this.#text[this.#at] !== bracket) throw this.error(`',' or '${bracket}' was expected`);
  }

  #string(quote: '"' | "'"): string {
    let value = "";
    this.#at += 1;
    for (;;) {
      value += this.#match(PLAIN_TEXT[quote]) ?? "";
      const next = this.#text[this.#at];
      if (next === quote) break;
      if (next !== "\\") throw this.error("a text is not closed");
      this.#at += 1;
      value += this.#escape();
    }
    this.#at += 1;
    return value;
  }

  #escape(): string {
    const letter = this.#text[this.#at];
    if (letter === undefined) throw this.error("a text is not closed");
    this.#at += 1;
    if (letter === "\r" && this.#text[this.#at] === "\n") this.#at += 1;
    if (/[\n\r\u2028\u2029]/.test(letter)) return ""; // the text goes on in the next line
    if (letter !== "x" && letter !== "u") return ESCAPES[letter] ?? letter;
    const length = letter === "x" ? 2 : 4;
    const digits = this.#text.slice(this.#at, this.#at + length);
    if (digits.length < length || /[^0-9a-fA-F]/.test(digits)) throw this.error("a wrong escape");
    this.#at += length;
    return String.fromCharCode(Number.parseInt(digits, 16));
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    if (found === undefined) return undefined;
    this.#at += found.length;
    return found;
  }
}

function toNumber(text: string): number {
  if (!/^[+-]?0x/i.test(text)) return Number(text);
  return (text.startsWith("-") ? -1 : 1) * Number(text.replace(/^[+-]/, ""));
}
