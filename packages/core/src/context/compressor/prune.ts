// Makes old messages smaller without a model: repeated and long tool results, long arguments, images. Head and newest messages
// stay unchanged, except that a result repeated later is kept only once.
import {
  codePointLength,
  groupThousands,
  isAbsent,
  isRecord,
  outsideJsonOr,
  parseOutsideJson,
  pyStrip,
  takeCodePoints,
} from "../../lib/index.ts";
import {
  type Content,
  envelopeSummary,
  isImage,
  isResult,
  type Message,
  type Part,
  partsOf,
  type ToolCall,
  toolCallsOf,
} from "../../message/index.ts";
import { estimateMessage } from "../tokens.ts";

type PruneRules = {
  readonly tailTokens: number;
  readonly protectLastN: number;
  /** Messages before this index stay unchanged. */
  readonly headEnd: number;
};

export type Pruned = {
  /** The input array itself when nothing changed. */
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
  // A result answers the nearest call before it with its id, because some models reuse ids.
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

/** Index of the first protected message at the end: at least `protectLastN` messages, and as many as fit the tail's budget. */
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
  if (typeof content === "string" && isRepeatedLater && codePointLength(content) >= LONG_RESULT)
    return DUPLICATE;
  if (!isOld) return content;
  if (typeof content === "string") {
    const isDone = content.startsWith(DUPLICATE_START) || content === OLD_PLACEHOLDER;
    if (isDone || codePointLength(content) <= LONG_RESULT) return content;
    const line = oneLiner(call?.name ?? "unknown", call?.arguments ?? "", content);
    return line.length < content.length ? line : content; // long arguments make a long line
  }
  const summary = envelopeSummary(content);
  if (summary !== undefined) return `[screenshot removed] ${takeCodePoints(summary, LONG_RESULT)}`;
  if (content === null || !content.some(isImage)) return content;
  return content.map((part): Part => (isImage(part) ? { type: "text", text: SCREENSHOT } : part));
}

/** Cuts long texts in the arguments of tool calls; the JSON stays valid. */
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

// One line in place of a long tool result: what was done and how it ended.

type Arguments = Readonly<Record<string, unknown>>;
type Line = (given: Arguments, result: string, tool: string) => string;

export function oneLiner(tool: string, argumentsText: string, result: string): string {
  const line = (Object.hasOwn(LINES, tool) ? LINES[tool] : undefined) ?? otherLine; // a tool may be called `toString`
  return line(parseArguments(argumentsText), result, tool);
}

const EXIT_CODE = /"exit_code"\s*:\s*(-?\d+)/;
const TOTAL_COUNT = /"total_count"\s*:\s*(-?\d+)/;

const LINES: Readonly<Record<string, Line>> = {
  terminal: (given, result) =>
    `[terminal] ran \`${shortened(text(given.command, ""), 80)}\` -> exit ${numberIn(result, EXIT_CODE)}, ${lineCount(result)} lines output`,
  read_file: (given, result) =>
    `[read_file] read ${text(given.path)} from line ${text(given.offset, "1")} (${size(result)} chars)`,
  write_file: (given) =>
    `[write_file] wrote to ${text(given.path)} (${typeof given.content === "string" && given.content !== "" ? lineCount(given.content) : "?"} lines)`,
  search_files: (given, result) =>
    `[search_files] ${text(given.target, "content")} search for '${text(given.pattern)}' in ${text(given.path, ".")} -> ${numberIn(result, TOTAL_COUNT)} matches`,
  patch: (given, result) =>
    `[patch] ${text(given.mode, "replace")} in ${text(given.path)} (${size(result)} chars result)`,
  web_search: (given, result) => `[web_search] query='${text(given.query)}' (${size(result)} chars result)`,
  web_extract: (given, result) => `[web_extract] ${addresses(given.urls)} (${size(result)} chars)`,
  delegate_task: (given, result) =>
    `[delegate_task] '${shortened(text(given.goal, ""), 60)}' (${size(result)} chars result)`,
  execute_code: (given, result) => {
    const code = text(given.code, "").replaceAll("\n", " ");
    const head = takeCodePoints(code, 60);
    return `[execute_code] \`${head}${head.length < code.length ? "..." : ""}\` (${lineCount(result)} lines output)`;
  },
  browser_navigate: browserLine,
  browser_click: browserLine,
  browser_snapshot: browserLine,
  browser_type: browserLine,
  browser_scroll: browserLine,
  browser_vision: browserLine,
  skill_view: skillLine,
  skills_list: skillLine,
  skill_manage: skillLine,
  vision_analyze: (given, result) =>
    `[vision_analyze] '${takeCodePoints(text(given.question, ""), 50)}' (${size(result)} chars)`,
  text_to_speech: (_given, result) => `[text_to_speech] generated audio (${size(result)} chars)`,
  memory: (given) => {
    const batch = Array.isArray(given.operations) ? `${given.operations.length} operations` : "";
    return `[memory] ${batch || text(given.action)} on ${text(given.target)}`;
  },
  todo: () => "[todo] updated task list",
  clarify: () => "[clarify] asked user a question",
  cronjob: (given) => `[cronjob] ${text(given.action)}`,
  process: (given) => `[process] ${text(given.action)} session=${text(given.session_id)}`,
};

