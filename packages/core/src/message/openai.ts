// Converts chat rows, the format of OpenAI's API and many programs, from and to messages. A key that the union has no field for is
// kept in `vendor` and written back under its name. Keys that begin with an underscore belong to this program: `toOpenAi` writes
// them, and only `readRow` reads them.
import {
  err,
  HermesError,
  isRecord,
  type JsonLimits,
  ok,
  outsideJsonProblem,
  type Result,
  sha256,
  withoutUndefined,
} from "../lib/index.ts";
import {
  type Content,
  checkMessage,
  isPartOrder,
  looksLikeMessage,
  type Message,
  type MessageProblem,
  type Meta,
  newMessage,
  type Part,
  type PartKind,
  roleFor,
  type ToolCall,
  type Vendor,
  vendorField,
  withMeta,
} from "./message.ts";

/** A row of OpenAI's chat API, as chat programs and Hermes Agent store it. */
export type OpenAiMessage = {
  readonly role: string;
  readonly content?: string | null | readonly OpenAiPart[];
  readonly name?: string;
  readonly tool_calls?: readonly OpenAiToolCall[];
  readonly tool_call_id?: string;
  readonly [vendor: string]: unknown;
};

/** A part of a structured content in OpenAI's format. */
export type OpenAiPart =
  | { readonly type: "text" | "input_text" | "output_text"; readonly text: string }
  | {
      readonly type: "image_url" | "input_image";
      readonly image_url: string | { readonly url: string; readonly detail?: string };
    }
  | { readonly type: "input_audio"; readonly input_audio: unknown }
  | { readonly type: "file"; readonly file: unknown }
  | { readonly type: "refusal"; readonly refusal: string };

/** A tool call in OpenAI's format. */
export type OpenAiToolCall = {
  readonly id?: string;
  readonly type?: string;
  readonly function: { readonly name: string; readonly arguments: string };
  readonly [vendor: string]: unknown;
};

/** Images are part of their messages, so only the depth is limited; callers may limit the size too. */
const LIMITS: Partial<JsonLimits> = { maxChars: Number.POSITIVE_INFINITY };

/**
 * `meta` of the caller wins over the row's own fields. The row's `_id`, `_row_id` and `_compressed_summary` are ignored: any sender
 * can write them, and they decide which stored row a message is a copy of. A `Message` is checked and returned unchanged.
 */
export function parseMessage(
  value: unknown,
  options: { readonly limits?: Partial<JsonLimits>; readonly meta?: Partial<Meta> } = {},
): Result<Message, MessageProblem> {
  if (!isRecord(value)) return err({ kind: "no_message", message: "is not an object" });
  if (typeof value.role !== "string" || value.role === "")
    return err({ kind: "no_message", message: "has no role" });
  const problem = outsideJsonProblem(value, { ...LIMITS, ...options.limits });
  if (problem !== undefined) return err(problem);
  if (!looksLikeMessage(value)) return ok(messageOf(value, options.meta));
  const checked = checkMessage(value);
  return checked.ok && options.meta !== undefined ? ok(withMeta(checked.value, options.meta)) : checked;
}

/**
 * `parseMessage` for rows from our database, or from a list that this program wrote: the depth is not limited, a missing role is
 * an unknown one, and the keys of this program are read.
 */
export function readRow(row: Readonly<Record<string, unknown>>, given: Partial<Meta> = {}): Message {
  const { _id: id, _row_id: rowId, _compressed_summary: isHandoff, _part_order: written } = row;
  const { order = isPartOrder(written) ? written : undefined, lists } = takePartOrder(row);
  const own = withoutUndefined({
    id: text(id),
    rowId: Number.isSafeInteger(rowId) ? (rowId as number) : undefined,
    isHandoff: isHandoff === true ? (true as const) : undefined,
    partOrder: order,
  });
  return messageOf({ ...row, ...lists }, { ...own, ...given });
}

function messageOf(row: Readonly<Record<string, unknown>>, given: Partial<Meta> = {}): Message {
  const written = typeof row.role === "string" ? row.role : "";
  const role = roleFor(written);
  const meta = { ...metaOf(row), writtenRole: role === written ? undefined : written, ...given };
  const content = parseContent(row.content);
  const rest = vendorField(unknownFields(row, role));
  switch (role) {
    case "assistant":
      return newMessage({ role, content, toolCalls: parseToolCalls(row.tool_calls), ...rest }, meta);
    case "tool": {
      const toolName = text(row.tool_name) ?? text(row.name);
      const toolCallId = text(row.tool_call_id) ?? "";
      return newMessage({ role, content, toolCallId, toolName, ...rest }, meta);
    }
    default:
      return newMessage({ role, content, ...rest }, meta);
  }
}

