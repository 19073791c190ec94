// Converts messages of the AI SDK to ours. Bytes and URLs become text, so that every message can be stored as JSON.
import { isDeepStrictEqual } from "node:util";
import { HermesError, isRecord } from "../lib/index.ts";
import { type AnyAiSdkMessage, type Fields, kindOf } from "./ai-sdk.ts";
import {
  type AssistantMessage,
  type Content,
  type ImagePart,
  isNotedKind,
  type Message,
  newMessage,
  type Part,
  type PartKind,
  type TextPart,
  type ToolCall,
  type ToolMessage,
  usualOrder,
  type Vendor,
  vendorField,
} from "./message.ts";

/**
 * A tool message becomes one message per result. Throws `bad-message` with the index of the first entry that is not a message of
 * the SDK or cannot be written as JSON: nested deeper than 100 levels, with a cycle or a bigint.
 */
export function fromAiSdk(messages: readonly AnyAiSdkMessage[]): readonly Message[] {
  if (!Array.isArray(messages))
    throw new HermesError("bad-message", "fromAiSdk was given something that is not a list of messages.");
  return messages.flatMap((message: AnyAiSdkMessage, index) => {
    try {
      return fromSdkMessage(message);
    } catch (cause) {
      if (!(cause instanceof Unreadable)) throw cause;
      throw new HermesError("bad-message", `Entry ${index} of the AI SDK's messages ${cause.message}.`);
    }
  });
}

/** Returns the problem as a predicate, to print after the index of the entry. */
class Unreadable extends Error {}

function fromSdkMessage(message: AnyAiSdkMessage): readonly Message[] {
  if (!isRecord(message)) throw new Unreadable("is not an object");
  const { role, content, providerOptions } = message;
  const parts: unknown = content;
  if (typeof parts !== "string" && !(Array.isArray(parts) && parts.every(isRecord)))
    throw new Unreadable("has a content that is neither text nor a list of parts");
  const options = providerOptions === undefined ? {} : { providerOptions: jsonSafe(providerOptions) };
  switch (role) {
    case "system":
    case "user":
      return [newMessage({ role, content: fromContent(content), ...vendorField(options) })];
    case "assistant":
      return [fromAssistant(content, options)];
    case "tool":
      if (typeof content === "string") throw new Unreadable("is of role tool and has no list of results");
      return content.map((part) => fromToolPart(part, options));
    default:
      role satisfies never;
      throw new Unreadable("has none of the roles system, user, assistant and tool");
  }
}

function fromContent(content: string | readonly object[]): Content {
  if (typeof content === "string") return content;
  const parts = content.map(fromPart);
  // Several texts of a user are not joined: models get them as separate blocks.
  return parts.length === 1 ? (plainText(parts) ?? parts) : parts;
}

/** Undefined if the parts hold more than text. */
function plainText(parts: readonly Part[]): string | undefined {
  const texts = parts.map((part) => (isPlain(part) ? part.text : undefined));
  return texts.includes(undefined) ? undefined : texts.join("");
}

function isPlain(part: Part): part is TextPart {
  return part.type === "text" && part.vendor === undefined;
}

function fromAssistant(content: string | readonly object[], options: Vendor): AssistantMessage {
  if (typeof content === "string")
    return newMessage({ role: "assistant", content, toolCalls: [], ...vendorField(options) });
  const parts = content.filter((part) => !isEmptyText(part));
  const kinds = parts.map(kindOf);
  const isUsual = isDeepStrictEqual(kinds, usualOrder(kinds));
  const of = (...wanted: readonly PartKind[]): readonly object[] =>
    parts.filter((part) => wanted.includes(kindOf(part)));
  const reasoning = of("reasoning").map((part) => jsonSafe(part));
  return newMessage(
    {
      role: "assistant",
      content: replyContent(of("content", "result").map(fromPart), isUsual),
      toolCalls: of("call").map(fromCall),
      ...vendorField({ ...options, ...(reasoning.length === 0 ? {} : { reasoning_details: reasoning }) }),
    },
    isUsual ? {} : { partOrder: kinds },
  );
}

function isEmptyText(part: object): boolean {
  const { type, text, ...others } = part as Fields;
  return type === "text" && text === "" && Object.keys(safeFields(others)).length === 0;
}

/** Texts that have something between them stay apart. */
function replyContent(parts: readonly Part[], isUsual: boolean): Content {
  if (parts.length === 0) return null;
  return isUsual || parts.length === 1 ? (plainText(parts) ?? parts) : parts;
}

function fromCall(part: object): ToolCall {
  const { type: _, toolCallId, toolName, input, ...others } = part as Fields;
  if (typeof toolCallId !== "string" || typeof toolName !== "string")
    throw new Unreadable("has a tool call without an id or a name");
  const given = JSON.stringify(jsonSafe(input)) ?? "";
  return { id: toolCallId, name: toolName, arguments: given, ...vendorField(safeFields(others)) };
}

function fromPart(part: object): Part {
  const { type, text, ...others } = part as Fields;
  if (type === "text" && typeof text === "string") return { type, text, ...vendorField(safeFields(others)) };
  return fromImage(part as Fields) ?? { type: "other", value: jsonSafe(part) };
}

