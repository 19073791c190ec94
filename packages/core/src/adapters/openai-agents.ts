// Memory for programs that use the OpenAI Agents SDK: a session for `run`, a filter that adds the memory to each request, and tools.
// Needs `@openai/agents` in the program and imports nothing of it. Tried with 0.20.0.
//
// Items that a model wrote (messages, function calls, reasoning, calls of hosted tools) come back unchanged. The rest of the protocol
// has no place in a conversation of this package: messages of the user lose `id` and `providerData`, and results of functions lose
// `id`, `providerData`, `namespace` and `caller` and become `completed`. Messages with the role `system` are not stored.

import { HermesError, isRecord, outsideJsonOr, randomHex } from "../lib/index.ts";
import type { UserMemory } from "../memory/index.ts";
import {
  type Content,
  fromRows,
  isResult,
  type Message,
  newMessage,
  type Part,
  parseContent,
  partJson,
  partsOf,
  renderContent,
  textOf,
  toolCallsOf,
} from "../message/index.ts";
import type { JsonSchema } from "../tools/index.ts";
import { type ChatToolsOptions, chatTools, refuseUnknown } from "./chat-tools.ts";

export type { ChatToolsOptions } from "./chat-tools.ts";

/** The chat, and which tools to offer. */
export type OpenAiAgentsOptions = ChatToolsOptions & {
  /** False: nothing is looked up for the user's message. */
  readonly recall?: boolean;
};

/** What a program with the OpenAI Agents SDK needs for one chat. */
export type OpenAiAgents = {
  /** For the option `session` of `run`. */
  readonly session: OpenAiAgentsSession;
  /** For the option `callModelInputFilter` of `run`: adds the memory, and what is recalled, to the instructions. */
  callModelInputFilter<D extends { instructions?: string; input: object[] }>(call: {
    readonly modelData: D;
  }): Promise<D>;
  /** For the `tools` of an agent. */
  readonly tools: OpenAiAgentsTool[];
};

/** Fits `Session`. */
export interface OpenAiAgentsSession {
  getSessionId(): Promise<string>;
  // biome-ignore lint/suspicious/noExplicitAny: `AgentInputItem` is a union of 19 types of the SDK, which changes with its versions
  getItems(limit?: number): Promise<any[]>;
  addItems(items: readonly object[]): Promise<void>;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  popItem(): Promise<any>;
  clearSession(): Promise<void>;
}

/** Fits `FunctionTool`. */
export type OpenAiAgentsTool = {
  type: "function";
  name: string;
  description: string;
  // biome-ignore lint/suspicious/noExplicitAny: the SDK wants a JSON schema with the types of its own
  parameters: any;
  strict: false;
  invoke(context: unknown, input: string, details?: ToolCallDetails): Promise<string>;
  needsApproval(): Promise<boolean>;
  isEnabled(): Promise<boolean>;
};

type ToolCallDetails = { readonly toolCall?: { readonly callId?: string }; readonly signal?: AbortSignal };

type Item = Readonly<Record<string, unknown>>;

const OPTIONS: Readonly<Record<keyof OpenAiAgentsOptions, true>> = {
  chatId: true,
  tools: true,
  recall: true,
};

/** A session, an input filter and tools of one chat of this person, for the OpenAI Agents SDK. */
export function openAiAgents(me: UserMemory, options: OpenAiAgentsOptions): OpenAiAgents {
  refuseUnknown("openAiAgents", options, OPTIONS);
  const { chatId } = options;
  return {
    session: openAiAgentsSession(me, options),

    async callModelInputFilter({ modelData }) {
      const query = lastQuestion(modelData.input as readonly Item[]);
      const isAsked = query !== "" && options.recall !== false;
      const { system, recall } = await me.context(chatId, { query, recall: isAsked });
      const instructions = [modelData.instructions ?? "", system, recall].filter((text) => text !== "");
      return { ...modelData, instructions: instructions.join("\n\n") };
    },

    tools: chatTools(me, options).map(({ name, description, parameters, run }) => ({
      type: "function",
      name,
      description,
      parameters: openSchema(parameters),
      strict: false,
      invoke: async (_context, input, { toolCall, signal } = {}) => {
        const result = await run(outsideJsonOr(input, {}), { id: toolCall?.callId, signal });
        return typeof result === "string" ? result : JSON.stringify(result);
      },
      needsApproval: async () => false,
      isEnabled: async () => true,
    })),
  };
}

