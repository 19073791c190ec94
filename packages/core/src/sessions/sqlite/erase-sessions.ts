// Erases all sessions of one user, or of the owner of the home, down to the bytes: rows, index, free pages, log and files.
// Files go before the rows that name them: after a kill, the rows still say which files belong to this user, and the next call
// finishes. The bytes of deleted rows are overwritten in the transaction that deletes them (`secure_delete`). Copies that SQLite
// left elsewhere, when it moved rows and merged the index, go with a VACUUM, which needs the file for itself.
import { readdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { SessionFiles } from "../../home.ts";
import { describeCause, describeHolder, errnoCode } from "../../lib/index.ts";
import { sessionError } from "../errors.ts";
import { personKey, USER_PLATFORM } from "../identity.ts";
import { personWord } from "../search/document.ts";
import { keptFile, listTranscripts } from "../session-files.ts";
import type { ErasedSessions, HeldLease, SessionCopies } from "../store.ts";
import { workOn } from "./claims.ts";
import {
  type Connection,
  featuresOf,
  isOwnerOfHome,
  isVisible,
  mark,
  seconds,
  type Visible,
} from "./connection.ts";
import { isStored, type Person, type StoreContext } from "./context.ts";
import { deleteOne } from "./deletion.ts";
import { DOC, FTS, SESSION_NUMBERS, WORD_NUMBERS } from "./index/tables.ts";
import { keptResults, namesOfResults, ownerOfSession, type ResultName } from "./kept-results.ts";
import { databaseBytes, mergeIndex, vacuumIfUnused } from "./maintenance.ts";
import { IN_MEMORY } from "./options.ts";
import { SPEND } from "./schema.ts";

/** Sessions per transaction; other programs can write between two transactions. */
const SESSIONS_AT_ONCE = 50;
/** The documents of the deleted messages are taken out of the index before the bytes are cleaned. */
const INDEX_WAIT_MS = 30_000;
/** VACUUM writes about 100 MB per second and locks out every other writer, whose patience ends after 15 seconds. */
const LARGEST_VACUUM_BYTES = 512 * 1024 * 1024;

const IS_THEIRS = isVisible("s");
const THEIRS = `SELECT s.id FROM sessions s WHERE s.id IS NOT NULL AND ${IS_THEIRS} ORDER BY s.started_at, s.id`;
const STILL_THEIRS = `SELECT 1 FROM sessions s WHERE s.id = :id AND ${IS_THEIRS}`;
const MESSAGES = "SELECT COUNT(*) AS number FROM messages WHERE session_id = :id";
/**
 * A run that version 0.1.0 stored has the platform of its parent session. When the parent is erased and the run stays, because it is
 * busy or another user's, it gets the mark that newer runs have.
 */
const KEEP_PLATFORM = `
  UPDATE sessions AS s SET model_config = json_set(COALESCE(s.model_config, '{}'), '$.${USER_PLATFORM}',
    (SELECT p.source FROM sessions p WHERE p.id = :id))
  WHERE s.parent_session_id = :id AND s.source = 'subagent' AND s.user_id IS NOT NULL
    AND (s.model_config IS NULL OR (json_valid(s.model_config) AND json_type(s.model_config) = 'object'))
    AND ${mark("s", USER_PLATFORM)} IS NULL
`;

export function erasingOperations(context: StoreContext) {
  const { connection } = context;
  return {
    async eraseSessions({ dryRun = false, sessionsDir, resultsDir } = {}) {
      const whose = onlyPerson(context.person);
      const files = { sessionsDir, resultsDir };
      if (!dryRun) connection.refuseIfReadOnly();
      const found = await find(context, whose, files);
      const remaining = [...found.remaining, ...copiesOf(connection.path)];
      const erased = dryRun
        ? {
            sessions: found.sessions.length,
            messages: found.messages,
            files: found.files.length,
          }
        : await erase(context, whose, found, remaining);
      if (!dryRun) remaining.push(...(await cleanBytes(context, whose)));
      return { ...erased, remaining };
    },
  } satisfies Partial<SessionCopies>;
}

/** An id without a platform may be several people, and no id everybody. */
function onlyPerson({ visible: whose }: Person): Visible {
  if (isOwnerOfHome(whose) || (whose.user !== null && whose.platform !== null)) return whose;
  throw sessionError("bad-user-id", "It is not said whose sessions to erase.", {
    hint: "Call it in the store of one person, which forUser gives.",
  });
}

// ---- What there is ----

type Found = {
  readonly sessions: readonly string[];
  readonly messages: number;
  /** Paths. */
  readonly files: readonly string[];
  readonly remaining: readonly string[];
};

async function find(context: StoreContext, whose: Visible, directories: SessionFiles): Promise<Found> {
  const { connection, clock } = context;
  const found = await connection.read(() => {
    const all = connection.all<{ id: string }>(THEIRS, whose).map(({ id }) => id);
    const now = seconds(clock);
    const busy = all.flatMap((id) => {
      const lease = workOn(connection, id, now);
      return lease === undefined ? [] : [{ id, lease }];
    });
    const isBusy = new Set(busy.map(({ id }) => id));
    const sessions = all.filter((id) => !isBusy.has(id));
    return {
      sessions,
      messages: sessions.reduce((sum, id) => sum + messagesOf(connection, id), 0),
      remaining: busy.map(({ id, lease }) => busyNote(id, lease)),
    };
  });
  const files = await filesOf(context, found.sessions, directories);
  return { ...found, files };
}

function messagesOf(connection: Connection, id: string): number {
  return connection.get<{ number: number }>(MESSAGES, { id })?.number ?? 0;
}

function busyNote(id: string, { holder }: HeldLease): string {
  return `Session '${id}' stays: ${describeHolder(holder)} is working on it. Erase again when its turn is over.`;
}

/** Kept results of this user that no session that stays needs, and transcripts. */
async function filesOf(
  { connection, warn }: StoreContext,
  sessions: readonly string[],
  { sessionsDir, resultsDir }: SessionFiles,
): Promise<string[]> {
  const paths: string[] = [];
  if (sessionsDir !== undefined) {
    const gone = new Set(sessions);
    const stays = (id: string) => connection.read(() => !gone.has(id) && isStored(connection, id));
    paths.push(...(await listTranscripts(sessionsDir, sessions, stays)));
  }
  if (resultsDir === undefined) return paths;
  const named = await connection.read(() => {
    const names = new Map<string, ResultName[]>();
    for (const kept of keptResults(connection, sessions, warn, { includeInactive: true })) {
      const name = { messageId: kept.message_id, owner: ownerOfSession(connection, kept.session_id) };
      names.set(kept.id, [...(names.get(kept.id) ?? []), name]);
    }
    return names;
  });
  const others =
    named.size === 0 ? new Map<string, ResultName[]>() : await namesOfResults(connection, new Set(sessions));
  for (const [id, names] of named) {
    const left = others.get(id) ?? [];
    // The file belongs to the user of the first row that names it; copies of the row in sessions of others do not keep it.
    if (
      names.some(({ messageId, owner }) =>
        left.some((name) => name.owner === owner || name.messageId < messageId),
      )
    )
      continue;
    const path = await keptFile(resultsDir, id);
    if (path !== undefined) paths.push(path);
  }
  return paths;
}

const TURNS = "session_turn_leases";

/** Copies that a repair kept, and copies that are left of one. */
function copiesOf(path: string): string[] {
  if (path === IN_MEMORY) return [];
  const start = `${basename(path)}.`;
  return readdirSync(dirname(path))
    .filter((name) => name.startsWith(start) && !/-(wal|shm|journal)$/.test(name))
    .filter((name) => /^(malformed-backup|repaired|repair)-/.test(name.slice(start.length)))
    .map(
      (name) =>
        `${join(dirname(path), name)} is a copy of the session database from a repair and may hold these sessions. Delete it when you no longer need it.`,
    );
}

// ---- Erasing ----

async function erase(
  { connection, clock }: StoreContext,
  whose: Visible,
  found: Found,
  remaining: string[],
): Promise<Pick<ErasedSessions, "sessions" | "messages" | "files">> {
  let files = 0;
  for (const path of found.files) {
    try {
      await rm(path);
      files += 1;
    } catch (cause) {
      if (errnoCode(cause) === "ENOENT") continue;
      remaining.push(`${path} could not be deleted: ${describeCause(cause)}. Delete it yourself.`);
    }
  }
  let sessions = 0;
  let messages = 0;
  await overwriting(connection, async () => {
    for (let start = 0; start < found.sessions.length; start += SESSIONS_AT_ONCE) {
      const some = found.sessions.slice(start, start + SESSIONS_AT_ONCE);
      const done = await connection.write(() => {
        const now = seconds(clock);
        const hasTurns = featuresOf(connection).tables.has(TURNS);
        const outcome = { sessions: 0, messages: 0, notes: [] as string[] };
        for (const id of some) {
          // Since it was found, another process may have started a turn in it, deleted it, or given it to another user.
          if (connection.get(STILL_THEIRS, { id, ...whose }) === undefined) continue;
          const lease = workOn(connection, id, now);
          if (lease !== undefined) {
            outcome.notes.push(busyNote(id, lease));
            continue;
          }
          outcome.sessions += 1;
          outcome.messages += messagesOf(connection, id);
          connection.run(KEEP_PLATFORM, { id });
          if (hasTurns) connection.run(`DELETE FROM ${TURNS} WHERE conversation_id = :id`, { id });
          deleteOne(connection, id);
        }
        return outcome;
      });
      sessions += done.sessions;
      messages += done.messages;
      remaining.push(...done.notes);
    }
    const { user, platform } = whose;
    if (user !== null && platform !== null)
      await connection.write(() =>
        connection.run(`DELETE FROM ${SPEND.name} WHERE key = :key`, { key: personKey(platform, user) }),
      );
  });
  return { sessions, messages, files };
}

/** While `work` runs, this connection overwrites what it deletes. */
export async function overwriting<T>(connection: Connection, work: () => Promise<T>): Promise<T> {
  const before = connection.get<{ secure_delete: number }>("PRAGMA secure_delete")?.secure_delete ?? 0;
  connection.get("PRAGMA secure_delete = ON");
  try {
    return await work();
  } finally {
    if (!connection.isClosed) connection.get(`PRAGMA secure_delete = ${before}`);
  }
}

// ---- The bytes of deleted rows ----
// Always done, even if no session was found: an earlier call may have been killed, and sessions that were deleted one by one, without
// overwriting, leave their bytes in free pages.

async function cleanBytes({ connection, index }: StoreContext, whose: Visible): Promise<string[]> {
  const { path } = connection;
  try {
    if (!(await index.catchUp(INDEX_WAIT_MS)))
      return [
        `The search index in ${path} may still have words of deleted messages, because another process is writing to it. Erase again later.`,
      ];
    await overwriting(connection, async () => {
      await connection.write(() => dropNumbers(connection, whose));
      // A deletion only marks words as deleted; merging removes them. Hermes Agent merges its index itself from time to time.
      const foreign = await connection.read(() => connection.all<{ name: string }>(FOREIGN_INDEXES));
      for (const name of [FTS, ...foreign.map((row) => row.name)])
        await mergeIndex(connection, undefined, name);
    });
    const note = await rewriteFile(connection);
    return note === undefined ? [] : [note];
  } catch (cause) {
    return [
      `${path} may still have deleted text in unused space (${describeCause(cause)}). Erase again later.`,
    ];
  }
}

const FOREIGN_INDEXES = `
  SELECT name FROM main.sqlite_master WHERE name LIKE 'messages\\_fts%' ESCAPE '\\' AND sql LIKE 'CREATE VIRTUAL TABLE%fts5%'
`;

/** Leaves no older copies of deleted text in the file and its log. Otherwise returns a sentence that says why, and what to do. */
export async function rewriteFile(connection: Connection): Promise<string | undefined> {
  const { path } = connection;
  const hint = "Run 'hermes sessions optimize' when no other process uses it.";
  const isLarge = (await databaseBytes(connection)) > LARGEST_VACUUM_BYTES;
  const isRewritten = !isLarge && (await vacuumIfUnused(connection)) === "done";
  // `busy`: a reader still needs the log. Undefined: the journal mode has no log.
  const log = await connection.outside(() =>
    connection.get<{ busy: number }>("PRAGMA wal_checkpoint(TRUNCATE)"),
  );
  if (isRewritten && log?.busy !== 1) return undefined;
  const why = isLarge ? "it is too large to be rewritten now" : "another process has it open";
  return `The rows are gone and overwritten, but ${path} or its log may still have older copies of deleted text in unused space, because ${why}. ${hint}`;
}

/** The index numbers sessions, users and persons; the names stay in its tables when their messages are gone. */
function dropNumbers(connection: Connection, whose: Visible): void {
  const { tables } = featuresOf(connection);
  if (!tables.has(SESSION_NUMBERS) || !tables.has(WORD_NUMBERS) || !tables.has(DOC)) return;
  connection.run(`
    DELETE FROM ${SESSION_NUMBERS} WHERE session_id NOT IN (SELECT id FROM sessions WHERE id IS NOT NULL)
      AND n NOT IN (SELECT abs(n) FROM ${DOC})
  `);
  const { user, platform } = whose;
  if (user === null || platform === null) return; // the owner has no id
  if (connection.get(THEIRS, whose) !== undefined) return; // a busy session
  connection.run(`DELETE FROM ${WORD_NUMBERS} WHERE word = :word`, { word: personWord(platform, user) });
  // The same table numbers sources and roles, and the id on another platform.
  connection.run(
    `DELETE FROM ${WORD_NUMBERS} WHERE word = :user AND NOT EXISTS (SELECT 1 FROM sessions WHERE user_id = :user OR source = :user)
       AND NOT EXISTS (SELECT 1 FROM messages WHERE role = :user)`,
    { user },
  );
}
