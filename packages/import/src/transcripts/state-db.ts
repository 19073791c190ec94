// The session database of another home or profile (`state.db`): read without a change to it, and copied into this home's.
import { existsSync, rmSync, statSync } from "node:fs";
import { chmod, copyFile, mkdir, realpath, rename, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { errnoCode } from "@hermes-memory/core/internal/lib";
import {
  type ExportedSession,
  type HomeStore,
  type ImportOutcome,
  openSessionStore,
  type TranscriptPlace,
} from "@hermes-memory/core/internal/sessions";
import { sampleOf } from "./find-reader.ts";
import { isDatabaseWith } from "./kit/database-sessions.ts";
import { howToOpen, looksOf, type Opening, openSource } from "./kit/sqlite-source.ts";
import { jsonOf, recordOf } from "./kit/values.ts";

const NAME = "state.db";
const RESULTS = "tool-results";

/** The database that a path means: itself, or the one in that home or profile. Undefined for anything else. */
export async function stateDatabaseAt(path: string): Promise<string | undefined> {
  const inside = join(path, NAME);
  const file = statSync(path).isDirectory() ? inside : path;
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) return undefined;
  return isDatabaseWith((await sampleOf(file)).head, /^/) ? file : undefined;
}

export type StateImport = {
  /** Undefined when there is no database here yet, for a dry run. */
  readonly target: HomeStore | undefined;
  /** Reads both, and writes nothing. */
  readonly isDry: boolean;
  /** Where kept tool results of this home are. */
  readonly resultsDir: string;
  /** In seconds. Only sessions that were active at this time or later. */
  readonly since?: number | undefined;
  /** Only sessions that began before it. */
  readonly until?: number | undefined;
  readonly isWanted?: ((cwd: string | undefined) => boolean) | undefined;
  readonly limit?: number | undefined;
  readonly signal: AbortSignal;
  readonly onProgress?: (done: number, total: number) => void;
};

export type StateImported = Required<ImportOutcome> & {
  readonly sessionsRead: number;
  /** Long tool results, which are files beside the database. */
  readonly resultsCopied: number;
  readonly isStopped: boolean;
  /** Another program wrote to the database meanwhile, so another run may find more. */
  readonly hasChanged: boolean;
};

/** Throws an Error with a reason if the file is no session database, or the same as the target. */
export async function importStateDatabase(path: string, wanted: StateImport): Promise<StateImported> {
  const { isDry, signal, target, isWanted, since = 0, until = Number.POSITIVE_INFINITY } = wanted;
  await checkTables(path, signal);
  await using looked = await lookInto(path);
  const { opening, store: source } = looked;
  const results = join(dirname(await realpath(path)), RESULTS);
  /** Of the messages of the current session. */
  let places: ReadonlyMap<number, TranscriptPlace> = new Map();
  let [sessionsRead, resultsCopied] = [0, 0];

  async function* sessions(): AsyncGenerator<ExportedSession> {
    const total = await source.sessionCount({ includeArchived: true });
    let seen = 0;
    // Inactive messages too: a turn that was taken back is part of the history, and extending compares all of them.
    for await (const exported of source.exportEach({ includeInactive: true })) {
      const { last_active: lastActive, ...session } = exported;
      if (signal.aborted || sessionsRead >= (wanted.limit ?? Number.POSITIVE_INFINITY)) return;
      seen += 1;
      wanted.onProgress?.(seen, total);
      if (lastActive < since || session.started_at >= until) continue;
      if (isWanted !== undefined && !isWanted(session.cwd ?? undefined)) continue;
      sessionsRead += 1;
      if (!isDry) places = await placesOf(session, source);
      yield session;
      if (!isDry) resultsCopied += await copyResults(session.id, source, results, wanted.resultsDir);
    }
  }

  const outcome =
    isDry || target === undefined
      ? await compared(sessions(), target)
      : await target.importSessions(sessions(), { extend: true, signal, placeOf: (id) => places.get(id) });
  return {
    extended: NOTHING_EXTENDED,
    ...outcome,
    sessionsRead,
    resultsCopied,
    isStopped: signal.aborted,
    hasChanged: opening.unchanged !== undefined && looksOf(path) !== opening.unchanged.looks,
  };
}

