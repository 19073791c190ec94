// One reply for the client out of several rounds with the model: calls of our tools are left out, the rest is numbered as if the model had
// said it at once, and usage is added up. Pure. Each wire has a class that takes the events of a stream, or whole bodies, round by round.
import { isRecord, randomHex } from "@hermes-memory/core/internal/lib";
import type { JsonObject } from "../types.ts";
import { type SseEvent, sseEvent } from "../wires/sse.ts";
import type { WireName } from "../wires/wire.ts";

export type HiddenCall = {
  readonly id: string;
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
  /** As an item or a part of the wire, as JSON text. */
  readonly item: string;
};

/** What the model said in one round. */
export type Round = {
  /** Calls of our tools. */
  readonly hidden: readonly HiddenCall[];
  /** Ids of the calls of the client's tools. */
  readonly handedBack: readonly string[];
  /** The reply as the model's server wants to see it again, with all calls. JSON texts. */
  readonly items: readonly string[];
  /** The parts of it that the client was shown. JSON texts. */
  readonly shown: readonly string[];
  readonly text: string;
  /** Of the Responses API. */
  readonly responseId: string | undefined;
  /** The server reported an error: nothing follows. */
  readonly isFailed: boolean;
};

export type RoundResult = { readonly id: string; readonly text: string; readonly isError: boolean };

export interface MergedReply {
  /** An event of the current round: the bytes for the client, none if it is held back or left out. */
  push(event: SseEvent): readonly Uint8Array[];
  /** The body of the current round, if it is not a stream. */
  whole(body: JsonObject): void;
  /** What the current round said. */
  round(): Round;
  /** Another round follows, or not: `next` begins it. */
  next(): void;
  /** The events that end the reply. `isCut`: calls of our tools are left that are not run. */
  ending(isCut: boolean): readonly Uint8Array[];
  /** The body for the client. */
  merged(isCut: boolean): JsonObject;
}

