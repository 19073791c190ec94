// Sessions as objects that can leave one database and enter another.

import type { Scope } from "../identity.ts";
import type { ExportedSession, SessionRow } from "../rows.ts";
import type { ExportLoss, StoreMaintenance } from "../store.ts";
import { type StoreContext, seconds } from "./context.ts";
import { isMalformed } from "./damage.ts";
import { importAll } from "./import-sessions.ts";
import { lastActive, listIds } from "./listing.ts";
import { decodeRows, readMessages } from "./messages.ts";
import { openDatabase } from "./open-database.ts";
import { salvageCopy } from "./salvage/salvage-copy.ts";
import { findSession } from "./sessions.ts";

const MAX_EXPORTED = 100_000;

export type ExportOperations = Pick<StoreMaintenance, "exportSession" | "exportEach" | "importSessions">;
type ActiveExport = ExportedSession & { readonly last_active: number };
type ExportOptions = Scope & { readonly includeInactive?: boolean };
type EachOptions = ExportOptions & {
  readonly source?: string;
  readonly onLoss?: (loss: ExportLoss) => void;
};

export function exportOperations({
  connection,
  clock,
  warn,
}: Pick<StoreContext, "connection" | "clock" | "warn">): ExportOperations {
  const exported = (row: SessionRow, options: ExportOptions): ExportedSession => ({
    ...row,
    messages: decodeRows(readMessages(connection, row.id, options), warn),
  });
  async function* exportEach(options: EachOptions = {}): AsyncGenerator<ActiveExport> {
    const { onLoss, ...filter } = options;
    const done = new Set<string>();
    try {
      // Ids first: a session that becomes active meanwhile is not met twice, and one that goes is left out.
      const ids = await connection.read(() => listIds(connection, { ...filter, limit: MAX_EXPORTED }));
      for (const id of ids) {
        const found = await connection.read((): ActiveExport | null => {
          const session = findSession(connection, id, filter);
          return session && { ...exported(session, filter), last_active: lastActive(connection, session) };
        });
        done.add(id);
        if (found !== null) yield found;
      }
      return;
    } catch (cause) {
      if (onLoss === undefined || !isMalformed(cause)) throw cause;
    }
    using copy = await salvageCopy(connection.path);
    onLoss(copy);
    const second = await openDatabase({ path: copy.path, readOnly: true });
    try {
      const rest = exportOperations({ connection: second.connection, clock, warn });
      for await (const session of rest.exportEach(filter)) if (!done.has(session.id)) yield session;
    } finally {
      second.connection.close();
    }
  }
  return {
    exportSession: (id, options = {}) =>
      connection.read(() => {
        const session = findSession(connection, id, options);
        return session === null ? null : exported(session, options);
      }),
    exportEach,
    async importSessions(sessions, work = {}) {
      return importAll(connection, sessions, work, seconds(clock));
    },
  };
}
