// What the tool needs of a session store, and what every mode of it works with.
import type { Scope, SessionStore } from "../store.ts";
import type { SessionSearchSettings } from "./settings.ts";

export type SearchableStore = Pick<
  SessionStore,
  | "location"
  | "getSession"
  | "getMessages"
  | "getMessagesById"
  | "getMessagesAround"
  | "getAnchoredView"
  | "getCompressionTip"
  | "listLineage"
  | "listMessageKeys"
  | "listSessionsRich"
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
  /** Undefined for a client without a conversation of ours, and in the database of another profile. */
  readonly current: CurrentConversation | undefined;
};

export const HIDDEN_SOURCES: readonly string[] = ["subagent", "tool"];

/** Runs of subagents and tools stay out of sight, unless they are what was asked for. */
export function hiddenSources(asked: readonly string[] | undefined): string[] {
  return HIDDEN_SOURCES.filter((source) => !asked?.includes(source));
}
