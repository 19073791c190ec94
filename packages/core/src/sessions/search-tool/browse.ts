// Browse: what was talked about lately.
import type { ListedSession } from "../rows.ts";
import type { BrowseRequest, SessionFilters } from "./port.ts";
import { hiddenSources, type Lookup, linkTo } from "./port.ts";
import { followsToday, NO_CONVERSATION } from "./reach.ts";
import { failure } from "./shapes.ts";

export async function browse(lookup: Lookup, request: BrowseRequest): Promise<object> {
  if (request.reach === "lineage" && lookup.current === undefined) return failure(NO_CONVERSATION);
  const rows = await recentSessions(lookup, request);
  const results = rows.map((row) => toResult(lookup, row));
  return { success: true, mode: "browse", results, count: rows.length, message: messageFor(rows, request) };
}

// Beyond this many sessions a filter that fits none of them is not worth more work.
const MAX_ROWS = 10_000;

/** Reads on in larger steps while filters and the current conversation leave too few. */
async function recentSessions(lookup: Lookup, request: BrowseRequest): Promise<ListedSession[]> {
  const { limit, filters } = request;
  const { sources, after } = filters;
  for (let size = limit + 15; ; size *= 4) {
    const rows = await lookup.store.listSessionsRich({
      ...lookup.scope,
      limit: size,
      orderByLastActive: true,
      excludeSources: hiddenSources(sources),
      ...(sources?.length === 1 && sources[0] !== undefined ? { source: sources[0] } : {}),
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
  // Today's Hermes lists what came before a reset, and branches: only the conversation that goes on is left out.
  const isOwn = row.id === current.id || (isOfLineage && row._lineage_root_id !== undefined);
  return followsToday(lookup) ? !isOwn : !isOfLineage;
}

/** A session fits a span of time when it was active at some moment in it. */
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
  const isFiltered = Object.keys(filters).length > 0 || reach === "lineage";
  return isFiltered
    ? "No sessions fit these filters. Leave out after, before, source or scope to see more."
    : "There are no other sessions yet.";
}
