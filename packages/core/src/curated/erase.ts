// Erasing that leaves nothing to undo: `forget` erases one text wherever this memory keeps it, `purge` deletes everything kept for
// one target, `eraseMemoryFiles` everything of one person. For each, the same code reports what would be erased and erases it, so
// that the two cannot differ.
import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  unlinkSync,
} from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import {
  describeCause,
  err,
  errnoCode,
  ok,
  parseJsonLines,
  type Result,
  resolveLinks,
  sha256,
  syncDirectory,
  withFileLocks,
  writeFileAtomic,
} from "../lib/index.ts";
import { listPendingFiles, pendingTexts, readPendingWrites } from "./approval/pending.ts";
import { cleanText, distinctEntries, findDrift, formatEntries, parseEntries } from "./entries.ts";
import { listBackups } from "./file-errors.ts";
import { decodeRecord, encodeRecord } from "./journal.ts";
import type { JournalRecord } from "./journal-replay.ts";
import {
  listTargetTemps,
  listTemps,
  locate,
  type OpenMemoryFile,
  openMemoryFile,
  pinsPath,
  readMemoryFile,
  type TargetPaths,
  targetPaths,
} from "./memory-file.ts";
import { withPin } from "./pins.ts";
import type { TargetStore } from "./target-store.ts";
import {
  MEMORY_TARGETS,
  type MemoryError,
  type MemoryTarget,
  memoryError,
  refused,
  type WriteMeta,
} from "./types.ts";

// ---- Forget ----

/** Where a text was erased, as counts; the entries themselves for the user who asked. */
export type Forgotten = {
  readonly entries: readonly { readonly target: MemoryTarget; readonly entry: string }[];
  readonly journalLines: number;
  readonly archived: number;
  /** Copies of whole files: backups, and rescue files of a write in place. */
  readonly backups: number;
  /** Temporary files of killed writers. */
  readonly leftovers: number;
  readonly pending: number;
};

/** Without `erase` nothing is changed and no lock is needed. */
type Sweep = { readonly needle: Needle; readonly erase?: WriteMeta };

/** Counts the traces that `forget` would erase. Takes no lock and changes nothing. */
export function findTraces(
  text: string,
  stores: readonly TargetStore[],
  pendingDirectory: string | undefined,
): Forgotten {
  const needle = makeNeedle(text);
  if (!needle) return NOTHING;
  const found = stores.map((store) => sweepTarget(store, { needle }));
  return [...found, sweepPending(pendingDirectory, { needle })].reduce(sum, NOTHING);
}

/** Every entry that contains the text is removed whole. Can be repeated: each place is cleaned separately. */
export async function eraseEverywhere(
  text: string,
  stores: readonly TargetStore[],
  pendingDirectory: string | undefined,
  meta: WriteMeta,
): Promise<Result<Forgotten, MemoryError>> {
  const needle = makeNeedle(text);
  if (!needle) return refused({ kind: "empty", message: "The text to forget cannot be empty." });
  const sweep: Sweep = { needle, erase: meta };
  // Staged writes first: an approver that has claimed one checks that it is still there once it holds the lock.
  let total = NOTHING;
  try {
    total = sweepPending(pendingDirectory, sweep);
  } catch (cause) {
    return err(stoppedAt(pendingDirectory, cause));
  }
  for (const store of stores) {
    const outcome = await store.exclusively(
      () => {
        const swept = sweepTarget(store, sweep);
        store.load();
        return ok(swept);
      },
      (cause) => stoppedAt(store.paths.file, cause),
    );
    if (!outcome.ok) return outcome;
    total = sum(total, outcome.value);
  }
  return ok(total);
}

const NOTHING: Forgotten = {
  entries: [],
  journalLines: 0,
  archived: 0,
  backups: 0,
  leftovers: 0,
  pending: 0,
};

function sum(a: Forgotten, b: Forgotten): Forgotten {
  return {
    entries: [...a.entries, ...b.entries],
    journalLines: a.journalLines + b.journalLines,
    archived: a.archived + b.archived,
    backups: a.backups + b.backups,
    leftovers: a.leftovers + b.leftovers,
    pending: a.pending + b.pending,
  };
}