/**
 * A session database for reading, without a file being created beside it: an ordinary read-only connection makes `-wal` and `-shm`.
 * This process must not have the database open, because the file is also read without SQLite.
 */
export async function lookInto(
  path: string,
): Promise<AsyncDisposable & { readonly store: HomeStore; readonly opening: Opening }> {
  const opening = await howToOpen(path);
  const removeCopy = (): void => {
    if (opening.copy !== undefined) rmSync(opening.copy, { recursive: true, force: true });
  };
  try {
    const store = await openSessionStore({
      path: opening.copy === undefined ? path : join(opening.copy, basename(path)),
      readOnly: true,
      isUnchanging: opening.unchanged !== undefined,
    });
    const dispose = async (): Promise<void> => {
      await store.close();
      removeCopy();
    };
    return { store, opening, [Symbol.asyncDispose]: dispose };
  } catch (cause) {
    removeCopy();
    throw cause;
  }
}

const NOTHING_EXTENDED = { sessions: 0, messages: 0, unchanged: 0 };

/** Two names of one file are the same database. */
export async function isSameFile(path: string, other: string): Promise<boolean> {
  const [a, b] = await Promise.all(
    [path, other].map((each) => stat(each, { bigint: true }).catch(() => undefined)),
  );
  return a !== undefined && b !== undefined && a.dev === b.dev && a.ino === b.ino;
}

async function checkTables(path: string, signal: AbortSignal): Promise<void> {
  using db = await openSource(path, { signal });
  if (!db.hasTable("sessions") || !db.hasTable("messages"))
    throw new Error("it is a SQLite database, but not one with sessions of Hermes");
}

/** Without them an import of the transcript would take the session for one that was continued here, and leave it alone. */
async function placesOf(
  { model_config: config, messages }: ExportedSession,
  source: HomeStore,
): Promise<Map<number, TranscriptPlace>> {
  const origin = recordOf(recordOf(jsonOf(config ?? undefined))?._import);
  if (origin === undefined) return new Map();
  const places = await source.transcripts.listProvenance(messages.map(({ id }) => id));
  return new Map(
    places.map(({ messageId, path, line }) => [
      messageId,
      { line, path: path === origin.path ? null : path },
    ]),
  );
}

/** Returns how many. */
async function copyResults(id: string, source: HomeStore, from: string, to: string): Promise<number> {
  let copied = 0;
  for (const { id: resultId } of await source.listKeptResults([id], { includeInactive: true })) {
    try {
      await mkdir(to, { recursive: true, mode: 0o700 });
      const place = join(to, `${resultId}.txt`);
      if (existsSync(place)) continue; // copied before
      // Under another name first: an import that is killed here must not leave half a result.
      const temporary = `${place}.tmp`;
      await copyFile(join(from, `${resultId}.txt`), temporary);
      await chmod(temporary, 0o600);
      await rename(temporary, place);
      copied += 1;
    } catch (cause) {
      // Deleted there. The row says that its text was cut either way.
      if (errnoCode(cause) !== "ENOENT") throw cause;
    }
  }
  return copied;
}

/** What an import would do, by the number of messages. */
async function compared(
  sessions: AsyncIterable<ExportedSession>,
  target: HomeStore | undefined,
): Promise<ImportOutcome> {
  let imported = 0;
  let messages = 0;
  const extended = { ...NOTHING_EXTENDED };
  for await (const { id, messages: there } of sessions) {
    const isKnown = target !== undefined && (await target.getSession(id)) !== null;
    const more = isKnown ? there.length - (await target.messageCount(id)) : 0;
    if (!isKnown) {
      imported += 1;
      messages += there.length;
    } else if (more > 0) {
      extended.sessions += 1;
      extended.messages += more;
    } else extended.unchanged += 1;
  }
  return { imported, messages, skipped: [], renamed: [], extended };
}
