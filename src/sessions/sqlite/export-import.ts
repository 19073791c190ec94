// Sessions as objects that can leave one database and enter another.
import type { ExportedSession, SessionRow } from "../rows.ts";
import type { Scope, SessionStore } from "../store.ts";
import { type StoreContext, seconds } from "./context.ts";
import { importAll } from "./import-sessions.ts";
import { lastActive, listIds } from "./listing.ts";
import { decodeRows, readMessages } from "./messages.ts";
import { findSession } from "./sessions.ts";

const MAX_EXPORTED = 100_000;

export type ExportOperations = Pick<
  SessionStore,
  "exportSession" | "exportEach" | "exportAll" | "importSessions"
>;
type ActiveExport = ExportedSession & { readonly last_active: number };
type ExportOptions = Scope & { readonly includeInactive?: boolean };

export function exportOperations({ connection, clock, warn }: StoreContext): ExportOperations {
  const exported = (row: SessionRow, options: ExportOptions): ExportedSession => ({
    ...row,
    messages: decodeRows(readMessages(connection, row.id, options), warn),
  });
  async function* exportEach(options: ExportOptions & { readonly source?: string } = {}) {
    // Ids first: a session that becomes active meanwhile is not met twice, and one that goes is left out.
    for (const id of await connection.read(() => listIds(connection, { ...options, limit: MAX_EXPORTED }))) {
      const found = await connection.read((): ActiveExport | null => {
        const session = findSession(connection, id, options);
        return session && { ...exported(session, options), last_active: lastActive(connection, session) };
      });
      if (found !== null) yield found;
    }
  }
  return {
    exportSession: (id, options = {}) =>
      connection.read(() => {
        const session = findSession(connection, id, options);
        return session === null ? null : exported(session, options);
      }),
    exportEach,
    async exportAll(options = {}) {
      const all: ActiveExport[] = [];
      for await (const session of exportEach(options)) all.push(session);
      return all;
    },
    async importSessions(sessions, work = {}) {
      return importAll(connection, sessions, work, seconds(clock));
    },
  };
}
