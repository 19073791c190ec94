// What a gateway keeps about conversations besides their messages: what was asked last, which of them are live, the marks by which a request
// finds its session, and tool rounds that the client never sees. Every row belongs to a session, is visible to those who see
// the session, and is deleted with it (by triggers, schema.ts).
import type { Ask, FoundMark, GatewayRecords, LiveSession } from "../gateway-records.ts";
import type { HomeUpkeep, Spend } from "../store.ts";
import { type Connection, count, finite, isVisible, mark } from "./connection.ts";
import { ownerOf, requireStored, type StoreContext, writeTo } from "./context.ts";
import { putAsk } from "./messages.ts";
import { ASKS, LIVE_SESSIONS, MARKS, ROUNDS, readableFields, SPEND } from "./schema.ts";

type Table = typeof LIVE_SESSIONS;

/** The messages that a record is about are synced, and it with them if it was saved before. */
const UNSYNCED = { isUnsynced: true };
const MOST_LISTED = 100;

const GET_ASK = `
  SELECT ${readableFields(ASKS.columns, "a.")} FROM ${ASKS.name} a JOIN sessions s ON s.id = a.session_id
  WHERE a.session_id = :session AND ${isVisible("s")}
`;
const NOTE_DELIVERED = `UPDATE ${ASKS.name} SET delivered = 1 WHERE session_id = :session AND token = :token`;

const LIVE_FIELDS = readableFields(
  LIVE_SESSIONS.columns.filter(({ name }) => name !== "person"),
  "l.",
);
const LIVE = `SELECT ${LIVE_FIELDS} FROM ${LIVE_SESSIONS.name} l JOIN sessions s ON s.id = l.session_id WHERE ${isVisible("s")}`;
const LIVE_BY_KEY = `${LIVE} AND l.key = :key ORDER BY l.last_active_at DESC, l.person LIMIT 1`;
const LIVE_LIST = `${LIVE} AND (:before IS NULL OR l.last_active_at < :before)
  AND (:finalized IS NULL OR (l.finalized_at IS NOT NULL) = :finalized)
  ORDER BY l.last_active_at, l.key, l.person LIMIT :limit`;
const REMOVE_LIVE = `DELETE FROM ${LIVE_SESSIONS.name} WHERE person = :person AND key = :key`;
const REMOVE_VISIBLE_LIVE = `
  DELETE FROM ${LIVE_SESSIONS.name} AS l WHERE l.key = :key
    AND EXISTS (SELECT 1 FROM sessions s WHERE s.id = l.session_id AND ${isVisible("s")})
`;
const PUT_LIVE = putting(LIVE_SESSIONS);

const NEXT_CALL = `SELECT COALESCE(MAX(id), 0) + 1 AS next FROM ${MARKS.name}`;
const REMOVE_MARK = `DELETE FROM ${MARKS.name} WHERE session_id = :session AND mark = :mark`;
const PUT_MARK = `INSERT INTO ${MARKS.name} (session_id, mark, call) VALUES (:session, :mark, :call)`;
/** CROSS JOIN: the marks are looked up in the index, however many there are. */
const FIND_MARK = `
  SELECT m.mark, m.session_id, m.call = (SELECT MAX(n.call) FROM ${MARKS.name} n WHERE n.session_id = m.session_id) AS is_newest
  FROM json_each(:marks) j CROSS JOIN ${MARKS.name} m ON m.mark = j.value JOIN sessions s ON s.id = m.session_id
  WHERE ${isVisible("s")} ORDER BY j.key, is_newest DESC, m.call DESC LIMIT 1
`;
/** Conversations may begin with the same words, calls and results. */
const FIND_BY_CALLS = `
  SELECT m.mark, m.session_id, m.call = (SELECT MAX(n.call) FROM ${MARKS.name} n WHERE n.session_id = m.session_id) AS is_newest
  FROM ${MARKS.name} m JOIN sessions s ON s.id = m.session_id
  WHERE m.mark = :mark AND ${isVisible("s")} AND EXISTS (
    SELECT 1 FROM messages x JOIN json_each(:calls) c ON instr(x.tool_calls, c.value) WHERE x.session_id = m.session_id)
  ORDER BY is_newest DESC, m.call DESC LIMIT 1
`;

