// The conditions of a search in two forms: tokens and a range of keys for the index, and SQL on messages `m` and sessions
// `s`. The index narrows the walk; the SQL, which reads the authoritative tables in the same transaction, decides.
import { filterToken, HIDDEN_TOKEN, personWord } from "../../search/document.ts";
import type { SearchFilters } from "../../search/types.ts";
import { isVisible, visibleTo } from "../connection.ts";
import type { IndexReader } from "../index/reader.ts";
import { isHidden, keyOf } from "../index/tables.ts";
import type { Bounds } from "./bounds.ts";

export type Sieve = {
  /** The expression with all filters that tokens can express; undefined when no message can pass them. */
  readonly narrow: (expression: string, without?: readonly string[]) => string | undefined;
  /** Lowest and highest key that can pass, both inclusive. */
  readonly from: number;
  readonly to: number;
  readonly where: string;
  readonly values: Readonly<Record<string, string | number | null>>;
};

export function toSieve(
  filters: SearchFilters,
  reader: IndexReader,
  columns: ReadonlySet<string>,
  bounds: Bounds,
): Sieve {
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
  /** One of these tokens has to be there; a list without any known word lets nothing pass. */
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
  if (typeof user === "string")
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
    // Nearly all other messages are of tools, and to leave those out costs half of asking for two roles that most have.
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

const LAST_DAY = 65_535;
export const LAST_ID = 2 ** 32 - 1;

/** The day of a moment, as it stands in a key. A moment that is no number is compared by SQL alone. */
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
