// The last resort for a list that does not fit the window. Long texts lose their middle, tool results first. If that is not
// enough, the oldest messages leave, then the older tool rounds of the running turn; a handoff says how many and where they can
// be read. The newest user message stays word for word and the newest tool round stays. Every cut says how much is missing and
// where the whole text is. Pure.
import { codePointLength, groupThousands, takeCodePoints } from "../lib/index.ts";
import { isResult, type Message, type Part, roleOf, textOf, toolCallsOf } from "../message/index.ts";
import {
  assemble,
  briefHandoffText,
  handoffBody,
  handoffText,
  isHandoff,
  withOtherBody,
  withoutHandoff,
} from "./compressor/handoff.ts";
import { isUsersOwn } from "./compressor/plan.ts";
import { withoutMedia, withShortCalls } from "./compressor/prune.ts";
import type { StoredMessages } from "./engine.ts";
import {
  estimateMessages,
  estimateText,
  fairLimit,
  fitTokens,
  lastCodePoints,
  shortenSections,
} from "./tokens.ts";

export type Fitted = {
  /** The input array itself when nothing was cut. */
  readonly messages: readonly Message[];
  /** How many messages lost text. */
  readonly shortened: number;
  /** How many messages left the list. */
  readonly leftOut: number;
};

/** One sentence for the model: where the whole text of a message can be read. */
export type WhereIs = (message: Message) => string;

export type FitOptions = {
  /** One sentence for the model: how messages that left the list can be read. */
  readonly whereLeft?: string;
  /** For the first line of a new handoff. */
  readonly stored?: StoredMessages;
  /**
   * Set when a server has refused the list: it is then made as short as possible, even if it stays above `limitTokens`.
   * Otherwise messages are removed only if the list fits afterwards, because the limit is an estimate and the server may still
   * accept the list.
   */
  readonly isRefused?: boolean;
  /** Also the newest message of the user may lose its middle, after all other texts. */
  readonly isNewestCut?: boolean;
};

const LEAST_RESULT_TOKENS = 150;
const LEAST_TEXT_TOKENS = 100;
const HEAD_SHARE = 0.7;

type Step = (list: readonly Message[], excess: number) => readonly Message[];

/** `limitTokens` is estimated. The result may cost more when nothing is left to cut. */
export function fitMessages(
  messages: readonly Message[],
  limitTokens: number,
  whereIs: WhereIs,
  { whereLeft = "", isRefused = false, isNewestCut = false, stored }: FitOptions = {},
): Fitted {
  const write = (body: string): string => handoffText(body, stored);
  const newest = messages.findLast(isUsersOwn);
  const isNewest = (message: Message): boolean => message === newest;
  const isText = (message: Message): boolean =>
    message !== newest && !isResult(message) && roleOf(message) !== "system" && !isHandoff(message);
  const cut = untilItFits(messages, limitTokens, [
    (list, excess) =>
      shortenTexts(list, { excess, isCandidate: isResult, least: LEAST_RESULT_TOKENS, whereIs }),
    (list) => list.map((message) => (message === newest ? message : withoutMedia(message))),
    (list) => list.map(withShortCalls),
    (list, excess) => shortenTexts(list, { excess, isCandidate: isText, least: LEAST_TEXT_TOKENS, whereIs }),
    (list, excess) => list.map((message) => withShortHandoff(message, excess)),
    (list, excess) =>
      isNewestCut
        ? shortenTexts(list, { excess, isCandidate: isNewest, least: LEAST_TEXT_TOKENS, whereIs })
        : list,
  ]);
  const fewest = untilItFits(cut, limitTokens, [
    (list) => withoutOldest(list, limitTokens, write, whereLeft),
    // Starts again from the longer list: with a brief handoff, fewer messages may have to leave.
    () => withoutOldest(cut, limitTokens, briefHandoffText, whereLeft),
    (list, excess) => withoutResultTexts(list, excess, whereIs),
  ]);
  const isWorthIt =
    estimateMessages(fewest) <= limitTokens ||
    (isRefused && estimateMessages(fewest) < estimateMessages(cut));
  return fittedFrom(messages, isWorthIt ? fewest : cut);
}

function untilItFits(
  messages: readonly Message[],
  limitTokens: number,
  steps: readonly Step[],
): readonly Message[] {
  let list = messages;
  for (const step of steps) {
    const excess = estimateMessages(list) - limitTokens;
    if (excess <= 0) break;
    list = step(list, excess);
  }
  return list;
}

function fittedFrom(before: readonly Message[], after: readonly Message[]): Fitted {
  const known = new Set(before);
  const changed = after.filter((message) => !known.has(message)).length;
  const leftOut = Math.max(0, withoutHandoffs(before) - withoutHandoffs(after));
  if (changed === 0 && after.length === before.length) return { messages: before, shortened: 0, leftOut: 0 };
  // The handoff that reports the removal does not count as shortened.
  return { messages: after, shortened: leftOut > 0 ? Math.max(0, changed - 1) : changed, leftOut };
}

function withoutHandoffs(messages: readonly Message[]): number {
  return messages.filter((message) => withoutHandoff(message) !== undefined).length;
}

