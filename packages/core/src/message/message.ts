// A message of a conversation, the type that every layer works with. openai.ts, from-ai-sdk.ts, to-ai-sdk.ts and rows.ts convert
// other formats from and to it. Messages are never changed in place.
import {
  err,
  isRecord,
  type JsonProblem,
  ok,
  type Result,
  randomHex,
  withoutUndefined,
} from "../lib/index.ts";

/** A message of a conversation: system, user, assistant or tool, with the ids of its stored row in `meta`. */
export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage;

type Common = {
  readonly content: Content;
  readonly vendor?: Vendor;
  /** Required, so that passing a message of another library is a type error. */
  readonly meta: Meta;
};

/** Instructions for the model. */
export type SystemMessage = Common & { readonly role: "system" };
/** What the user said. */
export type UserMessage = Common & { readonly role: "user" };
/** A reply of a model, with its tool calls. */
export type AssistantMessage = Common & {
  readonly role: "assistant";
  readonly toolCalls: readonly ToolCall[];
};
/** The result of a tool call. */
export type ToolMessage = Common & {
  readonly role: "tool";
  /** The call that it answers; "" if the sender named none. */
  readonly toolCallId: string;
  readonly toolName?: string;
};

/** Null: the sender sent null or no content, as servers do for a reply that only calls tools. */
export type Content = string | null | readonly Part[];

/** A part of a structured content. */
export type Part = TextPart | ImagePart | OtherPart;

/** Text in a structured content. */
export type TextPart = { readonly type: "text"; readonly text: string; readonly vendor?: Vendor };

/** `url`: http, https or data. */
export type ImagePart = { readonly type: "image"; readonly url: string; readonly vendor?: Vendor };

/** Audio, files and vendor-specific parts, unchanged. */
export type OtherPart = { readonly type: "other"; readonly value: unknown };

/** A call of a tool in a reply of a model. */
export type ToolCall = {
  /** `call_id` if the sender sent one beside `id`. Kept unchanged, also `call_1|fc_1`, because results refer to it. Never empty. */
  readonly id: string;
  readonly name: string;
  /** JSON text as the model wrote it; may be invalid. */
  readonly arguments: string;
  readonly vendor?: Vendor;
};

/**
 * Fields of one vendor, and fields we do not know, under their original names: reasoning, signatures, cache markers. They are sent
 * back unchanged.
 */
export type Vendor = Readonly<Record<string, unknown>>;

/** Facts about a message that are not sent to a model. */
export type Meta = {
  /** Created with the message and shared by its copies, so that it can be found after a compaction, a repair or an undo. */
  readonly id: string;
  /** When it was sent, in seconds since 1970; 0 if unknown. */
  readonly atSeconds: number;
  /** The row of the session store that holds it. */
  readonly rowId?: number;
  /** The row that `rowId` is a copy of. */
  readonly originId?: number;
  /** The sender's role, if it is not one of the union: `developer`, `function`. */
  readonly writtenRole?: string;
  /** Stored, shown and synced instead of `content`, if the model gets a different text than the user typed. */
  readonly storedContent?: Content;
  /** Added for one turn: sent to the model, never stored. */
  readonly ephemeral?: "empty_recovery" | "continuation";
  /** The message is, or begins with, the summary of a compaction. */
  readonly isHandoff?: true;
  /** Why the model ended the reply. Of a tool message: `json`, `error-text`, `error-json` or `execution-denied`, if it is one of them. */
  readonly finishReason?: string;
  /** The order of a reply's reasoning, content, calls and results, if it is not this one. Ignored if their numbers have changed since. */
  readonly partOrder?: readonly ("reasoning" | "content" | "call" | "result")[];
  /** The platform's own id of the message. */
  readonly platformMessageId?: string;
  /** Posted in a group chat, but not addressed to the agent. */
  readonly observed?: true;
};

/** The kinds of parts in a reply. `result`: of a tool that the vendor ran. */
export type PartKind = NonNullable<Meta["partOrder"]>[number];

/** The kinds in their usual order. Results are those of tools that the vendor ran. */
export const PART_KINDS: readonly PartKind[] = ["reasoning", "content", "call", "result"];

export function usualOrder(kinds: readonly PartKind[]): readonly PartKind[] {
  return kinds.toSorted((one, other) => PART_KINDS.indexOf(one) - PART_KINDS.indexOf(other));
}

export function isPartOrder(value: unknown): value is readonly PartKind[] {
  return Array.isArray(value) && value.every((kind) => PART_KINDS.includes(kind as PartKind));
}

/** A message before it has its meta. */
export type Draft = WithoutMeta<Message>;
type WithoutMeta<M> = M extends Message ? Omit<M, "meta"> : never;

