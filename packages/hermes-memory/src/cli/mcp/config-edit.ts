// An edit of a client's config text, checked by the parser: what is ours is as wanted, and nothing else has changed.
import { isDeepStrictEqual } from "node:util";
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

/**
 * `others` reads everything that is not ours. Only a text is returned that has the same as before, and where the same edit finds
 * nothing left to do.
 */
export function checkedEdit(
  text: string,
  others: (text: string) => unknown,
  edit: (text: string) => ConfigEdit,
): Result<ConfigEdit, EditFailure> {
  return attempt(() => {
    const before = others(text);
    const done = edit(text);
    const again = done.text === text ? undefined : attempt(() => [others(done.text), edit(done.text).text]);
    if (again === undefined || (again.ok && isDeepStrictEqual(again.value, [before, done.text]))) return done;
    throw shapeError("it is written in a way that this command cannot change");
  });
}

export type TextRange = { readonly start: number; readonly end: number };

export function splice(text: string, { start, end }: TextRange, piece: string): string {
  return text.slice(0, start) + piece + text.slice(end);
}

export function newlineOf(text: string): string {
  return text.includes("\r\n") ? "\r\n" : "\n";
}

/** The command line of an entry, as the file has it. */
export type Words = { readonly command: string; readonly args: readonly unknown[] };
