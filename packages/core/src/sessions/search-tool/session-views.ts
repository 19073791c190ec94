// The modes of session_search that list or show stored sessions: browse, read and scroll.
import type { ListedSession, MessageWindow, SessionRow } from "../rows.ts";
import {
  cutTogether,
  hasFilters,
  hiddenSources,
  linkTo,
  sessionMeta,
  toToolMessage,
} from "./answer-parts.ts";
import { hasSchema17Rules, isClosed, NO_CONVERSATION } from "./discover.ts";
import {
  type BrowseRequest,
  type Lookup,
  notFound,
  type ReadRequest,
  Refusal,
  type ScrollRequest,
  type SessionFilters,
  shown,
} from "./request.ts";

// ---- Browse: recent sessions ----

export async function browse(lookup: Lookup, request: BrowseRequest): Promise<object> {
  if (request.reach === "lineage" && lookup.current === undefined) throw new Refusal(NO_CONVERSATION);
  const rows = await recentSessions(lookup, request);
  const results = rows.map((row) => toResult(lookup, row));
  return { success: true, mode: "browse", results, count: rows.length, message: messageFor(rows, request) };
}

// Give up after this many sessions if the filters match too few.
const MAX_ROWS = 10_000;

/** Reads in growing steps until enough sessions pass the filters. */
async function recentSessions(lookup: Lookup, request: BrowseRequest): Promise<ListedSession[]> {
  const { limit, filters } = request;
  const { sources, after } = filters;
  for (let size = limit + 15; ; size *= 4) {
    const rows = await lookup.store.listSessionsRich({
      limit: size,
      orderByLastActive: true,
      excludeSources: hiddenSources(sources),
      source: sources?.length === 1 ? sources[0] : undefined,
    });
    const found = rows.filter((row) => isInReach(row, lookup, request) && passes(row, filters));
    const last = rows.at(-1);
    const isPast = after !== undefined && last !== undefined && last.last_active < after;
    if (found.length >= limit || rows.length < size || isPast || size >= MAX_ROWS)
      return found.slice(0, limit);
  }
}

function isInReach(row: ListedSession, lookup: Lookup, { reach }: BrowseRequest): boolean {
  const { current } = lookup;
  if (current === undefined || reach === "all") return true;
  const isOfLineage = current.lineage.has(row.id) || current.lineage.has(row._lineage_root_id ?? row.id);
  if (reach === "lineage") return isOfLineage;
  // With schema 17 and later, sessions before a reset and branches are listed: only the running conversation is left out.
  const isOwn = row.id === current.id || (isOfLineage && row._lineage_root_id !== undefined);
  return hasSchema17Rules(lookup) ? !isOwn : !isOfLineage;
}

/** A session matches a time span if it was active at some moment in it. */
function passes(row: ListedSession, { sources, after, before }: SessionFilters): boolean {
  if (sources !== undefined && !sources.includes(row.source)) return false;
  if (after !== undefined && row.last_active < after) return false;
  return before === undefined || row.started_at < before;
}

function toResult(lookup: Lookup, row: ListedSession): object {
  const { id, source, started_at, last_active, message_count, preview } = row;
  const title = row.title === "" ? null : row.title;
  const link = linkTo(lookup, id);
  return { session_id: id, link, title, source, started_at, last_active, message_count, preview };
}

function messageFor(rows: readonly ListedSession[], { filters, reach }: BrowseRequest): string {
  if (rows.length > 0)
    return `Showing ${rows.length} most recent sessions. Pass query= to search them all, or session_id= to read one.`;
  const isFiltered = hasFilters(filters) || reach === "lineage";
  return isFiltered
    ? "No sessions fit these filters. Leave out after, before, source or scope to see more."
    : "There are no other sessions yet.";
}

// ---- Read: a session from its beginning, without the middle if it is long ----

