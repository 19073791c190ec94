// OpenAI's chat completions, `/v1/chat/completions`, as all compatible servers speak it.
import { promptTokens, totalTokens, type Usage } from "@hermes-memory/agent/internal/models";
import { isRecord, randomHex, withoutUndefined } from "@hermes-memory/core/internal/lib";
import {
  type Message,
  madeUpId,
  parseToolCalls,
  readRow,
  textOf,
} from "@hermes-memory/core/internal/message";
import type { ToolDefinition } from "@hermes-memory/core/internal/tools";
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
  optionalList,
  type ReadContent,
  readContent,
  readTools,
  recordOf,
  recordsIn,
  textOr,
  toolDefinition,
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

export const chatWire: Wire = {
  name: "chat",
  parse: readRequest,
  newReplyId: () => `chatcmpl-${newId()}`,
  render,
  writer: (start, request) => new ChatWriter(start, request),
  renderProblem: openAiProblem,
};

// The request

function readRequest(body: JsonObject): WireRequest {
  const lost = new Set(lostFields("chat", body));
  const tools = toolsOf(body, lost);
  const { system, messages } = readRows(neededList(body, "messages"), losing(lost, "messages"));
  return {
    ...commonFields(body),
    wire: "chat",
    system,
    messages,
    tools,
    toolChoice: toolChoiceOf(body),
    maxOutputTokens: optionalCount(body, "max_completion_tokens") ?? optionalCount(body, "max_tokens"),
    includeUsage: recordOf(body.stream_options).include_usage === true,
    unsupported: [...lost],
  };
}

const ROLES: ReadonlySet<unknown> = new Set(["system", "developer", "user", "assistant", "tool", "function"]);

type Rows = { readonly system: string; readonly messages: readonly Message[] };

/** Instructions are the system messages before all others. A later one stays in its place. */
function readRows(rows: readonly unknown[], lose: Lose): Rows {
  const instructions: string[] = [];
  const messages: Message[] = [];
  /** Calls of the old API have no ids: the result belongs to the last call of that name. */
  const oldCalls = new Map<string, string>();
  for (const [index, value] of rows.entries()) {
    const param = `messages[${index}]`;
    const row = neededRecord(value, param);
    const role = neededText(row, "role", `${param}.role`);
    if (!ROLES.has(role))
      throw wrong(`${param}.role`, `The field '${param}.role' has a role that this API does not have.`);
    const read = (role === "user" ? neededContent : readContent)(row.content, `${param}.content`, lose);
    if (role === "assistant") messages.push(assistantMessage(row, read, { index, param, oldCalls, lose }));
    else if (role === "tool" || role === "function")
      messages.push(toolMessage(row, read, { param, oldCalls }));
    else if (role !== "user" && messages.length === 0) instructions.push(textOf(read.content));
    else messages.push(plainMessage(row, read));
  }
  return { system: instructions.filter((text) => text !== "").join("\n\n"), messages };
}

/** Keys of rows of ours: a client must not decide when a message was sent or which stored row it is. */
const OWN_KEYS: ReadonlySet<string> = new Set([
  "meta",
  "timestamp",
  "message_id",
  "finish_reason",
  "observed",
]);

function plainMessage(row: JsonObject, { content, vendor }: ReadContent): Message {
  const fields = Object.entries(row).filter(
    ([key, value]) => value !== null && !OWN_KEYS.has(key) && !key.startsWith("_"),
  );
  const message = readRow({ ...Object.fromEntries(fields), content: null });
  const all = { ...message.vendor, ...vendor };
  return { ...message, content, ...(Object.keys(all).length === 0 ? {} : { vendor: all }) };
}

type AssistantPlace = {
  readonly index: number;
  readonly param: string;
  readonly oldCalls: Map<string, string>;
  readonly lose: Lose;
};

function assistantMessage(row: JsonObject, read: ReadContent, place: AssistantPlace): Message {
  const { function_call: oldCall, tool_calls: _, refusal, audio, ...others } = row;
  const { index, param, oldCalls, lose } = place;
  const entries = (optionalList(row, "tool_calls", `${param}.tool_calls`) ?? []).map((call, at) =>
    neededRecord(call, `${param}.tool_calls[${at}]`),
  );
  const calls = entries.map((entry, at) => checkedCall(entry, `${param}.tool_calls[${at}]`));
  if (entries.some(({ type }) => type === "custom")) lose("custom_tool_call");
  if (isRecord(audio)) lose("audio");
  if (isRecord(oldCall) && calls.length === 0) {
    const name = neededText(oldCall, "name", `${param}.function_call.name`);
    const id = madeUpId(name, oldCall.arguments, index);
    oldCalls.set(name, id);
    calls.push({ id, function: { name, arguments: oldCall.arguments } });
  }
  // A refusal is what the model said.
  const said = read.content === null || read.content === "" ? textOr(refusal, read.content) : read.content;
  return plainMessage({ ...others, tool_calls: calls }, { ...read, content: said });
}

