// Deleting sessions with everything that hangs on them.
import type { SessionRow } from "../rows.ts";
import type { Scope, SessionStore } from "../store.ts";
import type { Connection } from "./connection.ts";
import { type StoreContext, seconds, userOf } from "./context.ts";
import { isVisible, mark } from "./lineage-sql.ts";
import { SESSION_FIELDS } from "./sessions.ts";
import { removeTranscripts } from "./transcripts.ts";

const DAY_SECONDS = 86_400;
const DEFAULT_RETENTION_DAYS = 90;

/** Runs of subagents have no life of their own; the LIKE spares reading the JSON of all other rows. */
const DELEGATES = `
  SELECT s.id FROM sessions s WHERE ${isVisible("s")} AND s.model_config LIKE '%_delegate_from%' AND ${mark("s", "_delegate_from")} IS NOT NULL
    AND (${mark("s", "_delegate_from")} = :id OR s.parent_session_id = :id)
`;
const EXISTS = "SELECT 1 FROM sessions WHERE id = :id";
const ORPHAN_CHILDREN = "UPDATE sessions SET parent_session_id = NULL WHERE parent_session_id = :id";
const DELETE_MESSAGES = "DELETE FROM messages WHERE session_id = :id";
const DELETE_SESSION = "DELETE FROM sessions WHERE id = :id";
const DELETE_GOAL = "DELETE FROM state_meta WHERE key = 'goal:' || :id";
const DELETE_LOCK = "DELETE FROM compression_locks WHERE session_id = :id";
const DELETE_IF_EMPTY = `
  DELETE FROM sessions WHERE id = :id AND title IS NULL
    AND NOT EXISTS (SELECT 1 FROM messages WHERE session_id = :id)
    AND NOT EXISTS (SELECT 1 FROM sessions c WHERE c.parent_session_id = :id)
`;
const EMPTY = "message_count = 0 AND ended_at IS NOT NULL AND archived = 0";
const STILL_PRUNABLE =
  "SELECT 1 FROM sessions WHERE id = :id AND started_at < :before AND ended_at IS NOT NULL";
const PRUNABLE = `
  SELECT ${SESSION_FIELDS} FROM sessions WHERE started_at < :before AND ended_at IS NOT NULL
    AND (:source IS NULL OR source = :source) ORDER BY started_at, id
`;

export type DeletionOperations = Pick<
  SessionStore,
  | "deleteSession"
  | "deleteSessions"
  | "deleteSessionIfEmpty"
  | "deleteEmptySessions"
  | "countEmptySessions"
  | "pruneSessions"
  | "listPrunable"
  | "listDelegates"
>;

export function deletionOperations({ connection, clock }: StoreContext): DeletionOperations {
  /** One session, its delegates and its files. */
  const remove = async (id: string, sessionsDir: string | undefined): Promise<boolean> => {
    const gone = await connection.write(() => deleteTree(connection, id));
    if (sessionsDir !== undefined) removeTranscripts(sessionsDir, gone);
    return gone.length > 0;
  };
  // Taken literally, a negative age would remove everything that has ended.
  const cutoff = (days: number | undefined) =>
    seconds(clock) - (days !== undefined && days >= 0 ? days : DEFAULT_RETENTION_DAYS) * DAY_SECONDS;
  const prunable = (before: number, source: string | undefined) =>
    connection.all<SessionRow>(PRUNABLE, { before, source: source ?? null });
  return {
    deleteSession: (id, options = {}) => remove(id, options.sessionsDir),
    async deleteSessions(ids, options = {}) {
      const wanted = [...new Set(ids.filter((id): id is string => typeof id === "string"))];
      const { asked, gone } = await connection.write(() => {
        // Counted before anything goes, because a delegate may be among them.
        const known = wanted.filter((id) => exists(connection, id));
        return { asked: known.length, gone: known.flatMap((id) => deleteTree(connection, id)) };
      });
      if (options.sessionsDir !== undefined) removeTranscripts(options.sessionsDir, gone);
      return asked;
    },
    deleteSessionIfEmpty: (id) => connection.write(() => connection.run(DELETE_IF_EMPTY, { id }).changes > 0),
    deleteEmptySessions: () =>
      connection.write(() => {
        const rows = connection.all<{ id: string }>(`SELECT id FROM sessions WHERE ${EMPTY}`);
        for (const { id } of rows) deleteOne(connection, id);
        return rows.length;
      }),
    countEmptySessions: () =>
      connection.read(
        () =>
          connection.get<{ number: number }>(`SELECT COUNT(*) AS number FROM sessions WHERE ${EMPTY}`)
            ?.number ?? 0,
      ),
    async pruneSessions(options = {}) {
      const before = cutoff(options.olderThanDays);
      const rows = await connection.read(() => prunable(before, options.source));
      let pruned = 0;
      // One transaction each: thousands at once would keep every other program waiting. Meanwhile a session may have
      // been taken up again, so each is looked at once more.
      for (const { id } of rows) {
        const gone = await connection.write(() =>
          connection.get(STILL_PRUNABLE, { id, before }) === undefined ? [] : deleteTree(connection, id),
        );
        if (options.sessionsDir !== undefined) removeTranscripts(options.sessionsDir, gone);
        if (gone.length > 0) pruned += 1;
      }
      return pruned;
    },
    listPrunable: (options = {}) =>
      connection.read(() =>
        prunable(cutoff(options.olderThanDays), options.source).map((row) => ({ ...row })),
      ),
    listDelegates: (ids, scope) =>
      connection.read(() => withDelegates(connection, ids, scope).filter((id) => !ids.includes(id))),
  };
}

/** Inside a transaction: the session and, transitively, its delegates. Every id that went. */
function deleteTree(connection: Connection, id: string): string[] {
  if (!exists(connection, id)) return [];
  const doomed = withDelegates(connection, [id]);
  for (const each of doomed) deleteOne(connection, each);
  return doomed;
}

function exists(connection: Connection, id: string): boolean {
  return connection.get(EXISTS, { id }) !== undefined;
}

function withDelegates(connection: Connection, ids: readonly string[], scope?: Scope): string[] {
  const found = new Set(ids);
  for (const id of found) {
    // The set grows while it is walked.
    const delegates = connection.all<{ id: string }>(DELEGATES, { id, user: userOf(scope) });
    for (const delegate of delegates) found.add(delegate.id);
  }
  return [...found];
}

function deleteOne(connection: Connection, id: string): void {
  connection.run(ORPHAN_CHILDREN, { id });
  connection.run(DELETE_MESSAGES, { id });
  connection.run(DELETE_GOAL, { id });
  connection.run(DELETE_LOCK, { id });
  connection.run(DELETE_SESSION, { id });
}
