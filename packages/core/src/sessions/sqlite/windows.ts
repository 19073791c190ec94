// The messages around one message, and the beginning and end of its session.
import { toMessageRow } from "../../message/index.ts";
import type { Scope } from "../identity.ts";
import type { MessageRow, StoredMessageRow } from "../rows.ts";
import type { MessageRecords } from "../store.ts";
import type { Connection } from "./connection.ts";
import { byFile, count, type FileFeatures, isShown, isVisible, visibleTo } from "./connection.ts";
import type { StoreContext } from "./context.ts";
import { MESSAGE_SOURCE, messageFields } from "./schema.ts";

const ANCHOR = byFile(
  (file) => `
  SELECT ${isShown("m", file)} AS shown FROM messages m JOIN sessions s ON s.id = m.session_id
  WHERE m.id = :id AND m.session_id = :session AND ${isVisible("s")}
`,
);
/** Rewound rows are shown only around a rewound row. */
const SHOWN = (file: FileFeatures) => `m.session_id = :session AND (:all OR ${isShown("m", file)})`;
// Uses only an index, however large the messages are.
const IDS = byFile((file) => `SELECT id FROM messages m WHERE ${SHOWN(file)} ORDER BY id`);
// A long session is mostly written without interruption, so the neighbours of a message have neighbouring ids.
const NEAR = 256;
const NEAR_BEFORE = byFile(
  (file) => `
  SELECT id FROM messages m NOT INDEXED WHERE id < :id AND id >= :id - ${NEAR} AND ${SHOWN(file)} ORDER BY id DESC LIMIT :size
`,
);
const NEAR_AFTER = byFile(
  (file) => `
  SELECT id FROM messages m NOT INDEXED WHERE id > :id AND id <= :id + ${NEAR} AND ${SHOWN(file)} ORDER BY id LIMIT :size
`,
);
const LONG_SESSION = 500;
const IS_LONG = `SELECT 1 FROM sessions WHERE id = :session AND message_count > ${LONG_SESSION}`;
const ENDS = 60;
const EARLIEST = byFile(
  (file) => `SELECT id FROM messages m WHERE ${SHOWN(file)} ORDER BY timestamp, id LIMIT ${ENDS}`,
);
const LATEST = byFile(
  (file) => `SELECT id FROM messages m WHERE ${SHOWN(file)} ORDER BY timestamp DESC, id DESC LIMIT ${ENDS}`,
);
const ROW = byFile((file) => `SELECT ${messageFields(file)} FROM ${MESSAGE_SOURCE} WHERE m.id = :id`);
const WORTH_SHOWING = `
  SELECT 1 FROM messages WHERE id = :id AND (:roles IS NULL OR role IN (SELECT value FROM json_each(:roles)))
    AND content <> ''
`;

/** The ids of a session (of a long one, only the relevant ids), with the bounds of a window in them. */
type Place = {
  readonly ids: readonly number[];
  readonly anchor: number;
  readonly start: number;
  readonly end: number;
};

export function windowOperations({ connection, warn }: StoreContext) {
  const rowsOf = (ids: readonly number[]): MessageRow[] =>
    ids
      .flatMap((id) => connection.all<StoredMessageRow>(ROW(connection), { id }))
      .map((row) => toMessageRow(row, warn));

  return {
    getMessagesAround: (session, id, options = {}) =>
      connection.read(() => {
        const place = findPlace(connection, session, id, count(options.window, 5), options);
        if (place === undefined) return { window: [], messages_before: 0, messages_after: 0 };
        return { window: rowsOf(place.ids.slice(place.start, place.end)), ...countsOf(place) };
      }),
    getAnchoredView: (session, id, options = {}) =>
      connection.read(() => {
        const place = findPlace(connection, session, id, count(options.window, 5), options);
        if (place === undefined)
          return { window: [], messages_before: 0, messages_after: 0, bookend_start: [], bookend_end: [] };
        const keep = options.keepRoles === undefined ? ["user", "assistant"] : options.keepRoles;
        const wanted = count(options.bookend, 3);
        const bookend = (ids: readonly number[]) => firstWorthShowing(connection, ids, keep, wanted);
        const { ids, start, end } = place;
        return {
          window: rowsOf(ids.slice(start, end)).filter(
            (row) => keep === null || row.id === id || keep.includes(row.role),
          ),
          ...countsOf(place),
          bookend_start: rowsOf(bookend(ids.slice(0, start))),
          bookend_end: rowsOf(bookend(ids.slice(end).reverse()).reverse()),
        };
      }),
  } satisfies Partial<MessageRecords>;
}

/** Undefined when the session has no such message, or may not be seen. */
function findPlace(
  connection: Connection,
  session: string,
  id: number,
  size: number,
  scope: Scope,
): Place | undefined {
  if (!Number.isSafeInteger(id)) return undefined; // callers pass values that a model wrote
  const found = connection.get<{ shown: number }>(ANCHOR(connection), { session, id, ...visibleTo(scope) });
  if (found === undefined) return undefined;
  const all = found.shown === 0 ? 1 : 0;
  const isLong = connection.get(IS_LONG, { session }) !== undefined;
  const near = isLong ? placeInLongSession(connection, session, id, size, all) : undefined;
  if (near !== undefined) return near;
  const ids = idsOf(connection, IDS, { session, all });
  const anchor = ids.indexOf(id);
  return { ids, anchor, start: Math.max(0, anchor - size), end: Math.min(ids.length, anchor + size + 1) };
}

/** Undefined near the ends of the session, or if its ids are mixed with other sessions: then all its ids are read. */
function placeInLongSession(
  connection: Connection,
  session: string,
  id: number,
  size: number,
  all: 0 | 1,
): Place | undefined {
  const before = idsOf(connection, NEAR_BEFORE, { session, id, size, all }).reverse();
  const after = idsOf(connection, NEAR_AFTER, { session, id, size, all });
  if (before.length < size || after.length < size) return undefined;
  const [first = id, last = id] = [before[0], after.at(-1)];
  const head = idsOf(connection, EARLIEST, { session, all }).filter((each) => each < first);
  const tail = idsOf(connection, LATEST, { session, all }).filter((each) => each > last);
  if (head.length < ENDS || tail.length < ENDS) return undefined;
  const ids = [...head.sort(ascending), ...before, id, ...after, ...tail.sort(ascending)];
  return { ids, anchor: head.length + size, start: head.length, end: head.length + 2 * size + 1 };
}

function idsOf(
  connection: Connection,
  sql: (connection: Connection) => string,
  values: Record<string, string | number>,
): number[] {
  return connection.all<{ id: number }>(sql(connection), values).map((row) => row.id);
}

function ascending(a: number, b: number): number {
  return a - b;
}

function countsOf({ anchor, start, end }: Place) {
  return { messages_before: anchor - start, messages_after: end - anchor - 1 };
}

function firstWorthShowing(
  connection: Connection,
  ids: readonly number[],
  keep: readonly string[] | null,
  wanted: number,
): number[] {
  const roles = keep === null ? null : JSON.stringify(keep);
  const found: number[] = [];
  for (const id of ids) {
    if (found.length >= wanted) break;
    if (connection.get(WORTH_SHOWING, { id, roles }) !== undefined) found.push(id);
  }
  return found;
}