/** The input of a custom tool is text. It is kept as the argument `input`. */
function checkedCall(call: JsonObject, param: string): JsonObject {
  if (call.type === "custom") {
    const custom = neededRecord(call.custom, `${param}.custom`);
    const name = neededText(custom, "name", `${param}.custom.name`);
    return {
      id: call.id,
      function: { name, arguments: JSON.stringify({ input: textOr(custom.input, "") }) },
    };
  }
  neededText(neededRecord(call.function, `${param}.function`), "name", `${param}.function.name`);
  return call;
}

function toolMessage(
  row: JsonObject,
  read: ReadContent,
  { param, oldCalls }: Pick<AssistantPlace, "param" | "oldCalls">,
): Message {
  if (row.role === "tool") {
    neededText(row, "tool_call_id", `${param}.tool_call_id`);
    return plainMessage(row, read);
  }
  const name = neededText(row, "name", `${param}.name`);
  const id = oldCalls.get(name) ?? madeUpId(name, "", 0);
  return plainMessage({ ...row, role: "tool", tool_call_id: id }, read);
}

function toolsOf(body: JsonObject, lost: Set<string>): readonly ToolDefinition[] {
  const tools = readTools(body, lost, ({ type = "function", function: declared }, param) => {
    if (type !== "function") return undefined;
    const fields = neededRecord(declared, `${param}.function`);
    return toolDefinition(fields, `${param}.function`, fields.parameters);
  });
  const old = (optionalList(body, "functions") ?? []).map((value, index) => {
    const fields = neededRecord(value, `functions[${index}]`);
    return toolDefinition(fields, `functions[${index}]`, fields.parameters);
  });
  return [...tools, ...old];
}

/** A choice among some of the tools counts as `auto`; it is among the lost fields. */
function toolChoiceOf(body: JsonObject): WireRequest["toolChoice"] {
  const choice = wordOrRecord(given(body, "tool_choice") ?? given(body, "function_call") ?? "auto");
  if (typeof choice === "string") return choice;
  const { type, function: named, custom, name } = choice;
  if (type === "allowed_tools") return "auto";
  const chosen = textOr(recordOf(named ?? custom).name, textOr(name, undefined));
  if (chosen === undefined) throw wrong("tool_choice", "The field 'tool_choice' names no tool.");
  return { name: chosen };
}

// The reply

const FINISH_REASONS: Readonly<Record<Finish, string>> = {
  stop: "stop",
  length: "length",
  tool_calls: "tool_calls",
  content_filter: "content_filter",
  // The reply is not whole; there is no nearer word.
  interrupted: "length",
};

function render(reply: Reply): JsonObject {
  const { id, model, createdAtSeconds: created, text, reasoning, toolCalls, finish, usage, metadata } = reply;
  const message = withoutUndefined({
    role: "assistant",
    content: text === "" && toolCalls.length > 0 ? null : text,
    refusal: null,
    annotations: [],
    reasoning_content: reasoning === "" ? undefined : reasoning,
    tool_calls: toolCalls.length === 0 ? undefined : toolCalls.map(renderCall),
  });
  return {
    id,
    object: "chat.completion",
    created,
    model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: FINISH_REASONS[finish] }],
    ...(usage === undefined ? {} : { usage: renderUsage(usage) }),
    ...hermesField(metadata),
  };
}

function renderCall({ id, name, arguments: text }: Reply["toolCalls"][number]): JsonObject {
  return { id, type: "function", function: { name, arguments: argumentsText(text) } };
}

function renderUsage(usage: Usage): JsonObject {
  return {
    prompt_tokens: promptTokens(usage),
    completion_tokens: usage.output,
    total_tokens: totalTokens(usage),
    prompt_tokens_details: { cached_tokens: usage.cacheRead, cache_write_tokens: usage.cacheWrite },
    completion_tokens_details: { reasoning_tokens: usage.reasoning },
  };
}

