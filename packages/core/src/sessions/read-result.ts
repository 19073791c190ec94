// The `read_result` tool: reads tool results that were too long for the conversation, in parts, or lists the places in one that
// contain a text. Only results named by rows of this conversation, or by messages that have no row yet, can be read; any other id
// is unknown. With several users, a row of one user opens no file that a row of another user named first.
import {
  codePointLength,
  groupThousands,
  isAbsent,
  preview,
  sliceCodePoints,
  takeCodePoints,
} from "../lib/index.ts";
import type { Message } from "../message/index.ts";
import { fenceUntrusted, untrustedSourceOf } from "../security/index.ts";
import {
  described,
  errorOutcome,
  onOneLine,
  shownText,
  type Tool,
  type ToolArguments,
  type ToolDefinition,
  type ToolOutcome,
} from "../tools/index.ts";
import { readMarks } from "./identity.ts";
import { type NotedResult, notedResult, RESULT_ID, readKeptResult } from "./session-files.ts";
import type { SessionStore } from "./store.ts";

/** How much of the context window one tool result may take. Longer results are kept in a file and read in parts. */
export type ResultLimits = {
  /** From `agent.max_result_chars`. */
  readonly chars: number;
  /** A quarter of the window. */
  readonly tokens: number;
  /** How many tokens the model's server counts for one estimated token; at least 1. */
  readonly tokenFactor: number;
};

export type ReadResultDeps = {
  /** The directory of kept results. */
  readonly directory: string;
  readonly store: () => SessionStore | undefined;
  /** Called for each request, because the context window can change. */
  readonly limits: () => ResultLimits;
  /** Estimates the tokens of the text. The estimate belongs to the caller. */
  readonly fits: (text: string, limits: ResultLimits) => boolean;
};

export const READ_RESULT = "read_result";

// Kept short, because it is part of every request.
const DEFINITION: ToolDefinition = {
  name: READ_RESULT,
  description:
    "Read a tool result that was too long for the conversation, part by part; the answer says at which offset the next part begins. The id is in the note behind the shortened result (where that names a file: the file's name without .txt). Without id, the readable results are listed.",
  parameters: {
    type: "object",
    properties: {
      id: { type: "string" },
      offset: { type: "integer", minimum: 0, description: "Where to begin, in characters." },
      limit: { type: "integer", minimum: 1, description: "Most characters to return." },
      find: {
        type: "string",
        description: "List the places from offset on with this text, in any case, instead of reading.",
      },
    },
    required: [],
  },
};

export function readResultEntry(deps: ReadResultDeps): Tool {
  const checked = new Set<string>();
  return {
    ...described(DEFINITION),
    owner: { kind: "own" },
    policy: { toolset: "results", effect: "read", isRepeatable: true },
    preview: previewOf,
    run: async (args, { sessionId, messages }) => {
      const request = parse(args);
      if (typeof request === "string") return errorOutcome(request);
      const known = await readable(deps, sessionId, messages);
      if (request.id === undefined) return { text: listed(known, fitCheckOf(deps)) };
      const result = known.find(({ id }) => id === request.id);
      if (result !== undefined && !checked.has(result.id) && (await isOwnFile(deps, sessionId, result.id)))
        checked.add(result.id);
      if (result === undefined || !checked.has(result.id))
        return errorOutcome(
          unknownId(
            request.id,
            known.filter(({ id }) => id !== request.id),
          ),
        );
      const text = await readKeptResult(deps.directory, result.id);
      if (text === undefined)
        return errorOutcome(
          `The text of result ${result.id} is gone: its file was removed. Call the tool again.`,
        );
      const view: View = { ...result, text, length: codePointLength(text), fitCheck: fitCheckOf(deps) };
      return request.find === undefined ? page(view, request) : places(view, request, request.find);
    },
  };
}

type Request = {
  readonly id: string | undefined;
  readonly offset: number;
  /** 0: not given. */
  readonly limit: number;
  readonly find: string | undefined;
};

/** `source`: where the text came from, if it was fenced as untrusted in the conversation. */
type Readable = {
  readonly id: string;
  readonly chars: number;
  readonly tool: string;
  readonly source: string | undefined;
};

type View = Readable & { readonly text: string; readonly length: number; readonly fitCheck: FitCheck };

/** The limits at the time of the call. */
type FitCheck = { readonly limits: ResultLimits; fits(text: string, limits?: ResultLimits): boolean };

function fitCheckOf(deps: ReadResultDeps): FitCheck {
  const limits = deps.limits();
  return { limits, fits: (text, within = limits) => deps.fits(text, within) };
}

const MOST_FIND_CHARS = 500;

