// The messages of one request, made from the live list. Pure: the list stays as it is, and the same list gives the same bytes,
// whether it is live or was read back from the database.
import { type ContextMessage, repairPairs, toolCallsOf, withoutRefused } from "@hermes-memory/core/context";
import { isRecord, outsideJsonOr, outsideJsonProblem, pyStrip } from "@hermes-memory/core/lib";
import { injectRecall } from "@hermes-memory/core/providers";
import { sanitizeContext } from "@hermes-memory/core/security";
import type { ChatMessage } from "../../models/index.ts";
import type { AgentMessage } from "../message.ts";

export type RequestParts = {
  readonly system: string;
  /** Added to the system prompt of this request, and of no stored one. */
  readonly ephemeral?: string | undefined;
  /** Between the system prompt and the conversation. */
  readonly prefill?: readonly ContextMessage[] | undefined;
  readonly messages: readonly AgentMessage[];
  /** `_id` of the message this turn answers. */
  readonly userMessageId: string;
  /** Recall in its fence, and what hooks add; "" for none. */
  readonly recall: string;
  readonly hookContext: string;
  /** After a vendor refused their signatures. */
  readonly withoutReasoning?: boolean;
};

export function requestMessages(parts: RequestParts): readonly ChatMessage[] {
  const { messages, userMessageId } = parts;
  const addition = [parts.recall, parts.hookContext].filter((text) => text !== "").join("\n\n");
  const known = withoutRefused(messages).filter(({ role }) => ROLES.has(role));
  const target = known.some(({ _id }) => _id === userMessageId)
    ? userMessageId
    : known.findLast(({ role }) => role === "user")?._id;
  const cleaned = known.map((message) => {
    const clean = cleanMessage(message);
    return message._id === target ? { ...clean, content: injectRecall(clean.content, addition) } : clean;
  });
  const sound = repairPairs(withSoundArguments(cleaned));
  const spoken = withOpening(joinSides(sound.filter((message) => !isSilent(message))));
  const system = [parts.system, pyStrip(parts.ephemeral ?? "")].filter((text) => text !== "").join("\n\n");
  return [
    ...(system === "" ? [] : [{ role: "system", content: system.toWellFormed() }]),
    ...(parts.prefill ?? []).map(cleanMessage),
    ...spoken.map((message) => (parts.withoutReasoning ? withoutThoughts(message) : message)),
  ];
}

const ROLES: ReadonlySet<string> = new Set(["user", "assistant", "tool", "function", "developer"]);
const THOUGHTS = ["reasoning", "reasoning_details", "codex_reasoning_items", "codex_message_items"];
/** Put back by hand, or for this process and its database and not for a model. */
const PRIVATE: ReadonlySet<string> = new Set([
  "role",
  "content",
  "name",
  "tool_name",
  "timestamp",
  "finish_reason",
  "message_id",
  "observed",
]);

