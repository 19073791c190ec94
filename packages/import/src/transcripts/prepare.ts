// A message of a transcript as it is stored: without data that is not text, secrets in tool results masked, long tool texts cut. Pure.
import { createHash } from "node:crypto";
import {
  isClientSummary,
  masked,
  redactSecrets,
  strippedUserText,
} from "@hermes-memory/core/internal/security";
import type { TranscriptInput } from "@hermes-memory/core/internal/sessions";
import { jsonOf, recordOf } from "./kit/values.ts";
import type { ReadOptions, ToolCall, TranscriptMessage } from "./reader.ts";

export type PrepareOptions = ReadOptions & {
  /** Where credentials are masked. */
  readonly redact: "tools" | "all" | "none";
};

export const DEFAULT_PREPARE: PrepareOptions = {
  tools: "brief",
  redact: "tools",
  includeBranches: true,
  includeReasoning: false,
  includeSystem: false,
};

const MAX_ARGUMENTS = 2000;
const MAX_RESULT = 4000;
/** Beyond the cut, so that a secret that is cut in two is masked whole. */
const REDACTION_MARGIN = 512;

/** Undefined when nothing of the message is kept. `id` and `timestamp` are the caller's. */
export function prepared(
  message: TranscriptMessage,
  options: PrepareOptions,
): Omit<TranscriptInput, "platformMessageId" | "timestamp"> | undefined {
  const { role } = message;
  if (role === "system" && !options.includeSystem) return undefined;
  if (role === "tool" && options.tools === "none") return undefined;
  if (role === "user" && isClientSummary(message.text)) return undefined;
  const text = role === "tool" ? toolResult(message.text, options) : plainText(message, options);
  const toolCalls = (message.toolCalls ?? []).map((call) => storedCall(call, options));
  const reasoning =
    options.includeReasoning && message.reasoning ? withoutData(soundText(message.reasoning)) : undefined;
  const isEmpty = text.trim() === "" && toolCalls.length === 0 && reasoning === undefined;
  if (isEmpty && role !== "tool") return undefined;
  return {
    role,
    content: text,
    toolCalls: toolCalls.length === 0 ? undefined : JSON.stringify(toolCalls),
    toolCallId: message.toolCallId === undefined ? undefined : soundText(message.toolCallId),
    toolName: message.toolName === undefined ? undefined : soundText(message.toolName),
    finishReason: message.finishReason === undefined ? undefined : soundText(message.finishReason),
    reasoning,
    line: message.line,
    path: message.path,
  };
}

function plainText({ role, text }: TranscriptMessage, { redact }: PrepareOptions): string {
  const sound = withoutData(soundText(role === "user" ? strippedUserText(text) : text));
  return redact === "all" ? redactSecrets(sound) : sound;
}

function toolResult(text: string, { tools, redact }: PrepareOptions): string {
  const isCut = tools === "brief" && text.length > MAX_RESULT;
  const part = isCut ? text.slice(0, MAX_RESULT + REDACTION_MARGIN) : text;
  const sound = withoutData(soundText(part));
  const safe = redact === "none" ? sound : redactSecrets(sound);
  return isCut ? cut(safe, MAX_RESULT, text.length) : safe;
}

type StoredCall = { id: string; type: "function"; function: { name: string; arguments: string } };

function storedCall({ id, name, arguments: given }: ToolCall, options: PrepareOptions): StoredCall {
  const whole = options.tools === "none" ? mainArgument(given) : withoutData(soundText(given));
  const safe = options.redact === "none" ? whole : redactedJson(whole);
  const kept = options.tools === "brief" && safe.length > MAX_ARGUMENTS ? cutJson(safe) : safe;
  return { id: soundText(id), type: "function", function: { name: soundText(name), arguments: kept } };
}

function redactedJson(text: string): string {
  const safe = redactSecrets(text);
  return safe === text || jsonOf(safe) !== undefined ? safe : JSON.stringify(masked(jsonOf(text) ?? safe));
}

const MAIN_ARGUMENTS = ["file_path", "path", "filePath", "command", "cmd", "pattern", "query", "url"];

