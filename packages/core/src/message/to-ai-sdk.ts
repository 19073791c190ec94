// Converts our messages to those of one version of the AI SDK. A part that the version has no type for becomes text.
import { isDeepStrictEqual } from "node:util";
import { isRecord, outsideJsonOr, outsideJsonProblem, withoutUndefined } from "../lib/index.ts";
import { type AiSdkMessage, type AiSdkVersion, type Fields, kindOf } from "./ai-sdk.ts";
import { DENIED, fromOutput, isAddress, MAX_DEPTH } from "./from-ai-sdk.ts";
import {
  type AssistantMessage,
  type Content,
  type ImagePart,
  isPartOrder,
  isResult,
  type Message,
  outputKindOf,
  PART_KINDS,
  type Part,
  type PartKind,
  partsOf,
  type ToolCall,
  type ToolMessage,
  textOf,
  toolCallsOf,
  usualOrder,
  type Vendor,
} from "./message.ts";
import { partJson } from "./text.ts";

/**
 * Consecutive results become one tool message. Results without a call id and messages with unknown roles are left out.
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
  const { content, toolCalls, meta, vendor = {} } = message;
  const reasoning = reasoningParts(vendor.reasoning_details);
  if (typeof content === "string" && toolCalls.length === 0 && reasoning.length === 0) return content;
  const said = partsOf(content);
  const isOfTool = (part: Part) =>
    part.type === "other" && isRecord(part.value) && kindOf(part.value) === "result";
  const parts: Record<PartKind, unknown[]> = {
    reasoning,
    content: said.filter((part) => !isOfTool(part)).map((part) => toPart(part, "assistant", version)),
    call: toolCalls.map(toCall),
    result: said.filter(isOfTool).map((part) => toPart(part, "assistant", version)),
  };
  const all = PART_KINDS.flatMap((kind) => parts[kind].map(() => kind));
  const given = isPartOrder(meta.partOrder) ? meta.partOrder : [];
  // A message that has been changed since gets the usual order.
  const isSame = isDeepStrictEqual(usualOrder(given), all);
  return (isSame ? given : all).map((kind) => parts[kind].shift());
}

/** Reasoning that came from the SDK, and Anthropic's blocks. Blocks of other vendors belong to other APIs. */
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

/** The part types of each version in each position, besides text. */
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
      return withoutUndefined({
        ...rest,
        type,
        image: data ?? new URL(url),
        mediaType: data === undefined && about.mediaType === undefined ? undefined : named,
      });
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

/** Undefined if the version has no such part, or if the part is another program's and only has the same type name. */
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

/** An object per vendor. */
function isOptions(value: unknown): boolean {
  return isRecord(value) && Object.values(value).every(isRecord);
}

/** The id of a file at each vendor. */
function isReference(value: unknown): boolean {
  return isRecord(value) && Object.values(value).every((id) => typeof id === "string");
}

/** For versions without files in reasoning. */
function asFile(value: Fields): Fields {
  return value.type === "reasoning-file" ? { ...value, type: "file" } : value;
}

/** Files and audio in the format of OpenAI's API. */
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

/** A file in a tool result, in the format of the version. */
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

/** The data of a file in the format of the version; undefined if the version does not accept it. Files in outputs have tagged data only. */
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
      output: toOutput(content, isRecord(about) ? about : storedOutput(message), version),
      ...others,
    },
  ];
}

/** The output of a stored result, of which the database has the kind. */
function storedOutput(message: ToolMessage): Vendor {
  const type = outputKindOf(message);
  const reason = textOf(message.content);
  return type === "execution-denied" && reason !== DENIED ? { type, reason } : { type };
}

/** Content that was changed since, so that the stored output kind no longer fits, becomes text. */
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
