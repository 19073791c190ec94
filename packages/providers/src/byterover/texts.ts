// Texts from and for ByteRover: what it found, as text for a prompt or a tool result; and notes for it to remember. Pure.
import { codePointLength, isRecord, pyStrip, takeCodePoints } from "@hermes-memory/core/internal/lib";
import type { OpenAiMessage } from "@hermes-memory/core/internal/message";
import { fitChars } from "../kit/provider-mode.ts";
import { type BrvData, firstText } from "./brv.ts";

/** Characters, in code points. */
const RECALL_MAX_CHARS = 5_000; // enough for five hits: an excerpt of brv has up to 800
const TURN_MIN_CHARS = 10;
const TURN_MAX_CHARS = 2_000;
const MESSAGE_MAX_CHARS = 500;
const ANSWER_MIN_CHARS = 20;
const TOOL_RESULT_MAX_CHARS = 8_000;
const PRE_COMPRESS_MESSAGES = 10;

/** The end of every answer of `query` in brv 3.14, also of an empty one. */
const FOOTER = /\s*---\s*Source: ByteRover Knowledge Base\s*$/;
/** The beginning of an answer that found nothing, whose status is `completed` all the same. */
const NOTHING_FOUND = "**Summary**: No matching knowledge found";

/** Search hits under one heading; "" without hits. */
export function searchRecall({ results }: BrvData): string {
  const text = (Array.isArray(results) ? results.filter(isRecord) : [])
    .flatMap(({ excerpt, title, path }) => {
      const found = pyStrip(firstText(excerpt) ?? "");
      const label = [firstText(title) && `**${title}**`, firstText(path) && `(${path})`]
        .filter(Boolean)
        .join(" ");
      return found === "" ? [] : [label === "" ? found : `${label}\n${found}`];
    })
    .join("\n\n");
  return codePointLength(text) > ANSWER_MIN_CHARS
    ? fitChars(`## ByteRover Context\n${text}`, RECALL_MAX_CHARS)
    : "";
}

/** The model's answer for the `brv_query` tool. */
export function toolAnswer(data: BrvData): string {
  const answer = pyStrip((firstText(data.result, data.content) ?? "").replace(FOOTER, ""));
  if (codePointLength(answer) < ANSWER_MIN_CHARS || answer.startsWith(NOTHING_FOUND))
    return "No relevant memories found.";
  const head = takeCodePoints(answer, TOOL_RESULT_MAX_CHARS);
  return head.length < answer.length ? `${head}\n\n[... truncated]` : answer;
}

/** Undefined when the user's text is too short to be worth keeping. */
export function turnNote(user: string, assistant: string): string | undefined {
  if (codePointLength(pyStrip(user)) < TURN_MIN_CHARS) return undefined;
  return `User: ${takeCodePoints(user, TURN_MAX_CHARS)}\nAssistant: ${takeCodePoints(assistant, TURN_MAX_CHARS)}`;
}

/** Undefined without text, and for a removal: brv has no command that removes a note. */
export function mirrorNote(action: string, target: string, content: string): string | undefined {
  if (action === "remove" || pyStrip(content) === "") return undefined;
  return `${target === "user" ? "[User profile]" : "[Agent memory]"} ${content}`;
}

/** The last messages before a compaction; undefined when they have no text. */
export function preCompressNote(messages: readonly OpenAiMessage[]): string | undefined {
  const lines = messages.slice(-PRE_COMPRESS_MESSAGES).flatMap(({ role, content }) => {
    if (!["user", "assistant"].includes(role) || typeof content !== "string" || pyStrip(content) === "")
      return [];
    return [`${role}: ${takeCodePoints(content, MESSAGE_MAX_CHARS)}`];
  });
  return lines.length === 0 ? undefined : ["[Pre-compression context]", ...lines].join("\n");
}
