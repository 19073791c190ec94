// Plans SOUL.md, AGENTS.md and the memory: MEMORY.md, USER.md and the daily notes become entries of the curated files.
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import {
  fileNameOf,
  type MemoryTarget,
  readMemoryFile,
  targetPaths,
} from "@hermes-memory/core/internal/curated";
import { pyStrip, readTextFile } from "@hermes-memory/core/internal/lib";
import { DEFAULT_IDENTITY } from "@hermes-memory/core/internal/prompt";
import { maskStoredSecrets } from "@hermes-memory/core/internal/security";
import {
  collapsed,
  hasDroppedText,
  type IncomingEntry,
  markdownEntries,
} from "../transcripts/kit/markdown.ts";
import { listOf, recordOf, textOf } from "../transcripts/kit/values.ts";
import { mergeEntries, rebranded } from "./entries.ts";
import { itemOf, type PlannedItem } from "./operation.ts";
import {
  archivedCopy,
  archiveItem,
  archiveName,
  type FoundFile,
  findFiles,
  findFolder,
  findingsIn,
  type PlanContext,
  unusedFiles,
} from "./plan-context.ts";
import { withoutTemplate } from "./templates.ts";

const DATE_IN_NAME = /(\d{4}-\d{2}-\d{2})/;
const PREVIEWED_ENTRIES = 5;

// ---- SOUL.md and AGENTS.md ----

export function planSoul(context: PlanContext): PlannedItem[] {
  const destination = join(context.request.home, "SOUL.md");
  return planDocument(context, {
    kind: "soul",
    name: "SOUL.md",
    destination,
    missing: "No OpenClaw SOUL.md found",
  });
}

export function planAgentsFile(context: PlanContext): PlannedItem[] {
  const { workspaceTarget } = context.request;
  const named = { kind: "workspace-agents", name: "AGENTS.md", missing: "Source file not found" };
  if (workspaceTarget !== undefined)
    return planDocument(context, { ...named, destination: join(workspaceTarget, named.name) });
  const [found] = findFiles(context, [named.name]);
  if (found === undefined) return [{ item: itemOf(named.kind, "skipped", named.missing) }];
  const reason = "No workspace target was provided; pass --workspace-target";
  return [{ item: itemOf(named.kind, "skipped", reason, { source: found.path }) }];
}

type Document = {
  readonly kind: string;
  readonly name: string;
  readonly destination: string;
  readonly missing: string;
};

function planDocument(context: PlanContext, { kind, name, destination, missing }: Document): PlannedItem[] {
  const { source, request } = context;
  const [found, ...others] = findFiles(context, [name]);
  if (found === undefined) return [{ item: itemOf(kind, "skipped", missing, { destination }) }];
  const where = { source: found.path, destination };
  const read = source.files.readText(found.path, found.workspace.path);
  if (!read.ok) return [{ item: itemOf(kind, "error", read.error, where) }];
  const given = request.isRebranding ? rebranded(read.value ?? "") : (read.value ?? "");
  // Credentials are left out below, so they are no reason to keep the whole file back.
  const findings = findingsIn(given, "context", { redactor: context.redactor, allowSecrets: true });
  if (findings.length > 0) {
    const reason = `The safety scan found ${findings.join(", ")}; it is kept for review`;
    const file = { path: found.path, name };
    const files = [archivedCopy(context, file, found.workspace.path, archiveName(context, found.path))];
    const archived = { source: found.path, name: archiveName(context, found.path), files };
    return [
      archiveItem(context, kind, archived, { reason, details: { findings } }),
      ...unusedFiles(kind, others),
    ];
  }
  const masked = maskStoredSecrets(given);
  const text = context.redactor.holdsKnownSecret(masked.text)
    ? context.redactor.text(masked.text)
    : masked.text;
  const details = text === given ? {} : { credentials_left_out: true };
  const present = readTextFile(destination);
  if (!present.ok) return [{ item: itemOf(kind, "error", `The target: ${present.error.reason}`, where) }];
  const isSeed =
    pyStrip(present.value ?? "") === "" || pyStrip(present.value ?? "") === pyStrip(DEFAULT_IDENTITY);
  const rest = unusedFiles(kind, others);
  if (present.value === text)
    return [{ item: itemOf(kind, "skipped", "Target already matches source", where) }, ...rest];
  if (!isSeed && !request.isOverwriting)
    return [{ item: itemOf(kind, "conflict", "Target exists and overwrite is disabled", where) }, ...rest];
  const operation = { action: "write-file" as const, path: destination, text, timesOf: found.path };
  return [{ item: itemOf(kind, "migrated", "Would copy", { ...where, details }), operation }, ...rest];
}