function mainArgument(text: string): string {
  const given = recordOf(jsonOf(text)) ?? {};
  const name = MAIN_ARGUMENTS.find((key) => lineOf(given[key]) !== undefined);
  if (name === undefined) return "{}";
  const value = soundText(lineOf(given[name]) ?? "");
  return JSON.stringify({
    [name]: value.length > MAX_ARGUMENTS ? cut(value, MAX_ARGUMENTS, value.length) : value,
  });
}

/** Codex gives a command as a list of words. */
function lineOf(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  const isWords = Array.isArray(value) && value.length > 0 && value.every((word) => typeof word === "string");
  return isWords ? value.join(" ") : undefined;
}

/** Stays valid JSON: the texts in it are cut, not their envelope. */
function cutJson(text: string): string {
  const value = jsonOf(text);
  let count = 0;
  JSON.stringify(value, (_key, one) => {
    if (typeof one === "string") count += 1;
    return one;
  });
  for (const limit of [Math.floor((MAX_ARGUMENTS * 0.8) / Math.max(1, count)) - 40, 60, 20]) {
    if (limit < 20) continue;
    const isLong = (one: unknown): one is string => typeof one === "string" && one.length > limit;
    const shorter = JSON.stringify(value, (_key, one) => (isLong(one) ? cut(one, limit, one.length) : one));
    if (shorter !== undefined && shorter.length <= MAX_ARGUMENTS) return shorter;
  }
  return JSON.stringify({ cut: cut(text, MAX_ARGUMENTS - 200, text.length) });
}

/** Not inside a surrogate pair. `whole` is the length of the text before any cut. */
function cut(text: string, limit: number, whole: number): string {
  const head = text
    .slice(0, limit)
    .toWellFormed()
    .replace(/\ufffd$/, "");
  return `${head}\n[${Math.max(0, whole - limit)} more characters cut by the import]`;
}

/** PostgreSQL refuses these characters, and SQLite's text functions stop at the first. */
function soundText(text: string): string {
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  return whole.includes("\u0000") ? whole.replaceAll("\u0000", "\ufffd") : whole;
}

const DATA_ADDRESS = /data:[\w.+/-]{0,100}(?:;[\w=.-]{1,100}){0,4};base64,[A-Za-z0-9+/=_-]+/g;
/** Longer than any hash, key or word. */
const LONG_BASE64 = 1024;

function withoutData(text: string): string {
  const short = text.includes(";base64,") ? text.replace(DATA_ADDRESS, dataNote) : text;
  if (short.length < LONG_BASE64) return short;
  let result = "";
  let kept = 0;
  for (const [from, to] of longRuns(short)) {
    result += short.slice(kept, from) + dataNote(short.slice(from, to));
    kept = to;
  }
  return kept === 0 ? short : result + short.slice(kept);
}

const BASE64 = /[A-Za-z0-9+/=_-]+/y;
const BEHIND_BASE64 = /(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/=_-]*$/;

/** Runs of base64 characters. Looks at every 1024th character first, since a long run must contain one of them. */
function* longRuns(text: string): Generator<readonly [from: number, to: number]> {
  for (let at = LONG_BASE64 - 1; at < text.length; at += LONG_BASE64) {
    BASE64.lastIndex = at;
    if (!BASE64.test(text)) continue;
    const to = BASE64.lastIndex;
    const from = at - (BEHIND_BASE64.exec(text.slice(at - LONG_BASE64 + 1, at))?.[0].length ?? 0);
    if (to - from >= LONG_BASE64) yield [from, to];
    at = to - 1 - ((to - 1 - at) % LONG_BASE64);
  }
}

function dataNote(data: string): string {
  return `[${data.length} characters of base64 data]`;
}

/** For a message without an id of its own. */
export function madeId(ordinal: number, { role, text }: Pick<TranscriptMessage, "role" | "text">): string {
  return `n${ordinal}-${createHash("sha256").update(`${role}\u0000${text}`).digest("hex").slice(0, 16)}`;
}

const MAX_MESSAGE_ID = 256;

/** As the database gives it back, so that the next import knows it again. */
export function soundId(id: string): string {
  if (id.length <= MAX_MESSAGE_ID) return soundText(id);
  return `h${createHash("sha256").update(id).digest("hex").slice(0, 32)}`;
}
