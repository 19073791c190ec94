// Discover: the sessions in which a query is answered, each with the place of its best message.
import { preview } from "../../lib/index.ts";
import type { AnchoredView, SessionRow } from "../rows.ts";
import type { SearchAnswer, SearchHit, SearchOptions } from "../search/types.ts";
import type { DiscoverRequest } from "./arguments.ts";
import { emptyAnswer } from "./empty-answer.ts";
import { cutterFor } from "./payload.ts";
import { hiddenSources, type Lookup } from "./port.ts";
import { type Bounds, boundsOf } from "./reach.ts";
import { failure, label, toToolMessage, when } from "./shapes.ts";

export async function discover(lookup: Lookup, request: DiscoverRequest): Promise<object> {
  const bounds = await boundsOf(lookup, request.reach);
  if (!bounds.ok) return failure(bounds.error);
  const head = { success: true, mode: "discover", query: shownQuery(request) };
  const answer = await find(lookup, request, bounds.value);
  if (answer.hits.length === 0) return { ...head, ...emptyAnswer(answer, request) };
  const { places, searched } = await openPlaces(lookup, request, answer.hits);
  const results = toResults(places, lookup);
  return { ...head, results, count: results.length, sessions_searched: searched, stage: answer.stage };
}

/** What a search of this request has in common, whoever looks at the hits. */
export function searchOptions(lookup: Lookup, request: DiscoverRequest, bounds: Bounds): SearchOptions {
  const { sources, after, before } = request.filters;
  return {
    ...lookup.scope,
    ...bounds,
    excludeSources: hiddenSources(sources),
    ...(sources === undefined ? {} : { sourceFilter: sources }),
    ...(after === undefined ? {} : { after }),
    ...(before === undefined ? {} : { before }),
    sort: request.sort,
    perLineage: true,
    limit: request.limit,
  };
}

export type Origin = {
  readonly session_id: string;
  readonly when: string;
  readonly source: string;
  readonly model: string;
  readonly title: string | null;
};

/** The fields that say where a hit is from. The root speaks for its lineage: that is where a title and a source belong. */
export function originOf(hit: SearchHit, root: SessionRow | null): Origin {
  return {
    session_id: hit.session_id,
    when: when(root?.started_at ?? hit.session_started),
    source: label(root?.source || hit.source || "unknown"),
    model: label(root?.model || hit.model || "unknown"),
    title: root?.title || null,
  };
}

/** Repeated to the model so that it knows what was asked; a page pasted as a query need not come back whole. */
export function shownQuery({ query }: DiscoverRequest): string {
  return preview(query, 1000);
}

const DIALOGUE = ["user", "assistant"];
/** Of one conversation: enough to choose from when places close to each other are shown once. */
const HITS_OF_ONE_LINEAGE = 50;

async function find(lookup: Lookup, request: DiscoverRequest, bounds: Bounds): Promise<SearchAnswer> {
  const { store } = lookup;
  const options = {
    ...searchOptions(lookup, request, bounds),
    // Within the current conversation there is one lineage only, and its places are what is looked for.
    ...(request.reach === "lineage" ? { perLineage: false, limit: HITS_OF_ONE_LINEAGE } : {}),
  };
  const answer = await store.search(request.query, { ...options, roleFilter: request.roles ?? DIALOGUE });
  if (answer.hits.length > 0 || request.roles !== undefined) return answer;
  // Said by nobody elsewhere, but perhaps printed by a tool: the question itself is in the current conversation.
  const printed = await store.search(request.query, options);
  return printed.hits.length > 0 ? printed : answer;
}

type Place = { readonly hit: SearchHit; readonly view: AnchoredView; readonly root: SessionRow | null };

/** A hit that cannot be opened is passed over; when none can, it is the database that fails. */
async function openPlaces(lookup: Lookup, { reach, limit }: DiscoverRequest, hits: readonly SearchHit[]) {
  const places: Place[] = [];
  const searched = new Set<string>();
  const shown = new Set<number>(); // by first original, so that copies count as the same message
  const failures: unknown[] = [];
  for (const hit of hits) {
    if (places.length >= limit) break;
    searched.add(hit.session_id);
    const place = await openPlace(lookup, hit).catch((cause: unknown) => void failures.push(cause));
    if (place === undefined) continue;
    const anchor = place.view.window.find((row) => row.id === hit.id);
    if (reach === "lineage" && shown.has(anchor?.origin_id ?? hit.id)) continue;
    for (const row of place.view.window) shown.add(row.origin_id ?? row.id);
    places.push(place);
  }
  if (places.length === 0 && failures.length > 0) throw failures[0];
  return { places, searched: searched.size };
}

/** Undefined when the message went away between finding and reading it. */
async function openPlace({ store, scope }: Lookup, hit: SearchHit): Promise<Place | undefined> {
  const view = await store.getAnchoredView(hit.session_id, hit.id, scope);
  if (view.window.length === 0) return undefined;
  return { hit, view, root: await store.getSession(hit.lineage_root, scope) };
}

function toResults(places: readonly Place[], { settings }: Lookup): object[] {
  const drafts = places.map(({ hit, view, root }) => ({
    hit,
    root,
    view,
    bookendStart: view.bookend_start.map((row) => toToolMessage(row)),
    messages: view.window.map((row) => toToolMessage(row, hit.id)),
    bookendEnd: view.bookend_end.map((row) => toToolMessage(row)),
  }));
  const all = drafts.flatMap((draft) => [...draft.bookendStart, ...draft.messages, ...draft.bookendEnd]);
  const snippets = places.reduce((sum, { hit }) => sum + shortSnippet(hit.snippet).length, 0);
  const cut = cutterFor(all, settings, snippets);
  return drafts.map(({ hit, root, view, bookendStart, messages, bookendEnd }) => ({
    ...originOf(hit, root),
    matched_role: hit.role,
    match_message_id: hit.id,
    snippet: shortSnippet(hit.snippet),
    bookend_start: bookendStart.map((message) => cut(message)),
    messages: messages.map((message) =>
      cut(message, message.anchor ? matchPosition(hit.snippet, message.content) : 0),
    ),
    bookend_end: bookendEnd.map((message) => cut(message)),
    messages_before: view.messages_before,
    messages_after: view.messages_after,
    ...(hit.lineage_root === hit.session_id ? {} : { parent_session_id: hit.lineage_root }),
  }));
}

// Forty words are a few hundred characters, but a "word" may be a whole file in base64.
const MAX_SNIPPET_CHARS = 1000;

export function shortSnippet(snippet: string, most = MAX_SNIPPET_CHARS): string {
  if (snippet.length <= most) return snippet;
  const start = Math.max(0, snippet.indexOf(">>>") - Math.floor(most / 4));
  const part = snippet.slice(start, start + most).toWellFormed();
  const isEnd = start + most >= snippet.length;
  return `${start > 0 ? "..." : ""}${part}${isEnd ? "" : "..."}`;
}

/** Where in a message the snippet's first match is, so that a cut message still shows it. */
export function matchPosition(snippet: string, content: unknown): number {
  if (typeof content !== "string") return 0;
  const cut = snippet.startsWith("...") ? 3 : 0;
  const [before = "", rest = ""] = snippet.slice(cut).split(">>>", 2);
  const around = (before + rest.replace("<<<", "")).trimEnd();
  const at = content.indexOf(around);
  return Math.max(0, at >= 0 ? at + before.length : content.indexOf(rest.split("<<<", 1)[0] ?? ""));
}
