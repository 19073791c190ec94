// Which notes become entries: each gets a target and a status. Then the plan is carried out.
import {
  ENTRY_DELIMITER,
  type HistoryLine,
  MEMORY_TARGETS,
  type MemoryError,
  type MemoryOpOutcome,
  type MemoryStore,
  type MemoryTarget,
  measure,
  parseEntries,
} from "@hermes-memory/core/internal/curated";
import {
  codePointLength,
  normalizeNewlines,
  pyStrip,
  type ReadFailure,
  type Result,
  randomHex,
  updateTextFile,
} from "@hermes-memory/core/internal/lib";
import { collapsed } from "../transcripts/kit/markdown.ts";
import type { NoteFormat } from "./note-format.ts";
import type { NoteSource } from "./read-notes.ts";

const IMPORT_ORIGIN = "import:";

/**
 * `add`: will be stored. `archive`: goes to the archive, where an export had it. `duplicate`: stored already, or named twice. `removed`: an earlier import stored it, and it was removed or
 * changed since. `too_long`: longer than the whole file may be. `over_budget`: the file has no room left. `blocked`: refused by
 * the security scan. `invalid`: the file's format cannot hold it. `disabled`: config.yaml switched the target off. `over_limit`: behind
 * the number of entries that the user asked for.
 */
export type NoteStatus =
  | "add"
  | "archive"
  | "duplicate"
  | "removed"
  | "too_long"
  | "over_budget"
  | "blocked"
  | "invalid"
  | "disabled"
  | "over_limit";

export type PlannedNote = {
  readonly text: string;
  readonly target: MemoryTarget;
  readonly chars: number;
  readonly status: NoteStatus;
  /** In words, for the user; absent for `add` and `archive`. */
  readonly reason?: string;
  /** What the security scan found. */
  readonly ids?: readonly string[];
  readonly format: NoteFormat;
  readonly path: string;
  readonly place?: string | undefined;
};

export type PlanOptions = {
  readonly target: MemoryTarget | "auto";
  readonly limit?: number | undefined;
  /** Also entries that were imported before and removed since. */
  readonly again: boolean;
  /** Which changes of the journal were imports; those of `hermes memory import` without it. */
  readonly isImport?: (line: HistoryLine) => boolean;
};

export type NotesStore = Pick<
  MemoryStore,
  "readEntries" | "archived" | "usage" | "check" | "isEnabled" | "history"
>;

export function planNotes(
  sources: readonly NoteSource[],
  store: NotesStore,
  { target: asked, limit = Number.POSITIVE_INFINITY, again, isImport = isOwnImport }: PlanOptions,
): PlannedNote[] {
  const wanted = sources.flatMap(({ notes, format, path }) =>
    notes.map(({ text, target, place, isArchived = false, priority = 0 }) => ({
      text: pyStrip(normalizeNewlines(text)),
      target: asked === "auto" ? (target ?? "memory") : asked,
      format,
      path,
      place,
      isArchived,
      priority,
    })),
  );
  /** Both files as they will be with the notes taken so far. */
  const entries = { memory: [...store.readEntries("memory")], user: [...store.readEntries("user")] };
  // Without blanks and in both files: a fact is not stored twice only because it is in the other file.
  const present = new Map<string, MemoryTarget>();
  for (const name of MEMORY_TARGETS) for (const text of entries[name]) present.set(collapsed(text), name);
  const archived = new Set(store.archived().map(({ text }) => collapsed(text)));
  const imports = again ? [] : store.history().filter(isImport);
  const changes = imports.flatMap((line) => line.changes);
  const before = new Set(changes.flatMap(({ after }) => (after === null ? [] : [collapsed(after)])));
  const named = new Set<string>();

  /** `room`: the characters that it needs, unless it goes to the archive. */
  const verdictOn = (text: string, target: MemoryTarget, room: number | "archived"): Verdict => {
    if (!store.isEnabled(target)) return { status: "disabled", reason: `config.yaml switches ${target} off` };
    const key = collapsed(text);
    const isRepeated = named.has(key);
    named.add(key);
    const known = present.get(key);
    if (known !== undefined)
      return { status: "duplicate", reason: known === target ? "it is there already" : `it is in ${known}` };
    if (isRepeated) return { status: "duplicate", reason: "it is named twice" };
    if (room === "archived" && archived.has(key))
      return { status: "duplicate", reason: "it is in the archive already" };
    if (before.has(key))
      return { status: "removed", reason: "imported before, and removed or changed since; --again adds it" };
    const error = store.check({ action: "add", content: text });
    if (error?.kind === "blocked")
      return { status: "blocked", reason: `the security scan found ${error.ids.join(", ")}`, ids: error.ids };
    if (error !== undefined) return { status: "invalid", reason: error.message };
    if (room === "archived") return { status: "archive" };
    const { limit: most } = store.usage(target);
    if (room > most) return { status: "too_long", reason: `${target} holds ${most} characters in all` };
    const { used } = measure([...entries[target], text], most);
    if (used > most)
      return { status: "over_budget", reason: `${target} would have ${used} of ${most} characters` };
    if (added >= limit) return { status: "over_limit", reason: `--limit ${limit}` };
    entries[target].push(text);
    present.set(key, target);
    added += 1;
    return { status: "add" };
  };

  let added = 0;
  const plan = new Map<number, PlannedNote>();
  // Important notes first, because the first ones get the room; the sort keeps the order of equal ones.
  const ranked = [...wanted.entries()].toSorted(([, a], [, b]) => b.priority - a.priority);
  for (const [at, { priority: _priority, isArchived, ...about }] of ranked) {
    if (about.text === "") continue;
    const chars = codePointLength(about.text);
    plan.set(at, {
      ...about,
      chars,
      ...verdictOn(about.text, about.target, isArchived ? "archived" : chars),
    });
  }
  return [...plan].sort(([a], [b]) => a - b).map(([, note]) => note);
}

