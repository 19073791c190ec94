// Finds matching messages through the index and checks them against the tables; also the filters of a search, and the neighbours
// and texts of found messages.
import type { Scope } from "../../identity.ts";
import { filterToken, HIDDEN_TOKEN, personWord, textsOf, USER_TOKENS } from "../../search/document.ts";
import type { SearchFilters } from "../../search/types.ts";
import { type Connection, isOwnerOfHome, isVisible, visibleTo } from "../connection.ts";
import type { IndexReader } from "../index/reader.ts";
import { dayOfKey, isHidden, keyOf, LAST_DAY, LAST_ID } from "../index/tables.ts";
import { ancestorsOf } from "../lineage-sql.ts";
import type { Bounds } from "../options.ts";

// ---- Matching messages ----

export type FoundRow = {
  readonly key: number;
  readonly id: number;
  readonly session_id: string;
  readonly timestamp: number;
  readonly parent_session_id: string | null;
  readonly origin_id: number | null;
  /** Bytes of its text, including the stored envelope. */
  readonly size: number;
};

export type Order = "newest" | "oldest";

/** One search inside one read transaction. */
export type Search = {
  readonly connection: Connection;
  readonly reader: IndexReader;
  readonly columns: ReadonlySet<string>;
  readonly conditions: SearchConditions;
  readonly bounds: Bounds;
  readonly rootOf: (row: FoundRow) => string;
  readonly keysOfSession: KeysOfSession;
};

const MOST_PER_STEP = 8192;

/** The newest keys that the index returns for an expression and the filters it knows, before the tables are checked. */
export function keysOf(
  { reader, conditions }: Search,
  expression: string,
  limit: number,
  to = conditions.to,
): number[] {
  const match = conditions.narrow(expression);
  return match === undefined ? [] : reader.keys(match, { order: "newest", limit, from: conditions.from, to });
}

/** The messages of these keys that pass all filters, in the order given. */
export function passingRows({ connection, reader, conditions }: Search, keys: readonly number[]): FoundRow[] {
  if (keys.length === 0) return [];
  const ids = reader.messageIds(keys);
  const places = new Map(ids.map((id, at) => [id, keys[at] ?? 0]));
  // CROSS JOIN keeps the order of the ids.
  const sql = `
    SELECT m.id, m.session_id, m.timestamp, s.parent_session_id, o.origin_id,
      COALESCE(octet_length(m.content), 0) + COALESCE(octet_length(m.tool_calls), 0) AS size
    FROM json_each(:ids) i CROSS JOIN messages m ON m.id = i.value JOIN sessions s ON s.id = m.session_id
      LEFT JOIN hermes_memory_origin o ON o.message_id = m.id
    WHERE ${conditions.where}
  `;
  const rows = connection.all<Omit<FoundRow, "key">>(sql, { ...conditions.values, ids: JSON.stringify(ids) });
  return rows.map((row) => ({ ...row, key: places.get(row.id) ?? 0 }));
}

type WalkOptions = {
  readonly order: Order;
  /** How many messages, or lineages, are wanted; fewer are returned only when there are no more. */
  readonly count: number;
  readonly perLineage: boolean;
  /** Keys are ordered by time only to the day: if the exact order matters, every day is read to its end. */
  readonly isExact: boolean;
  /** Already found: their lineages are not searched again. */
  readonly known?: readonly FoundRow[];
};

/**
 * Walks the matches until there are enough. Per lineage, sessions found so far are excluded from the next step, so that a session
 * with thousands of matches costs no more than one with a few.
 */
