// The text of a message's content: the one reader, with what readers want to see in place of images and other parts.
import { isRecord, pyStrip } from "../lib/index.ts";
import { type Content, type ImagePart, isImage, type OtherPart, type ToolCall } from "./message.ts";
import { parseContent, renderContent } from "./openai.ts";

export type TextOptions = {
  /** Between two parts. Default: a line break. */
  readonly separator?: string;
  /** In place of an image, or of a part that says it is one. Default: nothing. */
  readonly image?: string | ((part: ImagePart | OtherPart) => string);
  /** In place of a part that is neither text nor image. Default: nothing. */
  readonly other?: (part: OtherPart) => string;
};

export function textOf(content: Content, options: TextOptions = {}): string {
  if (typeof content === "string") return content;
  const { separator = "\n", image = "", other = nothing } = options;
  const texts = (content ?? []).map((part) => {
    if (part.type === "text") return part.text;
    if (part.type === "other" && !isImage(part)) return other(part);
    return typeof image === "string" ? image : image(part);
  });
  return texts.filter((text) => text !== "").join(separator);
}

/**
 * For readers that know only text: the text, and how many images there are. Takes content of any row, or of a message. A part without
 * a type is no text to a chat server, and none here.
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
 * Its text, as thoughts have one; else `[audio]`; else the part as JSON, where it does not name its type. For `image` and `other` of
 * `textOf`.
 */
export function partName(part: ImagePart | OtherPart): string {
  const value = written(part);
  const { text, type } = isRecord(value) ? value : {};
  if (typeof text === "string") return text;
  return typeof type === "string" ? `[${type}]` : partJson(part);
}

/** For `image` and `other` of `textOf`. */
export function partJson(part: ImagePart | OtherPart): string {
  const value = written(part);
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return Object.prototype.toString.call(value); // holds itself, or a bigint, or is too deep
  }
}

/** `terminal({"command": "ls"})`; JSON for an entry that names no tool. */
export function callText({ name, arguments: given, vendor }: ToolCall): string {
  const isNameless = name === "unknown" && given === "" && vendor !== undefined;
  return isNameless ? partJson({ type: "other", value: vendor }) : `${name}(${given})`;
}

function written(part: ImagePart | OtherPart): unknown {
  return part.type === "other" ? part.value : renderContent([part])?.[0];
}

function nothing(): string {
  return "";
}