function stoppedAt(path: string | undefined, cause: unknown): MemoryError {
  const place = path && errnoCode(cause) === undefined ? ` at ${path}` : "";
  return memoryError({
    kind: "io",
    message: `Forgetting stopped${place}: ${describeCause(cause)}. Places cleaned before that stay clean; fix the problem and forget again.`,
  });
}

/** Staged writes that contain the text: complete, half-written and claimed ones. */
function sweepPending(directory: string | undefined, { needle, erase }: Sweep): Forgotten {
  if (directory === undefined) return NOTHING;
  // A readable record is searched by its decoded texts, because JSON can spell a text in several ways; any other file as bytes.
  const records = readPendingWrites(directory).records.filter(({ payload, summary }) =>
    [...pendingTexts(payload), summary].some(needle.isIn),
  );
  const known = new Set(records.map(({ id }) => join(directory, `${id}.json`)));
  const hits = listPendingFiles(directory).filter(
    (path) => known.has(path) || unlessGone(() => needle.isInRaw(readFileSync(path))),
  );
  if (erase) for (const path of hits) unlessGone(() => unlinkSync(path));
  return { ...NOTHING, pending: hits.length };
}

/** An approver may delete a record between our listing it and our opening it. */
function unlessGone<T>(step: () => T): T | undefined {
  try {
    return step();
  } catch (cause) {
    if (errnoCode(cause) !== "ENOENT") throw cause;
    return undefined;
  }
}