export function walkMatches(
  search: Search,
  expression: string,
  { order, count, perLineage, isExact, known = [] }: WalkOptions,
): FoundRow[] {
  const { reader, conditions, bounds, rootOf } = search;
  const kept: FoundRow[] = [];
  const originals = new Set<number>();
  /** The day on which a lineage was found; its best message is from that day. */
  const metOn = new Map<string, number>(known.map((row) => [rootOf(row), -1]));
  /** Sessions of lineages that are already found, and how often they matched. */
  const seen = new Map<string, { day: number; times: number }>();
  for (const { session_id } of known)
    seen.set(session_id, { day: -1, times: (seen.get(session_id)?.times ?? 0) + 1 });
  let { from, to } = conditions;
  let found = 0;
  let lastDay: number | undefined;
  for (
    let step = perLineage ? bounds.firstStep : Math.min(bounds.firstStep, 4 * count);
    found < count || lastDay !== undefined;
    step = Math.min(2 * step, MOST_PER_STEP)
  ) {
    const here = order === "newest" ? dayOfKey(to) : dayOfKey(from);
    const without = perLineage ? mostMatched(seen, here, bounds.sessionTokens) : [];
    const match = conditions.narrow(expression, without);
    if (match === undefined || from > to) break;
    const keys = reader.keys(match, { order, limit: step, from, to });
    const last = keys.at(-1);
    if (last === undefined) break;
    for (const row of passingRows(search, keys)) {
      const day = dayOfKey(row.key);
      if (lastDay !== undefined && day !== lastDay) break;
      const original = row.origin_id ?? row.id;
      if (perLineage) {
        const root = rootOf(row);
        const session = seen.get(row.session_id);
        if (session === undefined) seen.set(row.session_id, { day, times: 1 });
        else session.times += 1;
        const met = metOn.get(root);
        if (met === undefined) {
          metOn.set(root, day);
          found += 1;
          kept.push(row);
        } else if (isExact && met === day) kept.push(row);
      } else {
        kept.push(row);
        if (!originals.has(original)) found += 1;
        originals.add(original);
      }
      if (found >= count) {
        if (!isExact) return kept;
        lastDay ??= day;
      }
    }
    if (keys.length < step) break;
    if (order === "newest") to = last - 1;
    else from = last + 1;
    if (lastDay !== undefined) {
      if (dayOfKey(last) !== lastDay) break;
      if (order === "newest") from = Math.max(from, keyOf(lastDay, 0));
      else to = Math.min(to, keyOf(lastDay, LAST_ID));
    }
  }
  return kept;
}

/** Sessions that matched most often, except on the day that is being read. */
function mostMatched(
  seen: ReadonlyMap<string, { day: number; times: number }>,
  here: number,
  most: number,
): string[] {
  const past = [...seen].filter(([, { day }]) => day !== here);
  if (past.length > most) past.sort((a, b) => b[1].times - a[1].times);
  return past.slice(0, most).map(([session]) => session);
}

/** True when any message matches and passes the filters. */
export function matchesAnything(search: Search, expression: string): boolean {
  const found = walkMatches(search, expression, {
    order: "newest",
    count: 1,
    perLineage: false,
    isExact: false,
  });
  return found.length > 0;
}

/** The root of a message's lineage over all kinds of parents, looked up once per session. */
export function lineageRoots(connection: Connection, scope: Scope): (row: FoundRow) => string {
  const known = new Map<string, string>();
  return ({ session_id, parent_session_id }) => {
    if (parent_session_id === null) return session_id;
    const root = known.get(session_id) ?? ancestorsOf(connection, session_id, scope)[0] ?? session_id;
    known.set(session_id, root);
    return root;
  };
}

export type ReadRow = FoundRow & {
  readonly role: string;
  readonly tool_name: string | null;
  readonly said: string;
  readonly did: string;
};

type StoredText = {
  readonly id: number;
  readonly role: string;
  readonly content: string | Uint8Array | null;
  readonly tool_name: string | null;
  readonly tool_calls: string | null;
};

const TEXT = "SELECT id, role, content, tool_name, tool_calls FROM messages WHERE id = :id";

/** Adds the texts. `shorten` is applied to each, so that very long texts are not kept whole. */
export function readTexts(
  connection: Connection,
  rows: readonly FoundRow[],
  shorten: (text: string) => string,
): ReadRow[] {
  return rows.flatMap((row) => {
    const stored = connection.get<StoredText>(TEXT, { id: row.id });
    if (stored === undefined) return [];
    const { said, did } = textsOf(stored);
    return [
      { ...row, role: stored.role, tool_name: stored.tool_name, said: shorten(said), did: shorten(did) },
    ];
  });
}

type Neighbours = {
  /** Nearest first. */
  readonly before: readonly (number | undefined)[];
  readonly after: readonly (number | undefined)[];
  readonly isFirst: boolean;
};

/** How many of the newest messages of a session are considered. */
const MOST_OF_SESSION = 400;
/** A lookup for one message costs as much as reading about this many keys. */
const KEYS_PER_QUESTION = 40;

/** Keys of the visible messages of a session, newest first. */
type KeysOfSession = (session: string, members: number) => readonly number[];

