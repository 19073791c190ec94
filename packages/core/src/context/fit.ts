// The last means of making a list fit: long texts give up their middle, tool results first, until the list costs no more than it
// may. When that is not enough, the oldest messages leave it, then the older tool rounds of the running turn; a handoff says how many
// and where they are. The newest user message stays word for word, the newest tool round stays, and every cut says how long it is and
// where the whole text can be read. Pure.
import { codePointLength, groupThousands, takeCodePoints } from "../lib/index.ts";
import { isResult, type Message, type Part, roleOf, textOf, toolCallsOf } from "../message/index.ts";
import { assemble } from "./compressor/assemble.ts";
import { isUsersOwn } from "./compressor/boundaries.ts";
import {
  briefHandoffText,
  handoffBody,
  handoffText,
  isHandoff,
  withoutHandoff,
} from "./compressor/handoff.ts";
import { withoutMedia } from "./compressor/media.ts";
import { withShortCalls } from "./compressor/prune.ts";
import { fairLimit, lastCodePoints, shortenSections } from "./summary/shorten.ts";
import { estimateMessages, estimateText, fitTokens } from "./tokens.ts";

export type Fitted = {
  /** The input itself when nothing was cut. */
  readonly messages: readonly Message[];
  /** Messages that lost something. */
  readonly shortened: number;
  /** Messages that are no longer in the list. */
  readonly leftOut: number;
};

/** Where the whole text of a message can be read; one sentence for the model. */
export type WhereIs = (message: Message) => string;

export type FitOptions = {
  /** How messages that left the list can be read; one sentence for the model. */
  readonly whereLeft?: string;
  /**
   * A server has refused the list: it becomes as short as it can be even when that is more than `limitTokens`. Otherwise messages leave
   * it only when it fits then: the limit is a guess, and the server may take what we believe to be too long.
   */
  readonly isRefused?: boolean;
};

const LEAST_RESULT_TOKENS = 150;
const LEAST_TEXT_TOKENS = 100;
const HEAD_SHARE = 0.7;

type Step = (list: readonly Message[], excess: number) => readonly Message[];