export function mergedReply(
  wire: WireName,
  isOurs: (name: string) => boolean,
  keepsNothing: boolean,
): MergedReply {
  switch (wire) {
    case "chat":
      return new ChatRounds(isOurs);
    case "messages":
      return new MessagesRounds(isOurs);
    case "responses":
      return new ResponsesRounds(isOurs, keepsNothing);
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

const ENCODER = new TextEncoder();

function bytesOf(data: JsonObject, name: string): Uint8Array {
  return ENCODER.encode(sseEvent(data, name === "" ? undefined : name));
}

function dataOf({ data }: SseEvent): JsonObject | undefined {
  if (data === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(data);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Adds numbers of the same name; everything else is from the last one. */
function added(one: unknown, other: unknown): unknown {
  if (typeof one === "number" && typeof other === "number") return one + other;
  if (!isRecord(one) || !isRecord(other)) return other ?? one;
  const names = [...new Set([...Object.keys(one), ...Object.keys(other)])];
  return Object.fromEntries(names.map((name) => [name, added(one[name], other[name])]));
}

function textOr(value: unknown, other = ""): string {
  return typeof value === "string" ? value : other;
}

function listIn(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

function parsedInput(text: string): unknown {
  try {
    return JSON.parse(text === "" ? "{}" : text);
  } catch {
    return {};
  }
}

// ---- Chat ----

type ChatCall = {
  /** All fields that came, with the arguments so far. */
  call: JsonObject;
  arguments: string;
  name: string;
  /** Undefined until its name is known. */
  place: number | "hidden" | undefined;
};

class ChatRounds implements MergedReply {
  readonly #isOurs: (name: string) => boolean;
  #id: unknown;
  #isFirst = true;
  #isFailed = false;
  #texts: string[] = [];
  #held: { readonly event: SseEvent; readonly data: JsonObject | undefined; readonly isSplit?: boolean }[] =
    [];
  #usage: unknown;
  #bodies: JsonObject[] = [];
  // The current round
  #usageOfRound: JsonObject | undefined;
  #text = "";
  #reasoning: Record<string, unknown> = {};
  #calls = new Map<number, ChatCall>();

  constructor(isOurs: (name: string) => boolean) {
    this.#isOurs = isOurs;
  }

  push(event: SseEvent): readonly Uint8Array[] {
    const data = dataOf(event);
    if (data === undefined) return this.#otherEvent(event);
    if (data.error !== undefined) this.#isFailed = true;
    this.#id ??= data.id;
    const [choice] = listIn(data.choices);
    if (isRecord(data.usage)) this.#usageOfRound = data.usage;
    if (choice === undefined) {
      if (!isRecord(data.usage)) return this.#isFirst || this.#isFailed ? [event.bytes] : [];
      this.#held.push({ event, data });
      return [];
    }
    const delta = isRecord(choice.delta) ? choice.delta : {};
    const { tool_calls: _, ...others } = delta;
    const text = textOr(delta.content);
    const isJoined = text !== "" && this.#text === "" && this.#texts.some((each) => each !== "");
    this.#text += text;
    this.#keepReasoning(delta);
    const calls = listIn(delta.tool_calls).flatMap((piece) => this.#callPiece(piece));
    const isChanged =
      calls.length !== listIn(delta.tool_calls).length || calls.some(({ isMoved }) => isMoved);
    const { finish_reason: reason } = choice;
    if (reason != null) {
      const isEmpty = Object.values(delta).every((value) => value === null || value === "");
      const left = isEmpty ? data : { ...data, choices: [{ ...choice, delta: {} }] };
      this.#held.push({ event, data: left, isSplit: !isEmpty });
      if (isEmpty) return [];
    }
    if (this.#isFirst && !isChanged && reason == null) return [event.bytes];
    const said = isJoined ? { content: `\n\n${text}` } : {};
    const pieces = calls.length === 0 ? {} : { tool_calls: calls.map(({ piece }) => piece) };
    const { role: _role, ...rest } = others;
    const next = { ...(this.#isFirst ? others : rest), ...said, ...pieces };
    if (Object.values(next).every((value) => value === null || value === "")) return [];
    const unfinished = { ...choice, delta: next, finish_reason: null };
    return [bytesOf({ ...data, id: this.#id, choices: [unfinished] }, event.name)];
  }

  /** `[DONE]`, and comments. */
  #otherEvent(event: SseEvent): readonly Uint8Array[] {
    if (event.data === undefined) return [event.bytes];
    this.#held.push({ event, data: undefined });
    return [];
  }

  #keepReasoning(delta: JsonObject): void {
    for (const name of ["reasoning_content", "reasoning"])
      if (typeof delta[name] === "string")
        this.#reasoning[name] = textOr(this.#reasoning[name]) + delta[name];
    if (!Array.isArray(delta.reasoning_details)) return;
    const known = Array.isArray(this.#reasoning.reasoning_details) ? this.#reasoning.reasoning_details : [];
    this.#reasoning.reasoning_details = joinDetails(known, listIn(delta.reasoning_details));
  }

  #callPiece(piece: JsonObject): readonly { readonly piece: JsonObject; readonly isMoved: boolean }[] {
    const index = typeof piece.index === "number" ? piece.index : this.#calls.size;
    const about = isRecord(piece.function) ? piece.function : {};
    const known = this.#calls.get(index);
    const entry: ChatCall = known ?? { call: {}, arguments: "", name: "", place: undefined };
    if (known === undefined) this.#calls.set(index, entry);
    entry.name ||= textOr(about.name);
    entry.arguments += textOr(about.arguments);
    const { index: _, ...fields } = piece;
    entry.call = { ...fields, ...entry.call };
    if (entry.place === undefined && entry.name !== "") {
      const count = [...this.#calls.values()].filter(({ place }) => typeof place === "number").length;
      entry.place = this.#isOurs(entry.name) ? "hidden" : count;
      if (entry.place === "hidden") return [];
      if (known !== undefined) {
        // Its name came late: everything so far goes out now.
        const whole = {
          ...entry.call,
          index: entry.place,
          function: { name: entry.name, arguments: entry.arguments },
        };
        return [{ piece: whole, isMoved: true }];
      }
    }
    if (typeof entry.place !== "number") return [];
    return [{ piece: { ...piece, index: entry.place }, isMoved: entry.place !== piece.index }];
  }

  whole(body: JsonObject): void {
    this.#bodies.push(body);
    const message = messageOf(body);
    this.#text = textOr(message.content);
    for (const name of ["reasoning_content", "reasoning", "reasoning_details"])
      if (message[name] != null) this.#reasoning[name] = message[name];
    for (const [index, call] of listIn(message.tool_calls).entries()) {
      const about = isRecord(call.function) ? call.function : {};
      const name = textOr(about.name);
      const place = this.#isOurs(name) ? ("hidden" as const) : index;
      this.#calls.set(index, { call, arguments: textOr(about.arguments, "{}"), name, place });
    }
    if (isRecord(body.usage)) this.#usageOfRound = body.usage;
  }

  round(): Round {
    const calls = [...this.#calls.values()].map(({ call, name, arguments: given, place }) => {
      const id = textOr(call.id) || `call_${randomHex(6)}`;
      const item = { ...call, id, type: "function", function: { name, arguments: given } };
      return {
        id,
        name,
        arguments: given,
        item: JSON.stringify(item),
        isHidden: place === "hidden",
        object: item,
      };
    });
    const message = {
      role: "assistant",
      content: this.#text === "" ? null : this.#text,
      ...this.#reasoning,
      tool_calls: calls.map(({ object }) => object),
    };
    return {
      hidden: calls.filter(({ isHidden }) => isHidden),
      handedBack: calls.filter(({ isHidden }) => !isHidden).map(({ id }) => id),
      items: [JSON.stringify(message)],
      shown: this.#text === "" ? [] : [JSON.stringify({ type: "text", text: this.#text })],
      text: this.#text,
      responseId: undefined,
      isFailed: this.#isFailed,
    };
  }

  next(): void {
    this.#addUsage();
    this.#texts.push(this.#text);
    this.#isFirst = false;
    this.#text = "";
    this.#reasoning = {};
    this.#calls = new Map();
    this.#held = [];
  }

  #addUsage(): void {
    this.#usage = added(this.#usage, this.#usageOfRound);
    this.#usageOfRound = undefined;
  }

  ending(isCut: boolean): readonly Uint8Array[] {
    this.#addUsage();
    return this.#held.map(({ event, data, isSplit = false }) => {
      if (data === undefined || (this.#isFirst && !isCut && !isSplit)) return event.bytes;
      const usage = isRecord(data.usage) ? { usage: this.#usage } : {};
      return bytesOf({ ...data, id: this.#id, ...usage, choices: endedChoices(data, isCut) }, event.name);
    });
  }

  merged(isCut: boolean): JsonObject {
    this.#addUsage();
    const last = this.#bodies.at(-1) ?? {};
    const [choice = {}] = listIn(last.choices);
    const { tool_calls: calls, ...message } = messageOf(last);
    const kept = listIn(calls).filter((_, index) => this.#calls.get(index)?.place !== "hidden");
    const text = [...this.#texts, this.#text].filter((each) => each !== "").join("\n\n");
    const whole = {
      ...message,
      ...(text === "" ? {} : { content: text }),
      ...(kept.length === 0 ? {} : { tool_calls: kept }),
    };
    const reason = isCut && kept.length === 0 ? { finish_reason: "stop" } : {};
    return {
      ...last,
      choices: [{ ...choice, message: whole, ...reason }],
      ...(this.#usage === undefined ? {} : { usage: this.#usage }),
    };
  }
}

function endedChoices(data: JsonObject, isCut: boolean): readonly JsonObject[] {
  return listIn(data.choices).map((choice) => {
    const delta = isRecord(choice.delta) ? choice.delta : {};
    const { tool_calls: _, ...rest } = delta;
    const isWrong = isCut && choice.finish_reason === "tool_calls";
    return { ...choice, delta: rest, ...(isWrong ? { finish_reason: "stop" } : {}) };
  });
}

function messageOf(body: JsonObject): JsonObject {
  const [choice] = listIn(body.choices);
  return isRecord(choice?.message) ? choice.message : {};
}

/** OpenRouter's details come in pieces, which belong together by their index. */
function joinDetails(known: readonly unknown[], pieces: readonly JsonObject[]): readonly unknown[] {
  const list: JsonObject[] = known.filter(isRecord);
  for (const piece of pieces) {
    const at = list.findIndex(({ index, type }) => index === piece.index && type === piece.type);
    const before = list[at];
    if (before === undefined) list.push(piece);
    else list[at] = { ...before, ...piece, ...joinedTexts(before, piece) };
  }
  return list;
}

function joinedTexts(before: JsonObject, piece: JsonObject): JsonObject {
  const names = ["text", "summary", "data"].filter((name) => typeof piece[name] === "string");
  return Object.fromEntries(names.map((name) => [name, textOr(before[name]) + textOr(piece[name])]));
}

// ---- Anthropic's messages ----

type Block = { block: Record<string, unknown>; input: string; place: number | "hidden" };

class MessagesRounds implements MergedReply {
  readonly #isOurs: (name: string) => boolean;
  #isFirst = true;
  #isFailed = false;
  #count = 0;
  #held: { readonly event: SseEvent; readonly data: JsonObject }[] = [];
  #usage: unknown;
  #bodies: JsonObject[] = [];
  #shown: JsonObject[] = [];
  // The current round
  #blocks = new Map<number, Block>();
  #usageOfRound: unknown;

  constructor(isOurs: (name: string) => boolean) {
    this.#isOurs = isOurs;
  }

  push(event: SseEvent): readonly Uint8Array[] {
    const data = dataOf(event);
    if (data === undefined) return [event.bytes];
    switch (data.type) {
      case "message_start":
        this.#usageOfRound = isRecord(data.message) ? data.message.usage : undefined;
        return this.#isFirst ? [event.bytes] : [];
      case "content_block_start":
      case "content_block_delta":
      case "content_block_stop":
        return this.#blockEvent(event, data);
      case "message_delta":
        // Numbers here are those of the whole message, not an addition.
        if (isRecord(data.usage))
          this.#usageOfRound = { ...(isRecord(this.#usageOfRound) ? this.#usageOfRound : {}), ...data.usage };
        this.#held.push({ event, data });
        return [];
      case "message_stop":
        this.#held.push({ event, data });
        return [];
      case "error":
        this.#isFailed = true;
        return [event.bytes];
      default:
        return [event.bytes];
    }
  }

  #blockEvent(event: SseEvent, data: JsonObject): readonly Uint8Array[] {
    const index = typeof data.index === "number" ? data.index : 0;
    if (data.type === "content_block_start") {
      const block = isRecord(data.content_block) ? { ...data.content_block } : {};
      this.#blocks.set(index, { block, input: "", place: this.#placeOf(block) });
    }
    const known = this.#blocks.get(index);
    if (known === undefined) return [event.bytes];
    if (isRecord(data.delta)) addDelta(known, data.delta);
    if (known.place === "hidden") return [];
    if (known.place === index && this.#isFirst) return [event.bytes];
    return [bytesOf({ ...data, index: known.place }, event.name)];
  }

  #placeOf(block: JsonObject): number | "hidden" {
    if (block.type === "tool_use" && this.#isOurs(textOr(block.name))) return "hidden";
    this.#count += 1;
    return this.#count - 1;
  }

  whole(body: JsonObject): void {
    this.#bodies.push(body);
    for (const [index, block] of listIn(body.content).entries())
      this.#blocks.set(index, { block: { ...block }, input: "", place: this.#placeOf(block) });
    this.#usageOfRound = body.usage;
  }

  round(): Round {
    const blocks = [...this.#blocks.values()].map(({ block, input, place }) => {
      const isCall = block.type === "tool_use" || block.type === "server_tool_use";
      const whole = isCall && input !== "" ? { ...block, input: parsedInput(input) } : block;
      return { whole, isHidden: place === "hidden" };
    });
    // An empty text may not be sent.
    const said = blocks.filter(({ whole }) => whole.type !== "text" || textOr(whole.text).trim() !== "");
    const calls = blocks.filter(({ whole }) => whole.type === "tool_use");
    return {
      hidden: calls
        .filter(({ isHidden }) => isHidden)
        .map(({ whole }) => ({
          id: textOr(whole.id),
          name: textOr(whole.name),
          arguments: JSON.stringify(whole.input ?? {}),
          item: JSON.stringify(whole),
        })),
      handedBack: calls.filter(({ isHidden }) => !isHidden).map(({ whole }) => textOr(whole.id)),
      items: [JSON.stringify({ role: "assistant", content: said.map(({ whole }) => whole) })],
      shown: said.filter(({ whole }) => whole.type !== "tool_use").map(({ whole }) => JSON.stringify(whole)),
      text: said.map(({ whole }) => (whole.type === "text" ? textOr(whole.text) : "")).join(""),
      responseId: undefined,
      isFailed: this.#isFailed,
    };
  }

  next(): void {
    this.#keepShown();
    this.#usage = added(this.#usage, this.#usageOfRound);
    this.#usageOfRound = undefined;
    this.#isFirst = false;
    this.#blocks = new Map();
    this.#held = [];
  }

  #keepShown(): void {
    for (const { block, place } of this.#blocks.values()) if (place !== "hidden") this.#shown.push(block);
  }

  ending(isCut: boolean): readonly Uint8Array[] {
    const usage = added(this.#usage, this.#usageOfRound);
    return this.#held.map(({ event, data }) => {
      if (data.type !== "message_delta" || (this.#isFirst && !isCut)) return event.bytes;
      const delta = isRecord(data.delta) ? data.delta : {};
      return bytesOf({ ...data, delta: { ...delta, ...stopReason(delta, isCut) }, usage }, event.name);
    });
  }

  merged(isCut: boolean): JsonObject {
    this.#keepShown();
    const last = this.#bodies.at(-1) ?? {};
    const usage = added(this.#usage, this.#usageOfRound);
    return { ...last, content: this.#shown, ...stopReason(last, isCut), usage };
  }
}

function stopReason({ stop_reason: reason }: JsonObject, isCut: boolean): JsonObject {
  return isCut && reason === "tool_use" ? { stop_reason: "end_turn" } : {};
}

function addDelta(known: Block, delta: JsonObject): void {
  const { block } = known;
  switch (delta.type) {
    case "text_delta":
      block.text = textOr(block.text) + textOr(delta.text);
      break;
    case "thinking_delta":
      block.thinking = textOr(block.thinking) + textOr(delta.thinking);
      break;
    case "signature_delta":
      block.signature = textOr(block.signature) + textOr(delta.signature);
      break;
    case "input_json_delta":
      known.input += textOr(delta.partial_json);
      break;
    case "citations_delta":
      block.citations = [...(Array.isArray(block.citations) ? block.citations : []), delta.citation];
      break;
    default: // of a kind of block that we relay and do not send again
  }
}

// ---- OpenAI's responses ----

class ResponsesRounds implements MergedReply {
  readonly #isOurs: (name: string) => boolean;
  /** The server stores nothing: then reasoning can only be sent again with its encrypted content. */
  readonly #keepsNothing: boolean;
  #isFirst = true;
  #isFailed = false;
  #isChanged = false;
  #sequence = 0;
  #count = 0;
  #held: { readonly event: SseEvent; readonly data: JsonObject }[] = [];
  #usage: unknown;
  #shown: JsonObject[] = [];
  #bodies: JsonObject[] = [];
  // The current round
  #places = new Map<number, number | "hidden">();
  #items = new Map<number, JsonObject>();
  #usageOfRound: unknown;
  #responseId: string | undefined;

  constructor(isOurs: (name: string) => boolean, keepsNothing: boolean) {
    this.#isOurs = isOurs;
    this.#keepsNothing = keepsNothing;
  }

  push(event: SseEvent): readonly Uint8Array[] {
    const data = dataOf(event);
    if (data === undefined) return [event.bytes];
    if (isRecord(data.response)) this.#responseId = textOr(data.response.id) || this.#responseId;
    switch (data.type) {
      case "response.created":
      case "response.in_progress":
      case "response.queued":
        return this.#isFirst ? [this.#numbered(event, data, withoutOurs(data, this.#isOurs))] : [];
      case "response.completed":
      case "response.incomplete":
        if (isRecord(data.response)) this.#usageOfRound = data.response.usage;
        this.#held.push({ event, data });
        return [];
      case "response.failed":
      case "error":
        this.#isFailed = true;
        return [this.#numbered(event, data, data)];
      default:
        return this.#itemEvent(event, data);
    }
  }

  #itemEvent(event: SseEvent, data: JsonObject): readonly Uint8Array[] {
    const { output_index: index, item } = data;
    if (typeof index !== "number") return [this.#numbered(event, data, data)];
    if (isRecord(item) && !this.#places.has(index)) this.#places.set(index, this.#placeOf(item));
    if (isRecord(item) && data.type === "response.output_item.done") this.#items.set(index, item);
    const place = this.#places.get(index) ?? index;
    if (place === "hidden") {
      this.#isChanged = true;
      return [];
    }
    return [this.#numbered(event, data, place === index ? data : { ...data, output_index: place })];
  }

  #placeOf(item: JsonObject): number | "hidden" {
    if (item.type === "function_call" && this.#isOurs(textOr(item.name))) return "hidden";
    this.#count += 1;
    return this.#count - 1;
  }

  /** Events are numbered; after one was left out, all that follow get other numbers. */
  #numbered(event: SseEvent, came: JsonObject, data: JsonObject): Uint8Array {
    const number = this.#sequence;
    this.#sequence += 1;
    const isSame = data === came && !this.#isChanged && this.#isFirst;
    if (isSame && (data.sequence_number === undefined || data.sequence_number === number)) return event.bytes;
    return bytesOf(
      data.sequence_number === undefined ? data : { ...data, sequence_number: number },
      event.name,
    );
  }

  whole(body: JsonObject): void {
    this.#bodies.push(body);
    this.#responseId = textOr(body.id) || this.#responseId;
    for (const [index, item] of listIn(body.output).entries()) {
      this.#places.set(index, this.#placeOf(item));
      this.#items.set(index, item);
    }
    this.#usageOfRound = body.usage;
    if (body.status === "failed") this.#isFailed = true;
  }

  round(): Round {
    const items = [...this.#items].map(([index, item]) => ({
      item,
      isHidden: this.#places.get(index) === "hidden",
    }));
    const calls = items.filter(
      ({ item }) => item.type === "function_call" || item.type === "custom_tool_call",
    );
    const sent = items.filter(
      ({ item }) =>
        item.type !== "reasoning" || !this.#keepsNothing || typeof item.encrypted_content === "string",
    );
    return {
      hidden: calls
        .filter(({ isHidden }) => isHidden)
        .map(({ item }) => ({
          id: textOr(item.call_id),
          name: textOr(item.name),
          arguments: textOr(item.arguments, "{}"),
          item: JSON.stringify(item),
        })),
      handedBack: calls.filter(({ isHidden }) => !isHidden).map(({ item }) => textOr(item.call_id)),
      items: sent.map(({ item }) => JSON.stringify(item)),
      shown: sent.filter(({ isHidden }) => !isHidden).map(({ item }) => JSON.stringify(item)),
      text: items
        .map(({ item }) =>
          listIn(item.content)
            .map(({ text }) => textOr(text))
            .join(""),
        )
        .join(""),
      responseId: this.#responseId,
      isFailed: this.#isFailed,
    };
  }

  next(): void {
    this.#keepShown();
    this.#usage = added(this.#usage, this.#usageOfRound);
    this.#usageOfRound = undefined;
    this.#isFirst = false;
    this.#places = new Map();
    this.#items = new Map();
    this.#held = [];
  }

  #keepShown(): void {
    for (const [index, item] of this.#items) if (this.#places.get(index) !== "hidden") this.#shown.push(item);
  }

  ending(): readonly Uint8Array[] {
    this.#keepShown();
    const usage = added(this.#usage, this.#usageOfRound);
    return this.#held.map(({ event, data }) => {
      const isWhole = this.#isFirst && !this.#isChanged;
      const given = withoutOurs(data, this.#isOurs);
      const response = isRecord(given.response) ? given.response : {};
      const whole = isWhole ? given : { ...given, response: { ...response, output: this.#shown, usage } };
      return this.#numbered(event, data, whole);
    });
  }

  merged(): JsonObject {
    this.#keepShown();
    const last = this.#bodies.at(-1) ?? {};
    const { response } = withoutOurs({ response: last }, this.#isOurs);
    const usage = added(this.#usage, this.#usageOfRound);
    return { ...(isRecord(response) ? response : {}), output: this.#shown, usage };
  }
}

/** Servers repeat the tools of the request in the response. The same object if there is none of ours. */
function withoutOurs(data: JsonObject, isOurs: (name: string) => boolean): JsonObject {
  const { response } = data;
  if (!isRecord(response) || !listIn(response.tools).some(({ name }) => isOurs(textOr(name)))) return data;
  const tools = listIn(response.tools).filter(({ name }) => !isOurs(textOr(name)));
  return { ...data, response: { ...response, tools } };
}
