// Reads the bytes of a vendor's answer while a proxy relays them: as a stream of events, or as one JSON body.
import type { Usage } from "@hermes-memory/agent/internal/models";
import {
  isRecord,
  JsonNesting,
  outsideJsonOr,
  pyStrip,
  withoutUndefined,
} from "@hermes-memory/core/internal/lib";
import { type AssistantMessage, newMessage } from "@hermes-memory/core/internal/message";
import type { JsonObject } from "../problem.ts";
import { type SseEvent, SseEvents } from "./sse.ts";
import type { Finish, ReplyReader } from "./wire.ts";

type ReadReply = ReturnType<ReplyReader["end"]>;

/** What a wire makes of the events. */
type Collector = {
  /** The data of one event: parsed, or the text if it is no object. True when this event, or an earlier one, ends the reply. */
  take(data: string | JsonObject, name: string): boolean;
  end(): ReadReply;
};

/** More than any model writes. What comes after it is relayed, but not kept. */
const MOST_BYTES = 64 * 1024 * 1024;

export class StreamReplyReader implements ReplyReader {
  readonly #events = new SseEvents();
  readonly #collector: Collector;
  #bytes = 0;
  #isEnding = false;

  constructor(collector: Collector) {
    this.#collector = collector;
  }

  get isEnding(): boolean {
    return this.#isEnding;
  }

  push(bytes: Uint8Array): void {
    this.#bytes += bytes.length;
    if (this.#bytes > MOST_BYTES) return;
    for (const event of this.#events.push(bytes)) this.#take(event);
  }

  end(): ReadReply {
    const last = this.#events.end();
    if (last !== undefined) this.#take(last);
    return this.#collector.end();
  }

  #take({ data, name }: SseEvent): void {
    if (data === undefined || data === "") return;
    const value = outsideJsonOr(data, data);
    if (this.#collector.take(isRecord(value) ? value : data, name)) this.#isEnding = true;
  }
}

export class JsonReplyReader implements ReplyReader {
  readonly #read: (body: JsonObject) => ReadReply;
  readonly #nesting = new JsonNesting();
  #pieces: Uint8Array[] = [];
  #bytes = 0;
  #isEnding = false;

  constructor(read: (body: JsonObject) => ReadReply) {
    this.#read = read;
  }

  /** True when the braces of the body are closed. */
  get isEnding(): boolean {
    return this.#isEnding;
  }

  push(bytes: Uint8Array): void {
    for (const byte of bytes) {
      const before = this.#nesting.depth;
      this.#nesting.step(byte);
      if (before === 1 && this.#nesting.depth === 0) this.#isEnding = true;
    }
    this.#bytes += bytes.length;
    if (this.#bytes <= MOST_BYTES) this.#pieces.push(bytes.slice());
    else this.#pieces = [];
  }

  end(): ReadReply {
    const text = new TextDecoder().decode(Buffer.concat(this.#pieces));
    const body = outsideJsonOr(text, undefined, { maxChars: MOST_BYTES });
    return isRecord(body) ? this.#read(body) : undefined;
  }
}

type Facts = {
  /** Undefined: the answer broke off. */
  readonly finish: Finish | undefined;
  readonly usage: Usage | undefined;
  readonly responseId: string | undefined;
  readonly model: string | undefined;
  readonly itemIds?: readonly string[];
};

/** Undefined for a reply that says nothing and calls nothing: an error, or an empty answer. */
export function replyMessage(draft: Omit<AssistantMessage, "meta">, facts: Facts): ReadReply {
  const { content, toolCalls, vendor = {} } = draft;
  const hasText = typeof content === "string" ? pyStrip(content) !== "" : (content ?? []).length > 0;
  if (!hasText && toolCalls.length === 0 && Object.keys(vendor).length === 0) return undefined;
  const { finish = "interrupted", ...others } = facts;
  const kept = Object.keys(vendor).length === 0 ? undefined : vendor;
  const finishReason = finish === "interrupted" ? undefined : finish;
  const message = newMessage(withoutUndefined({ ...draft, vendor: kept }), { finishReason });
  return { message, finish, ...others };
}
