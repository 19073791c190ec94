// Plans SOUL.md, AGENTS.md and the memory: MEMORY.md, USER.md and the daily notes become entries of the curated files.
import { basename, join } from "node:path";
import {
  ENTRY_DELIMITER,
  fileNameOf,
  type MemoryTarget,
  measure,
  readMemoryFile,
  targetPaths,
} from "@hermes-memory/core/internal/curated";
import { pyStrip, readTextFile } from "@hermes-memory/core/internal/lib";
import { DEFAULT_IDENTITY } from "@hermes-memory/core/internal/prompt";
import { maskStoredSecrets } from "@hermes-memory/core/internal/security";
import { memoryFiles } from "../notes/markdown.ts";
import { type NoteStatus, type NotesStore, type PlannedNote, planNotes } from "../notes/plan-notes.ts";
import {
  collapsed,
  hasDroppedText,
  type IncomingEntry,
  type Line,
  linesOf,
  markdownEntries,
  SPACE,
  WORD,
} from "../transcripts/kit/markdown.ts";
import { listOf, recordOf, textOf } from "../transcripts/kit/values.ts";
import {
  archiveItem,
  type FoundFile,
  findFiles,
  findFolder,
  findingsIn,
  forReview,
  type PlanContext,
  type PlannedItem,
  planned,
  toArchive,
  unusedFiles,
} from "./plan-context.ts";

const DATE_IN_NAME = /(\d{4}-\d{2}-\d{2})/;
const PREVIEWED_ENTRIES = 5;

// ---- SOUL.md and AGENTS.md ----

export function planSoul(context: PlanContext): PlannedItem[] {
  const destination = join(context.request.home, "SOUL.md");
  const missing = "No OpenClaw SOUL.md found";
  return planDocument(context, { kind: "soul", name: "SOUL.md", destination, missing });
}

export function planAgentsFile(context: PlanContext): PlannedItem[] {
  const { workspaceTarget } = context.request;
  const named = { kind: "workspace-agents", name: "AGENTS.md", missing: "Source file not found" };
  if (workspaceTarget !== undefined)
    return planDocument(context, { ...named, destination: join(workspaceTarget, named.name) });
  const [found] = findFiles(context, [named.name]);
  if (found === undefined) return [planned(named.kind, "skipped", named.missing)];
  const reason = "No workspace target was provided; pass --workspace-target";
  return [planned(named.kind, "skipped", reason, { source: found.path })];
}

type Document = Readonly<Record<"kind" | "name" | "destination" | "missing", string>>;

function planDocument(context: PlanContext, { kind, name, destination, missing }: Document): PlannedItem[] {
  const { source, request } = context;
  const [found, ...others] = findFiles(context, [name]);
  if (found === undefined) return [planned(kind, "skipped", missing, { destination })];
  const where = { source: found.path, destination };
  const read = source.files.readText(found.path, found.workspace.path);
  if (!read.ok) return [planned(kind, "error", read.error, where)];
  const given = request.isRebranding ? rebranded(read.value ?? "") : (read.value ?? "");
  // Credentials are left out below, so they are no reason to keep the whole file back.
  const findings = findingsIn(given, "context", { redactor: context.redactor, allowSecrets: true });
  if (findings.length > 0) {
    const archived = toArchive(context, found.path, found.workspace.path);
    const about = { reason: forReview(findings), details: { findings } };
    return [archiveItem(context, kind, { ...archived, ...about }), ...unusedFiles(kind, others)];
  }
  const masked = maskStoredSecrets(given);
  const text = context.redactor.holdsKnownSecret(masked.text)
    ? context.redactor.text(masked.text)
    : masked.text;
  const details = text === given ? {} : { credentials_left_out: true };
  const present = readTextFile(destination);
  if (!present.ok) return [planned(kind, "error", `The target: ${present.error.reason}`, where)];
  const isSeed = ["", pyStrip(DEFAULT_IDENTITY)].includes(pyStrip(present.value ?? ""));
  const rest = unusedFiles(kind, others);
  if (present.value === text)
    return [planned(kind, "skipped", "Target already matches source", where), ...rest];
  if (!isSeed && !request.isOverwriting)
    return [planned(kind, "conflict", "Target exists and overwrite is disabled", where), ...rest];
  const operation = { action: "write-file" as const, path: destination, text, timesOf: found.path };
  return [planned(kind, "migrated", "Would copy", { ...where, details, operation }), ...rest];
}

