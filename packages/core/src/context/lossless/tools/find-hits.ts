// The messages and summaries that lcm_grep shows, each with its place among those of its kind.
import { pyStrip } from "../../../lib/index.ts";
import { HIDDEN_SOURCES, type MessageRow, type SearchHit, type SummaryHit } from "../../../sessions/index.ts";
import { isHandoff, withoutHandoff } from "../../compressor/handoff.ts";
import type { Forest } from "../forest.ts";
import { toMessage } from "../sources.ts";
import { expandMessageHint, expandNodeHint, type View } from "./view.ts";

export type Sort = "recency" | "relevance" | "hybrid";

export type GrepRequest = {
  readonly query: string;
  readonly limit: number;
  /** The limit that was asked for, when it was another one. */
  readonly clampedFrom: number | undefined;
  readonly sort: Sort;
  /** Undefined: everywhere. */
  readonly sessionIds: readonly string[] | undefined;
  readonly role: string | undefined;
};

export type Found = {
  readonly shownAs: object;
  readonly timestamp: number;
  /** The best is 1. */
  readonly rank: number;
};

/** One for each session of a long conversation, all with the same words in them. */
const MOST_ROUNDS = 8;

export async function findMessages(
  view: View,
  request: GrepRequest,
  forest: Forest,
): Promise<readonly Found[]> {
  const { store, scope, related } = view;
  const { query, limit, sort, role, sessionIds } = request;
  const repeats: number[] = [];
  let found: readonly HitRow[] = [];
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const { hits } = await store.search(query, {
      ...scope,
      ...(sessionIds === undefined ? { excludeSources: HIDDEN_SOURCES } : { sessionIds }),
      ...(role === undefined ? {} : { roleFilter: [role] }),
      ...(sort === "recency" ? { sort: "newest" } : {}),
      excludeMessageIds: repeats,
      limit,
    });
    found = await withOriginals(view, hits, sessionIds);
    // Overviews only repeat what summaries say. In front of a message they also hide the message itself.
    const again = found.filter(({ repeatsOthers }) => repeatsOthers).map(({ hit }) => hit.id);
    if (again.length === 0) break;
    repeats.push(...again);
  }
  return found
    .filter(({ repeatsOthers }) => !repeatsOthers)
    .map(({ hit, row }, at) => ({
      shownAs: messageResult(hit, row, related, forest),
      timestamp: row.timestamp,
      rank: at + 1,
    }));
}

type HitRow = { readonly hit: SearchHit; readonly row: MessageRow; readonly repeatsOthers: boolean };

/** With the row that counts: the original of a copy, unless it is gone or in a session that was not asked for. */
async function withOriginals(
  { store, scope }: View,
  hits: readonly SearchHit[],
  sessionIds: readonly string[] | undefined,
): Promise<readonly HitRow[]> {
  const ids = hits.map(({ id }) => id);
  const rows = await rowsByIds(store, ids, scope);
  const origins = [...rows.values()].flatMap(({ origin_id }) => origin_id ?? []);
  const originals = await rowsByIds(store, origins, scope);
  return hits.flatMap((hit) => {
    const row = rows.get(hit.id);
    if (row === undefined) return [];
    const original = row.origin_id === undefined ? undefined : originals.get(row.origin_id);
    const isAsked = original && (sessionIds === undefined || sessionIds.includes(original.session_id));
    const message = toMessage(row);
    const repeatsOthers = isHandoff(message) && (withoutHandoff(message) === undefined || isAsked === true);
    return [{ hit, row: isAsked ? original : row, repeatsOthers }];
  });
}

function messageResult(
  hit: SearchHit,
  row: MessageRow,
  related: ReadonlySet<string>,
  forest: Forest,
): object {
  const coveredBy = forest.leafOf.get(row.origin_id ?? row.id)?.node_id ?? null;
  const elsewhere = `session_search(session_id="${row.session_id}", around_message_id=${row.id})`;
  return {
    type: "message",
    store_id: row.id,
    session_id: row.session_id,
    role: row.role,
    timestamp: row.timestamp,
    snippet: pyStrip(hit.snippet),
    covered_by: coveredBy,
    expand_hint: related.has(row.session_id) ? expandMessageHint(row.id) : elsewhere,
  };
}

export async function findSummaries(
  { store, scope, related }: View,
  { query, sessionIds, limit }: GrepRequest,
): Promise<readonly Found[]> {
  const hits = await store.searchSummaryNodes(query, {
    ...scope,
    ...(sessionIds === undefined ? {} : { sessionIds }),
    limit,
  });
  // A summary is as old as what it stands for, not as its making.
  const last = await rowsByIds(
    store,
    hits.map(({ last_message_id }) => last_message_id),
    scope,
  );
  return hits.map((hit, at) => {
    const timestamp = last.get(hit.last_message_id)?.timestamp ?? hit.created_at;
    // Messages are what is looked for; a summary leads to them, so it comes after the first few.
    return { shownAs: summaryResult(hit, timestamp, related), timestamp, rank: SUMMARY_RANK * (at + 1) };
  });
}

const SUMMARY_RANK = 3.5;

function summaryResult(hit: SummaryHit, timestamp: number, related: ReadonlySet<string>): object {
  const elsewhere = `session_search(session_id="${hit.session_id}")`;
  return {
    type: "summary",
    node_id: hit.node_id,
    session_id: hit.session_id,
    timestamp,
    depth: hit.depth,
    snippet: hit.snippet,
    expand_hint: related.has(hit.session_id) ? expandNodeHint(hit.node_id) : elsewhere,
  };
}

async function rowsByIds(
  store: View["store"],
  ids: readonly number[],
  scope: View["scope"],
): Promise<ReadonlyMap<number, MessageRow>> {
  const rows = ids.length === 0 ? [] : await store.getMessagesById([...new Set(ids)], scope);
  return new Map(rows.map((row) => [row.id, row]));
}
