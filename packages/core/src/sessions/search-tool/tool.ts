// The `session_search` tool: untyped arguments in, the tool's JSON out. Never throws, never touches a home it was not given.
import { type Clock, systemClock, type TextModel } from "../../lib/index.ts";
import { sessionDatabaseUnavailable } from "../errors.ts";
import { readScope } from "../identity.ts";
import type { SessionStore } from "../store.ts";
import { summarize } from "../summarize/summarize.ts";
import { parseCall } from "./arguments.ts";
import { browse } from "./browse.ts";
import { discover } from "./discover.ts";
import { type Fits, fitAnswer } from "./fit-answer.ts";
import type {
  CurrentConversation,
  DiscoverRequest,
  Lookup,
  ReadRequest,
  SearchableStore,
  SearchCall,
  SearchRequest,
} from "./port.ts";
import { eachProfile, isOwnProfile, openProfile, profileNameOf, profilesRefusal } from "./profiles.ts";
import { read } from "./read.ts";
import { scroll } from "./scroll.ts";
import { DEFAULT_SESSION_SEARCH_SETTINGS, type SessionSearchSettings } from "./settings.ts";
import { explain, failure, notFound, shown } from "./shapes.ts";

export type SessionSearchContext = {
  /** Where the profiles are. Without it there are none. */
  readonly home?: string | undefined;
  /** The conversation the call comes from: its own words are not searched unless `scope` says so. */
  readonly currentSessionId?: string | undefined;
  /**
   * Binds every mode: sessions of others, and those without an owner, do not exist. Other profiles are off then. The key with
   * `undefined` is an error, not everybody.
   */
  readonly userId?: string;
  /** The platform `userId` belongs to. Absent: that id on every platform. */
  readonly userPlatform?: string;
  /** Ids of the messages that are still before the model. */
  readonly liveMessageIds?: readonly number[] | undefined;
  /** For summaries; without it they are raw previews. */
  readonly summarizer?: TextModel | undefined;
  readonly settings?: Partial<SessionSearchSettings> | undefined;
  readonly clock?: Clock | undefined;
  /** Whether the answer, as JSON, is short enough for the caller's context. One that is not is made shorter, and says so. */
  readonly fits?: Fits | undefined;
  readonly signal?: AbortSignal | undefined;
};

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
    const found = await answer(store, call.value, context);
    return context.fits === undefined ? found : fitAnswer(found, context.fits);
  } catch (cause) {
    return failure(`${doing}: ${explain(cause)}`);
  }
}

/** How an error of the database begins, by what was asked for. Other programs know these. */
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
    const isOwn = own !== undefined && isOwnProfile(context.home, profile, own);
    if (refusal === undefined || !isOwn) return inProfile(own, { profile, request }, context);
  }
  if (own === undefined) return failure(sessionDatabaseUnavailable());
  const current = await currentConversation(own, context);
  return run({ ...lookupIn(own, context, profileNameOf(context.home)), current }, request, own, context);
}

/** The conversation the call comes from is in another database, so nothing is left out there. */
async function inProfile(
  own: SearchableStore | undefined,
  { profile = "", request }: SearchCall,
  context: SessionSearchContext,
): Promise<object> {
  const refusal = refusalFor(context, own);
  const opened =
    refusal === undefined && context.home !== undefined
      ? await openProfile(context.home, profile, own)
      : undefined;
  if (opened === undefined) return failure(`profile '${shown(profile)}': ${refusal}`);
  if (!opened.ok) return failure(`profile '${shown(profile)}': ${opened.error}`);
  await using there = opened.value;
  const lookup = { ...lookupIn(there.store, context, there.name), current: undefined };
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
        : discover(lookup, request);
    default:
      return request satisfies never;
  }
}

/** An id without its profile: people paste them. */
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
    const found = await read(elsewhere, request).catch(() => undefined); // another profile's trouble is not this call's
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
  return { store, scope: readScope(context), settings: settingsOf(context), profile };
}

async function currentConversation(
  store: SearchableStore,
  context: SessionSearchContext,
): Promise<CurrentConversation | undefined> {
  const { currentSessionId: id, liveMessageIds } = context;
  if (typeof id !== "string" || id === "") return undefined; // callers without types pass null for none
  const lineage = new Set([id, ...(await store.listLineage(id, readScope(context)))]);
  const live = Array.isArray(liveMessageIds) ? liveMessageIds.filter(Number.isSafeInteger) : undefined;
  return { id, lineage, liveMessageIds: live && new Set(live) };
}

function settingsOf(context: SessionSearchContext): SessionSearchSettings {
  return { ...DEFAULT_SESSION_SEARCH_SETTINGS, ...context.settings };
}

function refusalFor(
  context: SessionSearchContext,
  own: Pick<SearchableStore, "user"> | undefined,
): string | undefined {
  const { home } = context;
  const isOneOfSeveral = readScope(context).userId !== undefined || own?.user !== undefined;
  return profilesRefusal({ home, isOneOfSeveral, crossProfile: settingsOf(context).crossProfile });
}
