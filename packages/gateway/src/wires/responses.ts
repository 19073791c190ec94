// OpenAI's responses, `/v1/responses`.
import { promptTokens, totalTokens, type Usage } from "@hermes-memory/agent/internal/models";
import { isRecord, withoutUndefined } from "@hermes-memory/core/internal/lib";
import {
  type AssistantMessage,
  type Message,
  newMessage,
  textOf,
} from "@hermes-memory/core/internal/message";
import { type GatewayProblem, type JsonObject, openAiProblem } from "../problem.ts";
import { lostFields } from "./body-fields.ts";
import {
  argumentsText,
  commonFields,
  given,
  hermesField,
  type Lose,
  listOf,
  losing,
  neededContent,
  neededList,
  neededRecord,
  neededText,
  newId,
  optionalCount,
  optionalText,
  readContent,
  readTools,
  recordOf,
  recordsIn,
  textOr,
  toolDefinition,
  vendorField,
  wordOrRecord,
  wrong,
} from "./fields.ts";
import { CollectedReply, type ReadReply, type ReplyPart } from "./read-reply.ts";
import { sseEvent } from "./sse.ts";
import {
  type Finish,
  type Reply,
  type ReplyStart,
  ReplyWriter,
  type Wire,
  type WireRequest,
} from "./wire.ts";

export const responsesWire: Wire = {
  name: "responses",
  parse: readRequest,
  newReplyId: () => `resp_${OWN}${newId()}`,
  render,
  writer: (start, request) => new ResponseWriter(start, request),
  renderProblem: openAiProblem,
};

// Ids: items of a reply of ours have the id of the reply in theirs, so that a reference to an item names the reply.

const OWN = "hm";
const OWN_ITEM = /^[a-z]+_(hm[0-9a-f]{32})_\d+$/;

/** Made by `newReplyId`, so no vendor knows it. */
export function isOwnReplyId(id: string): boolean {
  return /^resp_hm[0-9a-f]{32}$/.test(id);
}

/** The reply that an item of ours belongs to. */
export function ownReply(itemId: string): string | undefined {
  const [, reply] = OWN_ITEM.exec(itemId) ?? [];
  return reply === undefined ? undefined : `resp_${reply}`;
}

function itemId(kind: "msg" | "rs" | "fc", replyId: string, index: number): string {
  return `${kind}_${replyId.replace(/^resp_/, "")}_${index}`;
}

// The request

function readRequest(body: JsonObject): WireRequest {
  const lost = new Set(lostFields("responses", body));
  const tools = readTools(body, lost, (fields, param) =>
    fields.type === "function" ? toolDefinition(fields, param, fields.parameters) : undefined,
  );
  const { instructions, messages, reference } = readInput(body, losing(lost, "input"));
  const { ids, ...common } = commonFields(body);
  const system = [optionalText(body, "instructions") ?? "", ...instructions];
  return {
    ...common,
    wire: "responses",
    system: system.filter((text) => text !== "").join("\n\n"),
    messages,
    tools,
    toolChoice: toolChoiceOf(body),
    maxOutputTokens: optionalCount(body, "max_output_tokens"),
    includeUsage: true,
    ids: reference === undefined ? ids : { previousResponseId: reference, ...ids },
    unsupported: [...lost],
  };
}

type Input = {
  readonly instructions: readonly string[];
  readonly messages: readonly Message[];
  /** The reply, or else the item, that the input goes on from. */
  readonly reference: string | undefined;
};

/**
 * Items that belong to one reply (reasoning, texts, calls) become one message. Where the input refers to an item of an earlier reply by
 * its id, everything up to that reply is known by that id, and only what follows is new: as with `previous_response_id`.
 */
