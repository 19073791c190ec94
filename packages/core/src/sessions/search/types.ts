// Options and answers of a search over messages.
import type { Page, Scope } from "../identity.ts";

/** All filters apply together, before any limit. */
export type SearchFilters = Scope & {
  /** An empty list matches nothing. */
  readonly sourceFilter?: readonly string[];
  readonly excludeSources?: readonly string[];
  readonly roleFilter?: readonly string[];
  /** Seconds since 1970: from this moment on. */
  readonly after?: number;
  /** Seconds since 1970: up to, but not including, this moment. */
  readonly before?: number;
  /** Only in these sessions. */
  readonly sessionIds?: readonly string[];
  readonly excludeSessionIds?: readonly string[];
  readonly excludeMessageIds?: readonly number[];
  readonly includeInactive?: boolean;
};

/** Which messages to search, in which order and how many to return. */
export type SearchOptions = SearchFilters &
  Page & {
    /** `newest` or `oldest`; anything else is by relevance. */
    readonly sort?: string | undefined;
    /** The best message of each lineage instead of every message. */
    readonly perLineage?: boolean;
    /** By relevance, hits from these sources come after all others. For a first page. */
    readonly lastSources?: readonly string[];
  };

/** A message in the format of Hermes Agent's search. */
export type SearchRow = {
  readonly id: number;
  readonly session_id: string;
  readonly role: string;
  /** The place of the match, `>>>` before and `<<<` after each matched word. */
  readonly snippet: string;
  readonly timestamp: number;
  readonly tool_name: string | null;
  readonly source: string;
  readonly model: string | null;
  readonly session_started: number;
  /** The message before, the message itself and the one after, each cut to 200 characters. */
  readonly context: readonly { readonly role: string; readonly content: string }[];
};

/** A message that a search found, with its score. */
export type SearchHit = SearchRow & {
  /** Comparable within one answer only. */
  readonly score: number;
  /** The words of the query, or forms of them, that were found. */
  readonly matched: readonly string[];
  /** The root of the session over every kind of parent. */
  readonly lineage_root: string;
};

/**
 * `exact`: the query had quotes, operators or a star and was taken literally. `strict`: every word of a plain query matched.
 * `widened`: some of its words, or other forms of them. `none`: nothing was found, or the query was empty.
 */
export type SearchStage = "exact" | "strict" | "widened" | "none";

/** Why there are no hits: an empty query, no match, or matches only where the filters exclude them. */
export type EmptyReason = "blank" | "no-match" | "hidden-sources" | "excluded-sessions" | "filtered";

/** Hits of a search, how they were found, and what was not searched. */
export type SearchAnswer = {
  readonly hits: readonly SearchHit[];
  readonly stage: SearchStage;
  /** Only when there are no hits. */
  readonly empty?: EmptyReason;
  /** For a plain question: how much of it the best message covers, 0 to 1, and whether nothing clearly answers it. */
  readonly confidence?: { readonly score: number; readonly isWeak: boolean };
  /** Messages that were not searched because they are not in the index yet. */
  readonly notSearched?: { readonly messages: number; readonly reason: string };
  /**
   * At least this many distinct words of the query were not searched for: those after the first 1,000 words or 32,768 characters.
   */
  readonly termsLeftOut?: number;
  /**
   * More messages match than were compared by their text: the newest were, short ones, those with rarer words or all words, and
   * one of each further conversation up to the limit. Only the order can be affected. Never set with `sort`.
   */
  readonly isPartlyRanked?: true;
};
