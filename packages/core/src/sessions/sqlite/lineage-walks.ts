// From a session to its tip and up to its root.
import type { Scope } from "../identity.ts";
import type { Connection } from "./connection.ts";
import { visibleTo } from "./context.ts";
import { byFile } from "./features.ts";
import { continuationOrder, isContinuation, isVisible } from "./lineage-sql.ts";

/** Of continuations. The original stops at 100, where a small window takes a long conversation in a few days; the rest would be out of reach. */
export const MAX_CHAIN = 5_000;

// Walks carry the path they came, so that a cycle of parents ends them.
const UNSEEN = (walk: string, id: string) => `instr(${walk}.path, char(10) || ${id} || char(10)) = 0`;
const GROW = (walk: string, id: string) => `${walk}.path || ${id} || char(10)`;

const TIP = byFile(
  (file) => `
  WITH RECURSIVE chain(id, depth, path) AS (
    SELECT id, 0, char(10) || id || char(10) FROM sessions s WHERE id = :id AND ${isVisible("s")}
    UNION ALL
    SELECT c.id, chain.depth + 1, ${GROW("chain", "c.id")}
    FROM chain JOIN sessions p ON p.id = chain.id JOIN sessions c ON c.id = (
      SELECT k.id FROM sessions k LEFT JOIN hermes_memory_activity a ON a.session_id = k.id
      WHERE k.parent_session_id = p.id AND ${isContinuation("k", "p", file)} AND ${isVisible("k")}
      ORDER BY ${continuationOrder("k", "a", file)} LIMIT 1)
    WHERE chain.depth < ${MAX_CHAIN} AND ${UNSEEN("chain", "c.id")}
  )
  SELECT id FROM chain ORDER BY depth DESC LIMIT 1
`,
);

const ANCESTORS = `
  WITH RECURSIVE up(id, depth, path) AS (
    SELECT id, 0, char(10) || id || char(10) FROM sessions s WHERE id = :id AND ${isVisible("s")}
    UNION ALL
    SELECT p.id, up.depth + 1, ${GROW("up", "p.id")}
    FROM up JOIN sessions c ON c.id = up.id JOIN sessions p ON p.id = c.parent_session_id
    WHERE up.depth < ${MAX_CHAIN} AND ${isVisible("p")} AND ${UNSEEN("up", "p.id")}
  )
  SELECT id FROM up ORDER BY depth DESC
`;

const CONTINUED = byFile(
  (file) => `
  WITH RECURSIVE up(id, depth, path) AS (
    SELECT id, 0, char(10) || id || char(10) FROM sessions s WHERE id = :id AND ${isVisible("s")}
    UNION ALL
    SELECT p.id, up.depth + 1, up.path || p.id || char(10)
    FROM up JOIN sessions c ON c.id = up.id JOIN sessions p ON p.id = c.parent_session_id
    WHERE ${isContinuation("c", "p", file)} AND ${isVisible("p")} AND instr(up.path, char(10) || p.id || char(10)) = 0
  )
  SELECT id FROM up ORDER BY depth DESC
`,
);

export function tipOf(connection: Connection, id: string, scope?: Scope): string {
  return connection.get<{ id: string }>(TIP(connection), { id, ...visibleTo(scope) })?.id ?? id;
}

/** Root first, the session itself last; empty for an unknown one. */
export function ancestorsOf(connection: Connection, id: string, scope?: Scope): string[] {
  return connection.all<{ id: string }>(ANCESTORS, { id, ...visibleTo(scope) }).map((row) => row.id);
}

/** The session and those it continues after compaction, root first; empty for an unknown one. */
export function continuedBy(connection: Connection, id: string, scope?: Scope): string[] {
  return connection
    .all<{ id: string }>(CONTINUED(connection), { id, ...visibleTo(scope) })
    .map((row) => row.id);
}