function readInput(body: JsonObject, lose: Lose): Input {
  if (typeof body.input === "string") {
    const messages = [newMessage({ role: "user" as const, content: body.input })];
    return { instructions: [], messages, reference: undefined };
  }
  const items = neededList(body, "input").map((item, index) => neededRecord(item, `input[${index}]`));
  const instructions: string[] = [];
  const messages: Message[] = [];
  let reference: string | undefined;
  let reply: JsonObject[] = [];
  /** After a reference, the rest of the same reply is known too. */
  let isKnown = false;
  const endReply = (): void => {
    const draft = reply.length === 0 || isKnown ? undefined : replyOf(reply);
    if (draft !== undefined) messages.push(newMessage(draft));
    reply = [];
    isKnown = false;
  };
  for (const [index, item] of items.entries()) {
    const param = `input[${index}]`;
    const kind = kindOf(item, param);
    switch (kind.name) {
      case "reference": {
        messages.length = 0;
        reply = [];
        isKnown = true;
        reference = ownReply(kind.id) ?? kind.id;
        if (ownReply(kind.id) === undefined) lose("item_reference");
        break;
      }
      case "reply":
        if (item.type !== undefined && !KEPT_ITEMS.has(item.type)) lose(item.type);
        reply.push(item);
        break;
      case "result": {
        endReply();
        if (item.type !== "function_call_output") lose(item.type);
        messages.push(resultOf(item, param, lose));
        break;
      }
      case "message": {
        endReply();
        const read = neededContent(item.content, `${param}.content`, lose);
        const role = item.role === "user" ? "user" : "system";
        const isFirst = messages.length === 0 && reference === undefined;
        if (role === "system" && isFirst) instructions.push(textOf(read.content));
        else
          messages.push(
            newMessage(
              { role, content: read.content, ...vendorField(read.vendor) },
              { writtenRole: item.role === "developer" ? "developer" : undefined },
            ),
          );
        break;
      }
      case "other":
        lose(item.type);
        break;
      default:
        kind satisfies never;
    }
  }
  endReply();
  return { instructions, messages, reference };
}

type Kind =
  | { readonly name: "message" | "reply" | "result" | "other" }
  | { readonly name: "reference"; readonly id: string };

/** Items of a reply that another wire has a place for. */
const KEPT_ITEMS: ReadonlySet<unknown> = new Set(["message", "reasoning", "function_call"]);

/** Calls that the client answers, and the name of the tool where the call has none. */
const CALLS: Readonly<Record<string, string>> = {
  function_call: "unknown",
  custom_tool_call: "unknown",
  local_shell_call: "local_shell",
  shell_call: "shell",
  apply_patch_call: "apply_patch",
  computer_call: "computer",
};

function kindOf(item: JsonObject, param: string): Kind {
  const { type, role } = item;
  if (type === "message" || ((type === undefined || type === null) && role !== undefined)) {
    if (role === "assistant") {
      readContent(item.content, `${param}.content`); // refuses a wrong one
      return { name: "reply" };
    }
    if (role === "user" || role === "system" || role === "developer") return { name: "message" };
    throw wrong(`${param}.role`, `The field '${param}.role' has a role that this API does not have.`);
  }
  if (type === "item_reference" || type === undefined || type === null)
    return { name: "reference", id: neededText(item, "id", `${param}.id`) };
  const name = neededText(item, "type", `${param}.type`);
  if (name === "reasoning") return { name: "reply" };
  if (Object.hasOwn(CALLS, name)) {
    neededText(item, "call_id", `${param}.call_id`);
    if (name === "function_call" || name === "custom_tool_call") neededText(item, "name", `${param}.name`);
    return { name: "reply" };
  }
  return { name: Object.hasOwn(CALLS, name.replace(/_output$/, "")) ? "result" : "other" };
}

