// Answers what a search asks (../../search/reads.ts), from the index and the tables of one file, inside one read transaction.
import { BOUNDS, type Bounds } from "../../search/candidates.ts";
import {
  COLUMNS,
  filterToken,
  HIDDEN_SOURCES,
  HIDDEN_TOKEN,
  personWord,
  type StoredText,
  USER_TOKENS,
} from "../../search/document.ts";
import { indexPhrase } from "../../search/query.ts";
import {
  type Expression,
  type FoundRow,
  idInKey,
  keyOf,
  LAST_DAY,
  LAST_ID,
  type SearchReads,
  type StoredHit,
  take,
} from "../../search/reads.ts";
import { search } from "../../search/search.ts";
import type { SearchAnswer, SearchFilters, SearchOptions } from "../../search/types.ts";
import type { SessionSearch } from "../../store.ts";
import { featuresOf, isHidden, isOwnerOfHome, isVisible, type Visible, visibleTo } from "../connection.ts";
import type { StoreContext } from "../context.ts";
import type { IndexReader } from "../index/reader.ts";
import { ancestorsOf } from "../lineage-sql.ts";

export function searchOperations(context: StoreContext, given: Partial<Bounds> = {}) {
  const bounds = { ...BOUNDS, ...given };
  const answer = async (query: string, options: SearchOptions = {}): Promise<SearchAnswer> => {
    // In the store of the whole home, a search may be about one person.
    const visible = visibleTo({ ...options, ...context.person.scope });
    return context.index.read((reader) =>
      take(search(query, options, bounds), readsOf(context, reader, { visible, bounds })),
    );
  };
  return {
    search: answer,
    async searchMessages(query, options) {
      const { hits } = await answer(query, options);
      return hits.map(({ score: _score, matched: _matched, lineage_root: _root, ...row }) => row);
    },
  } satisfies Partial<SessionSearch>;
}

