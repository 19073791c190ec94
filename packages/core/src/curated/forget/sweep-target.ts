// One target and all its traces of a text. Call it under the lock, unless it is a dry run.
import { readFileSync, rmSync } from "node:fs";
import { basename, dirname } from "node:path";
import { randomHex, resolveLinks, sha256, writeFileAtomic } from "../../lib/index.ts";
import { listBackups } from "../backup.ts";
import { findDrift } from "../drift.ts";
import { formatEntries, parseEntries, withoutDuplicates } from "../format.ts";
import { HELD_SUFFIX } from "../held-file.ts";
import { encodeRecord } from "../journal/record.ts";
import { type OpenMemoryFile, openMemoryFile } from "../memory-file.ts";
import { withPin } from "../pins.ts";
import { listTemps } from "../stale-temps.ts";
import type { TargetStore } from "../target-store.ts";
import type { MemoryTarget, WriteMeta } from "../types.ts";
import type { Needle } from "./needle.ts";
import { scrubArchive, scrubJournal } from "./scrub-lines.ts";

export type Forgotten = {
  readonly entries: readonly { readonly target: MemoryTarget; readonly entry: string }[];
  readonly journalLines: number;
  readonly archived: number;
  /** Copies of whole files: backups, and what a write in place left for rescue. */
  readonly backups: number;
  /** Temporary files of killed writers. */
  readonly leftovers: number;
  readonly pending: number;
};

export type Sweep = { readonly isDryRun: true } | { readonly isDryRun: false; readonly meta: WriteMeta };

export function sweepTarget(store: TargetStore, needle: Needle, sweep: Sweep): Forgotten {
  const { paths, target, journal } = store;
  const leftovers = listLeftovers(store, needle);
  const hitLeftovers = leftovers.filter((path) => needle.isInRaw(readIfThere(path))).length;
  // Before the file is opened: one of them may be a second name of it, and taking that away looks like an edit. A writer that
  // is alive may take its own away first.
  if (!sweep.isDryRun) for (const path of leftovers) rmSync(path, { force: true });
  using opened = openMemoryFile(paths.file);
  const file = fileWithout(opened, store, needle);
  const lines = scrubJournal(paths.journal, needle);
  const archive = scrubArchive(paths.archive, needle);
  const copies = listCopies(store).flatMap((path) => {
    const bytes = needle.cutFrom(readFileSync(path));
    return bytes ? [{ path, bytes }] : [];
  });
  if (!sweep.isDryRun) {
    if (archive.hits > 0) writeLines(paths.archive, archive.lines);
    // Only the text goes from a copy; whatever else it was made for stays.
    for (const { path, bytes } of copies) writeFileAtomic(path, bytes);
    if (file || lines.hits > 0)
      journal.rewriteLines([...lines.lines, forgetLine(store, opened, file, needle, sweep.meta)]);
    if (file) replaceFile(store, opened, file, needle);
  }
  return {
    entries: (file?.gone ?? []).map((entry) => ({ target, entry })),
    journalLines: lines.hits,
    archived: archive.hits,
    backups: copies.length,
    leftovers: hitLeftovers,
    pending: 0,
  };
}

type NewFile = {
  readonly bytes: Uint8Array;
  readonly entries: readonly string[];
  readonly gone: readonly string[];
};

/**
 * Entries that hold the text go whole. From a file that has drifted only the text itself is cut: what looks like one entry
 * there may be somebody's whole document. Undefined when the file does not hold it.
 */
function fileWithout({ file }: OpenMemoryFile, store: TargetStore, needle: Needle): NewFile | undefined {
  if (file.kind === "unreadable") {
    const message = `${store.paths.file} could not be read (${file.reason})`;
    throw new Error(message);
  }
  if (file.kind === "missing") return undefined;
  const entries = withoutDuplicates(parseEntries(file.text));
  const gone = entries.filter(needle.isIn);
  if (gone.length === 0) return undefined;
  const cut = findDrift(file.text, store.limit) ? needle.cutFrom(file.bytes) : undefined;
  if (cut) return { bytes: cut, entries: parseEntries(Buffer.from(cut).toString("utf8")), gone };
  const kept = entries.filter((entry) => !needle.isIn(entry));
  return { bytes: Buffer.from(formatEntries(kept), "utf8"), entries: kept, gone };
}

