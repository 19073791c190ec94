// What the tool needs of a session store, and what every mode of it works with.

import type { Scope } from "../identity.ts";
import type { SessionRow } from "../rows.ts";
import type { SessionStore } from "../store.ts";
import type { SessionSearchSettings } from "./settings.ts";

/** Where to look: everywhere but what is before the model, only in the current conversation, or both. */
export type Reach = "others" | "lineage" | "all";

/** `adaptive`: the first result in full, of the others only the matching message. `full`: all of them in full. */
export type Detail = "adaptive" | "full";

/** A session id as it was given. `bare`: without blanks around it, for a model that added some. */
export type GivenId = { readonly asGiven: string; readonly bare: string };

export type SessionFilters = {
  readonly sources?: readonly string[];
  /** Seconds since 1970. */
  readonly after?: number;
  readonly before?: number;
};

export type ScrollRequest = {
  readonly mode: "scroll";
  readonly sessionId: GivenId;
  /** Undefined when it was no whole number. */
  readonly anchor: number | undefined;
  readonly window: number;
  readonly reach: Reach;
};
export type ReadRequest = { readonly mode: "read"; readonly sessionId: GivenId };
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
  /** Undefined when none were named. */
  readonly roles: readonly string[] | undefined;
  readonly reach: Reach;
  readonly detail: Detail;
  readonly filters: SessionFilters;
  readonly summarize: boolean | undefined;
};
export type SearchRequest = ScrollRequest | ReadRequest | BrowseRequest | DiscoverRequest;
export type SearchCall = { readonly profile: string | undefined; readonly request: SearchRequest };

export type SearchableStore = Pick<
  SessionStore,
  | "location"
  | "rules"
  | "user"
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

/** The conversation the call comes from. */
export type CurrentConversation = {
  readonly id: string;
  /** Every session connected to it by parents, itself included. */
  readonly lineage: ReadonlySet<string>;
  /** Messages the model still has before it; undefined when the caller did not say. */
  readonly liveMessageIds: ReadonlySet<number> | undefined;
};

export type Lookup = {
  readonly store: SearchableStore;
  /** The user whose sessions alone exist for this call. */
  readonly scope: Scope;
  readonly settings: SessionSearchSettings;
  /** The profile whose database this is; part of every link. */
  readonly profile: string;
  /** Undefined for a client without a conversation of ours, and in the database of another profile. */
  readonly current: CurrentConversation | undefined;
};

/** How a session is named for another call of the tool, and for another program. */
export function linkTo({ profile }: Pick<Lookup, "profile">, sessionId: string): string {
  return `@session:${profile}/${sessionId}`;
}

/** The session with the id as it was given, else with the id without the blanks around it; null when there is neither. */
export async function findSession(
  { store, scope }: Lookup,
  { asGiven, bare }: GivenId,
): Promise<SessionRow | null> {
  const found = await store.getSession(asGiven, scope);
  return found === null && bare !== asGiven ? store.getSession(bare, scope) : found;
}

export const HIDDEN_SOURCES: readonly string[] = ["kanban", "subagent", "tool"];

/** Runs of subagents, tools and task boards stay out of sight, unless they are what was asked for. */
export function hiddenSources(asked: readonly string[] | undefined): string[] {
  return HIDDEN_SOURCES.filter((source) => !asked?.includes(source));
}
