// What each turn used, and what was recalled for it. The tables go with their sessions like those of gateway-records.ts.
import { pyStrip, takeCodePoints, withoutUndefined } from "../../lib/index.ts";
import type { RecallTrace, TurnRecord, TurnRecords } from "../turn-records.ts";
import { count, finite, isVisible, seconds } from "./connection.ts";
import type { StoreContext } from "./context.ts";
import { overwriting, rewriteFile } from "./erase-sessions.ts";
import { inOrderOf, putting, recordKeeper, WITH_ORIGINS } from "./gateway-records.ts";
import { RECALLS, readableFields, TURNS } from "./schema.ts";

const DAY_SECONDS = 86_400;
const MOST_LISTED = 100;
/** Kept of a query: recall looks at less of it. */
const MOST_QUERY_CHARS = 10_000;

const RECALL_FIELDS = readableFields(RECALLS.columns, "r.");
const RECALL = `FROM ${RECALLS.name} r JOIN sessions s ON s.id = r.session_id WHERE ${isVisible("s")}`;
const PUT_RECALL = putting(RECALLS, ["id"]);
const LIST_RECALLS = `
  SELECT ${RECALL_FIELDS} ${RECALL} AND (:session IS NULL OR r.session_id = :session) AND (:since IS NULL OR r.at >= :since)
  ORDER BY r.at DESC, r.id DESC LIMIT :limit OFFSET :offset
`;
const FIND_RECALLS = `
  SELECT r.mark, r.injected ${RECALL} AND r.session_id IN ${WITH_ORIGINS} AND r.mark IN (SELECT value FROM json_each(:marks)) ORDER BY r.id
`;
const RECALL_TEXTS = `SELECT r.id, r.query, r.injected, r.found ${RECALL} ORDER BY r.id`;
const REMOVE_RECALL = `DELETE FROM ${RECALLS.name} WHERE id = CAST(:recall AS INT)`;

const PUT_TURN = putting(TURNS, ["id"]);
const LIST_TURNS = `
  SELECT ${readableFields(TURNS.columns, "t.")} FROM ${TURNS.name} t JOIN sessions s ON s.id = t.session_id
  WHERE ${isVisible("s")} AND (:session IS NULL OR t.session_id = :session) AND (:since IS NULL OR t.at >= :since)
  ORDER BY t.at DESC, t.id DESC LIMIT :limit OFFSET :offset
`;
const RECALLS_OF = `SELECT ${RECALL_FIELDS} FROM ${RECALLS.name} r WHERE r.id IN (SELECT value FROM json_each(:ids))`;

