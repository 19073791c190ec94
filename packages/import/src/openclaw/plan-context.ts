// What the planners of all options share: the items and operations that they return, the request, the source, the folder of the run, and
// what earlier runs left there.
import { isUtf8 } from "node:buffer";
import { readFileSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { HermesConfig } from "@hermes-memory/core/internal/config";
import type { MemoryStore, MemoryTarget } from "@hermes-memory/core/internal/curated";
import { describeCause, isWithin, type Result } from "@hermes-memory/core/internal/lib";
import {
  maskStoredSecrets,
  SECRET_THREAT_IDS,
  scanThreats,
  secondGate,
} from "@hermes-memory/core/internal/security";
import type { MarkdownRules } from "../transcripts/kit/markdown.ts";
import { jsonOf } from "../transcripts/kit/values.ts";
import type { IsGenerated, OpenClawSource, Surroundings, Workspace } from "./discover.ts";
import type { Selection } from "./options.ts";
import type { Redactor } from "./secrets.ts";
import { distinct, realpathOf, type SourceFile } from "./source-files.ts";

// ---- Items and operations ----

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
  /** Relative to the archive folder, with `/`. */
  readonly name: string;
  /** Already without credentials. */
  readonly content: () => Uint8Array;
};

export type PlannedItem = { readonly item: Item; readonly operation?: Operation | undefined };

