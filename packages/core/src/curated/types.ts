// The words of curated memory: what can be asked, what comes back, what can go wrong.

export type MemoryTarget = "memory" | "user";

/** One step on the list: an entry comes (`before` null), goes (`after` null) or is exchanged in place. */
export type Change = {
  readonly at: number;
  readonly before: string | null;
  readonly after: string | null;
  /** Of an entry that goes because another one says it now: that one's text. */
  readonly into?: string;
};

export const MEMORY_TARGETS: readonly MemoryTarget[] = ["memory", "user"];

export const DEFAULT_MEMORY_CHAR_LIMIT = 2200;
export const DEFAULT_USER_CHAR_LIMIT = 1375;

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
 * `entry`: the whole text of an entry, and nothing else. `id`: the id of an entry.
 */
export type EntryMatch = "entry" | "id";

/** The part of an operation that names an entry. */
export type EntryName = { readonly oldText: string; readonly match?: EntryMatch };

/** Who changed memory. `external` is a program or a person that wrote the file without us. */
export type WriteOrigin = "cli" | "tool" | "review" | "curator" | "migration" | "approval" | "external";

export type WriteMeta = {
  readonly origin?: WriteOrigin;
  readonly sessionId?: string;
  readonly reason?: string;
  /** Ties changes that belong together and can be taken back as one, such as those of one curator run. */
  readonly group?: string;
};

/** A tidying step on whole entries. It only holds while every text it names is stored and none that goes is pinned. */
export type MemoryCuration = {
  /** Entries that go. None at all: only identical copies in the file go. */
  readonly remove: readonly string[];
  /** Takes the place of the first of them. */
  readonly text?: string;
  /** Entries that stay, and without which the step would lose something. */
  readonly keep?: readonly string[];
  /** What goes is kept in the archive. */
  readonly isArchived?: boolean;
};

export type MemoryOpOutcome = {
  readonly target: MemoryTarget;
  readonly message: string;
  readonly entries: readonly string[];
  readonly entryCount: number;
  readonly usedChars: number;
  readonly charLimit: number;
  /** Present from 80 % usage on, when this write could not exclude every other program, and when something went wrong beside it. */
  readonly warning?: string;
  /** Entries that had to move to the archive to make room. */
  readonly archived?: readonly string[];
  /** Texts that left the file by this change, whole; also those that were replaced, but not those in `archived`. */
  readonly removed?: readonly string[];
  /** What was done to the list, step by step, with whole texts. */
  readonly changes?: readonly Change[];
  /** Ids of the changes that led from the id that was asked for to the entry it stands for now. */
  readonly followed?: readonly string[];
  /** Id of the journal line, when something was written. */
  readonly changeId?: string;
  /** The entries in `archived` moved only to make room, so whoever mirrors this change keeps them. */
  readonly madeRoom?: true;
};

/** A write that changed a file. Whoever mirrors memory elsewhere mirrors these and nothing else. */
export type CommittedWrite = {
  readonly target: MemoryTarget;
  /** `oldText` is the whole entry as it was, not the part it was found by. */
  readonly op: MemoryOp;
  readonly changeId: string;
};

export type MemoryError =
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

export type MemoryErrorKind = MemoryError["kind"];
