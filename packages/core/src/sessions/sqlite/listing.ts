// Listings of sessions. Each walks an index in the requested order and stops when it has enough rows, so a page costs the same in
// a small database as in one with a million messages.
import { lowerAscii, withoutUndefined } from "../../lib/index.ts";
import { decodeContent } from "../../message/index.ts";
import type { Scope } from "../identity.ts";
import type { ActiveSession, ListedSession, SessionRow } from "../rows.ts";
import type { ListOptions, SessionFilter, SessionRecords, SessionSearch } from "../store.ts";
import { sessionPreview, withoutSummary } from "../titles.ts";
import {
  ALL_USERS,
  byFile,
  type Connection,
  count,
  type FileFeatures,
  featuresOf,
  isHidden,
  isOwnerOfHome,
  isVisible,
  visibleTo,
} from "./connection.ts";
import { type StoreContext, writeTo } from "./context.ts";
import { continuedBy, isContinuation, isListable, MAX_CHAIN, tipOf } from "./lineage-sql.ts";
import { findSession, sessionFields, shownTo } from "./sessions.ts";

/** SQL: up along continuations, the session under which a conversation is listed. */
const ROOT_OF = (id: string, file: FileFeatures) => `(
  WITH RECURSIVE up(id, depth) AS (
    SELECT ${id}, 0
    UNION ALL
    SELECT p.id, up.depth + 1 FROM up JOIN sessions c ON c.id = up.id JOIN sessions p ON p.id = c.parent_session_id
    WHERE up.depth < ${MAX_CHAIN} AND ${isContinuation("c", "p", file)} AND ${isVisible("p")}
  )
  SELECT id FROM up ORDER BY depth DESC LIMIT 1)`;

/** Down along continuations: all sessions of the conversation, including the root. */
const CHAIN = byFile(
  (file) => `
  WITH RECURSIVE chain(id, depth) AS (
    SELECT :root, 0
    UNION ALL
    SELECT c.id, chain.depth + 1 FROM chain JOIN sessions p ON p.id = chain.id
      JOIN sessions c ON c.parent_session_id = p.id
    WHERE chain.depth < ${MAX_CHAIN} AND ${isContinuation("c", "p", file)} AND ${isVisible("c")}
  )
  SELECT DISTINCT id FROM chain
`,
);

/** How an id is compared with the query. SQLite's `lower` converts only ASCII, as in Hermes Agent. */
const FITS = {
  whole: "lower(h.session_id) = :query",
  beginning: "instr(lower(h.session_id), :query) = 1",
  part: "instr(lower(h.session_id), :query) > 0",
} as const;
type Fit = keyof typeof FITS;

/** Reads only the activity table; sessions are read only when an id matches and has relatives. */
const HITS_WITH_RELATIVES = (fit: Fit) => `
  SELECT h.session_id AS id FROM hermes_memory_activity h
  WHERE ${FITS[fit]}
    AND (:user IS NULL OR EXISTS (SELECT 1 FROM sessions v WHERE v.id = h.session_id AND ${isVisible("v")})) AND (
    h.session_id IN (SELECT id FROM sessions WHERE parent_session_id > '')
    OR h.session_id IN (SELECT parent_session_id FROM sessions WHERE parent_session_id > ''))
`;

/** Sessions whose conversation contains another session with a matching id. */
const RELATIVES = (fit: Fit, file: FileFeatures) => `(
  WITH RECURSIVE family(id) AS (
    SELECT ${ROOT_OF("hit.id", file)} FROM (${HITS_WITH_RELATIVES(fit)}) hit
    UNION
    SELECT c.id FROM family JOIN sessions p ON p.id = family.id JOIN sessions c ON c.parent_session_id = p.id
    WHERE ${isContinuation("c", "p", file)} AND ${isVisible("c")}
  )
  SELECT id FROM family)`;

