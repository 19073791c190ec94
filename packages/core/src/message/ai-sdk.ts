// Messages of the AI SDK, versions 5, 6 and 7. Their types are written down here, so that nobody has to install `ai`.
// Reasoning goes into the vendor bag as `reasoning_details`, which the database keeps, and goes back as it came. `providerOptions`
// stay under that name. Where a part has no field in the union, it is an `other` part; bytes and addresses in it become text, so that
// every message can be stored as JSON.
//
// A list that was only held in memory goes back as it came. The session store has no column for some of it. It keeps text, images, files
// and other parts, tool calls, results' text and parts, reasoning, and the `providerOptions` of parts, calls and reasoning. It loses the
// `providerOptions` of a message and of a result, the kind of an output (`json`, `error-text`, `error-json` and `execution-denied` come
// back as `text` that holds the JSON, the error or the reason), and an order of a reply's parts other than reasoning, content, calls,
// results.
import { isDeepStrictEqual } from "node:util";
import { HermesError, isRecord, outsideJsonOr, outsideJsonProblem } from "../lib/index.ts";
import {
  type AssistantMessage,
  type Content,
  type ImagePart,
  isResult,
  type Message,
  newMessage,
  type Part,
  partsOf,
  type ToolCall,
  type ToolMessage,
  toolCallsOf,
  type Vendor,
} from "./message.ts";
import { partJson, textOf } from "./text.ts";

export type AiSdkVersion = 5 | 6 | 7;

/** `ModelMessage` of any version. */
export type AnyAiSdkMessage = {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: string | readonly object[];
  readonly providerOptions?: object | undefined;
};

/** `ModelMessage` of one version. */
export type AiSdkMessage<V extends AiSdkVersion> = WithOptions<
  | { role: "system"; content: string }
  | { role: "user"; content: string | UserPart<V>[] }
  | { role: "assistant"; content: string | AssistantPart<V>[] }
  | { role: "tool"; content: ToolPart<V>[] }
>;

type Json = null | string | number | boolean | Json[] | { [key: string]: Json };
type WithOptions<T> = T & { providerOptions?: { [vendor: string]: { [key: string]: Json } } };

type Reference = Record<string, string>;
type TaggedData =
  | { type: "data"; data: string }
  | { type: "url"; url: URL }
  | { type: "reference"; reference: Reference }
  | { type: "text"; text: string };

type TextPart = WithOptions<{ type: "text"; text: string }>;
type FilePart<V> = WithOptions<{
  type: "file";
  data: V extends 7 ? string | URL | TaggedData | Reference : string | URL;
  mediaType: string;
  filename?: string;
}>;
type UserPart<V> =
  | TextPart
  | WithOptions<{ type: "image"; image: string | URL; mediaType?: string }>
  | FilePart<V>;
type AssistantPart<V> =
  | TextPart
  | FilePart<V>
  | WithOptions<{ type: "reasoning"; text: string }>
  | WithOptions<{
      type: "tool-call";
      toolCallId: string;
      toolName: string;
      input: unknown;
      providerExecuted?: boolean;
    }>
  | ResultPart<V>
  | (V extends 5 ? never : { type: "tool-approval-request"; approvalId: string; toolCallId: string })
  | (V extends 7
      ?
          | WithOptions<{ type: "custom"; kind: `${string}.${string}` }>
          | WithOptions<{ type: "reasoning-file"; data: string | URL; mediaType: string }>
      : never);
type ToolPart<V> =
  | ResultPart<V>
  | (V extends 5 ? never : { type: "tool-approval-response"; approvalId: string; approved: boolean });
type ResultPart<V> = WithOptions<{
  type: "tool-result";
  toolCallId: string;
  toolName: string;
  output: Output<V>;
}>;
type Output<V> = WithOptions<
  | { type: "text" | "error-text"; value: string }
  | { type: "json" | "error-json"; value: Json }
  | { type: "content"; value: OutputPart<V>[] }
  | (V extends 5 ? never : { type: "execution-denied"; reason?: string })
