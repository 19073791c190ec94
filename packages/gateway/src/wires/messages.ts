// Anthropic's messages, `/v1/messages`.
//
// Reasoning is not written on this wire. A client sends thinking blocks back as it got them, and Anthropic refuses a block whose signature it
// did not make: a conversation that goes on there, or through the proxy, would be refused for good. It is stored all the same.
import type { Usage } from "@hermes-memory/agent/internal/models";
import { isRecord, outsideJsonOr, withoutUndefined } from "@hermes-memory/core/internal/lib";
import {
  type AssistantMessage,
  type Message,
  newMessage,
  textOf,
} from "@hermes-memory/core/internal/message";
import { anthropicProblem, type GatewayProblem, type JsonObject } from "../problem.ts";
import { lostFields } from "./body-fields.ts";
import {
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
  readContent,
  readTools,
  recordOf,
  recordsIn,
  textOr,
  toolDefinition,
  vendorField,
  wrong,
} from "./fields.ts";
import { CollectedReply, type ReadReply, type ReplyPart } from "./read-reply.ts";
import { sseEvent } from "./sse.ts";
import { type Finish, type Reply, ReplyWriter, type Wire, type WireRequest } from "./wire.ts";

export const messagesWire: Wire = {
  name: "messages",
  parse: readRequest,
  newReplyId: () => `msg_${newId()}`,
  render,
  writer: (start) => new MessageWriter(start),
  renderProblem: anthropicProblem,
};

// The request

function readRequest(body: JsonObject): WireRequest {
  const lost = new Set(lostFields("messages", body));
  const tools = readTools(body, lost, (fields, param) =>
    (given(fields, "type") ?? "custom") === "custom"
      ? toolDefinition(fields, param, fields.input_schema)
      : undefined,
  );
  const metadataUserId = textOr(recordOf(body.metadata).user_id, undefined);
  const { ids, ...common } = commonFields(body);
  return {
    ...common,
    wire: "messages",
    system: textOf(readContent(given(body, "system"), "system").content, { separator: "\n\n" }),
    messages: readMessages(neededList(body, "messages"), losing(lost, "messages")),
    tools,
    toolChoice: toolChoiceOf(body),
    maxOutputTokens: optionalCount(body, "max_tokens"),
    includeUsage: true,
    ids: withoutUndefined({ ...ids, metadataUserId }),
    unsupported: [...lost],
  };
}

function readMessages(rows: readonly unknown[], lose: Lose): readonly Message[] {
  return rows.flatMap((value, index): readonly Message[] => {
    const param = `messages[${index}]`;
    const row = neededRecord(value, param);
    switch (row.role) {
      case "user":
        return userMessages(row.content, param, lose);
      case "assistant":
        return assistantMessages(row.content, param, lose);
      case "system": {
        const read = neededContent(row.content, `${param}.content`);
        return [newMessage({ role: "system", content: read.content })];
      }
      default:
        throw wrong(`${param}.role`, `The field '${param}.role' has to be user or assistant.`);
    }
  });
}

/** Results of tools are messages of their own, in front of what the user says. */
function userMessages(content: unknown, param: string, lose: Lose): readonly Message[] {
  const blocks = Array.isArray(content) ? content : undefined;
  const isResult = (block: unknown): boolean => recordOf(block).type === "tool_result";
  const results = (blocks ?? []).flatMap((block, index): Message[] =>
    isResult(block) ? [resultOf(recordOf(block), `${param}.content[${index}]`, lose)] : [],
  );
  const said = blocks === undefined ? content : blocks.filter((block) => !isResult(block));
  if (blocks !== undefined && results.length === blocks.length && blocks.length > 0) return results;
  const read = neededContent(said, `${param}.content`, lose);
  return [...results, newMessage({ role: "user", content: read.content, ...vendorField(read.vendor) })];
}