/** Keys in a fixed order: a message that was read back has them in another one. */
function cleanMessage(message: ContextMessage): ContextMessage {
  const { role, tool_name: toolName, name = toolName } = message;
  const kept = Object.entries(message)
    .filter(([key, value]) => !key.startsWith("_") && !PRIVATE.has(key) && value !== undefined)
    .map(([key, value]) => [key, typeof value === "string" ? asColumn(value) : value] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const named = role === "tool" && typeof name === "string" ? { name } : {};
  return { role, content: cleanContent(role, message.content), ...named, ...Object.fromEntries(kept) };
}

/** A text as a column of the database keeps it. */
function asColumn(text: string): string {
  return text.replaceAll("\u0000", "\ufffd").toWellFormed();
}

/** As a message comes back from the database: without recall of an earlier time, without blanks around it. */
function cleanContent(role: string, content: unknown): unknown {
  if (typeof content === "string") {
    const isDialogue = role === "user" || role === "assistant";
    return pyStrip(isDialogue ? sanitizeContext(content) : content).toWellFormed();
  }
  if (!Array.isArray(content)) return content ?? "";
  // Some vendors refuse a part without words.
  return content.flatMap((part: unknown) => {
    if (!isRecord(part) || typeof part.text !== "string") return [part];
    return part.type === "text" && pyStrip(part.text) === ""
      ? []
      : [{ ...part, text: part.text.toWellFormed() }];
  });
}

const CORRUPT =
  "[The arguments of this call could not be read and were replaced by {}; the result below may be of another call than was meant.]";

/** Arguments in one spelling, so that a prefix keeps its bytes. What is no JSON object becomes `{}`, and its result says so. */
function withSoundArguments(messages: readonly ContextMessage[]): readonly ContextMessage[] {
  const broken = new Set<string>();
  return messages.map((message) => {
    if (message.role === "assistant" && Array.isArray(message.tool_calls)) {
      for (const { id, arguments: text } of toolCallsOf(message))
        if (objectOf(text) === undefined) broken.add(id);
      return { ...message, tool_calls: message.tool_calls.map(withCanonicalArguments) };
    }
    const { tool_call_id: id, content } = message;
    if (message.role !== "tool" || typeof id !== "string" || !broken.delete(id)) return message;
    return { ...message, content: `${CORRUPT}\n${typeof content === "string" ? content : ""}` };
  });
}

function withCanonicalArguments(call: unknown): unknown {
  if (!isRecord(call) || !isRecord(call.function)) return call;
  const given = call.function.arguments;
  const text =
    typeof given === "string" ? given : outsideJsonProblem(given) ? "{}" : JSON.stringify(given ?? {});
  const value = objectOf(text) ?? {};
  return { ...call, function: { ...call.function, arguments: JSON.stringify(sorted(value)).toWellFormed() } };
}

function objectOf(text: string): object | undefined {
  if (pyStrip(text) === "") return {};
  const value = outsideJsonOr(text, undefined);
  return isRecord(value) ? value : undefined;
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isRecord(value)) return value;
  const keys = Object.keys(value).sort();
  return Object.fromEntries(keys.map((key) => [key, sorted(value[key])]));
}

/** Thoughts without an answer, or no words at all: vendors refuse it, and it says nothing. */
function isSilent(message: ContextMessage): boolean {
  if (!["user", "assistant"].includes(message.role) || toolCallsOf(message).length > 0) return false;
  const { content } = message;
  return (
    content === "" ||
    content === null ||
    content === undefined ||
    (Array.isArray(content) && content.length === 0)
  );
}

/** Vendors want the sides to take turns. */
function joinSides(messages: readonly ContextMessage[]): readonly ContextMessage[] {
  const joined: ContextMessage[] = [];
  for (const message of messages) {
    const last = joined.at(-1);
    if (last !== undefined && last.role === message.role && isPlain(last) && isPlain(message)) {
      const content = joinContent(last.content, message.content);
      // Thoughts belong to the reply they led to, and this one is made of two.
      joined[joined.length - 1] = { ...withoutThoughts(last), ...withoutThoughts(message), content };
    } else joined.push(message);
  }
  return joined;
}

function isPlain(message: ContextMessage): boolean {
  return message.role === "user" || (message.role === "assistant" && toolCallsOf(message).length === 0);
}

/** The user speaks first, also in a history that somebody cut. */
function withOpening(messages: readonly ContextMessage[]): readonly ContextMessage[] {
  if (messages.length === 0 || messages[0]?.role === "user") return messages;
  return [{ role: "user", content: "[The conversation before this point is not shown.]" }, ...messages];
}

function joinContent(one: unknown, other: unknown): unknown {
  if (typeof one === "string" && typeof other === "string")
    return [one, other].filter((text) => text !== "").join("\n\n");
  return [...partsOf(one), ...partsOf(other)];
}

function partsOf(content: unknown): readonly unknown[] {
  if (Array.isArray(content)) return content;
  return typeof content === "string" && content !== "" ? [{ type: "text", text: content }] : [];
}

function withoutThoughts(message: ContextMessage): ContextMessage {
  if (message.role !== "assistant") return message;
  return Object.fromEntries(
    Object.entries(message).filter(([key]) => !THOUGHTS.includes(key)),
  ) as ContextMessage;
}
