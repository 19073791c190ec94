// Translates SQLite's error codes into errors of the session store.
import { describeCause, HermesError, sqliteCode } from "../../lib/index.ts";
import { sessionError } from "../errors.ts";

const ERROR = 1;
const BUSY = 5;
const LOCKED = 6;
const READ_ONLY = 8;
const IO = 10;
const CORRUPT = 11;
const FULL = 13;
const SCHEMA = 17;
const CONSTRAINT = 19;
const NOT_A_DATABASE = 26;
const CORRUPT_VTAB = 267;
const FOREIGN_KEY = 787;

/** The SQLite error behind one of our errors. */
export function sqliteCause(cause: unknown): unknown {
  return cause instanceof HermesError && cause.cause !== undefined ? cause.cause : cause;
}

export function isBusy(cause: unknown): boolean {
  const code = primaryCode(cause);
  return code === BUSY || code === LOCKED;
}

/** A statement was prepared for an older schema of the file. */
export function isStaleSchema(cause: unknown): boolean {
  const code = primaryCode(cause);
  return code === SCHEMA || (code === ERROR && /no such table|no such column/.test(describeCause(cause)));
}

/** Damaged pages, a damaged schema, or a damaged full-text index. */
export function isCorrupt(cause: unknown): boolean {
  return primaryCode(cause) === CORRUPT;
}

/** A full-text index is inconsistent; the pages of the file may be sound. */
export function isCorruptIndex(cause: unknown): boolean {
  return sqliteCode(cause) === CORRUPT_VTAB;
}

export function isConstraintFailure(cause: unknown): boolean {
  return primaryCode(cause) === CONSTRAINT;
}

export function isForeignKeyFailure(cause: unknown): boolean {
  return sqliteCode(cause) === FOREIGN_KEY;
}

/** Returns other errors unchanged: they are already ours, or programming errors. */
export function toSessionError(cause: unknown, path: string): unknown {
  if (cause instanceof HermesError) return cause;
  const text = describeCause(cause);
  if (isRefusedQuery(cause)) {
    return sessionError("query-too-complex", `The database refuses this query: ${text}.`, {
      hint: "Ask with fewer or simpler words.",
      cause,
    });
  }
  switch (primaryCode(cause)) {
    case undefined:
      return cause;
    case BUSY:
    case LOCKED:
      return sessionError("session-db-locked", `${path} is locked by another process: ${text}.`, {
        hint: "Nothing was written. Wait for the other process or close it, then try again.",
        cause,
      });
    case READ_ONLY:
      return sessionError("session-db-read-only", `${path} cannot be written: ${text}.`, {
        hint: "Check the permissions of the file and its folder, or use a copy.",
        cause,
      });
    case FULL:
      return sessionError("session-db-full", `${path} cannot grow: ${text}.`, {
        hint: "Nothing of this step was written. Free some space and try again.",
        cause,
      });
    case IO:
      return sessionError("session-db-unavailable", `Reading or writing ${path} failed: ${text}.`, {
        hint: "Check the disk (space, quota, network mount) and try again. Nothing of this step was written.",
        cause,
      });
    case CORRUPT:
      return sessionError("session-db-damaged", `${path} is damaged: ${text}.`, {
        hint: "Run 'hermes sessions repair'; it makes a backup first.",
        cause,
      });
    case NOT_A_DATABASE:
      return sessionError("session-db-not-sqlite", `${path} is not a SQLite database.`, {
        hint: "Nothing was changed. 'hermes sessions repair --check-only' tells whether conversations can still be read from it; if not, move the file away, or point HERMES_HOME at another folder.",
        cause,
      });
    default:
      return sessionError("session-db-unavailable", `${path} cannot be used: ${text}.`, {
        hint: "Check that the path is a file in a folder you may write to, or run 'hermes sessions repair'.",
        cause,
      });
  }
}

/** Limits of SQLite that user input can reach; the file is sound. */
function isRefusedQuery(cause: unknown): boolean {
  const limits = /too complex|tree is too large|stack overflow|^fts5: /i;
  return primaryCode(cause) === ERROR && limits.test(describeCause(cause));
}

function primaryCode(cause: unknown): number | undefined {
  const code = sqliteCode(cause);
  return code === undefined ? undefined : code & 0xff;
}
