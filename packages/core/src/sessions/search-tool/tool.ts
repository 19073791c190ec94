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
import { type Clock, HermesError, isDirectory, type TextModel, withoutUndefined } from "../../lib/index.ts";
import { listProfiles } from "../../profiles.ts";
import { sessionDatabaseUnavailable } from "../errors.ts";
import { readScope, type Scope, WITHOUT_USER } from "../identity.ts";
import { narrowed, openSessionStore } from "../open.ts";
import type { HomeStore, SessionStore } from "../store.ts";
import { summarize } from "../summarize/summarize.ts";
import { discover } from "./discover.ts";
import { type Fits, fitAnswer } from "./fit-answer.ts";
import {
  type CurrentConversation,
  DEFAULT_SESSION_SEARCH_SETTINGS,
  type DiscoverRequest,
  type Lookup,
  notFound,
  parseCall,
  type ReadRequest,
  Refusal,
  type SearchableStore,
  type SearchCall,
  type SearchRequest,
  type SessionSearchSettings,
  shown,
} from "./request.ts";
import { browse, read, scroll } from "./session-views.ts";

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
  context: SessionSearchContext = {},
): Promise<object> {
  let doing = "session_search failed";
  try {
    const call = parseCall(args, context.clock);
    doing = FAILED[call.request.mode];
    const scope = scopeOf(context, store);
    const found = withoutUndefined(await answer(store && narrowed(store, scope), scope, call, context));
    return context.fits === undefined ? found : fitAnswer(found, context.fits);
  } catch (cause) {
    const error = cause instanceof Refusal ? cause.message : `${doing}: ${explain(cause)}`;
    return { error, success: false };
  }
}

/** A caught error in one or two sentences: what happened and, if known, what to do. */
export function explain(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const hint = cause instanceof HermesError ? cause.hint : undefined;
  return hint === undefined ? cause.message : `${cause.message} ${hint}`;
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
