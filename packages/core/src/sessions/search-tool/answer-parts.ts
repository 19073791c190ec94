// Parts of an answer that the modes of session_search share: remarks, messages made safe to show and cut to size, and the whole answer for
// people. Pure. Field names and fixed texts are read by other programs.
import { codePointLength, preview, pyStrip, takeCodePoints, withoutUndefined } from "../../lib/index.ts";
import type { MessageRow, SessionRow } from "../rows.ts";
import { HIDDEN_SOURCES } from "../search/document.ts";
import type { SearchAnswer, SearchHit } from "../search/types.ts";
import type { SessionStore } from "../store.ts";
import type { Lookup, SessionFilters, SessionSearchSettings } from "./request.ts";

export function hasFilters({ sources, after, before }: SessionFilters): boolean {
  return sources !== undefined || after !== undefined || before !== undefined;
}

/** The link by which another call of the tool, or another program, names a session. */
export function linkTo({ profile }: Pick<Lookup, "profile">, sessionId: string): string {
  return `@session:${profile}/${sessionId}`;
}

/** Runs of subagents, tools and task boards are hidden unless they were asked for. */
export function hiddenSources(asked: readonly string[] | undefined): string[] {
  return HIDDEN_SOURCES.filter((source) => !asked?.includes(source));
}

// ---- Messages, errors and metadata in the JSON ----

export type ToolMessage = {
  readonly id: number;
  readonly role: string;
  readonly content: unknown;
  readonly timestamp: number;
  readonly tool_name?: string;
  readonly tool_calls?: unknown;
  readonly tool_call_id?: string;
  readonly anchor?: true;
  /** True when content was cut to keep the answer small. */
  readonly content_truncated?: true;
  /** Length of the whole content in code points, if it was cut. */
  readonly original_content_chars?: number;
};

export function toToolMessage(row: MessageRow, anchorId?: number): ToolMessage {
  return withoutUndefined({
    id: row.id,
    role: row.role,
    content: withStrings(row.content, withoutAnsi),
    timestamp: row.timestamp,
    tool_name: row.tool_name ? label(row.tool_name) : undefined,
    tool_calls: isFilled(row.tool_calls) ? row.tool_calls : undefined,
    tool_call_id: row.tool_call_id ? label(row.tool_call_id) : undefined,
    anchor: row.id === anchorId ? true : undefined,
  });
}

/** Names are short. A long one was stored by mistake and must not fill the answer. */
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
const MONTHS = "January February March April May June July August September October November December".split(
  " ",
);

function padded(value: number): string {
  return String(value).padStart(2, "0");
}

function isFilled(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}

// ---- Remarks and snippets ----
// How sure an answer is, what was not searched, and snippets as clean text. Pure. The tool, the command line and /search use the
// same words.

/** Shown above the hits when nothing clearly answers a plain question. Other programs match on this text. */
export const WEAK_ANSWER = "Nothing that clearly answers this; nearest:";

/** Undefined when the answer is clear, and when there are no hits (`emptyAnswer` explains that). */
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

/** The same as a JSON field `not_searched`; no field when everything was searched. */
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

/** The same as a JSON field `terms_left_out`. */
export function leftOutField(answer: SearchAnswer): object {
  const message = leftOutRemark(answer);
  return message === undefined ? {} : { terms_left_out: { terms: answer.termsLeftOut, message } };
}

/** Rounded to two decimals. */
export function shownConfidence({ confidence }: SearchAnswer): number | undefined {
  return confidence === undefined ? undefined : Math.round(confidence.score * 100) / 100;
}

/** The tool's name here and, with a server's name in front, in other programs: `mcp__hermes__session_search`. */
const SEARCH_TOOL = /(?:^|[_.:/-])session_search$/;

/** True when the row is the output of an earlier search, which copies what was said elsewhere. */
export function isEarlierSearch({ role, tool_name }: Pick<SearchHit, "role" | "tool_name">): boolean {
  return role === "tool" && tool_name !== null && SEARCH_TOOL.test(tool_name);
}

/** One line that replaces the nested snippets of an earlier search. `text`: as much of the row as the caller has. */
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

// CSI, OSC (up to BEL or ST), the other string sequences, and two-character escapes, each in its 7-bit and 8-bit form.
const ANSI =
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\u001b\]|\u009d)[^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)?|(?:\u001b[PX^_]|[\u0090\u0098\u009e\u009f])[^\u001b\u009c]*(?:\u001b\\|\u009c)?|\u001b[ -/]*[0-~]/g;
const MAY_HOLD_ANSI = /[\u001b\u0090-\u009f]/;
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]+/g;

/** Removes terminal colours and cursor moves. */
function withoutAnsi(text: string): string {
  return MAY_HOLD_ANSI.test(text) ? text.replace(ANSI, "") : text;
}

/** Characters that reverse the text direction for the rest of the line. */
const DIRECTION = /[\u202a-\u202e\u2066-\u2069]/g;

/** Removes terminal sequences, control characters and direction changes. Line breaks and tabs stay. */
export function cleanText(text: string): string {
  return withoutAnsi(text).replace(/\r\n?/g, "\n").replace(DIRECTION, "").replace(CONTROL, " ");
}

// A snippet has 40 words, usually a few hundred characters, but one "word" may be a whole file in base64.
const MAX_SNIPPET_CHARS = 1000;

export function cutSnippet(snippet: string, most = MAX_SNIPPET_CHARS): string {
  if (snippet.length <= most) return snippet;
  const start = Math.max(0, snippet.indexOf(">>>") - Math.floor(most / 4));
  const part = snippet.slice(start, start + most).toWellFormed();
  const isEnd = start + most >= snippet.length;
  return `${start > 0 ? "..." : ""}${part}${isEnd ? "" : "..."}`;
}

