// The list after a compaction: head, handoff, tail, with roles that a model accepts.
import { type Content, type Message, newMessage, roleOf, withMeta } from "../../message/index.ts";
import type { Boundaries } from "./boundaries.ts";
import { handoffText, withCompactionNote, withoutHandoff } from "./handoff.ts";
import { stripOldMedia } from "./media.ts";
import { repairPairs } from "./pairs.ts";

export type Assembled = {
  readonly messages: readonly Message[];
  readonly summaryIndex: number;
  /** The handoff stands in front of another message's own text. */
  readonly isMerged: boolean;
};

export function assemble(
  messages: readonly Message[],
  { headEnd, tailStart, keptUser }: Boundaries,
  body: string,
  write: (body: string) => string = handoffText,
): Assembled {
  const text = write(body);
  const head = messages.slice(0, headEnd);
  if (head[0] !== undefined && roleOf(head[0]) === "system") head[0] = withCompactionNote(head[0]);
  const kept = keptUser === undefined ? [] : messages.slice(keptUser, keptUser + 1);
  const [first, ...others] = [...kept, ...messages.slice(tailStart)];
  const handoff = standalone("user", text);
  // An old handoff in front of the first message's own text lives on in the new one.
  const own = first === undefined ? undefined : withoutHandoff(first);
  const joined = repairPairs([...head, handoff, ...(own ? [own] : []), ...others]);

  // Roles are chosen after the repair, which may add and take neighbours.
  const at = joined.indexOf(handoff);
  const before = joined[at - 1];
  const after = joined[at + 1];
  const role = handoffRole(before && roleOf(before), after && roleOf(after));
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

function standalone(role: "user" | "assistant", content: string): Message {
  const meta = { isHandoff: true } as const;
  return role === "user"
    ? newMessage({ role, content }, meta)
    : newMessage({ role, content, toolCalls: [] }, meta);
}

function withHandoff(message: Message, text: string): Message {
  return { ...withMeta(message, { isHandoff: true }), content: inFront(message.content, `${text}\n\n`) };
}

function inFront(content: Content, text: string): Content {
  if (content === null) return text;
  return typeof content === "string" ? text + content : [{ type: "text", text }, ...content];
}
