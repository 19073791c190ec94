// Estimates tokens before a server has counted them, by script and with a fixed price per image, and cuts texts to a number of
// tokens. A server may count more: then the calibration factor (agent package, models/usage.ts) multiplies every estimate
// that is compared with a window, or divides the window.
import { codePointLength, isRecord, takeCodePoints } from "../lib/index.ts";
import {
  type Content,
  isImage,
  isMessage,
  type Message,
  type OpenAiMessage,
  type OtherPart,
  parseContent,
  parseToolCalls,
  partJson,
  toolCallsOf,
} from "../message/index.ts";

const IMAGE_TOKENS = 1_600;
/** Role, separators and ids around a message. */
export const MESSAGE_OVERHEAD_TOKENS = 10;

/** Characters per token. */
const PROSE = 4;
const CODE = 3;
/** Share of brackets, quotes and other signs among the narrow characters: about 4 % in prose, 15 to 35 % in code and JSON. */
const PROSE_SIGNS = 0.08;
const CODE_SIGNS = 0.16;

/** Characters beyond Latin letters. The test returns at once for a string that V8 stores in one byte per character. */
const WIDE = /[\u0250-\uffff]/;

/** Estimates the tokens of a text by its script: about 4 characters per token for prose, 3 for code and JSON, 1 for CJK. */
export function estimateText(text: string): number {
  if (text === "") return 0;
  if (!WIDE.test(text)) return Math.ceil(text.length / charsPerToken(text));
  let wide = 0;
  let halves = 0;
  for (let at = 0; at < text.length; at += 1) {
    const cost = HALVES[text.charCodeAt(at)] as number;
    halves += cost;
    if (cost > 0) wide += 1;
  }
  return Math.ceil(halves / 2 + (text.length - wide) / charsPerToken(text));
}

/** Half tokens per wide character; 0 for a narrow one. */
const HALVES: Uint8Array = Uint8Array.from({ length: 0x1_0000 }, (_, unit) => {
  if (unit < 0x250) return 0;
  // Cyrillic, Greek, Arabic, South Asian letters; then dashes, quotes, arrows.
  if (unit < 0x1100 || (unit > 0x11ff && unit < 0x2e80)) return 1;
  return 2; // Chinese, Japanese and Korean characters; each half of a surrogate pair
});

/** Enough samples to tell prose from code, and more for a long text. */
const SAMPLES = 64;
const SAMPLE_EVERY = 64;
/** Samples are not equally spaced: with lines of equal length, equal steps would always hit the same column. */
const SCATTER = 7_919;

/** For narrow characters: 4 in prose, 3 in code and JSON, in between for a mixture. */
function charsPerToken(text: string): number {
  const { length } = text;
  const step = Math.max(1, Math.floor(length / (SAMPLES + length / SAMPLE_EVERY)));
  let signs = 0;
  let seen = 0;
  for (let from = 0, scatter = 0; from < length; from += step, scatter += SCATTER) {
    const at = from + (scatter % step);
    const unit = text.charCodeAt(at < length ? at : from);
    if (unit >= 0x80) continue;
    seen += 1;
    if (IS_SIGN[unit] === 1) signs += 1;
  }
  if (seen === 0) return PROSE;
  const share = (signs / seen - PROSE_SIGNS) / (CODE_SIGNS - PROSE_SIGNS);
  return PROSE - (PROSE - CODE) * Math.min(1, Math.max(0, share));
}

/** 0 for letters, digits and white space. */
const IS_SIGN: Uint8Array = Uint8Array.from({ length: 0x80 }, (_, unit) =>
  /[\w\s]/.test(String.fromCharCode(unit)) ? 0 : 1,
);

/** A lower bound for every tokenizer we know. A text is refused only when it is certainly too long. */
export function leastTokens(text: string): number {
  return Math.ceil(codePointLength(text) / PROSE);
}

/**
 * Cuts the text with `cut` until it has at most `tokens`. `cut` takes a number of characters. How many characters fit depends on
 * the script, and the part that stays may be denser than the whole text.
 */