/** From the index alone, without reading messages. `members`: how many of its messages the caller asks about. */
export function sessionKeys(reader: IndexReader): KeysOfSession {
  const known = new Map<string, { readonly keys: readonly number[]; readonly limit: number }>();
  return (session, members) => {
    const limit = Math.max(MOST_OF_SESSION, KEYS_PER_QUESTION * members);
    const found = known.get(session);
    if (found !== undefined && (found.limit >= limit || found.keys.length < found.limit)) return found.keys;
    const number = reader.numberOfSession(session);
    const match = `"${filterToken("session", number ?? 0)}" NOT "${HIDDEN_TOKEN}"`;
    const keys = number === undefined ? [] : reader.keys(match, { order: "newest", limit });
    known.set(session, { keys, limit });
    return keys;
  };
}

/** The messages before and after each of these in its session: by day, then in stored order. */
export function neighboursOf(
  { connection, reader, columns, keysOfSession }: Search,
  rows: readonly FoundRow[],
): Map<number, Neighbours> {
  const isShown = `NOT ${isHidden("m", columns)}`;
  const beside = (sign: "<" | ">", direction: "ASC" | "DESC", limit = 3) => `
    SELECT m.id FROM messages m WHERE m.session_id = :session AND ${isShown}
      AND (m.timestamp, m.id) ${sign} (:timestamp, :id) AND m.timestamp ${sign}= :timestamp
    ORDER BY m.timestamp ${direction}, m.id ${direction} LIMIT ${limit}
  `;
  const found = new Map<number, Neighbours>();
  for (const [session, members] of Map.groupBy(rows, (row) => row.session_id)) {
    const [only] = members;
    if (members.length === 1 && only !== undefined) {
      // No other message of the session is compared, so its neighbours do not matter.
      const { id, timestamp } = only;
      const isFirst = connection.get(beside("<", "DESC", 1), { session, timestamp, id }) === undefined;
      found.set(id, { before: [], after: [], isFirst });
      continue;
    }
    const keys = keysOfSession(session, members.length);
    const isWhole = keys.length < MOST_OF_SESSION;
    const idAt = (at: number) => {
      const key = keys[at];
      return key === undefined ? undefined : reader.messageIds([key])[0];
    };
    for (const { key, id, timestamp } of members) {
      const at = placeIn(keys, key);
      if (at >= 0 && (isWhole || at + 3 < keys.length)) {
        const before = [idAt(at + 1), idAt(at + 2), idAt(at + 3)];
        found.set(id, { before, after: [idAt(at - 1), idAt(at - 2)], isFirst: at === keys.length - 1 });
        continue;
      }
      const side = (sql: string) =>
        connection.all<{ id: number }>(sql, { session, timestamp, id }).map((row) => row.id);
      const before = side(beside("<", "DESC"));
      found.set(id, { before, after: side(beside(">", "ASC", 2)), isFirst: before.length === 0 });
    }
  }
  return found;
}

/** The position in a descending list; -1 when it is not there. */
export function placeIn(keys: readonly number[], key: number): number {
  let low = 0;
  let high = keys.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const found = keys[middle] ?? 0;
    if (found === key) return middle;
    if (found > key) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}

// ---- Filters ----
// In two forms: tokens and a range of keys for the index, and SQL on messages `m` and sessions `s`. The index narrows the walk;
// the SQL reads the authoritative tables in the same transaction and decides.

type SearchConditions = {
  /** The expression combined with all filters that tokens can express; undefined when no message can pass them. */
  readonly narrow: (expression: string, without?: readonly string[]) => string | undefined;
  /** Lowest and highest key that can pass, both inclusive. */
  readonly from: number;
  readonly to: number;
  readonly where: string;
  readonly values: Readonly<Record<string, string | number | null>>;
};

