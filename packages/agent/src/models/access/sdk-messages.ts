// Converts our messages to the AI SDK's and its content to a message of ours: the one file that knows both shapes. Pure, and the
// same messages always give the same prompt. Reasoning is stored in the vendors' own shapes, because other programs read the same
// database, and is sent back only over the wire that it came from.
import type {
  LanguageModelV4Content,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import { isRecord, outsideJsonOr, withoutUndefined } from "@hermes-memory/core/internal/lib";
import {
  type AssistantMessage,
  type Content,
  type Message,
  madeUpId,
  newMessage,
  type Part,
  parseContent,
  partJson,
  partsOf,
  type SystemMessage,
  type ToolCall,
  type ToolMessage,
  type UserMessage,
} from "@hermes-memory/core/internal/message";
import { parseBaseUrl } from "../base-url.ts";
import type { ModelIdentity } from "../chat.ts";
import { asList, asRecord, someText } from "../json-fields.ts";

type Assistant = Extract<LanguageModelV4Message, { role: "assistant" }>;
type AssistantPart = Assistant["content"][number];
type UserPart = Extract<LanguageModelV4Message, { role: "user" }>["content"][number];
type FilePart = Extract<UserPart, { type: "file" }>;
type JsonObject = SharedV4ProviderOptions[string];
type Options = { readonly providerOptions?: SharedV4ProviderOptions };

export type WireTraits = {
  readonly apiMode: ModelIdentity["apiMode"];
  /** Keys of `providerOptions` that hold this wire's data. */
  readonly namespaces: readonly string[];
  /** OpenRouter: `reasoning_details` are sent back unchanged. */
  readonly takesReasoningDetails: boolean;
  /** A Gemini model behind a chat server. */
  readonly takesThoughtSignatures: boolean;
  /** Arguments of calls are sent as the text that the model wrote; to a model object that a program made, as a value. */
  readonly takesArgumentText: boolean;
  /** Between two blocks of text in one reply. */
  readonly textSeparator: string;
  /** The text may contain reasoning between tags. */
  readonly hasThinkTags: boolean;
};

const NAMESPACES: Readonly<Record<ModelIdentity["apiMode"], string>> = {
  anthropic_messages: "anthropic",
  chat_completions: "openaiCompatible",
  responses: "openai",
  google: "google",
};

/** `sdkProvider`: the `provider` field of a model object that a program made. */
export function wireTraits(identity: ModelIdentity, sdkProvider?: string): WireTraits {
  const { apiMode, model } = identity;
  const isChat = apiMode === "chat_completions";
  const isText = isChat || apiMode === "responses";
  const own = sdkProvider?.split(".")[0]?.trim() ?? "";
  return {
    apiMode,
    namespaces: [...new Set([NAMESPACES[apiMode], own])].filter((name) => name !== ""),
    takesReasoningDetails: isChat && isOpenRouter(identity),
    takesThoughtSignatures: isChat && /gemini/i.test(model),
    takesArgumentText: isText && sdkProvider === undefined,
    textSeparator: apiMode === "responses" ? "\n\n" : "",
    hasThinkTags: isChat,
  };
}

export function isOpenRouter({ provider, baseUrl }: ModelIdentity): boolean {
  const host = baseUrl === "" ? "" : (parseBaseUrl(baseUrl)?.hostname ?? "");
  return provider === "openrouter" || host === "openrouter.ai" || host.endsWith(".openrouter.ai");
}

// To the SDK

export function toSdkPrompt(messages: readonly Message[], wire: WireTraits): LanguageModelV4Prompt {
  const toolNames = new Map<string, string>();
  return messages.flatMap((message, index): LanguageModelV4Message[] => {
    switch (message.role) {
      case "system":
        if (!isKnownRole(message)) return []; // rows of other programs, such as `session_meta`
        return [
          index === 0 || ["chat_completions", "responses"].includes(wire.apiMode)
            ? systemMessage(message)
            : userMessage(message, wire),
        ];
      case "user":
        return [userMessage(message, wire)];
      case "assistant": {
        for (const call of message.toolCalls) toolNames.set(call.id, call.name);
        const content = assistantParts(message, wire);
        const isRefused = content.length === 0 && ["anthropic_messages", "google"].includes(wire.apiMode);
        return isRefused ? [] : [{ role: "assistant", content, ...assistantOptions(message, wire) }];
      }
      case "tool":
        return toolMessage(message, toolNames, wire);
      default:
        return message satisfies never;
    }
  });
}

function isKnownRole({ meta: { writtenRole = "system" } }: SystemMessage): boolean {
  return writtenRole === "system" || writtenRole === "developer";
}

function systemMessage({ content, vendor }: SystemMessage): LanguageModelV4Message {
  const marker =
    vendor?.cache_control ??
    partsOf(content)
      .map(markerOf)
      .findLast((each) => each !== undefined);
  return { role: "system", content: wireText(content, "\n"), ...cacheOptions(marker) };
}

function userMessage(message: SystemMessage | UserMessage, { apiMode }: WireTraits): LanguageModelV4Message {
  const parts = partsOf(message.content).map(userPart);
  const isEmpty = parts.every((part) => part.type === "text" && part.text.trim() === "");
  // Anthropic refuses a message without text.
  const content =
    isEmpty && apiMode === "anthropic_messages" ? [{ type: "text" as const, text: "(empty)" }] : parts;
  const some = content.length > 0 ? content : [{ type: "text" as const, text: "" }];
  return { role: "user", content: some, ...cacheOptions(message.vendor?.cache_control) };
}

function userPart(part: Part): UserPart {
  const image = part.type === "image" ? imageAt(part.url) : undefined;
  return image
    ? { type: "file", ...image, ...cacheOptions(markerOf(part)) }
    : { type: "text", text: partText(part), ...cacheOptions(markerOf(part)) };
}

function wireText(content: Content, separator: string): string {
  return partsOf(content).map(partText).join(separator);
}

/** A part that the wire does not support is sent as JSON. */
function partText(part: Part): string {
  if (part.type === "text") return part.text;
  const { text } = part.type === "other" ? asRecord(part.value) : {};
  return typeof text === "string" ? text : partJson(part);
}

function markerOf(part: Part): unknown {
  return part.type === "other" ? asRecord(part.value).cache_control : part.vendor?.cache_control;
}

function assistantParts(message: AssistantMessage, wire: WireTraits): AssistantPart[] {
  const calls = message.toolCalls.map((call): AssistantPart => {
    const signature = someText(asRecord(asRecord(call.vendor?.extra_content).google).thought_signature);
    const isSigned = wire.apiMode === "google" || wire.takesThoughtSignatures;
    return {
      type: "tool-call",
      toolCallId: wireId(call.id, wire),
      toolName: call.name,
      input: argumentsFor(call.arguments, wire),
      providerOptions:
        signature !== undefined && isSigned ? { google: { thoughtSignature: signature } } : undefined,
    };
  });
  return [...reasoningParts(message, wire), ...textParts(message, wire), ...calls];
}

function textParts(message: AssistantMessage, wire: WireTraits): AssistantPart[] {
  const text = wireText(message.content, "\n");
  const last = partsOf(message.content).at(-1);
  const items = wire.apiMode === "responses" ? messageItems(message) : [];
  if (items.length > 0 && items.map((item) => item.text).join(wire.textSeparator) === text)
    return items.map(({ text: each, id: itemId, phase }) => ({
      type: "text",
      text: each,
      ...vendorOptions(wire, withoutUndefined({ itemId, phase })),
    }));
  const signature = wire.apiMode === "google" ? textSignature(message) : undefined;
  if (text === "" && signature === undefined) return [];
  const options =
    signature === undefined
      ? cacheOptions(last && markerOf(last))
      : vendorOptions(wire, { thoughtSignature: signature });
  return [{ type: "text", text, ...options }];
}

function messageItems({ vendor }: AssistantMessage) {
  return asList(vendor?.codex_message_items).map((item) => {
    const { id, phase, content } = asRecord(item);
    return { text: wireText(parseContent(content), ""), id: someText(id), phase: someText(phase) };
  });
}

/** Reasoning of this wire only: a vendor refuses the details of another one. */
function reasoningParts(message: AssistantMessage, wire: WireTraits): AssistantPart[] {
  const part = (text: string, data: JsonObject): AssistantPart => ({
    type: "reasoning",
    text,
    ...vendorOptions(wire, data),
  });
  const { vendor = {} } = message;
  const details = asList(vendor.reasoning_details).map(asRecord);
  switch (wire.apiMode) {
    case "anthropic_messages":
      return details.flatMap(({ type, thinking, signature, data }) => {
        const [signed, hidden] = [someText(signature), someText(data)];
        if (type === "thinking" && signed) return [part(String(thinking ?? ""), { signature: signed })];
        return type === "redacted_thinking" && hidden ? [part("", { redactedData: hidden })] : [];
      });
    case "responses":
      return asList(vendor.codex_reasoning_items).flatMap((item) => {
        const { id, encrypted_content: encrypted, summary } = asRecord(item);
        const [itemId, content] = [someText(id), someText(encrypted)];
        if (content === undefined) return []; // the vendor stores nothing, so it does not know the id alone
        const data = { itemId, reasoningEncryptedContent: content };
        const texts = asList(summary).flatMap((entry) => someText(asRecord(entry).text) ?? []);
        return (texts.length > 0 ? texts : [""]).map((text) => part(text, data));
      });
    case "google":
      return details.filter(isSignedThought).map((entry) => {
        return part(someText(entry.text) ?? "", { thoughtSignature: String(entry.thought_signature) });
      });
    case "chat_completions": {
      const text =
        wire.takesReasoningDetails && routerDetails(message).length > 0
          ? undefined
          : vendor.reasoning_content;
      return typeof text === "string" && text !== "" ? [{ type: "reasoning", text }] : [];
    }
    default:
      return wire.apiMode satisfies never;
  }
}

function assistantOptions(message: AssistantMessage, wire: WireTraits): Options {
  const details = wire.takesReasoningDetails ? routerDetails(message) : [];
  const { providerOptions: marker } = cacheOptions(message.vendor?.cache_control);
  if (details.length === 0) return marker ? { providerOptions: marker } : {};
  return { providerOptions: { ...marker, openaiCompatible: { reasoning_details: details } as JsonObject } };
}

function routerDetails({ vendor }: AssistantMessage): readonly Details[] {
  const entries = asList(vendor?.reasoning_details).map(asRecord);
  return entries.filter(({ type }) => typeof type === "string" && type.startsWith("reasoning."));
}

const GOOGLE_SIGNATURE = "google.thought_signature";

function isSignedThought({ type, part, thought_signature: signature }: Details): boolean {
  return type === GOOGLE_SIGNATURE && part === "reasoning" && someText(signature) !== undefined;
}

function textSignature({ vendor }: AssistantMessage): string | undefined {
  const entries = asList(vendor?.reasoning_details).map(asRecord);
  const entry = entries.findLast(({ type, part }) => type === GOOGLE_SIGNATURE && part === "text");
  return someText(entry?.thought_signature);
}

function toolMessage(
  { toolCallId: id, toolName, content, vendor }: ToolMessage,
  names: ReadonlyMap<string, string>,
  wire: WireTraits,
): LanguageModelV4Message[] {
  if (id === "") return []; // a result without a call
  const result = {
    type: "tool-result" as const,
    toolCallId: wireId(id, wire),
    // The name of the call first: a stored tool message has no name.
    toolName: names.get(id) ?? toolName ?? "unknown",
    output: { type: "text" as const, value: wireText(content, "\n") },
  };
  return [{ role: "tool", content: [result], ...cacheOptions(vendor?.cache_control) }];
}

/**
 * The id of a call and of its result. Anthropic accepts only certain characters, and an earlier server of the same conversation may
 * have used others. The Responses API knows a call by the first half of `call_1|fc_1`; the second half is the id of the item.
 */
function wireId(id: string, { apiMode }: WireTraits): string {
  if (apiMode === "responses") return id.replace(/(?<=.)\|[a-z]+_[^|]*$/i, "");
  return apiMode === "anthropic_messages" ? id.replace(/[^A-Za-z0-9_-]/g, "_") : id;
}

/** The SDK's parser refuses JSON text with such keys, to prevent prototype pollution. As a value they pass. */
const REFUSED_KEY = /proto|constructor|\\u/i;

function argumentsFor(given: string, { takesArgumentText }: WireTraits): unknown {
  const value = outsideJsonOr(given, undefined);
  if (!isRecord(value)) return takesArgumentText ? "{}" : {};
  return takesArgumentText && !REFUSED_KEY.test(given) ? given : value;
}

function cacheOptions(marker: unknown): Options {
  if (typeof marker !== "object" || marker === null) return {};
  return { providerOptions: { anthropic: { cacheControl: marker as JsonObject } } };
}

function vendorOptions({ namespaces }: WireTraits, data: JsonObject): Options {
  if (Object.keys(data).length === 0) return {};
  return { providerOptions: Object.fromEntries(namespaces.map((name) => [name, data])) };
}

/** By file extension. Any other image is declared as JPEG; vendors look at the data itself. */
const IMAGE_TYPES = new Map(["gif", "jpeg", "png", "webp"].map((ending) => [ending, `image/${ending}`]));

/** Undefined when it is not a URL. */
function imageAt(address: string): Pick<FilePart, "mediaType" | "data"> | undefined {
  const inline = /^data:([^;,]*)((?:;[^;,]*)*),/i.exec(address);
  if (inline) {
    const [head, type = "", parameters = ""] = inline;
    const body = address.slice(head.length);
    const isBase64 = /;base64$/i.test(parameters);
    const data = isBase64 ? body : Buffer.from(unescaped(body), "utf8").toString("base64");
    return { mediaType: type === "" ? "image/*" : type.toLowerCase(), data: { type: "data", data } };
  }
  const url = URL.parse(address);
  if (url === null || !["http:", "https:"].includes(url.protocol)) return undefined;
  const ending = /\.([a-z]+)$/i.exec(url.pathname)?.[1]?.toLowerCase() ?? "";
  return { mediaType: IMAGE_TYPES.get(ending) ?? "image/jpeg", data: { type: "url", url } };
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

// From the SDK

/** From the server's own events: what the SDK leaves out of its parts. */
export type RawFacts = {
  /** The chat wire's field `reasoning_content` occurred. */
  readonly hasReasoningContent: boolean;
  /** OpenRouter's entries, each put together from its pieces. */
  readonly reasoningDetails: readonly Details[];
  /** Ids that the server gave to calls; undefined when there were no events. */
  readonly callIds: ReadonlySet<string> | undefined;
  readonly model: string | undefined;
};

export type Details = Readonly<Record<string, unknown>>;

export type Reply = {
  readonly content: readonly LanguageModelV4Content[];
  /** As it was passed to the listener. */
  readonly text: string;
  /** Reasoning from tags in the text. */
  readonly taggedReasoning: string;
  readonly raw: RawFacts;
};

export function toAssistantMessage(reply: Reply, wire: WireTraits): AssistantMessage {
  const { content, raw } = reply;
  const thoughts = content.filter((part) => part.type === "reasoning");
  const structured = thoughts.map(({ text }) => text).filter((text) => text !== "");
  const tagged = reply.taggedReasoning.trim();
  const reasoning = [...structured, ...(tagged === "" ? [] : [tagged])].join("\n\n");
  const details = reasoningDetails(content, raw, wire);
  const reasoningItems = wire.apiMode === "responses" ? codexReasoning(thoughts, wire) : [];
  const items = wire.apiMode === "responses" ? codexMessages(content, wire) : [];
  const calls = content
    .filter((part) => part.type === "tool-call")
    .filter((call) => call.providerExecuted !== true);
  const vendor = {
    ...(reasoning === "" ? {} : { reasoning }),
    ...(raw.hasReasoningContent ? { reasoning_content: structured.join("") } : {}),
    ...(details.length === 0 ? {} : { reasoning_details: details }),
    ...(reasoningItems.length === 0 ? {} : { codex_reasoning_items: reasoningItems }),
    ...(items.length === 0 ? {} : { codex_message_items: items }),
  };
  return newMessage({
    role: "assistant",
    content: reply.text,
    toolCalls: calls.map((call, index) => toolCall(call, index, { raw, wire })),
    vendor: Object.keys(vendor).length === 0 ? undefined : vendor,
  });
}

type SdkPart<Type extends LanguageModelV4Content["type"]> = Extract<LanguageModelV4Content, { type: Type }>;

function reasoningDetails(content: Reply["content"], raw: RawFacts, wire: WireTraits): readonly Details[] {
  if (wire.apiMode === "chat_completions") return raw.reasoningDetails;
  if (wire.apiMode === "responses") return [];
  return content.flatMap((part): Details[] => {
    if (part.type !== "reasoning" && part.type !== "text") return [];
    const data = vendorData(part, wire);
    if (wire.apiMode === "google") {
      const signature = someText(data.thoughtSignature);
      if (signature === undefined) return [];
      const text = part.type === "reasoning" ? { text: part.text } : {};
      return [{ type: GOOGLE_SIGNATURE, part: part.type, ...text, thought_signature: signature }];
    }
    if (part.type === "text") return [];
    const [signature, hidden] = [someText(data.signature), someText(data.redactedData)];
    if (signature !== undefined) return [{ type: "thinking", thinking: part.text, signature }];
    return hidden === undefined ? [] : [{ type: "redacted_thinking", data: hidden }];
  });
}

/** One item may have several texts, each of which is a separate part. */
function codexReasoning(thoughts: readonly SdkPart<"reasoning">[], wire: WireTraits): readonly Details[] {
  const items = new Map<string, { id: string; encrypted: string | null; texts: string[] }>();
  for (const thought of thoughts) {
    const { itemId, reasoningEncryptedContent: encrypted } = vendorData(thought, wire);
    const id = someText(itemId);
    if (id === undefined) continue;
    const item = items.get(id) ?? { id, encrypted: null, texts: [] };
    items.set(id, item);
    item.encrypted = someText(encrypted) ?? item.encrypted;
    if (thought.text !== "") item.texts.push(thought.text);
  }
  return [...items.values()].map(({ id, encrypted, texts }) => {
    const summary = texts.map((text) => ({ type: "summary_text", text }));
    return { type: "reasoning", id, encrypted_content: encrypted, summary };
  });
}

function codexMessages(content: Reply["content"], wire: WireTraits): readonly Details[] {
  return content.flatMap((part): Details[] => {
    if (part.type !== "text" || part.text === "") return [];
    const { itemId, phase } = vendorData(part, wire);
    const [id, said] = [someText(itemId), someText(phase)];
    if (id === undefined && said === undefined) return [];
    const text = [{ type: "output_text", text: part.text }];
    const item = { type: "message", role: "assistant", status: "completed", id, phase: said, content: text };
    return [withoutUndefined(item)];
  });
}

type Origin = { readonly raw: RawFacts; readonly wire: WireTraits };

function toolCall(call: SdkPart<"tool-call">, index: number, { raw, wire }: Origin): ToolCall {
  const { toolCallId, toolName: name, input } = call;
  // Without an id from the server, the SDK makes up a random one.
  const isGiven = toolCallId !== "" && (raw.callIds?.has(toolCallId) ?? true);
  const [given = "", item] = isGiven ? toolCallId.split("|") : [];
  const id = given === "" ? madeUpId(name, input, index) : given;
  const data = vendorData(call, wire);
  const itemId = someText(item) ?? (wire.apiMode === "responses" ? someText(data.itemId) : undefined);
  const signature = someText(data.thoughtSignature);
  const vendor = withoutUndefined({
    call_id: id,
    response_item_id: itemId,
    extra_content: signature === undefined ? undefined : { google: { thought_signature: signature } },
  });
  return { id, name, arguments: input, vendor };
}

/** Under this wire's name, or under any other name that the model object uses. */
function vendorData(
  { providerMetadata }: SdkPart<"reasoning" | "text" | "tool-call">,
  { namespaces }: WireTraits,
): Details {
  const metadata = asRecord(providerMetadata);
  const known = namespaces.map((name) => metadata[name]).find((value) => value !== undefined);
  return asRecord(known ?? Object.values(metadata)[0]);
}