/** `limitTokens` is estimated. The list may still cost more when nothing is left that can be cut. */
export function fitMessages(
  messages: readonly Message[],
  limitTokens: number,
  whereIs: WhereIs,
  { whereLeft = "", isRefused = false }: FitOptions = {},
): Fitted {
  const newest = messages.findLast(isUsersOwn);
  const isText = (message: Message): boolean =>
    message !== newest && !isResult(message) && roleOf(message) !== "system" && !isHandoff(message);
  const cut = untilItFits(messages, limitTokens, [
    (list, excess) => shortenTexts(list, { excess, isMeant: isResult, least: LEAST_RESULT_TOKENS, whereIs }),
    (list) => list.map((message) => (message === newest ? message : withoutMedia(message))),
    (list) => list.map(withShortCalls),
    (list, excess) => shortenTexts(list, { excess, isMeant: isText, least: LEAST_TEXT_TOKENS, whereIs }),
    (list, excess) => list.map((message) => withShortHandoff(message, excess)),
  ]);
  const fewest = untilItFits(cut, limitTokens, [
    (list) => withFewest(list, limitTokens, handoffText, whereLeft),
    // From the longer list again: with a brief handoff, fewer messages may have to go.
    () => withFewest(cut, limitTokens, briefHandoffText, whereLeft),
    (list, excess) => withoutResults(list, excess, whereIs),
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
  // The handoff that says so is not a message that lost something.
  return { messages: after, shortened: leftOut > 0 ? Math.max(0, changed - 1) : changed, leftOut };
}

function withoutHandoffs(messages: readonly Message[]): number {
  return messages.filter((message) => withoutHandoff(message) !== undefined).length;
}

/**
 * As few of the oldest messages leave the list as necessary, in whole tool rounds, and never the newest one of these. The input when
 * there is nothing to leave out.
 */
function withFewest(
  list: readonly Message[],
  limitTokens: number,
  write: (body: string) => string,
  whereLeft: string,
): readonly Message[] {
  const newest = list.findLastIndex(isUsersOwn);
  const headEnd = list[0] !== undefined && roleOf(list[0]) === "system" ? 1 : 0;
  const starts = possibleStarts(list, headEnd, newest);
  const body = list.flatMap((message) => handoffBody(message) ?? []).join("\n");
  const { text, left } = readLeft(body);
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
    const note = leftNote(total, whereLeft);
    const handoff = isBrief || text === "" ? note : `${text}\n\n${note}`;
    const boundaries = { headEnd, tailStart, ...(isKept ? { keptUser: newest } : {}) };
    const { messages } = assemble(list, boundaries, handoff, write);
    if (estimateMessages(messages) < estimateMessages(shortest)) shortest = messages;
    if (estimateMessages(shortest) <= limitTokens) break;
  }
  return shortest;
}

/** Where the list may begin behind the handoff, earliest first. */
function possibleStarts(list: readonly Message[], headEnd: number, newest: number): readonly number[] {
  const handoff = list.findLastIndex(isHandoff);
  const carrier = list[handoff];
  const isPure = carrier !== undefined && withoutHandoff(carrier) === undefined;
  const first = Math.max(headEnd, isPure ? handoff + 1 : handoff);
  const newestRound = list.findLastIndex((message) => toolCallsOf(message).length > 0);
  const last = Math.max(newest, newestRound, first);
  return list.flatMap((message, at) => {
    if (at < first || at > last || isResult(message)) return [];
    // Right behind the user's message only a reply can stand.
    return newest >= 0 && at > newest && message.role !== "assistant" ? [] : [at];
  });
}

type Left = { readonly messages: number; readonly rounds: number };

const LEFT =
  /\n*\[(\d+) messages? \((\d+) rounds? of tool calls\) left out here so that the conversation fits the model's window\.[^\]]*\]/;

function leftNote({ messages, rounds }: Left, where: string): string {
  const count = `${messages} ${messages === 1 ? "message" : "messages"}`;
  const calls = `${rounds} ${rounds === 1 ? "round" : "rounds"} of tool calls`;
  const end = where === "" ? "" : ` ${where}`;
  if (messages === 0) return `[The summary of earlier messages is left out here.${end}]`;
  return `[${count} (${calls}) left out here so that the conversation fits the model's window.${end}]`;
}

/** An earlier note in a handoff, and the rest of its text. */
function readLeft(body: string): { readonly text: string; readonly note: string; readonly left: Left } {
  const found = LEFT.exec(body);
  if (found === null) return { text: body, note: "", left: { messages: 0, rounds: 0 } };
  const text = body.slice(0, found.index) + body.slice(found.index + found[0].length);
  return { text, note: found[0], left: { messages: Number(found[1]), rounds: Number(found[2]) } };
}

type Shortening = {
  readonly excess: number;
  readonly isMeant: (message: Message) => boolean;
  /** What a text keeps, in tokens. */
  readonly least: number;
  readonly whereIs: WhereIs;
};

/** The longest give way first, so that all come down to one size. */
function shortenTexts(
  list: readonly Message[],
  { excess, isMeant, least, whereIs }: Shortening,
): readonly Message[] {
  const costs = list.map((message) => (isMeant(message) ? estimateText(textOf(message.content)) : 0));
  const total = costs.reduce((sum, cost) => sum + cost, 0);
  const most = Math.max(least, fairLimit(costs, total - excess));
  return list.map((message, at) => {
    if ((costs[at] ?? 0) <= most) return message;
    return withText(message, withoutMiddle(textOf(message.content), most, whereIs(message)));
  });
}

/** All texts of a list of parts become one. */
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

const CUT =
  /\n\[\.\.\. ([\d,]+) characters are left out here so that the conversation fits the model's window\. (.*?)\]\n/;

/** The end of a result that was too long from the start and is kept in a file; see sessions/session-files.ts. */
const KEPT_NOTE =
  /\n*\[The result has ([\d,]+) characters; only the first [\d,]+ (?:is|are) shown\. (All of it is kept as result ([\w-]+)[^\n]*)\]$/;
const SEE_END = "The note at the end names the whole text.";

/** Only a note that whoever knows the kept results agrees with: a tool can write anything. */
function keptNote(text: string, where: string): RegExpExecArray | undefined {
  const found = KEPT_NOTE.exec(text);
  return found !== null && where.includes(`kept as result ${found[3]}`) ? found : undefined;
}

/** At most `tokens`, the note included. A text that was cut before keeps one note, about both cuts. */
function withoutMiddle(text: string, tokens: number, where: string): string {
  const kept = keptNote(text, where);
  if (kept !== undefined) {
    // That note stays as it is, and is the only one that names the file.
    const room = tokens - estimateText(kept[0]);
    return withoutMiddle(text.slice(0, kept.index), room, SEE_END) + kept[0];
  }
  const cut = CUT.exec(text);
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

/** A text and a note together may cost a little more than each alone; then the text gets less room. */
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

/** As many as necessary, oldest first. */
function withoutResults(list: readonly Message[], excess: number, whereIs: WhereIs): readonly Message[] {
  let left = excess;
  return list.map((message) => {
    if (left <= 0 || !isResult(message)) return message;
    const next = withoutResult(message, whereIs);
    left -= estimateMessages([message]) - estimateMessages([next]);
    return next;
  });
}

/** Nothing but where it is. */
function withoutResult(message: Message, whereIs: WhereIs): Message {
  const text = textOf(message.content);
  if (text === "" || NOTHING_LEFT.test(text)) return message;
  const kept = keptNote(text, whereIs(message));
  // The first part of the sentence names the place.
  const [where = ""] = (CUT.exec(text)?.[2] ?? whereIs(message)).split("; ");
  const shortest =
    kept === undefined
      ? `[Left out. ${where.replace(/\.?$/, ".")}]`
      : `[The result has ${kept[1]} characters; only the first 0 are shown. ${kept[2]?.split(", or ")[0]?.replace(/\.?$/, ".")}]`;
  return estimateText(shortest) < estimateText(text) ? withText(message, shortest) : message;
}

/** What the author of the message wrote behind the handoff stays. */
function withShortHandoff(message: Message, excess: number): Message {
  const body = handoffBody(message);
  if (body === undefined || typeof message.content !== "string") return message;
  const { text, note } = readLeft(body);
  const most = Math.max(LEAST_TEXT_TOKENS, estimateText(text) - excess);
  const shorter = fitTokens(text, most, shortenSections);
  if (shorter === text) return message;
  const own = withoutHandoff(message)?.content;
  const rest = typeof own === "string" && own !== "" ? `\n\n${own}` : "";
  return { ...message, content: handoffText(shorter + note) + rest };
}