/** Valid inside the transaction of the reader. */
function readsOf(
  { connection }: StoreContext,
  reader: IndexReader,
  { visible, bounds }: { readonly visible: Visible; readonly bounds: Bounds },
): SearchReads {
  const columns = featuresOf(connection).messages;
  const isShown = `NOT ${isHidden("x", columns)}`;
  const known = new Map<SearchFilters, SearchConditions>();
  const conditionsOf = (filters: SearchFilters) => {
    const found = known.get(filters) ?? toConditions(filters, { visible, reader, columns, bounds });
    known.set(filters, found);
    return found;
  };
  /** SQL: ids of the messages beside `m` in its session, nearest first. */
  const beside = (sign: "<" | ">", limit: string) => {
    const direction = sign === "<" ? "DESC" : "ASC";
    return `SELECT x.id FROM messages x WHERE x.session_id = m.session_id AND ${isShown}
      AND (x.timestamp, x.id) ${sign} (m.timestamp, m.id) AND x.timestamp ${sign}= m.timestamp
      ORDER BY x.timestamp ${direction}, x.id ${direction} LIMIT ${limit}`;
  };
  const reads: SearchReads = {
    counts() {
      const all = connection.get<{ id: number }>(HIGHEST_ID)?.id ?? 0;
      const own = visible.user === null ? all : connection.get<{ n: number }>(OWN_MESSAGES, visible)?.n;
      return { all, own: own ?? 0, notSearched: reader.notSearched };
    },
    terms: ({ prefix, limit }) => reader.terms(prefix, limit),
    occurring(words) {
      if (visible.user === null) return words.filter((word) => reader.terms(word, 1)[0] === word);
      const filters: SearchFilters = {};
      return words.filter((word) => {
        const expression: Expression = { op: "phrase", words: [word], isPrefix: false };
        return reads.keys({ expression, filters, order: "newest", limit: 1 }).length > 0;
      });
    },
    keys({ expression, filters, order, limit, without, from = 0, to = Number.MAX_SAFE_INTEGER }) {
      const conditions = conditionsOf(filters);
      const match = conditions.narrow(toMatch(expression), without);
      if (match === undefined) return [];
      const range = { from: Math.max(from, conditions.from), to: Math.min(to, conditions.to) };
      return reader.keys(match, { order, limit, ...range });
    },
    rows({ keys, filters }) {
      const { where, values } = conditionsOf(filters);
      const ids = keys.map(idInKey);
      const keyOfId = new Map(ids.map((id, at) => [id, keys[at] ?? 0]));
      const bound = { ...values, ids: JSON.stringify(ids) };
      return connection
        .all<Omit<FoundRow, "key">>(`${ROWS} WHERE ${where}`, bound)
        .map((row) => ({ ...row, key: keyOfId.get(row.id) ?? 0 }));
    },
    shortest: ({ keys, limit }) => reader.shortest(keys, limit),
    sessionKeys: (asked) => reader.keysOfSessions(asked),
    beside({ rows, before, after }) {
      const list = (sign: "<" | ">", limit: string) =>
        `(SELECT json_group_array(id) FROM (${beside(sign, limit)}))`;
      const sql = `SELECT ${list("<", ":before")} AS before, ${list(">", ":after")} AS after ${MESSAGES}`;
      const ids = JSON.stringify(rows.map(({ id }) => id));
      return connection
        .all<{ before: string; after: string }>(sql, { ids, before, after })
        .map((row) => ({ before: JSON.parse(row.before), after: JSON.parse(row.after) }));
    },
    roots: (sessions) => sessions.map((id) => ancestorsOf(connection, id, visible)[0] ?? id),
    texts: (ids) => connection.all<StoredText>(TEXTS, { ids: JSON.stringify(ids) }),
    hits(ids) {
      const sql = `
        SELECT m.id, m.session_id, m.role, m.timestamp, m.tool_name, m.content, s.source, s.model, s.started_at AS session_started,
          (${beside("<", "1")}) AS beforeId, (${beside(">", "1")}) AS afterId
        ${MESSAGES} JOIN sessions s ON s.id = m.session_id`;
      const found = connection.all<StoredHit & Around>(sql, { ids: JSON.stringify(ids) });
      const around = found
        .flatMap(({ beforeId, afterId }) => [beforeId, afterId])
        .filter((id) => id !== null);
      const texts = new Map(reads.texts(around).map((text) => [text.id, text]));
      return found.map(({ beforeId, afterId, ...hit }) => ({
        ...hit,
        before: texts.get(beforeId ?? 0),
        after: texts.get(afterId ?? 0),
      }));
    },
  };
  return reads;
}

type Around = { readonly beforeId: number | null; readonly afterId: number | null };

const HIGHEST_ID = "SELECT COALESCE(MAX(id), 0) AS id FROM messages";
const OWN_MESSAGES = `SELECT TOTAL(s.message_count) AS n FROM sessions s WHERE ${isVisible("s")}`;
// CROSS JOIN keeps the order of the ids.
const MESSAGES = "FROM json_each(:ids) i CROSS JOIN messages m ON m.id = i.value";
const ROWS = `
  SELECT m.id, m.session_id, m.timestamp, s.parent_session_id, o.origin_id,
    COALESCE(octet_length(m.content), 0) + COALESCE(octet_length(m.tool_calls), 0) AS size
  ${MESSAGES} JOIN sessions s ON s.id = m.session_id LEFT JOIN hermes_memory_origin o ON o.message_id = m.id`;
const TEXTS = `SELECT m.id, m.role, m.content, m.tool_name, m.tool_calls ${MESSAGES}`;

/** FTS5 syntax with every word quoted and every group in parentheses, so that nothing depends on operator precedence. */
export function toMatch(expression: Expression): string {
  switch (expression.op) {
    case "phrase": {
      const { terms, isPrefix } = indexPhrase(expression);
      return terms.map(quote).join(" + ") + (isPrefix ? " *" : "");
    }
    case "and":
    case "or":
      return expression.parts.map(toOperand).join(expression.op === "and" ? " AND " : " OR ");
    case "not":
      return `${toOperand(expression.left)} NOT ${toOperand(expression.right)}`;
    default:
      return expression satisfies never;
  }
}

function toOperand(expression: Expression): string {
  return expression.op === "phrase" ? toMatch(expression) : `(${toMatch(expression)})`;
}

function quote(word: string): string {
  return `"${word.replaceAll('"', '""')}"`;
}

