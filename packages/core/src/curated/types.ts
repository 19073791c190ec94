// The types of curated memory: options, operations, their outcomes and their errors.
import { type Clock, err, type writeFileAtomic } from "../lib/index.ts";

/** One of the two curated files: `memory` is MEMORY.md (the agent's notes), `user` is USER.md (who the user is). */
export type MemoryTarget = "memory" | "user";

/** One step on the list: an entry is added (`before` null), removed (`after` null) or replaced in place. */
export type Change = {
  readonly at: number;
  readonly before: string | null;
  readonly after: string | null;
  /** For an entry that was merged into another one: the text of that one. */
  readonly into?: string;
};

export const MEMORY_TARGETS: readonly MemoryTarget[] = ["memory", "user"];

/** The default room of MEMORY.md, in code points. */
export const DEFAULT_MEMORY_CHAR_LIMIT = 2200;
/** The default room of USER.md, in code points. */
export const DEFAULT_USER_CHAR_LIMIT = 1375;

/** The directory of the curated files, their limits, and what writes may contain. */
export type MemoryStoreOptions = {
  readonly dir: string;
  readonly memoryCharLimit?: number;
  readonly userCharLimit?: number;
  /** Targets that config switched off: their writes are refused, their blocks not rendered. */
  readonly disabled?: readonly MemoryTarget[];
  readonly overflow?: "refuse" | "archive";
  /** Ids of the threat scanner and of the second gate that are never reported. */
  readonly scanAllow?: readonly string[];
  /** Texts that look like credentials may be stored; default false. */
  readonly allowSecrets?: boolean;
  readonly historyMaxBytes?: number;
  readonly historyKeep?: number;
  readonly lockTimeoutMs?: number;
  readonly clock?: Clock;
  /** Gets every line that goes to `warnings`, for a log. Never a memory text. */
  readonly log?: (line: string) => void;
  /** Replaces a file; for tests of failing disks. */
  readonly writeFile?: typeof writeFileAtomic;
};

/** One operation on a curated file. `oldText` is a part of the entry that is meant, unless `match` says otherwise. */
export type MemoryOp =
  | { readonly action: "add"; readonly content: string }
  | {
      readonly action: "replace";
      readonly oldText: string;
      readonly content: string;
      readonly match?: EntryMatch;
    }
  | { readonly action: "remove"; readonly oldText: string; readonly match?: EntryMatch };

/**
 * How `oldText` names an entry. Absent: the entry equal to it, else the one that contains it, else the one with that id.
 * `entry`: it is the whole text of an entry. `id`: it is the id of an entry.
 */
export type EntryMatch = "entry" | "id";

/** The part of an operation that names an entry. */
export type EntryName = { readonly oldText: string; readonly match?: EntryMatch };

/** Which part of the program changed memory. `external`: another program or the user wrote the file directly. */
export type WriteOrigin =
  | "cli"
  | "tool"
  /** A program that uses the library. */
  | "library"
  /** Facts that a model found in a chat. */
  | "extraction"
  | "review"
  | "curator"
  | "migration"
  /** `hermes memory import`, with the format of the notes: `import:claude-md`. */
  | `import:${string}`
  | "approval"
  /** The memory tool, called by an MCP client that was set up by name: `mcp:claude-code`. */
  | `mcp:${string}`
  | "external";

/** Who makes a write, in which session, and why: kept in the journal. */
export type WriteMeta = {
  readonly origin?: WriteOrigin;
  readonly sessionId?: string;
  readonly reason?: string;
  /** Shared by changes that can be taken back as one, such as those of one curator run. */
  readonly group?: string;
};

/** A tidying step on whole entries. Valid while every text it names is stored and no entry to remove is pinned. */
export type MemoryCuration = {
  /** Entries to remove. When empty, only identical copies in the file are removed. */
  readonly remove: readonly string[];
  /** Takes the place of the first removed entry. */
  readonly text?: string;
  /** Entries that must be stored and stay: without them the step would lose information. */
  readonly keep?: readonly string[];
  /** Removed entries are kept in the archive. */
  readonly isArchived?: boolean;
};

/** The file after a write: its entries, how full it is, and a warning if there is one. */
export type MemoryOpOutcome = {
  readonly target: MemoryTarget;
  readonly message: string;
  readonly entries: readonly string[];
  readonly entryCount: number;
  readonly usedChars: number;
  readonly charLimit: number;
  /** Present from 80 % usage on, when the lock could not exclude every other program, and when a step after the write failed. */
  readonly warning?: string;
  /** Entries that had to move to the archive to make room. */
  readonly archived?: readonly string[];
  /** Whole texts that were removed or replaced by this change, without those in `archived`. */
  readonly removed?: readonly string[];
  /** The steps on the list, with whole texts. */
  readonly changes?: readonly Change[];
  /** Ids of the changes that led from the given id to the entry it means now. */
  readonly followed?: readonly string[];
  /** Id of the journal line, when something was written. */
  readonly changeId?: string;
  /** The entries in `archived` moved only to make room, so a mirror of memory keeps them. */
  readonly madeRoom?: true;
};

/** A write that changed a file. A mirror of memory repeats exactly these. */
export type CommittedWrite = {
  readonly target: MemoryTarget;
  /** `oldText` is the whole former entry, not the part it was found by. */
  readonly op: MemoryOp;
  readonly changeId: string;
};

/** Why a curated write was refused. `kind` tells the cases apart; `message` is for people and models. */
export type MemoryError = Error & MemoryErrorFields;

/** A `MemoryError` before it is one. */
export type MemoryErrorFields =
  | { readonly kind: "blocked"; readonly message: string; readonly ids: readonly string[] }
  | {
      readonly kind: "drift";
      readonly message: string;
      readonly backup: string;
      readonly remediation: string;
    }
  | {
      readonly kind: "ambiguous";
      readonly message: string;
      readonly matches: readonly string[];
      /** The same entries, whole. */
      readonly entries: readonly string[];
    }
  | {
      readonly kind: "over_limit";
      readonly message: string;
      readonly currentEntries: readonly string[];
      readonly usedChars: number;
      readonly charLimit: number;
    }
  | {
      readonly kind:
        | "empty"
        | "no_match"
        | "bad_target"
        | "bad_action"
        | "missing_arg"
        | "invalid_content"
        | "denied"
        | "io"
        | "locked"
        | "disabled";
      readonly message: string;
    };

/** The cases of `MemoryError`. */
export type MemoryErrorKind = MemoryError["kind"];

/** All fields are enumerable, the message too, so that JSON and copies have them. */
export function memoryError<Fields extends MemoryErrorFields>(fields: Fields): Error & Fields {
  return Object.assign(new Error(), fields);
}

/** A `Result` with this `MemoryError`. */
export function refused<Fields extends MemoryErrorFields>(
  fields: Fields,
): { readonly ok: false; readonly error: Error & Fields } {
  return err(memoryError(fields));
}
