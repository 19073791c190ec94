// Deleting sessions with everything that hangs on them.
import type { SessionRow } from "../rows.ts";
import type { Scope, SessionStore } from "../store.ts";
import type { Connection } from "./connection.ts";
import { type StoreContext, seconds, visibleTo } from "./context.ts";
import { isContinuation, isVisible, mark } from "./lineage-sql.ts";
import { SESSION_FIELDS } from "./sessions.ts";
import { removeTranscripts } from "./transcripts.ts";

const DAY_SECONDS = 86_400;
const DEFAULT_RETENTION_DAYS = 90;

/** How many sessions one transaction of a long deletion takes: others get their turn between two of them. */
const SESSIONS_AT_ONCE = 50;
/** Sessions differ in size, so where any number will do, time counts as well. */
const BRIEFLY_MS = 30;

/** Runs of subagents have no life of their own; the LIKE spares reading the JSON of all other rows. */
const IS_DELEGATE = `s.model_config LIKE '%_delegate_from%' AND ${mark("s", "_delegate_from")} IS NOT NULL`;
const DELEGATES = `
  SELECT s.id, s.parent_session_id AS parent,
    CASE WHEN typeof(${mark("s", "_delegate_from")}) = 'text' THEN ${mark("s", "_delegate_from")} END AS sender
  FROM sessions s WHERE s.id IS NOT NULL AND ${isVisible("s")} AND ${IS_DELEGATE}
`;
const DELEGATE_CHILDREN = `SELECT s.id FROM sessions s WHERE s.parent_session_id = :id AND ${isVisible("s")} AND ${IS_DELEGATE}`;
const CONTINUATIONS = `
  SELECT c.id FROM sessions c JOIN sessions p ON p.id = c.parent_session_id
  WHERE p.id = :id AND ${isContinuation("c", "p")} AND ${isVisible("c")}
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
/** The counter alone does not do: other programs, and imports, may have left it at 0. */
const EMPTY = `
  sessions WHERE id IS NOT NULL AND message_count = 0 AND ended_at IS NOT NULL AND archived = 0
    AND NOT EXISTS (SELECT 1 FROM messages WHERE session_id = sessions.id)
`;
const STILL_PRUNABLE =
  "SELECT 1 FROM sessions WHERE id = :id AND started_at < :before AND ended_at IS NOT NULL";
const PRUNABLE = (fields: string) => `
  SELECT ${fields} FROM sessions WHERE id IS NOT NULL AND started_at < :before AND ended_at IS NOT NULL
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
  // Taken literally, a negative age would remove everything that has ended.
  const cutoff = (days: number | undefined) =>
    seconds(clock) - (days !== undefined && days >= 0 ? days : DEFAULT_RETENTION_DAYS) * DAY_SECONDS;

  /** Sessions, their delegates and their files. How many of the ids there were. */
  const remove = (ids: readonly string[], sessionsDir: string | undefined): Promise<number> =>
    withTranscripts(sessionsDir, async (gone) => {
      let asked = 0;
      const edges = await connection.read(() => delegateEdges(connection));
      for (let start = 0; start < ids.length; start += SESSIONS_AT_ONCE) {
        const some = ids.slice(start, start + SESSIONS_AT_ONCE);
        const done = await connection.write(() => {
          // Counted before anything goes, because a delegate may be among them; or it went with the ones before.
          const known = some.filter((id) => gone.has(id) || exists(connection, id));
          return {
            asked: known.length,
            gone: known.flatMap((id) => deleteTree(connection, id, edges)),
          };
        });
        asked += done.asked;
        for (const id of done.gone) gone.add(id);
      }
      return asked;
    });

  return {
    deleteSession: async (id, options = {}) => (await remove([id], options.sessionsDir)) > 0,
    async deleteSessions(ids, options = {}) {
      const wanted = new Set(ids.filter((id): id is string => typeof id === "string"));
      return remove([...wanted], options.sessionsDir);
    },
    deleteSessionIfEmpty: (id) => connection.write(() => connection.run(DELETE_IF_EMPTY, { id }).changes > 0),
    deleteEmptySessions: () =>
      connection.write(() => {
        const rows = connection.all<{ id: string }>(`SELECT id FROM ${EMPTY}`);
        for (const { id } of rows) deleteOne(connection, id);
        return rows.length;
      }),
    countEmptySessions: () =>
      connection.read(
        () => connection.get<{ number: number }>(`SELECT COUNT(*) AS number FROM ${EMPTY}`)?.number ?? 0,
      ),
    pruneSessions: (options = {}) =>
      withTranscripts(options.sessionsDir, async (gone) => {
        const before = cutoff(options.olderThanDays);
        const values = { before, source: options.source ?? null };
        const { rows, edges } = await connection.read(() => ({
          rows: connection.all<{ id: string }>(PRUNABLE("id"), values),
          edges: delegateEdges(connection),
        }));
        // A few per transaction: thousands at once would keep every other program waiting, one at a time the disk.
        // Meanwhile a session may have been taken up again, so each is looked at once more.
        const prune = (id: string) =>
          connection.get(STILL_PRUNABLE, { id, before }) === undefined
            ? []
            : deleteTree(connection, id, edges);
        let pruned = 0;
        for (let at = 0; at < rows.length; ) {
          const some = rows.slice(at, at + SESSIONS_AT_ONCE);
          const done = await connection.write(() => briefly(some, ({ id }) => prune(id)));
          at += done.length;
          pruned += done.filter((tree) => tree.length > 0).length;
          for (const id of done.flat()) gone.add(id);
        }
        return pruned;
      }),
    listPrunable: (options = {}) =>
      connection.read(() => {
        const values = { before: cutoff(options.olderThanDays), source: options.source ?? null };
        return connection.all<SessionRow>(PRUNABLE(SESSION_FIELDS), values).map((row) => ({ ...row }));
      }),
    listDelegates: (ids, scope) =>
      connection.read(() => {
        const asked = new Set(ids);
        const edges = delegateEdges(connection, scope);
        return withDelegates(connection, ids, edges, scope).filter((id) => !asked.has(id));
      }),
  };
}

