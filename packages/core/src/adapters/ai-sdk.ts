// Memory for programs that use the AI SDK: tools, a middleware for `wrapLanguageModel`, and the stored conversation as its messages.
// Needs `ai` 5, 6 or 7 in the program and imports nothing of it. Tried with 5.0.277, 6.0.326 and 7.0.169.
// Mastra takes models and tools of the AI SDK, so the same works there; tried with @mastra/core 1.71.0.

import { repairPairs } from "../context/index.ts";
import { isRecord, outsideJsonOr } from "../lib/index.ts";
import type { ChatMessage, UserMemory } from "../memory/index.ts";
import {
  isResult,
  type Message,
  type Part,
  partJson,
  partsOf,
  type ToolCall,
  type ToolMessage,
  textOf,
  toolCallsOf,
} from "../message/index.ts";
import type { JsonSchema } from "../tools/index.ts";
import { type MemoryMiddleware, type MiddlewareOptions, memoryMiddleware } from "./ai-sdk-middleware.ts";
import { type ChatToolsOptions, chatTools, refuseUnknown } from "./chat-tools.ts";

export type { MemoryMiddleware, MiddlewareOptions } from "./ai-sdk-middleware.ts";
export { sdkTextModel } from "./ai-sdk-prompt.ts";
export type { ChatToolsOptions } from "./chat-tools.ts";

/** The chat, and what the middleware and the tools may do. */
export type AiSdkOptions = ChatToolsOptions & MiddlewareOptions;

/** What a program with the AI SDK needs for one chat. */
export type AiSdk = {
  /** To spread into the `tools` of a call. Without `stopWhen` a call ends after the first tool call. */
  readonly tools: Record<string, AiSdkTool>;
  /**
   * For `wrapLanguageModel`. Callers pass the new message only, or their whole list each time. Use one per chat; it may be made anew for
   * each request.
   */
  readonly middleware: MemoryMiddleware;
  /** What a model gets of the stored chat, oldest first, as far as it fits: `ModelMessage` of each version. Creates no chat. */
  messages(options?: { readonly maxTokens?: number }): Promise<ChatMessage[]>;
  /**
   * What was said, for `useChat` and other user interfaces: `UIMessage` of each version, also from before a compaction. A turn is one
   * message, with its tools and steps. `limit` counts the stored messages, as in `me.transcript`, which says how many are left out;
   * `before` is the id of the oldest message that is shown, and gives older ones. Creates no chat.
   */
  uiMessages(options?: { readonly limit?: number; readonly before?: string }): Promise<ChatUiMessage[]>;
};

/** Fits `UIMessage` of the AI SDK 5, 6 and 7. */
export type ChatUiMessage = { id: string; role: "user" | "assistant"; parts: ChatUiPart[] };

/** A part of a `ChatUiMessage`. */
export type ChatUiPart =
  | { type: "text"; text: string }
  | { type: "reasoning"; text: string; providerMetadata?: Metadata }
  | { type: "file"; url: string; mediaType: string; filename?: string }
  | { type: "step-start" }
  | ({ type: `tool-${string}`; toolCallId: string; input: unknown } & (
      | { state: "input-available" }
      | { state: "output-available"; output: unknown }
      | { state: "output-error"; errorText: string }
    ));

type Metadata = { [provider: string]: { [key: string]: Json } };
type Json = null | string | number | boolean | Json[] | { [key: string]: Json };

/** Fits a tool of the AI SDK 5, 6 and 7. */
export type AiSdkTool = {
  readonly description: string;
  // biome-ignore lint/suspicious/noExplicitAny: the type of a schema differs between the versions, and each contains private symbols
  readonly inputSchema: any;
  execute(
    input: unknown,
    options: { readonly toolCallId: string; readonly abortSignal?: AbortSignal | undefined },
  ): Promise<unknown>;
};

const OPTIONS: Readonly<Record<keyof AiSdkOptions, true>> = {
  chatId: true,
  tools: true,
  recall: true,
  maxTokens: true,
  contextLength: true,
  follow: true,
  onError: true,
};

/** Tools, a middleware and the stored messages of one chat of this person, for the AI SDK 5, 6 and 7. Throws `unknown-tool`. */
export function aiSdk(me: UserMemory, options: AiSdkOptions): AiSdk {
  refuseUnknown("aiSdk", options, OPTIONS);
  const { chatId } = options;
  const tools = chatTools(me, options).map(({ name, description, parameters, run }): [string, AiSdkTool] => [
    name,
    {
      description,
      inputSchema: sdkSchema(parameters),
      execute: (input, { toolCallId: id, abortSignal: signal }) => run(input, { id, signal }),
    },
  ]);
  return {
    tools: Object.fromEntries(tools),
    middleware: memoryMiddleware(me, options),
    async messages({ maxTokens } = {}) {
      if ((await me.chat(chatId)) === undefined) return []; // `context` would create it
      return (await me.context(chatId, { recall: false, maxTokens })).messages;
    },
    async uiMessages({ limit, before } = {}) {
      const from = before === undefined ? undefined : Number(before);
      const said = await me.transcript(chatId, { format: "hermes", limit, before: from });
      // A call without a result would be refused by a model when the list is sent back.
      return toUiMessages(repairPairs(said?.messages ?? []));
    },
  };
}