export function turnOperations(context: StoreContext): TurnRecords {
  const { connection, clock } = context;
  const { visible } = context.person;
  const put = recordKeeper(context);
  return {
    addTurn: ({ session_id, at, duration_ms, mode, model = null, cost = null, recall = null, ...used }) =>
      put(session_id, (session) => {
        connection.run(PUT_TURN, {
          ...{ session_id: session, at, duration_ms, mode, model, cost, recall_id: recall },
          ...{ input_tokens: 0, output_tokens: 0, cache_read_tokens: 0, cache_write_tokens: 0 },
          ...{ reasoning_tokens: 0, calls: 0, ...withoutUndefined(used) },
        });
      }),
    listTurns: (options = {}) =>
      connection.read(() => {
        type Row = Omit<TurnRecord, "recall"> & { readonly recall_id: number | null };
        const rows = connection.all<Row>(LIST_TURNS, pageOf(options));
        const ids = JSON.stringify(rows.flatMap(({ recall_id }) => recall_id ?? []));
        const found = connection.all<RecallTrace>(RECALLS_OF, { ids });
        // Only those of the same session: whoever stores a turn says which recall was its own.
        const recalls = new Map(
          found.map(({ session_id, mode: _, ...recall }) => [`${session_id} ${recall.id}`, recall]),
        );
        return rows.map(({ recall_id, ...row }) => ({
          ...row,
          recall: recalls.get(`${row.session_id} ${recall_id}`) ?? null,
        }));
      }),

    addRecall: (trace) =>
      put(trace.session_id, (session_id) => {
        const { mark = null, injected, found, duration_ms, mode } = trace;
        const query = takeCodePoints(trace.query, MOST_QUERY_CHARS);
        const at = trace.at ?? seconds(clock);
        const row = { session_id, at, mark, query, injected, found, duration_ms, mode };
        return connection.run(PUT_RECALL, row).lastId;
      }),
    listRecalls: (options = {}) =>
      connection.read(() =>
        connection.all<RecallTrace>(LIST_RECALLS, pageOf(options)).map((row) => ({ ...row })),
      ),
    findRecalls: (session, marks) =>
      connection.read(() => {
        const values = { session, marks: JSON.stringify(marks), ...visible };
        return inOrderOf(marks, connection.all<{ mark: string; injected: string }>(FIND_RECALLS, values));
      }),
    forgetRecalls: async (text, { dryRun = false } = {}) => {
      if (!dryRun) connection.refuseIfReadOnly();
      const has = finderOf(text);
      if (has === undefined) return { traces: 0, remaining: [] };
      const find = (): number[] => {
        const ids: number[] = [];
        for (const trace of connection.iterate<TraceTexts>(RECALL_TEXTS, visible))
          if (has(trace)) ids.push(trace.id);
        return ids;
      };
      const found = await connection.read(find);
      if (dryRun || found.length === 0) return { traces: found.length, remaining: [] };
      const traces = await overwriting(connection, () =>
        connection.write(() => {
          const now = find();
          for (const recall of now) connection.run(REMOVE_RECALL, { recall });
          return now.length;
        }),
      );
      const left = await rewriteFile(connection);
      return { traces, remaining: left === undefined ? [] : [left] };
    },
  };

  function pageOf({ sessionId, since, limit, offset }: Parameters<TurnRecords["listTurns"]>[0] & {}) {
    return {
      ...visible,
      session: sessionId ?? null,
      since: finite(since),
      limit: count(limit, MOST_LISTED),
      offset: count(offset, 0),
    };
  }
}

/** Returns how many turns and recalls. */
export function pruneTurns({ connection, clock }: StoreContext, olderThanDays: number): Promise<number> {
  // A negative age would remove every record.
  const days = Number.isFinite(olderThanDays) ? Math.max(0, olderThanDays) : Number.POSITIVE_INFINITY;
  const before = Math.max(0, seconds(clock) - days * DAY_SECONDS);
  const prune = ({ name }: typeof TURNS) =>
    connection.run(`DELETE FROM ${name} WHERE at < :before`, { before }).changes;
  return connection.write(() => [RECALLS, TURNS].reduce((sum, table) => sum + prune(table), 0));
}

// ---- Finding a text in traces ----

type TraceTexts = {
  readonly id: number;
  readonly query: string;
  readonly injected: string;
  readonly found: string;
};

/** Recall cuts what it quotes, so a part of this length counts. */
const PART_CHARS = 60;

/** Undefined for a text without words. White space does not count, because recall quotes on one line. */
function finderOf(text: string): ((trace: TraceTexts) => boolean) | undefined {
  const whole = oneSpaced(text);
  if (whole === "") return undefined;
  const parts = partsOf(whole);
  const needles = [...new Set(parts.flatMap((part) => [part, JSON.stringify(part).slice(1, -1)]))];
  return ({ query, injected, found }) => {
    const texts = [query, injected, found].map((each) => oneSpaced(String(each)));
    return needles.some((needle) => texts.some((each) => each.includes(needle)));
  };
}

/** Every excerpt of twice the length of a part contains one of them whole. */
function partsOf(whole: string): readonly string[] {
  const parts: string[] = [];
  let rest = whole;
  while (rest !== "") {
    const part = takeCodePoints(rest, PART_CHARS);
    rest = rest.slice(part.length);
    if (parts.length === 0 || [...part].length === PART_CHARS) parts.push(part);
  }
  return parts.length > 2 ? parts : [whole];
}

function oneSpaced(text: string): string {
  return pyStrip(text.replace(/\s+/g, " "));
}
