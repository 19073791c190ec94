// Files that are one JSON value: a huge array element by element, a smaller file at once.
import { readFile, stat } from "node:fs/promises";
import { describeCause, errnoCode } from "@hermes-memory/core/internal/lib";
import type { Reading } from "../reader.ts";
import { fileChunks } from "./chunks.ts";
import { type Json, jsonOf, parsedJson, recordOf } from "./values.ts";

const MIB = 1024 ** 2;
/** Node.js cannot hold a text of more than 512 MiB; half of it leaves room for the parsed value. */
const MAX_BYTES = 256 * MIB;

export type JsonItem = {
  /** Position in the array, from 0. Broken elements are counted too. */
  readonly index: number;
  /** Where the element begins, from 1. */
  readonly line: number;
  readonly value: unknown;
};

type ArrayOptions = {
  /** The array is the value of this property of a top-level object; several names: of objects in it. If missing: the file is the array. */
  readonly at?: readonly string[];
  /** Told the other properties of those objects up to 1 MiB, those after the array only when it was read to its end. */
  readonly beside?: (name: string, value: unknown) => void;
  readonly maxItemBytes?: number;
};

/**
 * Elements of a JSON array, each parsed on its own, so that memory holds one of them. A broken element or one above 256 MiB is reported
 * and left out. When the file ends in the middle, the elements before are given and the end is reported. Throws when the first
 * character shows that the file holds something else.
 */
export async function* jsonArrayItems(
  chunks: AsyncIterable<Uint8Array>,
  told: Pick<Reading, "signal" | "malformed">,
  { at = [], beside, maxItemBytes = MAX_BYTES }: ArrayOptions = {},
): AsyncGenerator<JsonItem> {
  const parts = new Parts(at, maxItemBytes);
  for await (const chunk of chunks) {
    told.signal.throwIfAborted();
    for (const { kind, index, line, text } of parts.push(chunk)) {
      const value = text === undefined ? undefined : jsonOf(text);
      if (kind === "beside") for (const one of Object.entries(recordOf(value) ?? {})) beside?.(...one);
      else if (text === undefined)
        told.malformed(line, `element ${index} is larger than ${maxItemBytes} bytes`);
      else if (value === undefined) told.malformed(line, `element ${index} is not valid JSON`);
      else yield { index, line, value };
    }
  }
  const unfinished = parts.unfinished();
  if (unfinished !== undefined) told.malformed(unfinished.line, unfinished.reason);
}

/** The value of a JSON file. Throws when it is too large or does not parse, as while a program is writing it. */
export async function wholeJson(
  path: string,
  told: Pick<Reading, "signal" | "advanced">,
  maxBytes: number = MAX_BYTES,
): Promise<unknown> {
  const { size } = await stat(path);
  if (size > maxBytes)
    throw new Error(
      `the file has ${Math.ceil(size / MIB)} MiB; at most ${Math.floor(maxBytes / MIB)} MiB can be read`,
    );
  return parsedWhole(fileChunks(path, told), maxBytes);
}

/** A small file beside a transcript. It may be missing or damaged, and then the facts in it stay unknown. */
export async function recordAt(path: string): Promise<Json | undefined> {
  return recordOf(jsonOf(await readFile(path, "utf8").catch(() => undefined)));
}

/** One of many files of a unit. It may be missing; one that cannot be read is reported. */
export async function recordIn(path: string, reading: Reading): Promise<Json | undefined> {
  try {
    const record = recordOf(await wholeJson(path, reading));
    if (record === undefined) reading.unreadable(path, "not a JSON object");
    return record;
  } catch (cause) {
    reading.signal.throwIfAborted();
    if (errnoCode(cause) !== "ENOENT") reading.unreadable(path, describeCause(cause));
    return undefined;
  }
}

/**
 * For a list beside many transcripts, which all ask for it: what was read last is kept until one of its files changes, also where there
 * is none of them.
 */
export function lastRead<T>(): (files: readonly string[], read: () => Promise<T>) => Promise<T> {
  let last: { readonly stamp: string; readonly value: T } | undefined;
  return async (files, read) => {
    const stamps = files.map(async (path) => {
      const found = await stat(path).catch(() => undefined);
      return `${path}:${found?.size}:${found?.mtimeMs}`;
    });
    const stamp = (await Promise.all(stamps)).join(" ");
    if (last?.stamp !== stamp) last = { stamp, value: await read() };
    return last.value;
  };
}

/** The value of bytes that come from elsewhere, such as an archive. */
export async function parsedWhole(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number = MAX_BYTES,
): Promise<unknown> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new Error(`more than ${Math.floor(maxBytes / MIB)} MiB of JSON`);
    pieces.push(chunk);
  }
  try {
    return parsedJson(new TextDecoder().decode(Buffer.concat(pieces)));
  } catch (cause) {
    throw new Error(`not valid JSON, perhaps because it is still being written: ${describeCause(cause)}`);
  }
}

type Part = {
  /** `beside`: a property of the object around the array, as the text of an object with this one property. */
  readonly kind: "item" | "beside";
  readonly index: number;
  readonly line: number;
  /** Undefined when it is too large. */
  readonly text: string | undefined;
};

const NEWLINE = 0x0a;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const BYTE_ORDER_MARK: ReadonlySet<number> = new Set([0xef, 0xbb, 0xbf]);

