// Turns as a summary model reads them: one labelled block each, without secrets, long ones cut in the middle.
import { codePointLength, takeCodePoints } from "../../lib/index.ts";
import {
  type Content,
  envelopeSummary,
  isResult,
  type Message,
  partName,
  roleOf,
  textOf,
  toolCallsOf,
} from "../../message/index.ts";
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
export function serialiseTurns(messages: readonly Message[], redact: Redact): readonly string[] {
  return messages.map((message) => serialiseTurn(message, redact));
}

export function serialiseTurn(message: Message, redact: Redact): string {
  const text = shortened(redact(contentText(message.content)).replace(MEDIA, "[media attachment]"));
  if (isResult(message)) return `[TOOL RESULT ${message.toolCallId || "unknown"}]: ${text}`;
  const calls = toolCallsOf(message).map(
    (call) => `  ${call.name}(${shortArguments(redact(call.arguments))})`,
  );
  const label = (roleOf(message) || "unknown").toUpperCase();
  const block = `[${label}]: ${text}`;
  return calls.length === 0 ? block : `${block}\n[Tool calls:\n${calls.join("\n")}\n]`;
}

/** What a content says, with a placeholder for every image. Never the bytes of one. */
export function contentText(content: Content): string {
  const summary = envelopeSummary(content);
  if (summary !== undefined) return [summary, IMAGE].join("\n").trim();
  return textOf(content, { image: IMAGE, other: partName });
}

function shortened(text: string): string {
  if (codePointLength(text) <= CONTENT_LIMIT) return text;
  return takeCodePoints(text, CONTENT_HEAD) + TRUNCATED + lastCodePoints(text, CONTENT_TAIL);
}

function shortArguments(text: string): string {
  return codePointLength(text) > ARGUMENTS_LIMIT ? `${takeCodePoints(text, ARGUMENTS_HEAD)}...` : text;
}