/** Undefined when this database has no such session. */
export async function read(lookup: Lookup, { sessionId }: ReadRequest): Promise<object | undefined> {
  const session = await lookup.store.getSession(sessionId);
  if (session === null) return undefined;
  const rows = await lookup.store.getMessages(session.id);
  const isLong = rows.length > HEAD + TAIL;
  const shownRows = isLong ? [...rows.slice(0, HEAD), ...rows.slice(-TAIL)] : rows;
  return {
    success: true,
    mode: "read",
    session_id: session.id,
    link: linkTo(lookup, session.id),
    session_meta: sessionMeta(session),
    message_count: rows.length,
    truncated: isLong,
    messages: cutTogether(
      shownRows.map((row) => toToolMessage(row)),
      lookup.settings,
    ),
    message: isLong
      ? `The session has ${rows.length} messages; these are the first ${HEAD} and the last ${TAIL}. ` +
        "To see the middle, pass the same session_id with around_message_id set to any id above."
      : undefined,
  };
}

const HEAD = 20;
const TAIL = 10;

// ---- Scroll: the messages around one message ----

/** Other programs rely on the order of these checks. */
export async function scroll(lookup: Lookup, request: ScrollRequest): Promise<object> {
  const { anchor, sessionId } = request;
  if (anchor === undefined) throw new Refusal("scroll requires integer around_message_id");
  const session = await lookup.store.getSession(sessionId);
  await refuseOwn(lookup, request, anchor, session);
  if (session === null) return notFound(sessionId);
  const found = await locate(lookup, session, anchor, request.window);
  if (found === undefined)
    throw new Refusal(`around_message_id ${anchor} not in session_id ${shown(session.id)}`);
  return toAnswer(lookup, request, anchor, found);
}

async function refuseOwn(
  lookup: Lookup,
  { reach, sessionId }: ScrollRequest,
  anchor: number,
  session: SessionRow | null,
): Promise<void> {
  const { current } = lookup;
  if (!current?.lineage.has(session?.id ?? sessionId)) return;
  const isLive = current.liveMessageIds?.has(anchor);
  if (reach !== "others" && !isLive) return;
  if (!isLive && session !== null && (await hasLeftContext(lookup, session, anchor))) return;
  const rejected = "scroll rejected: anchor lives in the current session lineage";
  if (isLive === false)
    throw new Refusal(`${rejected}, but no longer in your context. Pass scope='lineage' to read it.`);
  throw new Refusal(`${rejected} (already in your active context)`);
}

/** With schema 17 and later: true in a session that was closed, or for a message compacted in place. */
async function hasLeftContext(lookup: Lookup, session: SessionRow, anchor: number): Promise<boolean> {
  if (!hasSchema17Rules(lookup)) return false;
  if (isClosed(session)) return true;
  const active = await lookup.store.listMessageKeys([session.id]);
  return !active.some(({ id }) => id === anchor);
}

type Found = { readonly session: SessionRow; readonly window: MessageWindow };

/**
 * Looks in the named session, then in the others of its lineage: a model may pass the id of the root for any message of the
 * conversation.
 */
async function locate(
  { store }: Lookup,
  session: SessionRow,
  anchor: number,
  size: number,
): Promise<Found | undefined> {
  const options = { window: size };
  const window = await store.getMessagesAround(session.id, anchor, options);
  if (window.window.length > 0) return isShown(window, anchor) ? { session, window } : undefined;
  for (const id of await store.listLineage(session.id)) {
    if (id === session.id) continue;
    const elsewhere = await store.getMessagesAround(id, anchor, options);
    const owner = isShown(elsewhere, anchor) ? await store.getSession(id) : null;
    if (owner !== null) return { session: owner, window: elsewhere };
  }
  return undefined;
}

/** Messages that the user took back are not shown, even if the model still knows the id; those replaced by a summary are. */
function isShown({ window }: MessageWindow, anchor: number): boolean {
  return window.some((row) => row.id === anchor && (row.active !== 0 || row.compacted === 1));
}

function toAnswer(lookup: Lookup, request: ScrollRequest, anchor: number, found: Found): object {
  const { session, window } = found;
  const { sessionId } = request;
  return {
    success: true,
    mode: "scroll",
    session_id: session.id,
    around_message_id: anchor,
    session_meta: sessionMeta(session),
    window: request.window,
    messages: cutTogether(
      window.window.map((row) => toToolMessage(row, anchor)),
      lookup.settings,
    ),
    messages_before: window.messages_before,
    messages_after: window.messages_after,
    warning:
      session.id === sessionId
        ? undefined
        : `around_message_id ${anchor} lives in ${session.id} (child of ${sessionId}); rebound transparently`,
  };
}
