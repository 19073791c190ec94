// From ranked messages to what is shown: pages, one per lineage if wanted, copies once, snippets, context.
import { takeCodePoints } from "../../../lib/index.ts";
import { contentText, decodeContent } from "../../content.ts";
import { readScope } from "../../scope.ts";
import { type ConversationKind, groupScore } from "../../search/ranking.ts";
import type { SearchHit, SearchOptions } from "../../search/types.ts";
import type { Connection } from "../connection.ts";
import { count, type StoreContext } from "../context.ts";
import { referenceText } from "../index-text.ts";
import { lineageRoots } from "./neighbours.ts";
import type { FoundRow } from "./rows.ts";

export type Scored = {
  readonly row: FoundRow;
  readonly score: number;
  /** What it adds to the score of its conversation. */
  readonly group: number;
  readonly kind: ConversationKind;
  /** Holds every word as it was asked for. */
  readonly isExact: boolean;
  readonly matched: readonly string[];
};

export type Illustrate = (text: string) => string;

const CONTEXT_CHARS = 200;

const HIT = `
  SELECT m.id, m.session_id, m.role, m.timestamp, m.tool_name, m.content, s.source, s.model, s.started_at AS session_started,
    ${referenceText("m")} AS whole
  FROM messages m JOIN sessions s ON s.id = m.session_id WHERE m.id = :id
`;
const BEFORE = `
  SELECT role, content FROM messages WHERE session_id = :session AND active = 1
    AND (timestamp, id) < (:timestamp, :id) AND timestamp <= :timestamp ORDER BY timestamp DESC, id DESC LIMIT 1
`;
const AFTER = `
  SELECT role, content FROM messages WHERE session_id = :session AND active = 1
    AND (timestamp, id) > (:timestamp, :id) AND timestamp >= :timestamp ORDER BY timestamp, id LIMIT 1
`;

type StoredHit = Omit<SearchHit, "snippet" | "context" | "score" | "matched" | "lineage_root"> & {
  readonly content: string | Uint8Array | null;
  readonly whole: string;
};

export function toHits(
  context: StoreContext,
  scored: readonly Scored[],
  options: SearchOptions,
  illustrate: Illustrate,
): SearchHit[] {
  const { connection } = context;
  const rootOf = lineageRoots(connection, readScope(options));
  const unique = withoutCopies(inOrder(scored, options.sort));
  const listed = options.perLineage ? bestOfLineages(unique, rootOf, options.sort) : unique;
  const { offset, limit } = pageOf(options);
  const page = listed.slice(offset, offset + limit);
  return page.flatMap((each) => toHit(context, each, rootOf(each.row), illustrate));
}

/** A negative limit is none, as it is to the original. */
export function pageOf(options: SearchOptions): { readonly offset: number; readonly limit: number } {
  const { limit = 20 } = options;
  return { offset: count(options.offset, 0), limit: limit < 0 ? Number.MAX_SAFE_INTEGER : count(limit, 20) };
}

function inOrder(scored: readonly Scored[], sort: string | undefined): Scored[] {
  const wish = typeof sort === "string" ? sort.trim().toLowerCase() : "";
  const byTime = (a: Scored, b: Scored) => a.row.timestamp - b.row.timestamp || a.row.id - b.row.id;
  if (wish === "oldest") return [...scored].sort(byTime);
  if (wish === "newest") return [...scored].sort((a, b) => byTime(b, a));
  return [...scored].sort((a, b) => b.score - a.score || a.row.id - b.row.id);
}

/** A copied message is shown once, at its best place. */
function withoutCopies(scored: readonly Scored[]): Scored[] {
  const shown = new Set<number>();
  return scored.filter(({ row }) => {
    const original = row.origin_id ?? row.id;
    if (shown.has(original)) return false;
    shown.add(original);
    return true;
  });
}

function bestOfLineages(
  scored: readonly Scored[],
  rootOf: (row: FoundRow) => string,
  sort: string | undefined,
): Scored[] {
  const lineages = [...Map.groupBy(scored, ({ row }) => rootOf(row)).values()];
  const best = lineages.flatMap((members) => {
    const [first] = members;
    if (first === undefined) return [];
    const groups = members.map(({ group }) => group);
    return [{ ...first, score: groupScore(groups, first.kind) }];
  });
  return inOrder(best, sort);
}

function toHit(
  { connection, warn }: StoreContext,
  { row, score, matched }: Scored,
  root: string,
  illustrate: Illustrate,
): SearchHit[] {
  const found = connection.get<StoredHit>(HIT, { id: row.id });
  if (found === undefined) return [];
  const { content, whole, ...shown } = found;
  const decoded = decodeContent(content, warn);
  const own = { role: found.role, content: takeCodePoints(contentText(decoded), CONTEXT_CHARS) };
  const snippet = typeof decoded === "string" || decoded === null ? illustrate(whole) : illustrate(row.text);
  return [
    {
      ...shown,
      snippet: snippet.includes(">>>") ? snippet : illustrate(row.text),
      context: [...neighbour(connection, BEFORE, found), own, ...neighbour(connection, AFTER, found)],
      score,
      matched,
      lineage_root: root,
    },
  ];
}

function neighbour(connection: Connection, sql: string, { id, session_id, timestamp }: StoredHit) {
  const row = connection.get<{ role: string; content: string | Uint8Array | null }>(sql, {
    session: session_id,
    timestamp,
    id,
  });
  if (row === undefined) return [];
  return [
    { role: row.role, content: takeCodePoints(contentText(decodeContent(row.content)), CONTEXT_CHARS) },
  ];
}
