// From ranked messages to what is shown: pages, one per lineage if wanted, copies once, snippets, context.
import { takeCodePoints } from "../../../lib/index.ts";
import { contentText, decodeContent } from "../../../message/index.ts";
import { groupScore } from "../../search/ranking.ts";
import type { ConversationKind } from "../../search/ranking-reading.ts";
import type { SearchHit, SearchOptions } from "../../search/types.ts";
import { count } from "../connection.ts";
import type { StoreContext } from "../context.ts";
import { isHidden } from "../index/tables.ts";
import type { FoundRow, ReadRow, Search } from "./rows.ts";

export type Scored = {
  readonly row: ReadRow;
  readonly score: number;
  /** What it adds to the score of its lineage. */
  readonly group: number;
  /** Goes before all others, whatever their score. */
  readonly isFirst: boolean;
  readonly matched: readonly string[];
};

/** A snippet of a text, and whether anything in it is marked. */
export type Illustrate = (text: string) => { readonly snippet: string; readonly isMarked: boolean };

const CONTEXT_CHARS = 200;

const HIT = `
  SELECT m.id, m.session_id, m.role, m.timestamp, m.tool_name, m.content, s.source, s.model, s.started_at AS session_started
  FROM messages m JOIN sessions s ON s.id = m.session_id WHERE m.id = :id
`;

type StoredHit = Omit<SearchHit, "snippet" | "context" | "score" | "matched" | "lineage_root"> & {
  readonly content: string | Uint8Array | null;
};

/** A negative limit is none, as it is to the original. */
export function pageOf(options: SearchOptions): { readonly offset: number; readonly limit: number } {
  const { limit = 20 } = options;
  return { offset: count(options.offset, 0), limit: limit < 0 ? Number.MAX_SAFE_INTEGER : count(limit, 20) };
}

/** How many messages, or lineages, there have to be to fill the page. */
export function lastOfPage(options: SearchOptions): number {
  const { offset, limit } = pageOf(options);
  return limit === 0 ? 0 : Math.min(Number.MAX_SAFE_INTEGER, offset + limit);
}

/** A copied message is shown once, at its best place. */
export function withoutCopies<Row extends FoundRow>(rows: readonly Row[]): Row[] {
  const shown = new Set<number>();
  return rows.filter((row) => {
    const original = row.origin_id ?? row.id;
    if (shown.has(original)) return false;
    shown.add(original);
    return true;
  });
}

/** The first message of each lineage. */
export function firstOfLineages<Row extends FoundRow>(
  rows: readonly Row[],
  rootOf: (row: FoundRow) => string,
): Row[] {
  const shown = new Set<string>();
  return rows.filter((row) => {
    const root = rootOf(row);
    if (shown.has(root)) return false;
    shown.add(root);
    return true;
  });
}

/** The best message of each lineage with the score of the lineage, best first. They come best first. */
export function bestOfLineages(
  scored: readonly Scored[],
  rootOf: (row: FoundRow) => string,
  kind: ConversationKind,
): Scored[] {
  const lineages = [...Map.groupBy(scored, ({ row }) => rootOf(row)).values()];
  const best = lineages.flatMap((members) => {
    const [first] = members;
    const score = groupScore(
      members.map(({ group }) => group),
      kind,
    );
    return first === undefined ? [] : [{ ...first, score }];
  });
  return best.sort(
    (a, b) => Number(b.isFirst) - Number(a.isFirst) || b.score - a.score || a.row.id - b.row.id,
  );
}

export function toHits(
  { connection, warn }: StoreContext,
  { rootOf, columns }: Search,
  page: readonly Scored[],
  illustrate: Illustrate,
): SearchHit[] {
  const isShown = `NOT ${isHidden("m", columns)}`;
  const beside = (sign: "<" | ">", direction: "ASC" | "DESC") => `
    SELECT m.role, m.content FROM messages m WHERE m.session_id = :session AND ${isShown}
      AND (m.timestamp, m.id) ${sign} (:timestamp, :id) AND m.timestamp ${sign}= :timestamp
    ORDER BY m.timestamp ${direction}, m.id ${direction} LIMIT 1
  `;
  const neighbour = (sql: string, { id, session_id: session, timestamp }: StoredHit) =>
    connection
      .all<Pick<StoredHit, "role" | "content">>(sql, { session, timestamp, id })
      .map(({ role, content }) => ({ role, content: shortText(decodeContent(content)) }));
  return page.flatMap(({ row, score, matched }) => {
    const found = connection.get<StoredHit>(HIT, { id: row.id });
    if (found === undefined) return [];
    const { content, ...shown } = found;
    const own = { role: found.role, content: shortText(decodeContent(content, warn)) };
    return [
      {
        ...shown,
        snippet: snippetOf(row, illustrate),
        context: [...neighbour(beside("<", "DESC"), found), own, ...neighbour(beside(">", "ASC"), found)],
        score,
        matched,
        lineage_root: rootOf(row),
      },
    ];
  });
}

function shortText(content: unknown): string {
  return takeCodePoints(contentText(content), CONTEXT_CHARS);
}

/** Of what was said if the match is there, else of the tool call. The blanks are those of the original's indexed text. */
function snippetOf({ said, did, tool_name }: ReadRow, illustrate: Illustrate): string {
  const isCall = did !== (tool_name ?? "");
  const first = illustrate(`${said} ${isCall ? "" : (tool_name ?? "")} `);
  if (first.isMarked || did === "") return first.snippet;
  const second = illustrate(did);
  return second.isMarked || said === "" ? second.snippet : first.snippet;
}