/** The SDK's type of a schema without strict mode says so. */
function openSchema(schema: JsonSchema): JsonSchema {
  return { ...schema, additionalProperties: true };
}

function lastQuestion(input: readonly Item[]): string {
  const last = input.findLast(({ role }) => role === "user");
  return last === undefined ? "" : textOf(parseContent(last.content));
}

/** The conversation of the chat as a session of the SDK. */
export function openAiAgentsSession(
  me: UserMemory,
  { chatId }: { readonly chatId: string },
): OpenAiAgentsSession {
  /** One change after the other. */
  let changed: Promise<unknown> = Promise.resolve();
  const inOrder = <T>(work: () => Promise<T>): Promise<T> => {
    const result = changed.then(work);
    changed = result.catch(() => undefined); // the caller gets the rejection
    return result;
  };
  /** Every stored row, also those that a request would leave out. */
  const read = async (): Promise<readonly Message[]> => {
    const chat = await me.chat(chatId);
    const store = chat && (await me.layers.sessions({ mode: "read" }));
    return chat && store ? fromRows(await store.getMessages(chat.sessionId)) : [];
  };
  return {
    getSessionId: async () => chatId,

    async getItems(limit) {
      await changed;
      const items = (await read()).flatMap(toItems);
      return limit === undefined ? items : limit <= 0 ? [] : items.slice(-limit);
    },

    addItems: (items) =>
      inOrder(async () => {
        const messages = fromItems(items as readonly Item[]);
        if (messages.length > 0) await me.remember(chatId, messages);
      }),

    popItem: () =>
      inOrder(async () => {
        const messages = await read();
        const last = messages.findLastIndex((message) => toItems(message).length > 0);
        const items = messages[last] === undefined ? [] : toItems(messages[last]);
        if (items.length === 0) return undefined;
        const kept = [...messages.slice(0, last), ...fromItems(items.slice(0, -1))];
        if (kept.length === 0) await me.forgetChat(chatId);
        else if ((await me.remember(chatId, kept, { follow: true })).messages.length !== kept.length)
          throw new HermesError("chat-not-changed", "The newest item of the chat could not be taken back.", {
            hint: "An item that a compaction has summarised cannot be taken back. Use clearSession.",
          });
        return items.at(-1);
      }),

    clearSession: () => inOrder(async () => void (await me.forgetChat(chatId))),
  };
}

// ---- Items to messages ----

/** Under `reasoning_details`, which the database stores, beside the entries of other programs. */
const ENTRY = "openai_agents";

/**
 * Everything that a model wrote up to the next result becomes one message, because other programs expect all calls of a reply in one.
 * Each message gets an id, so that it is stored even if the same was said before.
 */
function fromItems(items: readonly Item[]): readonly Message[] {
  const messages: Message[] = [];
  let written: Item[] = [];
  const flush = () => {
    if (written.length > 0) messages.push(fromWritten(written));
    written = [];
  };
  for (const item of items) {
    const { type, role, content, callId, name, output } = item;
    const id = typeof item.id === "string" ? item.id : `item_${randomHex(6)}`;
    const meta = { platformMessageId: id };
    if (role === "user") {
      flush();
      messages.push(newMessage({ role, content: parseContent(content) }, meta));
    } else if (type === "function_call_result") {
      flush();
      const answers = { toolCallId: String(callId), toolName: String(name) };
      messages.push(newMessage({ role: "tool", content: parseContent(output), ...answers }, meta));
    } else if (role !== "system") written.push(jsonCopy(item));
  }
  flush();
  return messages;
}