/** An item, with what applying does for it. */
export function planned(
  kind: string,
  status: Status,
  reason: string,
  more: Partial<Pick<Item, "source" | "destination" | "details">> & Pick<PlannedItem, "operation"> = {},
): PlannedItem {
  const { source = null, destination = null, details = {}, operation } = more;
  return { item: { kind, source, destination, status, reason, details, sensitive: false }, operation };
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

// ---- The request ----

type SkillConflict = "skip" | "overwrite" | "rename";

export type MigrationRequest = {
  /** The OpenClaw folder. */
  readonly sourceRoot: string;
  readonly home: string;
  readonly selection: Selection;
  readonly isOverwriting: boolean;
  readonly withSecrets: boolean;
  readonly skillConflict: SkillConflict;
  readonly isRebranding: boolean;
  readonly parser: MarkdownRules;
  readonly workspaceTarget?: string;
  readonly outputDirectory?: string;
  readonly agent?: string;
};

export type MigrationDeps = Surroundings & {
  /** Not loaded: loading creates its directory. */
  readonly store: MemoryStore;
  readonly config: HermesConfig;
  readonly importSessions: ImportSessions;
  readonly now: Date;
};

export type PlanContext = {
  readonly request: MigrationRequest;
  readonly deps: MigrationDeps;
  readonly source: OpenClawSource;
  readonly redactor: Redactor;
  /** The folder of this run. */
  readonly output: string;
  /** `archive` folders of this and earlier runs. */
  readonly archives: readonly string[];
  /** The entries as they will be after the items planned so far. */
  readonly entries: { memory: readonly string[]; user: readonly string[] };
  /** Destinations of skills that are planned, with the digest of what goes there. */
  readonly plannedSkills: Map<string, string>;
  /** Files that nobody changed since OpenClaw made them are no one's words, and are left out. */
  readonly isGenerated: IsGenerated;
};

const ARCHIVED_REASON = "Hermes has no direct place for it; it is kept for review";

// ---- Looking for a file in the workspaces ----

export type FoundFile = { readonly path: string; readonly workspace: Workspace };

/** The file in the first workspace that has it, and those that have it too. */
export function findFiles({ source, isGenerated }: PlanContext, names: readonly string[]): FoundFile[] {
  const found = source.workspaces.flatMap((workspace) =>
    names.flatMap((name) => {
      const path = join(workspace.path, name);
      const text = source.files.read(path, workspace.path);
      const isLeftOut = text.ok && (text.value === undefined || isGenerated(name, text.value));
      return isLeftOut ? [] : [{ path, workspace }];
    }),
  );
  return distinct(found); // MEMORY.md and memory.md are one file where case does not count
}

/** The first workspace that has this folder. */
export function findFolder({ source }: PlanContext, name: string): FoundFile | undefined {
  for (const workspace of source.workspaces) {
    const path = join(workspace.path, name);
    if (workspace.hasFolders && source.files.isFolderIn(path, workspace.path)) return { path, workspace };
  }
  return undefined;
}

/** One `skipped` item for each file of a workspace that was not chosen. */
export function unusedFiles(kind: string, files: readonly FoundFile[]): PlannedItem[] {
  return files.map(({ path, workspace: { agent } }) => {
    const how = agent === undefined ? "" : `; '--agent ${agent}' chooses this one`;
    return planned(kind, "skipped", `Another workspace's file is used${how}`, { source: path });
  });
}

// ---- Archiving ----

const TOLD_FAILURES = 5;

/**
 * An item whose files are copied to the archive; `skipped` when an archive has them already. Files that cannot be read make it an
 * `error`, and the others are copied all the same.
 */
export function archiveItem(
  context: PlanContext,
  kind: string,
  { source, name: place, files, reason = ARCHIVED_REASON, details = {} }: ToArchive,
): PlannedItem {
  const where = { source, destination: join(context.output, "archive", place) };
  const failures: string[] = [];
  const missing = files.filter(({ name, content }) => {
    try {
      return !isArchived(context, name, content());
    } catch (cause) {
      failures.push(files.length === 1 ? describeCause(cause) : `${name}: ${describeCause(cause)}`);
      return false;
    }
  });
  const rest = failures.length > TOLD_FAILURES ? [`and ${failures.length - TOLD_FAILURES} more`] : [];
  const told = [...failures.slice(0, TOLD_FAILURES), ...rest].join("; ");
  if (missing.length === 0 && told === "")
    return planned(kind, "skipped", `Already archived. ${reason}`, { ...where, details });
  if (missing.length === 0) return planned(kind, "error", told, { ...where, details });
  const more = { ...where, details: { ...details, files: missing.length } };
  const operation = { action: "archive" as const, files: missing };
  return planned(kind, told === "" ? "archived" : "error", told || reason, { ...more, operation });
}

type ToArchive = {
  readonly source: string;
  /** The file or folder in the archive. */
  readonly name: string;
  readonly files: readonly ArchivedFile[];
  readonly reason?: string;
  readonly details?: Readonly<Record<string, unknown>>;
};

/** A file of the source for the archive. Credentials in it are replaced: `--migrate-secrets` is about `.env` only. */
export function archivedCopy(
  context: PlanContext,
  file: SourceFile,
  bound: string,
  name: string,
): ArchivedFile {
  return {
    name: safeName(name),
    content: () => {
      const bytes = context.source.files.read(file.path, bound);
      if (!bytes.ok || bytes.value === undefined)
        throw new Error(bytes.ok ? "The file is gone" : bytes.error);
      return withoutSecrets(context, bytes.value, file.name);
    },
  };
}

/** A file of the source with its place in the archive. */
export function toArchive(context: PlanContext, path: string, bound: string) {
  const name = archiveName(context, path);
  return { source: path, name, files: [archivedCopy(context, { path, name: basename(path) }, bound, name)] };
}

/** Why an item is in the archive that could have been more. */
export function forReview(findings: readonly string[]): string {
  return `The safety scan found ${findings.join(", ")}; it is kept for review`;
}

/** Where a file goes in the archive: its path below the source, or `external/<name>`. */
export function archiveName({ source, request }: PlanContext, path: string): string {
  const root = realpathOf(source.root) ?? source.root;
  const real = realpathOf(path) ?? path;
  const isInside = isWithin(root, real);
  const inner = isInside ? relative(root, real) : join("external", request.agent ?? "", basename(real));
  return safeName(inner.split(/[/\\]/).join("/"));
}

/** Control characters of a hostile file name would reach terminals. */
function safeName(name: string): string {
  return name.replace(/[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g, "_");
}

function withoutSecrets({ redactor }: PlanContext, bytes: Buffer, name: string): Uint8Array {
  if (isUtf8(bytes)) {
    const text = bytes.toString("utf8");
    const masked = redactor.text(maskStoredSecrets(withoutSecretFields(redactor, text, name)).text);
    return masked === text ? bytes : Buffer.from(masked);
  }
  const text = bytes.toString("latin1");
  const hasSecret = redactor.holdsKnownSecret(text) || redactor.text(text) !== text;
  if (hasSecret) return Buffer.from("[This file holds something like a credential and was not copied.]\n");
  return bytes;
}

/** In JSON, the name of a field says what a pattern cannot know. The text stays as it is where there is none. */
function withoutSecretFields(redactor: Redactor, text: string, name: string): string {
  const value = /\.json$/i.test(name) ? jsonOf(text) : undefined;
  const redacted = redactor.json(value);
  return isDeepStrictEqual(value, redacted) ? text : `${JSON.stringify(redacted, null, 2)}\n`;
}

function isArchived({ archives }: PlanContext, name: string, content: Uint8Array): boolean {
  return archives.some((archive) => {
    try {
      return readFileSync(join(archive, name)).equals(content);
    } catch {
      return false; // not there, or not readable: then it is archived once more
    }
  });
}

// ---- Scanning ----

/** Ids of what makes a text unfit for a prompt. */
export function findingsIn(
  text: string,
  scope: "context" | "strict",
  { redactor, allowSecrets }: { readonly redactor: Redactor; readonly allowSecrets: boolean },
): string[] {
  const threats = scanThreats(text, scope, { allow: allowSecrets ? SECRET_THREAT_IDS : [] });
  const gate = secondGate(text, { allowSecrets });
  const known = !allowSecrets && redactor.holdsKnownSecret(text) ? ["known_secret"] : [];
  return [...new Set([...threats, ...gate].map(({ id }) => id).concat(known))];
}
