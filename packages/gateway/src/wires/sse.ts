// Server-sent events: a parser that keeps the exact bytes of each event, so that a proxy can relay, hold back or drop single events, and
// the text of an event to send. Pure.
import { isRecord, parseOutsideJson } from "@hermes-memory/core/internal/lib";
import type { JsonObject } from "../problem.ts";

export type SseEvent = {
  /** As they arrived, with the blank line that ends the event. The bytes of all events together are the bytes of the stream. */
  readonly bytes: Uint8Array;
  /** The field `event`; "" for none. */
  readonly name: string;
  /** The lines of data, joined by line breaks. Undefined: a comment, an event without data, or one that is too long to be read. */
  readonly data: string | undefined;
  /** The data, if it is a JSON object. */
  readonly body: JsonObject | undefined;
};

/** No vendor sends larger events except images, which no conversation keeps as text. */
const MOST_EVENT_BYTES = 8 * 1024 * 1024;

const LF = 0x0a;
const CR = 0x0d;

/** Splits a stream into events, however its bytes are cut into chunks. */
export class SseEvents {
  readonly #mostBytes: number;
  #pieces: Uint8Array[] = [];
  #length = 0;
  #isLineEmpty = true;
  /** The last byte was a carriage return: a line feed that follows belongs to the same line end. */
  #isAfterReturn = false;
  #isFirst = true;
  /** The beginning of the current event has been given out already, because it is too long. */
  #isTooLong = false;

  constructor({ mostBytes = MOST_EVENT_BYTES }: { readonly mostBytes?: number } = {}) {
    this.#mostBytes = mostBytes;
  }

  /** The events that end in this chunk. Of an event that is too long, the bytes come in several pieces without data. */
  push(chunk: Uint8Array): SseEvent[] {
    const events: SseEvent[] = [];
    let from = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at];
      if (byte !== LF && byte !== CR) {
        this.#isLineEmpty = false;
        this.#isAfterReturn = false;
        continue;
      }
      if (byte === LF && this.#isAfterReturn) {
        this.#isAfterReturn = false;
        continue;
      }
      this.#isAfterReturn = byte === CR;
      if (!this.#isLineEmpty) {
        this.#isLineEmpty = true;
        continue;
      }
      // A blank line. Its line feed may come with the next chunk: then it is the first byte of the next event, and means nothing.
      if (byte === CR && chunk[at + 1] === LF) {
        at += 1;
        this.#isAfterReturn = false;
      }
      this.#keep(chunk.subarray(from, at + 1));
      from = at + 1;
      events.push(this.#take());
      this.#isTooLong = false;
    }
    this.#keep(chunk.subarray(from));
    if (this.#length > this.#mostBytes) {
      this.#isTooLong = true;
      events.push(this.#take());
    }
    return events;
  }

  /** The bytes after the last blank line, as an event: some servers end the stream without one. */
  end(): SseEvent | undefined {
    return this.#length === 0 ? undefined : this.#take();
  }

  #keep(piece: Uint8Array): void {
    // A copy: the caller may use its buffer again.
    if (piece.length > 0) this.#pieces.push(piece.slice());
    this.#length += piece.length;
  }

  #take(): SseEvent {
    const [only, ...others] = this.#pieces;
    const bytes = only !== undefined && others.length === 0 ? only : Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#length = 0;
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    const { name, data } = this.#isTooLong ? { name: "", data: undefined } : fieldsIn(bytes, isFirst);
    return { bytes, name, data, body: data === undefined ? undefined : recordIn(data) };
  }
}

const BYTE_ORDER_MARK = "\ufeff";

function fieldsIn(bytes: Uint8Array, isFirst: boolean): Pick<SseEvent, "name" | "data"> {
  const decoded = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  const text = isFirst && decoded.startsWith(BYTE_ORDER_MARK) ? decoded.slice(1) : decoded;
  let name = "";
  let data: string | undefined;
  for (const line of text.split(/\r\n|\n|\r/)) {
    const colon = line.indexOf(":");
    if (line === "" || colon === 0) continue; // a comment
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "event") name = value;
    else if (field === "data") data = data === undefined ? value : `${data}\n${value}`;
  }
  return { name, data };
}

const MOST_CHARS = 64 * 1024 * 1024;

export function recordIn(text: string): JsonObject | undefined {
  const parsed = parseOutsideJson(text, { maxChars: MOST_CHARS });
  return parsed.ok && isRecord(parsed.value) ? parsed.value : undefined;
}

/** An event to send. JSON has no line breaks of its own, so it is one line of data. */
export function sseEvent(data: object | string, name = ""): string {
  const text = typeof data === "string" ? data : JSON.stringify(data);
  return `${name === "" ? "" : `event: ${name}\n`}data: ${text}\n\n`;
}

/** Keeps a connection open; clients ignore it. */
export const SSE_COMMENT = ": ping\n\n";
