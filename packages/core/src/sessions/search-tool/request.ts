// The types of a session_search call: the parsed request of each mode, and the lookup that the modes work with.
import type { SessionStore } from "../store.ts";
import type { SessionSearchSettings } from "./settings.ts";

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