function resultOf(block: JsonObject, param: string, lose: Lose): Message {
  const { content, is_error: isError, cache_control: marker } = block;
  const toolCallId = neededText(block, "tool_use_id", `${param}.tool_use_id`);
  const read = readContent(content, `${param}.content`, lose);
  const vendor = isRecord(marker) ? { cache_control: marker } : read.vendor;
  return newMessage(
    { role: "tool", toolCallId, content: read.content, ...vendorField(vendor) },
    { finishReason: isError === true ? "error-text" : undefined },
  );
}

function assistantMessages(content: unknown, param: string, lose: Lose): readonly Message[] {
  if (content === undefined || content === null) return []; // an empty reply that the client sends back
  if (typeof content === "string") return [newMessage({ role: "assistant", content, toolCalls: [] })];
  if (!Array.isArray(content))
    throw wrong(`${param}.content`, `The field '${param}.content' has to be a text or a list of blocks.`);
  const blocks = content.map((value, index) => {
    const place = `${param}.content[${index}]`;
    const block = neededRecord(value, place);
    const type = neededText(block, "type", `${place}.type`);
    if (type === "text" && typeof block.text !== "string")
      throw wrong(`${place}.text`, `The field '${place}.text' has to be a text.`);
    if (type === "tool_use") {
      neededText(block, "id", `${place}.id`);
      neededText(block, "name", `${place}.name`);
    }
    if (!KEPT_BLOCKS.has(type)) lose(type);
    return block;
  });
  const draft = replyOf(blocks);
  return draft === undefined ? [] : [newMessage(draft)];
}

const KEPT_BLOCKS: ReadonlySet<string> = new Set(["text", "thinking", "redacted_thinking", "tool_use"]);

/** The message of the blocks of one reply. Undefined if nothing in them is kept. */
function replyOf(blocks: readonly JsonObject[]): Omit<AssistantMessage, "meta"> | undefined {
  const of = (type: string): readonly JsonObject[] => blocks.filter((block) => block.type === type);
  const text = of("text")
    .map((block) => textOr(block.text, ""))
    .join("");
  const toolCalls = of("tool_use").map(({ id, name, input }) => ({
    id: String(id),
    name: textOr(name, "unknown"),
    arguments: typeof input === "string" ? input : JSON.stringify(input ?? {}),
  }));
  const thoughts = blocks.filter(({ type }) => type === "thinking" || type === "redacted_thinking");
  const details = thoughts.flatMap(({ type, thinking, signature, data }): JsonObject[] => {
    if (type === "redacted_thinking") return textOr(data, "") === "" ? [] : [{ type, data }];
    return textOr(signature, "") === "" ? [] : [{ type, thinking: textOr(thinking, ""), signature }];
  });
  const reasoning = thoughts.map(({ thinking }) => textOr(thinking, "")).filter((each) => each !== "");
  if (text === "" && toolCalls.length + thoughts.length === 0) return undefined;
  const marker = blocks.map(({ cache_control: each }) => each).findLast((each) => isRecord(each));
  const vendor = withoutUndefined({
    reasoning: reasoning.length === 0 ? undefined : reasoning.join("\n\n"),
    reasoning_details: details.length === 0 ? undefined : details,
    cache_control: marker,
  });
  return { role: "assistant", content: text, toolCalls, ...vendorField(vendor) };
}

function toolChoiceOf(body: JsonObject): WireRequest["toolChoice"] {
  const choice = given(body, "tool_choice");
  if (choice === undefined) return "auto";
  const fields = neededRecord(choice, "tool_choice");
  switch (fields.type) {
    case "auto":
    case "none":
      return fields.type;
    case "any":
      return "required";
    case "tool":
      return { name: neededText(fields, "name", "tool_choice.name") };
    default:
      throw wrong("tool_choice.type", "The field 'tool_choice.type' has to be auto, any, tool or none.");
  }
}

// The reply

const STOP_REASONS: Readonly<Record<Finish, string>> = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  content_filter: "refusal",
  // The reply is not whole; there is no nearer word.
  interrupted: "max_tokens",
};

