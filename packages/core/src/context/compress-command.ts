// The command `/compress [here [N] | --keep N | topic]`: parsing it, splitting the history, joining the parts again, and the
// feedback for the user.
import { groupThousands, pyStrip } from "../lib/index.ts";
import { type Content, type Message, newMessage, partsOf, toolCallsOf } from "../message/index.ts";
import { isTaskList, withoutHandoff } from "./compressor/handoff.ts";

/** The command `/compress`, parsed. */
export type CompressCommand =
  | { readonly kind: "full" }
  /** Compact everything; keep this topic in detail. */
  | { readonly kind: "focus"; readonly topic: string }
  /** Compact everything but the newest exchanges. */
  | { readonly kind: "partial"; readonly keep: number };

const DEFAULT_KEEP = 2;
const MOST_KEEP = 100;

/** With or without the command itself in front. */
export function parseCompressCommand(text: string): CompressCommand {
  const rest = pyStrip(pyStrip(text).replace(/^\/(?:compress|compact)(?![\w-])/i, ""));
  if (rest === "") return { kind: "full" };
  const partial =
    /^(?:up\s+to\s+)?here(?:\s+(\S+))?$/i.exec(rest) ??
    /^(?:--keep|-k)\s+(\S+)$/i.exec(rest) ??
    /^--keep=(\S*)$/i.exec(rest);
  if (!partial) return { kind: "focus", topic: rest };
  const [, word = ""] = partial;
  const keep = /^[+-]?\d+$/.test(word) ? Math.min(MOST_KEEP, Math.max(1, Number(word))) : DEFAULT_KEEP;
  return { kind: "partial", keep };
}

export type SplitHistory = {
  readonly head: readonly Message[];
  /** Stays unchanged. Empty: everything is compacted. */
  readonly tail: readonly Message[];
};

/** The tail starts at the user message with `keep - 1` user messages behind it. Handoffs and task lists do not count. */
export function splitForPartial(messages: readonly Message[], keep: number): SplitHistory {
  const users = messages.flatMap((message, at) =>
    message.role === "user" && !isTaskList(message) && withoutHandoff(message) !== undefined ? [at] : [],
  );
  const start = users.at(-Math.max(1, keep)) ?? users[0] ?? 0;
  return {
    head: start === 0 ? messages : messages.slice(0, start),
    tail: start === 0 ? [] : messages.slice(start),
  };
}

/**
 * Two messages of one role at the seam become one. When they cannot be joined, an empty message of the other role goes between
 * them.
 */
export function rejoin(head: readonly Message[], tail: readonly Message[]): readonly Message[] {
  const last = head.at(-1);
  const [first, ...rest] = tail;
  if (last === undefined || first === undefined) return [...head, ...tail];
  if (last.role !== first.role || (first.role !== "user" && first.role !== "assistant"))
    return [...head, ...tail];
  // Calls of the earlier message would lose their results.
  if (last.content === null || first.content === null || toolCallsOf(last).length > 0)
    return [...head, emptyReplyTo(first.role), ...tail];
  const vendor = { ...last.vendor, ...first.vendor };
  const joined: Message = {
    ...first,
    content: joinContent(last.content, first.content),
    vendor: Object.keys(vendor).length === 0 ? undefined : vendor,
    meta: { ...last.meta, ...first.meta },
  };
  return [...head.slice(0, -1), joined, ...rest];
}

export type CompressFigures = { readonly messages: number; readonly tokens: number };

/** Snake case, because other front ends read it. */
export type CompressFeedback = {
  readonly noop: boolean;
  readonly headline: string;
  readonly token_line: string;
  readonly note: string | null;
};

/** Describes a finished compaction in sentences for the user. */
export function compressFeedback(before: CompressFigures, after: CompressFigures): CompressFeedback {
  const count = groupThousands;
  const noop = before.messages === after.messages && before.tokens === after.tokens;
  const tokens = (figure: number): string => `about ${count(figure)} tokens`;
  if (noop)
    return {
      noop,
      headline: `Nothing to compact: ${count(before.messages)} messages stay as they are.`,
      token_line: `The request has ${tokens(before.tokens)}.`,
      note: null,
    };
  const isDearer = after.messages < before.messages && after.tokens > before.tokens;
  return {
    noop,
    headline: `Compacted ${count(before.messages)} messages to ${count(after.messages)}.`,
    token_line: `The request had ${tokens(before.tokens)} and has ${tokens(after.tokens)}.`,
    note: isDearer ? "Fewer messages, but more tokens: the summary is longer than what it stands for." : null,
  };
}

function joinContent(one: Content, other: Content): Content {
  if (typeof one === "string" && typeof other === "string") return `${one}\n\n${other}`;
  return [...partsOf(one), ...partsOf(other)];
}

function emptyReplyTo(role: "user" | "assistant"): Message {
  return role === "user"
    ? newMessage({ role: "assistant", content: "", toolCalls: [] })
    : newMessage({ role: "user", content: "" });
}
