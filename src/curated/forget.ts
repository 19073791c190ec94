// Erases a text wherever this memory keeps one: file, journal, archive, backups, pins, leftovers, pending writes.
import { readFileSync, unlinkSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import {
  err,
  normalizeNewlines,
  ok,
  pyStrip,
  type Result,
  randomHex,
  resolveLinks,
  sha256,
  writeFileAtomic,
} from "../lib/index.ts";
import { readPendingWrites } from "./approval/claims.ts";
import { listPendingFiles } from "./approval/pending.ts";
import { eraseFromArchive, readArchive } from "./archive.ts";
import { listBackups } from "./backup.ts";
import { formatEntries, parseEntries, withoutDuplicates } from "./format.ts";
import type { Journal } from "./journal/journal.ts";
import type { ChangeRecord, JournalRecord } from "./journal/record.ts";
import { openMemoryFile } from "./memory-file.ts";
import { withPin } from "./pins.ts";
import { listTemps } from "./stale-temps.ts";
import type { TargetStore } from "./target-store.ts";
import type { MemoryError, MemoryTarget, WriteMeta } from "./types.ts";

export type Forgotten = {
  readonly entries: readonly { readonly target: MemoryTarget; readonly entry: string }[];
  readonly journalLines: number;
  readonly archived: number;
  readonly backups: number;
  readonly pending: number;
};

/** What may stand where a text was: the first that does not hold the text itself. */
const STAND_INS = ["[forgotten]", "[…]", "[*]"] as const;

function standIn(needle: string): string {
  return STAND_INS.find((each) => !each.includes(needle)) ?? "";
}

/** Every entry that contains `text` goes whole. Can be repeated: each place is cleaned on its own. */
export async function eraseEverywhere(
  text: string,
  stores: readonly TargetStore[],
  options: { pendingDirectory?: string; meta?: WriteMeta },
): Promise<Result<Forgotten, MemoryError>> {
  const needle = pyStrip(normalizeNewlines(text));
  if (needle === "") return err({ kind: "empty", message: "The text to forget cannot be empty." });
  let total: Forgotten = { entries: [], journalLines: 0, archived: 0, backups: 0, pending: 0 };
  for (const store of stores) {
    const outcome = await store.exclusively(() => eraseFromTarget(store, needle, options.meta ?? {}));
    if (!outcome.ok) return outcome;
    total = {
      entries: [...total.entries, ...outcome.value.entries],
      journalLines: total.journalLines + outcome.value.journalLines,
      archived: total.archived + outcome.value.archived,
      backups: total.backups + outcome.value.backups,
      pending: 0,
    };
  }
  return ok({
    ...total,
    pending: options.pendingDirectory ? erasePending(options.pendingDirectory, needle) : 0,
  });
}

/** What `forget` would touch, for a person to look at first. */
export function findTraces(
  text: string,
  stores: readonly TargetStore[],
  pendingDirectory?: string,
): Forgotten {
  const needle = pyStrip(normalizeNewlines(text));
  if (needle === "") return { entries: [], journalLines: 0, archived: 0, backups: 0, pending: 0 };
  const has = (value: string): boolean => value.includes(needle);
  return {
    entries: stores.flatMap(({ target, entries }) => entries.filter(has).map((entry) => ({ target, entry }))),
    journalLines: stores.reduce((sum, { journal }) => sum + scrubJournal(journal, needle).lines, 0),
    archived: stores.flatMap(({ paths }) => readArchive(paths.archive)).filter((entry) => has(entry.text))
      .length,
    backups: stores.flatMap(listCopies).filter((path) => erased(path, needle)).length,
    pending: pendingDirectory ? pendingWith(pendingDirectory, needle).length : 0,
  };
}

function eraseFromTarget(
  store: TargetStore,
  needle: string,
  meta: WriteMeta,
): Result<Omit<Forgotten, "pending">, MemoryError> {
  const { paths, target, journal } = store;
  using opened = openMemoryFile(paths.file);
  const { file } = opened;
  if (file.kind === "unreadable") {
    return err({
      kind: "io",
      message: `Cannot forget: ${paths.file} could not be read (${file.reason}). Mend it, then retry.`,
    });
  }
  const before = withoutDuplicates(parseEntries(file.text));
  const after = before.filter((entry) => !entry.includes(needle));
  const gone = before.filter((entry) => entry.includes(needle));
  const text = formatEntries(after);
  const isFileChanged = gone.length > 0;
  const { records: scrubbed, lines: journalLines } = scrubJournal(journal, needle);
  const archived = eraseFromArchive(paths.archive, (entry) => entry.includes(needle));
  const backups = listCopies(store).filter((path) => eraseInCopy(path, needle)).length;
  removeLeftovers(store, needle);
  if (isFileChanged || journalLines > 0) {
    const reason =
      meta.reason === undefined ? {} : { reason: meta.reason.replaceAll(needle, standIn(needle)) };
    const line: ChangeRecord = {
      kind: "change",
      ...store.recordHead({ ...meta, origin: meta.origin ?? "cli", ...reason }),
      action: "forget",
      changes: [],
      entries: after,
      fileBefore: file.hash,
      fileAfter: isFileChanged ? sha256(text) : file.hash,
    };
    journal.rewrite([...scrubbed, line]);
  }
  if (isFileChanged) {
    const beforeReplace = (): void => {
      if (!opened.isUnchanged()) throw new Error("another program changed it meanwhile; forget it again");
    };
    writeFileAtomic(paths.file, text, { tempName: `${paths.tempPrefix}${randomHex(6)}.tmp`, beforeReplace });
    const unpinned = store.changePins((pins) =>
      gone.reduce((all, entry) => withPin(all, target, entry, false), pins),
    );
    if (!unpinned.ok) return unpinned;
  }
  store.load();
  return ok({ entries: gone.map((entry) => ({ target, entry })), journalLines, archived, backups });
}

/** What stays of a journal, and how many of its lines held the text. A torn line cannot be mended, so it goes whole. */
function scrubJournal(journal: Journal, needle: string): { records: JournalRecord[]; lines: number } {
  const { records, damaged } = journal.read();
  const kept = records.flatMap((record) => scrub(record, needle) ?? []);
  const changed = records.filter((record) => scrub(record, needle) !== record).length;
  const torn = damaged > 0 && changed === 0 && holds(journal.path, needle) ? damaged : 0;
  return { records: kept, lines: changed + torn };
}

/** The same record when it holds nothing of the text; undefined when nothing of it may stay. */
function scrub(record: JournalRecord, needle: string): JournalRecord | undefined {
  const has = (value: string | null | undefined): boolean => value?.includes(needle) ?? false;
  const clean = (value: string): string => (has(value) ? standIn(needle) : value);
  if (record.kind === "refusal")
    return record.sha256 === sha256(needle) || has(record.reason) ? undefined : record;
  if (record.kind === "checkpoint") {
    const known = record.known.filter(({ text }) => !has(text));
    return known.length === record.known.length ? record : { ...record, known, isIncomplete: true };
  }
  const texts = [
    ...record.changes.flatMap(({ before, after }) => [before, after]),
    ...(record.entries ?? []),
    ...(record.archived ?? []),
  ];
  if (!texts.some(has) && !has(record.reason)) return record;
  return {
    ...record,
    changes: record.changes.map(({ at, before, after }) => ({
      at,
      before: before === null ? null : clean(before),
      after: after === null ? null : clean(after),
    })),
    ...(record.entries ? { entries: record.entries.map(clean) } : {}),
    ...(record.archived ? { archived: record.archived.map(clean) } : {}),
    ...(record.reason === undefined ? {} : { reason: clean(record.reason) }),
    isIncomplete: true,
  };
}

/** Whole files we keep for somebody: backups, and what could not be written in place. */
function listCopies({ paths }: TargetStore): string[] {
  const directory = dirname(resolveLinks(paths.file));
  return [...listBackups(paths.file), ...listTemps(directory, paths.tempPrefix, ".rescue")];
}

/** Only the text goes; whatever else the copy was made for stays. */
function eraseInCopy(path: string, needle: string): boolean {
  const without = erased(path, needle);
  if (!without) return false;
  writeFileAtomic(path, without);
  return true;
}

/** Bytes without the text, whatever its line ends; undefined when it is not in there. */
function erased(path: string, needle: string): Uint8Array | undefined {
  const bytes = readFileSync(path).toString("latin1"); // one character per byte, so that any bytes survive
  const latin1 = (text: string): string => Buffer.from(text, "utf8").toString("latin1");
  const pattern = latin1(needle)
    .split("\n")
    .map((line) => line.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&"))
    .join("(?:\\r\\n|\\r|\\n)");
  const cleaned = bytes.replace(new RegExp(pattern, "g"), () => latin1(standIn(needle)));
  return cleaned === bytes ? undefined : Buffer.from(cleaned, "latin1");
}

/** True when the text is in there as it is, or as JSON spells it. */
function holds(path: string, needle: string): boolean {
  return [needle, JSON.stringify(needle).slice(1, -1)].some((form) => erased(path, form) !== undefined);
}

/** Temporary files of killed writers. We hold the lock, so nobody is using them. */
function removeLeftovers({ paths }: TargetStore, needle: string): void {
  const directory = dirname(resolveLinks(paths.file));
  // The Python original's do not tell their target; one of them may be in use, and then holds what must not be written.
  const foreign = listTemps(directory, ".mem_").filter((path) => erased(path, needle));
  const temps = [
    ...listTemps(directory, paths.tempPrefix),
    ...foreign,
    ...[paths.journal, paths.archive].flatMap((path) => listTemps(dirname(path), `.${basename(path)}.`)),
    ...listTemps(dirname(paths.file), `.${basename(paths.file)}.bak.`),
  ];
  for (const temp of new Set(temps)) unlinkSync(temp);
}

function erasePending(directory: string, needle: string): number {
  const hits = pendingWith(directory, needle);
  for (const path of hits) unlinkSync(path);
  return hits.length;
}

/** Read where that is possible, because JSON may spell a text in several ways; else as bytes. */
function pendingWith(directory: string, needle: string): string[] {
  const records = readPendingWrites(directory).records.filter(({ payload, summary }) =>
    [payload.content, payload.old_text, summary].some((value) => value?.includes(needle)),
  );
  const read = new Set(records.map(({ id }) => join(directory, `${id}.json`)));
  return listPendingFiles(directory).filter((path) => read.has(path) || holds(path, needle));
}
