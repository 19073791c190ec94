// Texts from and for ByteRover: what it found, as text for a prompt or a tool result; and notes for it to remember. Pure.
import { codePointLength, isRecord, pyStrip, takeCodePoints } from "@hermes-memory/core/internal/lib";
import type { OpenAiMessage } from "@hermes-memory/core/internal/message";
import { fitChars } from "../kit/provider-mode.ts";
import {
  ANSWER_MIN_CHARS,
  type BrvData,
  firstText,
  MESSAGE_MAX_CHARS,
  PRE_COMPRESS_MESSAGES,
  TOOL_RESULT_MAX_CHARS,
  TURN_MAX_CHARS,
  TURN_MIN_CHARS,
} from "./brv-client.ts";

const HEADING = "## ByteRover Context";
/** The end of every answer of `query` in brv 3.14, also of an empty one. */
const FOOTER = /\s*---\s*Source: ByteRover Knowledge Base\s*$/;
/** The beginning of an answer that found nothing, whose status is `completed` all the same. */
const NOTHING_FOUND = "**Summary**: No matching knowledge found";

/** Search hits under one heading; "" without hits. */
export function searchRecall(data: BrvData, maxChars: number): string {
  const results = Array.isArray(data.results) ? data.results : [];
  return recall(results.flatMap(hitText).join("\n\n"), maxChars);
}

/** The model's answer under the same heading; "" without an answer. */
export function queryRecall(data: BrvData, maxChars: number): string {
  return recall(answerText(data), maxChars);
}

/** The model's answer for the `brv_query` tool. */
export function toolAnswer(data: BrvData): string {
  const answer = answerText(data);
  if (codePointLength(answer) < ANSWER_MIN_CHARS) return "No relevant memories found.";
  const head = takeCodePoints(answer, TOOL_RESULT_MAX_CHARS);
  return head.length < answer.length ? `${head}\n\n[... truncated]` : answer;
}

function recall(text: string, maxChars: number): string {
  return codePointLength(text) > ANSWER_MIN_CHARS ? fitChars(`${HEADING}\n${text}`, maxChars) : "";
}

function answerText(data: BrvData): string {
  const text = pyStrip((firstText(data.result, data.content) ?? "").replace(FOOTER, ""));
  return text.startsWith(NOTHING_FOUND) ? "" : text;
}

function hitText(hit: unknown): string[] {
  if (!isRecord(hit)) return [];
  const excerpt = pyStrip(firstText(hit.excerpt) ?? "");
  if (excerpt === "") return [];
  const title = firstText(hit.title);
  const path = firstText(hit.path);
  const label = [title === undefined ? [] : `**${title}**`, path === undefined ? [] : `(${path})`].flat();
  return [label.length === 0 ? excerpt : `${label.join(" ")}\n${excerpt}`];
}

// ---- Notes to remember ----

const PRE_COMPRESS_HEADING = "[Pre-compression context]";
const ROLES = ["user", "assistant"];

/** Undefined when the user's text is too short to be worth keeping. */
export function turnNote(user: string, assistant: string): string | undefined {
  if (codePointLength(pyStrip(user)) < TURN_MIN_CHARS) return undefined;
  return [
    `User: ${takeCodePoints(user, TURN_MAX_CHARS)}`,
    `Assistant: ${takeCodePoints(assistant, TURN_MAX_CHARS)}`,
  ].join("\n");
}

/** Undefined without text, and for a removal: brv has no command that removes a note. */
export function mirrorNote(action: string, target: string, content: string): string | undefined {
  if (action === "remove" || pyStrip(content) === "") return undefined;
  return `${target === "user" ? "[User profile]" : "[Agent memory]"} ${content}`;
}

/** The last messages before a compaction; undefined when they have no text. */
export function preCompressNote(messages: readonly OpenAiMessage[]): string | undefined {
  const lines = messages.slice(-PRE_COMPRESS_MESSAGES).flatMap(({ role, content }) => {
    if (!ROLES.includes(role) || typeof content !== "string" || pyStrip(content) === "") return [];
    return [`${role}: ${takeCodePoints(content, MESSAGE_MAX_CHARS)}`];
  });
  return lines.length === 0 ? undefined : [PRE_COMPRESS_HEADING, ...lines].join("\n");
}
