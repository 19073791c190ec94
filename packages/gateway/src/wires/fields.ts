// Reading a client's body: fields that must have a type, content, tools, ids. A wrong field throws a `ProblemError` that names it and never
// quotes it.
import { isRecord, withoutUndefined } from "@hermes-memory/core/internal/lib";
import {
  type Content,
  type ImagePart,
  type Part,
  parseContent,
  type Vendor,
} from "@hermes-memory/core/internal/message";
import type { ToolDefinition } from "@hermes-memory/core/internal/tools";
import { type GatewayProblem, type JsonObject, ProblemError } from "../problem.ts";
import type { ReplyMetadata, WireRequest } from "./wire.ts";

export function wrong(param: string | undefined, message: string, hint?: string): ProblemError {
  const problem: GatewayProblem = { status: 400, code: "bad-request", message, hint, param };
  return new ProblemError(withoutUndefined(problem));
}

/** Undefined for null: clients write null for a field that they do not use. */
export function given(body: JsonObject, name: string): unknown {
  return body[name] ?? undefined;
}

export function neededText(body: JsonObject, name: string, param = name): string {
  const value = body[name];
  if (typeof value === "string" && value !== "") return value;
  throw wrong(param, `The field '${param}' has to be a text that is not empty.`);
}

function optional<T>(what: string, isOne: (value: unknown) => value is T) {
  return (body: JsonObject, name: string, param = name): T | undefined => {
    const value = given(body, name);
    if (value === undefined || isOne(value)) return value;
    throw wrong(param, `The field '${param}' has to be ${what}.`);
  };
}

export const optionalText = optional("a text", (value) => typeof value === "string");
const optionalFlag = optional("true or false", (value) => typeof value === "boolean");
const optionalNumber = optional("a number", (value): value is number => Number.isFinite(value));
export const optionalList = optional("a list", (value): value is readonly unknown[] => Array.isArray(value));

export function optionalCount(body: JsonObject, name: string): number | undefined {
  const value = optionalNumber(body, name);
  if (value === undefined || (Number.isSafeInteger(value) && value > 0)) return value;
  throw wrong(name, `The field '${name}' has to be a whole number above 0.`);
}

export function neededList(body: JsonObject, name: string): readonly unknown[] {
  const value = body[name];
  if (Array.isArray(value) && value.length > 0) return value;
  throw wrong(name, `The field '${name}' has to be a list that is not empty.`);
}

export function neededRecord(value: unknown, param: string): JsonObject {
  if (isRecord(value)) return value;
  throw wrong(param, `The field '${param}' has to be an object.`);
}

