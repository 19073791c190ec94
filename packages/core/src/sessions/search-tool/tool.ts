// The `session_search` tool: untyped arguments in, JSON out. Parses the call, opens the database of the profile, runs the mode
// and fits the answer. Never throws, and reads only the home it was given.
import { existsSync, realpathSync } from "node:fs";
import { basename, resolve } from "node:path";
import {
  DEFAULT_PROFILE,
  parseProfileName,
  profileHome,
  rootOf,
  sessionDatabasePath,
  systemHomeContext,
} from "../../home.ts";
import {
  type Clock,
  err,
  isAbsent,
  isDirectory,
  isRecord,
  ok,
  pyStrip,
  type Result,
  systemClock,
  type TextModel,
  withoutUndefined,
} from "../../lib/index.ts";
import { listProfiles } from "../../profiles.ts";
import { sessionDatabaseUnavailable } from "../errors.ts";
import { readScope, type Scope } from "../identity.ts";
import { openSessionStore } from "../open.ts";
import { parseMoment } from "../search/time.ts";
import type { SessionStore } from "../store.ts";
import { summarize } from "../summarize/summarize.ts";
import { explain, failure, notFound, shown } from "./answer-parts.ts";
import { discover } from "./discover.ts";
import { type Fits, fitAnswer } from "./fit-answer.ts";
import type {
  CurrentConversation,
  Detail,
  DiscoverRequest,
  GivenId,
  Lookup,
  Reach,
  ReadRequest,
  SearchableStore,
  SearchCall,
  SearchRequest,
  SessionFilters,
} from "./request.ts";
import { browse, read, scroll } from "./session-views.ts";
import {
  DEFAULT_RESULTS,
  DEFAULT_SESSION_SEARCH_SETTINGS,
  MAX_RESULTS,
  type SessionSearchSettings,
} from "./settings.ts";

/** Who searches, from which conversation, and how much the answer may hold. */
export type SessionSearchContext = {
  /** Where the profiles are. Without it, no other profile can be read. */
  readonly home?: string | undefined;
  /** The conversation that the call comes from. It is not searched unless `scope` asks for it. */
  readonly currentSessionId?: string | undefined;
  /**
   * Restricts every mode to this user's sessions and switches other profiles off. Passing `undefined` is an error; it does not
   * mean all users.
   */
  readonly userId?: string;
  /** The platform `userId` belongs to. Absent: that id on every platform. */
  readonly userPlatform?: string;
  /** Restricts every mode to the sessions without a user, which are those of the owner of the home. */
  readonly withoutUser?: true;
  /** Ids of the messages that the model still has in its context. */
  readonly liveMessageIds?: readonly number[] | undefined;
  /** Writes summaries; without it, raw previews are returned. */
  readonly summarizer?: TextModel | undefined;
  readonly settings?: Partial<SessionSearchSettings> | undefined;
  readonly clock?: Clock | undefined;
  /** True when the answer, as JSON, fits the caller's context. One that does not is shortened and says so. */
  readonly fits?: Fits | undefined;
  readonly signal?: AbortSignal | undefined;
};

/** Runs one call of the tool `session_search` with the arguments as the model wrote them. Answers with the tool's JSON. */
export async function sessionSearchTool(
  store: SessionStore | undefined,
  args: unknown,
  given: SessionSearchContext = {},
): Promise<object> {
  const context: SessionSearchContext = given ?? {};
  let doing = "session_search failed";
  try {
    const call = parseCall(args, (context.clock ?? systemClock).now());
    if (!call.ok) return failure(call.error);
    doing = FAILED[call.value.request.mode];
    const found = withoutUndefined(await answer(store, call.value, context));
    return context.fits === undefined ? found : fitAnswer(found, context.fits);
  } catch (cause) {
    return failure(`${doing}: ${explain(cause)}`);
  }
}

/** How a database error begins, by mode. Other programs match on these texts. */
const FAILED = {
  scroll: "failed to load messages",
  read: "failed to load session",
  browse: "Failed to list recent sessions",
  discover: "Search failed",
} as const satisfies Record<SearchRequest["mode"], string>;

async function answer(
  own: SearchableStore | undefined,
  { profile, request }: SearchCall,
  context: SessionSearchContext,
): Promise<object> {
  if (profile !== undefined) {
    const refusal = refusalFor(context, own);
    const { home } = context;
    if (refusal === undefined && home !== undefined)
      return inProfile(await openProfile(home, profile, own), { profile, request }, own, context);
    const isOwn = own !== undefined && isOwnProfile(home, profile, own);
    if (!isOwn) return failure(`profile '${shown(profile)}': ${refusal}`);
  }
  if (own === undefined) return failure(sessionDatabaseUnavailable());
  const current = await currentConversation(own, context);
  return run({ ...lookupIn(own, context, profileNameOf(context.home)), current }, request, own, context);
}