/** A branch begins with messages of its origin, which had recalls and rounds there. */
export const WITH_ORIGINS = `(
  WITH RECURSIVE up(id) AS (
    SELECT :session UNION SELECT ${mark("b", "_branched_from")} FROM up JOIN sessions b ON b.id = up.id
  )
  SELECT id FROM up WHERE id IS NOT NULL)`;
const REMOVE_ROUND = `DELETE FROM ${ROUNDS.name} WHERE session_id = :session_id AND mark = :mark AND wire = :wire`;
const PUT_ROUND = putting(ROUNDS);
const OF_CHAT = `FROM ${ROUNDS.name} r JOIN sessions s ON s.id = r.session_id
  WHERE r.session_id IN ${WITH_ORIGINS} AND r.wire = :wire AND ${isVisible("s")}`;
const HAS_ROUNDS = `SELECT 1 ${OF_CHAT} LIMIT 1`;
const FIND_ROUNDS = `SELECT r.mark, r.items ${OF_CHAT} AND r.mark IN (SELECT value FROM json_each(:marks))`;

const SPENT = `SELECT requests, tokens, cost FROM ${SPEND.name} WHERE day = :day AND kind = :kind AND key = :key`;
const ADD_SPEND = `
  INSERT INTO ${SPEND.name} (day, kind, key, requests, tokens, cost) VALUES (:day, :kind, :key, :requests, :tokens, :cost)
  ON CONFLICT (day, kind, key) DO UPDATE
    SET requests = requests + excluded.requests, tokens = tokens + excluded.tokens, cost = cost + excluded.cost
`;
const DROP_SPENT = `DELETE FROM ${SPEND.name} WHERE day > '' AND day < :day`;
const MEMBERS = `SELECT COUNT(*) AS members FROM ${SPEND.name} WHERE day = :day AND kind = :kind`;
const AMOUNTS = ["requests", "tokens", "cost", "members"] as const;

export function putting({ name, columns }: Table, without: readonly string[] = []): string {
  const names = columns.map((column) => column.name).filter((column) => !without.includes(column));
  return `INSERT INTO ${name} (${names.join(", ")}) VALUES (${names.map((column) => `:${column}`).join(", ")})`;
}

/** For tables of ours whose rows belong to a session. */
export function recordKeeper(context: StoreContext) {
  /** Inside a transaction, for an existing session. */
  return <T>(session: string, work: (id: string) => T): Promise<T> =>
    writeTo(
      context,
      session,
      (id) => {
        requireStored(context.connection, id);
        return work(id);
      },
      UNSYNCED,
    );
}