/** Parses a list. Entries that are not messages are returned in `refused`; throws `bad-message` if `values` is not a list. */
export function parseMessages(
  values: readonly unknown[],
  options: { readonly limits?: Partial<JsonLimits> } = {},
): {
  readonly messages: readonly Message[];
  readonly refused: readonly { readonly index: number; readonly problem: MessageProblem }[];
} {
  if (!Array.isArray(values))
    throw new HermesError("bad-message", "parseMessages was given something that is not a list of messages.");
  const messages: Message[] = [];
  const refused: { index: number; problem: MessageProblem }[] = [];
  for (const [index, value] of (values as readonly unknown[]).entries()) {
    const parsed = parseMessage(value, options);
    if (parsed.ok) messages.push(parsed.value);
    else refused.push({ index, problem: parsed.error });
  }
  return { messages, refused };
}

/** `value` is the decoded content of a row: text, a list of parts, null, or anything that another program stored. */
export function parseContent(value: unknown): Content {
  if (value === null || value === undefined) return null;
  if (typeof value === "string") return value;
  if (typeof value !== "object") return String(value);
  const parts = listIn(value).map(parsePart);
  asWritten.set(parts, value);
  return parts;
}

/** The original values of parsed parts, so that unchanged ones are written back exactly: a bare text, the envelope around a tool's images. */
const asWritten = new WeakMap<readonly Part[], object>();

function listIn(value: object): readonly unknown[] {
  if (Array.isArray(value)) return value;
  if (!isEnvelope(value)) return [value];
  if (Array.isArray(value.content)) return value.content;
  return typeof value.text_summary === "string" ? [value.text_summary] : [];
}

/** Tools of the Python original return images as `{ _multimodal: true, content, text_summary }`. */
function isEnvelope(value: unknown): value is Readonly<Record<string, unknown>> {
  return isRecord(value) && value._multimodal === true;
}

/** The tool's description of the images it returned; undefined for content without that envelope. */
export function envelopeSummary(content: Content): string | undefined {
  const value = content === null || typeof content === "string" ? undefined : asWritten.get(content);
  if (!isEnvelope(value)) return undefined;
  return typeof value.text_summary === "string" ? value.text_summary : "";
}

/** The calls in `tool_calls`. A call without an id gets one derived from its name, arguments and index. */
export function parseToolCalls(value: unknown): readonly ToolCall[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((call: unknown, index): ToolCall[] => {
    if (!isRecord(call)) return [];
    const { id: rowId, call_id: callId, type, function: called, ...others } = call;
    const nested = isRecord(called) ? called : undefined;
    const { name: givenName, arguments: given, ...unknown } = nested ?? call;
    const name = text(givenName) ?? "unknown";
    const id = text(callId) ?? text(rowId) ?? madeUpId(name, given, index);
    const vendor: Record<string, unknown> = { ...others };
    if (nested === undefined) {
      delete vendor.name;
      delete vendor.arguments;
    } else if (Object.keys(unknown).length > 0) vendor.function = unknown;
    if (rowId !== undefined && rowId !== id) vendor.id = rowId;
    if (callId !== undefined) vendor.call_id = callId;
    if (type !== undefined && type !== "function") vendor.type = type;
    return [{ id, name, arguments: argumentText(given), ...vendorField(vendor) }];
  });
}

/** `forOthers` leaves out the keys of this program, which begin with an underscore. */
export function toOpenAi(message: Message, { forOthers = false } = {}): OpenAiMessage {
  const { role, content, vendor, meta } = message;
  return {
    role: meta.writtenRole ?? role,
    content: renderContent(content) as NonNullable<OpenAiMessage["content"]> | null,
    ...(message.role === "tool" ? toolFields(message) : {}),
    ...(message.role === "assistant" && message.toolCalls.length > 0
      ? { tool_calls: renderToolCalls(message.toolCalls) }
      : {}),
    ...vendor,
    ...metaFields(meta),
    ...(forOthers ? {} : ownFields(meta)),
  };
}

/** The `content` of a chat row, which the database stores as JSON. */
export function renderContent(content: Content): string | null | readonly unknown[] {
  if (content === null || typeof content === "string") return content;
  return (asWritten.get(content) as readonly unknown[] | undefined) ?? content.map(renderPart);
}