function resultOf(item: JsonObject, param: string, lose: Lose): Message {
  // The output of a local shell names its call in `id`.
  const toolCallId = textOr(item.call_id, undefined) ?? neededText(item, "id", `${param}.call_id`);
  const { output } = item;
  const isParts = Array.isArray(output) && output.every((part) => isRecord(part) && "type" in part);
  const isContent = typeof output === "string" || output === undefined || output === null || isParts;
  const text = isContent ? output : JSON.stringify(output);
  const { content, vendor } = readContent(text, `${param}.output`, lose);
  return newMessage({ role: "tool" as const, toolCallId, content, ...vendorField(vendor) });
}

/** The message of the items of one reply. Undefined if nothing in them is kept. */
function replyOf(items: readonly JsonObject[]): Omit<AssistantMessage, "meta"> | undefined {
  const texts: string[] = [];
  const messageItems: JsonObject[] = [];
  const reasoningItems: JsonObject[] = [];
  const thoughts: string[] = [];
  const toolCalls: AssistantMessage["toolCalls"][number][] = [];
  for (const item of items) {
    const { type, id, phase } = item;
    if (type === "reasoning") {
      const summary = recordsIn(item.summary);
      const said = [...summary, ...listOf(item.content)].map((part) => textOr(recordOf(part).text, ""));
      thoughts.push(...said.filter((text) => text !== ""));
      reasoningItems.push({ type, id, encrypted_content: textOr(item.encrypted_content, null), summary });
    } else if (isCall(item)) toolCalls.push(callOf(item));
    else if (type === "message" || item.role === "assistant") {
      const text = textIn(item.content);
      if (text === "") continue;
      texts.push(text);
      const content = [{ type: "output_text", text }];
      if (typeof id === "string" || typeof phase === "string")
        messageItems.push(
          withoutUndefined({
            type: "message",
            role: "assistant",
            status: "completed",
            id: textOr(id, undefined),
            phase: textOr(phase, undefined),
            content,
          }),
        );
    }
  }
  if (texts.length + toolCalls.length + reasoningItems.length === 0) return undefined;
  const vendor = withoutUndefined({
    reasoning: thoughts.length === 0 ? undefined : thoughts.join("\n\n"),
    codex_reasoning_items: reasoningItems.length === 0 ? undefined : reasoningItems,
    codex_message_items: messageItems.length === 0 ? undefined : messageItems,
  });
  return { role: "assistant", content: texts.join("\n\n"), toolCalls, ...vendorField(vendor) };
}

/** A refusal is what the model said. */
function textIn(content: unknown): string {
  if (typeof content === "string") return content;
  const parts = listOf(content).map(recordOf);
  return parts.map(({ text, refusal }) => textOr(text, textOr(refusal, ""))).join("");
}

/** The arguments of a call that is no function are its own fields: `input` of a custom tool, `action` of a shell. */
function callOf(item: JsonObject): AssistantMessage["toolCalls"][number] {
  const { type, id, call_id: callId, name, arguments: text, status: _, caller: _caller, ...others } = item;
  const called = String(callId);
  const isText = type === "function_call" && typeof text === "string";
  return {
    id: called,
    name: textOr(name, CALLS[String(type)] ?? "unknown"),
    arguments: isText ? text : JSON.stringify(type === "function_call" ? (text ?? {}) : others),
    vendor: withoutUndefined({ call_id: called, response_item_id: textOr(id, undefined) }),
  };
}

/** A choice of a tool that is no function, or among some of the tools, counts as `auto`; it is among the lost fields. */
function toolChoiceOf(body: JsonObject): WireRequest["toolChoice"] {
  const choice = wordOrRecord(given(body, "tool_choice") ?? "auto");
  if (typeof choice === "string") return choice;
  const { type, name } = choice;
  const isNamed = (type === "function" || type === "custom") && typeof name === "string" && name !== "";
  return isNamed ? { name } : "auto";
}

// The reply

/** `status`, and why the reply is not whole. OpenAI has no word for a reply that was interrupted. */
const ENDINGS: Readonly<Record<Finish, { readonly status: string; readonly reason: string | undefined }>> = {
  stop: { status: "completed", reason: undefined },
  tool_calls: { status: "completed", reason: undefined },
  length: { status: "incomplete", reason: "max_output_tokens" },
  content_filter: { status: "incomplete", reason: "content_filter" },
  interrupted: { status: "incomplete", reason: "interrupted" },
};