/** For fields whose type does not matter. */
export function recordOf(value: unknown): JsonObject {
  return isRecord(value) ? value : {};
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function recordsIn(value: unknown): readonly JsonObject[] {
  return listOf(value).filter(isRecord);
}

export function textOr<T>(value: unknown, fallback: T): string | T {
  return typeof value === "string" && value !== "" ? value : fallback;
}

/** Notes the type of a part, an item or a tool that would be lost. */
export type Lose = (type: unknown) => void;

/** In front of the types, the field that holds them. */
export function losing(lost: Set<string>, field: string): Lose {
  return (type) => void lost.add(`${field}.${plainName(type)}`);
}

/** A name that a client chose, for a message: `web_search_20250305`. Anything that is no plain name is not repeated. */
function plainName(value: unknown): string {
  return typeof value === "string" && /^[\w.-]{1,64}$/.test(value) ? value : "unknown";
}

/** What all wires call the same. */
export function commonFields(body: JsonObject) {
  return {
    model: neededText(body, "model"),
    isStream: optionalFlag(body, "stream") === true,
    temperature: optionalNumber(body, "temperature"),
    ids: idsOf(body),
  };
}

// Ids

/** A `user` that is no text or empty is refused rather than ignored: the request would act for somebody else. */
function idsOf(body: JsonObject): WireRequest["ids"] {
  const user = optionalText(body, "user");
  if (user === "") throw wrong("user", "The field 'user' is empty.", "Leave it out, or name a user.");
  const conversation = given(body, "conversation");
  return withoutUndefined({
    user,
    conversation: isRecord(conversation)
      ? neededText(conversation, "id", "conversation.id")
      : someId(body, "conversation"),
    previousResponseId: someId(body, "previous_response_id"),
    litellmSessionId: someId(body, "litellm_session_id"),
    promptCacheKey: someId(body, "prompt_cache_key"),
  });
}

function someId(body: JsonObject, name: string): string | undefined {
  return textOr(optionalText(body, name), undefined);
}

// Content

export type ReadContent = {
  readonly content: Content;
  /** `cache_control` of the content: moved to the message, so that equal contents are equal wherever a client puts its markers. */
  readonly vendor: Vendor;
};

/**
 * The content of a message on any wire. A single text part becomes plain text, and texts and images lose the names that one wire has for
 * them: rows are read by other programs too. `param` names the field. Parts that are neither text nor image would be lost.
 */
export function readContent(value: unknown, param: string, lose: Lose = () => {}): ReadContent {
  if (value === undefined || value === null || typeof value === "string")
    return { content: value ?? null, vendor: {} };
  if (!Array.isArray(value)) throw wrong(param, `The field '${param}' has to be a text or a list of parts.`);
  for (const [index, part] of value.entries())
    if (typeof part !== "string") checkPart(neededRecord(part, `${param}[${index}]`), `${param}[${index}]`);
  const parts: readonly Part[] = partsIn(value);
  const marker = parts.map(markerOf).findLast((each) => isRecord(each));
  const content = parts.map(plainPart);
  for (const part of content) if (part.type === "other") lose(recordOf(part.value).type);
  const [only, ...others] = content;
  const isText = only?.type === "text" && only.vendor === undefined && others.length === 0;
  return {
    content: isText ? only.text : content,
    vendor: marker === undefined ? {} : { cache_control: marker },
  };
}

/** `readContent` for a message that has to have one. */
export function neededContent(value: unknown, param: string, lose?: Lose): ReadContent {
  if (value !== undefined && value !== null) return readContent(value, param, lose);
  throw wrong(param, `The field '${param}' has to be a text or a list of parts.`);
}

function partsIn(value: readonly unknown[]): readonly Part[] {
  const content = parseContent(value);
  return Array.isArray(content) ? (content as readonly Part[]) : [];
}

const TEXT_TYPES: ReadonlySet<unknown> = new Set(["text", "input_text", "output_text"]);

function checkPart(part: JsonObject, param: string): void {
  neededText(part, "type", `${param}.type`);
  if (TEXT_TYPES.has(part.type) && typeof part.text !== "string")
    throw wrong(`${param}.text`, `The field '${param}.text' has to be a text.`);
}

function markerOf(part: Part): unknown {
  return part.type === "other" ? recordOf(part.value).cache_control : part.vendor?.cache_control;
}

function plainPart(part: Part): Part {
  switch (part.type) {
    case "text": {
      const {
        type: _,
        cache_control: _marker,
        prompt_cache_breakpoint: _breakpoint,
        annotations,
        logprobs,
        citations,
        ...others
      } = part.vendor ?? {};
      // Empty lists and nulls say nothing.
      const kept = { ...others, ...some({ annotations, logprobs, citations }) };
      return { type: "text", text: part.text, ...(Object.keys(kept).length === 0 ? {} : { vendor: kept }) };
    }
    case "image":
      return plainImage(part);
    case "other": {
      const { type, refusal } = recordOf(part.value);
      return type === "refusal" && typeof refusal === "string" ? { type: "text", text: refusal } : part;
    }
    default:
      return part satisfies never;
  }
}

function some(fields: Vendor): Vendor {
  return Object.fromEntries(
    Object.entries(fields).filter(
      ([, value]) => !(Array.isArray(value) ? value.length === 0 : value == null),
    ),
  );
}

function plainImage({ url, vendor = {} }: ImagePart): ImagePart {
  const detail = textOr(vendor.detail, textOr(recordOf(vendor.image_url).detail, undefined));
  return { type: "image", url, ...(detail === undefined ? {} : { vendor: { image_url: { detail } } }) };
}

export function vendorField(vendor: Vendor): { readonly vendor?: Vendor } {
  return Object.keys(vendor).length === 0 ? {} : { vendor };
}

// Tools

/** A tool without parameters takes none. */
export function toolDefinition(fields: JsonObject, param: string, schema: unknown): ToolDefinition {
  const parameters = isRecord(schema) ? schema : { type: "object", properties: {} };
  if (schema !== undefined && schema !== null && !isRecord(schema))
    throw wrong(param, `The parameters of '${param}' have to be a JSON Schema, which is an object.`);
  return {
    name: neededText(fields, "name", `${param}.name`),
    description: textOr(fields.description, ""),
    parameters,
  };
}

/** `own`: the tool, if the client runs it. Others are run by the vendor, or their schema is known to its models only. */
export function readTools(
  body: JsonObject,
  lost: Set<string>,
  own: (fields: JsonObject, param: string) => ToolDefinition | undefined,
): readonly ToolDefinition[] {
  const lose = losing(lost, "tools");
  return (optionalList(body, "tools") ?? []).flatMap((value, index) => {
    const param = `tools[${index}]`;
    const fields = neededRecord(value, param);
    const tool = own(fields, param);
    if (tool === undefined) lose(fields.type);
    return tool ?? [];
  });
}

/** OpenAI's choice of a tool: a word, or an object that names one. */
export function wordOrRecord(choice: unknown): "auto" | "none" | "required" | JsonObject {
  if (choice === "auto" || choice === "none" || choice === "required") return choice;
  if (typeof choice === "string")
    throw wrong("tool_choice", "The field 'tool_choice' has to be auto, none, required, or name a tool.");
  return neededRecord(choice, "tool_choice");
}

// Replies

/** The same in headers. One line of ASCII each. */
export function hermesHeaders({ sessionId, notices }: ReplyMetadata): Readonly<Record<string, string>> {
  const plain = (text: string): string => text.replace(/[^\x20-\x7e]+/g, " ").slice(0, 1_000);
  return {
    ...(sessionId === "" ? {} : { "x-hermes-session-id": plain(sessionId) }),
    ...(notices.length === 0 ? {} : { "x-hermes-notice": plain(notices.join(" ")) }),
  };
}

/** The field of ours in bodies and in the last event of a stream. */
export function hermesField({ sessionId, notices, compactedFrom }: ReplyMetadata): JsonObject {
  return {
    hermes: withoutUndefined({ session_id: sessionId, notices, compacted_from: compactedFrom }),
  };
}

/** Arguments of a call for a client that parses them: "" is a call without arguments. */
export function argumentsText(text: string): string {
  return text.trim() === "" ? "{}" : text;
}

/** Random, in the vendors' style: 32 hexadecimal digits. */
export function newId(): string {
  return crypto.randomUUID().replaceAll("-", "");
}
