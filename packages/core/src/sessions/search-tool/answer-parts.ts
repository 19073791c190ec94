import { codePointLength, HermesError, preview, pyStrip, takeCodePoints } from "../../lib/index.ts";
import { stringForm } from "../../message/index.ts";
import type { Scope } from "../identity.ts";
import type { MessageRow, SessionRow } from "../rows.ts";
import type { SearchAnswer, SearchHit } from "../search/types.ts";
import type { SessionStore } from "../store.ts";
import type { SessionSearchSettings } from "./settings.ts";

// ----
// What the tool needs of a session store, and what every mode of it works with.

/** Where to look: everywhere but what is before the model, only in the current conversation, or both. */
export type Reach = "others" | "lineage" | "all";

/** `adaptive`: the first result in full, of the others only the matching message. `full`: all of them in full. */
export type Detail = "adaptive" | "full";

/** A session id as it was given. `bare`: without blanks around it, for a model that added some. */
export type GivenId = { readonly asGiven: string; readonly bare: string };

export type SessionFilters = {
  readonly sources?: readonly string[];
  /** Seconds since 1970. */
  readonly after?: number;
  readonly before?: number;
};

export function hasFilters({ sources, after, before }: SessionFilters): boolean {
  return sources !== undefined || after !== undefined || before !== undefined;
}

export type ScrollRequest = {
  readonly mode: "scroll";
  readonly sessionId: GivenId;
  /** Undefined when it was no whole number. */
  readonly anchor: number | undefined;
  readonly window: number;
  readonly reach: Reach;
};
export type ReadRequest = { readonly mode: "read"; readonly sessionId: GivenId };
export type BrowseRequest = {
  readonly mode: "browse";
  readonly limit: number;
  readonly reach: Reach;
  readonly filters: SessionFilters;
};
export type DiscoverRequest = {
  readonly mode: "discover";
  readonly query: string;
  readonly limit: number;
  readonly sort: string | undefined;
  /** Undefined when none were named. */
  readonly roles: readonly string[] | undefined;
  readonly reach: Reach;
  readonly detail: Detail;
  readonly filters: SessionFilters;
  readonly summarize: boolean | undefined;
};
export type SearchRequest = ScrollRequest | ReadRequest | BrowseRequest | DiscoverRequest;
export type SearchCall = { readonly profile: string | undefined; readonly request: SearchRequest };

export type SearchableStore = Pick<
  SessionStore,
  | "location"
  | "rules"
  | "user"
  | "getSession"
  | "getMessages"
  | "getMessagesById"
  | "getMessagesAround"
  | "getAnchoredView"
  | "getCompressionTip"
  | "listLineage"
  | "listMessageKeys"
  | "listSessionsRich"
  | "resolveSessionByTitle"
  | "search"
>;

/** The conversation the call comes from. */
export type CurrentConversation = {
  readonly id: string;
  /** Every session connected to it by parents, itself included. */
  readonly lineage: ReadonlySet<string>;
  /** Messages the model still has before it; undefined when the caller did not say. */
  readonly liveMessageIds: ReadonlySet<number> | undefined;
};

export type Lookup = {
  readonly store: SearchableStore;
  /** The user whose sessions alone exist for this call. */
  readonly scope: Scope;
  readonly settings: SessionSearchSettings;
  /** The profile whose database this is; part of every link. */
  readonly profile: string;
  /** Undefined for a client without a conversation of ours, and in the database of another profile. */
  readonly current: CurrentConversation | undefined;
};

/** How a session is named for another call of the tool, and for another program. */
export function linkTo({ profile }: Pick<Lookup, "profile">, sessionId: string): string {
  return `@session:${profile}/${sessionId}`;
}

/** The session with the id as it was given, else with the id without the blanks around it; null when there is neither. */
export async function findSession(
  { store, scope }: Lookup,
  { asGiven, bare }: GivenId,
): Promise<SessionRow | null> {
  const found = await store.getSession(asGiven, scope);
  return found === null && bare !== asGiven ? store.getSession(bare, scope) : found;
}