// ---- Entries ----

export function planMemory(context: PlanContext): PlannedItem[] {
  return planNotes(context, "memory", "memory", ["MEMORY.md", "memory.md"]);
}

export function planUserProfile(context: PlanContext): PlannedItem[] {
  return planNotes(context, "user-profile", "user", ["USER.md"]);
}

function planNotes(
  context: PlanContext,
  kind: string,
  target: MemoryTarget,
  names: readonly string[],
): PlannedItem[] {
  const found = findFiles(context, names);
  const [first] = found;
  const destination = destinationOf(context, target);
  if (first === undefined)
    return [{ item: itemOf(kind, "skipped", "Source file not found", { destination }) }];
  const used = found.filter(({ workspace }) => workspace === first.workspace);
  const notes = used.map((file) => readNotes(context, kind, file));
  const unused = unusedFiles(
    kind,
    found.filter((file) => !used.includes(file)),
  );
  const errors = notes.flatMap((each) => ("item" in each ? [each] : []));
  const incoming = notes.flatMap((each) => ("entries" in each ? each.entries : []));
  if (errors.length === notes.length) return [...errors, ...unused];
  const planned = planEntries(context, {
    kind,
    target,
    incoming,
    source: first.path,
    empty: "No importable entries found",
  });
  return [planned, ...errors, ...unused, ...keptOriginals(context, kind, used)];
}

type Notes = { readonly entries: readonly IncomingEntry[] } | PlannedItem;

function readNotes({ source, request }: PlanContext, kind: string, { path, workspace }: FoundFile): Notes {
  const read = source.files.readText(path, workspace.path);
  if (!read.ok) return { item: itemOf(kind, "error", read.error, { source: path }) };
  const text = withoutTemplate(read.value ?? "");
  const found = markdownEntries(text, request.parser);
  return {
    entries: request.isRebranding ? found.map((entry) => ({ ...entry, text: rebranded(entry.text) })) : found,
  };
}

/** The compatible parser drops code and tables, and what looks like a template may be none: then the file itself is kept too. */
function keptOriginals(context: PlanContext, kind: string, files: readonly FoundFile[]): PlannedItem[] {
  const isSmart = context.request.parser === "smart";
  return files.flatMap(({ path, workspace }) => {
    const text = context.source.files.readText(path, workspace.path);
    if (!text.ok || text.value === undefined) return [];
    const rest = withoutTemplate(text.value);
    const isCut = rest !== text.value;
    if (!isCut && (isSmart || !hasDroppedText(rest))) return [];
    const name = archiveName(context, path);
    const copy = archivedCopy(context, { path, name: basename(path) }, workspace.path, name);
    const reason = isCut
      ? "OpenClaw's explanations in it are no entries; the file is kept for review"
      : "Its code blocks and tables are no entries; the file is kept for review";
    return [archiveItem(context, kind, { source: path, name, files: [copy] }, { reason })];
  });
}

type EntriesWanted = {
  readonly kind: string;
  readonly target: MemoryTarget;
  readonly incoming: readonly IncomingEntry[];
  readonly source: string;
  readonly empty: string;
  readonly details?: Readonly<Record<string, unknown>>;
};

