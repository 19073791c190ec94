// Which notes become entries: each gets a target and a status. Decides and changes nothing; apply-notes.ts carries it out.
import {
  type HistoryLine,
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
  const files = new Files(store, again ? () => false : isImport);
  const plan: (PlannedNote & { readonly at: number })[] = [];
  let added = 0;
  // Important notes first, because the first ones get the room; the sort keeps the order of equal ones.
  const ranked = wanted
    .map((note, at) => ({ note, at }))
    .toSorted((a, b) => b.note.priority - a.note.priority);
  for (const { note, at } of ranked) {
    const { priority: _priority, isArchived, ...about } = note;
    if (about.text === "") continue;
    const chars = codePointLength(about.text);
    const verdict = files.verdictOn(about.text, about.target, isArchived ? "archived" : chars);
    const isBehind = verdict.status === "add" && added >= limit;
    if (verdict.status === "add" && !isBehind) {
      files.take(about.text, about.target);
      added += 1;
    }
    const last = isBehind ? { status: "over_limit" as const, reason: `--limit ${limit}` } : verdict;
    plan.push({ ...about, chars, ...last, at });
  }
  return plan.toSorted((a, b) => a.at - b.at).map(({ at: _at, ...note }) => note);
}

type Verdict = Pick<PlannedNote, "status" | "reason" | "ids">;

/** Both files as they will be with the notes taken so far. */
class Files {
  readonly #store: NotesStore;
  readonly #entries: Readonly<Record<MemoryTarget, string[]>>;
  /** Without blanks and in both files: a fact is not stored twice only because it is in the other file. */
  readonly #present: Map<string, MemoryTarget>;
  readonly #archived: ReadonlySet<string>;
  readonly #before: ReadonlySet<string>;
  /** Named already, with room or without. */
  readonly #seen = new Set<string>();

  constructor(store: NotesStore, isImport: (line: HistoryLine) => boolean) {
    this.#store = store;
    this.#entries = { memory: [...store.readEntries("memory")], user: [...store.readEntries("user")] };
    this.#present = new Map([
      ...this.#entries.memory.map((text) => [collapsed(text), "memory"] as const),
      ...this.#entries.user.map((text) => [collapsed(text), "user"] as const),
    ]);
    this.#archived = new Set(store.archived().map(({ text }) => collapsed(text)));
    const imports = store.history().filter(isImport);
    this.#before = new Set(
      imports.flatMap(({ changes }) =>
        changes.flatMap(({ after }) => (after === null ? [] : [collapsed(after)])),
      ),
    );
  }

  take(text: string, target: MemoryTarget): void {
    this.#entries[target].push(text);
    this.#present.set(collapsed(text), target);
  }

  /** `room`: the characters that it needs, unless it goes to the archive. */
  verdictOn(text: string, target: MemoryTarget, room: number | "archived"): Verdict {
    if (!this.#store.isEnabled(target))
      return { status: "disabled", reason: `config.yaml switches ${target} off` };
    const key = collapsed(text);
    const isRepeated = this.#seen.has(key);
    this.#seen.add(key);
    const known = this.#present.get(key);
    if (known !== undefined)
      return { status: "duplicate", reason: known === target ? "it is there already" : `it is in ${known}` };
    if (isRepeated) return { status: "duplicate", reason: "it is named twice" };
    if (room === "archived" && this.#archived.has(key))
      return { status: "duplicate", reason: "it is in the archive already" };
    if (this.#before.has(key))
      return { status: "removed", reason: "imported before, and removed or changed since; --again adds it" };
    const error = this.#store.check({ action: "add", content: text });
    if (error?.kind === "blocked")
      return { status: "blocked", reason: `the security scan found ${error.ids.join(", ")}`, ids: error.ids };
    if (error !== undefined) return { status: "invalid", reason: error.message };
    if (room === "archived") return { status: "archive" };
    const { limit } = this.#store.usage(target);
    if (room > limit) return { status: "too_long", reason: `${target} holds ${limit} characters in all` };
    const { used } = measure([...this.#entries[target], text], limit);
    if (used > limit)
      return { status: "over_budget", reason: `${target} would have ${used} of ${limit} characters` };
    return { status: "add" };
  }
}

function isOwnImport({ origin, status }: HistoryLine): boolean {
  return origin.startsWith(IMPORT_ORIGIN) && status === "committed";
}
