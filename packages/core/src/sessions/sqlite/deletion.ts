// Deletes sessions with everything that belongs to them.

import type { SessionFiles } from "../../home.ts";
import type { SessionRow } from "../rows.ts";
import { removeKeptResults, removeTranscripts } from "../session-files.ts";
import type { EditOptions, HomeUpkeep, SessionCopies } from "../store.ts";
import { refuseDuringTurn, requireLeaseOfAny, turnOf } from "./claims.ts";
import {
  ALL_USERS,
  byFile,
  type Connection,
  featuresOf,
  isVisible,
  mark,
  seconds,
  titleOf,
  type Visible,
} from "./connection.ts";
import { isEverybody, isStored, type StoreContext, sees, writeTo } from "./context.ts";
import { keptResults, namesOfResults, ownerOfSession, type ResultName } from "./kept-results.ts";
import { isContinuation } from "./lineage-sql.ts";
import { dropUnusedPrompt, promptHash, sessionFields } from "./sessions.ts";
import { isTranscript } from "./transcripts.ts";

const DAY_SECONDS = 86_400;
const DEFAULT_RETENTION_DAYS = 90;

/** Sessions per transaction of a long deletion; other programs can write between two transactions. */
const SESSIONS_AT_ONCE = 20;

/** Subagent runs are deleted with their session. The LIKE avoids parsing the JSON of all other rows. */
const IS_DELEGATE = `s.model_config LIKE '%_delegate_from%' AND ${mark("s", "_delegate_from")} IS NOT NULL`;
const DELEGATES = `
  SELECT s.id, s.parent_session_id AS parent,
    CASE WHEN typeof(${mark("s", "_delegate_from")}) = 'text' THEN ${mark("s", "_delegate_from")} END AS sender
  FROM sessions s WHERE s.id IS NOT NULL AND ${isVisible("s")} AND ${IS_DELEGATE}
`;
const DELEGATE_CHILDREN = `SELECT s.id FROM sessions s WHERE s.parent_session_id = :id AND ${isVisible("s")} AND ${IS_DELEGATE}`;
const CONTINUATIONS = byFile(
  (file) => `
  SELECT c.id FROM sessions c JOIN sessions p ON p.id = c.parent_session_id
  WHERE p.id = :id AND ${isContinuation("c", "p", file)} AND ${isVisible("c")}
`,
);
const ORPHAN_CHILDREN = "UPDATE sessions SET parent_session_id = NULL WHERE parent_session_id = :id";
const DELETE_MESSAGES = "DELETE FROM messages WHERE session_id = :id";
const DELETE_SESSION = "DELETE FROM sessions WHERE id = :id";
const DELETE_GOAL = "DELETE FROM state_meta WHERE key = 'goal:' || :id";
const DELETE_LOCK = "DELETE FROM compression_locks WHERE session_id = :id";
const DELETE_IF_EMPTY = `
  DELETE FROM sessions WHERE id = :id AND ${titleOf("sessions")} IS NULL
    AND NOT EXISTS (SELECT 1 FROM messages WHERE session_id = :id)
    AND NOT EXISTS (SELECT 1 FROM sessions c WHERE c.parent_session_id = :id)
`;
/** The counter is not enough: other programs, and imports, may have left it at 0. */
const EMPTY = `
  sessions WHERE id IS NOT NULL AND message_count = 0 AND ended_at IS NOT NULL AND archived = 0
    AND NOT EXISTS (SELECT 1 FROM messages WHERE session_id = sessions.id)
`;
const STILL_PRUNABLE =
  "SELECT 1 FROM sessions WHERE id = :id AND started_at < :before AND ended_at IS NOT NULL";
const PRUNABLE = (fields: string) => `
  SELECT ${fields} FROM sessions s WHERE s.id IS NOT NULL AND s.started_at < :before AND s.ended_at IS NOT NULL
    AND (:source IS NULL OR s.source = :source) AND (:imported OR :source IS NOT NULL OR NOT ${isTranscript("s")}) ORDER BY s.started_at, s.id
`;

