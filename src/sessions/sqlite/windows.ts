// Windows into a session: the messages around one of them, and where the session began and ended.
import { toMessageRow } from "../conversation.ts";
import type { MessageRow, StoredMessageRow } from "../rows.ts";
import type { Scope, SessionStore } from "../store.ts";
import { count, type StoreContext, userOf } from "./context.ts";
import { isVisible } from "./lineage-sql.ts";
import { MESSAGE_FIELDS, MESSAGE_SOURCE } from "./messages.ts";

const SELECT = `SELECT ${MESSAGE_FIELDS} FROM ${MESSAGE_SOURCE} WHERE m.session_id = :session`;
const ANCHOR = `
  ${SELECT} AND m.id = :id AND EXISTS (SELECT 1 FROM sessions s WHERE s.id = m.session_id AND ${isVisible("s")})
`;
// Rewound rows are shown only around a row that was rewound itself.
const SHOWN = "(:all OR m.active = 1)";
const BEFORE = `${SELECT} AND m.id < :id AND ${SHOWN} ORDER BY m.id DESC LIMIT :limit`;
const AFTER = `${SELECT} AND m.id > :id AND ${SHOWN} ORDER BY m.id LIMIT :limit`;
const WORTH_SHOWING = `${SHOWN} AND (:roles IS NULL OR m.role IN (SELECT value FROM json_each(:roles))) AND m.content <> ''`;
const FIRST = `${SELECT} AND m.id < :id AND ${WORTH_SHOWING} ORDER BY m.id LIMIT :limit`;
const LAST = `${SELECT} AND m.id > :id AND ${WORTH_SHOWING} ORDER BY m.id DESC LIMIT :limit`;

type Window = { readonly rows: readonly StoredMessageRow[]; readonly before: number; readonly after: number };

export type WindowOperations = Pick<SessionStore, "getMessagesAround" | "getAnchoredView">;

export function windowOperations({ connection, warn }: StoreContext): WindowOperations {
  const around = (session: string, id: number, size: number, scope: Scope): Window | undefined => {
    const anchor = connection.get<StoredMessageRow>(ANCHOR, { session, id, user: userOf(scope) });
    if (anchor === undefined) return undefined;
    const values = { session, id, limit: size, all: anchor.active === 0 ? 1 : 0 };
    const before = connection.all<StoredMessageRow>(BEFORE, values).reverse();
    const after = connection.all<StoredMessageRow>(AFTER, values);
    return { rows: [...before, anchor, ...after], before: before.length, after: after.length };
  };
  const decoded = (rows: readonly StoredMessageRow[]): MessageRow[] =>
    rows.map((row) => toMessageRow(row, warn));

  return {
    getMessagesAround: (session, id, options = {}) =>
      connection.read(() => {
        const found = around(session, messageId(id), count(options.window, 5), options);
        if (found === undefined) return { window: [], messages_before: 0, messages_after: 0 };
        return {
          window: decoded(found.rows),
          messages_before: found.before,
          messages_after: found.after,
        };
      }),
    getAnchoredView: (session, id, options = {}) =>
      connection.read(() => {
        const anchor = messageId(id);
        const found = around(session, anchor, count(options.window, 5), options);
        if (found === undefined)
          return { window: [], messages_before: 0, messages_after: 0, bookend_start: [], bookend_end: [] };
        const keep = options.keepRoles === undefined ? ["user", "assistant"] : options.keepRoles;
        const roles = keep === null ? null : JSON.stringify(keep);
        const anchorIsActive = found.rows.some((row) => row.id === anchor && row.active !== 0);
        const values = { session, roles, limit: count(options.bookend, 3), all: anchorIsActive ? 0 : 1 };
        const first = found.rows[0]?.id ?? anchor;
        const last = found.rows.at(-1)?.id ?? anchor;
        return {
          window: decoded(
            found.rows.filter((row) => keep === null || row.id === anchor || keep.includes(row.role)),
          ),
          messages_before: found.before,
          messages_after: found.after,
          bookend_start: decoded(connection.all(FIRST, { ...values, id: first })),
          bookend_end: decoded(connection.all<StoredMessageRow>(LAST, { ...values, id: last }).reverse()),
        };
      }),
  };
}

/** A number no message has, for what is none: callers pass on what a model wrote. */
function messageId(id: number): number {
  return Number.isSafeInteger(id) ? id : -1;
}
