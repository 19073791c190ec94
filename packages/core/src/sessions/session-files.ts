// Files that belong to sessions, beside the database: kept tool results, JSON snapshots and transcripts. The note in a row that
// names a kept result, reading and removing the files, and finding files whose session is gone.
import { constants, type Stats } from "node:fs";
import { lstat, mkdir, open, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { SessionFiles } from "../home.ts";
import { errnoCode, groupThousands, namesIn, randomHex } from "../lib/index.ts";
import type { HomeStore, SessionStore } from "./store.ts";

// ---- The note of a kept tool result ----
// A tool result that is too long for a conversation is kept in a file. The stored row ends with a note that names the file, and
// that note is the only record of which session the file belongs to. Pure.

export type NotedResult = {
  /** The file's name without `.txt`. */
  readonly id: string;
  /** Length of the whole text, in code points. */
  readonly chars: number;
};

type ResultNote = NotedResult & {
  readonly shownChars: number;
  /** The tool that reads kept results, if the model has it. */
  readonly reader?: string | undefined;
};

const CALL_CHARS = 48;
/** `<call id, restricted to characters allowed in a file name>-<8 random hex digits>`. */
export const RESULT_ID = new RegExp(`^[A-Za-z0-9_-]{0,${CALL_CHARS}}-[0-9a-f]{8}$`);

/** Part of every note. SQL queries search for it before a row is parsed. */
export const NOTE_START = "[The result has ";
const SIZE =
  /^\[The result has ([0-9,]{1,20}) characters; only the first [0-9,]{1,20} (?:is|are) shown\. (.+)\]$/s;
const KEPT = /^All of it is kept as result ([A-Za-z0-9_-]{1,64})[;:] /;
// Version 0.1.0 named the file. Its directory is not compared, because a home can be moved with its files.
const IN_FILE =
  /^All of it is in the file .*[\\/]tool-results[\\/]([A-Za-z0-9_-]{1,64})\.txt: read it in parts /s;

export function resultIdFor(callId: string, random: string): string {
  return `${callPart(callId)}-${random}`;
}

export function resultNote({ id, chars, shownChars, reader }: ResultNote): string {
  const how =
    reader === undefined
      ? "; no tool of yours reads it, so call the tool again with arguments that ask for less."
      : `: read it in parts with ${reader}, or call the tool again with arguments that ask for less.`;
  return `[${shownSize(chars, shownChars)} All of it is kept as result ${id}${how}]`;
}

/** For a text that could not be kept, so there is no id. */
export function lostResultNote(chars: number, shownChars: number, why: string): string {
  return `[${shownSize(chars, shownChars)} The rest could not be kept (${why}); ask for less and call the tool again.]`;
}

/**
 * The kept result that a stored tool result names. The note must be at the end of the text, and the id must contain the call id
 * of the row: a note that is quoted in another result, such as one of session_search, gives no access to the file.
 */
export function notedResult(content: unknown, toolCallId: unknown): NotedResult | undefined {
  if (typeof content !== "string" || typeof toolCallId !== "string" || !content.endsWith("]"))
    return undefined;
  const start = content.lastIndexOf(NOTE_START);
  const [, chars = "", rest = ""] = (start < 0 ? null : SIZE.exec(content.slice(start))) ?? [];
  const id = (KEPT.exec(rest) ?? IN_FILE.exec(rest))?.[1];
  if (id === undefined || !RESULT_ID.test(id) || id.slice(0, -9) !== callPart(toolCallId)) return undefined;
  return { id, chars: Number(chars.replaceAll(",", "")) };
}

/** Text from outside that ends like a note must not give access to the file it names. */
export function withoutResultNote(text: string, toolCallId: string): string {
  return notedResult(text, toolCallId) === undefined ? text : `${text}\n(End of the tool's text.)`;
}

function callPart(callId: string): string {
  return callId.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, CALL_CHARS);
}

function shownSize(chars: number, shown: number): string {
  return `The result has ${groupThousands(chars)} characters; only the first ${groupThousands(shown)} are shown.`;
}

// ---- Files of kept results ----
// `<id>.txt`, one per result, readable only by their owner.

type KeptFile = {
  readonly id: string;
  readonly path: string;
  readonly bytes: number;
  readonly modifiedMs: number;
};

const SUFFIX = ".txt";