// ---- Filters ----
// In two forms: columns, tokens and a range of keys for the index, and SQL on messages `m` and sessions `s`. The index narrows the
// walk; the SQL reads the authoritative tables in the same transaction and decides.

type SearchConditions = {
  /** The expression combined with all filters that the index knows; undefined when no message can pass them. */
  readonly narrow: (expression: string, without?: readonly string[]) => string | undefined;
  /** Lowest and highest key that can pass, both inclusive. */
  readonly from: number;
  readonly to: number;
  readonly where: string;
  readonly values: Readonly<Record<string, string | number | null>>;
};

function toConditions(
  filters: SearchFilters,
  {
    visible,
    reader,
    columns,
    bounds,
  }: {
    readonly visible: Visible;
    readonly reader: IndexReader;
    readonly columns: ReadonlySet<string>;
    readonly bounds: Bounds;
  },
): SearchConditions {
  const { sourceFilter, sessionIds, includeInactive = false } = filters;
  const { excludeSources = [], roleFilter = [], excludeSessionIds = [], excludeMessageIds = [] } = filters;
  const required: string[] = [];
  const refused: string[] = [];
  let isPossible = true;
  const token =
    (kind: "source" | "role" | "user" | "person") =>
    (text: string): string[] => {
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
    else required.push(`(${tokens.map(quote).join(" OR ")})`);
  };
  const refuse = (tokens: readonly string[]) => refused.push(...tokens.map(quote));

  const parts = [isVisible("s")];
  const values: Record<string, string | number | null> = { ...visible };
  const addList = (name: string, sql: string, list: readonly (string | number)[]) => {
    parts.push(`${sql} (SELECT value FROM json_each(:${name}))`);
    values[name] = JSON.stringify(list);
  };

  const isSource = (source: string) => sourceFilter?.includes(source) ?? !excludeSources.includes(source);
  const hasOther = includeInactive || HIDDEN_SOURCES.some(isSource);
  const inColumns = COLUMNS.filter((column) => {
    if (column === "other") return hasOther;
    if (roleFilter.length > 0 && !roleFilter.includes("tool") && column.endsWith("printed")) return false;
    return isSource("cron") || !column.startsWith("run");
  });

  const { user, platform } = visible;
  if (isOwnerOfHome(visible)) refused.push(...tokensOfUsers(reader));
  else if (typeof user === "string")
    require(typeof platform === "string" ? token("person")(personWord(platform, user)) : token("user")(user));
  if (!includeInactive) {
    parts.push(`NOT ${isHidden("m", columns)}`);
    if (hasOther) refuse([HIDDEN_TOKEN]);
  }
  if (sourceFilter !== undefined) {
    addList("sources", "s.source IN", sourceFilter);
    require(sourceFilter.flatMap(token("source")));
  }
  if (excludeSources.length > 0) {
    addList("hidden", "s.source NOT IN", excludeSources);
    const isInColumns = (source: string) =>
      !hasOther && (source === "cron" || HIDDEN_SOURCES.includes(source));
    refuse(excludeSources.filter((source) => !isInColumns(source)).flatMap(token("source")));
  }
  if (roleFilter.length > 0) {
    addList("roles", "m.role IN", roleFilter);
    // Nearly all other messages are tool messages. Leaving those out costs less than requiring two roles that most messages have.
    const areMost = roleFilter.includes("user") && roleFilter.includes("assistant");
    if (!areMost) require(roleFilter.flatMap(token("role")));
    else if (hasOther && !roleFilter.includes("tool")) refuse(token("role")("tool"));
  }
  if (sessionIds !== undefined) {
    addList("only", "m.session_id IN", sessionIds);
    if (sessionIds.length <= bounds.sessionTokens) require(sessionIds.flatMap(session));
  }
  if (excludeSessionIds.length > 0) {
    addList("except", "m.session_id NOT IN", excludeSessionIds);
    if (excludeSessionIds.length <= bounds.sessionTokens) refuse(excludeSessionIds.flatMap(session));
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
      const wanted = `{${inColumns.join(" ")}} : (${[`(${expression})`, ...required].join(" AND ")})`;
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
