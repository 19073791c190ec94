// The discover mode: the sessions that answer a query, each with the messages around its best match.
import { codePointLength, preview, withoutUndefined } from "../../lib/index.ts";
import { contentText } from "../../message/index.ts";
import { RESET_REASONS } from "../identity.ts";
import type { AnchoredView, MessageRow, SessionRow } from "../rows.ts";
import { HIDDEN_SOURCES } from "../search/document.ts";
import type { SearchAnswer, SearchFilters, SearchHit, SearchOptions } from "../search/types.ts";
import { MAX_TITLE_CHARS, startsWithSummary } from "../titles.ts";
import {
  cleanText,
  cutSnippet,
  cutterFor,
  foldedSearch,
  hasFilters,
  hiddenSources,
  isEarlierSearch,
  label,
  leftOutField,
  linkTo,
  matchPosition,
  notSearchedField,
  orderRemark,
  shownConfidence,
  toToolMessage,
  weakRemark,
  when,
} from "./answer-parts.ts";
import {
  type CurrentConversation,
  DEFAULT_RESULTS,
  type DiscoverRequest,
  type Lookup,
  type Reach,
  Refusal,
} from "./request.ts";

/** `fits`: whether the caller has room for this text. */
export async function discover(
  lookup: Lookup,
  request: DiscoverRequest,
  fits: (text: string) => boolean = () => true,
): Promise<object> {
  const bounds = await boundsOf(lookup, request.reach);
  const head = { success: true, mode: "discover", query: shownQuery(request), detail: request.detail };
  const titled = await openTitled(lookup, request);
  const answer = await find(lookup, request, bounds);
  if (answer.hits.length === 0 && titled === undefined)
    return { ...head, ...emptyAnswer(withReason(answer, request, bounds), request) };
  // Of more than three results only the first is full. On a database of today's Hermes always, as in its own answers.
  const most = Math.min(request.limit, answer.hits.length + (titled === undefined ? 0 : 1));
  const isFew = (request.reach === "lineage" || most <= DEFAULT_RESULTS) && !hasSchema17Rules(lookup);
  const isWhole = (at: number) => at === 0 || isFew || request.detail === "full";
  const { places, searched } = await openPlaces(lookup, request, answer.hits, { titled, isWhole });
  const told = titled === undefined ? answer : withCertainty(answer);
  const withFull = (full: number) => {
    const { results, isCut } = toResults(places, lookup, full);
    const { length: count } = results;
    const found = {
      ...head,
      ...remarksOf(told),
      results,
      count,
      sessions_searched: searched,
      stage: told.stage,
    };
    return { found, isCut };
  };
  if (request.detail === "full") return withFull(places.length).found;
  for (let full = isFew && places.length <= DEFAULT_RESULTS ? places.length : 1; full > 1; full -= 1) {
    const { found, isCut } = withFull(full);
    if (!isCut && fits(JSON.stringify(found))) return found;
  }
  return withFull(1).found;
}

/** How sure the answer is and what it does not cover. Placed before the results, so that a model reads it first. */
export function remarksOf(answer: SearchAnswer): object {
  return {
    confidence: shownConfidence(answer),
    message: weakRemark(answer),
    ...notSearchedField(answer),
    ...leftOutField(answer),
    order_note: orderRemark(answer),
  };
}

/** If only the current conversation was excluded, the matches are in that conversation. */
function withReason(answer: SearchAnswer, { roles, filters }: DiscoverRequest, bounds: Bounds): SearchAnswer {
  const isFiltered = roles !== undefined || hasFilters(filters) || bounds.sessionIds !== undefined;
  return answer.empty === "filtered" && !isFiltered ? { ...answer, empty: "excluded-sessions" } : answer;
}

/** A session whose title equals the query is a clear answer, whatever the messages score. */
function withCertainty(answer: SearchAnswer): SearchAnswer {
  const stage = answer.stage === "none" ? "exact" : answer.stage;
  return answer.confidence === undefined
    ? { ...answer, stage }
    : { ...answer, stage, confidence: { score: 1, isWeak: false } };
}