export function renderToolCalls(calls: readonly ToolCall[]): readonly OpenAiToolCall[] {
  return calls.map(({ id, name, arguments: given, vendor = {} }) => {
    const { function: unknown, ...others } = vendor;
    return {
      id,
      type: "function",
      ...others,
      function: { name, arguments: given, ...(isRecord(unknown) ? unknown : {}) },
    };
  });
}

/** The same call at the same index always gets the same id. */
export function madeUpId(name: string, given: unknown, index: number): string {
  return `call_${sha256(`${name}:${argumentText(given)}:${index}`).slice(0, 12)}`;
}

/** Row keys that the union has a field for, in every role. */
const COMMON_KEYS: ReadonlySet<string> = new Set([
  "role",
  "content",
  "timestamp",
  "message_id",
  "finish_reason",
  "observed",
]);
const ROLE_KEYS: Readonly<Record<Message["role"], ReadonlySet<string>>> = {
  system: new Set(),
  user: new Set(),
  assistant: new Set(["tool_calls"]),
  tool: new Set(["tool_call_id", "tool_name"]),
};

function unknownFields(row: Readonly<Record<string, unknown>>, role: Message["role"]): Vendor {
  const entries = Object.entries(row).filter(
    ([key, value]) =>
      value !== undefined && !key.startsWith("_") && !COMMON_KEYS.has(key) && !ROLE_KEYS[role].has(key),
  );
  return Object.fromEntries(entries);
}

function metaOf(row: Readonly<Record<string, unknown>>): Partial<Meta> {
  const { timestamp, finish_reason: finishReason, message_id: platformId, observed } = row;
  const isTime = typeof timestamp === "number" && Number.isFinite(timestamp) && timestamp > 0;
  return withoutUndefined({
    atSeconds: isTime ? timestamp : undefined,
    finishReason: text(finishReason),
    platformMessageId: text(platformId),
    observed: observed === true || observed === 1 ? (true as const) : undefined,
  });
}

function metaFields(meta: Meta): Record<string, unknown> {
  return withoutUndefined({
    timestamp: meta.atSeconds > 0 ? meta.atSeconds : undefined,
    finish_reason: meta.finishReason,
    message_id: meta.platformMessageId,
    observed: meta.observed,
  });
}

function ownFields({ rowId, isHandoff, partOrder }: Meta): Record<string, unknown> {
  return withoutUndefined({ _row_id: rowId, _compressed_summary: isHandoff, _part_order: partOrder });
}

function toolFields(message: Extract<Message, { role: "tool" }>): Record<string, unknown> {
  const { toolCallId, toolName, vendor } = message;
  return withoutUndefined({
    tool_call_id: toolCallId === "" ? undefined : toolCallId,
    // The sender's `name` is kept in `vendor`.
    tool_name: vendor?.name === toolName ? undefined : toolName,
  });
}

function parsePart(value: unknown): Part {
  if (typeof value === "string") return { type: "text", text: value };
  if (!isRecord(value)) return { type: "other", value };
  const { type, text: said, ...others } = value;
  // text, input_text, output_text, or no type. The text of other types (reasoning, a document) is not part of the message text.
  if (typeof said === "string" && (type === undefined || (typeof type === "string" && type.endsWith("text"))))
    return {
      type: "text",
      text: said,
      ...vendorField(type === "text" ? others : { type: type ?? null, ...others }),
    };
  return parseImage(value) ?? { type: "other", value };
}

function parseImage(part: Readonly<Record<string, unknown>>): Part | undefined {
  const { type, image_url: at, source, ...others } = part;
  if ((type === "image_url" || type === "input_image") && at !== undefined && source === undefined) {
    const kept = type === "image_url" ? others : { type, ...others };
    if (typeof at === "string")
      return {
        type: "image",
        url: at,
        ...vendorField(type === "image_url" ? { image_url: null, ...kept } : kept),
      };
    if (!isRecord(at) || typeof at.url !== "string") return undefined;
    const { url, ...settings } = at;
    return {
      type: "image",
      url,
      ...vendorField(
        Object.keys(settings).length === 0 && type === "image_url" ? kept : { ...kept, image_url: settings },
      ),
    };
  }
  if (type !== "image" || !isRecord(source) || at !== undefined) return undefined;
  if (source.type === "url" && typeof source.url === "string" && Object.keys(source).length === 2)
    return { type: "image", url: source.url, ...vendorField({ type, ...others }) };
  const { media_type: mediaType, data } = source;
  if (source.type !== "base64" || typeof mediaType !== "string" || typeof data !== "string") return undefined;
  return { type: "image", url: `data:${mediaType};base64,${data}`, ...vendorField({ type, ...others }) };
}