>;
type OutputPart<V> =
  | TextPart
  | (V extends 7 ? never : { type: "media"; data: string; mediaType: string })
  | (V extends 5
      ? never
      :
          | WithOptions<{ type: "image-data"; data: string; mediaType: string }>
          | WithOptions<{ type: "file-data"; data: string; mediaType: string; filename?: string }>
          | WithOptions<{ type: "image-url"; url: string }>
          | WithOptions<{ type: "file-url"; url: string; mediaType?: string }>);

type Fields = Readonly<Record<string, unknown>>;

// ---- from the SDK ----

/**
 * A tool message becomes one message for each of its results. Throws `bad-message` with the index of the first entry that is no message
 * of the SDK, or that JSON cannot hold: one nested deeper than 100 levels, one that holds itself or a bigint.
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

/** The message reads on after the place of the entry. */
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
      return [newMessage({ role, content: fromContent(content), ...bag(options) })];
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
  return typeof content === "string" ? content : content.map(fromPart);
}

function fromAssistant(content: string | readonly object[], options: Vendor): AssistantMessage {
  if (typeof content === "string")
    return newMessage({ role: "assistant", content, toolCalls: [], ...bag(options) });
  const kinds = content.map(kindOf);
  const of = (...wanted: readonly Kind[]): readonly object[] =>
    content.filter((part) => wanted.includes(kindOf(part)));
  const reasoning = of("reasoning").map((part) => jsonSafe(part));
  return newMessage({
    role: "assistant",
    content: of("content", "result").map(fromPart),
    toolCalls: of("call").map(fromCall),
    ...bag({
      ...options,
      ...(reasoning.length === 0 ? {} : { reasoning_details: reasoning }),
      ...(isDeepStrictEqual(kinds, usualOrder(kinds)) ? {} : { ai_sdk_order: kinds }),
    }),
  });
}

/** What a reply is put together from, and the order in which most of them have it. Results are those of tools the vendor ran. */
const KINDS = ["reasoning", "content", "call", "result"] as const;
type Kind = (typeof KINDS)[number];

function kindOf(part: object): Kind {
  const { type } = part as Fields;
  if (type === "reasoning") return "reasoning";
  if (type === "tool-result") return "result";
  return type === "tool-call" ? "call" : "content";
}

function usualOrder(kinds: readonly Kind[]): readonly Kind[] {
  return kinds.toSorted((one, other) => KINDS.indexOf(one) - KINDS.indexOf(other));
}

function fromCall(part: object): ToolCall {
  const { type: _, toolCallId, toolName, input, ...others } = part as Fields;
  if (typeof toolCallId !== "string" || typeof toolName !== "string")
    throw new Unreadable("has a tool call without an id or a name");
  const given = JSON.stringify(jsonSafe(input)) ?? "";
  return { id: toolCallId, name: toolName, arguments: given, ...bag(safeFields(others)) };
}

function fromPart(part: object): Part {
  const { type, text, ...others } = part as Fields;
  if (type === "text" && typeof text === "string") return { type, text, ...bag(safeFields(others)) };
  return fromImage(part as Fields) ?? { type: "other", value: jsonSafe(part) };
}

/**
 * The forms in which the SDK has an image that somebody is shown; `reasoning-file` is a thought. What they say beside the image is
 * kept, so that it goes back in the same form.
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

/** An address, or a data address for bytes; undefined for a file that only the vendor has. */
function addressOf(value: unknown, mediaType: string | undefined): string | undefined {
  const plain = jsonSafe(value);
  if (isRecord(plain))
    return plain.type === "data" || plain.type === "url"
      ? addressOf(plain[plain.type], mediaType)
      : undefined;
  if (typeof plain !== "string" || plain === "") return undefined;
  return isAddress(plain) ? plain : `data:${mediaType ?? imageType(plain)};base64,${plain}`;
}

function isAddress(text: string): boolean {
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
      ...bag(options),
    });
  if (typeof toolCallId !== "string" || typeof toolName !== "string")
    throw new Unreadable("has a tool result without an id or a name");
  const { content, about } = fromOutput(output);
  const result = { ...safeFields(others), ...(about === undefined ? {} : { output: about }) };
  return newMessage({
    role: "tool",
    toolCallId,
    toolName,
    content,
    ...bag({ ...options, ...(Object.keys(result).length === 0 ? {} : { ai_sdk: result }) }),
  });
}