export function gatewayOperations(context: StoreContext): GatewayRecords {
  const { connection } = context;
  const { visible } = context.person;
  const put = recordKeeper(context);
  return {
    saveAsk: (session, ask) => put(session, (id) => putAsk(connection, id, { ...ask, row_id: null })),
    getAsk: (session) =>
      connection.read(() => {
        const row = connection.get<Omit<Ask, "delivered"> & { delivered: number }>(GET_ASK, {
          session,
          ...visible,
        });
        if (row === undefined) return null;
        const { token, request, row_id, delivered } = row;
        return { token, request, row_id, delivered: delivered === 1 };
      }),
    saveDelivered: async (sessionId, token) => {
      await writeTo(
        context,
        sessionId,
        (session) => connection.run(NOTE_DELIVERED, { session, token }),
        UNSYNCED,
      );
    },

    saveLiveSession: (live) =>
      put(live.session_id, (session_id) => {
        const { key, source, started_at, last_active_at, last_prompt_tokens } = live;
        const person = personOf(connection, session_id);
        connection.run(REMOVE_LIVE, { person, key });
        connection.run(PUT_LIVE, {
          ...{ person, key, session_id, source, started_at, last_active_at, last_prompt_tokens },
          finalized_at: live.finalized_at,
          reset_reason: live.reset_reason,
        });
      }),
    getLiveSession: (key) =>
      connection.read(() => {
        const row = connection.get<LiveSession>(LIVE_BY_KEY, { key, ...visible });
        return row === undefined ? null : { ...row };
      }),
    listLiveSessions: (options = {}) =>
      connection.read(() => {
        const { activeBefore, isFinalized, limit } = options;
        const values = {
          ...visible,
          before: finite(activeBefore),
          finalized: isFinalized === undefined ? null : Number(isFinalized),
          limit: limit === undefined ? -1 : count(limit, MOST_LISTED),
        };
        return connection.all<LiveSession>(LIVE_LIST, values).map((row) => ({ ...row }));
      }),
    deleteLiveSession: (key) =>
      connection.write(() => connection.run(REMOVE_VISIBLE_LIVE, { key, ...visible }).changes > 0),

    saveMarks: async (sessionId, marks) => {
      if (marks.length === 0) return;
      await put(sessionId, (session) => {
        const call = connection.get<{ next: number }>(NEXT_CALL)?.next ?? 1;
        for (const mark of new Set(marks)) {
          connection.run(REMOVE_MARK, { session, mark });
          connection.run(PUT_MARK, { session, mark, call });
        }
      });
    },
    findMark: (marks, { calls = [] } = {}) =>
      connection.read(() => {
        type Row = Omit<FoundMark, "is_newest"> & { readonly is_newest: number };
        const found = connection.get<Row>(FIND_MARK, { marks: JSON.stringify(marks), ...visible });
        if (found === undefined) return null;
        const ids = JSON.stringify(calls.map((id) => JSON.stringify(id)));
        const row =
          (calls.length > 0 &&
            connection.get<Row>(FIND_BY_CALLS, { mark: found.mark, calls: ids, ...visible })) ||
          found;
        return { ...row, is_newest: row.is_newest === 1 };
      }),

    saveRound: ({ session_id, mark, wire, items }) =>
      put(session_id, (id) => {
        connection.run(REMOVE_ROUND, { session_id: id, mark, wire });
        connection.run(PUT_ROUND, { session_id: id, mark, wire, items });
      }),
    findRounds: (session, marksOf, wire) =>
      connection.read(() => {
        const chat = { session, wire, ...visible };
        if (connection.get(HAS_ROUNDS, chat) === undefined) return [];
        const marks = marksOf();
        const values = { ...chat, marks: JSON.stringify(marks) };
        return inOrderOf(marks, connection.all<{ mark: string; items: string }>(FIND_ROUNDS, values));
      }),
  };
}

export function spendOperations({ connection }: StoreContext) {
  return {
    addSpend: ({ day = "", kind, key }, spend, most = {}) =>
      connection.write(() => {
        const spent = connection.get<Spend>(SPENT, { day, kind, key });
        const isNew = spent === undefined && most.members !== undefined;
        const group = isNew ? connection.get<{ members: number }>(MEMBERS, { day, kind }) : undefined;
        const all = { requests: 0, tokens: 0, cost: 0, members: -1, ...spent, ...group };
        const reached = AMOUNTS.find((name) => all[name] >= (most[name] ?? Number.POSITIVE_INFINITY));
        if (reached !== undefined) return reached;
        connection.run(DROP_SPENT, { day });
        connection.run(ADD_SPEND, { day, kind, key, requests: 0, tokens: 0, cost: 0, ...spend });
        return undefined;
      }, UNSYNCED),
  } satisfies Partial<HomeUpkeep>;
}

/** One row for each mark, the last one. */
export function inOrderOf<Row extends { readonly mark: string }>(
  marks: readonly string[],
  rows: readonly Row[],
): Row[] {
  const byMark = new Map(rows.map((row) => [row.mark, { ...row }]));
  return [...new Set(marks)].flatMap((mark) => byMark.get(mark) ?? []);
}

/** Inside a transaction: whose session it is, as a text. "" is the owner of the home. */
function personOf(connection: Connection, id: string): string {
  const { user = null, platform } = ownerOf(connection, id) ?? {};
  return user === null ? "" : JSON.stringify([platform, user]);
}