// ---- Entries ----

export function planMemory(context: PlanContext): PlannedItem[] {
  return planNoteFiles(context, "memory", "memory", ["MEMORY.md", "memory.md"]);
}

export function planUserProfile(context: PlanContext): PlannedItem[] {
  return planNoteFiles(context, "user-profile", "user", ["USER.md"]);
}

function planNoteFiles(
  context: PlanContext,
  kind: string,
  target: MemoryTarget,
  names: readonly string[],
): PlannedItem[] {
  const found = findFiles(context, names);
  const [first] = found;
  const destination = destinationOf(context, target);
  if (first === undefined) return [planned(kind, "skipped", "Source file not found", { destination })];
  const used = found.filter(({ workspace }) => workspace === first.workspace);
  const notes = used.map((file) => readNotes(context, kind, file));
  const others = found.filter((file) => !used.includes(file));
  const unused = unusedFiles(kind, others);
  const errors = notes.flatMap((each) => ("item" in each ? [each] : []));
  const incoming = notes.flatMap((each) => ("entries" in each ? each.entries : []));
  if (errors.length === notes.length) return [...errors, ...unused];
  const empty = "No importable entries found";
  const entries = planEntries(context, { kind, target, incoming, source: first.path, empty });
  return [...entries, ...errors, ...unused, ...keptOriginals(context, kind, used)];
}

type Notes = { readonly entries: readonly IncomingEntry[] } | PlannedItem;