const DENIED = "Execution was denied.";

/** `about`: what the content does not show; undefined for a plain text. */
function fromOutput(output: Fields): { readonly content: Content; readonly about?: Vendor } {
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

const MAX_DEPTH = 100;

/** Bytes as base64, addresses as text. Nothing else changes. */
function jsonSafe(value: unknown, depth = 0): unknown {
  if (typeof value === "bigint") throw new Unreadable("holds a bigint, which JSON has no form for");
  if (value instanceof URL) return value.href;
  if (value instanceof ArrayBuffer) return Buffer.from(value).toString("base64");
  if (ArrayBuffer.isView(value))
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64");
  if (depth > MAX_DEPTH) throw new Unreadable(`is nested deeper than ${MAX_DEPTH} levels, or holds itself`);
  if (Array.isArray(value)) return value.map((each: unknown) => jsonSafe(each, depth + 1));
  return isRecord(value) ? safeFields(value, depth) : value;
}

function safeFields(fields: Fields, depth = 0): Fields {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([key, value]) =>
      value === undefined ? [] : [[key, jsonSafe(value, depth + 1)]],
    ),
  );
}

function bag(vendor: Vendor): { readonly vendor?: Vendor } {
  return Object.keys(vendor).length === 0 ? {} : { vendor };
}

// ---- to the SDK ----

/**
 * Results that follow each other become one tool message. Left out: results that name no call, and messages of roles that no model
 * knows. A part that the version has no form for becomes text.
 */
export function toAiSdk<V extends AiSdkVersion>(
  messages: readonly Message[],
  { version }: { readonly version: V },
): AiSdkMessage<V>[] {
  const names = new Map<string, string>();
  const list: { role: string; content: unknown; providerOptions?: unknown }[] = [];
  for (const message of messages) {
    for (const call of toolCallsOf(message)) names.set(call.id, call.name);
    const made = toSdkMessage(message, names, version);
    if (made === undefined) continue;
    const last = list.at(-1);
    const isMore =
      made.role === "tool" &&
      last?.role === "tool" &&
      isDeepStrictEqual(last.providerOptions, made.providerOptions);
    if (isMore) last.content = [...(last.content as unknown[]), ...(made.content as unknown[])];
    else list.push(made);
  }
  return list as AiSdkMessage<V>[];
}

function toSdkMessage(message: Message, names: ReadonlyMap<string, string>, version: AiSdkVersion) {
  const { role, content, meta, vendor = {} } = message;
  const { providerOptions } = vendor;
  const options = isOptions(providerOptions) ? { providerOptions } : {};
  switch (role) {
    case "system":
      if (meta.writtenRole !== undefined && meta.writtenRole !== "developer") return undefined;
      return { role, content: textOf(content), ...options };
    case "user":
      return { role, content: userContent(content, version), ...options };
    case "assistant":
      return { role, content: assistantContent(message, version), ...options };
    case "tool": {
      const parts = toolParts(message, names, version);
      return parts.length === 0 ? undefined : { role, content: parts, ...options };
    }
    default:
      return message satisfies never;
  }
}

function userContent(content: Content, version: AiSdkVersion): unknown {
  if (content === null || typeof content === "string") return content ?? "";
  return content.map((part) => toPart(part, "user", version));
}

function assistantContent(message: AssistantMessage, version: AiSdkVersion): unknown {
  const { content, toolCalls, vendor = {} } = message;
  const reasoning = reasoningParts(vendor.reasoning_details);
  if (typeof content === "string" && toolCalls.length === 0 && reasoning.length === 0) return content;
  const said = partsOf(content);
  const isOfTool = (part: Part) =>
    part.type === "other" && isRecord(part.value) && kindOf(part.value) === "result";
  const parts: Record<Kind, unknown[]> = {
    reasoning,
    content: said.filter((part) => !isOfTool(part)).map((part) => toPart(part, "assistant", version)),
    call: toolCalls.map(toCall),
    result: said.filter(isOfTool).map((part) => toPart(part, "assistant", version)),
  };
  const all = KINDS.flatMap((kind) => parts[kind].map(() => kind));
  const given: readonly unknown[] = Array.isArray(vendor.ai_sdk_order) ? vendor.ai_sdk_order : [];
  // A message that was changed since has the usual order.
  const isSame = isDeepStrictEqual(usualOrder(given as readonly Kind[]), all);
  return (isSame ? (given as readonly Kind[]) : all).map((kind) => parts[kind].shift());
}

