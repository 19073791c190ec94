// A slash command that invokes a skill sends the whole skill as the user's message. Providers get what the user typed.
import { pyStrip } from "../../lib/index.ts";

const INVOKED = "[IMPORTANT: The user has invoked the ";
const BUNDLE = " skill bundle,";
const BUNDLE_INSTRUCTION = "\nUser instruction: ";
const BUNDLE_END = "\n\n[Loaded as part of the ";
const SINGLE = "The full skill content is loaded below.]";
const SINGLE_INSTRUCTION = "The user has provided the following instruction alongside the skill invocation: ";
const SINGLE_END = "\n\n[Runtime note:";

/** Null when nothing of it is the user's own, and for anything that is not text. */
export function withoutSkillScaffolding(message: unknown): string | null {
  if (typeof message !== "string") return null;
  if (!message.startsWith(INVOKED)) return message;
  if (message.includes(BUNDLE)) {
    return between(message, message.indexOf(BUNDLE_INSTRUCTION), BUNDLE_INSTRUCTION, BUNDLE_END);
  }
  if (message.includes(SINGLE)) {
    return between(message, message.lastIndexOf(SINGLE_INSTRUCTION), SINGLE_INSTRUCTION, SINGLE_END);
  }
  return null;
}

function between(message: string, markerAt: number, marker: string, end: string): string | null {
  if (markerAt < 0) return null;
  const start = markerAt + marker.length;
  const endAt = message.indexOf(end, start);
  const typed = pyStrip(message.slice(start, endAt < 0 ? undefined : endAt));
  return typed === "" ? null : typed;
}