type Verdict = Pick<PlannedNote, "status" | "reason" | "ids">;

function isOwnImport({ origin, status }: HistoryLine): boolean {
  return origin.startsWith(IMPORT_ORIGIN) && status === "committed";
}

// ---- Carrying it out: the overflow file first, then one change of the curated store per format and target ----

export type AppliedNotes = {
  readonly outcomes: readonly MemoryOpOutcome[];
  /** The store refused a change; those in `outcomes` were made before. */
  readonly error?: { readonly target: MemoryTarget; readonly error: MemoryError };
};

/** Entries that are added together can be undone together: they are one line of the journal. */
export async function applyNotes(
  plan: readonly PlannedNote[],
  store: Pick<MemoryStore, "applyAll" | "keepInArchive">,
): Promise<AppliedNotes> {
  const added = plan.filter(({ status }) => status === "add");
  const formats = new Set(added.map(({ format }) => format.name));
  const group = `${IMPORT_ORIGIN}${randomHex(4)}`;
  const outcomes: MemoryOpOutcome[] = [];
  for (const name of formats)
    for (const target of MEMORY_TARGETS) {
      const notes = added.filter((note) => note.format.name === name && note.target === target);
      if (notes.length === 0) continue;
      const ops = notes.map(({ text }) => ({ action: "add" as const, content: text }));
      const paths = [...new Set(notes.map(({ path }) => path))];
      const outcome = await store.applyAll(target, ops, {
        origin: `${IMPORT_ORIGIN}${name}`,
        reason: `imported from ${paths.join(", ")}`,
        group,
      });
      if (!outcome.ok) return { outcomes, error: { target, error: outcome.error } };
      outcomes.push(outcome.value);
    }
  for (const target of MEMORY_TARGETS) {
    const notes = plan.filter((note) => note.status === "archive" && note.target === target);
    const [first] = notes;
    if (first === undefined) continue;
    const origin = `${IMPORT_ORIGIN}${first.format.name}` as const;
    const texts = notes.map(({ text }) => text);
    const kept = await store.keepInArchive(target, texts, { origin, group });
    if (!kept.ok) return { outcomes, error: { target, error: kept.error } };
  }
  return { outcomes };
}

/** Notes that have no room. */
export function overflowOf(plan: readonly PlannedNote[]): PlannedNote[] {
  return plan.filter(({ status }) => status === "over_budget" || status === "too_long");
}

/**
 * Adds the notes to a file in the format of MEMORY.md, which `hermes memory import` reads again. Those that are in it already are not
 * repeated. Returns how many were new.
 */
export function keepOverflow(path: string, notes: readonly PlannedNote[]): Result<number, ReadFailure> {
  return updateTextFile<number, ReadFailure>(path, {
    change: (before = "") => {
      const kept = parseEntries(before);
      const known = new Set(kept.map(collapsed));
      const fresh = notes.map(({ text }) => text).filter((text) => !known.has(collapsed(text)));
      const text = fresh.length === 0 ? before : `${[...kept, ...fresh].join(ENTRY_DELIMITER)}\n`;
      return { ok: true, value: { text, outcome: fresh.length } };
    },
    unreadable: (failure) => failure,
    modes: { mode: 0o600 },
  });
}