export const HIDDEN_SOURCES: readonly string[] = ["kanban", "subagent", "tool"];

/** Runs of subagents, tools and task boards stay out of sight, unless they are what was asked for. */
export function hiddenSources(asked: readonly string[] | undefined): string[] {
  return HIDDEN_SOURCES.filter((source) => !asked?.includes(source));
}

// ----
// The pieces of the tool's JSON that several modes share. Other programs read these names.

export type ToolMessage = {
  readonly id: number;
  readonly role: string;
  readonly content: unknown;
  readonly timestamp: number;
  readonly tool_name?: string;
  readonly tool_calls?: unknown;
  readonly tool_call_id?: string;
  readonly anchor?: true;
  /** Something was cut off to keep the answer small. */
  readonly content_truncated?: true;
  /** How long the content is, in code points, when it was cut. */
  readonly original_content_chars?: number;
};

export type Failure = { readonly error: string; readonly success: false };

export function failure(error: string): Failure {
  return { error, success: false };
}

export function notFound(sessionId: string): Failure {
  return failure(`session_id not found: ${shown(sessionId)}`);
}

/** A caught error as one sentence or two: what happened and, where it is known, what to do. */
export function explain(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const hint = cause instanceof HermesError ? cause.hint : undefined;
  return hint === undefined ? cause.message : `${cause.message} ${hint}`;
}

export function toToolMessage(row: MessageRow, anchorId?: number): ToolMessage {
  return {
    id: row.id,
    role: row.role,
    content: withoutTerminalCodes(row.content),
    timestamp: row.timestamp,
    tool_name: row.tool_name ? label(row.tool_name) : undefined,
    tool_calls: isFilled(row.tool_calls) ? row.tool_calls : undefined,
    tool_call_id: row.tool_call_id ? label(row.tool_call_id) : undefined,
    anchor: row.id === anchorId ? true : undefined,
  };
}

/** Text and the strings in structured content. */
function withoutTerminalCodes(value: unknown): unknown {
  if (typeof value === "string") return withoutAnsi(value);
  if (Array.isArray(value)) return value.map(withoutTerminalCodes);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withoutTerminalCodes(each)]));
}

/** Names are short; one that is not was put there by mistake, and must not fill an answer. */
export function label(name: string): string {
  return preview(name, MAX_LABEL_CHARS);
}

const MAX_LABEL_CHARS = 256;

export function sessionMeta(session: SessionRow): object {
  const { source, model, title } = session;
  return { when: when(session.started_at), source: label(source), model: model && label(model), title };
}

/** `January 31, 2026 at 09:45 AM`, in local time. */
export function when(value: unknown): string {
  if (value === null || value === undefined) return "unknown";
  const seconds = typeof value === "string" && NUMERAL.test(pyStrip(value)) ? Number(value) : value;
  if (typeof seconds !== "number") return String(value);
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) return String(value);
  const hour = date.getHours();
  const day = `${MONTHS[date.getMonth()]} ${padded(date.getDate())}, ${date.getFullYear()}`;
  const time = `${padded(hour % 12 === 0 ? 12 : hour % 12)}:${padded(date.getMinutes())}`;
  return `${day} at ${time} ${hour < 12 ? "AM" : "PM"}`;
}

const NUMERAL = /^[+-]?(\d+\.?\d*|\.\d+)$/;
const MONTHS = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
] as const;

function padded(value: number): string {
  return String(value).padStart(2, "0");
}

function isFilled(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}

/** A value from outside in an error message: recognisable, and never a whole page. */
export function shown(value: unknown): string {
  const text = typeof value === "string" ? value : jsonForm(value);
  return preview(text, MAX_SHOWN_CHARS);
}

function jsonForm(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return stringForm(value); // a cycle or a bigint
  }
}

const MAX_SHOWN_CHARS = 512; // no id is longer, so ids always appear whole

