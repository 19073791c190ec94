// The list after a compaction: head, handoff, tail, with roles that a model accepts.
import type { ContextMessage } from "../message.ts";
import type { Boundaries } from "./boundaries.ts";
import { handoffText, withCompactionNote, withoutHandoff } from "./handoff.ts";
import { stripOldMedia } from "./media.ts";
import { repairPairs } from "./pairs.ts";

export type Assembled = {
  readonly messages: readonly ContextMessage[];
  readonly summaryIndex: number;
  /** The handoff stands in front of another message's own text. */
  readonly isMerged: boolean;
};

export function assemble(
  messages: readonly ContextMessage[],
  { headEnd, tailStart, keptUser }: Boundaries,
  body: string,
  write: (body: string) => string = handoffText,
): Assembled {
  const text = write(body);
  const head = messages.slice(0, headEnd);
  if (head[0]?.role === "system") head[0] = withCompactionNote(head[0]);
  const kept = keptUser === undefined ? [] : messages.slice(keptUser, keptUser + 1);
  const [first, ...others] = [...kept, ...messages.slice(tailStart)];
  const handoff = standalone("user", text);
  // An old handoff in front of the first message's own text lives on in the new one.
  const own = first === undefined ? undefined : withoutHandoff(first);
  const joined = repairPairs([...head, handoff, ...(own ? [own] : []), ...others]);

  // Roles are chosen after the repair, which may add and take neighbours.
  const at = joined.indexOf(handoff);
  const after = joined[at + 1];
  const role = handoffRole(joined[at - 1]?.role, after?.role);
  const isMerged = role === "merge" && after !== undefined;
  const whole = isMerged
    ? joined.toSpliced(at, 2, withHandoff(after, text))
    : joined.toSpliced(at, 1, standalone(role === "merge" ? "user" : role, text));
  return { messages: stripOldMedia(whole), summaryIndex: at, isMerged };
}

/** Neither neighbour may have the same role; where both roles are taken, the handoff joins the message behind it. */
function handoffRole(before: string | undefined, after: string | undefined): "user" | "assistant" | "merge" {
  switch (before) {
    case "user":
    case undefined:
      return after === "assistant" ? "merge" : "assistant";
    case "assistant":
      return after === "user" ? "merge" : "user";
    default:
      return after === "user" ? "assistant" : "user";
  }
}

function standalone(role: "user" | "assistant", content: string): ContextMessage {
  return { role, content, _compressed_summary: true };
}

function withHandoff(message: ContextMessage, text: string): ContextMessage {
  return { ...message, content: inFront(message.content, `${text}\n\n`), _compressed_summary: true };
}

function inFront(content: unknown, text: string): unknown {
  if (content === null || content === undefined) return text;
  if (typeof content === "string") return text + content;
  return [{ type: "text", text }, ...(Array.isArray(content) ? content : [content])];
}
