// Handing a session over to another platform: asked for, claimed by one, finished or failed.
import { takeCodePoints } from "../../lib/index.ts";
import type { SessionRow } from "../rows.ts";
import type { SessionClaims } from "../store.ts";
import type { StoreContext } from "./context.ts";
import { byFile } from "./features.ts";
import { findSession, sessionFields } from "./sessions.ts";

const MAX_ERROR_CHARS = 500;

const REQUEST = `
  UPDATE sessions SET handoff_state = 'pending', handoff_platform = :platform, handoff_error = NULL
  WHERE id = :id AND (handoff_state IS NULL OR handoff_state IN ('completed', 'failed'))
`;
const CLAIM = "UPDATE sessions SET handoff_state = 'running' WHERE id = :id AND handoff_state = 'pending'";
const COMPLETE = "UPDATE sessions SET handoff_state = 'completed', handoff_error = NULL WHERE id = :id";
const FAIL = "UPDATE sessions SET handoff_state = 'failed', handoff_error = :error WHERE id = :id";
const PENDING = byFile(
  (file) =>
    `SELECT ${sessionFields(file)} FROM sessions s WHERE s.handoff_state = 'pending' ORDER BY s.started_at, s.id`,
);

export type HandoffOperations = Pick<
  SessionClaims,
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
      connection.read(() => connection.all<SessionRow>(PENDING(connection)).map((row) => ({ ...row }))),
  };
}
