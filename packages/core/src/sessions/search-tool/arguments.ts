// What a model wrote becomes one of four requests. Numbers are forgiven and clamped; a filter that cannot be understood
// is refused, because an answer without it would look like an answer with it.
import { err, isRecord, ok, preview, pyStrip, type Result } from "../../lib/index.ts";
import { parseMoment } from "../search/time.ts";
import type { Detail, GivenId, Reach, SearchCall, SearchRequest, SessionFilters } from "./port.ts";
import { shown } from "./shapes.ts";

export function parseCall(args: unknown, now: Date): Result<SearchCall, string> {
  const given = isRecord(args) ? args : {};
  const place = placeOf(given);
  if (!place.ok) return place;
  const { sessionId, profile } = place.value;
  const request = sessionId === undefined ? searchRequest(given, now) : sessionRequest(given, sessionId);
  return request.ok ? ok({ profile, request: request.value }) : request;
}

const LINK_PREFIX = "@session:";

type Given = Readonly<Record<string, unknown>>;
type Place = { readonly sessionId: GivenId | undefined; readonly profile: string | undefined };

function placeOf(given: Given): Result<Place, string> {
  if (!isAbsent(given.profile) && typeof given.profile !== "string")
    return err(`profile must be a string, but is ${shown(given.profile)}`);
  const profile = text(given.profile);
  const id = typeof given.session_id === "number" ? String(given.session_id) : given.session_id;
  if (id !== undefined && id !== null && typeof id !== "string")
    return err(`session_id must be a string, but is ${shown(id)}`);
  if (id === undefined || id === null || text(id) === undefined) return ok({ sessionId: undefined, profile });
  const start = pyStrip(id).startsWith(LINK_PREFIX) ? id.indexOf(LINK_PREFIX) + LINK_PREFIX.length : 0;
  const link = id.slice(start);
  const slash = link.indexOf("/");
  const sessionId = link.slice(slash + 1);
  if (slash < 0 || text(sessionId) === undefined) return ok({ sessionId: givenId(link), profile });
  return ok({ sessionId: givenId(sessionId), profile: profile ?? text(link.slice(0, slash)) });
}

function givenId(asGiven: string): GivenId {
  return { asGiven, bare: pyStrip(asGiven) };
}

function sessionRequest(given: Given, sessionId: GivenId): Result<SearchRequest, string> {
  if (given.around_message_id === undefined || given.around_message_id === null)
    return ok({ mode: "read", sessionId });
  const reach = parseReach(given.scope);
  if (!reach.ok) return reach;
  return ok({
    mode: "scroll",
    sessionId,
    anchor: wholeNumber(given.around_message_id),
    window: clamp(wholeNumber(given.window) ?? 5, 1, 20),
    reach: reach.value,
  });
}

function searchRequest(given: Given, now: Date): Result<SearchRequest, string> {
  const reach = parseReach(given.scope);
  if (!reach.ok) return reach;
  const filters = parseFilters(given, now);
  if (!filters.ok) return filters;
  const common = {
    limit: clamp(wholeNumber(given.limit) ?? 3, 1, 10),
    reach: reach.value,
    filters: filters.value,
  };
  const query = text(given.query);
  if (query === undefined) return ok({ mode: "browse", ...common });
  const detail = parseDetail(given.detail);
  if (!detail.ok) return detail;
  return ok({
    mode: "discover",
    query,
    ...common,
    detail: detail.value,
    sort: typeof given.sort === "string" ? given.sort : undefined,
    roles: names(given.role_filter),
    summarize: typeof given.summarize === "boolean" ? given.summarize : undefined,
  });
}

function parseFilters(given: Given, now: Date): Result<SessionFilters, string> {
  for (const name of ["source", "role_filter"])
    if (!isAbsent(given[name]) && typeof given[name] !== "string" && !Array.isArray(given[name]))
      return err(`${name} must be a name or several with commas between them, but is ${shown(given[name])}`);
  const sources = names(given.source);
  const bounds: { after?: number; before?: number } = {};
  for (const name of ["after", "before"] as const) {
    const value = given[name];
    if (value === undefined || value === null || value === "") continue;
    const moment =
      typeof value === "string" || typeof value === "number" ? parseMoment(value, now) : undefined;
    if (moment === undefined) {
      return err(
        `${name} is no time that can be understood: ${shown(value)}. Use a date (2026-01-31), a date with time, or an age such as 12h, 7d, 3mo.`,
      );
    }
    bounds[name] = moment;
  }
  return ok({ ...(sources === undefined ? {} : { sources }), ...bounds });
}

function parseReach(value: unknown): Result<Reach, string> {
  if (value === undefined || value === null || value === "") return ok("others");
  const word = typeof value === "string" ? pyStrip(value).toLowerCase() : undefined;
  if (word === "others" || word === "lineage" || word === "all") return ok(word);
  if (word === "current") return ok("lineage"); // today's Hermes calls it so
  return err(`scope must be others, lineage or all, but is ${shown(value)}`);
}

function parseDetail(value: unknown): Result<Detail, string> {
  if (value === undefined || value === null || value === "") return ok("adaptive");
  const word = typeof value === "string" ? pyStrip(value).toLowerCase() : undefined;
  if (word === "adaptive" || word === "full") return ok(word);
  return err(`detail must be adaptive or full, but is ${shown(value)}`);
}

/** A comma list, or a list; undefined when nothing is in it. */
function names(value: unknown): string[] | undefined {
  const parts = Array.isArray(value) ? value : typeof value === "string" ? value.split(",") : [];
  const found = parts.map(text).filter((part) => part !== undefined);
  return found.length === 0 ? undefined : found;
}

/** Trimmed; undefined when it is blank or no text. */
function text(value: unknown): string | undefined {
  const trimmed = typeof value === "string" ? pyStrip(value) : "";
  return trimmed === "" ? undefined : trimmed;
}

/** Python's `int()`: fractions are cut off, numerals count, anything else is nothing. */
function wholeNumber(value: unknown): number | undefined {
  if (typeof value === "boolean") return Number(value);
  const isNumeral = typeof value === "string" && /^[+-]?\d+$/.test(pyStrip(value));
  const number = typeof value === "number" ? Math.trunc(value) : isNumeral ? Number(value) : Number.NaN;
  return Number.isFinite(number) ? number : undefined;
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most);
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}