function readNotes({ source, request }: PlanContext, kind: string, { path, workspace }: FoundFile): Notes {
  const read = source.files.readText(path, workspace.path);
  if (!read.ok) return planned(kind, "error", read.error, { source: path });
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
    const reason = isCut
      ? "OpenClaw's explanations in it are no entries; the file is kept for review"
      : "Its code blocks and tables are no entries; the file is kept for review";
    return [archiveItem(context, kind, { ...toArchive(context, path, workspace.path), reason })];
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

/** The entries with a place in the file, and what the store refuses as a file of the archive. */
function planEntries(context: PlanContext, wanted: EntriesWanted): PlannedItem[] {
  const { kind, target, incoming, source, empty } = wanted;
  const { store } = context.deps;
  const destination = destinationOf(context, target);
  const where = { source, destination };
  if (incoming.length === 0) return [planned(kind, "skipped", empty, where)];
  if (!store.isEnabled(target)) {
    const key = target === "user" ? "memory.user_profile_enabled" : "memory.memory_enabled";
    return [planned(kind, "skipped", `${fileNameOf(target)} is switched off (${key})`, where)];
  }
  const file = readMemoryFile(destination);
  if (file.kind === "unreadable") return [planned(kind, "error", `The target: ${file.reason}`, where)];

  const existing = context.entries[target];
  const plan = planNotes(
    [{ path: source, format: memoryFiles, notes: incoming, remarks: [] }],
    storeAsPlanned(context),
    // An entry that an earlier run added and that is gone since was removed on purpose, and stays away.
    { target, again: false, isImport: ({ origin }) => origin === "migration" },
  );
  const textsWith = (...statuses: readonly NoteStatus[]): string[] =>
    plan.filter(({ status }) => statuses.includes(status)).map(({ text }) => text);
  const added = textsWith("add");
  const overflowed = textsWith("over_budget", "too_long");
  const refused = plan.filter(({ status }) => status === "blocked" || status === "invalid");
  const findings = [...new Set(refused.flatMap(({ ids = ["invalid"] }) => ids))];
  const removed = textsWith("removed").length;
  const archived = new Set(store.archived(target).map(({ text }) => collapsed(text)));
  const { limit } = store.usage(target);
  const details = {
    ...wanted.details,
    existing_entries: existing.length,
    added_entries: added.length,
    duplicate_entries: textsWith("duplicate").length,
    overflowed_entries: overflowed.length,
    char_limit: limit,
    final_char_count: measure([...existing, ...added], limit).used,
    ...(overflowed.length > 0 ? { partial: true } : {}),
    ...(refused.length > 0 ? { refused_entries: refused.length, findings } : {}),
    ...(removed > 0 ? { removed_since_last_import: removed } : {}),
  };
  const kept = refused.length === 0 ? [] : [refusedEntries(context, kind, source, refused, findings)];
  if (added.length === 0 && overflowed.every((text) => archived.has(collapsed(text))))
    return [planned(kind, "skipped", "No new entries to import", { ...where, details }), ...kept];
  context.entries[target] = [...existing, ...added];
  const overflowFile = join(context.output, "overflow", `${kind.replaceAll("-", "_")}_overflow.txt`);
  const previewed = { ...details, overflow_preview: overflowed.slice(0, PREVIEWED_ENTRIES) };
  const withFile = overflowed.length > 0 ? { ...previewed, overflow_file: overflowFile } : previewed;
  const entries = { action: "add-entries" as const, target, entries: added };
  const operation = { ...entries, overflow: overflowed, overflowFile };
  const reason = kind === "daily-memory" ? "Would merge daily memory entries" : "Would merge entries";
  return [planned(kind, "migrated", reason, { ...where, details: withFile, operation }), ...kept];
}

function destinationOf({ deps }: PlanContext, target: MemoryTarget): string {
  return targetPaths(deps.store.dir, target).file;
}

/** The store as it will be after the items planned so far; it also refuses what OpenClaw keeps as a secret. */
function storeAsPlanned({ deps: { store }, entries, redactor }: PlanContext): NotesStore {
  return {
    readEntries: (target) => [...entries[target]],
    archived: () => store.archived(),
    usage: (target) => store.usage(target),
    isEnabled: (target) => store.isEnabled(target),
    history: () => store.history().filter(({ status }) => status !== "aborted" && status !== "refused"),
    check: (op) => {
      const error = store.check(op);
      const isKnown = op.action === "add" && redactor.holdsKnownSecret(op.content);
      if (!isKnown || error?.kind === "blocked") return error;
      return Object.assign(new Error("It holds a secret"), {
        kind: "blocked" as const,
        ids: ["known_secret"],
      });
    },
  };
}

/** Without credentials; the report names the findings and never quotes such an entry. */
function refusedEntries(
  context: PlanContext,
  kind: string,
  source: string,
  refused: readonly PlannedNote[],
  findings: readonly string[],
): PlannedItem {
  const { redactor } = context;
  const texts = refused.map(({ text }) => redactor.text(maskStoredSecrets(text).text));
  const name = `entries-for-review/${kind}.md`;
  const files = [{ name, content: () => Buffer.from(`${texts.join(ENTRY_DELIMITER)}\n`) }];
  return archiveItem(context, kind, { source, name, files, reason: forReview(findings) });
}

// ---- Daily notes ----

export function planDailyMemory(context: PlanContext): PlannedItem[] {
  const kind = "daily-memory";
  const folder = findFolder(context, "memory");
  const destination = destinationOf(context, "memory");
  const skipped = (reason: string): PlannedItem[] => [
    planned(kind, "skipped", reason, { source: folder?.path, destination }),
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
  const wanted = { kind, target: "memory", incoming, source: folder.path, empty, details } as const;
  return [...planEntries(context, wanted), ...errors, ...extraPaths(context)];
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
    return named === undefined ? [] : [planned("daily-memory", "skipped", reason, { source: named })];
  });
}

// ---- The text of entries ----