// ----
// What people and models read of an answer: how sure it is, what was not searched, and snippets as clean text. Pure; the
// tool, the command line and /search say it in the same words.

/** Above the hits of a plain question that nothing answers well. Programs match on it. */
export const WEAK_ANSWER = "Nothing that clearly answers this; nearest:";

/** Undefined for an answer that is clear, and for one without hits, which has its own words. */
export function weakRemark({ hits, confidence }: SearchAnswer): string | undefined {
  return hits.length > 0 && confidence?.isWeak === true ? WEAK_ANSWER : undefined;
}

/** Undefined when everything was searched. */
export function notSearchedRemark({ notSearched }: SearchAnswer): string | undefined {
  if (notSearched === undefined || notSearched.messages <= 0) return undefined;
  const { messages, reason } = notSearched;
  const subject =
    messages === 1
      ? "1 message is not indexed yet and was"
      : `${messages.toLocaleString("en-US")} messages are not indexed yet and were`;
  const why = reason === "" ? "" : ` (${reason.replace(/\.$/, "")})`;
  return `${subject} not searched${why}. Run 'hermes sessions optimize', or ask again in a moment.`;
}

/** The same for programs and models: the field `not_searched`, absent when everything was searched. */
export function notSearchedField(answer: SearchAnswer): object {
  const message = notSearchedRemark(answer);
  return message === undefined ? {} : { not_searched: { ...answer.notSearched, message } };
}

/** Undefined when all matches were compared with each other. */
export function orderRemark({ isPartlyRanked }: SearchAnswer): string | undefined {
  if (isPartlyRanked !== true) return undefined;
  return "So many messages match that not all of them were compared: only the newest, short ones, and those with rarer words were. Narrow the query, or sort by time.";
}

/** Undefined when the whole query was searched for. */
export function leftOutRemark({ termsLeftOut = 0 }: SearchAnswer): string | undefined {
  if (termsLeftOut <= 0) return undefined;
  const words =
    termsLeftOut === 1
      ? "1 word at its end was"
      : `at least ${termsLeftOut.toLocaleString("en-US")} words at its end were`;
  return `The query is too long: ${words} neither searched for nor, after NOT, excluded. Ask with fewer words.`;
}

/** The same for programs and models: the field `terms_left_out`. */
export function leftOutField(answer: SearchAnswer): object {
  const message = leftOutRemark(answer);
  return message === undefined ? {} : { terms_left_out: { terms: answer.termsLeftOut, message } };
}

/** Two decimals, as it is shown. */
export function shownConfidence({ confidence }: SearchAnswer): number | undefined {
  return confidence === undefined ? undefined : Math.round(confidence.score * 100) / 100;
}

/** The names the tool has here and, behind a server's name, in other programs: `mcp__hermes__session_search`. */
const SEARCH_TOOL = /(?:^|[_.:/-])session_search$/;

/** The row is the output of an earlier search: copies of what was said elsewhere. */
export function isEarlierSearch({ role, tool_name }: Pick<SearchHit, "role" | "tool_name">): boolean {
  return role === "tool" && tool_name !== null && SEARCH_TOOL.test(tool_name);
}

/** One line instead of the nested snippets of an earlier search. `text`: as much of the row as is at hand. */
export function foldedSearch({ session_id, id }: Pick<SearchHit, "session_id" | "id">, text = ""): string {
  const asked = askedIn(text);
  const about = asked === undefined ? "" : ` for "${asked}"`;
  return `[the output of an earlier session_search${about}; read the conversation around it: session ${session_id}, message ${id}]`;
}

const ASKED_CHARS = 80;

function askedIn(text: string): string | undefined {
  const [, written] = /\\?"query\\?"\s*:\s*\\?"((?:[^"\\]|\\[^"])*)\\?"/.exec(text.slice(0, 2000)) ?? [];
  if (written === undefined || written === "") return undefined;
  const clean = cleanText(written.replace(/\\[nrt]/g, " "))
    .replaceAll(/\s+/g, " ")
    .trim();
  const short = [...clean].slice(0, ASKED_CHARS).join("");
  return short === clean ? clean : `${short}...`;
}

