// Reads the bytes of a vendor's answer while a proxy relays them: as a stream of events, or as one JSON body.
import { normalizeUsage } from "@hermes-memory/agent/internal/models";
import { isRecord, outsideJsonOr, pyStrip } from "@hermes-memory/core/internal/lib";
import { type AssistantMessage, newMessage } from "@hermes-memory/core/internal/message";
import type { JsonObject } from "../problem.ts";
import { textOr, vendorField } from "./fields.ts";
import { type SseEvent, SseEvents } from "./sse.ts";
import type { Finish, ReadReply, ReplyCollector } from "./wire.ts";

/** More than any model writes. What comes after it is relayed, but not kept. */
const MOST_BYTES = 64 * 1024 * 1024;

export class StreamReader<Collector extends ReplyCollector = ReplyCollector> {
  readonly collector: Collector;
  readonly #events = new SseEvents();
  #bytes = 0;
  #isEnding = false;

  constructor(collector: Collector) {
    this.collector = collector;
  }

  /** True once the bytes that end the reply for a client have been pushed: they are held back until the reply is stored. */
  get isEnding(): boolean {
    return this.#isEnding;
  }

  /** A piece of the body, in order. */
  push(bytes: Uint8Array): void {
    for (const event of this.#events.push(bytes)) this.take(event);
  }

  /** Its data, if it is an object. */
  take({ data, bytes }: SseEvent): JsonObject | undefined {
    if (data === undefined || data === "") return undefined;
    const value = outsideJsonOr(data, data);
    const read = isRecord(value) ? value : undefined;
    this.#bytes += bytes.length;
    if (this.#bytes <= MOST_BYTES && this.collector.take(read ?? data)) this.#isEnding = true;
    return read;
  }

  end(): ReadReply | undefined {
    const last = this.#events.end();
    if (last !== undefined) this.take(last);
    return this.collector.end();
  }
}

export function readBody(collector: ReplyCollector, bytes: Uint8Array): ReadReply | undefined {
  const body = outsideJsonOr(new TextDecoder().decode(bytes), undefined, { maxChars: MOST_BYTES });
  if (!isRecord(body)) return undefined;
  collector.whole(body);
  return collector.end();
}

/** What the replies of all vendors have. */
export abstract class CollectedReply {
  id: string | undefined;
  usage: JsonObject | undefined;
  isFailed = false;
  protected finish: Finish | undefined;
  #model: string | undefined;

  protected envelope({ id, model, usage }: JsonObject): void {
    this.id ??= textOr(id, undefined);
    this.#model ??= textOr(model, undefined);
    if (!isRecord(usage)) return;
    // The last event of Anthropic repeats only some of the figures of the first.
    const known = Object.entries(usage).filter(([, value]) => value !== null && value !== undefined);
    this.usage = { ...this.usage, ...Object.fromEntries(known) };
  }

  /** Undefined for a reply that says nothing and calls nothing: an error, or an empty answer. */
  protected stored(
    { content, toolCalls, vendor = {} }: Omit<AssistantMessage, "meta" | "role">,
    dialect: Parameters<typeof normalizeUsage>[1],
    more: Pick<ReadReply, "itemIds"> = {},
  ): ReadReply | undefined {
    const hasText = typeof content === "string" ? pyStrip(content) !== "" : (content ?? []).length > 0;
    if (!hasText && toolCalls.length === 0 && Object.keys(vendor).length === 0) return undefined;
    const { finish = "interrupted" } = this; // undefined: the answer broke off
    const usage = this.usage === undefined ? undefined : normalizeUsage(this.usage, dialect);
    const message = newMessage(
      { role: "assistant", content, toolCalls, ...vendorField(vendor) },
      { finishReason: finish === "interrupted" ? undefined : finish },
    );
    return { message, finish, usage, responseId: this.id, model: this.#model, ...more };
  }
}