function planEntries(context: PlanContext, wanted: EntriesWanted): PlannedItem {
  const { kind, target, incoming, source, empty } = wanted;
  const { store } = context.deps;
  const destination = destinationOf(context, target);
  const where = { source, destination };
  if (incoming.length === 0) return { item: itemOf(kind, "skipped", empty, where) };
  if (!store.isEnabled(target)) {
    const key = target === "user" ? "memory.user_profile_enabled" : "memory.memory_enabled";
    return { item: itemOf(kind, "skipped", `${fileNameOf(target)} is switched off (${key})`, where) };
  }
  const file = readMemoryFile(destination);
  if (file.kind === "unreadable") return { item: itemOf(kind, "error", `The target: ${file.reason}`, where) };

  const earlier = importedBefore(context, target);
  const existing = context.entries[target];
  const present = new Set(existing.map(collapsed));
  const isRemoved = ({ text }: IncomingEntry): boolean =>
    earlier.has(collapsed(text)) && !present.has(collapsed(text));
  const fresh = incoming.filter((entry) => !isRemoved(entry));
  const { accepted, refused, ids } = screened(context, fresh);
  const limit = store.usage(target).limit;
  const merge = mergeEntries(existing, accepted, limit);
  const archived = new Set(store.archived(target).map(({ text }) => collapsed(text)));
  const overflow = merge.overflowed.filter((text) => !archived.has(collapsed(text)));
  const stem = kind.replaceAll("-", "_");
  const overflowFile = join(context.output, "overflow", `${stem}_overflow.txt`);
  const quarantineFile = join(context.output, "overflow", `${stem}_quarantine.txt`);
  const quarantine = refused.filter((text) => !isQuarantined(context, `${stem}_quarantine.txt`, text));
  const details = {
    ...wanted.details,
    existing_entries: existing.length,
    added_entries: merge.added.length,
    duplicate_entries: merge.duplicates,
    overflowed_entries: merge.overflowed.length,
    char_limit: limit,
    final_char_count: merge.finalChars,
    ...(merge.overflowed.length > 0 ? { partial: true } : {}),
    ...(refused.length > 0
      ? { refused_entries: refused.length, findings: ids, quarantine_file: quarantineFile }
      : {}),
    ...(fresh.length < incoming.length ? { removed_since_last_import: incoming.length - fresh.length } : {}),
  };
  const isNothing = merge.added.length === 0 && overflow.length === 0 && quarantine.length === 0;
  if (isNothing) return { item: itemOf(kind, "skipped", "No new entries to import", { ...where, details }) };
  context.entries[target] = [...existing, ...merge.added];
  const previewed = { ...details, overflow_preview: merge.overflowed.slice(0, PREVIEWED_ENTRIES) };
  const withFile = merge.overflowed.length > 0 ? { ...previewed, overflow_file: overflowFile } : previewed;
  const isOnlyRefused = merge.added.length === 0 && overflow.length === 0;
  const reason = isOnlyRefused
    ? `Would keep refused entries for review (${ids.join(", ")})`
    : reasonFor(kind);
  return {
    item: itemOf(kind, isOnlyRefused ? "archived" : "migrated", reason, { ...where, details: withFile }),
    operation: {
      action: "add-entries",
      target,
      entries: merge.added,
      overflow: merge.overflowed,
      overflowFile,
      quarantine: quarantine.length > 0 ? refused : [],
      quarantineFile,
    },
  };
}

function reasonFor(kind: string): string {
  return kind === "daily-memory" ? "Would merge daily memory entries" : "Would merge entries";
}

function destinationOf({ deps }: PlanContext, target: MemoryTarget): string {
  return targetPaths(deps.store.dir, target).file;
}

/** Entries that an earlier run added: one that is gone since was removed on purpose, and stays away. */
function importedBefore({ deps }: PlanContext, target: MemoryTarget): ReadonlySet<string> {
  const lines = deps.store.history({ target });
  const added = lines.filter(
    ({ origin, status }) => origin === "migration" && status !== "aborted" && status !== "refused",
  );
  return new Set(
    added.flatMap(({ changes }) =>
      changes.flatMap(({ after }) => (after === null ? [] : [collapsed(after)])),
    ),
  );
}