/** Search options that discover and summarize share. */
export function searchOptions(request: DiscoverRequest, bounds: Bounds): SearchOptions {
  const { sources, after, before } = request.filters;
  return {
    ...bounds,
    excludeSources: hiddenSources(sources),
    sourceFilter: sources,
    after,
    before,
    sort: request.sort,
    perLineage: true,
    limit: request.limit,
    // Runs of scheduled jobs repeat themselves every day.
    lastSources: sources === undefined && request.reach !== "lineage" ? ["cron"] : [],
  };
}

type Origin = {
  readonly session_id: string;
  readonly when: string;
  readonly source: string;
  readonly model: string;
  readonly title: string | null;
};

function isByTime(sort: string | undefined): boolean {
  return /^\s*(newest|oldest)\s*$/i.test(sort ?? "");
}

/** Where a hit comes from. Title and source are those of the root of its lineage. */
export function originOf(
  hit: Pick<SearchHit, "session_id" | "session_started" | "source" | "model">,
  root: SessionRow | null,
): Origin {
  return {
    session_id: hit.session_id,
    when: when(root?.started_at ?? hit.session_started),
    source: label(root?.source || hit.source || "unknown"),
    model: label(root?.model || hit.model || "unknown"),
    title: root?.title || null,
  };
}

/** Returned so that the model knows what was asked; a long pasted query is cut. */
export function shownQuery({ query }: DiscoverRequest): string {
  return preview(query, 1000);
}

const DIALOGUE = ["user", "assistant"];
/** Enough hits of one conversation to choose from when nearby places are shown only once. */
const HITS_OF_ONE_LINEAGE = 50;

async function find(lookup: Lookup, request: DiscoverRequest, bounds: Bounds): Promise<SearchAnswer> {
  const options = {
    ...searchOptions(request, bounds),
    // The current conversation is one lineage, and several places in it are wanted.
    ...(request.reach === "lineage" ? { perLineage: false, limit: HITS_OF_ONE_LINEAGE } : {}),
  };
  const { store } = lookup;
  const answer = await store.search(request.query, { ...options, roleFilter: request.roles ?? DIALOGUE });
  // Without filters nothing is found either.
  const isSettled = answer.hits.length > 0 || answer.empty === "no-match";
  if (isSettled || request.roles !== undefined) return answer;
  // No user or assistant said it elsewhere, but a tool may have printed it.
  const printed = await store.search(request.query, options);
  return printed.hits.length > 0 ? printed : answer;
}

type Found = Pick<SearchHit, "id" | "session_id" | "lineage_root" | "snippet" | "role" | "tool_name"> &
  Pick<SearchHit, "session_started" | "source" | "model">;
type Place = { readonly hit: Found; readonly view: AnchoredView; readonly root: SessionRow | null };

/** A hit that cannot be read is skipped. If none can be read, the database error is thrown. */
async function openPlaces(
  lookup: Lookup,
  { reach, limit }: DiscoverRequest,
  hits: readonly SearchHit[],
  { titled, isWhole }: { readonly titled: Place | undefined; readonly isWhole: (at: number) => boolean },
) {
  const places: Place[] = titled === undefined ? [] : [titled];
  const searched = new Set<string>(places.map(({ hit }) => hit.session_id));
  const shown = new Set<number>(); // ids of first originals, so that copies count as the same message
  const failures: unknown[] = [];
  for (const hit of hits) {
    if (places.length >= limit) break;
    if (reach !== "lineage" && hit.lineage_root === titled?.hit.lineage_root) continue;
    searched.add(hit.session_id);
    const place = await openPlace(lookup, hit, isWhole(places.length)).catch(
      (cause: unknown) => void failures.push(cause),
    );
    if (place === undefined) continue;
    const anchor = place.view.window.find((row) => row.id === hit.id);
    if (reach === "lineage" && shown.has(anchor?.origin_id ?? hit.id)) continue;
    for (const row of place.view.window) shown.add(row.origin_id ?? row.id);
    places.push(place);
  }
  if (places.length === 0 && failures.length > 0) throw failures[0];
  return { places, searched: searched.size };
}