function browserLine(given: Arguments, result: string, tool: string): string {
  const url = text(given.url, "");
  const ref = text(given.ref, "");
  const where = url !== "" ? ` ${url}` : ref !== "" ? ` ref=${ref}` : "";
  return `[${tool}]${where} (${size(result)} chars)`;
}

function skillLine(given: Arguments, result: string, tool: string): string {
  return `[${tool}] name=${text(given.name)} (${size(result)} chars)`;
}

const SHOWN_ARGUMENTS = 2;

function otherLine(given: Arguments, result: string, tool: string): string {
  const shown = Object.entries(given)
    .slice(0, SHOWN_ARGUMENTS)
    .map(([name, value]) => ` ${name}=${takeCodePoints(text(value, ""), 40)}`);
  return `[${tool}]${shown.join("")} (${size(result)} chars result)`;
}

/** The arguments of a tool call; none when they are not a JSON object. */
export function parseArguments(argumentsText: string): Arguments {
  const value = outsideJsonOr(argumentsText, undefined);
  return isRecord(value) ? value : {};
}

function text(value: unknown, missing = "?"): string {
  if (isAbsent(value)) return missing;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Leaves three characters for the dots. */
function shortened(value: string, limit: number): string {
  return codePointLength(value) > limit ? `${takeCodePoints(value, limit - 3)}...` : value;
}

function addresses(urls: unknown): string {
  const list = Array.isArray(urls) ? urls : urls === undefined ? [] : [urls];
  if (list.length === 0) return "?";
  const more = list.length > 1 ? ` (+${list.length - 1} more)` : "";
  return `${text(list[0])}${more}`;
}

function size(result: string): string {
  return groupThousands(codePointLength(result));
}

function lineCount(value: string): number {
  if (pyStrip(value) === "") return 0;
  let lines = 1;
  for (let at = value.indexOf("\n"); at >= 0; at = value.indexOf("\n", at + 1)) lines += 1;
  return lines;
}

function numberIn(result: string, pattern: RegExp): string {
  return pattern.exec(result)?.[1] ?? "?";
}

// Long texts inside the arguments of an old tool call are cut in the JSON text itself, because parsing and printing would change
// large numbers.

const LONG_ARGUMENTS = 500;
const LEAF_CHARS = 200;
const MARK = "...[truncated]";

/** The input when it is short, no JSON, or has nothing to cut. */
export function shrinkArguments(argumentsText: string): string {
  if (codePointLength(argumentsText) <= LONG_ARGUMENTS || !parseOutsideJson(argumentsText).ok)
    return argumentsText;
  const tokens = jsonTokens(argumentsText);
  const shrunk = tokens
    .map((token, index) => {
      if (token === "," || token === ":") return `${token} `;
      return token.startsWith('"') ? shrinkString(token, tokens[index + 1] === ":") : token;
    })
    .join("");
  return shrunk.length < argumentsText.length ? shrunk : argumentsText; // the added spaces may cost more than the cuts save
}

function shrinkString(token: string, isKey: boolean): string {
  const value = JSON.parse(token) as string;
  const isLong = !isKey && codePointLength(value) > LEAF_CHARS;
  return JSON.stringify(isLong ? takeCodePoints(value, LEAF_CHARS) + MARK : value);
}

const PUNCTUATION = "[]{}:,";
const BLANKS = " \t\n\r";

/** Walks strings by hand: a regular expression overflows the stack on megabytes of escapes. */
function jsonTokens(text: string): readonly string[] {
  const tokens: string[] = [];
  let at = 0;
  while (at < text.length) {
    const start = at;
    const character = text.charAt(at);
    at += 1;
    if (BLANKS.includes(character)) continue;
    if (character === '"') {
      while (text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
      at += 1;
    } else if (!PUNCTUATION.includes(character)) {
      while (at < text.length && !(PUNCTUATION + BLANKS).includes(text.charAt(at))) at += 1;
    }
    tokens.push(text.slice(start, at));
  }
  return tokens;
}

// Images are expensive and are sent again with every request. After a compaction only those of the newest user message that has
// images stay.

const REMOVED = "[Attached image — stripped after compression]";

export function stripOldMedia(messages: readonly Message[]): readonly Message[] {
  const newest = messages.findLastIndex((message) => message.role === "user" && hasImage(message.content));
  if (newest <= 0) return messages;
  let isChanged = false;
  const stripped = messages.map((message, index) => {
    const next = index >= newest ? message : withoutMedia(message);
    isChanged ||= next !== message;
    return next;
  });
  return isChanged ? stripped : messages;
}

export function withoutMedia(message: Message): Message {
  return hasImage(message.content) ? { ...message, content: withoutImages(message.content) } : message;
}

function hasImage(content: Content): boolean {
  if (content === null || typeof content === "string") return false;
  return content.some(isImage) || envelopeSummary(content) !== undefined;
}

function withoutImages(content: Content): Content {
  const parts = partsOf(content).map(
    (part): Part => (isImage(part) ? { type: "text", text: REMOVED } : part),
  );
  return parts.length === 0 ? REMOVED : parts;
}