function render({ id, model, text, toolCalls, finish, usage, metadata }: Reply): JsonObject {
  const calls = toolCalls.map((call) => ({ ...toolUse(call), input: inputOf(call.arguments) }));
  return {
    ...envelope({ id, model }),
    content: [...(text === "" ? [] : [{ type: "text", text }]), ...calls],
    stop_reason: STOP_REASONS[finish],
    usage: renderUsage(usage),
    ...hermesField(metadata),
  };
}

function envelope({ id, model }: Pick<Reply, "id" | "model">): JsonObject {
  return {
    id,
    type: "message",
    role: "assistant",
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
  };
}

function toolUse({ id, name }: { readonly id: string; readonly name: string }): JsonObject {
  return { type: "tool_use", id, name, input: {} };
}

/** Anthropic's clients expect an object. Arguments that are none are passed on under a name of ours, so that the tool can say what is wrong. */
function inputOf(text: string): JsonObject {
  if (text.trim() === "") return {};
  const value = outsideJsonOr(text, undefined);
  return isRecord(value) ? value : { invalid_arguments: text };
}

/** Anthropic's `input_tokens` excludes cached tokens, as ours does. */
function renderUsage(usage: Usage | undefined): JsonObject {
  const { input = 0, cacheRead = 0, cacheWrite = 0, output = 0, reasoning = 0 } = usage ?? {};
  return {
    input_tokens: input,
    cache_creation_input_tokens: cacheWrite,
    cache_read_input_tokens: cacheRead,
    output_tokens: output,
    ...(reasoning > 0 ? { output_tokens_details: { thinking_tokens: reasoning } } : {}),
  };
}

const PING = sseEvent({ type: "ping" }, "ping");

class MessageWriter extends ReplyWriter {
  readonly #start: Pick<Reply, "id" | "model">;
  /** Of the next block, or of the text that is open. */
  #index = 0;
  #isTextOpen = false;

  constructor(start: Pick<Reply, "id" | "model">) {
    super();
    this.#start = start;
  }

