// A message's content as one text: what a provider that knows only text can keep of it.
import { pyStrip } from "../../lib/index.ts";

const TEXT_TYPES = ["text", "input_text", "output_text"];
const IMAGE_TYPES = ["image_url", "input_image"];

export function flattenContent(content: unknown): string {
  if (content === null || content === undefined) return "";
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return typeof content === "object" ? "" : String(content);
  const texts: string[] = [];
  let images = 0;
  for (const part of content) {
    if (typeof part === "string") {
      if (part !== "") texts.push(part);
    } else if (isRecord(part)) {
      if (TEXT_TYPES.includes(String(part.type))) {
        if (typeof part.text === "string" && part.text !== "") texts.push(part.text);
      } else if (IMAGE_TYPES.includes(String(part.type))) images += 1;
    }
  }
  const text = pyStrip(texts.join("\n"));
  if (images === 0) return text;
  const seen = images === 1 ? "[1 image]" : `[${images} images]`;
  return text === "" ? seen : `${seen} ${text}`;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