export function toConditions(
  filters: SearchFilters,
  reader: IndexReader,
  columns: ReadonlySet<string>,
  bounds: Bounds,
): SearchConditions {
  const required: string[] = [];
  const refused: string[] = [];
  let isPossible = true;
  const word = (kind: "source" | "role" | "user" | "person", text: string): string[] => {
    const number = reader.numberOfWord(text);
    return number === undefined ? [] : [filterToken(kind, number)];
  };
  const session = (id: string): string[] => {
    const number = reader.numberOfSession(id);
    return number === undefined ? [] : [filterToken("session", number)];
  };
  /** Requires one of these tokens. A list without any known word matches nothing. */
  const require = (tokens: readonly string[]) => {
    if (tokens.length === 0) isPossible = false;
    else required.push(anyOf(tokens));
  };

  const parts = [isVisible("s")];
  const values: Record<string, string | number | null> = { ...visibleTo(filters) };
  const addList = (name: string, sql: string, list: readonly (string | number)[]) => {
    parts.push(`${sql} (SELECT value FROM json_each(:${name}))`);
    values[name] = JSON.stringify(list);
  };

  const { user, platform } = values;
  if (isOwnerOfHome(values)) refused.push(...tokensOfUsers(reader));
  else if (typeof user === "string")
    require(typeof platform === "string" ? word("person", personWord(platform, user)) : word("user", user));
  if (!filters.includeInactive) {
    parts.push(`NOT ${isHidden("m", columns)}`);
    refused.push(quote(HIDDEN_TOKEN));
  }
  const { sourceFilter, sessionIds } = filters;
  const { excludeSources = [], roleFilter = [], excludeSessionIds = [], excludeMessageIds = [] } = filters;
  if (sourceFilter !== undefined) {
    addList("sources", "s.source IN", sourceFilter);
    require(sourceFilter.flatMap((text) => word("source", text)));
  }
  if (excludeSources.length > 0) {
    addList("hidden", "s.source NOT IN", excludeSources);
    refused.push(...excludeSources.flatMap((text) => word("source", text)).map(quote));
  }
  if (roleFilter.length > 0) {
    addList("roles", "m.role IN", roleFilter);
    // Nearly all other messages are tool messages. Excluding those costs half as much as requiring two roles that most messages
    // have.
    const areMost = roleFilter.includes("user") && roleFilter.includes("assistant");
    if (!areMost) require(roleFilter.flatMap((text) => word("role", text)));
    else if (!roleFilter.includes("tool")) refused.push(...word("role", "tool").map(quote));
  }
  if (sessionIds !== undefined) {
    addList("only", "m.session_id IN", sessionIds);
    if (sessionIds.length <= bounds.sessionTokens) require(sessionIds.flatMap(session));
  }
  if (excludeSessionIds.length > 0) {
    addList("except", "m.session_id NOT IN", excludeSessionIds);
    if (excludeSessionIds.length <= bounds.sessionTokens)
      refused.push(...excludeSessionIds.flatMap(session).map(quote));
  }
  if (excludeMessageIds.length > 0) addList("live", "m.id NOT IN", excludeMessageIds);
  if (filters.after !== undefined) {
    parts.push("m.timestamp >= :after");
    values.after = filters.after;
  }
  if (filters.before !== undefined) {
    parts.push("m.timestamp < :before");
    values.before = filters.before;
  }
  return {
    narrow: (expression, without = []) => {
      if (!isPossible) return undefined;
      const wanted = [`(${expression})`, ...required].join(" AND ");
      const unwanted = [...refused, ...without.flatMap(session).map(quote)];
      return unwanted.length === 0 ? wanted : `(${wanted}) NOT (${unwanted.join(" OR ")})`;
    },
    from: keyOf(dayOf(filters.after, 0), 0),
    to: keyOf(dayOf(filters.before, LAST_DAY), LAST_ID),
    where: parts.join(" AND "),
    values,
  };
}

/**
 * The tokens of all users: the documents of the owner of the home have none of them. From a few users on, one expression that
 * matches the beginning they share.
 */
function tokensOfUsers(reader: IndexReader): string[] {
  const tokens = reader.terms(USER_TOKENS, FEW_USERS + 1);
  return tokens.length > FEW_USERS ? [`${quote(USER_TOKENS)} *`] : tokens.map(quote);
}

const FEW_USERS = 16;

/** The day of a moment, as used in a key. A moment that is not a number is compared only by SQL. */
function dayOf(moment: number | undefined, otherwise: number): number {
  if (moment === undefined || Number.isNaN(moment)) return otherwise;
  return Math.trunc(Math.min(LAST_DAY, Math.max(0, moment / 86_400)));
}

function anyOf(tokens: readonly string[]): string {
  const [only] = tokens;
  return tokens.length === 1 && only !== undefined ? quote(only) : `(${tokens.map(quote).join(" OR ")})`;
}

function quote(token: string): string {
  return `"${token}"`;
}
