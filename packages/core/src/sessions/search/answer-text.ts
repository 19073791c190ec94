// What people and models read of an answer: how sure it is, what was not searched, and snippets as clean text. Pure; the
// tool, the command line and /search say it in the same words.
import type { SearchAnswer, SearchHit } from "./types.ts";

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
export function withoutAnsi(text: string): string {
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
