// Turns as a summary model reads them: one labelled block each, without secrets, long ones cut in the middle.
import { codePointLength, takeCodePoints } from "../../lib/index.ts";
import { answeredCall, type ContextMessage, isRecord, shownText, toolCallsOf } from "../message.ts";
import { isImagePart } from "../tokens.ts";
import { lastCodePoints } from "./shorten.ts";

export type Redact = (text: string) => string;

const CONTENT_LIMIT = 6_000;
const CONTENT_HEAD = 4_000;
const CONTENT_TAIL = 1_500;
const ARGUMENTS_LIMIT = 1_500;
const ARGUMENTS_HEAD = 1_200;
const TRUNCATED = "\n...[truncated]...\n";
const IMAGE = "[image]";
const MEDIA = /MEDIA:\S+/g;

/** One text for each message; join them with a blank line. */
export function serialiseTurns(messages: readonly ContextMessage[], redact: Redact): readonly string[] {
  return messages.map((message) => serialiseTurn(message, redact));
}

export function serialiseTurn(message: ContextMessage, redact: Redact): string {
  const text = shortened(redact(contentText(message.content)).replace(MEDIA, "[media attachment]"));
  if (message.role === "tool") return `[TOOL RESULT ${answeredCall(message) ?? "unknown"}]: ${text}`;
  const calls = toolCallsOf(message).map(
    (call) => `  ${call.name}(${shortArguments(redact(call.arguments))})`,
  );
  const label = (shownText(message.role) || "unknown").toUpperCase();
  const block = `[${label}]: ${text}`;
  return calls.length === 0 ? block : `${block}\n[Tool calls:\n${calls.join("\n")}\n]`;
}

/** What a content says, with a placeholder for every image. Never the bytes of one. */
export function contentText(content: unknown): string {
  if (content === null || content === undefined) return "";
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return content.map(partText).join("\n");
  if (isRecord(content) && content._multimodal === true)
    return [typeof content.text_summary === "string" ? content.text_summary : "", IMAGE].join("\n").trim();
  return partText(content);
}

function partText(part: unknown): string {
  if (typeof part === "string") return part;
  if (isImagePart(part)) return IMAGE;
  if (isRecord(part) && typeof part.text === "string") return part.text;
  if (isRecord(part) && typeof part.type === "string") return `[${part.type}]`; // audio, files, vendors' own kinds
  try {
    return JSON.stringify(part) ?? "";
  } catch {
    return String(part);
  }
}

function shortened(text: string): string {
  if (codePointLength(text) <= CONTENT_LIMIT) return text;
  return takeCodePoints(text, CONTENT_HEAD) + TRUNCATED + lastCodePoints(text, CONTENT_TAIL);
}

function shortArguments(text: string): string {
  return codePointLength(text) > ARGUMENTS_LIMIT ? `${takeCodePoints(text, ARGUMENTS_HEAD)}...` : text;
}
