// The last means of making a list fit: long texts give up their middle, tool results first, until the list costs no more than it
// may. Nothing leaves the list, the newest user message stays word for word, and every cut says how long it is and where the whole
// text can be read. Pure.
import { codePointLength, groupThousands, takeCodePoints } from "../lib/index.ts";
import { isUsersOwn } from "./compressor/boundaries.ts";
import { handoffBody, handoffText, isHandoff, withoutHandoff } from "./compressor/handoff.ts";
import { withoutMedia } from "./compressor/media.ts";
import { withShortCalls } from "./compressor/prune.ts";
import { type ContextMessage, isRecord } from "./message.ts";
import { fairLimit, lastCodePoints, shortenSections } from "./summary/shorten.ts";
import { estimateMessages, estimateText, fitTokens } from "./tokens.ts";

export type Fitted = {
  /** The input itself when nothing was cut. */
  readonly messages: readonly ContextMessage[];
  /** Messages that lost something. */
  readonly shortened: number;
};

/** Where the whole text of a message can be read; one sentence for the model. */
export type WhereIs = (message: ContextMessage) => string;

const LEAST_RESULT_TOKENS = 150;
const LEAST_TEXT_TOKENS = 100;
const HEAD_SHARE = 0.7;

/** `limitTokens` is estimated. The list may still cost more when nothing is left that can be cut. */
export function fitMessages(
  messages: readonly ContextMessage[],
  limitTokens: number,
  whereIs: WhereIs,
): Fitted {
  const newest = messages.findLast(isUsersOwn);
  const isResult = ({ role }: ContextMessage): boolean => role === "tool";
  const isText = (message: ContextMessage): boolean =>
    message !== newest && !isResult(message) && message.role !== "system" && !isHandoff(message);
  const steps: readonly ((list: readonly ContextMessage[], excess: number) => readonly ContextMessage[])[] = [
    (list, excess) => shortenTexts(list, { excess, isMeant: isResult, least: LEAST_RESULT_TOKENS, whereIs }),
    (list) => list.map((message) => (message === newest ? message : withoutMedia(message))),
    (list) => list.map(withShortCalls),
    (list, excess) => shortenTexts(list, { excess, isMeant: isText, least: LEAST_TEXT_TOKENS, whereIs }),
    (list, excess) => list.map((message) => withShortHandoff(message, excess)),
  ];
  let list = messages;
  for (const step of steps) {
    const excess = estimateMessages(list) - limitTokens;
    if (excess <= 0) break;
    list = step(list, excess);
  }
  const shortened = list.filter((message, at) => message !== messages[at]).length;
  return { messages: shortened === 0 ? messages : list, shortened };
}

type Shortening = {
  readonly excess: number;
  readonly isMeant: (message: ContextMessage) => boolean;
  /** What a text keeps, in tokens. */
  readonly least: number;
  readonly whereIs: WhereIs;
};

/** The longest give way first, so that all come down to one size. */
function shortenTexts(
  list: readonly ContextMessage[],
  { excess, isMeant, least, whereIs }: Shortening,
): readonly ContextMessage[] {
  const costs = list.map((message) => (isMeant(message) ? estimateText(textIn(message)) : 0));
  const total = costs.reduce((sum, cost) => sum + cost, 0);
  const most = Math.max(least, fairLimit(costs, total - excess));
  return list.map((message, at) => {
    if ((costs[at] ?? 0) <= most) return message;
    return withText(message, withoutMiddle(textIn(message), most, whereIs(message)));
  });
}

/** A string, or the one text of a list of parts; "" for anything else, which is left alone. */
function textIn({ content }: ContextMessage): string {
  if (typeof content === "string") return content;
  const texts = Array.isArray(content) ? content.filter(isTextPart) : [];
  return texts.length === 1 ? (texts[0]?.text ?? "") : "";
}

function withText(message: ContextMessage, text: string): ContextMessage {
  const { content } = message;
  if (!Array.isArray(content)) return { ...message, content: text };
  return {
    ...message,
    content: content.map((part: unknown) => (isTextPart(part) ? { ...part, text } : part)),
  };
}

function isTextPart(part: unknown): part is { readonly type: unknown; readonly text: string } {
  return isRecord(part) && typeof part.text === "string";
}

const CUT =
  /\n\[\.\.\. ([\d,]+) characters are left out here so that the conversation fits the model's window\. (.*?)\]\n/;

/** At most `tokens`, the note included. A text that was cut before keeps one note, about both cuts. */
function withoutMiddle(text: string, tokens: number, where: string): string {
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
  const room = tokens - estimateText(note(before + whole));
  const kept = fitTokens(start + end, Math.max(0, room), (_, chars) => parts(chars).join(""));
  const [head, tail] = parts(codePointLength(kept));
  const left = before + whole - codePointLength(head) - codePointLength(tail);
  return `${head}${note(left)}${tail}`;
}

/** What the author of the message wrote behind the handoff stays. */
function withShortHandoff(message: ContextMessage, excess: number): ContextMessage {
  const body = handoffBody(message);
  if (body === undefined || typeof message.content !== "string") return message;
  const most = Math.max(LEAST_TEXT_TOKENS, estimateText(body) - excess);
  const shorter = fitTokens(body, most, shortenSections);
  if (shorter === body) return message;
  const own = withoutHandoff(message)?.content;
  const rest = typeof own === "string" && own !== "" ? `\n\n${own}` : "";
  return { ...message, content: handoffText(shorter) + rest };
}
