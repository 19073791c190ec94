// lcm_grep: words in messages and in summaries of them.
import { err, ok, type Result } from "../../../lib/index.ts";
import { type Args, choiceOf, isAbsent, numberOf, shown, textOf } from "./arguments.ts";
import { type Found, findMessages, findSummaries, type GrepRequest, type Sort } from "./find-hits.ts";
import { relatedForest, type View } from "./view.ts";

const DEFAULT_LIMIT = 10;
const MOST_RESULTS = 200;

export async function grep(view: View, args: Args): Promise<Result<object, string>> {
  const request = await requestOf(view, args);
  if (!request.ok) return request;
  const { query, limit, sort, role, clampedFrom } = request.value;
  const forest = await relatedForest(view);
  const messages = await findMessages(view, request.value, forest);
  const summaries = role === undefined ? await findSummaries(view, request.value) : [];
  const results = inOrder(messages, summaries, sort)
    .slice(0, limit)
    .map(({ shownAs }) => shownAs);
  return ok({
    query,
    count: results.length,
    results,
    ...(clampedFrom === undefined ? {} : { limit_clamped_from: clampedFrom }),
  });
}

async function requestOf(view: View, args: Args): Promise<Result<GrepRequest, string>> {
  const query = textOf(args.query);
  if (query === undefined) return err("query is empty. Say what to look for.");
  const wanted = isAbsent(args.limit) ? DEFAULT_LIMIT : numberOf(args.limit);
  if (wanted === undefined) return err(`limit must be a whole number, but is ${shown(args.limit)}.`);
  const limit = Math.min(Math.max(1, wanted), MOST_RESULTS);
  const sort = choiceOf<Sort>(args, "sort", ["recency", "relevance", "hybrid"]);
  if (!sort.ok) return sort;
  const sessionIds = await placesOf(view, args);
  if (!sessionIds.ok) return sessionIds;
  const clampedFrom = limit === wanted ? undefined : wanted;
  const role = textOf(args.role)?.toLowerCase();
  return ok({ query, limit, clampedFrom, sort: sort.value, sessionIds: sessionIds.value, role });
}

async function placesOf(view: View, args: Args): Promise<Result<readonly string[] | undefined, string>> {
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
  if ((await view.store.getSession(id, view.scope)) === null) return err(`There is no session '${id}'.`);
  return ok([id]);
}

/** Of two orders that both count, being first in one weighs more than being in the middle of both. */
const RANK_CONSTANT = 10;

function inOrder(messages: readonly Found[], summaries: readonly Found[], sort: Sort): readonly Found[] {
  const byRank = [...messages, ...summaries].sort((a, b) => a.rank - b.rank);
  if (sort === "relevance") return byRank;
  const byTime = [...byRank].sort((a, b) => b.timestamp - a.timestamp);
  if (sort === "recency") return byTime;
  const newness = new Map(byTime.map((found, at) => [found, at]));
  const weight = (found: Found, at: number): number =>
    1 / (RANK_CONSTANT + at) + 1 / (RANK_CONSTANT + (newness.get(found) ?? at));
  const weighed = byRank.map((found, at) => ({ found, weight: weight(found, at) }));
  return weighed.sort((a, b) => b.weight - a.weight).map(({ found }) => found);
}
