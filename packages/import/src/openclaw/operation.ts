// The vocabulary of the migration: an item of the report, and the operation that carries it out.
import type { MemoryTarget } from "@hermes-memory/core/internal/curated";
import type { Result } from "@hermes-memory/core/internal/lib";

export type Status = "migrated" | "archived" | "skipped" | "conflict" | "error";

/** One line of the report. The field names are those of `report.json`. */
export type Item = {
  readonly kind: string;
  readonly source: string | null;
  readonly destination: string | null;
  readonly status: Status;
  readonly reason: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly sensitive: boolean;
};

/** Everything that the migration can write. The preview prints the items; applying executes exactly these. */
export type Operation =
  | {
      readonly action: "write-file";
      readonly path: string;
      readonly text: string;
      /** The file whose times the new one gets. */
      readonly timesOf?: string;
    }
  | {
      readonly action: "add-entries";
      readonly target: MemoryTarget;
      readonly entries: readonly string[];
      /** Entries without room: they go to the archive of memory and to `overflowFile`. */
      readonly overflow: readonly string[];
      readonly overflowFile: string;
      /** Entries that the scan refused, without credentials; kept for review in `quarantineFile`. */
      readonly quarantine: readonly string[];
      readonly quarantineFile: string;
    }
  | {
      readonly action: "copy-skill";
      readonly to: string;
      readonly files: readonly { readonly path: string; readonly name: string }[];
      /** Bounds of the source, so that no link leads out of it. */
      readonly bound: string;
    }
  | { readonly action: "archive"; readonly files: readonly ArchivedFile[] }
  /** The values are secrets: an operation is never printed. */
  | { readonly action: "set-env"; readonly values: ReadonlyMap<string, string> }
  | {
      readonly action: "set-config";
      readonly changes: readonly { readonly key: string; readonly value: unknown }[];
    }
  | { readonly action: "import-sessions"; readonly paths: readonly string[] };

export type ArchivedFile = {
  readonly to: string;
  /** Already without credentials. */
  readonly content: () => Uint8Array;
};

export type PlannedItem = { readonly item: Item; readonly operation?: Operation };

export function itemOf(
  kind: string,
  status: Status,
  reason: string,
  more: Partial<Pick<Item, "source" | "destination" | "details">> = {},
): Item {
  const { source = null, destination = null, details = {} } = more;
  return { kind, source, destination, status, reason, details, sensitive: false };
}

/** Counts of an import of transcripts, as fields of the report. */
type SessionsDetails = {
  readonly files: number;
  readonly sessions_added: number;
  readonly sessions_updated: number;
  readonly messages_added: number;
  readonly unchanged: number;
  readonly malformed_lines: number;
  readonly errors: readonly string[];
};

/** `paths` are folders of one agent. With `isDryRun` nothing may be written. The command line connects it to the session database. */
export type ImportSessions = (
  paths: readonly string[],
  options: { readonly isDryRun: boolean },
) => Promise<Result<SessionsDetails, string>>;