/** Sessions that continue in one with a matching id. */
const FORERUNNERS = (fit: Fit, file: FileFeatures) => `(
  WITH RECURSIVE back(id) AS (
    SELECT hit.id FROM (${HITS_WITH_RELATIVES(fit)}) hit
    UNION
    SELECT p.id FROM back JOIN sessions c ON c.id = back.id JOIN sessions p ON p.id = c.parent_session_id
    WHERE ${isContinuation("c", "p", file)} AND ${isVisible("p")}
  )
  SELECT id FROM back)`;

/** A conversation that was compacted repeatedly may start with this many summaries. */
const MOST_SUMMARIES = 8;
const LAST_ACTIVE = "SELECT last_active FROM hermes_memory_activity WHERE session_id = :id";
/** Includes messages that a compaction archived in the session, because the preview shows the true beginning. */
const USER_MESSAGES = byFile(
  (file) => `
  SELECT m.content FROM messages m
  WHERE m.session_id = :id AND m.role = 'user' AND m.content IS NOT NULL AND NOT ${isHidden("m", file.messages)}
  ORDER BY m.timestamp, m.id LIMIT ${MOST_SUMMARIES}
`,
);
const RECENT = (conditions: string, file: FileFeatures) => `
  SELECT ${sessionFields(file)}, a.last_active FROM hermes_memory_activity a JOIN sessions s ON s.id = a.session_id
  WHERE ${isVisible("s")} ${conditions} ORDER BY a.last_active DESC, s.started_at DESC, s.id DESC
`;
const IDS = `
  SELECT s.id FROM hermes_memory_activity a JOIN sessions s ON s.id = a.session_id
  WHERE ${isVisible("s")} AND (:source IS NULL OR s.source = :source)
    AND (:prefix IS NULL OR (s.id >= :prefix AND s.id < :prefix || char(0x10ffff)))
  ORDER BY a.last_active DESC, s.started_at DESC, s.id DESC LIMIT :limit
`;
const CRON_RUNS = byFile(
  (file) => `
  SELECT ${sessionFields(file)} FROM sessions s
  WHERE s.source = 'cron' AND s.id >= :from AND s.id < :to AND ${isVisible("s")}
  ORDER BY s.started_at DESC, s.id DESC LIMIT :limit OFFSET :offset
`,
);
type Flag = "archived" | "pinned" | "hidden";
const SET_FLAG = (flag: Flag) => `UPDATE sessions SET ${flag} = :value WHERE id = :id AND ${flag} <> :value`;

export function listingOperations(context: StoreContext) {
  const { connection, person } = context;
  const own = <Options>(options: Options): Options & Scope => ({ ...options, ...person.scope });
  return {
    sessionCount: (options = {}) =>
      connection.read(() => {
        const file = featuresOf(connection);
        // As in Hermes Agent, sessions hidden from listings are counted unless the caller excludes them.
        const { where, values } = sessionFilter(own({ includeHidden: true, ...options }), "s", file);
        const children = options.excludeChildren ? `AND ${isListable("s", file)}` : "";
        const sql = `SELECT COUNT(*) AS number FROM sessions s WHERE ${where} ${children}`;
        return connection.get<{ number: number }>(sql, values)?.number ?? 0;
      }),
    listSessionsRich: (options = {}) => connection.read(() => listRich(context, own(options))),
    listSessionIds: (options = {}) => connection.read(() => listIds(connection, own(options))),
    searchSessions: (options = {}) => connection.read(() => searchSessions(connection, own(options))),
    searchSessionsById: (query, options = {}) =>
      connection.read(() => searchById(context, query, own(options))),
    listCronJobRuns: (jobId, options = {}) =>
      connection.read(() => {
        const values = {
          from: `cron_${jobId}_`,
          to: `cron_${jobId}\``, // the character after "_"
          ...person.visible,
          limit: count(options.limit, 20),
          offset: count(options.offset, 0),
        };
        return connection
          .all<SessionRow>(CRON_RUNS(connection), values)
          .map((row) => describe(context, shownTo(connection, row, person.visible)));
      }),
  } satisfies Partial<SessionSearch>;
}

