// Reading a settings file, and changing it so that neither a crash nor a second writer costs a line: the change is
// computed from what was read, and made again when the file is no longer what it was.
import { isUtf8 } from "node:buffer";
import { chmodSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import {
  type AtomicWriteOptions,
  describeCause,
  err,
  errnoCode,
  HermesError,
  ok,
  type Result,
  writeFileAtomic,
} from "../lib/index.ts";

export type ReadFailure = { readonly path: string; readonly reason: string };

const ATTEMPTS = 20;

/** The text with a byte order mark left in, or undefined when there is no such file. */
export function readTextFile(path: string): Result<string | undefined, ReadFailure> {
  try {
    const bytes = readFileSync(path);
    if (!isUtf8(bytes)) return err({ path, reason: "it is not valid UTF-8 text; save it as UTF-8" });
    return ok(bytes.toString("utf8"));
  } catch (cause) {
    return errnoCode(cause) === "ENOENT" ? ok(undefined) : err({ path, reason: readReason(cause) });
  }
}

export type Update<T> = { readonly text: string; readonly outcome: T };
export type UpdateRules<T, E> = {
  /** From the present text to the next one. May run more than once. */
  readonly change: (text: string | undefined) => Result<Update<T>, E>;
  readonly unreadable: (failure: ReadFailure) => E;
  readonly modes?: Pick<AtomicWriteOptions, "mode" | "forceMode">;
};

/** Writes nothing when the text stays the same or `change` refuses. */
export function updateTextFile<T, E>(path: string, rules: UpdateRules<T, E>): Result<T, E> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const before = readTextFile(path);
    if (!before.ok) return err(rules.unreadable(before.error));
    const next = rules.change(before.value);
    if (!next.ok) return next;
    if (next.value.text === (before.value ?? "")) {
      keepMode(path, rules.modes?.forceMode);
      return ok(next.value.outcome);
    }
    if (replaceUnlessChanged(path, before.value, next.value.text, rules.modes)) return ok(next.value.outcome);
  }
  const message = `Cannot change ${path}: another program rewrites it all the time.`;
  throw new HermesError("file-busy", message, { hint: "Stop the other program, then try again." });
}

class ChangedMeanwhile extends Error {}

function replaceUnlessChanged(
  path: string,
  before: string | undefined,
  next: string,
  modes: UpdateRules<unknown, unknown>["modes"],
): boolean {
  const beforeReplace = () => {
    const now = readTextFile(path);
    if (!now.ok || now.value !== before) throw new ChangedMeanwhile();
  };
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileAtomic(path, next, { ...modes, beforeReplace });
    return true;
  } catch (cause) {
    if (cause instanceof ChangedMeanwhile) return false;
    if (cause instanceof HermesError) throw cause;
    const message = `Cannot write ${path}: ${describeCause(cause)}. The file is unchanged.`;
    throw new HermesError("write-failed", message, { hint: "Check free space and permissions.", cause });
  }
}

function keepMode(path: string, forceMode: number | undefined): void {
  if (forceMode === undefined) return;
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats && (stats.mode & 0o777) !== forceMode) chmodSync(path, forceMode);
}

function readReason(cause: unknown): string {
  switch (errnoCode(cause)) {
    case "EISDIR":
      return "it is a directory; move it away";
    case "EACCES":
    case "EPERM":
      return "this user may not read it; change its owner or mode";
    default:
      return describeCause(cause);
  }
}
