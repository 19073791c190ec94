// Which notes become entries: each gets a target and a status. Decides and changes nothing; apply-notes.ts carries it out.
import {
  type HistoryLine,
  MEMORY_TARGETS,
  type MemoryStore,
  type MemoryTarget,
  measure,
} from "@hermes-memory/core/internal/curated";
import { codePointLength, normalizeNewlines, pyStrip } from "@hermes-memory/core/internal/lib";
import { collapsed } from "../transcripts/kit/markdown.ts";
import type { NoteFormat } from "./note-format.ts";
import type { NoteSource } from "./read-notes.ts";

export const IMPORT_ORIGIN = "import:";

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
