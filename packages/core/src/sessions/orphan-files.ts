// Files in a home that belong to no session any more: a process was killed between the commit of a deletion and the removal of
// the files, or version 0.1.0 left them behind.
import { lstat, open, rm } from "node:fs/promises";
import { join } from "node:path";
import type { SessionFiles } from "../home.ts";
import { namesIn } from "../lib/index.ts";
import { type KeptFile, listKeptFiles } from "./result-files.ts";
import type { SessionStore } from "./store.ts";

export type OrphanFile = Omit<KeptFile, "id">;

export type Orphans = {
  /** Tool results that no row names. */
  readonly results: readonly OrphanFile[];
  /** JSON snapshots of sessions that were in the database and are not any more. */
  readonly snapshots: readonly OrphanFile[];
  /** JSON files of conversations that may never have been in this database: each can be the only copy. Nobody removes them. */
  readonly unknownSnapshots: readonly OrphanFile[];
};

/** The first keys of a snapshot that this program wrote for a session with a row. Other programs write files of the same name. */
export const STORED_SNAPSHOT = { written_by: "hermes-memory", in_database: true } as const;
const STORED_HEAD = `${JSON.stringify(STORED_SNAPSHOT, null, 2).slice(0, -2)},`;
const SNAPSHOT = /^session_(.+)\.json$/s;
/** A result is written before its row. */
const YOUNG_MS = 3_600_000;

export type OrphanSearch = {
  readonly nowMs: number;
  /** Default 1 hour, which is also the least. */
  readonly olderThanMs?: number;
};

export async function findOrphans(
  store: Pick<SessionStore, "getSession" | "listAllKeptResultIds">,
  { sessionsDir, resultsDir }: SessionFiles,
  { nowMs, olderThanMs = YOUNG_MS }: OrphanSearch,
): Promise<Orphans> {
  const before = nowMs - Math.max(YOUNG_MS, olderThanMs);
  const isOld = ({ modifiedMs }: OrphanFile): boolean => modifiedMs < before;
  const kept = resultsDir === undefined ? [] : (await listKeptFiles(resultsDir)).filter(isOld);
  // Every message is looked at, so only when there is something to look for.
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

/** How many went. A file that cannot be removed now is found again. */
export async function removeOrphans(files: readonly OrphanFile[]): Promise<number> {
  let removed = 0;
  for (const { path } of files) {
    try {
      await rm(path);
      removed += 1;
    } catch {
      // somebody else's lock or permission
    }
  }
  return removed;
}

type Stray = { readonly file: OrphanFile; readonly wasStored: boolean };

async function straySnapshots(store: Pick<SessionStore, "getSession">, directory: string): Promise<Stray[]> {
  const found: Stray[] = [];
  for (const name of namesIn(directory)) {
    const id = SNAPSHOT.exec(name)?.[1];
    if (id === undefined) continue;
    // A transcript of the original for a session named `session_<id>` has the same name.
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