/** The parsed request, or a text that says what is wrong with it. */
function parse({ id, offset, limit, find }: ToolArguments): Request | string {
  const from = wholeNumber(offset, 0);
  const most = wholeNumber(limit, 0);
  if (from === undefined || from < 0) return "offset must be a whole number of at least 0.";
  if (most === undefined || most < 0 || limit === 0) return "limit must be a whole number of at least 1.";
  const wanted = typeof find === "string" && find !== "" ? find : undefined;
  if (wanted !== undefined && codePointLength(wanted) > MOST_FIND_CHARS)
    return `find may have ${MOST_FIND_CHARS} characters at most.`;
  const named = isAbsent(id) ? undefined : shownText(id);
  if (named === undefined && wanted !== undefined) return "find needs an id: the result to search.";
  return { id: named, offset: from, limit: most, find: wanted };
}

/** Models sometimes write numbers as strings. */
function wholeNumber(value: unknown, standard: number): number | undefined {
  if (isAbsent(value)) return standard;
  const number = typeof value === "string" ? Number(value) : value;
  return typeof number === "number" && Number.isSafeInteger(number) ? number : undefined;
}

// ---- Which results may be read ----

/** Newest last. */
async function readable(
  { store }: ReadResultDeps,
  sessionId: string,
  messages: readonly Message[],
): Promise<readonly Readable[]> {
  const stored = store();
  const found = new Map<string, Readable>();
  const add = ({ id, chars }: NotedResult, content: unknown, tool: unknown): void => {
    const source = untrustedSourceOf(String(content));
    found.set(id, { id, chars, source, tool: typeof tool === "string" ? tool : "a tool" });
  };
  if (stored !== undefined)
    for (const { sessions, before } of await conversationParts(stored, sessionId))
      for (const row of await stored.listKeptResults(sessions))
        if (row.message_id < before) add(row, row.content, row.tool_name);
  // Without a database, or while it cannot be written, only the live messages are known.
  for (const message of messages) {
    if (message.role !== "tool") continue;
    const { content, toolCallId, toolName } = message;
    const noted = notedResult(content, toolCallId);
    if (noted !== undefined) add(noted, content, toolName);
  }
  return [...found.values()];
}

/** Reads every message of the database, so it is called once per result. Administration may read every file. */
async function isOwnFile({ store }: ReadResultDeps, sessionId: string, id: string): Promise<boolean> {
  const stored = store();
  if (stored === undefined || Object.keys(stored.scope).length === 0) return true;
  for (const { sessions } of await conversationParts(stored, sessionId)) {
    const own = await stored.listKeptResults(sessions, { ownFilesOnly: true });
    if (own.some((result) => result.id === id)) return true;
  }
  return false;
}

type ConversationPart = { readonly sessions: readonly string[]; readonly before: number };

const MOST_FORKS = 100;

/**
 * The conversation back to its start: the session, the sessions it continues after compactions, and what it is a branch of, up to
 * the fork. A subagent run starts with itself.
 */
async function conversationParts(
  store: SessionStore,
  sessionId: string,
): Promise<readonly ConversationPart[]> {
  const past: ConversationPart[] = [];
  let [id, before] = [sessionId, Number.POSITIVE_INFINITY];
  for (let fork = 0; fork < MOST_FORKS; fork += 1) {
    const sessions = await store.listContinued(id);
    const [first] = sessions;
    if (first === undefined) break;
    past.unshift({ sessions, before });
    const root = await store.getSession(first);
    const { branchedFrom } = readMarks(root?.model_config ?? null);
    const parent = root?.parent_session_id;
    if (branchedFrom === undefined || parent === undefined || parent === null) break;
    const [oldest] = await store.listMessageKeys([first]);
    if (oldest === undefined) break;
    // Ids grow across all sessions, so messages of the parent after the fork have higher ids than the branch's copies.
    [id, before] = [parent, Math.min(before, oldest.id)];
  }
  return past;
}

function unknownId(asked: string, known: readonly Readable[]): string {
  const ids = known.slice(-10).map(({ id }) => id);
  const which =
    ids.length === 0
      ? "No result of this conversation is kept."
      : `The newest that can be read: ${ids.toReversed().join(", ")}.`;
  const shown = RESULT_ID.test(asked) ? `'${asked}'` : "with this id";
  return `There is no result ${shown} in this conversation. ${which}`;
}

// ---- Answers ----

function listed(known: readonly Readable[], fitCheck: FitCheck): string {
  if (known.length === 0) return "[No result of this conversation is kept.]";
  const lines = known
    .toReversed()
    .map(({ id, tool, chars }) => `${id}: ${groupThousands(chars)} characters of ${tool}`);
  for (let shown = lines.length; ; shown -= 1) {
    const left = lines.length - shown;
    const more = left === 0 ? "" : `; ${left} older ones are not listed`;
    const text = [`[Results of this conversation, newest first${more}:]`, ...lines.slice(0, shown)].join(
      "\n",
    );
    if (shown <= 1 || fitCheck.fits(text)) return text;
  }
}

