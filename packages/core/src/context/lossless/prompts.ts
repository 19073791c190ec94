// What a model is asked when a part of a conversation, or several such parts, become one summary.
import { fenceUntrusted } from "../../security/index.ts";
import type { Focus } from "../summary/focus.ts";

export type NodeRequest = {
  readonly kind: "messages" | "summaries";
  /** Blocks joined by blank lines, oldest first. */
  readonly text: string;
  readonly budgetTokens: number;
  readonly focus?: Focus | undefined;
  /** What memory providers want kept. */
  readonly providerText?: string | undefined;
};

export function nodePrompt({ kind, text, budgetTokens, focus, providerText }: NodeRequest): string {
  return [
    kind === "messages" ? OF_MESSAGES : OF_SUMMARIES,
    `${kind === "messages" ? "MESSAGES" : "SUMMARIES"}:\n${text}`,
    ...(providerText
      ? [`NOTES OF THE MEMORY PROVIDERS:\n${fenceUntrusted(providerText, "memory providers")}`]
      : []),
    `${RULES} Use at most about ${budgetTokens} tokens.`,
    ...(focus === undefined ? [] : [focusBlock(focus)]),
  ].join("\n\n");
}

/** Room that the wording itself takes. */
export function promptOverhead(): string {
  const focus: Focus = { kind: "named", topic: "" };
  return nodePrompt({ kind: "summaries", text: "", budgetTokens: 10_000, focus });
}

const OF_MESSAGES =
  "Below is one part of a longer conversation between a user and an assistant who works with tools. Write a note that stands for this part. The messages themselves are kept and can be read again, so the note has two purposes: whoever reads it knows what happened, and can tell whether it is worth looking up the details.";

const OF_SUMMARIES =
  "Below are notes about neighbouring parts of one conversation, in order. Write one note that stands for all of them. The notes themselves are kept and can be read again, so the new one has two purposes: whoever reads it knows what happened, and can tell whether it is worth looking up the details.";

const RULES =
  "Say what the user wanted, what was done and how it ended, what was decided and why, and what stayed open. Name files, commands, people, dates, numbers and error messages as they were written, because they are what somebody will search for. " +
  "Where something was corrected or taken back later, only the last state counts. Write in the language of the user, in short plain paragraphs or list items without headings. " +
  "Leave passwords, keys and other secrets out and put [REDACTED] in their place. Answer with the note alone.";

function focusBlock({ kind, topic }: Focus): string {
  const order =
    kind === "named"
      ? "Give this topic most of the room where the text is about it."
      : "The user wrote this last; keep what it depends on.";
  return `FOCUS TOPIC: "${topic}"\n${order}`;
}