  /** Usage is known at the end only; clients take the figures of the last event. */
  open(): string {
    return (
      event("message_start", { message: { ...envelope(this.#start), usage: renderUsage(undefined) } }) + PING
    );
  }

  protected override ping(): string {
    return PING;
  }

  protected fail(problem: GatewayProblem): string {
    return sseEvent(anthropicProblem(problem), "error");
  }

  protected say(kind: "text" | "reasoning", text: string): string {
    if (kind === "reasoning") return PING; // not written; the ping shows that the connection is alive
    if (text === "") return "";
    const index = this.#index;
    const begin = this.#isTextOpen
      ? ""
      : event("content_block_start", { index, content_block: { type: "text", text: "" } });
    this.#isTextOpen = true;
    return begin + event("content_block_delta", { index, delta: { type: "text_delta", text } });
  }

  #close(): string {
    if (!this.#isTextOpen) return "";
    this.#isTextOpen = false;
    this.#index += 1;
    return event("content_block_stop", { index: this.#index - 1 });
  }

  protected call(call: Reply["toolCalls"][number]): string {
    const closed = this.#close();
    const index = this.#index;
    this.#index += 1;
    const input = inputOf(call.arguments);
    // As the model wrote them, where that is an object.
    const partial_json = "invalid_arguments" in input ? JSON.stringify(input) : call.arguments.trim();
    const delta = { index, delta: { type: "input_json_delta", partial_json } };
    return (
      closed +
      event("content_block_start", { index, content_block: toolUse(call) }) +
      (partial_json === "" ? "" : event("content_block_delta", delta)) +
      event("content_block_stop", { index })
    );
  }

  protected end({ finish, usage, metadata }: Pick<Reply, "finish" | "usage" | "metadata">): string {
    const delta = { stop_reason: STOP_REASONS[finish], stop_sequence: null };
    return (
      this.#close() +
      event("message_delta", { delta, usage: renderUsage(usage), ...hermesField(metadata) }) +
      event("message_stop", {})
    );
  }
}

function event(type: string, fields: JsonObject): string {
  return sseEvent({ type, ...fields }, type);
}

// A reply of a server

const FINISHES: Readonly<Record<string, Finish>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  pause_turn: "stop",
  tool_use: "tool_calls",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  refusal: "content_filter",
};

type OpenBlock = { readonly block: Record<string, unknown>; json: string; isDone: boolean };

/** The texts of a block that come in pieces, by the kind of the piece. */
const GROWING: Readonly<Record<string, string>> = {
  text_delta: "text",
  thinking_delta: "thinking",
  signature_delta: "signature",
};

/** Collects the blocks of a reply. */
export class MessageReply extends CollectedReply {
  readonly #blocks = new Map<number, OpenBlock>();

  take(data: string | JsonObject): boolean {
    if (typeof data === "string") return false;
    const { type, index } = data;
    const open = typeof index === "number" ? this.#blocks.get(index) : undefined;
    switch (type) {
      case "message_start":
        this.envelope(recordOf(data.message));
        return false;
      case "content_block_start":
        if (typeof index === "number" && isRecord(data.content_block))
          this.#blocks.set(index, { block: { ...data.content_block }, json: "", isDone: false });
        return false;
      case "content_block_delta":
        if (open !== undefined) this.#delta(open, recordOf(data.delta));
        return false;
      case "content_block_stop":
        if (open !== undefined) open.isDone = true;
        return false;
      case "message_delta":
        this.envelope({ usage: data.usage });
        this.#end(recordOf(data.delta).stop_reason);
        return this.finish !== undefined;
      case "error":
        this.isFailed = true;
        return true;
      default:
        return type === "message_stop";
    }
  }

  whole(body: JsonObject): void {
    this.envelope(body);
    for (const [index, block] of recordsIn(body.content).entries())
      this.#blocks.set(index, { block, json: "", isDone: true });
    this.#end(body.stop_reason);
  }

  end(): ReadReply | undefined {
    const draft = replyOf(this.#all());
    return draft && this.stored(draft, "anthropic");
  }

  parts(): readonly ReplyPart[] {
    return this.#all().flatMap((block): ReplyPart[] => {
      const { type, id, name, input = {} } = block;
      const text = type === "text" ? textOr(block.text, "") : "";
      if (type === "text" && text.trim() === "") return []; // may not be sent
      const item =
        typeof input === "string" ? { ...block, input: recordOf(outsideJsonOr(input, {})) } : block;
      if (type !== "tool_use") return [{ item, text }];
      const given = JSON.stringify(item.input ?? {});
      return [{ item, text, call: { id: textOr(id, ""), name: textOr(name, ""), arguments: given } }];
    });
  }

  asSent(parts: readonly ReplyPart[]): readonly JsonObject[] {
    return [{ role: "assistant", content: parts.map(({ item }) => item) }];
  }

  #end(reason: unknown): void {
    if (typeof reason === "string" && reason !== "") this.finish = FINISHES[reason] ?? "stop";
  }

  #delta(open: OpenBlock, delta: JsonObject): void {
    const { block } = open;
    const field = GROWING[String(delta.type)];
    if (field !== undefined) block[field] = textOr(block[field], "") + textOr(delta[field], "");
    else if (delta.type === "input_json_delta") open.json += textOr(delta.partial_json, "");
    else if (delta.type === "citations_delta") block.citations = [...listOf(block.citations), delta.citation];
  }

  /** Of blocks that broke off, only text is kept: half of a call cannot be run, and half of a thought has no signature. */
  #all(): readonly JsonObject[] {
    const entries = [...this.#blocks].sort(([one], [other]) => one - other);
    return entries.flatMap(([, { block, json, isDone }]): JsonObject[] => {
      const isKept = block.type === "tool_use" ? isDone && textOr(block.id, "") !== "" : isDone;
      if (!isKept && block.type !== "text") return [];
      return [json === "" ? block : { ...block, input: json }];
    });
  }
}
