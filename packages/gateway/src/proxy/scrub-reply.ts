// A relayed reply without memory that the model repeats in a fence (`AnswerScrubber`). An event that says nothing of it keeps its bytes, and
// none is added or dropped: the Responses API numbers them.
import { isRecord } from "@hermes-memory/core/internal/lib";
import { AnswerScrubber, scrubAnswer } from "@hermes-memory/core/internal/providers";
import type { JsonObject } from "../types.ts";
import { recordIn, type SseEvent, SseEvents, sseEvent } from "../wires/sse.ts";
import { withoutErrorText } from "./users-may.ts";

/** The events of a streamed reply. `isUsers`: without the texts of the vendor's errors. */
export async function* cleanEvents(
  chunks: AsyncIterable<Uint8Array>,
  isUsers: boolean,
): AsyncGenerator<SseEvent, void> {
  const events = new SseEvents();
  const texts = new EventTexts();
  const clean = (event: SseEvent): readonly SseEvent[] => {
    const body = isUsers && event.body !== undefined ? withoutErrorText(event.body) : undefined;
    return texts.take(body === undefined ? event : eventOf(event, body));
  };
  for await (const chunk of chunks) for (const event of events.push(chunk)) yield* clean(event);
  const rest = events.end();
  if (rest !== undefined) yield* clean(rest);
  yield* texts.end();
}

/** A reply that is no stream: the same bytes if there is nothing to take out. */
export function cleanBody(bytes: Buffer<ArrayBuffer>, isUsers: boolean): Buffer<ArrayBuffer> {
  const text = bytes.toString("utf8");
  const given = isUsers || FENCED.test(text) ? recordIn(text) : undefined;
  if (given === undefined) return bytes;
  const shown = isUsers ? (withoutErrorText(given) ?? given) : given;
  const body = FENCED.test(text) ? withoutFences(shown) : shown;
  return body === given ? bytes : Buffer.from(JSON.stringify(body));
}

const FENCED = /memory-context/i;

type Delta = {
  /** Which text of the reply it belongs to. */
  readonly key: string;
  readonly text: string;
  with(text: string): JsonObject;
};

class EventTexts {
  readonly #scrubbers = new Map<string, AnswerScrubber>();
  /** An event whose text ends with what may be a tag, and events behind it that say nothing. */
  #waiting: { readonly event: SseEvent; readonly delta: Delta; readonly shown: string } | undefined;
  #behind: SseEvent[] = [];

  take(event: SseEvent): readonly SseEvent[] {
    const { body } = event;
    if (this.#waiting !== undefined && (event.data === undefined || body?.type === "ping")) {
      this.#behind.push(event);
      return [];
    }
    const delta = body === undefined ? undefined : deltaIn(body);
    if (delta === undefined) return [...this.end(), body === undefined ? event : whole(event, body)];
    const before = this.#waiting?.delta.key === delta.key ? this.#release("") : this.end();
    const scrubber = this.#scrubbers.get(delta.key) ?? new AnswerScrubber();
    this.#scrubbers.set(delta.key, scrubber);
    const shown = scrubber.feed(delta.text);
    if (!scrubber.isHolding) return [...before, written(event, delta, shown)];
    this.#waiting = { event, delta, shown };
    return before;
  }

  /** Nothing more is said in the text that waits. */
  end(): readonly SseEvent[] {
    if (this.#waiting === undefined) return [];
    return this.#release(this.#scrubbers.get(this.#waiting.delta.key)?.end() ?? "");
  }

  #release(rest: string): readonly SseEvent[] {
    if (this.#waiting === undefined) return [];
    const { event, delta, shown } = this.#waiting;
    const released = [written(event, delta, shown + rest), ...this.#behind];
    this.#waiting = undefined;
    this.#behind = [];
    return released;
  }
}

function written(event: SseEvent, delta: Delta, text: string): SseEvent {
  return text === delta.text ? event : eventOf(event, delta.with(text));
}

function whole(event: SseEvent, body: JsonObject): SseEvent {
  return FENCED.test(event.data ?? "") ? eventOf(event, withoutFences(body)) : event;
}

function eventOf({ name }: SseEvent, body: JsonObject): SseEvent {
  return { bytes: Buffer.from(sseEvent(body, name)), name, data: JSON.stringify(body), body };
}

function deltaIn(body: JsonObject): Delta | undefined {
  const { type, delta, choices } = body;
  if (type === "response.output_text.delta" && typeof delta === "string") {
    const key = `${String(body.output_index)} ${String(body.content_index)}`;
    return { key, text: delta, with: (text) => ({ ...body, delta: text }) };
  }
  if (type === "content_block_delta" && isRecord(delta) && typeof delta.text === "string")
    return {
      key: String(body.index),
      text: delta.text,
      with: (text) => ({ ...body, delta: { ...delta, text } }),
    };
  const [choice, ...others]: readonly unknown[] = Array.isArray(choices) ? choices : [];
  if (!isRecord(choice) || !isRecord(choice.delta) || typeof choice.delta.content !== "string")
    return undefined;
  const said = choice.delta;
  return {
    key: `choice ${String(choice.index)}`,
    text: choice.delta.content,
    with: (text) => ({ ...body, choices: [{ ...choice, delta: { ...said, content: text } }, ...others] }),
  };
}

/** Where replies have their texts. Arguments of calls are not among them. */
const WAY = ["choices", "message", "content", "output", "item", "part", "response"] as const;

function withoutFences(value: JsonObject): JsonObject {
  const changed: Record<string, unknown> = { ...value };
  const isText = /^(?:text|output_text|response\.output_text\.done)$/.test(String(value.type));
  if (isText && typeof value.text === "string") changed.text = scrubAnswer(value.text);
  for (const key of WAY) {
    const inner = value[key];
    if (key === "content" && typeof inner === "string") changed.content = scrubAnswer(inner);
    else if (isRecord(inner)) changed[key] = withoutFences(inner);
    else if (Array.isArray(inner))
      changed[key] = inner.map((each: unknown) => (isRecord(each) ? withoutFences(each) : each));
  }
  return changed;
}
