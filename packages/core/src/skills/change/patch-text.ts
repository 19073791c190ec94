// Replaces a passage in the text of a file. The passage is searched exactly; then line by line, ignoring white space around each
// line; then with every run of blanks as one. The first way that finds something decides. Pure.
import { err, ok, pyStrip, type Result, takeCodePoints } from "../../lib/index.ts";
import type { SkillError } from "../skill.ts";

const PREVIEW_CHARS = 500;

type PatchRequest = {
  readonly file: string;
  readonly oldText: string;
  readonly newText: string;
  readonly replaceAll: boolean;
};

/** A file with Windows line ends keeps them, even if the patch has others. */
export function patchText(
  text: string,
  { file, oldText, newText, replaceAll }: PatchRequest,
): Result<{ readonly text: string; readonly count: number }, SkillError> {
  const isWindows = text.includes("\r\n") && !/(^|[^\r])\n/.test(text);
  const toLf = (value: string): string => (isWindows ? value.replaceAll("\r\n", "\n") : value);
  const plain = toLf(text);
  const places = findText(plain, toLf(oldText));
  const count = places.length;
  if (count === 0) {
    const message = `old_string was not found in ${file}. Read the file again with skill_view and copy the passage.`;
    return err({ kind: "no_match", message, details: { file_preview: takeCodePoints(text, PREVIEW_CHARS) } });
  }
  if (count > 1 && !replaceAll) {
    const message = `old_string fits ${count} places in ${file}. Add more of the text around it, or pass replace_all.`;
    return err({ kind: "ambiguous", message, details: { match_count: count } });
  }
  const replaced = replaceAt(plain, places, toLf(newText));
  const after = isWindows ? replaced.replaceAll("\n", "\r\n") : replaced;
  if (after === text)
    return err({ kind: "no_match", message: `${file} says so already. Nothing was changed.` });
  return ok({ text: after, count });
}

type Place = { readonly start: number; readonly end: number };

/** Places are in order and do not overlap. Empty: not found. */
export function findText(text: string, wanted: string): readonly Place[] {
  const exact = placesOf(text, wanted);
  if (exact.length > 0 || pyStrip(wanted) === "") return exact; // blanks alone are not enough to search loosely
  const trimmed = trimmedLines(text, wanted);
  return trimmed.length > 0 ? trimmed : collapsed(text, wanted);
}

/** `replacement` is taken literally. */
export function replaceAt(text: string, places: readonly Place[], replacement: string): string {
  let result = "";
  let done = 0;
  for (const { start, end } of places) {
    result += text.slice(done, start) + replacement;
    done = end;
  }
  return result + text.slice(done);
}

function placesOf(text: string, wanted: string): Place[] {
  const places: Place[] = [];
  for (let start = text.indexOf(wanted); start >= 0; start = text.indexOf(wanted, start + wanted.length))
    places.push({ start, end: start + wanted.length });
  return places;
}

/** Searches one joined text: comparing line by line would be quadratic when many lines are equal. */
function trimmedLines(text: string, wanted: string): Place[] {
  const hasLineEnd = wanted.endsWith("\n");
  const pattern = (hasLineEnd ? wanted.slice(0, -1) : wanted).split("\n").map(pyStrip);
  const lines = text.split("\n");
  const bare = lines.map(pyStrip);
  const starts = lineStarts(lines);
  const lineAt = new Map(lineStarts(bare).map((start, line) => [start, line]));
  const whole = `\n${bare.join("\n")}\n`;
  const needle = `\n${pattern.join("\n")}\n`;
  const places: Place[] = [];
  // A line end may close one place and open the next.
  for (let at = whole.indexOf(needle); at >= 0; at = whole.indexOf(needle, at + needle.length - 1)) {
    const first = lineAt.get(at) ?? 0;
    const last = first + pattern.length - 1;
    const end = (starts[last] ?? 0) + (lines[last] ?? "").length;
    places.push({ start: starts[first] ?? 0, end: hasLineEnd && last + 1 < lines.length ? end + 1 : end });
  }
  return places;
}

function lineStarts(lines: readonly string[]): number[] {
  const starts: number[] = [];
  let at = 0;
  for (const line of lines) {
    starts.push(at);
    at += line.length + 1;
  }
  return starts;
}

function collapsed(text: string, wanted: string): Place[] {
  const whole = collapse(text);
  return placesOf(whole.text, collapse(wanted).text).map(({ start, end }) => ({
    start: whole.origins[start] ?? 0,
    end: whole.origins[end] ?? text.length,
  }));
}

/** Runs of blanks and tabs become one blank. `origins` maps each unit, and the end, to its place in the input. */
function collapse(text: string): { readonly text: string; readonly origins: Uint32Array } {
  const origins = new Uint32Array(text.length + 1);
  const kept: string[] = [];
  let length = 0;
  let from = 0;
  for (const match of text.matchAll(/[ \t]+/g)) {
    kept.push(text.slice(from, match.index), " ");
    for (let at = from; at <= match.index; at += 1) origins[length++] = at;
    from = match.index + match[0].length;
  }
  kept.push(text.slice(from));
  for (let at = from; at <= text.length; at += 1) origins[length++] = at;
  return { text: kept.join(""), origins: origins.subarray(0, length) };
}
