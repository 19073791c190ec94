// The one estimate of what a text costs, used wherever no model has told the real figure: a token for every four
// characters, a flat price for an image.
import { codePointLength } from "../lib/index.ts";
import { type ContextMessage, isRecord, shownText, toolCallsOf } from "./message.ts";

export const CHARS_PER_TOKEN = 4;
export const IMAGE_TOKENS = 1_600;
/** Role, separators and ids around a message. */
export const MESSAGE_OVERHEAD_TOKENS = 10;

const IMAGE_TYPES = ["image", "image_url", "input_image"];

export function estimateText(text: string): number {
  return Math.ceil(codePointLength(text) / CHARS_PER_TOKEN);
}

export function estimateContent(content: unknown): number {
  if (content === null || content === undefined) return 0;
  if (typeof content === "string") return estimateText(content);
  if (isRecord(content) && content._multimodal === true)
    return estimateContent(
      Array.isArray(content.content) ? content.content : shownText(content.text_summary),
    );
  if (!Array.isArray(content)) return estimateText(json(content));
  let tokens = 0;
  for (const part of content) {
    if (typeof part === "string") tokens += estimateText(part);
    else if (isImagePart(part)) tokens += IMAGE_TOKENS;
    else if (isRecord(part) && typeof part.text === "string") tokens += estimateText(part.text);
    else tokens += estimateText(json(part));
  }
  return tokens;
}

export function estimateMessage(message: ContextMessage): number {
  let tokens = MESSAGE_OVERHEAD_TOKENS + estimateContent(message.content);
  for (const call of toolCallsOf(message)) tokens += estimateText(call.name) + estimateText(call.arguments);
  return tokens;
}

export function estimateMessages(messages: readonly ContextMessage[]): number {
  let tokens = 0;
  for (const message of messages) tokens += estimateMessage(message);
  return tokens;
}

/** A whole request: prompt, messages and tool schemas. */
export function estimateRequest(request: {
  readonly system?: string;
  readonly messages: readonly ContextMessage[];
  readonly tools?: readonly unknown[];
}): number {
  const tools = request.tools?.length ? estimateText(json(request.tools)) : 0;
  return estimateText(request.system ?? "") + estimateMessages(request.messages) + tools;
}

export function isImagePart(part: unknown): boolean {
  return isRecord(part) && IMAGE_TYPES.includes(shownText(part.type));
}

function json(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return String(value); // holds itself, or a bigint
  }
}
