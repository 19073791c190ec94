// A conversation as text for the model that summarizes it. Every block starts with the id of its message, so that the model can
// cite it.
import { codePointLength, pyStrip, takeCodePoints } from "../../lib/index.ts";
import { contentText, isRefused, parseToolCalls, REFUSED_NOTE } from "../../message/index.ts";
import { redactSecrets, sanitizeContext } from "../../security/index.ts";
import type { MessageRow } from "../rows.ts";

export function formatTranscript(rows: readonly MessageRow[]): string {
  return rows.flatMap((row) => blocksOf(row).map((block) => `${mark(row.id)} ${block}`)).join("\n\n");
}

/** How the model cites a message. */
export function mark(id: number): string {
  return `[#${id}]`;
}

const MAX_TOOL_CHARS = 500;
const KEPT_TOOL_CHARS = 250; // at each end

function blocksOf(row: MessageRow): string[] {
  const text = textOf(row);
  const said = text === "" ? [] : [text];
  switch (row.role) {
    case "tool":
      return said.map((output) => `[TOOL:${row.tool_name ?? "unknown"}]: ${shortened(output)}`);
    case "assistant": {
      const called = calledTools(row.tool_calls);
      const blocks = called.length === 0 ? said : [`[Called: ${called.join(", ")}]`, ...said];
      return blocks.map((block) => `[ASSISTANT]: ${block}`);
    }
    default:
      return said.map((block) => `[${row.role.toUpperCase()}]: ${block}`);
  }
}

/** Secrets are masked before anything is cut. Memory that was recalled into a message is not part of the conversation. */
function textOf(row: MessageRow): string {
  if (isRefused(row)) return REFUSED_NOTE;
  const { role, content } = row;
  const text = content === null ? "" : redactSecrets(contentText(content));
  return role === "user" || role === "assistant" ? pyStrip(sanitizeContext(text)) : text;
}

function shortened(text: string): string {
  if (codePointLength(text) <= MAX_TOOL_CHARS) return text;
  const tail = [...text.slice(-2 * KEPT_TOOL_CHARS)].slice(-KEPT_TOOL_CHARS).join("");
  return `${takeCodePoints(text, KEPT_TOOL_CHARS)}\n...[truncated]...\n${tail}`;
}

/** Calls without a name are left out. */
function calledTools(calls: unknown): string[] {
  return parseToolCalls(calls).flatMap(({ name }) => (name === "unknown" ? [] : [name]));
}

// ---- Cutting a long transcript to the part about the query ----

const MAX_TRANSCRIPT_CHARS = 100_000;

type WindowOptions = {
  readonly maxChars?: number;
  /** The text to look for when none of the query's words occur: a search also finds other forms of them. */
  readonly fallback?: string;
};

/** Positions are UTF-16 units, so the part never has more than `maxChars` code points. */
export function cutAroundQuery(text: string, query: string, options: WindowOptions = {}): string {
  const maxChars = options.maxChars ?? MAX_TRANSCRIPT_CHARS;
  if (text.length <= maxChars) return text;
  const start = bestStart(positionsOf(text, query, options.fallback), text.length, maxChars);
  const end = start + maxChars;
  return (start > 0 ? EARLIER : "") + wellFormed(text.slice(start, end)) + (end < text.length ? LATER : "");
}

const EARLIER = "...[earlier conversation truncated]...\n\n";
const LATER = "\n\n...[later conversation truncated]...";
const NEAR_CHARS = 200;

/** Where the query is answered best: the whole query, else its words close together, else any of them. Ascending. */
function positionsOf(text: string, query: string, fallback: string | undefined): readonly number[] {
  const folded = foldCase(text);
  const words = wordsOf(query);
  const phrase = occurrences(folded, words.join(" "));
  if (phrase.length > 0) return phrase;
  const each = words.map((word) => occurrences(folded, word));
  const together = words.length > 1 ? closeTogether(each) : [];
  if (together.length > 0) return together;
  const any = each.flat().sort((one, other) => one - other);
  return any.length > 0 || fallback === undefined ? any : occurrences(text, fallback);
}

/** Positions of the rarest word that have every other word nearby. */
function closeTogether(each: readonly (readonly number[])[]): number[] {
  const rarest = each.reduce((least, positions) => (positions.length < least.length ? positions : least));
  const others = each.filter((positions) => positions !== rarest);
  return rarest.filter((at) =>
    others.every((positions) => {
      const next = positions[lowerBound(positions, at - NEAR_CHARS + 1)];
      return next !== undefined && next < at + NEAR_CHARS;
    }),
  );
}

/** Of the windows that start a quarter before a position, the first that covers the most positions. */
function bestStart(positions: readonly number[], length: number, maxChars: number): number {
  let best = { start: 0, covered: 0 };
  for (const position of positions) {
    const wanted = Math.max(0, position - Math.floor(maxChars / 4));
    const start = Math.min(wanted, length - maxChars);
    const covered = lowerBound(positions, start + maxChars) - lowerBound(positions, start);
    if (covered > best.covered) best = { start, covered };
  }
  return best.start;
}

/** The words as typed, without the operators of the query language. */
function wordsOf(query: string): string[] {
  const words = query.replace(/["*()]/g, " ").split(/\s+/);
  return words.filter((word) => word !== "" && !/^(AND|OR|NOT)$/.test(word)).map(foldCase);
}

function occurrences(text: string, needle: string): number[] {
  const found: number[] = [];
  if (needle === "") return found;
  for (let at = text.indexOf(needle); at >= 0; at = text.indexOf(needle, at + needle.length)) found.push(at);
  return found;
}

/** The index of the first position that is not below `value`. */
function lowerBound(positions: readonly number[], value: number): number {
  let low = 0;
  let high = positions.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((positions[middle] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Lower case with the same length, so that positions stay valid: a few letters (such as İ) would grow. */
function foldCase(text: string): string {
  const lower = text.toLowerCase();
  if (lower.length === text.length) return lower;
  return Array.from(text, (letter) => {
    const small = letter.toLowerCase();
    return small.length === letter.length ? small : letter;
  }).join("");
}

/** Removes half a surrogate pair that a cut leaves at either end. */
function wellFormed(text: string): string {
  return text.replace(/^[\udc00-\udfff]/, "").replace(/[\ud800-\udbff]$/, "");
}