/** Makes a message from a draft and gives it an id. */
export function newMessage<const D extends Draft>(
  draft: D,
  meta: Partial<Meta> = {},
): D & { readonly meta: Meta } {
  const known = withoutUndefined(meta);
  return { ...withoutUndefined(draft), meta: { atSeconds: 0, ...known, id: meta.id ?? randomHex(6) } };
}

/** A copy with changed meta; `undefined` removes a field. */
export function withMeta<M extends Message>(
  message: M,
  changes: { readonly [K in keyof Meta]?: Meta[K] | undefined },
): M {
  return { ...message, meta: withoutUndefined({ ...message.meta, ...changes }) as Meta };
}

/** The field `vendor`; no field when there is nothing to keep. */
export function vendorField(vendor: Vendor): { readonly vendor?: Vendor } {
  return Object.keys(vendor).length === 0 ? {} : { vendor };
}

/** A copy without these vendor fields; the same object if it has none of them. */
export function withoutVendor<M extends Message>(message: M, names: ReadonlySet<string>): M {
  const { vendor, ...rest } = message;
  if (vendor === undefined || !Object.keys(vendor).some((name) => names.has(name))) return message;
  const kept = Object.entries(vendor).filter(([name]) => !names.has(name));
  return (kept.length === 0 ? rest : { ...rest, vendor: Object.fromEntries(kept) }) as M;
}

/** Why a value is no message. */
export type MessageProblem = {
  readonly kind: "no_message" | JsonProblem["kind"];
  /** A predicate to print after "the message". Never quotes the message. */
  readonly message: string;
};

/** False for rows of other programs, and for objects with some fields of a message. */
export function isMessage(value: unknown): value is Message {
  if (!looksLikeMessage(value)) return false;
  if (sound.has(value)) return true;
  const { ok: isSound } = checkMessage(value);
  if (isSound) sound.add(value);
  return isSound;
}

/** Messages that passed the check. Messages are never changed in place, and lists of thousands are checked several times per turn. */
const sound = new WeakSet<object>();

/** True if it has the meta of a message, so the caller meant to pass one. */
export function looksLikeMessage(value: unknown): value is { readonly meta: Pick<Meta, "id" | "atSeconds"> } {
  if (!isRecord(value) || !isRecord(value.meta)) return false;
  return typeof value.meta.id === "string" && typeof value.meta.atSeconds === "number";
}

/** Checks the type of each field of a message from a caller. The values inside `vendor` are not checked. */
export function checkMessage(value: unknown): Result<Message, MessageProblem> {
  const wrong = wrongField(value);
  if (wrong === undefined) return ok(value as Message);
  return err({ kind: "no_message", message: wrong });
}

type Fields = Readonly<Record<string, unknown>>;

function wrongField(value: unknown): string | undefined {
  if (!isRecord(value)) return "is not an object";
  const { role, content, toolCalls, toolCallId, toolName, vendor, meta } = value;
  if (typeof role !== "string" || role === "") return "has no role";
  if (!isRole(role)) return "has a role that messages do not have";
  if (!isContent(content)) return "has a content that is neither text nor a list of parts";
  if (!isOptional(vendor, isRecord)) return "has a vendor field that is not an object";
  if (role === "assistant" && !(Array.isArray(toolCalls) && toolCalls.every(isToolCall)))
    return "has no list of tool calls";
  if (role === "tool" && typeof toolCallId !== "string") return "names no tool call";
  if (role === "tool" && !isOptional(toolName, isString)) return "has a tool name that is not text";
  if (!isRecord(meta)) return "has no meta";
  let wrong: string | undefined; // a loop: lists of thousands are checked
  for (const name in META_FIELDS) if (!META_FIELDS[name as keyof Meta](meta[name])) wrong ??= name;
  if (wrong !== undefined) return `has the wrong value in meta.${wrong}`;
  if (meta.writtenRole === undefined || roleFor(String(meta.writtenRole)) === role) return undefined;
  return "has another role in meta.writtenRole";
}

const META_FIELDS: Readonly<Record<keyof Meta, (value: unknown) => boolean>> = {
  id: (value) => isString(value) && value !== "",
  atSeconds: isNumber,
  rowId: (value) => isOptional(value, isNumber),
  originId: (value) => isOptional(value, isNumber),
  writtenRole: (value) => isOptional(value, isString),
  storedContent: (value) => isOptional(value, isContent),
  ephemeral: (value) => isOptional(value, (given) => given === "empty_recovery" || given === "continuation"),
  isHandoff: (value) => isOptional(value, (given) => given === true),
  finishReason: (value) => isOptional(value, isString),
  partOrder: (value) => isOptional(value, (given) => Array.isArray(given) && given.every(isString)),
  platformMessageId: (value) => isOptional(value, isString),
  observed: (value) => isOptional(value, (given) => given === true),
};

const ROLES: Readonly<Record<string, Message["role"]>> = {
  system: "system",
  developer: "system",
  user: "user",
  assistant: "assistant",
  tool: "tool",
  function: "tool",
};