/** Entries that the store would refuse, without credentials. `ids` are the findings; the report never quotes such an entry. */
function screened(
  { deps, redactor }: PlanContext,
  incoming: readonly IncomingEntry[],
): { readonly accepted: IncomingEntry[]; readonly refused: string[]; readonly ids: string[] } {
  const accepted: IncomingEntry[] = [];
  const refused: string[] = [];
  const ids = new Set<string>();
  for (const entry of incoming) {
    const error = deps.store.check({ action: "add", content: entry.text });
    const isKnown = redactor.holdsKnownSecret(entry.text);
    if (error === undefined && !isKnown) accepted.push(entry);
    else if (error?.kind !== "empty") {
      for (const id of error?.kind === "blocked"
        ? error.ids
        : [isKnown ? "known_secret" : (error?.kind ?? "")])
        ids.add(id);
      refused.push(redactor.text(maskStoredSecrets(entry.text).text));
    }
  }
  return { accepted, refused, ids: [...ids] };
}

function isQuarantined({ archives }: PlanContext, name: string, text: string): boolean {
  return archives.some((archive) => {
    try {
      return readFileSync(join(archive, "..", "overflow", name), "utf8")
        .split("\n")
        .includes(oneLineOf(text));
    } catch {
      return false; // no such file in that run
    }
  });
}

/** Overflow files have one entry per line. */
export function oneLineOf(text: string): string {
  return text.replaceAll("\n", " ⏎ ");
}

// ---- Daily notes ----

export function planDailyMemory(context: PlanContext): PlannedItem[] {
  const kind = "daily-memory";
  const folder = findFolder(context, "memory");
  const destination = destinationOf(context, "memory");
  const skipped = (reason: string): PlannedItem[] => [
    { item: itemOf(kind, "skipped", reason, { source: folder?.path, destination }) },
    ...extraPaths(context),
  ];
  if (folder === undefined) return skipped("No workspace/memory/ directory found");
  // Machine state and reports of OpenClaw's own tidying are no facts.
  const isNote = (name: string): boolean => !/(?:^|\/)\.|^dreaming(?:\/|$)/.test(name);
  const tree = context.source.files.tree(folder.path, folder.workspace.path, isNote);
  const files = tree.files.filter(({ name }) => name.endsWith(".md"));
  if (files.length === 0) return skipped("No .md files found in workspace/memory/");
  const errors: PlannedItem[] = [];
  const incoming: IncomingEntry[] = [];
  for (const [index, { path, name }] of files.entries()) {
    const notes = readNotes(context, kind, { path, workspace: folder.workspace });
    if ("item" in notes) errors.push(notes);
    // The newest file comes first where space is short: names begin with the date.
    else incoming.push(...notes.entries.map((entry) => dated(context, name, { ...entry, priority: index })));
  }
  const empty = "No importable entries found in daily memory files";
  const details = { source_files: files.length };
  const planned = planEntries(context, {
    kind,
    target: "memory",
    incoming,
    source: folder.path,
    empty,
    details,
  });
  return [planned, ...errors, ...extraPaths(context)];
}

function dated({ request }: PlanContext, name: string, entry: IncomingEntry): IncomingEntry {
  const date = DATE_IN_NAME.exec(basename(name))?.[1];
  if (request.parser !== "smart" || date === undefined || entry.text.includes(date)) return entry;
  return { ...entry, text: `${date}: ${entry.text}` };
}

/** Folders with notes elsewhere, named in the config: listed, not read. */
function extraPaths({ source }: PlanContext): PlannedItem[] {
  const search = recordOf(recordOf(source.config.memory)?.search) ?? {};
  return listOf(search.extraPaths).flatMap((path) => {
    const named = textOf(path);
    const reason = "It is named in memory.search.extraPaths; 'hermes memory import' reads such notes";
    return named === undefined
      ? []
      : [{ item: itemOf("daily-memory", "skipped", reason, { source: named }) }];
  });
}