export async function keepResult(
  directory: string,
  callId: string,
  text: string,
): Promise<{ readonly id: string; readonly path: string }> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const id = resultIdFor(callId, randomHex(4));
  const path = pathOf(directory, id);
  await writeFile(path, text, { flag: "wx", mode: 0o600 });
  return { id, path };
}

/** Undefined when the file does not exist or is not a regular file. Links are not followed. */
export async function readKeptResult(directory: string, id: string): Promise<string | undefined> {
  if (!RESULT_ID.test(id)) return undefined;
  const path = pathOf(directory, id);
  if (!(await statIfPresent(path))?.isFile()) return undefined;
  // Windows has no such flag; there, the check above must do.
  await using file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
  return file.readFile("utf8");
}

/** Ignores files with other names, directories and links. */
async function listKeptFiles(directory: string): Promise<readonly KeptFile[]> {
  const found: KeptFile[] = [];
  for (const name of namesIn(directory)) {
    const id = name.slice(0, -SUFFIX.length);
    if (!name.endsWith(SUFFIX) || !RESULT_ID.test(id)) continue;
    const path = join(directory, name);
    const stats = await statIfPresent(path);
    if (stats?.isFile()) found.push({ id, path, bytes: stats.size, modifiedMs: stats.mtimeMs });
  }
  return found;
}

/** Returns how many were removed. A file that cannot be removed is an orphan, and `hermes doctor` names it. */
export async function removeKeptResults(directory: string, ids: Iterable<string>): Promise<number> {
  let removed = 0;
  for (const id of ids) {
    if (!RESULT_ID.test(id)) continue;
    try {
      await rm(pathOf(directory, id));
      removed += 1;
    } catch {
      // already removed, or locked, or not permitted
    }
  }
  return removed;
}

/** The file of a kept result, if it exists. */
export async function keptFile(directory: string, id: string): Promise<string | undefined> {
  const path = RESULT_ID.test(id) ? pathOf(directory, id) : undefined;
  return path !== undefined && (await statIfPresent(path)) !== undefined ? path : undefined;
}

function pathOf(directory: string, id: string): string {
  return join(directory, `${id}${SUFFIX}`);
}

async function statIfPresent(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch (cause) {
    if (errnoCode(cause) === "ENOENT" || errnoCode(cause) === "ENOTDIR") return undefined;
    throw cause;
  }
}

// ---- Snapshots and transcripts ----
// JSON snapshots of ours, and transcripts that Hermes Agent may have written.

const DUMP_PREFIX = "request_dump_";
const SNAPSHOT_PREFIX = "session_";

/**
 * Runs outside any transaction and ignores failures: the database is authoritative, and a remaining file does no harm. A name can
 * match two sessions (`session_a.json` is the snapshot of `a` and a transcript of `session_a`); the file stays while one of them
 * exists.
 */
export async function removeTranscripts(
  directory: string,
  ids: Iterable<string>,
  exists: (id: string) => Promise<boolean>,
): Promise<void> {
  for (const path of await listTranscripts(directory, ids, exists)) {
    try {
      await rm(path);
    } catch {
      // locked, or not permitted; see above
    }
  }
}

/** The files that `removeTranscripts` removes. */
export async function listTranscripts(
  directory: string,
  ids: Iterable<string>,
  exists: (id: string) => Promise<boolean>,
): Promise<string[]> {
  const safe = new Set([...ids].filter(isFileName));
  if (safe.size === 0) return [];
  const found: string[] = [];
  for (const name of filesIn(directory)) {
    const named = sessionsNamedBy(name);
    if (!named.some((id) => safe.has(id))) continue;
    const others = named.filter((id) => !safe.has(id));
    if (!(await Promise.all(others.map(exists))).includes(true)) found.push(join(directory, name));
  }
  return found;
}

/** An id that contains a path names no file of ours, whichever program stored it. */
function isFileName(id: string): boolean {
  return id === basename(id) && !id.includes("\\") && !id.includes("\0");
}

/** The ids a file may belong to: `<id>.json`, `<id>.jsonl`, `session_<id>.json`, `request_dump_<id>_<anything>.json`. */
function sessionsNamedBy(name: string): string[] {
  const [, stem] = /^(.*)\.jsonl?$/s.exec(name) ?? [];
  if (stem === undefined) return [];
  const ids = [stem];
  if (name.startsWith(SNAPSHOT_PREFIX) && name.endsWith(".json"))
    ids.push(stem.slice(SNAPSHOT_PREFIX.length));
  if (!name.startsWith(DUMP_PREFIX) || !name.endsWith(".json")) return ids;
  // An id may contain the separator, so every possible end of it is tried.
  for (let end = stem.indexOf("_", DUMP_PREFIX.length); end >= 0; end = stem.indexOf("_", end + 1))
    ids.push(stem.slice(DUMP_PREFIX.length, end));
  return ids;
}