function jsonCopy(item: Item): Item {
  return JSON.parse(JSON.stringify(item)) as Item;
}

function fromWritten(items: readonly Item[]): Message {
  const texts = items.flatMap((item) => (item.role === "assistant" ? [writtenText(item)] : []));
  const calls = items.filter(({ type }) => type === "function_call");
  const names = items.map(({ type }) => `[${String(type)}]`).join(" ");
  // A reply without text and calls would not be kept.
  const content = texts.length === 0 && calls.length === 0 ? names : texts.join("\n");
  return newMessage(
    {
      role: "assistant",
      content,
      toolCalls: calls.map(({ callId, name, arguments: given }) => ({
        id: String(callId),
        name: String(name),
        arguments: String(given),
      })),
      vendor: { reasoning_details: [{ type: ENTRY, items }] },
    },
    { platformMessageId: `item_${randomHex(6)}` },
  );
}

function writtenText({ content }: Item): string {
  if (!Array.isArray(content)) return String(content ?? "");
  return content.map(({ text, refusal, transcript }: Item) => text ?? refusal ?? transcript ?? "").join("");
}

// ---- Messages to items ----

function toItems(message: Message): readonly Item[] {
  const { role, content } = message;
  if (role === "user") return [{ type: "message", role, content: userContent(content) }];
  if (role === "assistant") return keptItems(message) ?? assistantItems(message);
  if (!isResult(message)) return [];
  const { toolCallId: callId, toolName: name = "unknown" } = message;
  return [{ type: "function_call_result", callId, name, status: "completed", output: outputOf(content) }];
}

/** Undefined for messages of other programs, and for those that a compaction shortened since. */
function keptItems(message: Message): readonly Item[] | undefined {
  const details = message.vendor?.reasoning_details;
  const entry = Array.isArray(details)
    ? details.find((each) => isRecord(each) && each.type === ENTRY)
    : undefined;
  const items: unknown = entry?.items;
  if (!Array.isArray(items)) return undefined;
  const made = fromWritten(items as readonly Item[]);
  const isSame = textOf(made.content) === textOf(message.content) && callsOf(made) === callsOf(message);
  return isSame ? (items as readonly Item[]) : undefined;
}

function callsOf(message: Message): string {
  return JSON.stringify(toolCallsOf(message).map(({ id, arguments: given }) => [id, given]));
}

function assistantItems(message: Message): readonly Item[] {
  const text = textOf(message.content);
  const said = {
    type: "message",
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text }],
  };
  const calls = toolCallsOf(message).map(({ id: callId, name, arguments: given }) => ({
    type: "function_call",
    callId,
    name,
    arguments: given,
    status: "completed",
  }));
  return [...(text === "" ? [] : [said]), ...calls];
}

function userContent(content: Content): unknown {
  return content === null || typeof content === "string" ? (content ?? "") : content.map(inputPart);
}

/** Parts that other programs stored get the names of this SDK. */
function inputPart(part: Part): unknown {
  if (part.type === "image") return { type: "input_image", image: part.url };
  if (part.type === "text") return { ...part.vendor, type: "input_text", text: part.text };
  const isOwn = isRecord(part.value) && /^input_|^audio$/.test(String(part.value.type));
  return isOwn ? part.value : { type: "input_text", text: partJson(part) };
}

function outputOf(content: Content): unknown {
  if (content === null || typeof content === "string") return content ?? "";
  const written = renderContent(content);
  const types = partsOf(content).map((part) => (part.type === "other" ? part.value : part.vendor) ?? {});
  const isOwn = !Array.isArray(written) || types.every((type) => /^input_/.test(String((type as Item).type)));
  return isOwn ? written : textOf(content);
}