export function flagOperations(context: StoreContext) {
  const { connection } = context;
  return {
    setSessionArchived: (sessionId, archived) =>
      writeTo(context, sessionId, (id) => setFlag(connection, id, "archived", archived)),
    setSessionPinned: (sessionId, pinned) =>
      writeTo(context, sessionId, (id) => {
        if (pinned) setFlag(connection, id, "hidden", false);
        return setFlag(connection, id, "pinned", pinned);
      }),
    setSessionHidden: (sessionId, hidden) =>
      writeTo(context, sessionId, (id) => setFlag(connection, id, "hidden", hidden)),
  } satisfies Partial<SessionRecords>;
}

/** Sets the flag on every session of the conversation. True when any row changed. */
function setFlag(connection: Connection, id: string, flag: Flag, isSet: boolean): boolean {
  const file = featuresOf(connection);
  if (!file.sessions.has(flag) || findSession(connection, id) === null) return false;
  const [root = id] = continuedBy(connection, id);
  const chain = connection.all<{ id: string }>(CHAIN(connection), { root, ...ALL_USERS });
  const changes = chain.map((row) => connection.run(SET_FLAG(flag), { id: row.id, value: isSet ? 1 : 0 }));
  return changes.some((change) => change.changes > 0);
}

/** The filters of listings and counts. An empty `excludeSources` excludes nothing. */
function sessionFilter(
  filter: SessionFilter & Scope,
  alias: string,
  file: FileFeatures,
): { where: string; values: Record<string, string | number | null> } {
  const values: Record<string, string | number | null> = { ...visibleTo(filter) };
  const conditions = [isVisible(alias)];
  if (filter.source !== undefined) {
    // The plus keeps SQLite from collecting and sorting all sessions of the source: listings walk in their own order.
    conditions.push(`+${alias}.source = :source`);
    values.source = filter.source;
  }
  if (filter.excludeSources !== undefined && filter.excludeSources.length > 0) {
    conditions.push(`${alias}.source NOT IN (SELECT value FROM json_each(:excluded))`);
    values.excluded = JSON.stringify(filter.excludeSources);
  }
  const least = count(filter.minMessageCount, 0);
  if (least > 0) {
    conditions.push(`${alias}.message_count >= :least`);
    values.least = least;
  }
  if (filter.archivedOnly) conditions.push(`${alias}.archived <> 0`);
  else if (!filter.includeArchived) conditions.push(`${alias}.archived = 0`);
  if (!filter.includeHidden && file.sessions.has("hidden")) conditions.push(`${alias}.hidden = 0`);
  return { where: conditions.join(" AND "), values };
}

export function listIds(
  connection: Connection,
  options: Scope & { readonly prefix?: string; readonly source?: string; readonly limit?: number },
): string[] {
  const limit = options.limit === undefined ? Number.MAX_SAFE_INTEGER : count(options.limit, 0);
  const { source = null, prefix = null } = options;
  const rows = connection.all<{ id: string }>(IDS, { ...visibleTo(options), source, prefix, limit });
  return rows.map((row) => row.id);
}

export function lastActive(connection: Connection, { id, started_at }: SessionRow): number {
  return connection.get<{ last_active: number }>(LAST_ACTIVE, { id })?.last_active ?? started_at;
}

type ScopedListing = ListOptions & Scope;

/** Sessions of every kind, by activity. */
function searchSessions(
  connection: Connection,
  options: Scope & { readonly source?: string; readonly limit?: number; readonly offset?: number },
): ActiveSession[] {
  const source = options.source === undefined ? "" : "AND s.source = :source";
  const values = withoutUndefined({
    ...visibleTo(options),
    limit: count(options.limit, 20),
    offset: count(options.offset, 0),
    source: options.source as string, // node:sqlite refuses undefined
  });
  const conditions = `${source} ${ofUser(options, "a")}`;
  const sql = `${RECENT(conditions, featuresOf(connection))} LIMIT :limit OFFSET :offset`;
  const visible = visibleTo(options);
  return connection.all<ActiveSession>(sql, values).map((row) => shownTo(connection, row, visible));
}

