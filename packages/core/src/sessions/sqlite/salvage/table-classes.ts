// Classes of tables for a repair: whether its rows exist nowhere else, and what happens when its pages are damaged. Pure;
// decided by name and declaration.
import type { ObjectClass } from "../../errors.ts";
import { OWN_TABLES } from "../schema.ts";

export type SchemaRow = {
  readonly type: string;
  readonly name: string;
  readonly table: string;
  readonly root: number;
  readonly sql: string | null;
};

const PASSING: ReadonlySet<string> = new Set([
  "schema_version",
  "compression_locks",
  "session_turn_leases",
  "hermes_memory_leases",
  "gateway_heartbeats",
  "gateway_hygiene_state",
  "sqlite_sequence",
]);

/** `origin` belongs to copies of messages; `found` was made by the salvage of earlier versions. */
export const OWN_KEPT_TABLES: readonly string[] = [
  "hermes_memory_origin",
  "hermes_memory_found",
  ...OWN_TABLES.map(({ name }) => name).filter((name) => name.startsWith("hermes_memory_")),
];
const STATISTICS = /^sqlite_stat\d$/;
/** FTS5's tables behind a virtual table. */
const SHADOW = "(?:_(?:data|idx|content|docsize|config))?";
const UPSTREAM_INDEX = new RegExp(`^messages_fts(?:_trigram|_cjk)?${SHADOW}$`);
const UPSTREAM_TRASH = /^fts_v22_trash_/;

/** For tables. Indexes, views and triggers contain no rows and are derived. */
export function classOfTable(name: string): ObjectClass {
  const folded = name.toLowerCase();
  if (isSearchTable(folded) || STATISTICS.test(folded)) return "derived";
  return PASSING.has(folded) ? "passing" : "canonical";
}

/** A table of a search index, ours or Hermes Agent's. A table whose name only starts like one belongs to another program. */
export function isSearchTable(name: string): boolean {
  return isUpstreamIndex(name) || isOwnIndex(name);
}

function isUpstreamIndex(name: string): boolean {
  return UPSTREAM_INDEX.test(name) || UPSTREAM_TRASH.test(name);
}

/** Every `hermes_memory_*` table except the few whose rows exist nowhere else. */
export function isOwnIndex(name: string): boolean {
  return name.startsWith("hermes_memory_") && !OWN_KEPT_TABLES.includes(name) && !PASSING.has(name);
}

/** The name of the virtual table that an index table belongs to. */
export function indexFamily(name: string): string {
  return name.replace(/_(?:data|idx|content|docsize|config)$/, "");
}

export function isVirtual({ sql }: Pick<SchemaRow, "sql">): boolean {
  return /^\s*CREATE\s+VIRTUAL\s+TABLE/i.test(sql ?? "");
}
