// lcm_grep: finds words in messages and in summaries.
import { err, isAbsent, ok, pyStrip, type Result } from "../../../lib/index.ts";
import { HIDDEN_SOURCES, type MessageRow, type SearchHit, type SummaryHit } from "../../../sessions/index.ts";
import { isHandoff, withoutHandoff } from "../../compressor/handoff.ts";
import { toMessage } from "../leaves.ts";
import type { Forest } from "../lineage.ts";
import {
  type Args,
  type ConversationView,
  choiceOf,
  expandMessageHint,
  expandNodeHint,
  numberOf,
  relatedForest,
  shown,
  textOf,
} from "./conversation-view.ts";

const DEFAULT_LIMIT = 10;
const MOST_RESULTS = 200;

export async function grep(view: ConversationView, args: Args): Promise<Result<object, string>> {
  const request = await requestOf(view, args);
  if (!request.ok) return request;
  const { query, limit, sort, role, clampedFrom } = request.value;
  const forest = await relatedForest(view);
  const messages = await findMessages(view, request.value, forest);
  const summaries = role === undefined ? await findSummaries(view, request.value) : [];
  const results = inOrder(messages, summaries, sort)
    .slice(0, limit)
    .map(({ result }) => result);
  return ok({ query, count: results.length, results, limit_clamped_from: clampedFrom });
}

async function requestOf(view: ConversationView, args: Args): Promise<Result<GrepRequest, string>> {
  const query = textOf(args.query);
  if (query === undefined) return err("query is empty. Say what to look for.");
  const wanted = isAbsent(args.limit) ? DEFAULT_LIMIT : numberOf(args.limit);
  if (wanted === undefined) return err(`limit must be a whole number, but is ${shown(args.limit)}.`);
  const limit = Math.min(Math.max(1, wanted), MOST_RESULTS);
  const sort = choiceOf<Sort>(args, "sort", ["recency", "relevance", "hybrid"]);
  if (!sort.ok) return sort;
  const sessionIds = await sessionsToSearch(view, args);
  if (!sessionIds.ok) return sessionIds;
  const clampedFrom = limit === wanted ? undefined : wanted;
  const role = textOf(args.role)?.toLowerCase();
  return ok({ query, limit, clampedFrom, sort: sort.value, sessionIds: sessionIds.value, role });
}

async function sessionsToSearch(
  view: ConversationView,
  args: Args,
): Promise<Result<readonly string[] | undefined, string>> {
  const reach = choiceOf<"current" | "session" | "all">(args, "session_scope", ["current", "session", "all"]);
  if (!reach.ok) return reach;
  const given = textOf(args.session_id);
  if (given !== undefined && reach.value !== "session")
    return err("session_id belongs to session_scope 'session'. Leave it out, or set that scope.");
  if (reach.value === "current") return ok([...view.related]);
  if (!view.isUserKnown)
    return err(
      "This conversation is not stored yet, so nobody knows whose it is. Only scope 'current' works.",
    );
  if (reach.value === "all") return ok(undefined);
  const id = given ?? view.sessionId;
  if ((await view.store.getSession(id)) === null) return err(`There is no session '${id}'.`);
  return ok([id]);
}

/** For `hybrid`: with a small constant, being first in one of the two orders counts more than being in the middle of both. */
const RANK_CONSTANT = 10;

export function inOrder(messages: readonly Hit[], summaries: readonly Hit[], sort: Sort): readonly Hit[] {
  const byRank = [...messages, ...summaries].sort((a, b) => a.rank - b.rank);
  if (sort === "relevance") return byRank;
  const byTime = [...byRank].sort((a, b) => b.timestamp - a.timestamp);
  if (sort === "recency") return byTime;
  const newness = new Map(byTime.map((found, at) => [found, at]));
  const weight = (found: Hit, at: number): number =>
    1 / (RANK_CONSTANT + at) + 1 / (RANK_CONSTANT + (newness.get(found) ?? at));
  const weighed = byRank.map((found, at) => ({ found, weight: weight(found, at) }));
  return weighed.sort((a, b) => b.weight - a.weight).map(({ found }) => found);
}

// Hits: messages and summaries, each with its rank among its kind.

type Sort = "recency" | "relevance" | "hybrid";

type GrepRequest = {
  readonly query: string;
  readonly limit: number;
  /** The limit the model asked for, if it was changed. */
  readonly clampedFrom: number | undefined;
  readonly sort: Sort;
  /** Undefined: all sessions. */
  readonly sessionIds: readonly string[] | undefined;
  readonly role: string | undefined;
};

type Hit = {
  readonly result: object;
  readonly timestamp: number;
  /** The best is 1. */
  readonly rank: number;
};

/** A long conversation may have an overview with the same words in each of its sessions; each round skips those found so far. */
const MOST_ROUNDS = 8;

async function findMessages(
  view: ConversationView,
  request: GrepRequest,
  forest: Forest,
): Promise<readonly Hit[]> {
  const { store, related } = view;
  const { query, limit, sort, role, sessionIds } = request;
  const repeats: number[] = [];
  let found: readonly HitRow[] = [];
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const { hits } = await store.search(query, {
      ...(sessionIds === undefined ? { excludeSources: HIDDEN_SOURCES } : { sessionIds }),
      roleFilter: role === undefined ? undefined : [role],
      sort: sort === "recency" ? "newest" : undefined,
      excludeMessageIds: repeats,
      limit,
    });
    found = await withOriginals(view, hits, sessionIds);
    // An overview only repeats the summaries. In front of a message it also hides the message itself.
    const again = found.filter(({ repeatsOthers }) => repeatsOthers).map(({ hit }) => hit.id);
    if (again.length === 0) break;
    repeats.push(...again);
  }
  return found
    .filter(({ repeatsOthers }) => !repeatsOthers)
    .map(({ hit, row }, at) => ({
      result: messageResult(hit, row, related, forest),
      timestamp: row.timestamp,
      rank: at + 1,
    }));
}

type HitRow = { readonly hit: SearchHit; readonly row: MessageRow; readonly repeatsOthers: boolean };

/** With the row to show: the original of a copy, unless it is gone or in a session that was not asked for. */
async function withOriginals(
  { store }: ConversationView,
  hits: readonly SearchHit[],
  sessionIds: readonly string[] | undefined,
): Promise<readonly HitRow[]> {
  const ids = hits.map(({ id }) => id);
  const rows = await rowsByIds(store, ids);
  const origins = [...rows.values()].flatMap(({ origin_id }) => origin_id ?? []);
  const originals = await rowsByIds(store, origins);
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

async function findSummaries(
  { store, related }: ConversationView,
  { query, sessionIds, limit }: GrepRequest,
): Promise<readonly Hit[]> {
  const hits = await store.summaries.searchSummaryNodes(query, {
    sessionIds,
    limit,
  });
  // The date of a summary is that of its newest message.
  const last = await rowsByIds(
    store,
    hits.map(({ last_message_id }) => last_message_id),
  );
  return hits.map((hit, at) => {
    const timestamp = last.get(hit.last_message_id)?.timestamp ?? hit.created_at;
    // The model looks for messages. A summary only leads to them, so it ranks behind the first few.
    return { result: summaryResult(hit, timestamp, related), timestamp, rank: SUMMARY_RANK * (at + 1) };
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
  store: ConversationView["store"],
  ids: readonly number[],
): Promise<ReadonlyMap<number, MessageRow>> {
  const rows = ids.length === 0 ? [] : await store.getMessagesById([...new Set(ids)]);
  return new Map(rows.map((row) => [row.id, row]));
}