function listRich(context: StoreContext, options: ScopedListing): ListedSession[] {
  const { connection } = context;
  const limit = count(options.limit, 20);
  const offset = count(options.offset, 0);
  if (limit === 0) return [];
  const enough = limit + offset;
  if (!options.orderByLastActive) {
    const roots = rootsByStart(connection, options, enough);
    return roots.slice(offset).map((row) => present(context, row, options));
  }
  const query = lowerAscii(options.idQuery ?? "");
  const wanted = query === "" ? undefined : ({ query, fit: "part" } as const);
  const ids = rootsByActivity(connection, options, enough, wanted).slice(offset, enough);
  return readRoots(context, ids, options);
}

/** Reads only the rows that are shown. */
function readRoots(context: StoreContext, ids: readonly string[], options: ScopedListing): ListedSession[] {
  const rows = ids.map((id) => findSession(context.connection, id, visibleTo(options)));
  return rows.flatMap((row) => (row === null ? [] : [present(context, row, options)]));
}

function present(context: StoreContext, row: SessionRow, options: ScopedListing): ListedSession {
  const listed = describe(context, row);
  if (options.includeChildren || options.projectCompressionTips === false) return listed;
  return showTip(context, listed, options);
}

function rootsByStart(connection: Connection, options: ScopedListing, enough: number): SessionRow[] {
  const file = featuresOf(connection);
  const { where, values } = sessionFilter(options, "s", file);
  const listable = options.includeChildren ? "" : `AND ${isListable("s", file)}`;
  const sql = `
    SELECT ${sessionFields(file)} FROM sessions s WHERE s.id IS NOT NULL AND ${where} ${listable}
    ORDER BY s.started_at DESC, s.id DESC LIMIT :enough
  `;
  const visible = visibleTo(options);
  return connection
    .all<SessionRow>(sql, { ...values, enough })
    .map((row) => shownTo(connection, row, visible));
}

/** Which ids of a conversation match; `query` in lower case. */
type Wanted = {
  readonly query: string;
  readonly fit: Fit;
  /** An additional check of a matching root. */
  readonly accepts?: (root: string) => boolean;
};

/**
 * The latest activity of a conversation may be in any session of its chain, so this walks sessions and looks up the root of each.
 * Conversations with the same time are sorted before the list is cut.
 */
function rootsByActivity(
  connection: Connection,
  options: ScopedListing,
  enough: number,
  wanted?: Wanted,
): string[] {
  const file = featuresOf(connection);
  const { where, values } = sessionFilter(options, "s", file);
  const listable = options.includeChildren ? "" : `AND ${isListable("s", file)}`;
  const root = options.includeChildren
    ? "h.session_id"
    : `CASE WHEN x.parent_session_id IS NULL THEN x.id ELSE ${ROOT_OF("x.id", file)} END`;
  const sql = `
    SELECT s.id, s.started_at, h.last_active
    FROM hermes_memory_activity h JOIN sessions x ON x.id = h.session_id JOIN sessions s ON s.id = ${root}
    WHERE ${where} ${listable} AND ${isVisible("x")} ${ofUser(options, "h")} ${wanted ? hasWantedId(wanted, options, file) : ""}
    ORDER BY h.last_active DESC, h.session_id DESC
  `;
  type Root = { readonly id: string; readonly started_at: number; readonly last_active: number };
  const found = new Map<string, Root>();
  const refused = new Set<string>();
  let last = Number.NaN;
  const bound = wanted === undefined ? values : { ...values, query: wanted.query };
  for (const row of connection.iterate<Root>(sql, bound)) {
    if (found.size >= enough && row.last_active !== last) break;
    if (found.has(row.id) || refused.has(row.id)) continue;
    if (wanted?.accepts?.(row.id) === false) {
      refused.add(row.id);
      continue;
    }
    found.set(row.id, row);
    last = row.last_active;
  }
  return [...found.values()]
    .sort((a, b) => b.last_active - a.last_active || b.started_at - a.started_at || (a.id < b.id ? 1 : -1))
    .map(({ id }) => id);
}

