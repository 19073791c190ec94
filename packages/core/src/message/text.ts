// The text of a message's content: the one reader, with what readers want to see in place of images and other parts.
import type { Content, ImagePart, OtherPart, ToolCall } from "./message.ts";
import { renderContent } from "./openai.ts";

export type TextOptions = {
  /** Between two parts. Default: a line break. */
  readonly separator?: string;
  /** In place of an image. Default: nothing. */
  readonly image?: string | ((part: ImagePart) => string);
  /** In place of a part that is neither text nor image. Default: nothing. */
  readonly other?: (part: OtherPart) => string;
};

export function textOf(content: Content, options: TextOptions = {}): string {
  if (typeof content === "string") return content;
  const { separator = "\n", image = "", other = nothing } = options;
  const texts = (content ?? []).map((part) => {
    if (part.type === "text") return part.text;
    if (part.type === "other") return other(part);
    return typeof image === "string" ? image : image(part);
  });
  return texts.filter((text) => text !== "").join(separator);
}

/** `[audio]`, or the part as JSON where it does not name its type. For `image` and `other` of `textOf`. */
export function partName(part: ImagePart | OtherPart): string {
  const value = written(part);
  const type = typeof value === "object" && value !== null && "type" in value ? value.type : undefined;
  return typeof type === "string" ? `[${type}]` : partJson(part);
}

/** For `image` and `other` of `textOf`. */
export function partJson(part: ImagePart | OtherPart): string {
  try {
    return JSON.stringify(written(part)) ?? "";
  } catch {
    return ""; // holds itself or a bigint: no JSON has either
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
