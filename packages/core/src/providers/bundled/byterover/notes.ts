// What is handed to ByteRover to remember, and in which form. Pure.
import { codePointLength, pyStrip, takeCodePoints } from "../../../lib/index.ts";
import type { OpenAiMessage } from "../../../message/index.ts";
import { MESSAGE_MAX_CHARS, PRE_COMPRESS_MESSAGES, TURN_MAX_CHARS, TURN_MIN_CHARS } from "./limits.ts";

const PRE_COMPRESS_HEADING = "[Pre-compression context]";
const ROLES = ["user", "assistant"];

/** Undefined for a turn that is too short to hold anything. */
export function turnNote(user: string, assistant: string): string | undefined {
  if (codePointLength(pyStrip(user)) < TURN_MIN_CHARS) return undefined;
  return [
    `User: ${takeCodePoints(user, TURN_MAX_CHARS)}`,
    `Assistant: ${takeCodePoints(assistant, TURN_MAX_CHARS)}`,
  ].join("\n");
}

/** Undefined for what has no text: brv has no command that removes a note, so a removal is not passed on. */
export function mirrorNote(action: string, target: string, content: string): string | undefined {
  if (action === "remove" || pyStrip(content) === "") return undefined;
  return `${target === "user" ? "[User profile]" : "[Agent memory]"} ${content}`;
}

/** What the last messages said, before they are summarised away; undefined when they said nothing. */
export function preCompressNote(messages: readonly OpenAiMessage[]): string | undefined {
  const lines = messages.slice(-PRE_COMPRESS_MESSAGES).flatMap(({ role, content }) => {
    if (!ROLES.includes(role) || typeof content !== "string" || pyStrip(content) === "") return [];
    return [`${role}: ${takeCodePoints(content, MESSAGE_MAX_CHARS)}`];
  });
  return lines.length === 0 ? undefined : [PRE_COMPRESS_HEADING, ...lines].join("\n");
}