export function deletionOperations(context: StoreContext) {
  const { connection, clock } = context;
  const { visible } = context.person;

  /** Deletes sessions with their delegates and files. Returns how many of the ids existed. */
  const remove = (wanted: readonly string[], options: SessionFiles & EditOptions): Promise<number> =>
    withFiles(context, options, async (gone) => {
      const ids = isEverybody(context.person)
        ? wanted
        : await connection.read(() => wanted.filter((id) => sees(context, id)));
      let asked = 0;
      const { leaseHolder } = options;
      const refuse = (id: string) => refuseDuringTurn(connection, id, leaseHolder ?? "", seconds(clock));
      // Checked for all ids before anything is deleted, so that a busy session does not leave the work half done; checked again
      // per transaction.
      const edges = await connection.read(() => {
        const found = delegateEdges(connection);
        for (const id of withDelegates(connection, ids, found)) refuse(id);
        return found;
      });
      for (let start = 0; start < ids.length; start += SESSIONS_AT_ONCE) {
        const some = ids.slice(start, start + SESSIONS_AT_ONCE);
        const done = await connection.write(() => {
          // The first of them take the lease with them.
          if (leaseHolder !== undefined && start === 0) requireLeaseOfAny(connection, ids, leaseHolder);
          // Counted before deleting, because a delegate of another session may be among them, or may be deleted already.
          const known = some.filter((id) => gone.sessions.has(id) || sees(context, id));
          return {
            asked: known.length,
            trees: known.map((id) => deleteTree(context, id, edges, refuse)),
          };
        });
        asked += done.asked;
        for (const tree of done.trees) note(gone, tree);
      }
      return asked;
    });

  return {
    deleteSession: async (id, options = {}) => (await remove([id], options)) > 0,
    async deleteSessions(ids, options = {}) {
      const wanted = new Set(ids.filter((id): id is string => typeof id === "string"));
      return remove([...wanted], options);
    },
    deleteSessionIfEmpty: (sessionId) =>
      writeTo(context, sessionId, (id) => {
        const prompt = promptHash(connection, id);
        const isGone = connection.run(DELETE_IF_EMPTY, { id }).changes > 0;
        if (isGone) dropUnusedPrompt(connection, prompt);
        return isGone;
      }),
    listDelegates: (ids) =>
      connection.read(() => {
        const asked = new Set(ids);
        const edges = delegateEdges(connection, visible);
        return withDelegates(connection, ids, edges, visible).filter((id) => !asked.has(id));
      }),
  } satisfies Partial<SessionCopies>;
}

type Prunable = Exclude<Parameters<HomeUpkeep["listPrunable"]>[0], undefined>;

export function upkeepOperations(context: StoreContext) {
  const { connection, clock } = context;
  // A negative age would remove every ended session.
  const cutoff = (days: number | undefined) =>
    seconds(clock) - (days !== undefined && days >= 0 ? days : DEFAULT_RETENTION_DAYS) * DAY_SECONDS;
  const prunableValues = ({ olderThanDays, source, includeImported }: Prunable) => ({
    before: cutoff(olderThanDays),
    source: source ?? null,
    imported: includeImported ? 1 : 0,
  });
  return {
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
      withFiles(context, options, async (gone) => {
        const values = prunableValues(options);
        const { before } = values;
        const { rows, edges } = await connection.read(() => ({
          rows: connection.all<{ id: string }>(PRUNABLE("s.id"), values),
          edges: delegateEdges(connection),
        }));
        // A few per transaction: thousands at once would block every other program, single ones would be slow. A session may have
        // been resumed meanwhile, so each is checked again.
        const isInTurn = (id: string) => turnOf(connection, id, seconds(clock)) !== undefined;
        const prune = (id: string) =>
          connection.get(STILL_PRUNABLE, { id, before }) === undefined || isInTurn(id)
            ? NOTHING
            : deleteTree(context, id, edges);
        let pruned = 0;
        for (let at = 0; at < rows.length; at += SESSIONS_AT_ONCE) {
          const some = rows.slice(at, at + SESSIONS_AT_ONCE);
          const done = await connection.write(() => some.map(({ id }) => prune(id)));
          pruned += done.filter((tree) => tree.sessions.length > 0).length;
          for (const tree of done) note(gone, tree);
        }
        return pruned;
      }),
    listPrunable: (options = {}) =>
      connection.read(() => {
        const values = prunableValues(options);
        return connection
          .all<SessionRow>(PRUNABLE(sessionFields(featuresOf(connection))), values)
          .map((row) => ({ ...row }));
      }),
  } satisfies Partial<HomeUpkeep>;
}

/** Deleted sessions, and the kept results that their rows named. */
type Deleted = {
  readonly sessions: readonly string[];
  readonly results: readonly (readonly [id: string, name: ResultName])[];
};
type Gone = { readonly sessions: Set<string>; readonly results: Map<string, ResultName[]> };

