// The words of curated memory: what can be asked, what comes back, what can go wrong.

export type MemoryTarget = "memory" | "user";

export const MEMORY_TARGETS: readonly MemoryTarget[] = ["memory", "user"];

export const DEFAULT_MEMORY_CHAR_LIMIT = 2200;
export const DEFAULT_USER_CHAR_LIMIT = 1375;

export type MemoryOp =
  | { readonly action: "add"; readonly content: string }
  | { readonly action: "replace"; readonly oldText: string; readonly content: string }
  | { readonly action: "remove"; readonly oldText: string };

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
  /** Present from 80 % usage on, and when this write could not exclude every other program. */
  readonly warning?: string;
  /** Entries that had to move to the archive to make room. */
  readonly archived?: readonly string[];
  /** Id of the journal line, when something was written. */
  readonly changeId?: string;
  /**
   * What it did to the file, entry by entry, with whole texts. Entries that moved to the archive only to make room are not among
   * them: they are kept.
   */
  readonly changes?: readonly { readonly before: string | null; readonly after: string | null }[];
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
  | { readonly kind: "ambiguous"; readonly message: string; readonly matches: readonly string[] }
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