// CSI, OSC (to BEL or ST), the other string sequences, and two-character escapes; each in its 7-bit and its 8-bit form.
const ANSI =
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\u001b\]|\u009d)[^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)?|(?:\u001b[PX^_]|[\u0090\u0098\u009e\u009f])[^\u001b\u009c]*(?:\u001b\\|\u009c)?|\u001b[ -/]*[0-~]/g;
const MAY_HOLD_ANSI = /[\u001b\u0090-\u009f]/;
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]+/g;

/** Colours and cursor moves of a terminal mean nothing to a reader. */
function withoutAnsi(text: string): string {
  return MAY_HOLD_ANSI.test(text) ? text.replace(ANSI, "") : text;
}

/** What turns the order of the characters around: the rest of the line would be read backwards. */
const DIRECTION = /[\u202a-\u202e\u2066-\u2069]/g;

/** Without terminal sequences, control characters and changes of direction; line breaks and tabs stay. */
export function cleanText(text: string): string {
  return withoutAnsi(text).replace(/\r\n?/g, "\n").replace(DIRECTION, "").replace(CONTROL, " ");
}

/** The snippet of a hit as text. `content`: of its row, when it is at hand; text that is not in it is stored as JSON. */
export function cleanSnippet(snippet: string, content?: unknown): string {
  const isJson = content === undefined ? looksStored(snippet) : !isWritten(snippet, content);
  return cleanText(isJson ? withoutJson(snippet) : snippet);
}

/** A message that quotes JSON shows it as it was written. */
function isWritten(snippet: string, content: unknown): boolean {
  if (typeof content !== "string" || content === "") return false;
  const bare = snippet
    .replace(/^\.\.\.|\.\.\.$/g, "")
    .replaceAll(">>>", "")
    .replaceAll("<<<", "");
  return !looksStored(snippet) || content.includes(bare.trim());
}