const BRAND = new RegExp(`(?<!${WORD})(?:open(?:${SPACE}|-)?claw|clawdbot|moltbot)(?!${WORD})`, "giu");
/** A URL would lead nowhere and a command would fail under another name. (The scheme is bounded: a long word would take minutes.) */
const KEPT = /`[^`\n]*`|[a-z][a-z0-9+.-]{0,30}:\/\/[^\s<>"')\]]+/giu;

/** OpenClaw and its older names become Hermes. URLs and code in backticks stay. */
export function rebranded(text: string): string {
  let result = "";
  let at = 0;
  for (const kept of text.matchAll(KEPT)) {
    result += renamed(text.slice(at, kept.index)) + kept[0];
    at = kept.index + kept[0].length;
  }
  return result + renamed(text.slice(at));
}

function renamed(text: string): string {
  return text.replace(BRAND, (name) => (name === name.toLowerCase() ? "hermes" : "Hermes"));
}

// ---- Templates ----
// In a file that was filled in, the rest of OpenClaw's template is known by its form: blank fields, hints in italics, examples, links to
// its manual.

/** The line above a directive: `<!-- observed: 2026-03-01 | status: active -->`. */
const MARK = /^\s*<!--\s*observed:\s*(\S+)[^>]*-->\s*$/;
const SUPERSEDED = /status:\s*superseded/;
const DATED = /observed:\s*\d{4}-\d{2}-\d{2}/;
const PLACEHOLDER = /(?:\.{3}|\u2026)\s*$/;
const FIELD = /^\s*(?:[-*+]\s+)?\*\*[^*]+:\*\*(.*)$/;
const HINT = /^\s*(?:_[^_].*_|\*[^*\s][^*]*\*|\(.*\))\s*$/;
const MANUAL_LINK = /^\s*[-*+]\s+\[[^\]]*\]\(\/[^)]*\)\s*$/;

/** The same text where it holds nothing of a template. */
function withoutTemplate(markdown: string): string {
  const lines = linesOf(markdown);
  const kept = withoutFooter(sectionsOf(lines).flatMap(ofUser), lines);
  return kept.length === lines.length ? markdown : kept.map(({ raw }) => raw).join("\n");
}

function sectionsOf(lines: readonly Line[]): Line[][] {
  const sections: Line[][] = [[]];
  for (const line of lines) {
    if (line.kind === "heading") sections.push([]);
    sections.at(-1)?.push(line);
  }
  return sections;
}

/**
 * A section with a mark that has no date explains how directives are written: only fields and directives in it are the user's.
 * In other sections with marks, prose before the first mark is the explanation. A superseded directive ends at the next blank line.
 */
function ofUser(section: readonly Line[]): Line[] {
  const isExplaining = section.some(({ raw }) => MARK.test(raw) && !DATED.test(raw));
  const hasMarks = section.some(({ raw, kind }) => MARK.test(raw) && kind !== "code");
  let mark: string | undefined;
  let hasText = false;
  return section.filter(({ raw, kind }, at) => {
    const isCode = kind === "code";
    if (!isCode && MARK.test(raw)) {
      mark = raw;
      hasText = false;
      return false;
    }
    if (kind === "blank" && hasText && SUPERSEDED.test(mark ?? "")) mark = "";
    if (kind === "blank" || kind === "heading") return true;
    if (!isCode && isLeftBlank(section, at)) return false;
    hasText = true;
    if (mark && SUPERSEDED.test(mark)) return false;
    if (mark) return DATED.test(mark) || (kind === "bullet" && !PLACEHOLDER.test(raw));
    if (mark === "" && !isExplaining) return true;
    const isField = !isCode && FIELD.test(raw);
    return isField || !(isExplaining || (hasMarks && kind !== "bullet"));
  });
}

function isLeftBlank(section: readonly Line[], at: number): boolean {
  const { raw = "" } = section[at] ?? {};
  if (HINT.test(raw) || MANUAL_LINK.test(raw)) return true;
  const value = FIELD.exec(raw)?.[1];
  if (value === undefined || (value.trim() !== "" && !HINT.test(value))) return false;
  const next = section[at + 1]?.raw ?? "";
  return !/^\s+\S/.test(next) || HINT.test(next); // the value may be on the next line
}

/** A template ends with a rule and a sentence about the file. */
function withoutFooter(kept: readonly Line[], lines: readonly Line[]): readonly Line[] {
  const rule = kept.findLastIndex(({ kind, text }) => kind === "rule" && !/\s/.test(text));
  if (rule < 1 || kept.length === lines.length) return kept;
  const isProse = kept.slice(rule + 1).every(({ kind }) => kind === "text" || kind === "blank");
  return isProse ? kept.slice(0, rule) : kept;
}