/** The conversation that the call comes from is in another database, so nothing is excluded here. */
async function inProfile(
  opened: Result<OpenProfile, string>,
  { profile, request }: SearchCall,
  own: SearchableStore | undefined,
  context: SessionSearchContext,
): Promise<object> {
  if (!opened.ok) return failure(`profile '${shown(profile)}': ${opened.error}`);
  await using there = opened.value;
  // The other database is not bound: whom the own store is bound to counts there too.
  const scope = scopeOf(context, own);
  const lookup = { ...lookupIn(there.store, context, there.name), scope, current: undefined };
  return await run(lookup, request, own, context);
}

async function run(
  lookup: Lookup,
  request: SearchRequest,
  own: SearchableStore | undefined,
  context: SessionSearchContext,
): Promise<object> {
  switch (request.mode) {
    case "scroll":
      return scroll(lookup, request);
    case "read":
      return (
        (await read(lookup, request)) ??
        (await readElsewhere(lookup, request, own, context)) ??
        notFound(request.sessionId.bare)
      );
    case "browse":
      return browse(lookup, request);
    case "discover":
      return wantsSummaries(lookup.settings, request)
        ? summarize(lookup, request, { model: context.summarizer, signal: context.signal })
        : discover(lookup, request, context.fits);
    default:
      return request satisfies never;
  }
}

/** Finds an id that was given without its profile: users paste ids. */
async function readElsewhere(
  lookup: Lookup,
  request: ReadRequest,
  own: SearchableStore | undefined,
  context: SessionSearchContext,
): Promise<object | undefined> {
  if (context.home === undefined || refusalFor(context, own) !== undefined) return undefined;
  for await (const opened of eachProfile(context.home, own)) {
    await using there = opened;
    const elsewhere = { ...lookup, store: there.store, profile: there.name, current: undefined };
    const found = await read(elsewhere, request).catch(() => undefined); // an unreadable profile must not fail this call
    if (found !== undefined) return { ...found, profile: there.name };
  }
  return undefined;
}

function wantsSummaries({ summarize: mode }: SessionSearchSettings, request: DiscoverRequest): boolean {
  return mode === "always"
    ? request.summarize !== false
    : mode === "on_request" && request.summarize === true;
}

function lookupIn(
  store: SearchableStore,
  context: SessionSearchContext,
  profile: string,
): Omit<Lookup, "current"> {
  return { store, scope: scopeOf(context, store), settings: settingsOf(context), profile };
}

async function currentConversation(
  store: SearchableStore,
  context: SessionSearchContext,
): Promise<CurrentConversation | undefined> {
  const { currentSessionId: id, liveMessageIds } = context;
  if (typeof id !== "string" || id === "") return undefined; // untyped callers pass null
  const lineage = new Set([id, ...(await store.listLineage(id, scopeOf(context, store)))]);
  const live = Array.isArray(liveMessageIds) ? liveMessageIds.filter(Number.isSafeInteger) : undefined;
  return { id, lineage, liveMessageIds: live && new Set(live) };
}

/** Of the caller; if it names nobody, of the store. */
function scopeOf(context: SessionSearchContext, store: Pick<SearchableStore, "scope"> | undefined): Scope {
  const given = readScope(context);
  return Object.keys(given).length === 0 ? (store?.scope ?? given) : given;
}

function settingsOf(context: SessionSearchContext): SessionSearchSettings {
  return { ...DEFAULT_SESSION_SEARCH_SETTINGS, ...context.settings };
}

function refusalFor(
  context: SessionSearchContext,
  own: Pick<SearchableStore, "scope"> | undefined,
): string | undefined {
  const { home } = context;
  const isOneOfSeveral = scopeOf(context, own).userId !== undefined;
  return profilesRefusal({ home, isOneOfSeveral, crossProfile: settingsOf(context).crossProfile });
}

// ---- Arguments ----
// Untyped arguments become one of four requests. Numbers are clamped. A filter that cannot be parsed is refused, because an
// answer without it would look like an answer with it.

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
    limit: clamp(wholeNumber(given.limit) ?? DEFAULT_RESULTS, 1, MAX_RESULTS),
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
    if (isAbsent(value)) continue;
    const moment =
      typeof value === "string" || typeof value === "number" ? parseMoment(value, now) : undefined;
    if (moment === undefined) {
      return err(
        `${name} is not a time that can be read: ${shown(value)}. Use a date (2026-01-31), a date with time, or an age such as 12h, 7d, 3mo.`,
      );
    }
    bounds[name] = moment;
  }
  return ok({ sources, ...bounds });
}

function parseReach(value: unknown): Result<Reach, string> {
  if (isAbsent(value)) return ok("others");
  const word = typeof value === "string" ? pyStrip(value).toLowerCase() : undefined;
  if (word === "others" || word === "lineage" || word === "all") return ok(word);
  if (word === "current") return ok("lineage"); // the name in newer versions of Hermes Agent
  return err(`scope must be others, lineage or all, but is ${shown(value)}`);
}