const BOOKEND = 3;

/** Undefined when the message was deleted between the search and this read. A compact result shows no bookends. */
async function openPlace({ store }: Lookup, hit: Found, isWhole = true): Promise<Place | undefined> {
  // Twice as many as are shown, because compaction summaries among them are skipped.
  const bookend = isWhole ? 2 * BOOKEND : 0;
  const view = await store.getAnchoredView(hit.session_id, hit.id, { bookend });
  if (view.window.length === 0) return undefined;
  return { hit, view, root: await store.getSession(hit.lineage_root) };
}

/** True for a compaction summary, which shows neither how a conversation began nor how it ended. */
function isHandoff({ content }: MessageRow): boolean {
  return startsWithSummary(contentText(content));
}

/** The session whose title is the query, from its first message on. Not used with a role filter or an order of time. */
async function openTitled(lookup: Lookup, request: DiscoverRequest): Promise<Place | undefined> {
  const { store } = lookup;
  if (request.roles !== undefined || isByTime(request.sort)) return undefined;
  if (codePointLength(request.query) > MAX_TITLE_CHARS) return undefined;
  const id = await store.resolveSessionByTitle(request.query, { ignoreCase: true });
  const session = id === null ? null : await store.getSession(id);
  if (session === null || !isTitleInReach(lookup, request, session)) return undefined;
  const [first] = await store.listMessageKeys([session.id]);
  if (first === undefined) return undefined;
  const place = await openPlace(lookup, {
    id: first.id,
    session_id: session.id,
    lineage_root: await rootOf(lookup, session),
    snippet: `Session title matched: ${session.title ?? request.query}`,
    role: "session_title",
    tool_name: null,
    session_started: session.started_at,
    source: session.source,
    model: session.model,
  });
  const { after, before } = request.filters;
  const at = place?.view.window.find((row) => row.id === first.id)?.timestamp;
  if (at === undefined || (after !== undefined && at < after) || (before !== undefined && at >= before))
    return undefined;
  return place;
}

function isTitleInReach(lookup: Lookup, { reach, filters }: DiscoverRequest, session: SessionRow): boolean {
  const { current } = lookup;
  if (filters.sources !== undefined && !filters.sources.includes(session.source)) return false;
  if (hiddenSources(filters.sources).includes(session.source)) return false;
  const isOwn = current?.lineage.has(session.id) ?? false;
  if (reach === "lineage") return isOwn;
  return !isOwn || (hasSchema17Rules(lookup) && isClosed(session));
}

async function rootOf({ store }: Lookup, session: SessionRow): Promise<string> {
  const seen = new Set([session.id]);
  let root = session;
  while (root.parent_session_id !== null && !seen.has(root.parent_session_id)) {
    seen.add(root.parent_session_id);
    const parent = await store.getSession(root.parent_session_id);
    if (parent === null) break;
    root = parent;
  }
  return root.id;
}

/** In code points, including `…`. */
const BOOKEND_CHARS = 1200;
const WINDOW_CHARS = 4000;