/**
 * Removes as few of the oldest messages as necessary, in whole tool rounds, but never the newest round. Returns the input when
 * nothing can be removed.
 */
function withoutOldest(
  list: readonly Message[],
  limitTokens: number,
  write: (body: string) => string,
  whereLeft: string,
): readonly Message[] {
  const newest = list.findLastIndex(isUsersOwn);
  const headEnd = list[0] !== undefined && roleOf(list[0]) === "system" ? 1 : 0;
  const starts = possibleStarts(list, headEnd, newest);
  const body = list.flatMap((message) => handoffBody(message) ?? []).join("\n");
  const { text, left } = splitNote(body);
  const isBrief = write === briefHandoffText;
  let shortest = list;
  for (const tailStart of starts) {
    const isKept = newest >= headEnd && newest < tailStart;
    const gone = list
      .slice(headEnd, tailStart)
      .filter((message, at) => headEnd + at !== newest && withoutHandoff(message) !== undefined);
    if (gone.length === 0 && (!isBrief || body === "")) continue;
    const rounds = gone.filter((message) => toolCallsOf(message).length > 0).length;
    const total = { messages: left.messages + gone.length, rounds: left.rounds + rounds };
    const note = removalNote(total, whereLeft);
    const handoff = isBrief || text === "" ? note : `${text}\n\n${note}`;
    const boundaries = { headEnd, tailStart, keptUser: isKept ? newest : undefined };
    const { messages } = assemble(list, boundaries, handoff, write);
    if (estimateMessages(messages) < estimateMessages(shortest)) shortest = messages;
    if (estimateMessages(shortest) <= limitTokens) break;
  }
  return shortest;
}

/** Indices at which the list may continue behind the handoff, earliest first. */
function possibleStarts(list: readonly Message[], headEnd: number, newest: number): readonly number[] {
  const handoff = list.findLastIndex(isHandoff);
  const carrier = list[handoff];
  const isPure = carrier !== undefined && withoutHandoff(carrier) === undefined;
  const first = Math.max(headEnd, isPure ? handoff + 1 : handoff);
  const newestRound = list.findLastIndex((message) => toolCallsOf(message).length > 0);
  const last = Math.max(newest, newestRound, first);
  return list.flatMap((message, at) => {
    if (at < first || at > last || isResult(message)) return [];
    // Only a reply may follow the user's message directly.
    return newest >= 0 && at > newest && message.role !== "assistant" ? [] : [at];
  });
}

type Left = { readonly messages: number; readonly rounds: number };