/** As they came from the SDK, and Anthropic's own blocks. Those of other vendors belong to other wires. */
function reasoningParts(details: unknown): unknown[] {
  if (!Array.isArray(details)) return [];
  return details.filter(isRecord).flatMap((entry): unknown[] => {
    const { type, text, thinking, signature, data } = entry;
    if (type === "reasoning" && typeof text === "string") return [entry];
    if (type === "thinking" && typeof signature === "string")
      return [
        { type: "reasoning", text: String(thinking ?? ""), providerOptions: { anthropic: { signature } } },
      ];
    if (type === "redacted_thinking" && typeof data === "string")
      return [{ type: "reasoning", text: "", providerOptions: { anthropic: { redactedData: data } } }];
    return [];
  });
}

function toCall({ id, name, arguments: given, vendor = {} }: ToolCall): object {
  const { providerOptions, providerExecuted } = vendor;
  return {
    type: "tool-call",
    toolCallId: id,
    toolName: name,
    input: given === "" ? {} : outsideJsonOr(given, given),
    ...(isOptions(providerOptions) ? { providerOptions } : {}),
    ...(typeof providerExecuted === "boolean" ? { providerExecuted } : {}),
  };
}

type Place = "user" | "assistant" | "output";

/** The parts that each version has in each place, beside text. */
const KNOWN: Readonly<Record<Place, Readonly<Record<AiSdkVersion, readonly string[]>>>> = {
  user: { 5: ["image", "file"], 6: ["image", "file"], 7: ["image", "file"] },
  assistant: {
    5: ["file", "tool-result"],
    6: ["file", "tool-result", "tool-approval-request"],
    7: ["file", "tool-result", "tool-approval-request", "custom", "reasoning-file"],
  },
  output: {
    5: ["media"],
    6: ["media", "image-data", "image-url", "image-file-id", "file-data", "file-url", "file-id", "custom"],
    7: [
      ...["image-data", "image-url", "image-file-id", "image-file-reference"],
      ...["file", "file-data", "file-url", "file-id", "file-reference", "custom"],
    ],
  },
};

function toPart(part: Part, place: Place, version: AiSdkVersion): unknown {
  switch (part.type) {
    case "text": {
      const { providerOptions } = part.vendor ?? {};
      return { type: "text", text: part.text, ...(isOptions(providerOptions) ? { providerOptions } : {}) };
    }
    case "image":
      return toImage(part, place, version);
    case "other":
      return toOther(part.value, place, version) ?? { type: "text", text: partJson(part) };
    default:
      return part satisfies never;
  }
}

const IMAGE_FORMS = ["image", "file", "media", "image-data", "file-data", "image-url", "file-url"];

function toImage({ url, vendor = {} }: ImagePart, place: Place, version: AiSdkVersion): unknown {
  const { type: given, ...about } = isRecord(vendor.ai_sdk) ? vendor.ai_sdk : {};
  const { mediaType, data } = bytesIn(url);
  if (data === undefined && !URL.canParse(url)) return { type: "text", text: url };
  const named = typeof about.mediaType === "string" ? about.mediaType : (mediaType ?? "image/*");
  const usual =
    place === "output" ? outputImage(data !== undefined, version) : place === "user" ? "image" : "file";
  const isKnown = typeof given === "string" && KNOWN[place][version].includes(given);
  const type = isKnown && IMAGE_FORMS.includes(given) ? given : usual;
  const { mediaType: _, ...rest } = about;
  switch (type) {
    case "image":
      return {
        ...rest,
        type,
        image: data ?? new URL(url),
        ...(data === undefined && about.mediaType === undefined ? {} : { mediaType: named }),
      };
    case "file": {
      const bytes =
        place === "output"
          ? data === undefined
            ? { type: "url", url: new URL(url) }
            : { type: "data", data }
          : (data ?? new URL(url));
      return { ...rest, type, data: bytes, mediaType: named };
    }
    case "media":
    case "image-data":
    case "file-data":
      return data === undefined ? { type: "text", text: url } : { ...rest, type, data, mediaType: named };
    case "image-url":
      return { ...rest, type, url };
    case "file-url":
      return { ...rest, type, url, mediaType: named };
    default:
      return { type: "text", text: url };
  }
}

