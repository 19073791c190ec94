// One reply for the client out of several rounds with the model: calls of our tools are left out, the rest is numbered as if the model had
// said it at once, and usage is added up. Pure. Each wire has a class that takes the events of a stream, or whole bodies, round by round.
import { isRecord } from "@hermes-memory/core/internal/lib";
import type { JsonObject } from "../types.ts";
import { ChatReply, sentCall } from "../wires/chat.ts";
import { recordOf, recordsIn, textOr } from "../wires/fields.ts";
import { MessageReply } from "../wires/messages.ts";
import type { CollectedReply, ReadReply, ReplyPart } from "../wires/read-reply.ts";
import { ResponseReply } from "../wires/responses.ts";
import { type SseEvent, sseEvent } from "../wires/sse.ts";
import type { WireName } from "../wires/wire.ts";

export type HiddenCall = {
  readonly id: string;
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
};

/** What the model said in one round. */
export type Round = {
  /** Calls of our tools. */
  readonly hidden: readonly HiddenCall[];
  /** Ids of the calls of the client's tools. */
  readonly handedBack: readonly string[];
  /** The reply as the model's server wants to see it again, with all calls. JSON texts. */
  readonly items: readonly string[];
  readonly text: string;
  readonly responseId: string | undefined;
  /** The server reported an error: nothing follows. */
  readonly isFailed: boolean;
  /** To be stored. */
  readonly read: ReadReply | undefined;
};

export type RoundResult = { readonly id: string; readonly text: string; readonly isError: boolean };

/** `isOurs`: undefined if the model has no tools of ours. */
export function mergedReply(
  wire: WireName,
  isOurs: ((name: string) => boolean) | undefined,
  keepsNothing: boolean,
): MergedReply<CollectedReply> {
  switch (wire) {
    case "chat":
      return new ChatRounds(isOurs, () => new ChatReply());
    case "messages":
      return new MessagesRounds(isOurs, () => new MessageReply());
    case "responses":
      return new ResponsesRounds(isOurs, () => new ResponseReply(), keepsNothing);
    default:
      return wire satisfies never;
  }
}

/** The results of our tools, as items behind the reply, or as parts of the message with the client's results. JSON texts. */
export function resultItems(wire: WireName, results: readonly RoundResult[]): readonly string[] {
  switch (wire) {
    case "chat":
      return results.map(({ id, text }) => JSON.stringify({ role: "tool", tool_call_id: id, content: text }));
    case "messages":
      return results.map(({ id, text, isError }) =>
        JSON.stringify({
          type: "tool_result",
          tool_use_id: id,
          content: text,
          ...(isError ? { is_error: true } : {}),
        }),
      );
    case "responses":
      return results.map(({ id, text }) =>
        JSON.stringify({ type: "function_call_output", call_id: id, output: text }),
      );
    default:
      return wire satisfies never;
  }
}

/** As whole items of the list. */
export function resultMessages(wire: WireName, results: readonly RoundResult[]): readonly string[] {
  const items = resultItems(wire, results);
  return wire === "messages" ? [`{"role":"user","content":[${items.join(",")}]}`] : items;
}

// ---- What the three have in common ----

type Held = { readonly event: SseEvent; readonly data: JsonObject | undefined; readonly isSplit?: boolean };

/** More than any model writes. What comes after it is relayed, but not kept. */
const MOST_BYTES = 64 * 1024 * 1024;

abstract class MergedReply<Collector extends CollectedReply> {
  protected readonly isOurs: (name: string) => boolean;
  /** The server stores nothing: then reasoning can only be sent again with its encrypted content. */
  protected readonly keepsNothing: boolean;
  /** Without tools of ours: the bytes of the client's events stay as they are. */
  readonly #isPlain: boolean;
  readonly #newReply: () => Collector;
  protected reply: Collector;
  #bytes = 0;
  /** The bytes that end the current round have been pushed: they are held back until the reply is stored. */
  isEnding = false;
  /** Calls of our tools are left that are not run. */
  isCut = false;
  protected isFirst = true;
  /** Events that end the reply, unless another round follows. */
  protected held: Held[] = [];
  protected lastBody: JsonObject = {};
  #usageBefore: unknown;
  #shownBefore: readonly JsonObject[] = [];
  #count = 0;
  /** Of the current round: where the client sees a call, a block or an item. */
  readonly #places = new Map<unknown, number | "hidden">();

