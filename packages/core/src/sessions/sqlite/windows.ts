// The messages around one message, and the beginning and end of its session.
import { toMessageRow } from "../../message/index.ts";
import type { MessageRow, StoredMessageRow } from "../rows.ts";
import type { MessageRecords } from "../store.ts";
import type { Connection } from "./connection.ts";
import { byFile, count, isShown, isVisible, type Visible } from "./connection.ts";
import type { StoreContext } from "./context.ts";
import { MESSAGE_SOURCE, messageFields } from "./schema.ts";

const ANCHOR = byFile(
  (file) => `
  SELECT ${isShown("m", file)} AS shown FROM messages m JOIN sessions s ON s.id = m.session_id
  WHERE m.id = :id AND m.session_id = :session AND ${isVisible("s")}
`,
);
// Rewound rows are shown only around a rewound row. Uses only an index, however large the messages are.
const IDS = byFile(
  (file) =>
    `SELECT id FROM messages m WHERE m.session_id = :session AND (:all OR ${isShown("m", file)}) ORDER BY id`,
);
const ROWS = byFile(
  (file) =>
    `SELECT ${messageFields(file)} FROM json_each(:ids) i CROSS JOIN ${MESSAGE_SOURCE} WHERE m.id = i.value`,
);
const WORTH_SHOWING = `
  SELECT m.id FROM json_each(:ids) i CROSS JOIN messages m ON m.id = i.value
  WHERE (:roles IS NULL OR m.role IN (SELECT value FROM json_each(:roles))) AND m.content <> '' LIMIT :wanted
`;

/** The ids of a session, with the bounds of a window in them. */
type Place = {
  readonly ids: readonly number[];
  readonly anchor: number;
  readonly start: number;
  readonly end: number;
};

export function windowOperations({ connection, warn, person }: StoreContext) {
  const rowsOf = (ids: readonly number[]): MessageRow[] =>
    ids.length === 0
      ? []
      : connection
          .all<StoredMessageRow>(ROWS(connection), { ids: JSON.stringify(ids) })
          .map((row) => toMessageRow(row, warn));

  return {
    getMessagesAround: (session, id, options = {}) =>
      connection.read(() => {
        const place = findPlace(connection, session, id, count(options.window, 5), person.visible);
        if (place === undefined) return { window: [], messages_before: 0, messages_after: 0 };
        return { window: rowsOf(place.ids.slice(place.start, place.end)), ...countsOf(place) };
      }),
    getAnchoredView: (session, id, options = {}) =>
      connection.read(() => {
        const place = findPlace(connection, session, id, count(options.window, 5), person.visible);
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
  visible: Visible,
): Place | undefined {
  if (!Number.isSafeInteger(id)) return undefined; // callers pass values that a model wrote
  const found = connection.get<{ shown: number }>(ANCHOR(connection), { session, id, ...visible });
  if (found === undefined) return undefined;
  const all = found.shown === 0 ? 1 : 0;
  const ids = connection.all<{ id: number }>(IDS(connection), { session, all }).map((row) => row.id);
  const anchor = ids.indexOf(id);
  return { ids, anchor, start: Math.max(0, anchor - size), end: Math.min(ids.length, anchor + size + 1) };
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
  if (ids.length === 0 || wanted === 0) return [];
  const roles = keep === null ? null : JSON.stringify(keep);
  const values = { ids: JSON.stringify(ids), roles, wanted };
  return connection.all<{ id: number }>(WORTH_SHOWING, values).map((row) => row.id);
}