/** Parts of structured content, or calls of tools. */
function looksStored(snippet: string): boolean {
  const bare = snippet.replaceAll(">>>", "").replaceAll("<<<", "");
  return (
    /^\W*[[{]+\s*"(?:id|type|text|function|name|role|index)"\s*:/.test(bare) || /"arguments"\s*:/.test(bare)
  );
}

/** Names and values without the signs around them; what only the envelope says is left out. */
function withoutJson(text: string): string {
  if (!/[{["]/.test(text)) return text;
  return text
    .replace(/\\+"/g, '"')
    .replace(/\\+[nrt]/g, " ")
    .replace(/\\+u([0-9a-fA-F]{4})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)))
    .replace(/"(?:id|call_id|type|index)"\s*:\s*(?:"[^"]*"|\d+)\s*,?/g, "")
    .replace(/"(?:function|text|arguments)"\s*:/g, "")
    .replace(/"([^"{}[\]]*)"\s*:/g, "$1: ")
    .replace(/["{}[\]]+/g, " ")
    .replace(/\s+([,.;:])/g, "$1")
    .replace(/[ \t]{2,}/g, " ")
    .trim()
    .toWellFormed();
}

// ----
// Keeps an answer small enough for a model's context: the longest texts are cut first, all to the same length.

/** `mostChars`: of this message, beside what the limits say. */
type Cut = (message: ToolMessage, focusAt?: number, mostChars?: number) => ToolMessage;

/** A message in an answer, with the most code points its content may have there. */
type Sized = { readonly message: ToolMessage; readonly mostChars: number };

type Limits = Pick<SessionSearchSettings, "maxMessageChars" | "maxResultChars">;

/** How to cut each of these messages so that all of them together fit. `focusAt`: the place in its content that should stay in sight. */
export function cutterFor(
  messages: readonly (ToolMessage | Sized)[],
  limits: Limits,
  reservedChars = 0,
): Cut {
  const most = limits.maxMessageChars > 0 ? limits.maxMessageChars : Number.POSITIVE_INFINITY;
  const sizes = messages.map((each) => {
    const { message, mostChars } = "mostChars" in each ? each : { message: each, mostChars: most };
    return Math.min(sizeOf(message.content), most, mostChars) + sizeOf(message.tool_calls);
  });
  const level = levelFor(sizes, limits.maxResultChars - reservedChars);
  return (message, focusAt = 0, mostChars = most) =>
    cutMessage(message, Math.min(most, mostChars), level, focusAt);
}

/** The length to which the longest have to be cut for the sum to stay within the budget. */
export function levelFor(sizes: readonly number[], budget: number): number {
  let left = Math.max(0, budget);
  const ascending = sizes.toSorted((one, other) => one - other);
  for (const [index, size] of ascending.entries()) {
    const share = Math.floor(left / (ascending.length - index));
    if (size > share) return share;
    left -= size;
  }
  return Number.POSITIVE_INFINITY;
}

/** `most`: of its content alone; `level`: of content and tool calls together. */
export function cutMessage(message: ToolMessage, most: number, level: number, focusAt: number): ToolMessage {
  const content = Math.min(sizeOf(message.content), most);
  const calls = sizeOf(message.tool_calls);
  const each = content + calls <= level ? Number.POSITIVE_INFINITY : levelFor([content, calls], level);
  const cut = cutContent(message, Math.min(most, each), focusAt);
  if (calls <= each) return cut;
  return { ...cut, tool_calls: shrink(cut.tool_calls, each), content_truncated: true };
}

function cutContent(message: ToolMessage, most: number, focusAt: number): ToolMessage {
  const { content } = message;
  if (sizeOf(content) <= most) return message;
  const cut = typeof content === "string" ? cutText(content, most, focusAt) : shrink(content, most);
  // A message that was cut before keeps its first length.
  const original_content_chars = message.original_content_chars ?? sizeOf(content);
  return { ...message, content: cut, content_truncated: true, original_content_chars };
}

const ELLIPSIS = "…";

/**
 * The beginning, or what is around the focus when that would be lost: a quarter before it, the rest behind. `…` stands where
 * something is missing and counts.
 */
function cutText(text: string, most: number, focusAt: number): string {
  if (most <= 2) return takeCodePoints(text, most);
  const isNearStart = focusAt <= (most * 3) / 4;
  if (isNearStart) return `${takeCodePoints(text, most - 1)}${ELLIPSIS}`;
  const start = Math.min(focusAt - Math.floor(most / 4), Math.max(0, text.length - most + 1));
  const isInsidePair = /^[\udc00-\udfff]/.test(text.charAt(start));
  const rest = text.slice(isInsidePair ? start + 1 : start);
  const isEnd = codePointLength(rest) <= most - 1;
  return isEnd ? `${ELLIPSIS}${rest}` : `${ELLIPSIS}${takeCodePoints(rest, most - 2)}${ELLIPSIS}`;
}

/** Structured values keep their structure: their long strings become shorter. What is all structure becomes text. */
function shrink(value: unknown, most: number): unknown {
  for (let longest = most; longest >= 16; longest = Math.floor(longest / 2)) {
    const smaller = withShortStrings(value, longest);
    if (sizeOf(smaller) <= most) return smaller;
  }
  return takeCodePoints(JSON.stringify(value), most);
}

function withShortStrings(value: unknown, longest: number): unknown {
  if (typeof value === "string") return takeCodePoints(value, longest);
  if (Array.isArray(value)) return value.map((item) => withShortStrings(item, longest));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, withShortStrings(item, longest)]),
  );
}

function sizeOf(value: unknown): number {
  if (value === undefined || value === null) return 0;
  return codePointLength(typeof value === "string" ? value : JSON.stringify(value));
}