/** The first `full` results in full. `isCut`: the limit for the whole answer made texts shorter. */
function toResults(places: readonly Place[], lookup: Lookup, full: number) {
  const drafts = places.map((place, index) => draftOf(place, index < full));
  const all = drafts.flatMap(({ bookendStart, messages, bookendEnd }) => [
    ...messages,
    ...bookendStart,
    ...bookendEnd,
  ]);
  const snippets = drafts.reduce((sum, { snippet }) => sum + snippet.length, 0);
  const { cut, isCut } = cutterFor(all, lookup.settings, snippets);
  const results = drafts.map(
    ({ hit, root, view, isFull, isFolded, snippet, bookendStart, messages, bookendEnd }) =>
      withoutUndefined({
        ...originOf(hit, root),
        matched_role: hit.role,
        match_message_id: hit.id,
        snippet,
        bookend_start: bookendStart.map((each) => cut(each)),
        messages: messages.map((each) =>
          cut(each, each.message.anchor ? matchPosition(snippet, each.message.content) : 0),
        ),
        bookend_end: bookendEnd.map((each) => cut(each)),
        messages_before: view.messages_before,
        messages_after: view.messages_after,
        detail: isFull ? "full" : "compact",
        folded: isFolded ? true : undefined,
        parent_session_id: hit.lineage_root === hit.session_id ? undefined : hit.lineage_root,
        link: linkTo(lookup, hit.session_id),
      }),
  );
  return { results, isCut };
}

/** In compact form, only the matching message: a scroll shows the messages around it. */
function draftOf({ hit, view, root }: Place, isFull: boolean) {
  const anchor = view.window.find((row) => row.id === hit.id);
  const isFolded = isEarlierSearch(hit);
  const snippet = isFolded
    ? foldedSearch(hit, contentText(anchor?.content))
    : cutSnippet(cleanText(hit.snippet));
  const messages = view.window
    .filter((row) => isFull || row.id === hit.id)
    .map((row) => toToolMessage(row, hit.id))
    .map((message) => (isFolded && message.anchor ? { ...message, content: snippet } : message))
    .map((message) => ({ message, mostChars: WINDOW_CHARS }));
  const bookend = (rows: readonly MessageRow[]) =>
    rows
      .filter((row) => isFull && !isHandoff(row))
      .map((row) => ({ message: toToolMessage(row), mostChars: BOOKEND_CHARS }));
  return {
    hit,
    root,
    view,
    isFull,
    isFolded,
    snippet,
    messages,
    bookendStart: bookend(view.bookend_start).slice(0, BOOKEND),
    bookendEnd: bookend(view.bookend_end).slice(-BOOKEND),
  };
}

// ---- No hits ----
// Says why, and what to try instead. A model that gets an empty list concludes that it never happened.

/** The fields of an answer without hits. The `message` of a plain miss is a fixed text that other programs match on. */
export function emptyAnswer(answer: SearchAnswer, request: DiscoverRequest): object {
  return { ...nothingFound(answer, request), ...notSearchedField(answer), ...leftOutField(answer) };
}

function nothingFound(answer: SearchAnswer, request: DiscoverRequest): object {
  const nothing = { results: [], count: 0, stage: answer.stage };
  switch (answer.empty) {
    case "excluded-sessions":
      return {
        ...nothing,
        sessions_searched: 0,
        message:
          "Matches are only in the current conversation, which is left out. Pass scope='lineage' to search its earlier turns.",
      };
    case "hidden-sources":
      return {
        ...nothing,
        message: `${NO_MATCH} Matches are only in hidden sources (${HIDDEN_SOURCES.join(", ")}).`,
        hint: `Pass source='${HIDDEN_SOURCES.join(",")}' to search those.`,
      };
    case "filtered":
      return {
        ...nothing,
        message: `${NO_MATCH} There are matches outside the filters given.`,
        hint: `Leave out or widen ${filtersOf(request).join(", ")}.`,
      };
    case "blank":
      return { ...nothing, message: NO_MATCH, hint: "The query holds no words. Name what to look for." };
    default:
      return { ...nothing, message: NO_MATCH, hint: hintFor(request) };
  }
}

const NO_MATCH = "No matching sessions found.";