function outputImage(hasBytes: boolean, version: AiSdkVersion): string {
  if (version === 5) return hasBytes ? "media" : "text";
  return hasBytes ? "image-data" : "image-url";
}

function bytesIn(url: string): { readonly mediaType?: string; readonly data?: string } {
  const [head, mediaType = ""] = /^data:([^;,]*);base64,/i.exec(url) ?? [];
  if (head === undefined) return {};
  return { data: url.slice(head.length), ...(mediaType === "" ? {} : { mediaType }) };
}

/** Undefined for what the version has no part for, and for a part of another program that only has the same type. */
function toOther(value: unknown, place: Place, version: AiSdkVersion): unknown {
  if (!isRecord(value) || typeof value.type !== "string") return undefined;
  const part =
    place === "output"
      ? outputFile(value, version)
      : version === 7
        ? ofOpenAi(value)
        : asFile(ofOpenAi(value));
  const { type } = part;
  if (typeof type !== "string" || !KNOWN[place][version].includes(type)) return undefined;
  const texts = NEEDED_TEXTS[place === "output" ? `output ${type}` : type] ?? [];
  if (!texts.every((name) => typeof part[name] === "string")) return undefined;
  if (OPTIONAL_TEXTS.some((name) => part[name] !== undefined && typeof part[name] !== "string"))
    return undefined;
  if (part.providerOptions !== undefined && !isOptions(part.providerOptions)) return undefined;
  switch (type) {
    case "image":
      return version === 7 && isReference(part.image) ? part : undefined;
    case "tool-result": {
      if (
        !isRecord(part.output) ||
        outsideJsonProblem(part.output, { maxDepth: MAX_DEPTH, maxChars: Number.POSITIVE_INFINITY }) !==
          undefined
      )
        return undefined;
      const { content, about } = fromOutput(part.output);
      return { ...part, output: toOutput(content, about, version) };
    }
    case "file":
    case "reasoning-file": {
      const data = revivedData(part.data, version, place);
      return data === undefined ? undefined : { ...part, data };
    }
    case "file-id":
    case "image-file-id":
      return typeof part.fileId === "string" || isReference(part.fileId) ? part : undefined;
    case "file-reference":
    case "image-file-reference":
      return isReference(part.providerReference) ? part : undefined;
    default:
      return part;
  }
}

const NEEDED_TEXTS: Readonly<Record<string, readonly string[]>> = {
  file: ["mediaType"],
  "reasoning-file": ["mediaType"],
  "tool-result": ["toolCallId", "toolName"],
  "tool-approval-request": ["approvalId", "toolCallId"],
  custom: ["kind"],
  "output file": ["mediaType"],
  "output media": ["data", "mediaType"],
  "output file-data": ["data", "mediaType"],
  "output image-data": ["data", "mediaType"],
  "output file-url": ["url"],
  "output image-url": ["url"],
};

const OPTIONAL_TEXTS = ["mediaType", "filename", "reason"];

/** One object for each vendor. */
function isOptions(value: unknown): boolean {
  return isRecord(value) && Object.values(value).every(isRecord);
}

/** The ids of a file at each vendor. */
function isReference(value: unknown): boolean {
  return isRecord(value) && Object.values(value).every((id) => typeof id === "string");
}

/** For versions that have no files in thoughts. */
function asFile(value: Fields): Fields {
  return value.type === "reasoning-file" ? { ...value, type: "file" } : value;
}

