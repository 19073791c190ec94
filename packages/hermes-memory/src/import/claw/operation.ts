// The vocabulary of the migration: an item of the report, and the operation that carries it out.
import type { MemoryTarget } from "@hermes-memory/core/internal/curated";

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

/** What the import of transcripts answers. The command line connects it to the session database. */
export type SessionsOutcome =
  | {
      readonly kind: "imported";
      readonly files: number;
      readonly sessionsAdded: number;
      readonly sessionsUpdated: number;
      readonly messagesAdded: number;
      readonly unchanged: number;
      readonly malformedLines: number;
      readonly errors: readonly string[];
    }
  | { readonly kind: "unavailable"; readonly reason: string };

/** `paths` are folders of one agent. With `isDryRun` nothing may be written. */
export type ImportSessions = (
  paths: readonly string[],
  options: { readonly isDryRun: boolean },
) => Promise<SessionsOutcome>;

/** The numbers of an import as fields of the report. */
export function sessionDetails(
  outcome: SessionsOutcome & { readonly kind: "imported" },
): Record<string, unknown> {
  return {
    files: outcome.files,
    sessions_added: outcome.sessionsAdded,
    sessions_updated: outcome.sessionsUpdated,
    messages_added: outcome.messagesAdded,
    unchanged: outcome.unchanged,
    malformed_lines: outcome.malformedLines,
    errors: outcome.errors,
  };
}