/** What `jsonSchema` of each version returns. The tools check their arguments themselves and answer with what is wrong. */
function sdkSchema(schema: JsonSchema): object {
  return {
    [Symbol.for("vercel.ai.schema")]: true,
    [Symbol.for("vercel.ai.validator")]: true,
    jsonSchema: schema,
    validate: (value: unknown) => ({ success: true, value }),
  };
}

// ---- Messages for user interfaces ----

function toUiMessages(messages: readonly Message[]): ChatUiMessage[] {
  const results = new Map(messages.filter(isResult).map((message) => [message.toolCallId, message]));
  const list: ChatUiMessage[] = [];
  for (const message of messages) {
    const { role, meta } = message;
    if (role !== "user" && role !== "assistant") continue;
    const last = list.at(-1);
    const isStep = role === "assistant" && last?.role === "assistant";
    const target = isStep ? last : { id: String(meta.rowId ?? meta.id), role, parts: [] };
    if (!isStep) list.push(target);
    if (role === "assistant") target.parts.push({ type: "step-start" });
    target.parts.push(...uiParts(message, results));
  }
  return list;
}

/** Reasoning, content, calls; or in the order of the reply, if that is another one and nothing has been changed since. */
function uiParts(message: Message, results: ReadonlyMap<string, ToolMessage>): readonly ChatUiPart[] {
  const parts = {
    reasoning: message.role === "assistant" ? reasoningOf(message) : [],
    content: partsOf(message.content).map(uiPart),
    call: toolCallsOf(message).map((call) => uiTool(call, results.get(call.id))),
  };
  const usual = [...parts.reasoning, ...parts.content, ...parts.call];
  const order = (message.meta.partOrder ?? []).map((kind) => (kind === "result" ? "content" : kind));
  const isWhole = (["reasoning", "content", "call"] as const).every(
    (kind) => order.filter((each) => each === kind).length === parts[kind].length,
  );
  return isWhole ? order.flatMap((kind) => parts[kind].shift() ?? []) : usual;
}

function reasoningOf({ vendor = {} }: Message): ChatUiPart[] {
  const details = Array.isArray(vendor.reasoning_details) ? vendor.reasoning_details : [];
  return details.flatMap((entry): ChatUiPart[] => {
    if (!isRecord(entry)) return [];
    const told: unknown = entry.text ?? entry.thinking;
    const text = typeof told === "string" ? told : "";
    const providerMetadata = metadataOf(entry);
    if (providerMetadata === undefined) return text === "" ? [] : [{ type: "reasoning", text }];
    return [{ type: "reasoning", text, providerMetadata }];
  });
}

/** Signatures, without which a vendor refuses the reasoning that a user interface sends back. */
function metadataOf(entry: Readonly<Record<string, unknown>>): Metadata | undefined {
  const { type, providerOptions, signature, data } = entry;
  if (isRecord(providerOptions)) return providerOptions as Metadata; // it was stored as JSON
  if (type === "thinking" && typeof signature === "string") return { anthropic: { signature } };
  if (type === "redacted_thinking" && typeof data === "string") return { anthropic: { redactedData: data } };
  return undefined;
}

function uiPart(part: Part): ChatUiPart {
  if (part.type === "text") return { type: "text", text: part.text };
  if (part.type === "image") {
    const [, mediaType = "image/*"] = /^data:([^;,]+)/.exec(part.url) ?? [];
    return { type: "file", url: part.url, mediaType };
  }
  const { value } = part;
  if (!isRecord(value) || typeof value.data !== "string" || typeof value.mediaType !== "string")
    return { type: "text", text: partJson(part) };
  const { data, mediaType, filename } = value;
  const url = /^(?:https?|data):/i.test(data) ? data : `data:${mediaType};base64,${data}`;
  return { type: "file", url, mediaType, ...(typeof filename === "string" ? { filename } : {}) };
}

/** Kinds of output, which a message of a tool has as its `finishReason`. */
const FAILURES: ReadonlySet<string> = new Set(["error-text", "error-json", "execution-denied"]);

function uiTool({ id, name, arguments: given }: ToolCall, result: ToolMessage | undefined): ChatUiPart {
  const input = outsideJsonOr(given, given);
  const tool = { type: `tool-${name}`, toolCallId: id, input } as const;
  if (result === undefined) return { ...tool, state: "input-available" };
  const text = textOf(result.content);
  if (FAILURES.has(result.meta.finishReason ?? ""))
    return { ...tool, state: "output-error", errorText: text === "" ? "The tool was not run." : text };
  return { ...tool, state: "output-available", output: outsideJsonOr(text, text) };
}
