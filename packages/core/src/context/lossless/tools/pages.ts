// Gives a list of records piece by piece. A record that is too long for one answer is given by its text, in slices that
// put together are the whole text.
import { codePointLength, takeCodePoints } from "../../../lib/index.ts";
import { estimateText, fitTokens } from "../../tokens.ts";

export type Source = {
  readonly record: Readonly<Record<string, unknown>>;
  /** The fields that `text` takes the place of when the record is cut. */
  readonly long: readonly string[];
  readonly text: string;
  /** `json`: put together, the slices are a JSON object with the long fields. */
  readonly format: "text" | "json";
};

export type PageRequest = {
  /** Estimated. */
  readonly maxTokens: number;
  readonly sourceOffset: number;
  readonly sourceLimit: number;
  readonly contentOffset: number;
};

export type Page = {
  readonly sources: readonly Readonly<Record<string, unknown>>[];
  readonly next_source_offset?: number;
  readonly next_content_offset?: number;
};

export function pageOf(all: readonly Source[], request: PageRequest): Page {
  const { maxTokens, sourceOffset: start, sourceLimit, contentOffset } = request;
  const end = Math.min(all.length, start + sourceLimit);
  const [first] = all.slice(start, start + 1);
  if (first === undefined || start >= end) return { sources: [] };
  if (contentOffset > 0 || costOf(first) > maxTokens) {
    const { record, next } = slice(first, contentOffset, maxTokens);
    if (next !== undefined)
      return { sources: [record], next_source_offset: start, next_content_offset: next };
    return { sources: [record], ...following(start + 1, all.length) };
  }
  let tokens = 0;
  let at = start;
  const sources: Readonly<Record<string, unknown>>[] = [];
  for (const source of all.slice(start, end)) {
    tokens += costOf(source);
    if (tokens > maxTokens) break;
    sources.push(source.record);
    at += 1;
  }
  return { sources, ...following(at, all.length) };
}

/** One record alone; `next` is where the following slice begins, when there is one. */
export function slice(
  { record, long, text, format }: Source,
  offset: number,
  maxTokens: number,
): { readonly record: Readonly<Record<string, unknown>>; readonly next?: number } {
  const rest = text.slice(takeCodePoints(text, offset).length);
  // At least one character, so that whoever follows the offsets comes to an end.
  const piece = fitTokens(rest, maxTokens) || takeCodePoints(rest, 1);
  const short = Object.fromEntries(Object.entries(record).filter(([name]) => !long.includes(name)));
  const shownRecord = {
    ...short,
    [long[0] ?? "content"]: piece,
    content_format: format,
    content_offset: offset,
    content_chars: codePointLength(text),
  };
  if (piece.length >= rest.length) return { record: shownRecord };
  return { record: shownRecord, next: offset + codePointLength(piece) };
}

export function costOf({ record }: Source): number {
  return estimateText(JSON.stringify(record));
}

function following(at: number, count: number): { readonly next_source_offset?: number } {
  return at < count ? { next_source_offset: at } : {};
}
