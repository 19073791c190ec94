// Erases a text wherever this memory keeps one: file, journal, archive, backups, pins, leftovers, pending writes.
import { readFileSync, unlinkSync } from "node:fs";
import { basename, dirname } from "node:path";
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
import { type PendingRecord, readPendingWrites, rejectPending } from "./approval/pending.ts";
import { eraseFromArchive, readArchive } from "./archive.ts";
import { listBackups } from "./backup.ts";
import { formatEntries, parseEntries, withoutDuplicates } from "./format.ts";
import type { ChangeRecord, JournalRecord } from "./journal/record.ts";
import { readMemoryFile } from "./memory-file.ts";
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

/** Stands where a text was. */
const GONE = "[forgotten]";

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
  const has = (value: string): boolean => needle !== "" && value.includes(needle);
  const records = stores.flatMap(({ journal }) => journal.read().records);
  return {
    entries: stores.flatMap(({ target, entries }) => entries.filter(has).map((entry) => ({ target, entry }))),
    journalLines: records.filter((record) => scrub(record, needle) !== record).length,
    archived: stores.flatMap(({ paths }) => readArchive(paths.archive)).filter((entry) => has(entry.text))
      .length,
    backups: stores.flatMap(({ paths }) => listBackups(paths.file)).filter((path) => erased(path, needle))
      .length,
    pending: pendingDirectory ? pendingWith(pendingDirectory, needle).length : 0,
  };
}

function eraseFromTarget(
  store: TargetStore,
  needle: string,
  meta: WriteMeta,
): Result<Omit<Forgotten, "pending">, MemoryError> {
  const { paths, target, journal } = store;
  const file = readMemoryFile(paths.file);
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
  const { records } = journal.read();
  const scrubbed = records.flatMap((record) => scrub(record, needle) ?? []);
  const journalLines = records.length - records.filter((record) => scrub(record, needle) === record).length;
  const archived = eraseFromArchive(paths.archive, (entry) => entry.includes(needle));
  const backups = listBackups(paths.file).filter((path) => eraseInBackup(path, needle)).length;
  removeLeftovers(store);
  if (isFileChanged || journalLines > 0) {
    const line: ChangeRecord = {
      kind: "change",
      id: randomHex(4),
      time: new Date().toISOString(),
      origin: meta.origin ?? "cli",
      action: "forget",
      changes: [],
      entries: after,
      fileBefore: file.hash,
      fileAfter: isFileChanged ? sha256(text) : file.hash,
    };
    journal.rewrite([...scrubbed, line]);
  }
  if (isFileChanged) {
    writeFileAtomic(paths.file, text, { tempName: `${paths.tempPrefix}${randomHex(6)}.tmp` });
    const unpinned = store.changePins((pins) =>
      gone.reduce((all, entry) => withPin(all, target, entry, false), pins),
    );
    if (!unpinned.ok) return unpinned;
  }
  store.load();
  return ok({ entries: gone.map((entry) => ({ target, entry })), journalLines, archived, backups });
}

/** The same record when it holds nothing of the text; undefined when nothing of it may stay. */
function scrub(record: JournalRecord, needle: string): JournalRecord | undefined {
  const has = (value: string | null | undefined): boolean => value?.includes(needle) ?? false;
  const clean = (value: string): string => (has(value) ? GONE : value);
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

/** Only the text goes; whatever else the backup was made for stays. */
function eraseInBackup(path: string, needle: string): boolean {
  const without = erased(path, needle);
  if (!without) return false;
  writeFileAtomic(path, without);
  return true;
}

/** Bytes without the text, with LF or CRLF line ends; undefined when it is not in there. */
function erased(path: string, needle: string): Uint8Array | undefined {
  const bytes = readFileSync(path).toString("latin1"); // one character per byte, so that any bytes survive
  const forms = [needle, needle.replaceAll("\n", "\r\n")].map((form) =>
    Buffer.from(form, "utf8").toString("latin1"),
  );
  const cleaned = forms.reduce((text, form) => text.replaceAll(form, GONE), bytes);
  return cleaned === bytes ? undefined : Buffer.from(cleaned, "latin1");
}

/** Temporary files of killed writers. We hold the lock, so nobody is using them. */
function removeLeftovers({ paths }: TargetStore): void {
  const real = resolveLinks(paths.file);
  const temps = [
    ...listTemps(dirname(real), paths.tempPrefix),
    ...[paths.journal, paths.archive].flatMap((path) => listTemps(dirname(path), `.${basename(path)}.`)),
    ...listTemps(dirname(paths.file), `.${basename(paths.file)}.bak.`),
  ];
  for (const temp of temps) unlinkSync(temp);
}

function erasePending(directory: string, needle: string): number {
  const hits = pendingWith(directory, needle);
  for (const { id } of hits) rejectPending(directory, id);
  return hits.length;
}

function pendingWith(directory: string, needle: string): PendingRecord[] {
  return readPendingWrites(directory).records.filter(({ payload, summary }) =>
    [payload.content, payload.old_text, summary].some((value) => value?.includes(needle)),
  );
}