/** The plus keeps SQLite from looking up each of them and sorting: this walks in the order of activity. */
function hasWantedId({ fit }: Wanted, { includeChildren }: ListOptions, file: FileFeatures): string {
  const others = includeChildren ? FORERUNNERS(fit, file) : RELATIVES(fit, file);
  return `AND (${FITS[fit]} OR +h.session_id IN ${others})`;
}

/** Lets SQLite use the index that is ordered per user. */
function ofUser(scope: Scope, activity: string): string {
  const visible = visibleTo(scope);
  return visible.user === null || isOwnerOfHome(visible) ? "" : `AND ${activity}.user_id = :user`;
}

function describe({ connection, warn }: StoreContext, row: SessionRow): ListedSession {
  const messages = connection.iterate<{ content: string | Uint8Array }>(USER_MESSAGES(connection), {
    id: row.id,
  });
  const isSchema17 = featuresOf(connection).isSchema17;
  let preview = "";
  for (const { content } of messages) {
    const said = decodeContent(content, warn);
    const own = isSchema17 ? withoutSummary(said) : said;
    if (own === undefined) continue;
    preview = sessionPreview(own);
    break;
  }
  return withUnread({ ...row, preview, last_active: lastActive(connection, row) });
}

/** A session that was never opened in a list counts as read. */
function withUnread(row: ListedSession): ListedSession {
  const { last_read_at: read, last_active } = row;
  return read === undefined ? row : { ...row, unread: read !== null && last_active > read };
}

const TAKEN_FROM_TIP = [
  "id",
  "ended_at",
  "end_reason",
  "message_count",
  "tool_call_count",
  "title",
  "last_active",
  "preview",
  "model",
  "system_prompt",
  "cwd",
] as const;

/** A compacted conversation is listed under its root but shows the values of its tip. */
function showTip(context: StoreContext, row: ListedSession, scope: Scope): ListedSession {
  const tip = tipOf(context.connection, row.id, visibleTo(scope));
  const session = tip === row.id ? null : findSession(context.connection, tip, visibleTo(scope));
  if (session === null) return row;
  const described = describe(context, session);
  const taken = Object.fromEntries(TAKEN_FROM_TIP.map((key) => [key, described[key]]));
  // With schema 17 a continuation gets its title later, or never.
  const title = featuresOf(context.connection).isSchema17 ? (described.title ?? row.title) : described.title;
  return withUnread({ ...row, ...taken, title, _lineage_root_id: row.id });
}

function searchById(
  context: StoreContext,
  query: string,
  options: Scope & { readonly limit?: number; readonly includeArchived?: boolean },
): ListedSession[] {
  const text = lowerAscii(query.trim());
  const limit = count(options.limit, 20);
  if (text === "" || limit === 0) return [];
  const { includeArchived = true, ...scope } = options;
  const filter: ScopedListing = { ...scope, includeArchived };
  const { connection } = context;
  /** A listed row matches by its own id or its tip's id. Other ids of the conversation count as a partial match. */
  const goesBy = (fits: (id: string) => boolean) => (root: string) =>
    fits(lowerAscii(root)) || fits(lowerAscii(tipOf(connection, root, visibleTo(scope))));
  const ways: readonly Wanted[] = [
    { query: text, fit: "whole", accepts: goesBy((id) => id === text) },
    { query: text, fit: "beginning", accepts: goesBy((id) => id.startsWith(text)) },
    { query: text, fit: "part" },
  ];
  const winners = new Set<string>();
  for (const way of ways) {
    if (winners.size >= limit) break;
    for (const id of rootsByActivity(connection, filter, limit, way)) winners.add(id);
  }
  return readRoots(context, [...winners].slice(0, limit), filter);
}
