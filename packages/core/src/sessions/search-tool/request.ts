// A session_search call: the untyped arguments of a model become one of four requests. Also the settings of the tool, and the lookup that
// the modes work with.
import type { HermesConfig, SummarizeMode } from "../../config/index.ts";
import { type Clock, isAbsent, isRecord, preview, pyStrip } from "../../lib/index.ts";
import { parseMoment } from "../search/time.ts";
import type { SessionStore } from "../store.ts";

// ---- Settings, from two sections of config.yaml ----

/** Limits of the tool `session_search`. */
export type SessionSearchSettings = {
  readonly summarize: SummarizeMode;
  /** Limit for all summaries of one call together. */
  readonly summaryTimeoutSeconds: number;
  /** Limit for one model request. */
  readonly modelTimeoutSeconds: number;
  readonly maxConcurrency: number;
  readonly crossProfile: boolean;
  /** 0: single messages are not cut. */
  readonly maxMessageChars: number;
  readonly maxResultChars: number;
};

/** Sessions in one answer, unless the call says otherwise. The tool's schema names both. */
export const DEFAULT_RESULTS = 3;
export const MAX_RESULTS = 10;

export const DEFAULT_SESSION_SEARCH_SETTINGS: SessionSearchSettings = Object.freeze({
  summarize: "off",
  summaryTimeoutSeconds: 90,
  modelTimeoutSeconds: 30,
  maxConcurrency: 3,
  crossProfile: true,
  maxMessageChars: 0,
  maxResultChars: 60_000,
});

/** Reads the limits of `session_search` from config. */
export function sessionSearchSettings(
  config: Pick<HermesConfig, "sessionSearch" | "auxiliary">,
): SessionSearchSettings {
  const { summarize, summaryTimeout, crossProfile, maxMessageChars, maxResultChars } = config.sessionSearch;
  const { timeout, maxConcurrency } = config.auxiliary.sessionSearch;
  return {
    summarize,
    summaryTimeoutSeconds: summaryTimeout,
    modelTimeoutSeconds: timeout,
    maxConcurrency,
    crossProfile,
    maxMessageChars,
    maxResultChars,
  };
}

// ---- Requests ----

/**
 * Where to search: everywhere except in messages the model still has in its context, only in the current conversation, or both.
 */
export type Reach = "others" | "lineage" | "all";

export type SessionFilters = {
  readonly sources?: readonly string[];
  /** Seconds since 1970. */
  readonly after?: number;
  readonly before?: number;
};

export type ScrollRequest = {
  readonly mode: "scroll";
  readonly sessionId: string;
  /** Undefined when the argument was not a whole number. */
  readonly anchor: number | undefined;
  readonly window: number;
  readonly reach: Reach;
};
export type ReadRequest = { readonly mode: "read"; readonly sessionId: string };
export type BrowseRequest = {
  readonly mode: "browse";
  readonly limit: number;
  readonly reach: Reach;
  readonly filters: SessionFilters;
};
export type DiscoverRequest = {
  readonly mode: "discover";
  readonly query: string;
  readonly limit: number;
  readonly sort: string | undefined;
  /** Undefined when no roles were given. */
  readonly roles: readonly string[] | undefined;
  readonly reach: Reach;
  /**
   * `adaptive`: up to three results in full while they fit; of more, the first in full and of the others only the matching message.
   * `full`: all results in full.
   */
  readonly detail: "adaptive" | "full";
  readonly filters: SessionFilters;
  readonly summarize: boolean | undefined;
};
export type SearchRequest = ScrollRequest | ReadRequest | BrowseRequest | DiscoverRequest;
export type SearchCall = { readonly profile: string | undefined; readonly request: SearchRequest };

export type SearchableStore = Pick<
  SessionStore,
  | "location"
  | "rules"
  | "scope"
  | "getSession"
  | "getMessages"
  | "getMessagesById"
  | "getMessagesAround"
  | "getAnchoredView"
  | "getCompressionTip"
  | "listLineage"
  | "listMessageKeys"
  | "listSessionsRich"
  | "resolveSessionByTitle"
  | "search"
>;

/** The conversation that the call comes from. */
export type CurrentConversation = {
  readonly id: string;
  /** All sessions connected to it by parents, itself included. */
  readonly lineage: ReadonlySet<string>;
  /** Messages that the model still has in its context; undefined when the caller did not say. */
  readonly liveMessageIds: ReadonlySet<number> | undefined;
};

export type Lookup = {
  readonly store: SearchableStore;
  readonly settings: SessionSearchSettings;
  /** The profile this database belongs to; part of every link. */
  readonly profile: string;
  /** Undefined when the caller has no conversation of ours, and in the database of another profile. */
  readonly current: CurrentConversation | undefined;
};

/** The call cannot be answered; the message is the tool's error as it is. */
export class Refusal extends Error {}

export function notFound(sessionId: string): never {
  throw new Refusal(`session_id not found: ${shown(sessionId)}`);
}

/** A value from outside for an error message, cut so that it never fills a page. */
export function shown(value: unknown): string {
  return preview(
    typeof value === "string" ? value : (JSON.stringify(value) ?? String(value)),
    MAX_SHOWN_CHARS,
  );
}

const MAX_SHOWN_CHARS = 512; // no id is longer, so ids always appear whole

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