function render(reply: Reply, request: WireRequest): JsonObject {
  const { id, text, reasoning, toolCalls } = reply;
  const output: JsonObject[] = [];
  if (reasoning !== "") output.push(reasoningItem(itemId("rs", id, output.length), reasoning));
  if (text !== "") output.push(messageItem(itemId("msg", id, output.length), text));
  for (const call of toolCalls) output.push(callItem(itemId("fc", id, output.length), call));
  return finished(reply, request, output, reply);
}

type End = Pick<Reply, "finish" | "usage" | "metadata">;

function finished(
  start: ReplyStart,
  request: WireRequest,
  output: readonly JsonObject[],
  { finish, usage, metadata }: End,
): JsonObject {
  const { status, reason } = ENDINGS[finish];
  return {
    ...envelope(start, request),
    status,
    incomplete_details: reason === undefined ? null : { reason },
    output,
    usage: usage === undefined ? null : renderUsage(usage),
    ...hermesField(metadata),
  };
}

/** Instructions and tools are not repeated: no client reads them there, and they would come three times with every stream. */
function envelope({ id, model, createdAtSeconds }: ReplyStart, request: WireRequest): JsonObject {
  const { ids, toolChoice, maxOutputTokens, temperature } = request;
  return {
    id,
    object: "response",
    created_at: createdAtSeconds,
    status: "in_progress",
    background: false,
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: maxOutputTokens ?? null,
    metadata: {},
    model,
    output: [],
    parallel_tool_calls: true,
    previous_response_id: ids.previousResponseId ?? null,
    ...(ids.conversation === undefined ? {} : { conversation: { id: ids.conversation } }),
    reasoning: { effort: null, summary: null },
    store: true,
    temperature: temperature ?? null,
    text: { format: { type: "text" } },
    tool_choice: typeof toolChoice === "string" ? toolChoice : { type: "function", name: toolChoice.name },
    tools: [],
    top_p: null,
    truncation: "disabled",
    usage: null,
    user: null,
  };
}

function renderUsage(usage: Usage): JsonObject {
  return {
    input_tokens: promptTokens(usage),
    input_tokens_details: { cached_tokens: usage.cacheRead, cache_write_tokens: usage.cacheWrite },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.reasoning },
    total_tokens: totalTokens(usage),
  };
}

function messageItem(id: string, text: string | undefined): JsonObject {
  const isDone = text !== undefined;
  return {
    id,
    type: "message",
    status: isDone ? "completed" : "in_progress",
    role: "assistant",
    content: isDone ? [textPart(text)] : [],
  };
}

function textPart(text: string): JsonObject {
  return { type: "output_text", annotations: [], logprobs: [], text };
}

/** Without `encrypted_content`: it is for people to read, and is left out when the client sends it back. */
function reasoningItem(id: string, text: string | undefined): JsonObject {
  return { id, type: "reasoning", summary: text === undefined ? [] : [summaryPart(text)] };
}

function summaryPart(text: string): JsonObject {
  return { type: "summary_text", text };
}

function callItem(id: string, call: Reply["toolCalls"][number], isDone = true): JsonObject {
  return {
    id,
    type: "function_call",
    status: isDone ? "completed" : "in_progress",
    arguments: isDone ? argumentsText(call.arguments) : "",
    call_id: call.id,
    name: call.name,
  };
}

/** Of an item with text: the names of its events, and how it is written. */
const STREAMS = {
  text: {
    id: "msg",
    part: "content_part",
    text: "output_text",
    index: "content_index",
    item: messageItem,
    piece: textPart,
    more: { logprobs: [] },
  },
  reasoning: {
    id: "rs",
    part: "reasoning_summary_part",
    text: "reasoning_summary_text",
    index: "summary_index",
    item: reasoningItem,
    piece: summaryPart,
    more: {},
  },
} as const;