/**
 * The SDK's forms of an image in a conversation; `reasoning-file` belongs to the reasoning. Other fields are kept, so that the
 * image converts back to the same form.
 */
function fromImage(part: Fields): ImagePart | undefined {
  const { image, data, url, ...described } = part;
  const { type, mediaType } = described;
  if (type === "reasoning-file") return undefined;
  const isCalledImage = type === "image" || (typeof type === "string" && type.startsWith("image-"));
  if (!isCalledImage && !(typeof mediaType === "string" && mediaType.startsWith("image/"))) return undefined;
  const address = addressOf(image ?? data ?? url, typeof mediaType === "string" ? mediaType : undefined);
  if (address === undefined) return undefined;
  return { type: "image", url: address, vendor: { ai_sdk: safeFields(described) } };
}

/** The URL, or a data URL for bytes; undefined for a file that only the vendor stores. */
function addressOf(value: unknown, mediaType: string | undefined): string | undefined {
  const plain = jsonSafe(value);
  if (isRecord(plain))
    return plain.type === "data" || plain.type === "url"
      ? addressOf(plain[plain.type], mediaType)
      : undefined;
  if (typeof plain !== "string" || plain === "") return undefined;
  return isAddress(plain) ? plain : `data:${mediaType ?? imageType(plain)};base64,${plain}`;
}

export function isAddress(text: string): boolean {
  return /^(?:https?|data):/i.test(text) && URL.canParse(text);
}

const FIRST_BYTES = {
  iVBORw0KGgo: "image/png",
  "/9j/": "image/jpeg",
  R0lGOD: "image/gif",
  UklGR: "image/webp",
};

function imageType(base64: string): string {
  return Object.entries(FIRST_BYTES).find(([start]) => base64.startsWith(start))?.[1] ?? "image/*";
}

function fromToolPart(part: object, options: Vendor): ToolMessage {
  const { type, toolCallId, toolName, output, ...others } = part as Fields;
  if (type !== "tool-result" || !isRecord(output))
    return newMessage({
      role: "tool",
      toolCallId: "",
      content: [{ type: "other", value: jsonSafe(part) }],
      ...vendorField(options),
    });
  if (typeof toolCallId !== "string" || typeof toolName !== "string")
    throw new Unreadable("has a tool result without an id or a name");
  const { content, about } = fromOutput(output);
  const result = { ...safeFields(others), output: about };
  return newMessage(
    {
      role: "tool",
      toolCallId,
      toolName,
      content,
      ...vendorField({ ...options, ...(Object.keys(result).length === 0 ? {} : { ai_sdk: result }) }),
    },
    isNotedKind(output.type) ? { finishReason: output.type } : {},
  );
}

export const DENIED = "Execution was denied.";

/** `about` holds the fields that `content` does not show; undefined for plain text. */
export function fromOutput(output: Fields): { readonly content: Content; readonly about?: Vendor } {
  const { value, ...about } = safeFields(output);
  switch (about.type) {
    case "text":
      return { content: String(value), ...(Object.keys(about).length === 1 ? {} : { about }) };
    case "error-text":
      return { content: String(value), about };
    case "content":
      return { content: Array.isArray(output.value) ? output.value.map(fromPart) : null, about };
    case "execution-denied":
      return { content: typeof about.reason === "string" ? about.reason : DENIED, about };
    default:
      return { content: JSON.stringify(value) ?? "", about };
  }
}

export const MAX_DEPTH = 100;

/** What `JSON.parse(JSON.stringify(value))` would give (a Date is its ISO text), but bytes become base64. */
function jsonSafe(value: unknown, depth = 0): unknown {
  if (typeof value === "bigint") throw new Unreadable("holds a bigint, which JSON has no form for");
  if (value instanceof URL) return value.href;
  if (value instanceof ArrayBuffer) return Buffer.from(value).toString("base64");
  if (ArrayBuffer.isView(value))
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64");
  if (depth > MAX_DEPTH) throw new Unreadable(`is nested deeper than ${MAX_DEPTH} levels, or holds itself`);
  if (Array.isArray(value)) return value.map((each: unknown) => jsonSafe(each, depth + 1) ?? null);
  if (!isRecord(value)) return jsonLeaf(value);
  if (typeof value.toJSON === "function") return jsonSafe(value.toJSON(), depth + 1);
  const isBoxed = value instanceof Number || value instanceof String || value instanceof Boolean;
  return isBoxed ? jsonLeaf(value.valueOf()) : safeFields(value, depth);
}

/** Undefined for what JSON leaves out of an object. */
function jsonLeaf(value: unknown): unknown {
  if (typeof value === "function" || typeof value === "symbol") return undefined;
  return typeof value === "number" && !Number.isFinite(value) ? null : value;
}

function safeFields(fields: Fields, depth = 0): Fields {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([key, value]) => {
      const safe = jsonSafe(value, depth + 1);
      return safe === undefined ? [] : [[key, safe]];
    }),
  );
}
