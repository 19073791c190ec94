// The text of a message's content: the one reader, with what readers want to see in place of images and other parts.
import type { Content, OtherPart } from "./message.ts";

export type TextOptions = {
  /** Between two parts. Default: a line break. */
  readonly separator?: string;
  /** In place of an image. Default: nothing. */
  readonly image?: string;
  /** In place of a part that is neither text nor image. Default: nothing. */
  readonly other?: (part: OtherPart) => string;
};

export function textOf(content: Content, options: TextOptions = {}): string {
  if (typeof content === "string") return content;
  const { separator = "\n", image = "", other = nothing } = options;
  const texts = (content ?? []).map((part) => {
    if (part.type === "text") return part.text;
    return part.type === "image" ? image : other(part);
  });
  return texts.filter((text) => text !== "").join(separator);
}

/** `[audio]`, or the value as JSON where it does not name its type. For `other` of `textOf`. */
export function partName({ value }: OtherPart): string {
  const type = typeof value === "object" && value !== null && "type" in value ? value.type : undefined;
  return typeof type === "string" ? `[${type}]` : partJson({ type: "other", value });
}

/** For `other` of `textOf`. */
export function partJson({ value }: OtherPart): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return ""; // holds itself or a bigint: no JSON has either
  }
}

function nothing(): string {
  return "";
}