/** Says that something was forgotten, not what. Carries the whole list, because the lines before it no longer tell it. */
function forgetLine(
  store: TargetStore,
  { file }: OpenMemoryFile,
  next: NewFile | undefined,
  needle: Needle,
  meta: WriteMeta,
): string {
  const before = file.kind === "text" ? file.hash : null;
  const reason = meta.reason?.replaceAll(needle.text, needle.standIn);
  return JSON.stringify(
    encodeRecord({
      kind: "change",
      sequence: store.journal.nextSequence(),
      ...store.recordHead({
        ...meta,
        origin: meta.origin ?? "cli",
        ...(reason === undefined ? {} : { reason }),
      }),
      action: "forget",
      changes: [],
      entries: next?.entries ?? (file.kind === "text" ? withoutDuplicates(parseEntries(file.text)) : []),
      fileBefore: before,
      fileAfter: next ? sha256(next.bytes) : before,
    }),
  );
}

function replaceFile(
  store: TargetStore,
  opened: OpenMemoryFile,
  { bytes, gone }: NewFile,
  needle: Needle,
): void {
  const temp = `${store.paths.tempPrefix}${randomHex(6)}`;
  using held = store.hold(opened, resolveLinks(store.paths.file), `${temp}${HELD_SUFFIX}`);
  const beforeReplace = (): void => {
    if (!opened.isUnchanged() || !held.take()) throw new Error("another program changed the file meanwhile");
  };
  writeFileAtomic(store.paths.file, bytes, { tempName: `${temp}.tmp`, beforeReplace });
  const backup = store.keepIfEdited(held, { written: bytes, hash: sha256(bytes) }).backup;
  const cut = backup === undefined ? undefined : needle.cutFrom(readFileSync(backup));
  if (backup !== undefined && cut) writeFileAtomic(backup, cut);
  const unpinned = store.changePins((pins) =>
    gone.reduce((all, entry) => withPin(all, store.target, entry, false), pins),
  );
  if (!unpinned.ok) throw new Error(unpinned.error.message);
}

function listCopies({ paths }: TargetStore): string[] {
  const directory = dirname(resolveLinks(paths.file));
  return [...listBackups(paths.file), ...listTemps(directory, paths.tempPrefix, ".rescue")];
}

/** Temporary files of killed writers. Under the lock nobody is using them. */
function listLeftovers({ paths, target }: TargetStore, needle: Needle): string[] {
  const directory = dirname(resolveLinks(paths.file));
  return [
    ...listTemps(directory, paths.tempPrefix),
    ...(target === "memory" ? foreignTemps(directory, needle) : []),
    ...[paths.journal, paths.archive].flatMap((path) => listTemps(dirname(path), `.${basename(path)}.`)),
    ...listTemps(dirname(paths.file), `.${basename(paths.file)}.bak.`),
  ];
}

/** The Python original's do not tell their target; one of them may be in use, and then holds what must not be written. */
function foreignTemps(directory: string, needle: Needle): string[] {
  const isOurs = (path: string): boolean => /^\.mem_(memory|user)_/.test(basename(path));
  return listTemps(directory, ".mem_").filter((path) => !isOurs(path) && needle.isInRaw(readIfThere(path)));
}

function readIfThere(path: string): Uint8Array {
  try {
    return readFileSync(path);
  } catch {
    return new Uint8Array(); // a writer that is alive took it away
  }
}

function writeLines(path: string, lines: readonly string[]): void {
  writeFileAtomic(path, lines.map((line) => `${line}\n`).join(""));
}
