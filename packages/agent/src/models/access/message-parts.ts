// What stands in a message of ours, whoever wrote it: other programs share the database, so anything may be missing or odd.
import { outsideJsonOr, sha256 } from "@hermes-memory/core/lib";
import type { ChatMessage } from "../chat.ts";
import { asList, asRecord, textOf } from "./raw-chunks.ts";

export type Call = {
  readonly id: string;
  readonly name: string;
  readonly arguments: unknown;
  readonly extra: unknown;
};

export type Image = {
  readonly mediaType: string;
  readonly data:
    | { readonly type: "data"; readonly data: string }
    | { readonly type: "url"; readonly url: URL };
};

export function callsOf(message: ChatMessage): Call[] {
  return asList(message.tool_calls).map((entry, index) => {
    const call = asRecord(entry);
    const { name, arguments: given } = asRecord(call.function);
    const called = textOf(name) ?? "unknown";
    const id = textOf(call.call_id) ?? textOf(call.id)?.split("|")[0] ?? callId(called, given, index);
    return { id, name: called, arguments: given, extra: call.extra_content };
  });
}

/** The same call at the same place always gets the same id. */
export function callId(name: string, given: unknown, index: number): string {
  const text = typeof given === "string" ? given : (JSON.stringify(given) ?? "");
  return `call_${sha256(`${name}:${text}:${index}`).slice(0, 12)}`;
}

/** Undefined for what is no JSON object. */
export function objectOf(given: unknown): object | undefined {
  const value = typeof given === "string" ? outsideJsonOr(given, undefined) : given;
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
}

export function partsOf(content: unknown): readonly unknown[] {
  if (Array.isArray(content)) return content;
  return content === null || content === undefined ? [] : [content];
}

export function plainText(content: unknown, separator: string): string {
  return partsOf(content).map(partText).join(separator);
}

/** Whatever cannot be shown otherwise is shown as JSON. */
export function partText(part: unknown): string {
  if (typeof part === "string") return part;
  const { text } = asRecord(part);
  return typeof text === "string" ? text : (JSON.stringify(part) ?? "");
}

/** By the ending of a file's name; everything else is taken for a JPEG, which vendors correct by looking. */
const IMAGE_TYPES = new Map(["gif", "jpeg", "png", "webp"].map((ending) => [ending, `image/${ending}`]));

/** Undefined for what is no address. */
export function imageAt(address: string): Image | undefined {
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