/** Also after a failure in mid-work the files of what is gone go, once, when everything else is done. */
async function withTranscripts<T>(
  directory: string | undefined,
  work: (gone: Set<string>) => Promise<T>,
): Promise<T> {
  const gone = new Set<string>();
  try {
    return await work(gone);
  } finally {
    if (directory !== undefined) await removeTranscripts(directory, gone);
  }
}

/** The outcomes for the first items, as many as time allows, and for one at least. */
function briefly<T, R>(items: readonly T[], work: (item: T) => R): R[] {
  const end = performance.now() + BRIEFLY_MS;
  const outcomes: R[] = [];
  for (const item of items) {
    outcomes.push(work(item));
    if (performance.now() >= end) break;
  }
  return outcomes;
}

/** Inside a transaction: the session and, transitively, its delegates. Every id that went. */
function deleteTree(connection: Connection, id: string, edges: Edges): string[] {
  if (!exists(connection, id)) return [];
  const doomed = withDelegates(connection, [id], edges);
  for (const each of doomed) deleteOne(connection, each);
  return doomed;
}

function exists(connection: Connection, id: string): boolean {
  return connection.get(EXISTS, { id }) !== undefined;
}

/** The delegates of each session. Finding them means looking at every session, so that is done once for many. */
type Edges = ReadonlyMap<string, readonly string[]>;

function delegateEdges(connection: Connection, scope?: Scope): Edges {
  const edges = new Map<string, string[]>();
  type Row = { readonly id: string; readonly parent: string | null; readonly sender: string | null };
  for (const { id, parent, sender } of connection.iterate<Row>(DELEGATES, { ...visibleTo(scope) })) {
    for (const owner of new Set([parent, sender])) {
      if (owner === null) continue;
      const known = edges.get(owner);
      if (known === undefined) edges.set(owner, [id]);
      else known.push(id);
    }
  }
  return edges;
}

function withDelegates(
  connection: Connection,
  ids: readonly string[],
  edges: Edges,
  scope?: Scope,
): string[] {
  const asked = new Set(ids);
  const found = new Set(ids);
  for (const id of found) {
    // The set grows while it is walked. Runs that began after the edges were collected are children still.
    for (const delegate of edges.get(id) ?? []) found.add(delegate);
    const values = { id, ...visibleTo(scope) };
    for (const child of connection.all<{ id: string }>(DELEGATE_CHILDREN, values)) found.add(child.id);
    // A run that was compacted goes on in sessions that carry no mark of their own.
    if (asked.has(id)) continue;
    for (const next of connection.all<{ id: string }>(CONTINUATIONS, values)) found.add(next.id);
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
