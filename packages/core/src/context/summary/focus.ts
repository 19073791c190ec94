// What a summary should not blur: what the user asked for, or else what he wrote about last.
import { codePointLength, pyStrip, takeCodePoints } from "../../lib/index.ts";
import type { Message } from "../../message/index.ts";
import { isTaskList, withoutHandoff } from "../compressor/handoff.ts";
import { contentText, type Redact } from "./serialise.ts";

export type Focus = {
  /** A named topic gets most of the room; one that was guessed only asks for care. */
  readonly kind: "named" | "guessed";
  readonly topic: string;
};

const MESSAGES = 3;
const MESSAGE_CHARS = 260;
const GUESSED_CHARS = 700;
const NAMED_CHARS = 2_000;

export function focusOf(
  messages: readonly Message[],
  named: string | undefined,
  redact: Redact,
): Focus | undefined {
  const topic = pyStrip(redact(named ?? ""));
  if (topic !== "") return { kind: "named", topic: shortened(topic, NAMED_CHARS) };
  const newest: string[] = [];
  for (let index = messages.length - 1; index >= 0 && newest.length < MESSAGES; index -= 1) {
    const text = usersText(messages[index], redact);
    if (text !== "") newest.push(`- ${shortened(text, MESSAGE_CHARS)}`);
  }
  if (newest.length === 0) return undefined;
  const lines = ["Recent user focus:", ...newest.reverse()].join("\n");
  return { kind: "guessed", topic: shortened(lines, GUESSED_CHARS) };
}

function usersText(message: Message | undefined, redact: Redact): string {
  if (message?.role !== "user" || isTaskList(message)) return "";
  const own = withoutHandoff(message);
  return own === undefined ? "" : pyStrip(redact(contentText(own.content)).replace(/\s+/g, " "));
}

function shortened(text: string, limit: number): string {
  return codePointLength(text) > limit ? `${takeCodePoints(text, limit - 1)}…` : text;
}