export function fitTokens(
  text: string,
  tokens: number,
  cut: (text: string, chars: number) => string = takeCodePoints,
): string {
  const whole = estimateText(text);
  if (whole <= tokens) return text;
  let chars = Math.floor((codePointLength(text) * tokens) / whole);
  for (let round = 0; round < MOST_ROUNDS && chars > 0; round += 1) {
    const piece = cut(text, chars);
    const cost = estimateText(piece);
    if (cost <= tokens) return piece;
    chars = Math.min(chars - 1, Math.floor((chars * tokens) / cost));
  }
  return takeCodePoints(text, Math.floor(tokens / MOST_TOKENS_PER_CHAR));
}

const MOST_ROUNDS = 8;
const MOST_TOKENS_PER_CHAR = 2;

function estimateContent(content: Content): number {
  if (content === null) return 0;
  if (typeof content === "string") return estimateText(content);
  let tokens = 0;
  for (const part of content) {
    if (part.type === "text") tokens += estimateText(part.text);
    else tokens += part.type === "image" || isImage(part) ? IMAGE_TOKENS : estimateText(valueText(part));
  }
  return tokens;
}

function valueText(part: OtherPart): string {
  return isRecord(part.value) && typeof part.value.text === "string" ? part.value.text : partJson(part);
}

export function estimateMessage(message: Message | OpenAiMessage): number {
  const content = isMessage(message) ? message.content : parseContent(message.content);
  let tokens = MESSAGE_OVERHEAD_TOKENS + estimateContent(content);
  if (message.role !== "assistant") return tokens;
  const calls = isMessage(message) ? toolCallsOf(message) : parseToolCalls(message.tool_calls);
  for (const call of calls) tokens += estimateText(call.name) + estimateText(call.arguments);
  return tokens;
}

/** Estimates the tokens of a list of messages, tool calls and images included. */
export function estimateMessages(messages: readonly (Message | OpenAiMessage)[]): number {
  let tokens = 0;
  for (const message of messages) tokens += estimateMessage(message);
  return tokens;
}

/** Prompt, messages and tool schemas together. */
export function estimateRequest(request: {
  readonly system?: string;
  readonly messages: readonly (Message | OpenAiMessage)[];
  readonly tools?: readonly unknown[];
}): number {
  const tools = request.tools?.length ? estimateText(json(request.tools)) : 0;
  return estimateText(request.system ?? "") + estimateMessages(request.messages) + tools;
}

function json(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return String(value); // the value contains itself, or a bigint
  }
}

// Shortens texts so that every part keeps something: short parts stay whole, long parts lose their middle.

const MARK = "\n...[shortened]...\n";
const HEAD_SHARE = 0.7;

/** The size to which the larger parts must shrink so that all of them fit into `total`. */
export function fairLimit(sizes: readonly number[], total: number): number {
  let left = Math.max(0, total);
  const ascending = [...sizes].sort((one, other) => one - other);
  for (const [index, size] of ascending.entries()) {
    const share = Math.floor(left / (ascending.length - index));
    if (size > share) return share;
    left -= size;
  }
  return ascending.at(-1) ?? 0;
}

/** Cuts the longest sections until the text has at most `limit` code points. A line that begins with `#` starts a section. */
export function shortenSections(text: string, limit: number): string {
  if (codePointLength(text) <= limit) return text;
  const sections = text.split(/\n(?=#{1,3} )/);
  const most = fairLimit(sections.map(codePointLength), limit - (sections.length - 1));
  // With very many sections the shares do not fit either, so the whole is cut once more.
  return takeCodePoints(sections.map((section) => cutMiddle(section, most)).join("\n"), Math.max(0, limit));
}

/** At most `limit` code points: the beginning, a mark, the end. */
export function cutMiddle(text: string, limit: number): string {
  if (codePointLength(text) <= limit) return text;
  const room = limit - MARK.length;
  if (room < MARK.length) return takeCodePoints(text, Math.max(0, limit));
  const head = Math.ceil(room * HEAD_SHARE);
  return takeCodePoints(text, head) + MARK + lastCodePoints(text, room - head);
}

export function lastCodePoints(text: string, count: number): string {
  if (count <= 0) return "";
  // Twice as many UTF-16 units contain enough code points; half a pair at the front is dropped with the surplus.
  return Array.from(text.slice(-2 * count))
    .slice(-count)
    .join("");
}
