// The conditions of a search, as SQL on messages `m` and sessions `s`. They hold inside every query that finds
// candidates, so that nothing is cut off in favour of rows that may not be shown.
import type { SearchFilters } from "../../search/types.ts";
import { visibleTo } from "../context.ts";
import { isVisible } from "../lineage-sql.ts";

export type Conditions = {
  readonly where: string;
  readonly values: Readonly<Record<string, string | number | null>>;
  /** Whether most rows may be forbidden ones. Roles are no such filter: each has its fair share of them. */
  readonly isNarrow: boolean;
  /** Whether a user or sessions are named, whose messages must be found however few they are. */
  readonly isOwned: boolean;
};

export function toConditions(filters: SearchFilters): Conditions {
  const parts = [isVisible("s")];
  const values: Record<string, string | number | null> = { ...visibleTo(filters) };
  const addList = (name: string, sql: string, list: readonly (string | number)[] | undefined) => {
    if (list === undefined) return;
    parts.push(sql.replace("?", `(SELECT value FROM json_each(:${name}))`));
    values[name] = JSON.stringify(list);
  };
  if (!filters.includeInactive) parts.push("m.active = 1");
  addList("sources", "s.source IN ?", filters.sourceFilter);
  addList("hidden", "s.source NOT IN ?", unlessEmpty(filters.excludeSources));
  addList("roles", "m.role IN ?", unlessEmpty(filters.roleFilter));
  addList("only", "m.session_id IN ?", filters.sessionIds);
  addList("except", "m.session_id NOT IN ?", unlessEmpty(filters.excludeSessionIds));
  addList("live", "m.id NOT IN ?", unlessEmpty(filters.excludeMessageIds));
  if (filters.after !== undefined) {
    parts.push("m.timestamp >= :after");
    values.after = filters.after;
  }
  if (filters.before !== undefined) {
    parts.push("m.timestamp < :before");
    values.before = filters.before;
  }
  const isOwned = values.user !== null || "only" in values;
  const isNarrow = isOwned || ["sources", "after", "before"].some((name) => name in values);
  return { where: parts.join(" AND "), values, isNarrow, isOwned };
}

function unlessEmpty<T>(list: readonly T[] | undefined): readonly T[] | undefined {
  return list === undefined || list.length === 0 ? undefined : list;
}