const NOTHING: Deleted = { sessions: [], results: [] };

function note(gone: Gone, { sessions, results }: Deleted): void {
  for (const id of sessions) gone.sessions.add(id);
  for (const [id, name] of results) gone.results.set(id, [...(gone.results.get(id) ?? []), name]);
}

/** Removes the files of deleted sessions once, at the end, also after a failure. */
async function withFiles<T>(
  { connection }: StoreContext,
  { sessionsDir, resultsDir }: SessionFiles,
  work: (gone: Gone) => Promise<T>,
): Promise<T> {
  const gone: Gone = { sessions: new Set(), results: new Map() };
  try {
    return await work(gone);
  } finally {
    // The rows are deleted, which is what the caller asked for. A file that cannot be removed or checked stays as an orphan.
    const isThere = (id: string) => connection.read(() => isStored(connection, id));
    if (sessionsDir !== undefined)
      await removeTranscripts(sessionsDir, gone.sessions, isThere).catch(() => undefined);
    if (resultsDir !== undefined && gone.results.size > 0)
      await removeUnnamed(connection, resultsDir, gone.results).catch(() => undefined);
  }
}

/** Branches and continuations have copies of rows: a file stays while another row of the same user names it. */
async function removeUnnamed(
  connection: Connection,
  directory: string,
  gone: ReadonlyMap<string, readonly ResultName[]>,
): Promise<void> {
  const left = await namesOfResults(connection);
  const unnamed = [...gone].filter(
    ([id, names]) => !names.some((name) => isNeeded(name, left.get(id) ?? [])),
  );
  await removeKeptResults(
    directory,
    unnamed.map(([id]) => id),
  );
}

/** A later row of another user does not keep the file: only the user of the first row was given access to it. */
function isNeeded({ messageId, owner }: ResultName, left: readonly ResultName[]): boolean {
  return left.some((name) => name.owner === owner || name.owner === null || name.messageId < messageId);
}

/** Inside a transaction: deletes the session and, transitively, its delegates. Returns what was deleted. */
function deleteTree(
  { connection, warn }: StoreContext,
  id: string,
  edges: Edges,
  refuse: (id: string) => void = () => undefined,
): Deleted {
  if (!isStored(connection, id)) return NOTHING;
  const sessions = withDelegates(connection, [id], edges);
  for (const each of sessions) refuse(each);
  const results = keptResults(connection, sessions, warn, { includeInactive: true }).map(
    ({ id: result, message_id: messageId, session_id: session }) =>
      [result, { messageId, owner: ownerOfSession(connection, session) }] as const,
  );
  for (const each of sessions) deleteOne(connection, each);
  return { sessions, results };
}

/** The delegates of each session. Finding them reads every session, so it is done once for many. */
type Edges = ReadonlyMap<string, readonly string[]>;

function delegateEdges(connection: Connection, visible: Visible = ALL_USERS): Edges {
  const edges = new Map<string, string[]>();
  type Row = { readonly id: string; readonly parent: string | null; readonly sender: string | null };
  for (const { id, parent, sender } of connection.iterate<Row>(DELEGATES, visible)) {
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
  visible: Visible = ALL_USERS,
): string[] {
  const asked = new Set(ids);
  const found = new Set(ids);
  for (const id of found) {
    // The set grows while it is walked. Runs that started after the edges were collected are found as children.
    for (const delegate of edges.get(id) ?? []) found.add(delegate);
    const values = { id, ...visible };
    for (const child of connection.all<{ id: string }>(DELEGATE_CHILDREN, values)) found.add(child.id);
    // A compacted run continues in sessions without a delegate mark.
    if (asked.has(id)) continue;
    for (const next of connection.all<{ id: string }>(CONTINUATIONS(connection), values)) found.add(next.id);
  }
  return [...found];
}

/** Messages are deleted before their session, because Hermes Agent's index triggers read the session. */
export function deleteOne(connection: Connection, id: string): void {
  const prompt = promptHash(connection, id);
  connection.run(ORPHAN_CHILDREN, { id });
  connection.run(DELETE_MESSAGES, { id });
  connection.run(DELETE_GOAL, { id });
  connection.run(DELETE_LOCK, { id });
  connection.run(DELETE_SESSION, { id });
  dropUnusedPrompt(connection, prompt);
}
