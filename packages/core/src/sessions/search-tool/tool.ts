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
  isAbsent,
  isDirectory,
  isRecord,
  pyStrip,
  type TextModel,
  withoutUndefined,
} from "../../lib/index.ts";
import { listProfiles } from "../../profiles.ts";
import { sessionDatabaseUnavailable } from "../errors.ts";
import { readScope, type Scope, WITHOUT_USER } from "../identity.ts";
import { narrowed, openSessionStore } from "../open.ts";
import { parseMoment } from "../search/time.ts";
import type { HomeStore, SessionStore } from "../store.ts";
import { summarize } from "../summarize/summarize.ts";
import { explain, failure, notFound, Refusal, shown } from "./answer-parts.ts";
import { discover } from "./discover.ts";
import { type Fits, fitAnswer } from "./fit-answer.ts";
import type {
  CurrentConversation,
  DiscoverRequest,
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
  /** Whose sessions may be read. A user cannot read other profiles. Default: as the store, or the owner of the home if there is none. */
  readonly scope?: Scope | undefined;
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
  store: HomeStore | SessionStore | undefined,
  args: unknown,
  given: SessionSearchContext = {},
): Promise<object> {
  const context: SessionSearchContext = given ?? {};
  let doing = "session_search failed";
  try {
    const call = parseCall(args, context.clock);
    doing = FAILED[call.request.mode];
    const scope = scopeOf(context, store);
    const found = withoutUndefined(await answer(store && narrowed(store, scope), scope, call, context));
    return context.fits === undefined ? found : fitAnswer(found, context.fits);
  } catch (cause) {
    return failure(cause instanceof Refusal ? cause.message : `${doing}: ${explain(cause)}`);
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
  scope: Scope,
  { profile, request }: SearchCall,
  context: SessionSearchContext,
): Promise<object> {
  const settings = { ...DEFAULT_SESSION_SEARCH_SETTINGS, ...context.settings };
  const here = { settings, profile: profileNameOf(context.home), current: undefined };
  const profiles = profilesOf(context.home, scope, settings);
  if (profile !== undefined && (profiles.isOpen || !isOwnProfile(context.home, profile, own))) {
    // The conversation that the call comes from is in another database, so nothing is excluded there.
    await using there = await openProfile(profiles, profile, own);
    return await run({ ...here, store: there.store, profile: there.name }, request, profiles, context);
  }
  if (own === undefined) throw new Refusal(sessionDatabaseUnavailable());
  const current = await currentConversation(own, context);
  return run({ ...here, store: own, current }, request, profiles, context);
}

async function run(
  lookup: Lookup,
  request: SearchRequest,
  profiles: Profiles,
  context: SessionSearchContext,
): Promise<object> {
  switch (request.mode) {
    case "scroll":
      return scroll(lookup, request);
    case "read":
      return (
        (await read(lookup, request)) ??
        (await readElsewhere(lookup, request, profiles)) ??
        notFound(request.sessionId)
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

function wantsSummaries({ summarize: mode }: SessionSearchSettings, request: DiscoverRequest): boolean {
  return mode === "always"
    ? request.summarize !== false
    : mode === "on_request" && request.summarize === true;
}

/** Of the caller; if it names nobody, of the store. */
function scopeOf(context: SessionSearchContext, store: Pick<SearchableStore, "scope"> | undefined): Scope {
  const given = readScope(context.scope ?? (context as Scope)); // where 0.3 had the user, for programs without types
  return Object.keys(given).length === 0 ? (store?.scope ?? WITHOUT_USER) : given;
}

async function currentConversation(
  store: SearchableStore,
  { currentSessionId: id, liveMessageIds }: SessionSearchContext,
): Promise<CurrentConversation | undefined> {
  if (typeof id !== "string" || id === "") return undefined; // untyped callers pass null
  const lineage = new Set([id, ...(await store.listLineage(id))]);
  const live = Array.isArray(liveMessageIds) ? liveMessageIds.filter(Number.isSafeInteger) : undefined;
  return { id, lineage, liveMessageIds: live && new Set(live) };
}

// ---- Arguments ----
// Untyped arguments become one of four requests. Numbers are clamped. A filter that cannot be parsed is refused, because an
// answer without it would look like an answer with it.

type Given = Readonly<Record<string, unknown>>;

/** Throws a `Refusal`. */
export function parseCall(args: unknown, clock?: Clock): SearchCall {
  const given = isRecord(args) ? args : {};
  const { sessionId, profile } = placeOf(given);
  if (sessionId === undefined) return { profile, request: searchRequest(given, clock) };
  if (given.around_message_id === undefined || given.around_message_id === null)
    return { profile, request: { mode: "read", sessionId } };
  return {
    profile,
    request: {
      mode: "scroll",
      sessionId,
      anchor: wholeNumber(given.around_message_id),
      window: clamp(wholeNumber(given.window) ?? 5, 1, 20),
      reach: reachOf(given.scope),
    },
  };
}

const LINK_PREFIX = "@session:";

/** The id may name the profile too: `other/20260131`, or as a link. */
function placeOf(given: Given): {
  readonly sessionId: string | undefined;
  readonly profile: string | undefined;
} {
  for (const name of ["profile", "session_id"]) {
    const value = given[name];
    const isNumber = name === "session_id" && typeof value === "number";
    if (!isAbsent(value) && typeof value !== "string" && !isNumber)
      throw new Refusal(`${name} must be a string, but is ${shown(value)}`);
  }
  const profile = text(given.profile);
  const id = typeof given.session_id === "number" ? String(given.session_id) : text(given.session_id);
  const link = id?.startsWith(LINK_PREFIX) ? id.slice(LINK_PREFIX.length) : id;
  const slash = link?.indexOf("/") ?? -1;
  const sessionId = text(link?.slice(slash + 1));
  if (slash < 0 || sessionId === undefined) return { sessionId: link, profile };
  return { sessionId, profile: profile ?? text(link?.slice(0, slash)) };
}

function searchRequest(given: Given, clock: Clock | undefined): SearchRequest {
  const common = {
    reach: reachOf(given.scope),
    filters: filtersOf(given, clock),
    limit: clamp(wholeNumber(given.limit) ?? DEFAULT_RESULTS, 1, MAX_RESULTS),
  };
  const query = text(given.query);
  if (query === undefined) return { mode: "browse", ...common };
  return {
    mode: "discover",
    query,
    ...common,
    detail: choice("detail", given.detail, ["adaptive", "full"]),
    sort: typeof given.sort === "string" ? given.sort : undefined,
    roles: names(given.role_filter),
    summarize: typeof given.summarize === "boolean" ? given.summarize : undefined,
  };
}

function filtersOf(given: Given, clock: Clock | undefined): SessionFilters {
  for (const name of ["source", "role_filter"])
    if (!isAbsent(given[name]) && typeof given[name] !== "string" && !Array.isArray(given[name]))
      throw new Refusal(
        `${name} must be a name or several with commas between them, but is ${shown(given[name])}`,
      );
  const bounds: { after?: number; before?: number } = {};
  for (const name of ["after", "before"] as const) {
    const value = given[name];
    if (isAbsent(value)) continue;
    const isTime = typeof value === "string" || typeof value === "number";
    const moment = isTime ? parseMoment(value, clock?.now() ?? new Date()) : undefined;
    if (moment === undefined)
      throw new Refusal(
        `${name} is not a time that can be read: ${shown(value)}. Use a date (2026-01-31), a date with time, or an age such as 12h, 7d, 3mo.`,
      );
    bounds[name] = moment;
  }
  return { sources: names(given.source), ...bounds };
}

/** `current` is the name of `lineage` in newer versions of Hermes Agent. */
function reachOf(value: unknown): Reach {
  const isCurrent = typeof value === "string" && pyStrip(value).toLowerCase() === "current";
  return choice("scope", isCurrent ? "lineage" : value, ["others", "lineage", "all"]);
}

/** One of the words; the first when there is none. */
function choice<Word extends string>(name: string, value: unknown, words: readonly [Word, ...Word[]]): Word {
  if (isAbsent(value)) return words[0];
  const given = typeof value === "string" ? pyStrip(value).toLowerCase() : undefined;
  const found = words.find((word) => word === given);
  if (found !== undefined) return found;
  const list = `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
  throw new Refusal(`${name} must be ${list}, but is ${shown(value)}`);
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

/** Where the profiles are, or why none of them may be read. */
type Profiles =
  | { readonly isOpen: true; readonly root: string; readonly scope: Scope }
  | { readonly isOpen: false; readonly because: string };

/** A store that is open for one call. */
type OpenProfile = AsyncDisposable & { readonly name: string; readonly store: SearchableStore };

function profilesOf(home: string | undefined, scope: Scope, settings: SessionSearchSettings): Profiles {
  const closed = (because: string) =>
    ({ isOpen: false, because: `other profiles are off${because}` }) as const;
  if (scope.userId !== undefined)
    return closed(", because this conversation belongs to one of several users");
  if (!settings.crossProfile) return closed(" (session_search.cross_profile is false)");
  if (home === undefined) return closed(", because no home directory is known here");
  return { isOpen: true, root: rootOf(home, systemHomeContext()), scope };
}

/** True when the profile's database is the one that is already open. */
function isOwnProfile(home: string | undefined, name: string, own: SearchableStore | undefined): boolean {
  const parsed = parseProfileName(name);
  if (home === undefined || own === undefined || !parsed.ok) return false;
  return isSameFile(databaseOf(rootOf(home, systemHomeContext()), parsed.value), own.location);
}

/** The name of the profile that this home belongs to. */
function profileNameOf(home: string | undefined): string {
  if (home === undefined) return DEFAULT_PROFILE;
  const isRoot = resolve(rootOf(home, systemHomeContext())) === resolve(home);
  return isRoot ? DEFAULT_PROFILE : basename(resolve(home));
}

async function openProfile(
  profiles: Profiles,
  given: string,
  own: SearchableStore | undefined,
): Promise<OpenProfile> {
  const refuse = (why: string) => new Refusal(`profile '${shown(given)}': ${why}`);
  if (!profiles.isOpen) throw refuse(profiles.because);
  const parsed = parseProfileName(given);
  if (!parsed.ok) throw refuse(parsed.error.message);
  const { value: name } = parsed;
  if (name !== DEFAULT_PROFILE && !isDirectory(profileHome(profiles.root, name)))
    throw refuse(`there is no such profile. List them with 'hermes profile list'.`);
  return openDatabase(profiles, name, own).catch((cause: unknown) => {
    throw refuse(explain(cause));
  });
}

/** Finds an id that was given without its profile: users paste ids. */
async function readElsewhere(
  lookup: Lookup,
  request: ReadRequest,
  profiles: Profiles,
): Promise<object | undefined> {
  if (!profiles.isOpen) return undefined;
  for (const { name } of listProfiles(profiles.root)) {
    try {
      await using there = await openDatabase(profiles, name, lookup.store);
      const found = await read({ ...lookup, store: there.store, profile: name, current: undefined }, request);
      if (found !== undefined) return { ...found, profile: name };
    } catch {
      // A profile without a database, or an unreadable one, must not fail this call.
    }
  }
  return undefined;
}

async function openDatabase(
  { root, scope }: Extract<Profiles, { readonly isOpen: true }>,
  name: string,
  own: SearchableStore | undefined,
): Promise<OpenProfile> {
  const path = databaseOf(root, name);
  if (own !== undefined && isSameFile(path, own.location))
    return { name, store: own, [Symbol.asyncDispose]: async () => {} }; // its owner closes it
  if (!existsSync(path)) throw new Error("it has no session database yet.");
  const store = await openSessionStore({ path, readOnly: true });
  return { name, store: narrowed(store, scope), [Symbol.asyncDispose]: () => store.close() };
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