/** Files and sounds as OpenAI's API has them. */
function ofOpenAi(value: Fields): Fields {
  const { type, file, input_audio: audio } = value;
  if (type === "file" && isRecord(file) && typeof file.file_data === "string") {
    const { mediaType = "application/octet-stream", data = file.file_data } = bytesIn(file.file_data);
    return {
      type,
      data,
      mediaType,
      ...(typeof file.filename === "string" ? { filename: file.filename } : {}),
    };
  }
  if (type === "input_audio" && isRecord(audio) && typeof audio.data === "string")
    return {
      type: "file",
      data: audio.data,
      mediaType: `audio/${audio.format === "mp3" ? "mpeg" : audio.format}`,
    };
  return value;
}

/** A file in the result of a tool, in the form that the version has for it. */
function outputFile(value: Fields, version: AiSdkVersion): Fields {
  if (KNOWN.output[version].includes(String(value.type))) return value;
  const { type: _, data, url, mediaType, ...rest } = value;
  const tagged = isRecord(data) ? data : undefined;
  const bytes =
    tagged?.type === "text" ? Buffer.from(String(tagged.text)).toString("base64") : (tagged?.data ?? data);
  const address = url ?? tagged?.url;
  if (typeof bytes === "string")
    return { ...rest, type: version === 5 ? "media" : "file-data", data: bytes, mediaType };
  if (typeof address === "string" && version !== 5)
    return { ...rest, type: "file-url", url: address, mediaType };
  return value;
}

/** Data of a file as the version takes it; undefined where it takes none of the kind. Files in outputs have tagged data only. */
function revivedData(data: unknown, version: AiSdkVersion, place: Place): unknown {
  const isTagged = version === 7 && place === "output";
  if (typeof data === "string") {
    if (isTagged) return isAddress(data) ? { type: "url", url: new URL(data) } : { type: "data", data };
    return isAddress(data) ? new URL(data) : data;
  }
  if (!isRecord(data)) return undefined;
  const { type, url, text } = data;
  if (type === "url" && typeof url === "string" && URL.canParse(url))
    return version === 7 ? { ...data, url: new URL(url) } : new URL(url);
  if (type === "data" && typeof data.data === "string") return version === 7 ? data : data.data;
  if (type === "text" && typeof text === "string")
    return version === 7 ? data : Buffer.from(text).toString("base64");
  if (version !== 7) return undefined;
  if (type === "reference") return isReference(data.reference) ? data : undefined;
  return !isTagged && isReference(data) ? data : undefined;
}

function toolParts(
  message: ToolMessage,
  names: ReadonlyMap<string, string>,
  version: AiSdkVersion,
): unknown[] {
  const { toolCallId, toolName, content, vendor = {} } = message;
  if (toolCallId === "" || !isResult(message)) {
    const approvals = partsOf(content).flatMap((part) => (part.type === "other" ? [part.value] : []));
    return version === 5
      ? []
      : approvals.filter((part) => isRecord(part) && part.type === "tool-approval-response");
  }
  const { output: about, ...others } = isRecord(vendor.ai_sdk) ? vendor.ai_sdk : {};
  return [
    {
      type: "tool-result",
      toolCallId,
      toolName: toolName ?? names.get(toolCallId) ?? "unknown",
      output: toOutput(content, isRecord(about) ? about : undefined, version),
      ...others,
    },
  ];
}

/** A content that was changed since it came, and no longer fits what is known about it, is a text. */
function toOutput(content: Content, about: Vendor = { type: "text" }, version: AiSdkVersion): unknown {
  if (content !== null && typeof content !== "string")
    return { ...about, type: "content", value: content.map((part) => toPart(part, "output", version)) };
  const text = content ?? "";
  switch (about.type) {
    case "text":
    case "error-text":
      return { ...about, value: text };
    case "json":
    case "error-json": {
      const value = outsideJsonOr(text, undefined);
      return value === undefined
        ? { type: about.type === "json" ? "text" : "error-text", value: text }
        : { ...about, value };
    }
    case "execution-denied":
      return version === 5 || text !== (about.reason ?? DENIED) ? { type: "error-text", value: text } : about;
    default:
      return { type: "text", value: text };
  }
}
