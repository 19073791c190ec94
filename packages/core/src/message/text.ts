// Parts as text: previews, placeholders for images and other parts, calls.
import { isRecord, pyStrip } from "../lib/index.ts";
import { type ImagePart, isImage, type OtherPart, type ToolCall, textOf } from "./message.ts";
import { parseContent, renderContent } from "./openai.ts";

/**
 * The text and the number of images, for readers that only handle text. Accepts content of a row or of a message. A part without
 * a type is not text, as for chat servers.
 */
export function flattenContent(value: unknown): string {
  const content = parseContent(value);
  if (content === null || typeof content === "string") return content ?? "";
  const text = pyStrip(textOf(content.filter((part) => part.type !== "text" || part.vendor?.type !== null)));
  const images = content.filter(isImage).length;
  if (images === 0) return text;
  const seen = images === 1 ? "[1 image]" : `[${images} images]`;
  return text === "" ? seen : `${seen} ${text}`;
}

/**
 * The part's text, if it has one (reasoning does); else its type as `[audio]`; else its JSON. For the options `image` and `other`
 * of `textOf`.
 */
export function partName(part: ImagePart | OtherPart): string {
  const value = written(part);
  const { text, type } = isRecord(value) ? value : {};
  if (typeof text === "string") return text;
  return typeof type === "string" ? `[${type}]` : partJson(part);
}

/** For the options `image` and `other` of `textOf`. */
export function partJson(part: ImagePart | OtherPart): string {
  const value = written(part);
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return Object.prototype.toString.call(value); // a cycle, a bigint, or too deep
  }
}

/** `terminal({"command": "ls"})`; JSON for an entry without a tool name. */
export function callText({ name, arguments: given, vendor }: ToolCall): string {
  const isNameless = name === "unknown" && given === "" && vendor !== undefined;
  return isNameless ? partJson({ type: "other", value: vendor }) : `${name}(${given})`;
}

function written(part: ImagePart | OtherPart): unknown {
  return part.type === "other" ? part.value : renderContent([part])?.[0];
}