  constructor(
    isOurs: ((name: string) => boolean) | undefined,
    newReply: () => Collector,
    keepsNothing = false,
  ) {
    this.keepsNothing = keepsNothing;
    this.isOurs = isOurs ?? (() => false);
    this.#isPlain = isOurs === undefined;
    this.#newReply = newReply;
    this.reply = newReply();
  }

  /** An event of the current round: the bytes for the client, none if it is held back or left out. */
  push(event: SseEvent): readonly Uint8Array[] {
    const { data: text = "", body: data, bytes } = event;
    this.#bytes += bytes.length;
    if (text !== "" && this.#bytes <= MOST_BYTES && this.reply.take(data ?? text)) this.isEnding = true;
    if (!this.#isPlain) return this.show(event, data);
    if (!this.isEnding) return [bytes];
    this.held.push({ event, data });
    return [];
  }

  /** The body of the current round, if it is not a stream. */
  whole(body: JsonObject): void {
    this.lastBody = body;
    this.reply.whole(body);
  }

  /** The client gets another body than the model's last one. */
  get isChanged(): boolean {
    return !this.isFirst || this.round().hidden.length > 0;
  }

  /** What the current round said. */
  round(): Round {
    const { id: responseId, isFailed } = this.reply;
    const parts = this.reply.parts();
    const sent = parts.filter(({ item }) => this.isSentAgain(item));
    return {
      hidden: sent.flatMap(({ call }) => (call !== undefined && this.isOurs(call.name) ? [call] : [])),
      handedBack: sent.flatMap(({ call }) => (call === undefined || this.isOurs(call.name) ? [] : [call.id])),
      items: this.reply.asSent(sent).map((item) => JSON.stringify(item)),
      text: parts.map(({ text }) => text).join(""),
      responseId,
      isFailed,
      read: this.reply.end(),
    };
  }

  /** Another round follows. */
  next(): void {
    this.#usageBefore = this.usage;
    this.#shownBefore = this.shown;
    this.reply = this.#newReply();
    this.#bytes = 0;
    this.isEnding = false;
    this.#places.clear();
    this.isFirst = false;
    this.held = [];
  }

  protected abstract show(event: SseEvent, data: JsonObject | undefined): readonly Uint8Array[];

  /** The events that end the reply. */
  ending(): readonly Uint8Array[] {
    return this.#isPlain ? this.held.map(({ event }) => event.bytes) : this.end();
  }

  protected abstract end(): readonly Uint8Array[];

  /** The body for the client. */
  abstract merged(): JsonObject;

  protected isSentAgain(_item: JsonObject): boolean {
    return true;
  }

  /** Of all rounds. */
  protected get usage(): unknown {
    return added(this.#usageBefore, this.reply.usage);
  }

  /** Of all rounds: the items for the client. */
  protected get shown(): readonly JsonObject[] {
    const parts = this.reply.parts().filter((part) => this.#isShown(part));
    return [...this.#shownBefore, ...parts.map(({ item }) => item)];
  }

  #isShown({ call }: ReplyPart): boolean {
    return call === undefined || !this.isOurs(call.name);
  }

  protected placeOf(key: unknown): number | "hidden" | undefined {
    return this.#places.get(key);
  }

  /** Behind what the client was shown so far. `name`: of a call that may be ours. */
  protected place(key: unknown, name: unknown): number | "hidden" {
    const place = typeof name === "string" && this.isOurs(name) ? "hidden" : this.#count;
    if (place !== "hidden") this.#count += 1;
    this.#places.set(key, place);
    return place;
  }
}

function bytesOf(data: JsonObject, name: string): Uint8Array {
  return Buffer.from(sseEvent(data, name));
}

/** Adds numbers of the same name; everything else is from the last one. */
function added(one: unknown, other: unknown): unknown {
  if (typeof one === "number" && typeof other === "number") return one + other;
  if (!isRecord(one) || !isRecord(other)) return other ?? one;
  const names = [...new Set([...Object.keys(one), ...Object.keys(other)])];
  return Object.fromEntries(names.map((name) => [name, added(one[name], other[name])]));
}

// ---- Chat ----

class ChatRounds extends MergedReply<ChatReply> {
  #id: unknown;
  /** The texts of the rounds before. */
  #said = "";
  readonly #nameless = new Set<JsonObject>();

  protected show(event: SseEvent, data: JsonObject | undefined): readonly Uint8Array[] {
    if (data === undefined) {
      if (event.data === undefined) return [event.bytes]; // a comment
      this.held.push({ event, data }); // `[DONE]`
      return [];
    }
    this.#id ??= data.id;
    const [choice] = recordsIn(data.choices);
    if (choice === undefined) {
      if (!isRecord(data.usage)) return this.isFirst || this.reply.isFailed ? [event.bytes] : [];
      this.held.push({ event, data });
      return [];
    }
    const delta = recordOf(choice.delta);
    const { tool_calls: given, ...others } = delta;
    const text = textOr(delta.content, "");
    const isJoined = text !== "" && this.reply.text === text && this.#said !== "";
    const calls = this.reply.pieces.flatMap((each) => this.#shownPiece(each));
    const isChanged = calls.length !== recordsIn(given).length || calls.some(({ isMoved }) => isMoved);
    const { finish_reason: reason } = choice;
    if (reason != null) {
      const isEmpty = saysNothing(delta);
      const left = isEmpty ? data : { ...data, choices: [{ ...choice, delta: {} }] };
      this.held.push({ event, data: left, isSplit: !isEmpty });
      if (isEmpty) return [];
    }
    if (this.isFirst && !isChanged && reason == null) return [event.bytes];
    const said = isJoined ? { content: `\n\n${text}` } : {};
    const pieces = calls.length === 0 ? {} : { tool_calls: calls.map(({ piece }) => piece) };
    const { role: _role, ...rest } = others;
    const next = { ...(this.isFirst ? others : rest), ...said, ...pieces };
    if (saysNothing(next)) return [];
    const unfinished = { ...choice, delta: next, finish_reason: null };
    return [bytesOf({ ...data, id: this.#id, choices: [unfinished] }, event.name)];
  }

  #shownPiece({
    piece,
    call,
  }: ChatReply["pieces"][number]): readonly { readonly piece: JsonObject; readonly isMoved: boolean }[] {
    const { name } = recordOf(call.function);
    if (name === "") {
      this.#nameless.add(call);
      return [];
    }
    const place = this.placeOf(call) ?? this.place(call, call.type === "custom" ? undefined : name);
    if (place === "hidden") return [];
    // Its name came late: everything so far goes out now.
    if (this.#nameless.delete(call)) return [{ piece: { ...sentCall(call), index: place }, isMoved: true }];
    return [{ piece: { ...piece, index: place }, isMoved: place !== piece.index }];
  }

  override next(): void {
    this.#said = this.#whole();
    super.next();
  }

  #whole(): string {
    return [this.#said, this.reply.text].filter((each) => each !== "").join("\n\n");
  }

  protected end(): readonly Uint8Array[] {
    const { isCut } = this;
    return this.held.map(({ event, data, isSplit = false }) => {
      if (data === undefined || (this.isFirst && !isCut && !isSplit)) return event.bytes;
      const usage = isRecord(data.usage) ? { usage: this.usage } : {};
      return bytesOf({ ...data, id: this.#id, ...usage, choices: endedChoices(data, isCut) }, event.name);
    });
  }

  merged(): JsonObject {
    const { usage, lastBody, isCut } = this;
    const [choice = {}] = recordsIn(lastBody.choices);
    const { tool_calls: calls, ...message } = recordOf(choice.message);
    const kept = recordsIn(calls).filter((call) => !this.isOurs(textOr(recordOf(call.function).name, "")));
    const text = this.#whole();
    const whole = {
      ...message,
      ...(text === "" ? {} : { content: text }),
      ...(kept.length === 0 ? {} : { tool_calls: kept }),
    };
    const reason = isCut && kept.length === 0 ? { finish_reason: "stop" } : {};
    return {
      ...lastBody,
      choices: [{ ...choice, message: whole, ...reason }],
      ...(usage === undefined ? {} : { usage }),
    };
  }
}

function saysNothing(delta: JsonObject): boolean {
  return Object.values(delta).every((value) => value === null || value === "");
}

function endedChoices(data: JsonObject, isCut: boolean): readonly JsonObject[] {
  return recordsIn(data.choices).map((choice) => {
    const { tool_calls: _, ...delta } = recordOf(choice.delta);
    const isWrong = isCut && choice.finish_reason === "tool_calls";
    return { ...choice, delta, ...(isWrong ? { finish_reason: "stop" } : {}) };
  });
}

// ---- Anthropic's messages ----

class MessagesRounds extends MergedReply<CollectedReply> {
  protected show(event: SseEvent, data: JsonObject | undefined): readonly Uint8Array[] {
    switch (data?.type) {
      case "message_start":
        return this.isFirst ? [event.bytes] : [];
      case "content_block_start":
      case "content_block_delta":
      case "content_block_stop":
        return this.#blockEvent(event, data);
      case "message_delta":
      case "message_stop":
        this.held.push({ event, data });
        return [];
      default:
        return [event.bytes];
    }
  }

  #blockEvent(event: SseEvent, data: JsonObject): readonly Uint8Array[] {
    const { type, index } = data;
    const { type: kind, name } = recordOf(data.content_block);
    if (type === "content_block_start") this.place(index, kind === "tool_use" ? name : undefined);
    const place = this.placeOf(index);
    if (place === "hidden") return [];
    if (place === undefined || (place === index && this.isFirst)) return [event.bytes];
    return [bytesOf({ ...data, index: place }, event.name)];
  }

  protected end(): readonly Uint8Array[] {
    const { isCut } = this;
    return this.held.map(({ event, data }) => {
      if (data?.type !== "message_delta" || (this.isFirst && !isCut)) return event.bytes;
      const delta = recordOf(data.delta);
      const ended = { ...data, delta: { ...delta, ...stopReason(delta, isCut) }, usage: this.usage };
      return bytesOf(ended, event.name);
    });
  }

  merged(): JsonObject {
    const { lastBody, shown: content, usage, isCut } = this;
    return { ...lastBody, content, ...stopReason(lastBody, isCut), usage };
  }
}

function stopReason({ stop_reason: reason }: JsonObject, isCut: boolean): JsonObject {
  return isCut && reason === "tool_use" ? { stop_reason: "end_turn" } : {};
}

// ---- OpenAI's responses ----

class ResponsesRounds extends MergedReply<CollectedReply> {
  #isChanged = false;
  #sequence = 0;

  protected show(event: SseEvent, data: JsonObject | undefined): readonly Uint8Array[] {
    if (data === undefined) return [event.bytes];
    switch (data.type) {
      case "response.created":
      case "response.in_progress":
      case "response.queued":
        return this.isFirst ? [this.#numbered(event, data, withoutOurs(data, this.isOurs))] : [];
      case "response.completed":
      case "response.incomplete":
        this.held.push({ event, data });
        return [];
      default:
        return this.#itemEvent(event, data);
    }
  }

  #itemEvent(event: SseEvent, data: JsonObject): readonly Uint8Array[] {
    const { output_index: index, item } = data;
    if (typeof index !== "number") return [this.#numbered(event, data, data)];
    if (isRecord(item) && this.placeOf(index) === undefined)
      this.place(index, item.type === "function_call" ? item.name : undefined);
    const place = this.placeOf(index) ?? index;
    if (place === "hidden") {
      this.#isChanged = true;
      return [];
    }
    return [this.#numbered(event, data, place === index ? data : { ...data, output_index: place })];
  }

  /** Events are numbered; after one was left out, all that follow get other numbers. */
  #numbered(event: SseEvent, came: JsonObject, data: JsonObject): Uint8Array {
    const number = this.#sequence;
    this.#sequence += 1;
    const { sequence_number: given } = data;
    const isSame = data === came && !this.#isChanged && this.isFirst;
    if (isSame && (given === undefined || given === number)) return event.bytes;
    return bytesOf(given === undefined ? data : { ...data, sequence_number: number }, event.name);
  }

  protected override isSentAgain({ type, encrypted_content: content }: JsonObject): boolean {
    return type !== "reasoning" || !this.keepsNothing || typeof content === "string";
  }

  protected end(): readonly Uint8Array[] {
    const { shown: output, usage } = this;
    return this.held.map(({ event, data = {} }) => {
      const given = withoutOurs(data, this.isOurs);
      const isWhole = this.isFirst && !this.#isChanged;
      const response = { ...recordOf(given.response), output, usage };
      return this.#numbered(event, data, isWhole ? given : { ...given, response });
    });
  }

  merged(): JsonObject {
    const { response } = withoutOurs({ response: this.lastBody }, this.isOurs);
    return { ...recordOf(response), output: this.shown, usage: this.usage };
  }
}

/** Servers repeat the tools of the request in the response. The same object if there is none of ours. */
function withoutOurs(data: JsonObject, isOurs: (name: string) => boolean): JsonObject {
  const { response } = data;
  if (!isRecord(response) || !recordsIn(response.tools).some(({ name }) => isOurs(textOr(name, ""))))
    return data;
  const tools = recordsIn(response.tools).filter(({ name }) => !isOurs(textOr(name, "")));
  return { ...data, response: { ...response, tools } };
}
