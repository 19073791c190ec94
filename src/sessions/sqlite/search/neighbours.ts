// What stands before and after a message in its session, and the root of its lineage.
import type { Scope } from "../../scope.ts";
import type { Connection } from "../connection.ts";
import { ancestorsOf } from "../lineage.ts";
import type { FoundRow } from "./rows.ts";

const IDS = "SELECT id FROM messages WHERE session_id = :session AND active = 1 ORDER BY timestamp, id";
const LENGTH = "SELECT message_count AS length FROM sessions WHERE id = :session";
const BEFORE = `
  SELECT id FROM messages WHERE session_id = :session AND active = 1
    AND (timestamp, id) < (:timestamp, :id) AND timestamp <= :timestamp ORDER BY timestamp DESC, id DESC LIMIT 3
`;
const AFTER = `
  SELECT id FROM messages WHERE session_id = :session AND active = 1
    AND (timestamp, id) > (:timestamp, :id) AND timestamp >= :timestamp ORDER BY timestamp, id LIMIT 2
`;
/** Asking about one message costs as much as reading the ids of about so many. */
const IDS_PER_QUESTION = 40;

export type Neighbours = {
  readonly isFirst: boolean;
  readonly before: readonly (number | undefined)[];
  readonly after: readonly (number | undefined)[];
};

const NONE: Neighbours = { isFirst: false, before: [], after: [] };

export function neighboursOf(connection: Connection, rows: readonly FoundRow[]): Map<number, Neighbours> {
  const bySession = Map.groupBy(rows, (row) => row.session_id);
  const found = new Map<number, Neighbours>();
  for (const [session, members] of bySession) {
    const length = connection.get<{ length: number | null }>(LENGTH, { session })?.length ?? 0;
    if (length > IDS_PER_QUESTION * members.length) {
      for (const member of members) found.set(member.id, besides(connection, member));
      continue;
    }
    const ids = connection.all<{ id: number }>(IDS, { session }).map((row) => row.id);
    const places = new Map(ids.map((id, at) => [id, at]));
    for (const { id } of members) {
      const at = places.get(id);
      if (at === undefined) found.set(id, NONE);
      else
        found.set(id, {
          isFirst: at === 0,
          before: [ids[at - 1], ids[at - 2], ids[at - 3]],
          after: [ids[at + 1], ids[at + 2]],
        });
    }
  }
  return found;
}

function besides(connection: Connection, { id, session_id: session, timestamp }: FoundRow): Neighbours {
  const idsOf = (sql: string) =>
    connection.all<{ id: number }>(sql, { session, timestamp, id }).map((row) => row.id);
  const before = idsOf(BEFORE);
  return { isFirst: before.length === 0, before, after: idsOf(AFTER) };
}

/** Looked up once per session of an answer. */
export function lineageRoots(connection: Connection, scope: Scope): (row: FoundRow) => string {
  const known = new Map<string, string>();
  return ({ session_id, parent_session_id }) => {
    if (parent_session_id === null) return session_id;
    const root = known.get(session_id) ?? ancestorsOf(connection, session_id, scope)[0] ?? session_id;
    known.set(session_id, root);
    return root;
  };
}
