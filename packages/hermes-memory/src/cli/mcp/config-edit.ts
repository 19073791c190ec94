// What an edit of a client's config text ends with, and pieces of such edits.
import { diff } from "node:util";
import { err, ok, type Result } from "@hermes-memory/core/internal/lib";

export type EditAction = "added" | "updated" | "unchanged" | "removed" | "absent";

export type ConfigEdit = { readonly text: string; readonly action: EditAction };

export type EditFailure =
  /** Line and column as an editor shows them: both start at 1. */
  | { readonly kind: "syntax"; readonly line: number; readonly column: number; readonly reason: string }
  /** Valid JSON or TOML, but without the structure that can be edited. */
  | { readonly kind: "shape"; readonly reason: string }
  /** The name belongs to another server. */
  | { readonly kind: "foreign" };

/** Ends an edit; `attempt` makes a result of it. */
export class EditError extends Error {
  readonly failure: EditFailure;

  constructor(failure: EditFailure) {
    super(failure.kind);
    this.name = "EditError";
    this.failure = failure;
  }
}

export function shapeError(reason: string): EditError {
  return new EditError({ kind: "shape", reason });
}

export function attempt<T>(read: () => T): Result<T, EditFailure> {
  try {
    return ok(read());
  } catch (cause) {
    if (cause instanceof EditError) return err(cause.failure);
    // The stack ended: the parser and the comparison are recursive.
    if (cause instanceof RangeError) return err({ kind: "shape", reason: "it is nested too deeply" });
    throw cause;
  }
}

export type TextRange = { readonly start: number; readonly end: number };

export function splice(text: string, { start, end }: TextRange, piece: string): string {
  return text.slice(0, start) + piece + text.slice(end);
}

export function newlineOf(text: string): string {
  return text.includes("\r\n") ? "\r\n" : "\n";
}

// ---- The difference of two texts, for a dry run ----

const CONTEXT = 2;
const MARKS: Readonly<Record<string, string>> = { "0": " ", "1": "-", "-1": "+" };

/** `before` is undefined for a new file, `after` for one that is deleted. Empty when nothing changes. */
export function lineDiff(path: string, before: string | undefined, after: string | undefined): string[] {
  if (before === after) return [];
  // To `diff`, the lines of its first argument are the inserted ones; in this order it lists old lines before new ones.
  const lines = diff(linesOf(before), linesOf(after)).map(([kind, text]) => `${MARKS[kind]}${text}`);
  return [
    `--- ${before === undefined ? "/dev/null" : path}`,
    `+++ ${after === undefined ? "/dev/null" : path}`,
    ...hunksOf(lines),
  ];
}

/** The changed lines with their neighbours, and `@@` where lines are left out. */
function hunksOf(lines: readonly string[]): string[] {
  const isShown = lines.map((_line, at) =>
    lines.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some((line) => !line.startsWith(" ")),
  );
  return lines.flatMap((line, at) => (isShown[at] ? [line] : isShown[at + 1] ? ["@@"] : []));
}

function linesOf(text = ""): string[] {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}