function filesIn(directory: string): readonly string[] {
  try {
    return namesIn(directory);
  } catch {
    return [];
  }
}

// ---- Files without a session ----
// A process was killed between the commit of a deletion and the removal of the files, or version 0.1.0 left them behind.

export type OrphanFile = Omit<KeptFile, "id">;

type Orphans = {
  /** Tool results that no row names. */
  readonly results: readonly OrphanFile[];
  /** JSON snapshots of sessions that were deleted from the database. */
  readonly snapshots: readonly OrphanFile[];
  /**
   * JSON files of conversations that may never have been in this database. Each can be the only copy, so they are never removed.
   */
  readonly unknownSnapshots: readonly OrphanFile[];
};

/**
 * The first keys of a snapshot that this program wrote for a session with a row. Other programs write files with the same name.
 */
export const STORED_SNAPSHOT = { written_by: "hermes-memory", in_database: true } as const;
const STORED_HEAD = `${JSON.stringify(STORED_SNAPSHOT, null, 2).slice(0, -2)},`;
const SNAPSHOT_NAME = /^session_(.+)\.json$/s;
/** A result file is written before its row. */
const YOUNG_MS = 3_600_000;

type OrphanSearch = {
  readonly nowMs: number;
  /** Default and minimum: 1 hour. */
  readonly olderThanMs?: number;
};

export async function findOrphans(
  store: Pick<HomeStore, "getSession" | "listAllKeptResultIds">,
  { sessionsDir, resultsDir }: SessionFiles,
  { nowMs, olderThanMs = YOUNG_MS }: OrphanSearch,
): Promise<Orphans> {
  const before = nowMs - Math.max(YOUNG_MS, olderThanMs);
  const isOld = ({ modifiedMs }: OrphanFile): boolean => modifiedMs < before;
  const kept = resultsDir === undefined ? [] : (await listKeptFiles(resultsDir)).filter(isOld);
  // Reads every message, so only when there are files to check.
  const named = kept.length === 0 ? new Set<string>() : await store.listAllKeptResultIds();
  const results = kept.filter(({ id }) => !named.has(id)).map(({ id: _id, ...file }) => file);
  const stray = sessionsDir === undefined ? [] : await straySnapshots(store, sessionsDir);
  const old = stray.filter(({ file }) => isOld(file));
  return {
    results,
    snapshots: old.filter(({ wasStored }) => wasStored).map(({ file }) => file),
    unknownSnapshots: old.filter(({ wasStored }) => !wasStored).map(({ file }) => file),
  };
}

/** Returns how many were removed. A file that cannot be removed now is found again next time. */
export async function removeOrphans(files: readonly OrphanFile[]): Promise<number> {
  let removed = 0;
  for (const { path } of files) {
    try {
      await rm(path);
      removed += 1;
    } catch {
      // locked, or not permitted
    }
  }
  return removed;
}

type Stray = { readonly file: OrphanFile; readonly wasStored: boolean };

async function straySnapshots(store: Pick<SessionStore, "getSession">, directory: string): Promise<Stray[]> {
  const found: Stray[] = [];
  for (const name of namesIn(directory)) {
    const id = SNAPSHOT_NAME.exec(name)?.[1];
    if (id === undefined) continue;
    // A transcript of Hermes Agent for a session named `session_<id>` has the same name.
    if ((await store.getSession(id)) !== null || (await store.getSession(`session_${id}`)) !== null) continue;
    const path = join(directory, name);
    const stats = await lstat(path).catch(() => undefined);
    if (!stats?.isFile()) continue;
    const file = { path, bytes: stats.size, modifiedMs: stats.mtimeMs };
    found.push({ file, wasStored: await startsWith(path, STORED_HEAD) });
  }
  return found;
}

async function startsWith(path: string, head: string): Promise<boolean> {
  await using file = await open(path);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(head.length), 0, head.length, 0);
  return buffer.toString("utf8", 0, bytesRead) === head;
}