function page(view: View, { offset, limit }: Request): ToolOutcome {
  const { length, fitCheck } = view;
  const limits = limit === 0 ? halfOf(fitCheck.limits) : fitCheck.limits;
  if (offset >= length && length > 0) return pastEnd(view, offset);
  const rest = sliceCodePoints(view.text, offset, limit === 0 ? limits.chars : Math.min(limit, limits.chars));
  const answer = (part: string): string => {
    const end = offset + codePointLength(part);
    const next = end < length ? `The next part begins at offset ${end}.` : "This is the end of it.";
    const which = `characters ${groupThousands(offset)} to ${groupThousands(end)} of ${groupThousands(length)}`;
    return `[Result ${view.id} of ${view.tool}: ${which}. ${next}]\n${asData(part, view)}`;
  };
  const part = longestStart(rest, limits.chars, (start) => fitCheck.fits(answer(start), limits));
  // If not even the frame fits into the window, a part that is too long is better than an endless series of empty parts.
  return { text: answer(part === "" ? sliceCodePoints(rest, 0, LEAST_CHARS) : part) };
}

/**
 * Without an explicit limit a part is half size: a model that reads on has several parts in its context, and full-size parts
 * would leave little room.
 */
function halfOf({ chars, tokens, tokenFactor }: ResultLimits): ResultLimits {
  return { chars: Math.ceil(chars / 2), tokens: Math.ceil(tokens / 2), tokenFactor };
}

const LEAST_CHARS = 200;
const AROUND_CHARS = 120;
const MOST_PLACES = 50;

function places(view: View, { offset, limit }: Request, find: string): ToolOutcome {
  if (offset >= view.length && view.length > 0) return pastEnd(view, offset);
  const { found, total } = occurrences(view.text, find, offset);
  if (total === 0) {
    const from = offset === 0 ? "" : ` from offset ${offset} on`;
    return {
      text: `[Result ${view.id} of ${view.tool}, ${groupThousands(view.length)} characters: the text was not found${from}.]`,
    };
  }
  for (let shown = found.length; ; shown -= 1) {
    const some = found.slice(0, shown);
    const left = total - shown;
    const more =
      left === 0
        ? "all are shown"
        : `${shown} shown, ${left} more; for them call again with offset ${(some.at(-1)?.offset ?? offset) + 1}`;
    const count = `${groupThousands(total)} ${total === 1 ? "place" : "places"} from offset ${offset} on`;
    const head = `[Result ${view.id} of ${view.tool}, ${groupThousands(view.length)} characters: ${count}, ${more}. Read around one with offset.]`;
    const body = some.map(({ offset: at, around }) => `offset ${at}: ${around}`).join("\n\n");
    const isShort = limit === 0 || codePointLength(body) <= limit;
    const text = `${head}\n${asData(body, view)}`;
    if (shown === 1 || (isShort && view.fitCheck.fits(text))) return { text };
  }
}

type Place = { readonly offset: number; readonly around: string };

/** Offsets are in code points. All occurrences are counted; at most MOST_PLACES are returned. */
function occurrences(text: string, find: string, offset: number): { found: readonly Place[]; total: number } {
  // The `i` flag folds letter by letter and keeps positions; `toLowerCase` can change lengths.
  const pattern = new RegExp(find.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"), "giu");
  pattern.lastIndex = sliceCodePoints(text, 0, offset).length;
  const found: Place[] = [];
  let [total, units, points] = [0, pattern.lastIndex, offset];
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    total += 1;
    if (found.length >= MOST_PLACES) continue;
    points += codePointLength(text.slice(units, match.index));
    units = match.index;
    const start = Math.max(0, match.index - AROUND_CHARS);
    const end = match.index + match[0].length + AROUND_CHARS;
    found.push({ offset: points, around: text.slice(start, end).toWellFormed() });
  }
  return { found, total };
}

function pastEnd({ id, length }: View, offset: number): ToolOutcome {
  return errorOutcome(`Result ${id} has ${length} characters, so nothing begins at offset ${offset}.`);
}

/** Fenced the same way as in the conversation: untrusted data stays marked as such. */
function asData(text: string, { source }: View): string {
  return source === undefined ? text : fenceUntrusted(text, source);
}

function previewOf({ id, offset, find }: ToolArguments): string {
  if (isAbsent(id)) return "list kept results";
  const what = typeof find === "string" && find !== "" ? `"${preview(find, 40)}" in ` : "";
  const from = offset === undefined || offset === null || offset === 0 ? "" : ` from ${shownText(offset)}`;
  return onOneLine(`${what}${preview(shownText(id), 64)}${preview(from, 30)}`);
}

/** The longest prefix of at most `most` code points for which `isShort` is true. */
export function longestStart(text: string, most: number, isShort: (start: string) => boolean): string {
  const whole = takeCodePoints(text, most);
  if (isShort(whole)) return whole;
  let [low, high] = [0, codePointLength(whole)];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (isShort(takeCodePoints(whole, middle))) low = middle;
    else high = middle;
  }
  return takeCodePoints(whole, low);
}
