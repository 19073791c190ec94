// How sessions are connected, as SQL conditions, and walks along these connections. `child` and `parent` are table aliases;
// `file` decides which rules apply.
import { RESET_REASONS } from "../identity.ts";
import {
  ALL_USERS,
  byFile,
  type Connection,
  type FileFeatures,
  isVisible,
  mark,
  SCHEMA_16,
  type Visible,
} from "./connection.ts";

/**
 * A mark wins over the parent's end reason, which may have changed since. With schema 17, a continuation copies its parent's
 * settings, so a mark that names another session is only inherited.
 */
export function isBranch(child: string, parent: string, file: FileFeatures = SCHEMA_16): string {
  const endedAsBranch =
    `(${parent}.end_reason = 'branched' AND ${child}.started_at >= ${parent}.ended_at ` +
    `AND ${mark(child, "_compressed_from")} IS NULL)`;
  const isMarked = file.isSchema17
    ? `${mark(child, "_branched_from")} IS ${parent}.id`
    : `${mark(child, "_branched_from")} IS NOT NULL`;
  return `(${isMarked} OR COALESCE(${endedAsBranch}, 0))`;
}

/** A session that a gateway started for the same chat. It is a separate conversation. */
export function isReset(child: string, parent: string, file: FileFeatures): string {
  if (!file.isSchema17) return "0";
  const reasons = RESET_REASONS.map((reason) => `'${reason}'`).join(", ");
  const isUnmarked = file.sessions.has("session_key")
    ? `(${child}.session_key <> '' AND ${child}.session_key = ${parent}.session_key AND ${parent}.end_reason IN (${reasons}))`
    : "0";
  return `(${mark(child, "_reset_from")} IS ${parent}.id OR COALESCE(${isUnmarked}, 0))`;
}

/**
 * Schema 16 decides by end reason and clock alone, so a clock change or a reopened parent breaks its chain; our own rows also
 * carry a mark. With schema 17 the child is inserted before the parent is ended, so times are not compared.
 */
export function isContinuation(child: string, parent: string, file: FileFeatures = SCHEMA_16): string {
  const isMarked = `COALESCE(${mark(child, "_compressed_from")} = ${parent}.id, 0)`;
  if (file.isSchema17) {
    const isOther = (["_branched_from", "_delegate_from", "_reset_from"] as const)
      .map((key) => `${mark(child, key)} IS NOT ${parent}.id`)
      .join(" AND ");
    const isUnmarked = `COALESCE(${parent}.end_reason = 'compression' AND ${child}.source <> 'tool', 0)`;
    return `((${isMarked} OR ${isUnmarked}) AND ${isOther})`;
  }
  const endedAsCompressed = `(${parent}.end_reason = 'compression' AND ${child}.started_at >= ${parent}.ended_at)`;
  return (
    `((${isMarked} OR COALESCE(${endedAsCompressed}, 0)) ` +
    `AND ${mark(child, "_branched_from")} IS NULL AND ${mark(child, "_delegate_from")} IS NULL)`
  );
}

/** Which of several continuations a conversation goes on in. `activity` is the alias of hermes_memory_activity. */
function continuationOrder(child: string, activity: string, file: FileFeatures): string {
  const newest = `${child}.started_at DESC, ${child}.id DESC`;
  if (!file.isSchema17) return newest;
  const state = `CASE WHEN ${child}.end_reason = 'compression' THEN 0 WHEN ${child}.ended_at IS NULL THEN 1 ELSE 2 END`;
  return `${state}, ${activity}.last_active DESC, ${newest}`;
}

/** Roots, branches and resets: the sessions that users see as conversations. A row whose parent is deleted counts as a root. */
export function isListable(session: string, file: FileFeatures): string {
  const ofParent = `(${isBranch(session, "p", file)} OR ${isReset(session, "p", file)})`;
  const ownOfParent = `EXISTS (SELECT 1 FROM sessions p WHERE p.id = ${session}.parent_session_id AND ${ofParent})`;
  const parentIsGone = `NOT EXISTS (SELECT 1 FROM sessions p WHERE p.id = ${session}.parent_session_id)`;
  return (
    `(${mark(session, "_delegate_from")} IS NULL AND ` +
    `(${session}.parent_session_id IS NULL OR ${ownOfParent} OR ${parentIsGone}))`
  );
}

// ---- Walks ----

/**
 * Longest chain of continuations. Hermes Agent stops at 100, which a long conversation with a small context window reaches in a
 * few days; later sessions would be unreachable.
 */
export const MAX_CHAIN = 5_000;

// Walks carry their path, so that a cycle of parents ends them.
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

/** From a session to its first ancestor, as long as `condition` holds between child `c` and parent `p`. */
export const upWhile = (condition: string): string => `
  WITH RECURSIVE up(id, depth, path) AS (
    SELECT id, 0, char(10) || id || char(10) FROM sessions s WHERE id = :id AND ${isVisible("s")}
    UNION ALL
    SELECT p.id, up.depth + 1, ${GROW("up", "p.id")}
    FROM up JOIN sessions c ON c.id = up.id JOIN sessions p ON p.id = c.parent_session_id
    WHERE ${condition} AND ${isVisible("p")} AND ${UNSEEN("up", "p.id")}
  )
  SELECT id FROM up ORDER BY depth DESC
`;
const ANCESTORS = upWhile(`up.depth < ${MAX_CHAIN}`);
const CONTINUED = byFile((file) => upWhile(isContinuation("c", "p", file)));

export function tipOf(connection: Connection, id: string, visible: Visible = ALL_USERS): string {
  return connection.get<{ id: string }>(TIP(connection), { id, ...visible })?.id ?? id;
}

/** Root first, the session itself last. Empty for an unknown session. */
export function ancestorsOf(connection: Connection, id: string, visible: Visible = ALL_USERS): string[] {
  return connection.all<{ id: string }>(ANCESTORS, { id, ...visible }).map((row) => row.id);
}

/** The session and those it continues after compaction, root first. Empty for an unknown session. */
export function continuedBy(connection: Connection, id: string, visible: Visible = ALL_USERS): string[] {
  return connection.all<{ id: string }>(CONTINUED(connection), { id, ...visible }).map((row) => row.id);
}