class ResponseWriter extends ReplyWriter {
  readonly #start: ReplyStart;
  readonly #request: WireRequest;
  readonly #output: JsonObject[] = [];
  #open: { readonly kind: keyof typeof STREAMS; readonly id: string; text: string } | undefined;
  #sequence = 0;

  constructor(start: ReplyStart, request: WireRequest) {
    super();
    this.#start = start;
    this.#request = request;
  }

  open(): string {
    const response = envelope(this.#start, this.#request);
    return this.#event("response.created", { response }) + this.#event("response.in_progress", { response });
  }

  #event(type: string, fields: JsonObject): string {
    const data = { type, sequence_number: this.#sequence, ...fields };
    this.#sequence += 1;
    return sseEvent(data, type);
  }

  protected say(kind: keyof typeof STREAMS, text: string): string {
    if (text === "") return "";
    const before = this.#open?.kind === kind ? "" : this.#close() + this.#begin(kind);
    if (this.#open !== undefined) this.#open.text += text;
    const { text: name, more } = STREAMS[kind];
    return before + this.#event(`response.${name}.delta`, { ...this.#place(), delta: text, ...more });
  }

  #begin(kind: keyof typeof STREAMS): string {
    const { id: prefix, part, item, piece } = STREAMS[kind];
    const output_index = this.#output.length;
    const id = itemId(prefix, this.#start.id, output_index);
    this.#open = { kind, id, text: "" };
    return (
      this.#event("response.output_item.added", { output_index, item: item(id, undefined) }) +
      this.#event(`response.${part}.added`, { ...this.#place(), part: piece("") })
    );
  }

  #place(): JsonObject {
    const { id = "", kind = "text" } = this.#open ?? {};
    return { item_id: id, output_index: this.#output.length, [STREAMS[kind].index]: 0 };
  }

  /** Ends the item that is open. */
  #close(): string {
    if (this.#open === undefined) return "";
    const { kind, id, text } = this.#open;
    const { text: name, part, more, piece, item: written } = STREAMS[kind];
    const place = this.#place();
    const item = written(id, text);
    const events =
      this.#event(`response.${name}.done`, { ...place, text, ...more }) +
      this.#event(`response.${part}.done`, { ...place, part: piece(text) }) +
      this.#event("response.output_item.done", { output_index: this.#output.length, item });
    this.#output.push(item);
    this.#open = undefined;
    return events;
  }

  protected call(call: Reply["toolCalls"][number]): string {
    const closed = this.#close();
    const output_index = this.#output.length;
    const id = itemId("fc", this.#start.id, output_index);
    const item = callItem(id, call);
    const place = { item_id: id, output_index };
    this.#output.push(item);
    return (
      closed +
      this.#event("response.output_item.added", { output_index, item: callItem(id, call, false) }) +
      this.#event("response.function_call_arguments.delta", { ...place, delta: item.arguments }) +
      this.#event("response.function_call_arguments.done", {
        ...place,
        name: call.name,
        arguments: item.arguments,
      }) +
      this.#event("response.output_item.done", { output_index, item })
    );
  }

  protected end(end: End): string {
    const closed = this.#close();
    const response = finished(this.#start, this.#request, this.#output, end);
    return closed + this.#event(`response.${ENDINGS[end.finish].status}`, { response });
  }

  /** The event `error` makes OpenAI's client throw; others wait for the response to fail. */
  protected fail(problem: GatewayProblem): string {
    const closed = this.#close();
    const { message, param, code } = recordOf(openAiProblem(problem).error);
    const response = {
      ...envelope(this.#start, this.#request),
      status: "failed",
      error: { code: failureCode(problem), message },
      output: this.#output,
    };
    return (
      closed + this.#event("error", { code, message, param }) + this.#event("response.failed", { response })
    );
  }
}

/** OpenAI's codes, by which clients such as Codex decide whether to try again. */
function failureCode({ status, code }: GatewayProblem): string {
  if (code.includes("overflow") || code.includes("context")) return "context_length_exceeded";
  if (status === 429) return "rate_limit_exceeded";
  return status < 500 ? "invalid_prompt" : "server_error";
}

// A reply of a server

type OpenItem = { item: JsonObject; text: string; isDone: boolean };

/** Collects the items of a reply. */
export class ResponseReply extends CollectedReply {
  readonly #items = new Map<number, OpenItem>();

  take(data: string | JsonObject): boolean {
    if (typeof data === "string") return data.trim() === "[DONE]";
    const { type, output_index: index, item, delta } = data;
    switch (type) {
      case "response.created":
      case "response.in_progress":
        this.envelope(recordOf(data.response));
        return false;
      case "response.output_item.added":
      case "response.output_item.done":
        if (typeof index === "number" && isRecord(item))
          this.#items.set(index, { item, text: "", isDone: type === "response.output_item.done" });
        return false;
      case "response.output_text.delta":
      case "response.refusal.delta": {
        const open = typeof index === "number" ? this.#items.get(index) : undefined;
        if (open !== undefined && !open.isDone) open.text += textOr(delta, "");
        return false;
      }
      case "response.completed":
      case "response.incomplete":
      case "response.failed":
        this.whole(recordOf(data.response));
        if (type === "response.failed") this.isFailed = true;
        return true;
      case "error":
        this.isFailed = true;
        return true;
      default:
        return false;
    }
  }

  whole(body: JsonObject): void {
    this.envelope(body);
    const output = recordsIn(body.output);
    // Some servers leave the output of the last event empty.
    if (output.length > 0 || this.#items.size === 0) {
      this.#items.clear();
      for (const [index, item] of output.entries()) this.#items.set(index, { item, text: "", isDone: true });
    }
    this.finish = this.#finishOf(body);
    if (body.status === "failed") this.isFailed = true;
  }

  end(): ReadReply | undefined {
    const items = this.#all();
    const draft = replyOf(items);
    const itemIds = items.flatMap(({ id }) => textOr(id, undefined) ?? []);
    return draft && this.stored(draft, "responses", { itemIds });
  }

  parts(): readonly ReplyPart[] {
    return this.#all().map((item): ReplyPart => {
      const { type, name, call_id: id, arguments: given } = item;
      const texts = listOf(item.content).map((part) => textOr(recordOf(part).text, ""));
      const call = {
        id: textOr(id, ""),
        name: type === "function_call" ? textOr(name, "") : "",
        arguments: textOr(given, "{}"),
      };
      return { item, text: texts.join(""), ...(isCall(item) ? { call } : {}) };
    });
  }

  asSent(parts: readonly ReplyPart[]): readonly JsonObject[] {
    return parts.map(({ item }) => item);
  }

  #finishOf({ status, incomplete_details: details }: JsonObject): Finish | undefined {
    if (status === "incomplete")
      return recordOf(details).reason === "content_filter" ? "content_filter" : "length";
    if (status !== "completed" && status !== undefined) return undefined;
    return this.#all().some(isCall) ? "tool_calls" : "stop";
  }

  /** Of items that broke off, only the text is kept: half of a call cannot be run. */
  #all(): readonly JsonObject[] {
    const entries = [...this.#items].sort(([one], [other]) => one - other);
    return entries.flatMap(([, { item, text, isDone }]): JsonObject[] => {
      // A call without an id cannot be answered.
      if (isDone) return isCall(item) && textOr(item.call_id, "") === "" ? [] : [item];
      return item.type === "message" ? [{ ...item, content: [{ type: "output_text", text }] }] : [];
    });
  }
}

function isCall({ type }: JsonObject): boolean {
  return typeof type === "string" && Object.hasOwn(CALLS, type);
}
