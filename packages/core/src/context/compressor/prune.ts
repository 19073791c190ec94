// Makes old tool traffic small without a model: repeated results, long results, long arguments. The head and the newest messages
// stay as they are, except that a result repeated later need not be kept twice.
import { codePointLength, takeCodePoints } from "../../lib/index.ts";
import {
  type Content,
  envelopeSummary,
  isImage,
  isResult,
  type Message,
  type Part,
  type ToolCall,
  toolCallsOf,
} from "../../message/index.ts";
import { estimateMessage } from "../tokens.ts";
import { oneLiner } from "./one-liners.ts";
import { shrinkArguments } from "./shrink-arguments.ts";

export type PruneRules = {
  readonly tailTokens: number;
  readonly protectLastN: number;
  /** Messages before this index stay untouched. */
  readonly headEnd: number;
};

export type Pruned = {
  /** The input itself when nothing changed. */
  readonly messages: readonly Message[];
  /** Tool results that were replaced. */
  readonly results: number;
  /** Assistant messages whose arguments were cut. */
  readonly shortenedCalls: number;
};

const LONG_RESULT = 200;
const DUPLICATE = "[Duplicate tool output — same content as a more recent call]";
const DUPLICATE_START = "[Duplicate tool output";
const OLD_PLACEHOLDER = "[Old tool output cleared to save context space]";
const SCREENSHOT = "[screenshot removed to save context]";

export function pruneToolResults(messages: readonly Message[], rules: PruneRules): Pruned {
  const end = protectedFrom(messages, rules);
  // The call a result answers is the nearest one before it with its id, because some models use an id again.
  const calls = new Map<string, ToolCall>();
  const newest = newestCopies(messages);
  let results = 0;
  let shortenedCalls = 0;
  const pruned = messages.map((message, index) => {
    if (message.role === "assistant") for (const call of toolCallsOf(message)) calls.set(call.id, call);
    if (index < rules.headEnd) return message;
    if (isResult(message)) {
      const content = prunedResult(message, {
        isRepeatedLater: (newest.get(message.content) ?? index) > index,
        isOld: index < end,
        call: calls.get(message.toolCallId),
      });
      if (content === message.content) return message;
      results += 1;
      return { ...message, content };
    }
    const next = index < end ? withShortCalls(message) : message;
    if (next !== message) shortenedCalls += 1;
    return next;
  });
  const isChanged = results > 0 || shortenedCalls > 0;
  return { messages: isChanged ? pruned : messages, results, shortenedCalls };
}

/** The first index of the newest messages that are left alone: a number of them, and what fits the tail's budget. */
function protectedFrom(messages: readonly Message[], rules: PruneRules): number {
  const count = messages.length;
  const least = Math.min(rules.protectLastN, count);
  let tokens = 0;
  for (let index = count - 1; index >= 0; index -= 1) {
    const cost = estimateMessage(messages[index] as Message);
    if (tokens + cost > rules.tailTokens && count - index >= least) return Math.min(index, count - least);
    tokens += cost;
  }
  return 0;
}

/** Last index of each long result, by its text. */
function newestCopies(messages: readonly Message[]): ReadonlyMap<Content, number> {
  const newest = new Map<Content, number>();
  for (const [index, { role, content }] of messages.entries())
    if (role === "tool" && typeof content === "string" && content.length >= LONG_RESULT)
      newest.set(content, index);
  return newest;
}

type ResultFacts = {
  readonly isRepeatedLater: boolean;
  readonly isOld: boolean;
  readonly call: ToolCall | undefined;
};

function prunedResult({ content }: Message, { isRepeatedLater, isOld, call }: ResultFacts): Content {
  if (typeof content === "string" && isRepeatedLater && !isShorter(content, LONG_RESULT)) return DUPLICATE;
  if (!isOld) return content;
  if (typeof content === "string") {
    const isDone = content.startsWith(DUPLICATE_START) || content === OLD_PLACEHOLDER;
    if (isDone || isShorter(content, LONG_RESULT + 1)) return content;
    const line = oneLiner(call?.name ?? "unknown", call?.arguments ?? "", content);
    return line.length < content.length ? line : content; // long arguments make a long line
  }
  const summary = envelopeSummary(content);
  if (summary !== undefined) return `[screenshot removed] ${takeCodePoints(summary, LONG_RESULT)}`;
  if (content === null || !content.some(isImage)) return content;
  return content.map((part): Part => (isImage(part) ? { type: "text", text: SCREENSHOT } : part));
}

/** Fewer code points than that? Counts them only where the number of units does not tell. */
function isShorter(text: string, limit: number): boolean {
  if (text.length >= 2 * limit) return false;
  return text.length < limit || codePointLength(text) < limit;
}

/** Long texts in the arguments of its calls are cut; the JSON around them stays sound. */
export function withShortCalls(message: Message): Message {
  if (message.role !== "assistant") return message;
  let isChanged = false;
  const toolCalls = message.toolCalls.map((call) => {
    const shorter = shrinkArguments(call.arguments);
    if (shorter === call.arguments) return call;
    isChanged = true;
    return { ...call, arguments: shorter };
  });
  return isChanged ? { ...message, toolCalls } : message;
}