class ChatWriter extends ReplyWriter {
  readonly #head: JsonObject;
  readonly #usageField: JsonObject;
  #calls = 0;

  constructor(start: ReplyStart, { includeUsage }: WireRequest) {
    super();
    const { id, createdAtSeconds: created, model } = start;
    this.#head = { id, object: "chat.completion.chunk", created, model };
    // With usage, OpenAI writes the field into every chunk.
    this.#usageField = includeUsage ? { usage: null } : {};
  }

  open(): string {
    return this.#delta({ role: "assistant", content: "", refusal: null });
  }

  protected say(kind: "text" | "reasoning", text: string): string {
    return text === "" ? "" : this.#delta({ [kind === "text" ? "content" : "reasoning_content"]: text });
  }

  #delta(delta: JsonObject, finish: string | null = null, more: JsonObject = {}): string {
    const choices = [{ index: 0, delta, logprobs: null, finish_reason: finish }];
    return sseEvent({ ...this.#head, choices, ...this.#usageField, ...more });
  }

  protected call({ id, name, arguments: text }: Reply["toolCalls"][number]): string {
    const index = this.#calls;
    this.#calls += 1;
    const head = this.#delta({
      tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }],
    });
    return head + this.#delta({ tool_calls: [{ index, function: { arguments: argumentsText(text) } }] });
  }

  protected fail(problem: GatewayProblem): string {
    return sseEvent(openAiProblem(problem));
  }

  protected end({ finish, usage, metadata }: Pick<Reply, "finish" | "usage" | "metadata">): string {
    const last = this.#delta({}, FINISH_REASONS[finish], hermesField(metadata));
    const isCounted = usage !== undefined && "usage" in this.#usageField;
    const counted = isCounted ? sseEvent({ ...this.#head, choices: [], usage: renderUsage(usage) }) : "";
    return last + counted + sseEvent("[DONE]");
  }
}

// A reply of a server

const FINISHES: Readonly<Record<string, Finish>> = {
  stop: "stop",
  length: "length",
  tool_calls: "tool_calls",
  function_call: "tool_calls",
  content_filter: "content_filter",
};

type Call = Record<string, unknown> & { function: JsonObject };

/** Collects the first choice of a reply. */
export class ChatReply extends CollectedReply {
  #text = "";
  #refusal = "";
  #reasoning = "";
  #reasoningContent: string | undefined;
  readonly #details: Record<string, unknown>[] = [];
  readonly #calls: Call[] = [];
  #pieces: readonly { readonly piece: JsonObject; readonly call: Call }[] = [];

  get text(): string {
    return this.#text;
  }

  /** The pieces of calls in the last chunk, and the calls that they belong to. */
  get pieces(): readonly { readonly piece: JsonObject; readonly call: JsonObject }[] {
    return this.#pieces;
  }

  take(data: string | JsonObject): boolean {
    this.#pieces = [];
    if (typeof data === "string") return data.trim() === "[DONE]";
    this.envelope(data);
    if (data.error != null) this.isFailed = true;
    for (const choice of listOf(data.choices).map(recordOf)) {
      if ((choice.index ?? 0) !== 0) continue;
      this.#take(recordOf(choice.delta ?? choice.message));
      const reason = textOr(choice.finish_reason, undefined);
      if (reason !== undefined) this.finish = FINISHES[reason] ?? "stop";
    }
    return this.finish !== undefined || isRecord(data.error);
  }

  whole(body: JsonObject): void {
    this.take(body);
    if (listOf(body.choices).length > 0) this.finish ??= "stop";
  }

  end(): ReadReply | undefined {
    const content = this.#text === "" ? this.#refusal : this.#text;
    const toolCalls = parseToolCalls(this.#knownCalls().map(withoutCustom));
    const reasoning = textOr(this.#reasoningContent ?? this.#reasoning, undefined);
    return this.stored(
      { content, toolCalls, vendor: withoutUndefined({ ...this.#thoughts(), reasoning }) },
      "chat",
    );
  }

  parts(): readonly ReplyPart[] {
    const text = this.#text;
    const calls = this.#knownCalls().map((call): ReplyPart => {
      if (textOr(call.id, "") === "") call.id = `call_${randomHex(6)}`;
      const { name, arguments: given } = call.function;
      const called = {
        id: textOr(call.id, ""),
        name: call.type === "custom" ? "" : textOr(name, ""),
        arguments: argumentsText(textOr(given, "")),
      };
      return { item: sentCall(call), text: "", call: called };
    });
    return [...(text === "" ? [] : [{ item: { type: "text", text }, text }]), ...calls];
  }

  asSent(parts: readonly ReplyPart[]): readonly JsonObject[] {
    const content = this.#text === "" ? null : this.#text;
    const calls = parts.flatMap(({ item, call }) => (call === undefined ? [] : [item]));
    // Servers refuse an empty list, and some of them reasoning without a call.
    const more = calls.length === 0 ? {} : { ...this.#thoughts(), tool_calls: calls };
    return [withoutUndefined({ role: "assistant", content, ...more })];
  }

  #knownCalls(): readonly Call[] {
    return this.#calls.filter((call) => call !== undefined); // a server may begin with index 1
  }

  #thoughts() {
    return {
      reasoning: textOr(this.#reasoning, undefined),
      reasoning_content: this.#reasoningContent,
      reasoning_details: this.#details.length === 0 ? undefined : this.#details,
    };
  }

  #take(delta: JsonObject): void {
    const { content, refusal, reasoning, reasoning_content: thought, reasoning_details: details } = delta;
    this.#text += contentText(content);
    this.#refusal += textOr(refusal, "");
    this.#reasoning += textOr(reasoning, "");
    if (typeof thought === "string") this.#reasoningContent = (this.#reasoningContent ?? "") + thought;
    for (const entry of recordsIn(details)) this.#detail(entry);
    this.#pieces = recordsIn(delta.tool_calls).map((piece, at) => ({ piece, call: this.#call(piece, at) }));
    if (isRecord(delta.function_call)) this.#call({ index: 0, function: delta.function_call }, 0);
  }

  /** A call comes in pieces with the same index; a whole body has no index. Some servers send whole calls, all with index 0. */
  #call(piece: JsonObject, position: number): Call {
    const { index, function: called, custom, ...others } = piece;
    const at = typeof index === "number" && index >= 0 && index < MOST_CALLS ? index : position;
    const known = this.#calls[at];
    const isOther =
      known !== undefined && typeof others.id === "string" && others.id !== "" && others.id !== known.id;
    const call: Call = (isOther ? undefined : known) ?? { function: { name: "", arguments: "" } };
    if (isOther) this.#calls.push(call);
    else this.#calls[at] = call;
    const { name, arguments: text, input, ...rest } = recordOf(called ?? custom);
    const so = call.function;
    const more = typeof text === "string" ? text : text === undefined ? "" : JSON.stringify(text);
    const knownName = textOr(so.name, "");
    call.function = {
      ...so,
      ...rest,
      name: knownName === "" ? textOr(name, "") : knownName,
      arguments: `${textOr(so.arguments, "")}${more}${custom === undefined ? "" : textOr(input, "")}`,
    };
    for (const [key, value] of Object.entries(others))
      if (value !== null && value !== undefined && value !== "") call[key] = value;
    return call;
  }

  /** OpenRouter sends an entry as several with the same type and index, each with the next piece of its text. */
  #detail(entry: JsonObject): void {
    const last = this.#details.at(-1);
    const grows =
      entry.type === "reasoning.text" ? "text" : entry.type === "reasoning.summary" ? "summary" : undefined;
    const isMore =
      grows !== undefined && last?.type === entry.type && (last?.index ?? 0) === (entry.index ?? 0);
    if (!isMore || last === undefined) {
      this.#details.push({ ...entry });
      return;
    }
    for (const [key, value] of Object.entries(entry))
      if (key === grows) last[key] = `${textOr(last[key], "")}${textOr(value, "")}`;
      else if (value !== null && value !== undefined) last[key] = value;
  }
}

const MOST_CALLS = 1_000;

/** As `checkedCall` reads it when the client sends it back. */
function withoutCustom(call: JsonObject): JsonObject {
  if (call.type !== "custom") return call;
  const { name, arguments: input } = recordOf(call.function);
  return { id: call.id, function: { name, arguments: JSON.stringify({ input }) } };
}

/** As its server wrote it. */
export function sentCall({ function: called, ...others }: JsonObject): JsonObject {
  const { name, arguments: text } = recordOf(called);
  return others.type === "custom"
    ? { ...others, custom: { name, input: text } }
    : { ...others, type: "function", function: { name, arguments: text } };
}

/** Mistral sends parts. */
function contentText(content: unknown): string {
  if (typeof content === "string") return content;
  return listOf(content)
    .map((part) => textOr(recordOf(part).text, ""))
    .join("");
}