const REMOVAL_NOTE =
  /\n*\[(\d+) messages? \((\d+) rounds? of tool calls\) left out here so that the conversation fits the model's window\.[^\]]*\]/;

function removalNote({ messages, rounds }: Left, where: string): string {
  const count = `${messages} ${messages === 1 ? "message" : "messages"}`;
  const calls = `${rounds} ${rounds === 1 ? "round" : "rounds"} of tool calls`;
  const end = where === "" ? "" : ` ${where}`;
  if (messages === 0) return `[The summary of earlier messages is left out here.${end}]`;
  return `[${count} (${calls}) left out here so that the conversation fits the model's window.${end}]`;
}

/** Separates an earlier note in a handoff from the rest of its text. */
function splitNote(body: string): { readonly text: string; readonly note: string; readonly left: Left } {
  const found = REMOVAL_NOTE.exec(body);
  if (found === null) return { text: body, note: "", left: { messages: 0, rounds: 0 } };
  const text = body.slice(0, found.index) + body.slice(found.index + found[0].length);
  return { text, note: found[0], left: { messages: Number(found[1]), rounds: Number(found[2]) } };
}

type Shortening = {
  readonly excess: number;
  readonly isCandidate: (message: Message) => boolean;
  /** Tokens that every text keeps. */
  readonly least: number;
  readonly whereIs: WhereIs;
};

/** Shortens the longest texts first, so that all come down to the same size. */
function shortenTexts(
  list: readonly Message[],
  { excess, isCandidate, least, whereIs }: Shortening,
): readonly Message[] {
  const costs = list.map((message) => (isCandidate(message) ? estimateText(textOf(message.content)) : 0));
  const total = costs.reduce((sum, cost) => sum + cost, 0);
  const most = Math.max(least, fairLimit(costs, total - excess));
  return list.map((message, at) => {
    if ((costs[at] ?? 0) <= most) return message;
    return withText(message, withoutMiddle(textOf(message.content), most, whereIs(message)));
  });
}

/** In a list of parts, all text parts become one. */
function withText(message: Message, text: string): Message {
  const { content } = message;
  if (content === null || typeof content === "string") return { ...message, content: text };
  const first = content.findIndex(({ type }) => type === "text");
  return {
    ...message,
    content: content.flatMap((part, at): readonly Part[] => {
      if (part.type !== "text") return [part];
      return at === first ? [{ ...part, text }] : [];
    }),
  };
}

const CUT_NOTE =
  /\n\[\.\.\. ([\d,]+) characters are left out here so that the conversation fits the model's window\. (.*?)\]\n/;

/** The end of a result that was too long from the start and is kept in a file; see sessions/session-files.ts. */
const KEPT_NOTE =
  /\n*\[The result has ([\d,]+) characters; only the first [\d,]+ (?:is|are) shown\. (All of it is kept as result ([\w-]+)[^\n]*)\]$/;
const SEE_END = "The note at the end names the whole text.";

/** A tool can write any text, so a note counts only if `where`, which comes from the store, names the same result. */
function keptNote(text: string, where: string): RegExpExecArray | undefined {
  const found = KEPT_NOTE.exec(text);
  return found !== null && where.includes(`kept as result ${found[3]}`) ? found : undefined;
}

/** True if `text` is `whole` without its middle. */
export function isCutOf(text: string, whole: string): boolean {
  const cut = CUT_NOTE.exec(text);
  if (cut === null) return false;
  const [start, end] = [text.slice(0, cut.index), text.slice(cut.index + cut[0].length)];
  return start.length + end.length < whole.length && whole.startsWith(start) && whole.endsWith(end);
}

/** At most `tokens`, the note included. A text that was cut before keeps one note that counts both cuts. */
function withoutMiddle(text: string, tokens: number, where: string): string {
  const kept = keptNote(text, where);
  if (kept !== undefined) {
    // This note stays unchanged, because only it names the file.
    const room = tokens - estimateText(kept[0]);
    return withoutMiddle(text.slice(0, kept.index), room, SEE_END) + kept[0];
  }
  const cut = CUT_NOTE.exec(text);
  const [start, end] =
    cut === null ? [text, ""] : [text.slice(0, cut.index), text.slice(cut.index + cut[0].length)];
  const before = Number(cut?.[1]?.replaceAll(",", "") ?? 0);
  const note = (left: number): string =>
    `\n[... ${groupThousands(left)} characters are left out here so that the conversation fits the model's window. ${cut?.[2] ?? where}]\n`;
  const whole = codePointLength(start) + codePointLength(end);
  const parts = (chars: number): readonly [string, string] => {
    const head = Math.ceil(chars * HEAD_SHARE);
    if (cut === null) return [takeCodePoints(text, head), lastCodePoints(text, chars - head)];
    return [takeCodePoints(start, head), lastCodePoints(end, chars - head)];
  };
  return withinTokens(tokens, tokens - estimateText(note(before + whole)), (room) => {
    const rest = fitTokens(start + end, room, (_, chars) => parts(chars).join(""));
    const [head, tail] = parts(codePointLength(rest));
    const left = before + whole - codePointLength(head) - codePointLength(tail);
    return `${head}${note(left)}${tail}`;
  });
}

const MOST_TRIES = 4;

/** A text and a note together may cost slightly more than separately; then the text gets less room. */
function withinTokens(tokens: number, room: number, write: (room: number) => string): string {
  let text = write(Math.max(0, room));
  for (let tries = 1, left = room; tries < MOST_TRIES && left > 0; tries += 1) {
    const over = estimateText(text) - tokens;
    if (over <= 0) break;
    left -= over;
    text = write(Math.max(0, left));
  }
  return text;
}

const NOTHING_LEFT = /^\[Left out\. [^\n]*\]$/;

/** Replaces as many results as necessary, oldest first. */
function withoutResultTexts(list: readonly Message[], excess: number, whereIs: WhereIs): readonly Message[] {
  let left = excess;
  return list.map((message) => {
    if (left <= 0 || !isResult(message)) return message;
    const next = withoutResultText(message, whereIs);
    left -= estimateMessages([message]) - estimateMessages([next]);
    return next;
  });
}

/** Leaves only the note where the text is. */
function withoutResultText(message: Message, whereIs: WhereIs): Message {
  const text = textOf(message.content);
  if (text === "" || NOTHING_LEFT.test(text)) return message;
  const kept = keptNote(text, whereIs(message));
  // The first part of the sentence names the place.
  const [where = ""] = (CUT_NOTE.exec(text)?.[2] ?? whereIs(message)).split("; ");
  const shortest =
    kept === undefined
      ? `[Left out. ${where.replace(/\.?$/, ".")}]`
      : `[The result has ${kept[1]} characters; only the first 0 are shown. ${kept[2]?.split(", or ")[0]?.replace(/\.?$/, ".")}]`;
  return estimateText(shortest) < estimateText(text) ? withText(message, shortest) : message;
}

/** Text the author wrote behind the handoff stays. */
function withShortHandoff(message: Message, excess: number): Message {
  const body = handoffBody(message);
  if (body === undefined || typeof message.content !== "string") return message;
  const { text, note } = splitNote(body);
  const most = Math.max(LEAST_TEXT_TOKENS, estimateText(text) - excess);
  const shorter = fitTokens(text, most, shortenSections);
  if (shorter === text) return message;
  const own = withoutHandoff(message)?.content;
  const rest = typeof own === "string" && own !== "" ? `\n\n${own}` : "";
  return { ...message, content: withOtherBody(message.content, shorter + note) + rest };
}