/** All traces in one target. Call it under the lock when it erases. */
function sweepTarget(store: TargetStore, { needle, erase }: Sweep): Forgotten {
  const { paths, target } = store;
  const leftovers = listLeftovers(store, needle);
  const hitLeftovers = leftovers.filter((path) => needle.isInRaw(readIfThere(path))).length;
  // Before the file is opened: version 0.3 leaves second names of it, and removing one would look like an edit. A living writer may
  // remove its own first, hence `force`.
  if (erase) for (const path of leftovers) rmSync(path, { force: true });
  using opened = openMemoryFile(paths.file);
  const file = fileWithout(opened, store, needle);
  const lines = scrubJournal(paths.journal, needle);
  const archive = scrubArchive(paths.archive, needle);
  const copies = copiesWith(needle, store);
  if (erase) {
    if (archive.hits > 0) writeFileAtomic(paths.archive, archive.lines.map((line) => `${line}\n`).join(""));
    // Only the text is cut from a copy; the rest of it stays.
    for (const { path, bytes } of copies) writeFileAtomic(path, bytes);
    const journal = (): void =>
      store.journal.rewriteLines([...lines.lines, forgetLine(store, opened, file, needle, erase)]);
    if (file) {
      const { backup } = store.replaceFile(opened, file.bytes, journal);
      const cut = backup === undefined ? undefined : needle.cutFrom(readFileSync(backup));
      if (backup !== undefined && cut) writeFileAtomic(backup, cut);
      store.changePins((pins) => file.gone.reduce((all, entry) => withPin(all, target, entry, false), pins));
    } else if (lines.hits > 0) journal();
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
 * Entries that contain the text are removed whole. From a drifted file only the text itself is cut: an apparent entry there
 * may be a whole document. Undefined when the file does not contain the text.
 */
function fileWithout({ file }: OpenMemoryFile, store: TargetStore, needle: Needle): NewFile | undefined {
  if (file.kind === "unreadable") throw new Error(`${store.paths.file} could not be read (${file.reason})`);
  if (file.kind === "missing") return undefined;
  const entries = distinctEntries(file.text);
  const gone = entries.filter(needle.isIn);
  if (gone.length === 0) return undefined;
  const cut = findDrift(file.text, store.limit) ? needle.cutFrom(file.bytes) : undefined;
  if (cut) return { bytes: cut, entries: parseEntries(Buffer.from(cut).toString("utf8")), gone };
  const kept = entries.filter((entry) => !needle.isIn(entry));
  return { bytes: Buffer.from(formatEntries(kept), "utf8"), entries: kept, gone };
}

/** Says that something was forgotten, not what. Holds the whole list, because it no longer follows from the lines before. */
function forgetLine(
  store: TargetStore,
  { file }: OpenMemoryFile,
  next: NewFile | undefined,
  needle: Needle,
  meta: WriteMeta,
): string {
  const before = file.kind === "text" ? file.hash : null;
  const reason = meta.reason?.replaceAll(needle.text, needle.standIn);
  return store.journal.lineOf({
    ...store.recordHead({ ...meta, origin: meta.origin ?? "cli", reason }),
    kind: "change",
    action: "forget",
    changes: [],
    entries: next?.entries ?? (file.kind === "text" ? distinctEntries(file.text) : []),
    fileBefore: before,
    fileAfter: next ? sha256(next.bytes) : before,
  });
}

function copiesWith(needle: Needle, { paths }: TargetStore): { path: string; bytes: Uint8Array }[] {
  const directory = dirname(resolveLinks(paths.file));
  return [...listBackups(paths.file), ...listTemps(directory, paths.tempPrefix, ".rescue")].flatMap(
    (path) => {
      const bytes = needle.cutFrom(readFileSync(path));
      return bytes ? [{ path, bytes }] : [];
    },
  );
}

/**
 * Temporary files of killed writers. Those of the Python original do not name their target, and one of them may be in use; it is
 * listed only when it contains the text, which must not be written then.
 */
function listLeftovers({ paths, target }: TargetStore, needle: Needle): string[] {
  const own = listTargetTemps(paths);
  if (target !== "memory") return own;
  const isOurs = (path: string): boolean => /^\.mem_(memory|user)_/.test(basename(path));
  const foreign = listTemps(dirname(resolveLinks(paths.file)), ".mem_").filter(
    (path) => !isOurs(path) && needle.isInRaw(readIfThere(path)),
  );
  return [...own, ...foreign];
}

function readIfThere(path: string): Uint8Array {
  try {
    return readFileSync(path);
  } catch {
    return new Uint8Array(); // its writer removed it
  }
}

// ---- Purge ----

/** What a purge removed: files, pins and staged writes. */
export type Purged = {
  readonly files: readonly { readonly path: string; readonly bytes: number }[];
  readonly pins: number;
  readonly pending: number;
};

/** Lists everything that a purge would delete. Lock files stay: another process may be waiting on them. */
export function findPurgeable(store: TargetStore, pendingDirectory?: string): Purged {
  return {
    files: filesOf(store.paths).map((path) => ({
      path,
      bytes: statSync(path, { throwIfNoEntry: false })?.size ?? 0,
    })),
    pins: store.readPins()[store.target].size,
    pending: stagedFor(store, pendingDirectory).length,
  };
}

/** When it stops halfway, it can be repeated. */
export function purgeTarget(
  store: TargetStore,
  pendingDirectory?: string,
): Promise<Result<Purged, MemoryError>> {
  const stopped = (cause: unknown): MemoryError =>
    memoryError({
      kind: "io",
      message: `The purge stopped: ${describeCause(cause)}. Files deleted before that are gone; fix the problem and purge again.`,
    });
  return store.exclusively(() => {
    const found = findPurgeable(store, pendingDirectory);
    if (found.pins > 0) store.changePins((pins) => ({ ...pins, [store.target]: new Set() }));
    for (const { path } of found.files) deleteFile(path);
    for (const path of stagedFor(store, pendingDirectory)) deleteFile(path);
    store.load();
    return ok(found);
  }, stopped);
}

/** The curated file is the first: if the journal were deleted before it, the next reader would create a new one. */
function filesOf(paths: TargetPaths): string[] {
  const real = resolveLinks(paths.file); // a link belongs to the user and stays; the file it leads to is deleted
  return [
    real,
    paths.journal,
    paths.archive,
    ...listBackups(paths.file),
    ...listTargetTemps(paths),
    ...listTemps(dirname(real), paths.tempPrefix, ".rescue"),
  ].filter((path) => existsSync(path));
}

function stagedFor({ target }: TargetStore, directory: string | undefined): string[] {
  if (directory === undefined) return [];
  const { records } = readPendingWrites(directory);
  return records
    .filter(({ payload }) => payload.target === target)
    .map(({ id }) => join(directory, `${id}.json`));
}

/** False: it was gone already. */
function deleteFile(path: string): boolean {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return false;
  unlinkSync(path);
  syncDirectory(dirname(path));
  return true;
}

// ---- Everything of one person ----

export type EraseFilesRequest = {
  readonly dir: string;
  readonly pendingDirectory: string;
  /** Other folders of the person in `dir`, and the locks for changes in them. */
  readonly folders: readonly { readonly folder: string; readonly lock: string }[];
  /** Of one user: the directory is theirs, and goes with everything in it. Otherwise it is the owner's, and contains `users`. */
  readonly isOfUser: boolean;
  readonly lockTimeoutMs: number;
  /** Only count; change nothing. */
  readonly isDryRun: boolean;
};

export type ErasedFiles = {
  readonly entries: number;
  readonly archived: number;
  /** Lines of the journal. */
  readonly changes: number;
  readonly pending: number;
  /** All deleted files but staged writes. Lock files do not count: they are empty, and taking the locks creates them. */
  readonly files: number;
  /** One or two sentences each: what is left, and what to do about it. */
  readonly remaining: readonly string[];
};

/**
 * Both files, their backups, temporary files, journals and archives, the pins and the staged writes. Can be repeated: after a failure
 * or a kill, the next call erases the rest. Of the owner, files of other programs in the same directory, lock files and links stay.
 */
export async function eraseMemoryFiles(request: EraseFilesRequest): Promise<ErasedFiles> {
  const { dir, pendingDirectory, isOfUser, isDryRun } = request;
  const remaining: string[] = [];
  const trying = <T>(path: string, work: () => T): T | undefined => {
    try {
      return work();
    } catch (cause) {
      remaining.push(`${path} could not be erased: ${describeCause(cause)}. Correct that and erase again.`);
      return undefined;
    }
  };
  // Staged writes first: an approver that has claimed one checks that it is still there once it holds the lock.
  const staged = trying(pendingDirectory, () => listPendingFiles(pendingDirectory)) ?? [];
  const isGone = (path: string): boolean => trying(path, () => deleteFile(path)) ?? false;
  const pending = staged.filter((path) => isDryRun || isGone(path)).length;
  if (isOfUser && !isDryRun) removeIfEmpty(pendingDirectory);
  const counted = () => trying(dir, () => countEverything(request, remaining)) ?? NO_FILES;
  if (isDryRun || !existsSync(dir)) return { ...counted(), pending, remaining };
  const locks = [
    ...MEMORY_TARGETS.flatMap((target) => locate(targetPaths(dir, target).file).locks),
    ...request.folders.flatMap(({ folder, lock }) => (existsSync(folder) ? [lock] : [])),
  ];
  try {
    const outcome = await withFileLocks(locks, { timeoutMs: request.lockTimeoutMs }, () => {
      const { listed, ...counts } = counted();
      const files = listed.filter(isGone).length;
      if (isOfUser) removeDirectory(dir);
      else for (const { folder } of request.folders) removeDirectory(folder);
      return { ...counts, files };
    });
    if (outcome.ok) return { ...outcome.value, pending, remaining };
    remaining.push(
      `The memory files in ${dir} stay: another process kept ${outcome.error.path} for ${outcome.error.waitedMs} ms. Erase again when it is done.`,
    );
  } catch (cause) {
    remaining.push(`The memory files in ${dir} stay: ${describeCause(cause)}. Correct that and erase again.`);
  }
  return { ...NO_FILES, pending, remaining };
}

type Counted = Omit<ErasedFiles, "pending" | "remaining"> & { readonly listed: readonly string[] };

const NO_FILES: Counted = { entries: 0, archived: 0, changes: 0, files: 0, listed: [] };

function countEverything({ dir, isOfUser, folders }: EraseFilesRequest, remaining: string[]): Counted {
  const targets = MEMORY_TARGETS.map((target) => targetPaths(dir, target));
  const known = targets.flatMap(filesOf);
  const pins = pinsPath(dir);
  const others = isOfUser
    ? filesBelow(dir)
    : [
        ...[...listTemps(dir, ".mem_"), ...listTemps(dir, `.${basename(pins)}.`), pins].filter((path) =>
          existsSync(path),
        ),
        ...folders.flatMap(({ folder }) => filesBelow(folder)),
      ];
  const listed = [...new Set([...known, ...others].map((path) => resolve(path)))].filter((path) => {
    if (path.endsWith(".lock")) return false;
    if (isOwn(path, dir, isOfUser)) return true;
    remaining.push(
      `${path}, which a link in ${dir} leads to, stays: it may belong to others. Delete it if it is only theirs.`,
    );
    return false;
  });
  const isListed = (file: string): boolean => listed.includes(resolve(resolveLinks(file)));
  const read = targets.map(({ file }) => (isListed(file) ? readMemoryFile(file) : undefined));
  const count = (of: readonly number[]): number => of.reduce((total, each) => total + each, 0);
  return {
    entries: count(read.map((each) => (each?.kind === "text" ? distinctEntries(each.text).length : 0))),
    archived: count(targets.map(({ archive }) => countLines(archive))),
    changes: count(targets.map(({ journal }) => countLines(journal))),
    files: listed.length,
    listed,
  };
}

/** A link in a user's directory may lead to a file of the owner or of another user, and a link of the owner to one of a user. */
function isOwn(path: string, dir: string, isOfUser: boolean): boolean {
  const isBelow = (directory: string): boolean =>
    !relative(directory, path).startsWith("..") && resolve(directory) !== path;
  if (isOfUser) return isBelow(dir) || isBelow(resolveLinks(dir));
  return !isBelow(join(dir, "users"));
}

function countLines(path: string): number {
  try {
    return readLines(path).length;
  } catch {
    return 0; // it is deleted unread
  }
}

/** Files and links at any depth. */
function filesBelow(directory: string): string[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory, { withFileTypes: true, recursive: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

/**
 * At the end, under the locks: lock files and empty directories. A process that waits for a lock finds that its file is gone and takes
 * a new one. Windows refuses to delete an open file: then the empty lock files stay, and the next call removes them.
 */
function removeDirectory(dir: string): void {
  try {
    rmSync(dir, { recursive: true, force: true });
  } catch {
    // What could not be erased was reported before; a lock file in use contains nothing.
  }
}

function removeIfEmpty(directory: string): void {
  try {
    rmdirSync(directory);
  } catch {
    // It does not exist, or another process has just written to it.
  }
}

// ---- Finding a text that is to be forgotten in values, JSON lines and raw bytes, and taking it out of them ----

/** The text to forget. */
export type Needle = {
  readonly text: string;
  /** Written where the text was. Does not contain the text itself. */
  readonly standIn: string;
  /** True when a decoded value contains the text. */
  isIn(value: string | null | undefined): boolean;
  /** True when raw content contains it literally or in its JSON spelling. */
  isInRaw(bytes: Uint8Array): boolean;
  /** The content with the text cut out, whatever its line ends; undefined when it does not contain the text. */
  cutFrom(bytes: Uint8Array): Uint8Array | undefined;
};

const STAND_INS = ["[forgotten]", "[…]", "[*]"] as const;

/** Undefined for a text that is empty once it is stripped: it would be found everywhere. */
export function makeNeedle(asked: string): Needle | undefined {
  const text = cleanText(asked);
  if (text === "") return undefined;
  const standIn = STAND_INS.find((each) => !each.includes(text)) ?? "";
  const plain = patternOf(text);
  const inJson = patternOf(JSON.stringify(text).slice(1, -1));
  return {
    text,
    standIn,
    isIn: (value) => value?.includes(text) ?? false,
    isInRaw: (bytes) => [plain, inJson].some((each) => cut(bytes, each, "") !== undefined),
    cutFrom: (bytes) => cut(bytes, plain, standIn),
  };
}

// One character per byte, so that any bytes survive.
const latin1 = (text: string): string => Buffer.from(text, "utf8").toString("latin1");

function patternOf(text: string): RegExp {
  const lines = latin1(text).split("\n");
  const escaped = lines.map((line) => line.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&"));
  return new RegExp(escaped.join("(?:\\r\\n|\\r|\\n)"), "g");
}

function cut(bytes: Uint8Array, where: RegExp, standIn: string): Uint8Array | undefined {
  const before = Buffer.from(bytes).toString("latin1");
  const after = before.replace(where, () => latin1(standIn));
  return after === before ? undefined : Buffer.from(after, "latin1");
}

// ---- Journal and archive. Lines without the text stay byte for byte, unreadable lines too ----

export type Scrubbed = { readonly lines: readonly string[]; readonly hits: number };

/** A line that contained the text loses it, or is dropped where nothing else in it is worth keeping. */
export function scrubJournal(path: string, needle: Needle): Scrubbed {
  return scrubLines(path, (line, value) => {
    const record = decodeRecord(value);
    if (!record) return needle.isInRaw(Buffer.from(line)) ? [] : [line];
    const clean = scrubRecord(record, needle);
    if (clean === record) return [line];
    return clean ? [JSON.stringify(encodeRecord(clean))] : [];
  });
}

export function scrubArchive(path: string, needle: Needle): Scrubbed {
  return scrubLines(path, (line, value) => {
    const fields = typeof value === "object" && value !== null ? Object.values(value) : [];
    const isHit =
      fields.some((field) => typeof field === "string" && needle.isIn(field)) ||
      needle.isInRaw(Buffer.from(line));
    return isHit ? [] : [line];
  });
}

function scrubLines(path: string, scrub: (line: string, value: unknown) => readonly string[]): Scrubbed {
  const lines: string[] = [];
  let hits = 0;
  for (const line of readLines(path)) {
    const kept = scrub(line, parseJsonLines(line).values[0]); // undefined for half a line, which is searched as raw text
    if (kept[0] !== line) hits += 1;
    lines.push(...kept);
  }
  return { lines, hits };
}

/** The same object when it does not contain the text; undefined when the whole record has to go. */
function scrubRecord(record: JournalRecord, { text, isIn, standIn }: Needle): JournalRecord | undefined {
  if (record.kind === "refusal")
    return record.sha256 === sha256(text) || isIn(record.reason) || isIn(record.sessionId)
      ? undefined
      : record;
  if (record.kind === "checkpoint") {
    const known = record.known.filter((entry) => !isIn(entry.text) && !isIn(entry.sessionId));
    return known.length === record.known.length ? record : { ...record, known, isIncomplete: true };
  }
  const { changes, entries = [], archived = [], reason, sessionId } = record;
  const steps = changes.flatMap(({ before, after, into }) => [before, after, into]);
  if (![...steps, ...entries, ...archived, reason, sessionId].some(isIn)) return record;
  const clean = <T extends string | null | undefined>(value: T): T | string =>
    isIn(value) ? standIn : value;
  return {
    ...record,
    changes: changes.map(({ at, before, after, into }) => ({
      at,
      before: clean(before),
      after: clean(after),
      into: clean(into),
    })),
    entries: record.entries?.map(clean),
    archived: record.archived?.map(clean),
    reason: clean(reason),
    sessionId: isIn(sessionId) ? undefined : sessionId,
    isIncomplete: true,
  };
}

function readLines(path: string): string[] {
  try {
    return readFileSync(path, "utf8")
      .split("\n")
      .filter((line) => line !== "");
  } catch (cause) {
    if (errnoCode(cause) === "ENOENT") return [];
    throw cause;
  }
}