function parseDetail(value: unknown): Result<Detail, string> {
  if (isAbsent(value)) return ok("adaptive");
  const word = typeof value === "string" ? pyStrip(value).toLowerCase() : undefined;
  if (word === "adaptive" || word === "full") return ok(word);
  return err(`detail must be adaptive or full, but is ${shown(value)}`);
}

/** A comma-separated string or an array; undefined when it is empty. */
function names(value: unknown): string[] | undefined {
  const parts = Array.isArray(value) ? value : typeof value === "string" ? value.split(",") : [];
  const found = parts.map(text).filter((part) => part !== undefined);
  return found.length === 0 ? undefined : found;
}

/** Trimmed; undefined when it is blank or not a string. */
function text(value: unknown): string | undefined {
  const trimmed = typeof value === "string" ? pyStrip(value) : "";
  return trimmed === "" ? undefined : trimmed;
}

/** Like Python's `int()`: fractions are cut off, numeric strings are parsed, anything else is undefined. */
function wholeNumber(value: unknown): number | undefined {
  if (typeof value === "boolean") return Number(value);
  const isNumeral = typeof value === "string" && /^[+-]?\d+$/.test(pyStrip(value));
  const number = typeof value === "number" ? Math.trunc(value) : isNumeral ? Number(value) : Number.NaN;
  return Number.isFinite(number) ? number : undefined;
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most);
}

// ---- Other profiles ----
// Their databases are opened read-only for one call.

type ProfileSettings = {
  readonly home: string | undefined;
  /** True when the conversation belongs to one of several users. */
  readonly isOneOfSeveral: boolean;
  readonly crossProfile: boolean;
};

/** A store that is open for one call. */
type OpenProfile = AsyncDisposable & {
  readonly name: string;
  readonly store: SearchableStore;
};

/** Why no other profile may be read; undefined when it may. */
function profilesRefusal({ home, isOneOfSeveral, crossProfile }: ProfileSettings): string | undefined {
  if (isOneOfSeveral)
    return "other profiles are off, because this conversation belongs to one of several users";
  if (!crossProfile) return "other profiles are off (session_search.cross_profile is false)";
  if (home === undefined) return "other profiles are off, because no home directory is known here";
  return undefined;
}

/** True when the profile's database is the one that is already open. */
function isOwnProfile(home: string | undefined, name: string, own: SearchableStore): boolean {
  const parsed = parseProfileName(name);
  if (home === undefined || !parsed.ok) return false;
  return isSameFile(databaseOf(rootOf(home, systemHomeContext()), parsed.value), own.location);
}

/** The name of the profile that this home belongs to. */
function profileNameOf(home: string | undefined): string {
  if (home === undefined) return DEFAULT_PROFILE;
  const isRoot = resolve(rootOf(home, systemHomeContext())) === resolve(home);
  return isRoot ? DEFAULT_PROFILE : basename(resolve(home));
}

async function openProfile(
  home: string,
  name: string,
  own: SearchableStore | undefined,
): Promise<Result<OpenProfile, string>> {
  const parsed = parseProfileName(name);
  if (!parsed.ok) return err(parsed.error.message);
  const root = rootOf(home, systemHomeContext());
  if (parsed.value !== DEFAULT_PROFILE && !isDirectory(profileHome(root, parsed.value)))
    return err(`there is no such profile. List them with 'hermes profile list'.`);
  return openDatabase(root, parsed.value, own);
}

/** Every profile that has a database, the default profile first. One that cannot be opened is skipped. */
async function* eachProfile(home: string, own: SearchableStore | undefined): AsyncGenerator<OpenProfile> {
  const root = rootOf(home, systemHomeContext());
  for (const { name } of listProfiles(root)) {
    const opened = await openDatabase(root, name, own);
    if (opened.ok) yield opened.value;
  }
}

async function openDatabase(
  root: string,
  name: string,
  own: SearchableStore | undefined,
): Promise<Result<OpenProfile, string>> {
  const path = databaseOf(root, name);
  if (!existsSync(path)) return err("it has no session database yet.");
  if (own !== undefined && isSameFile(path, own.location))
    return ok({ name, store: own, [Symbol.asyncDispose]: async () => {} }); // its owner closes it
  try {
    const store = await openSessionStore({ path, readOnly: true });
    return ok({ name, store, [Symbol.asyncDispose]: () => store.close() });
  } catch (cause) {
    return err(explain(cause));
  }
}

function databaseOf(root: string, name: string): string {
  return sessionDatabasePath(profileHome(root, name));
}

function isSameFile(one: string, other: string): boolean {
  try {
    return realpathSync(one) === realpathSync(other);
  } catch {
    return one === other; // one of them was removed, or is not a file
  }
}