function renderPart(part: Part): unknown {
  switch (part.type) {
    case "text": {
      const { type = "text", ...others } = part.vendor ?? {};
      return type === null ? { text: part.text, ...others } : { type, text: part.text, ...others };
    }
    case "image":
      return renderImage(part.url, part.vendor ?? {});
    case "other":
      return part.value;
    default:
      return part satisfies never;
  }
}

function renderImage(url: string, vendor: Vendor): unknown {
  const { type = "image_url", image_url: settings, ...others } = vendor;
  if (type === "image") return { type, source: imageSource(url), ...others };
  if (settings === null || (settings === undefined && type === "input_image"))
    return { type, image_url: url, ...others };
  return { type, image_url: { url, ...(isRecord(settings) ? settings : {}) }, ...others };
}

function imageSource(url: string): unknown {
  const [head, mediaType] = /^data:([^;,]*);base64,/.exec(url) ?? [];
  if (head === undefined) return { type: "url", url };
  return { type: "base64", media_type: mediaType, data: url.slice(head.length) };
}

function argumentText(given: unknown): string {
  if (typeof given === "string") return given;
  try {
    return JSON.stringify(given) ?? "";
  } catch {
    return ""; // holds itself or a bigint: no model can have written it
  }
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

// The order of a reply's parts in the database, for replies whose order is not the usual one. The columns hold content, calls and
// reasoning separately, and vendors refuse reasoning that is not where it was. The order is written as `providerOptions.hermes` into
// one entry of the row, and is removed from it whenever the row is read, so that no vendor gets it. Rows in the usual order have none.
//
// The entry is one that other programs cannot send on as it is anyway: first a result of a tool that the vendor ran, then
// reasoning in the AI SDK's shape. An entry in a router's shape (`reasoning.text`) never has the note, because the Python program sends
// those back unchanged. Only a reply without both has it on its first call, beside the call's other fields of the AI SDK.

type Fields = Readonly<Record<string, unknown>>;
type Lists = {
  readonly content?: unknown;
  readonly tool_calls?: unknown;
  readonly reasoning_details?: unknown;
};

const CARRIERS: readonly (readonly [keyof Lists, (entry: Fields) => boolean])[] = [
  ["content", ({ type }) => type === "tool-result"],
  ["reasoning_details", ({ type }) => type === "reasoning"],
  ["tool_calls", () => true],
];

/** The one column that carries the order, with the note in it. */
export function withPartOrder(lists: Lists, order: readonly PartKind[]): Lists {
  for (const [column, isCarrier] of CARRIERS) {
    const list = lists[column];
    if (!Array.isArray(list)) continue;
    const at = list.findIndex((entry) => isRecord(entry) && isCarrier(entry));
    if (at < 0) continue;
    const entry = list[at] as Fields;
    const options = isRecord(entry.providerOptions) ? entry.providerOptions : {};
    const noted = { ...entry, providerOptions: { ...options, hermes: { order } } };
    return { [column]: list.with(at, noted) };
  }
  return {};
}

/** `lists` has the columns that carried a note, without it. */
export function takePartOrder(row: Lists): { readonly order?: readonly PartKind[]; readonly lists: Lists } {
  let order: readonly PartKind[] | undefined;
  const lists: Record<string, unknown> = {};
  for (const [column] of CARRIERS) {
    const list = row[column];
    if (!Array.isArray(list) || !list.some((entry) => noteIn(entry) !== undefined)) continue;
    order ??= list.map(noteIn).find((note) => note !== undefined);
    lists[column] = list.map(withoutNote);
  }
  return order === undefined ? { lists } : { order, lists };
}

function noteIn(entry: unknown): readonly PartKind[] | undefined {
  if (!isRecord(entry) || !isRecord(entry.providerOptions)) return undefined;
  const { hermes } = entry.providerOptions;
  return isRecord(hermes) && isPartOrder(hermes.order) ? hermes.order : undefined;
}

function withoutNote(entry: unknown): unknown {
  if (noteIn(entry) === undefined) return entry;
  const { providerOptions, ...others } = entry as { readonly providerOptions: Fields };
  const { hermes: _, ...options } = providerOptions;
  return Object.keys(options).length === 0 ? others : { ...(entry as Fields), providerOptions: options };
}