function hintFor(request: DiscoverRequest): string {
  if (/["*]|\b(AND|OR|NOT)\b/.test(request.query))
    return "Quotes, operators and * are taken literally. Try the plain words, fewer of them, or OR between them.";
  return "Try other or fewer words, a prefix such as deploy*, or leave the query out to browse recent sessions.";
}

function filtersOf({ roles, filters, reach }: DiscoverRequest): string[] {
  const given = [
    roles === undefined ? undefined : "role_filter",
    filters.sources === undefined ? undefined : "source",
    filters.after === undefined ? undefined : "after",
    filters.before === undefined ? undefined : "before",
    reach === "lineage" ? "scope" : undefined,
  ].filter((name) => name !== undefined);
  return given.length === 0 ? ["the filters"] : given;
}

// ---- What the current conversation may find ----

type Bounds = Pick<SearchFilters, "sessionIds" | "excludeSessionIds" | "excludeMessageIds">;

export async function boundsOf(lookup: Lookup, reach: Reach): Promise<Bounds> {
  const { current } = lookup;
  if (current === undefined) {
    if (reach === "lineage") throw new Refusal(NO_CONVERSATION);
    return {};
  }
  if (reach === "others" && !hasSchema17Rules(lookup)) return { excludeSessionIds: [...current.lineage] };
  const live = [...(await liveRows(lookup, current))];
  if (reach === "others") {
    const open = await openRows(lookup, current);
    return { excludeMessageIds: [...new Set([...live, ...open])] };
  }
  return { sessionIds: reach === "lineage" ? [...current.lineage] : undefined, excludeMessageIds: live };
}

export const NO_CONVERSATION =
  "scope 'lineage' means the current conversation, and there is none here. Leave scope out, or use 'all'.";

/** With schema 16 the whole current lineage is left out; with schema 17 and later only sessions that are still open. */
export function hasSchema17Rules({ store }: Lookup): boolean {
  return store.rules === "today";
}

/** End reasons of sessions that a compaction or a reset closed. The model no longer has their messages in its context. */
const CLOSED_BY: ReadonlySet<string> = new Set(["compression", ...RESET_REASONS, "new_session"]);

export function isClosed({ end_reason }: SessionRow): boolean {
  return end_reason !== null && CLOSED_BY.has(end_reason);
}

/** Messages of the lineage's open sessions. Messages compacted in place are not active, so they are not included. */
async function openRows({ store }: Lookup, { lineage }: CurrentConversation): Promise<number[]> {
  const sessions = await Promise.all([...lineage].map((id) => store.getSession(id)));
  const open = sessions.flatMap((session) => (session === null || isClosed(session) ? [] : [session.id]));
  return (await store.listMessageKeys(open)).map(({ id }) => id);
}

/** The messages in the model's context, and every copy of them in the lineage: a compaction copies messages. */
async function liveRows(
  { store }: Lookup,
  { id, lineage, liveMessageIds }: CurrentConversation,
): Promise<ReadonlySet<number>> {
  if (liveMessageIds === undefined || liveMessageIds.size === 0) return new Set();
  const live = (await store.getMessages(id)).filter((row) => liveMessageIds.has(row.id));
  const originIds = live.flatMap(({ origin_id }) => origin_id ?? []);
  const originals = new Map((await store.getMessagesById(originIds)).map((row) => [row.id, row]));
  const keys = new Set(
    live
      .filter((row) => isWhole(row, originals.get(row.origin_id ?? row.id)))
      .map((row) => row.origin_id ?? row.id),
  );
  const rows = await store.listMessageKeys([...lineage]);
  return new Set([
    ...liveMessageIds,
    ...rows.flatMap((row) => (keys.has(row.origin_id ?? row.id) ? [row.id] : [])),
  ]);
}

/** False when a compaction shortened the copy, so that the original says more. */
function isWhole(copy: MessageRow, original: MessageRow | undefined): boolean {
  if (original === undefined || original.id === copy.id) return true;
  return (
    contentText(copy.content).includes(contentText(original.content)) &&
    JSON.stringify(copy.tool_calls) === JSON.stringify(original.tool_calls)
  );
}