/** Cuts the bytes at the commas between elements. Looks at brackets and strings only; whether a part is valid JSON is for the parser. */
class Parts {
  /** Names of the properties that lead to the array. */
  readonly #names: readonly string[];
  readonly #maxItemBytes: number;
  #place: "before" | "array" | "object" | "after" = "before";
  /** How many of the names have been followed; all of them: the array was found. */
  #followed = 0;
  /** Open objects around the place. */
  #objects = 0;
  #line = 1;
  #index = 0;
  /** Of the current element: its bytes so far, their count, its line (0: not begun), open brackets, string state. */
  #pieces: Uint8Array[] = [];
  #bytes = 0;
  #partLine = 0;
  #depth = 0;
  #string: "outside" | "inside" | "escaped" = "outside";

  constructor(names: readonly string[], maxItemBytes: number) {
    this.#names = names;
    this.#maxItemBytes = maxItemBytes;
  }

  *push(chunk: Uint8Array): Generator<Part> {
    let from = 0;
    for (let at = 0; at < chunk.length; at++) {
      if (this.#string === "inside") at = endOfPlainText(chunk, at); // most bytes are in strings
      if (at === chunk.length) break;
      const byte = chunk[at] ?? 0;
      if (byte === NEWLINE) this.#line += 1;
      if (this.#place === "after") return;
      if (this.#place === "before") {
        this.#begin(byte);
        from = at + 1;
      } else if (this.#string !== "outside") {
        if (this.#string === "escaped") this.#string = "inside";
        else if (byte === BACKSLASH) this.#string = "escaped";
        else if (byte === QUOTE) this.#string = "outside";
      } else if (!isSpace(byte)) {
        if (this.#partLine === 0 && byte !== COMMA && byte !== CLOSE_LIST) this.#partLine = this.#line;
        if (byte === QUOTE) this.#string = "inside";
        else if (this.#depth === 0 && this.#leadsOn(byte, chunk.subarray(from, at))) {
          if (byte === OPEN_LIST) this.#place = "array";
          else this.#objects += 1;
          this.#followed += 1;
          this.#reset();
          from = at + 1;
        } else if (byte === OPEN_LIST || byte === OPEN_OBJECT) this.#depth += 1;
        else if (this.#depth > 0 && (byte === CLOSE_LIST || byte === CLOSE_OBJECT)) this.#depth -= 1;
        else if (this.#depth === 0 && (byte === COMMA || byte === this.#close)) {
          this.#keep(chunk.subarray(from, at));
          if (this.#partLine !== 0 || byte === COMMA) yield this.#take();
          from = at + 1;
          if (byte === this.#close) this.#leave();
        }
      }
    }
    if (this.#place === "array" || this.#place === "object") this.#keep(chunk.subarray(from));
  }

  unfinished(): { line: number; reason: string } | undefined {
    if (this.#place === "after") return undefined;
    if (this.#place === "before") return { line: 1, reason: "the file is empty" };
    const where = this.#partLine === 0 ? "before" : "in the middle of";
    return { line: this.#partLine || this.#line, reason: `the file ends ${where} element ${this.#index}` };
  }

  #begin(byte: number): void {
    if (isSpace(byte) || BYTE_ORDER_MARK.has(byte)) return;
    const isArray = this.#names.length === 0;
    if (byte !== (isArray ? OPEN_LIST : OPEN_OBJECT))
      throw new Error(`not a JSON ${isArray ? "array" : "object"}`);
    this.#place = isArray ? "array" : "object";
    if (!isArray) this.#objects = 1;
  }

  get #close(): number {
    return this.#place === "array" ? CLOSE_LIST : CLOSE_OBJECT;
  }

  /** Whether the value that begins with this bracket is the next of the properties that lead to the array. */
  #leadsOn(bracket: number, piece: Uint8Array): boolean {
    const name = this.#names[this.#followed];
    if (this.#place !== "object" || name === undefined || this.#bytes + piece.length > MIB) return false;
    if (bracket !== (this.#followed === this.#names.length - 1 ? OPEN_LIST : OPEN_OBJECT)) return false;
    const before = Buffer.concat([...this.#pieces, piece])
      .toString("utf8")
      .trimEnd();
    return before.charCodeAt(before.length - 1) === COLON && jsonOf(before.slice(0, -1)) === name;
  }

  #leave(): void {
    if (this.#place === "object") this.#objects -= 1;
    // After the array comes the rest of the object: a comma, which ends an empty part, and more properties.
    this.#place = this.#objects > 0 ? "object" : "after";
  }

  get #maxBytes(): number {
    return this.#place === "array" ? this.#maxItemBytes : MIB;
  }

  #keep(piece: Uint8Array): void {
    this.#bytes += piece.length;
    if (this.#bytes > this.#maxBytes) this.#pieces = [];
    else if (piece.length > 0) this.#pieces.push(piece);
  }

  #take(): Part {
    const kind = this.#place === "array" ? "item" : "beside";
    const whole =
      this.#bytes > this.#maxBytes ? undefined : Buffer.concat(this.#pieces).toString("utf8").trim();
    const part: Part = {
      kind,
      index: this.#index,
      line: this.#partLine || this.#line,
      text: kind === "item" || whole === undefined ? whole : `{${whole}}`,
    };
    if (kind === "item") this.#index += 1;
    this.#reset();
    return part;
  }

  #reset(): void {
    this.#pieces = [];
    this.#bytes = 0;
    this.#partLine = 0;
  }
}

/** Where the next quote or backslash is, or the length. */
function endOfPlainText(chunk: Uint8Array, from: number): number {
  let at = from;
  while (at < chunk.length && chunk[at] !== QUOTE && chunk[at] !== BACKSLASH) at += 1;
  return at;
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === NEWLINE || byte === 0x0d || byte === 0x09;
}
