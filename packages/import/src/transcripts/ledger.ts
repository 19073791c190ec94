// What was read before: one note per unit in the database, so that unchanged files are not opened again.
import { createHash } from "node:crypto";
import { realpath, stat } from "node:fs/promises";
import { isRecord } from "@hermes-memory/core/internal/lib";
import type { SessionStore } from "@hermes-memory/core/internal/sessions";
import { jsonOf, listOf, numberOf, recordsOf, textOf } from "./kit/values.ts";
import type { TranscriptReader, Unit } from "./reader.ts";

const VERSION = 1;

/** A unit as it is on disk now. Taken before reading, so that a file that grows meanwhile is read again. */
export type UnitStamp = {
  readonly key: string;
  readonly path: string;
  readonly files: readonly { readonly path: string; readonly size: number; readonly mtimeMs: number }[];
  readonly size: number;
  readonly mtimeMs: number;
};

export type LedgerNote = {
  readonly stamp: UnitStamp;
  /** The version of the reader, and the options that change what is stored. */
  readonly parser: string;
  /** Ids of the sessions it gave. One that is not in the database any more was deleted there. */
  readonly sessions: readonly string[];
  /** False while it was not read to its end. */
  readonly isComplete: boolean;
  /** The filters of the import, if they left out sessions of the unit: with others it must be read again. */
  readonly filter: string | undefined;
};

export async function stampOf({ source }: TranscriptReader, unit: Unit): Promise<UnitStamp> {
  const path = await realpath(unit.path);
  const files = [];
  for (const file of unit.stamps ?? [unit.path]) {
    const found = await stat(file).catch(() => undefined);
    if (found !== undefined) files.push({ path: file, size: found.size, mtimeMs: found.mtimeMs });
  }
  const digest = createHash("sha256").update(path).digest("hex").slice(0, 16);
  return {
    key: noteKeys(source) + digest,
    path,
    files,
    size: files.reduce((sum, { size }) => sum + size, 0),
    mtimeMs: files.reduce((latest, { mtimeMs }) => Math.max(latest, mtimeMs), 0),
  };
}

/** What the keys of all notes of a source begin with. */
export function noteKeys(source: string): string {
  return `import:${source}:`;
}

export async function readNote(
  store: Pick<SessionStore, "getMeta">,
  { key }: UnitStamp,
): Promise<(Omit<LedgerNote, "stamp"> & { readonly files: string }) | undefined> {
  const value = jsonOf((await store.getMeta(key)) ?? undefined);
  if (!isRecord(value) || numberOf(value.v) !== VERSION) return undefined;
  return {
    files: JSON.stringify(value.files),
    parser: textOf(value.parser) ?? "",
    sessions: listOf(value.sessions).filter((id) => typeof id === "string"),
    isComplete: value.complete === true,
    filter: textOf(value.filter),
  };
}

export function isUnchanged(
  note: Awaited<ReturnType<typeof readNote>>,
  stamp: UnitStamp,
  parser: string,
  filter: string,
): boolean {
  if (note?.isComplete !== true || note.parser !== parser) return false;
  return (note.filter ?? filter) === filter && note.files === JSON.stringify(filesOf(stamp));
}

export async function writeNote(
  store: Pick<SessionStore, "setMeta">,
  { stamp, parser, sessions, isComplete, filter }: LedgerNote,
  now: number,
): Promise<void> {
  const value = {
    v: VERSION,
    path: stamp.path,
    size: stamp.size,
    mtime_ms: stamp.mtimeMs,
    files: filesOf(stamp),
    parser,
    sessions,
    complete: isComplete,
    filter,
    at: now,
  };
  await store.setMeta(stamp.key, JSON.stringify(value));
}

function filesOf({ files }: UnitStamp): [string, number, number][] {
  return files.map(({ path, size, mtimeMs }) => [path, size, mtimeMs]);
}

// ---- Sessions that are still to be linked ----

/** A session that goes on after a compaction from another one, which is known by its id or by one of its messages. */
export type Continuation = {
  readonly id: string;
  readonly source: string;
  readonly path: string;
  readonly session?: string | undefined;
  readonly messageId?: string | undefined;
};

export type Links = {
  /** False from the first session of an import that needs a link until the import has made all links. */
  readonly isDone: boolean;
  /** When done: those whose other session has not been imported. */
  readonly continuations: readonly Continuation[];
};

const LINKS = "import:links";
/** Sessions may go on from one that was deleted long ago. */
const MOST_CONTINUATIONS = 1000;

export async function readLinks(store: Pick<SessionStore, "getMeta">): Promise<Links> {
  const value = jsonOf((await store.getMeta(LINKS)) ?? undefined);
  if (!isRecord(value) || numberOf(value.v) !== VERSION) return { isDone: true, continuations: [] };
  const continuations = recordsOf(value.continuations).flatMap((one): Continuation[] => {
    const [id, source, path] = [textOf(one.id), textOf(one.source), textOf(one.path)];
    if (id === undefined || source === undefined || path === undefined) return [];
    return [{ id, source, path, session: textOf(one.session), messageId: textOf(one.message) }];
  });
  return { isDone: value.done === true, continuations };
}

export async function writeLinks(
  store: Pick<SessionStore, "setMeta">,
  { isDone, continuations }: Links,
): Promise<void> {
  const value = {
    v: VERSION,
    done: isDone,
    continuations: continuations.slice(-MOST_CONTINUATIONS).map(({ messageId, ...one }) => ({
      ...one,
      message: messageId,
    })),
  };
  await store.setMeta(LINKS, JSON.stringify(value));
}