/** The position in the message of the snippet's first match, so that a cut message still shows it. */
export function matchPosition(snippet: string, content: unknown): number {
  if (typeof content !== "string") return 0;
  const cut = snippet.startsWith("...") ? 3 : 0;
  const [before = "", rest = ""] = snippet.slice(cut).split(">>>", 2);
  const around = (before + rest.replace("<<<", "")).trimEnd();
  const at = content.indexOf(around);
  return Math.max(0, at >= 0 ? at + before.length : content.indexOf(rest.split("<<<", 1)[0] ?? ""));
}

// ---- Cutting messages to size ----
// The longest texts are cut first, all to the same length.

/** A message with the maximum length of its content in code points, in addition to the general limits. */
type Sized = { readonly message: ToolMessage; readonly mostChars?: number };

/**
 * How to cut each of these messages so that all of them fit together. `focusAt`: a position in the content that should stay visible.
 * `isCut`: the limit for all messages together makes some of them shorter.
 */
export function cutterFor(
  messages: readonly Sized[],
  { maxMessageChars, maxResultChars }: Pick<SessionSearchSettings, "maxMessageChars" | "maxResultChars">,
  reservedChars = 0,
) {
  const most = maxMessageChars > 0 ? maxMessageChars : Number.POSITIVE_INFINITY;
  const sizes = messages.map(
    ({ message, mostChars = most }) =>
      Math.min(sizeOf(message.content), most, mostChars) + sizeOf(message.tool_calls),
  );
  const level = levelFor(sizes, maxResultChars - reservedChars);
  const cut = ({ message, mostChars = most }: Sized, focusAt = 0): ToolMessage =>
    cutMessage(message, Math.min(most, mostChars), level, focusAt);
  return { cut, isCut: level < Number.POSITIVE_INFINITY };
}

/** Messages of one session, from the beginning of each. */
export function cutTogether(
  messages: readonly ToolMessage[],
  settings: SessionSearchSettings,
): ToolMessage[] {
  const sized = messages.map((message) => ({ message }));
  const { cut } = cutterFor(sized, settings);
  return sized.map((each) => cut(each));
}

/** The length to which the longest texts must be cut so that the sum stays within the budget. */
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

/** `most`: limit for the content alone. `level`: limit for content and tool calls together. */
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
  // A message that is cut twice keeps its original length.
  const original_content_chars = message.original_content_chars ?? sizeOf(content);
  return { ...message, content: cut, content_truncated: true, original_content_chars };
}

const ELLIPSIS = "…";

/**
 * The beginning of the text or, if that would lose the focus, a quarter before the focus and the rest after it. `…` marks each
 * cut and counts towards the length.
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

/** Structured values keep their structure with shorter strings. If that is not enough, they become JSON text and are cut. */
function shrink(value: unknown, most: number): unknown {
  for (let longest = most; longest >= 16; longest = Math.floor(longest / 2)) {
    const smaller = withStrings(value, (text) => takeCodePoints(text, longest));
    if (sizeOf(smaller) <= most) return smaller;
  }
  return takeCodePoints(JSON.stringify(value), most);
}

/** The value with each of its strings changed. */
function withStrings(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((item) => withStrings(item, change));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, withStrings(item, change)]));
}

function sizeOf(value: unknown): number {
  if (value === undefined || value === null) return 0;
  return codePointLength(typeof value === "string" ? value : JSON.stringify(value));
}

// ---- A whole answer, as `hermes sessions search` and /search in a chat show it ----

export type NamedHit = SearchHit & { readonly title: string | null };

/** A session without a title gets the title of the first session of its lineage. */
export function withTitles(store: SessionStore, hits: readonly SearchHit[]): Promise<NamedHit[]> {
  const titleOf = (id: string): Promise<string | null> => store.getSessionTitle(id);
  return Promise.all(
    hits.map(async (hit) => ({
      ...hit,
      title: (await titleOf(hit.session_id)) ?? (await titleOf(hit.lineage_root)),
    })),
  );
}

/** What was not searched, and what the order of the hits leaves out. */
export function remarksOn(answer: SearchAnswer): string[] {
  const remarks = [notSearchedRemark(answer), leftOutRemark(answer), orderRemark(answer)];
  return remarks.filter((line) => line !== undefined);
}

/** Field names as in the answer of the `session_search` tool. */
export function answerJson(query: string, answer: SearchAnswer, hits: readonly NamedHit[]): object {
  const { stage, empty, confidence } = answer;
  return {
    query,
    stage,
    empty: empty ?? null,
    confidence: confidence && shownConfidence(answer),
    is_weak: confidence?.isWeak,
    message: weakRemark(answer),
    ...notSearchedField(answer),
    ...leftOutField(answer),
    order_note: orderRemark(answer),
    hits: hits.map((hit) => ({
      ...hit,
      snippet: snippetOf(hit),
      context: hit.context.map(({ role, content }) => ({ role, content: cleanText(content) })),
      // An earlier search quotes other conversations, which are hits themselves.
      ...(isEarlierSearch(hit) ? { context: [], folded: true } : {}),
    })),
  };
}

/** As clean text. For the output of an earlier search: one line that says so, without the snippets in it. */
function snippetOf(hit: SearchHit): string {
  if (!isEarlierSearch(hit)) return cleanText(hit.snippet);
  return foldedSearch(hit, hit.context.map(({ content }) => content).join("\n"));
}

/** With the match in it. */
export function shortSnippet(hit: SearchHit, mostChars: number): string {
  return cutSnippet(snippetOf(hit), mostChars);
}
