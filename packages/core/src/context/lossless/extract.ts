// Summaries that need no model: the beginnings of what was said, as much as fits. The same messages always give the same text.
import { codePointLength, pyStrip, takeCodePoints } from "../../lib/index.ts";
import { cutMiddle, fairLimit } from "../summary/shorten.ts";

const STATEMENT = "Summary generation was unavailable; these are excerpts.";
const LINE_CHARS = 240;
/** A line shorter than this says nothing, so some lines are left out instead. */
const LEAST_LINE_CHARS = 60;

/** Of messages, each as one text. */
export function extractOf(texts: readonly string[], limitChars: number): string {
  const lines = texts.map((text) => pyStrip(text.replace(/\s+/g, " "))).filter((line) => line !== "");
  const room = Math.max(0, limitChars - codePointLength(STATEMENT) - 1);
  const fitting = Math.max(1, Math.floor(room / (LEAST_LINE_CHARS + 3)));
  const shown = lines.length <= fitting ? lines : withGap(lines, fitting - 1);
  const short = shown.map((line) => (codePointLength(line) > LINE_CHARS ? cut(line, LINE_CHARS) : line));
  const limit = fairLimit(short.map(codePointLength), room - 3 * short.length);
  return [STATEMENT, ...short.map((line) => `- ${cut(line, Math.max(LEAST_LINE_CHARS, limit))}`)].join("\n");
}

/** Of summaries: what each of them says, in the room they share. */
export function extractOfSummaries(summaries: readonly string[], limitChars: number): string {
  const bare = summaries.map((text) =>
    text.startsWith(STATEMENT) ? pyStrip(text.slice(STATEMENT.length)) : text,
  );
  const room = limitChars - codePointLength(STATEMENT) - 2 * bare.length;
  const limit = Math.max(LEAST_LINE_CHARS, fairLimit(bare.map(codePointLength), room));
  return [STATEMENT, ...bare.map((text) => cutMiddle(text, limit))].join("\n\n");
}

/** The beginning and the end, with a word about what is between them. */
function withGap(lines: readonly string[], count: number): readonly string[] {
  const head = Math.ceil(count / 2);
  const tail = Math.max(0, count - head);
  const left = lines.length - head - tail;
  return [...lines.slice(0, head), `(${left} more messages)`, ...lines.slice(lines.length - tail)];
}

function cut(line: string, limit: number): string {
  return codePointLength(line) > limit ? `${takeCodePoints(line, limit - 1)}…` : line;
}
