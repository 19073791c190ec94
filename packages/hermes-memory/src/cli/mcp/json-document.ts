// JSON with the place of every member, so that one entry can be changed and every other byte stays as it is. Numbers,
// spacing and repeated keys of a file that belongs to another program are none of our business.
import { err, ok, type Result } from "@hermes-memory/core/lib";
import { type Misplaced, SyntaxMistake } from "./place.ts";

export type JsonMember = { readonly key: string; readonly start: number; readonly value: JsonNode };
export type JsonNode = {
  readonly start: number;
  readonly end: number;
  /** Only of an object. */
  readonly members?: readonly JsonMember[];
  /** Only of an array. */
  readonly items?: readonly JsonNode[];
};

/** Deeper files are not configuration, and the parser calls itself. */
const MAX_DEPTH = 500;
const WORD = /[-+.\w]*/y;
const PRIMITIVE = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

export function parseJsonDocument(text: string): Result<JsonNode, Misplaced> {
  try {
    return ok(new Parser(text).document());
  } catch (cause) {
    if (cause instanceof SyntaxMistake) return err(cause.in(text));
    throw cause;
  }
}

/** The last one wins, as in every JSON parser. */
export function memberOf(node: JsonNode, key: string): JsonMember | undefined {
  return node.members?.findLast((member) => member.key === key);
}

class Parser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  document(): JsonNode {
    if (this.#text.startsWith("\ufeff")) this.#at = 1;
    const node = this.#value(0);
    this.#skip();
    if (this.#at < this.#text.length) this.#fail("there is something behind the end of the document");
    return node;
  }

  #value(depth: number): JsonNode {
    this.#skip();
    const start = this.#at;
    if (depth > MAX_DEPTH) this.#fail("the document is nested too deeply");
    switch (this.#text[start]) {
      case "{":
        return { start, members: this.#members(depth), end: this.#at };
      case "[":
        return { start, items: this.#items(depth), end: this.#at };
      case '"':
        this.#string();
        return { start, end: this.#at };
      default:
        this.#primitive();
        return { start, end: this.#at };
    }
  }

  #members(depth: number): JsonMember[] {
    const members: JsonMember[] = [];
    this.#list("}", () => {
      const start = this.#at;
      if (this.#text[start] !== '"') this.#fail("a key in double quotes is expected here");
      const key = this.#string();
      this.#skip();
      if (this.#text[this.#at] !== ":") this.#fail("':' is expected here");
      this.#at += 1;
      members.push({ key, start, value: this.#value(depth + 1) });
    });
    return members;
  }

  #items(depth: number): JsonNode[] {
    const items: JsonNode[] = [];
    this.#list("]", () => void items.push(this.#value(depth + 1)));
    return items;
  }

  #list(close: string, item: () => void): void {
    this.#at += 1;
    this.#skip();
    if (this.#text[this.#at] === close) {
      this.#at += 1;
      return;
    }
    for (;;) {
      this.#skip();
      item();
      this.#skip();
      const next = this.#text[this.#at];
      if (next !== "," && next !== close) this.#fail(`',' or '${close}' is expected here`);
      this.#at += 1;
      if (next === close) return;
    }
  }

  #string(): string {
    const start = this.#at;
    this.#at += 1;
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (code === 0x22) break;
      if (Number.isNaN(code)) this.#fail("the document ends inside a string");
      if (code < 0x20) this.#fail("a control character inside a string has to be escaped");
      if (code === 0x5c) {
        ESCAPE.lastIndex = this.#at;
        if (!ESCAPE.test(this.#text)) this.#fail("there is no such escape");
        this.#at = ESCAPE.lastIndex;
      } else this.#at += 1;
    }
    this.#at += 1;
    return JSON.parse(this.#text.slice(start, this.#at)) as string;
  }

  #primitive(): void {
    WORD.lastIndex = this.#at;
    const [word = ""] = WORD.exec(this.#text) ?? [];
    if (!PRIMITIVE.test(word)) this.#fail("a value is expected here");
    this.#at += word.length;
  }

  #skip(): void {
    while (" \t\n\r".includes(this.#text[this.#at] ?? "x")) this.#at += 1;
  }

  #fail(reason: string): never {
    throw new SyntaxMistake(reason, this.#at);
  }
}