/** The role of the union for a sender's role. An unknown one becomes `system`; its name is kept, and the message is not sent to a model. */
export function roleFor(written: string): Message["role"] {
  return (Object.hasOwn(ROLES, written) ? ROLES[written] : undefined) ?? "system";
}

function isRole(value: string): boolean {
  return value === "system" || value === "user" || value === "assistant" || value === "tool";
}

function isContent(value: unknown): boolean {
  return value === null || isString(value) || (Array.isArray(value) && value.every(isPart));
}

function isPart(value: unknown): boolean {
  if (!isRecord(value)) return false;
  if (value.type === "other") return "value" in value;
  const own = value.type === "text" ? value.text : value.type === "image" ? value.url : undefined;
  return isString(own) && isOptional(value.vendor, isRecord);
}

function isToolCall(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { id, name, arguments: given, vendor }: Fields = value;
  return isString(id) && isString(name) && isString(given) && isOptional(vendor, isRecord);
}

function isOptional(value: unknown, isRight: (value: unknown) => boolean): boolean {
  return value === undefined || isRight(value);
}

function isString(value: unknown): value is string {
  return typeof value === "string";
}

function isNumber(value: unknown): boolean {
  return typeof value === "number" && !Number.isNaN(value);
}

/** Converts null and text to parts as well, so that the caller can add parts. */
export function partsOf(content: Content): readonly Part[] {
  if (typeof content !== "string") return content ?? [];
  return content === "" ? [] : [{ type: "text", text: content }];
}

/** How `textOf` joins parts and shows those that are no text. */
export type TextOptions = {
  /** Placed between two parts. Default: a line break. */
  readonly separator?: string;
  /** Replaces an image, or a part whose type says that it is one. Default: nothing. */
  readonly image?: string | ((part: ImagePart | OtherPart) => string);
  /** Replaces a part that is neither text nor image. Default: nothing. */
  readonly other?: (part: OtherPart) => string;
};

/** The text of a content, without images and other parts unless `options` says how to show them. */
export function textOf(content: Content, options: TextOptions = {}): string {
  if (typeof content === "string") return content;
  const { separator = "\n", image = "", other = () => "" } = options;
  const texts = (content ?? []).map((part) => {
    if (part.type === "text") return part.text;
    if (part.type === "other" && !isImage(part)) return other(part);
    return typeof image === "string" ? image : image(part);
  });
  return texts.filter((text) => text !== "").join(separator);
}

/** The sender's role: one of the union, `developer`, or any other text. */
export function roleOf({ role, meta }: Message): string {
  return meta.writtenRole ?? role;
}

/** True for a result that can answer a call. A row with role `function` is text of another program. */
export function isResult(message: Message | undefined): message is ToolMessage {
  return message?.role === "tool" && message.meta.writtenRole === undefined;
}

/** True for an image, and for a part whose type says so but whose URL we do not recognise. */
export function isImage(part: Part): boolean {
  if (part.type !== "other") return part.type === "image";
  const type = isRecord(part.value) ? part.value.type : undefined;
  return type === "image" || type === "image_url" || type === "input_image";
}

/** The calls of an assistant message; none for every other role. */
export function toolCallsOf(message: Message): readonly ToolCall[] {
  return message.role === "assistant" ? message.toolCalls : [];
}

/** How a tool ended and what its content is, in the AI SDK's terms. */
export type OutputKind = "text" | "content" | "json" | "error-text" | "error-json" | "execution-denied";

const NOTED_KINDS: ReadonlySet<unknown> = new Set(["json", "error-text", "error-json", "execution-denied"]);

/** The kinds that a row names in `finish_reason`, which other programs read for replies only. */
export function isNotedKind(value: unknown): value is OutputKind {
  return NOTED_KINDS.has(value);
}

/** `text` and `content` if the sender did not say that it is JSON, an error or a refusal. */
export function outputKindOf({ content, meta: { finishReason } }: ToolMessage): OutputKind {
  if (isNotedKind(finishReason)) return finishReason;
  return content === null || typeof content === "string" ? "text" : "content";
}

/**
 * The `finish_reason` of messages that a model's provider refused to read. They stay in the database; requests, summaries and recaps
 * have `REFUSED_NOTE` in their place. No model ends a reply with this value, and other programs read the column for replies only.
 * As a column it is copied to branches, continuations and exports.
 */
export const REFUSED_BY_POLICY = "content_policy";

export const REFUSED_NOTE =
  "[Left out: the model's provider refused to read this because of its content policy.]";

/** For a message or a row of the database. */
export function isRefused(
  message: Message | { readonly role: string; readonly finish_reason?: unknown },
): boolean {
  const reason = looksLikeMessage(message) ? (message as Message).meta.finishReason : message.finish_reason;
  return reason === REFUSED_BY_POLICY;
}
