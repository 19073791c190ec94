// Handing a session over to another platform: asked for, claimed by one, finished or failed.
import { takeCodePoints } from "../../lib/index.ts";
import type { SessionRow } from "../rows.ts";
import type { SessionStore } from "../store.ts";
import type { StoreContext } from "./context.ts";
import { findSession, SESSION_FIELDS } from "./sessions.ts";

const MAX_ERROR_CHARS = 500;

const REQUEST = `
  UPDATE sessions SET handoff_state = 'pending', handoff_platform = :platform, handoff_error = NULL
  WHERE id = :id AND (handoff_state IS NULL OR handoff_state IN ('completed', 'failed'))
`;
const CLAIM = "UPDATE sessions SET handoff_state = 'running' WHERE id = :id AND handoff_state = 'pending'";
const COMPLETE = "UPDATE sessions SET handoff_state = 'completed', handoff_error = NULL WHERE id = :id";
const FAIL = "UPDATE sessions SET handoff_state = 'failed', handoff_error = :error WHERE id = :id";
const PENDING = `
  SELECT ${SESSION_FIELDS} FROM sessions WHERE handoff_state = 'pending' ORDER BY started_at, id
`;

export type HandoffOperations = Pick<
  SessionStore,
  | "requestHandoff"
  | "claimHandoff"
  | "completeHandoff"
  | "failHandoff"
  | "getHandoffState"
  | "listPendingHandoffs"
>;

export function handoffOperations({ connection }: StoreContext): HandoffOperations {
  const changed = (sql: string, values: Record<string, string>) =>
    connection.write(() => connection.run(sql, values).changes > 0);
  return {
    requestHandoff: (id, platform) => changed(REQUEST, { id, platform }),
    claimHandoff: (id) => changed(CLAIM, { id }),
    async completeHandoff(id) {
      await changed(COMPLETE, { id });
    },
    async failHandoff(id, error) {
      await changed(FAIL, { id, error: takeCodePoints(error, MAX_ERROR_CHARS) });
    },
    getHandoffState: (id, scope) =>
      connection.read(() => {
        const session = findSession(connection, id, scope);
        if (session === null) return null;
        const { handoff_state: state, handoff_platform: platform, handoff_error: error } = session;
        return { state, platform, error };
      }),
    listPendingHandoffs: () =>
      connection.read(() => connection.all<SessionRow>(PENDING).map((row) => ({ ...row }))),
  };
}
