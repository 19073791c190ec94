// Types of ranking: terms, rows, the reading of one row, facts about the question.
import type { TimeSpan } from "./query.ts";

/** One thing a plain question asks for. */
export type RankTerm = {
  /** One word, or words that stand side by side. */
  readonly words: readonly string[];
  readonly isPrefix: boolean;
  /** Other spellings (word forms) that count for a single word. */
  readonly forms: readonly string[];
  /** The forms are other words, which the word may have been meant to be. */
  readonly isGuess?: boolean;
  /** `rarity(holders, all)`; a term that no message holds has one too, and makes the answer less sure. */
  readonly weight: number;
};

/** A message whose text was read. Only messages that hold at least one term are given. */
export type RankRow = {
  readonly id: number;
  readonly session: string;
  readonly timestamp: number;
  readonly role: string;
  /** What the content says, clean text. */
  readonly said: string;
  /** Tool name and words of tool calls. */
  readonly did: string;
  /** Output of an earlier search of sessions, or of another tool that recalls. */
  readonly isRecall: boolean;
  /** Up to 3 ids before it in its session, nearest first. */
  readonly before: readonly (number | undefined)[];
  /** Up to 2 ids after it. */
  readonly after: readonly (number | undefined)[];
  /** First message of its session. */
  readonly isFirst: boolean;
};

export type RankInput = {
  readonly query: string;
  readonly terms: readonly RankTerm[];
  readonly rows: readonly RankRow[];
  /** Per session, how many of its messages hold each term (also messages whose text was not read). */
  readonly sessionCounts: ReadonlyMap<string, readonly number[]>;
  /** Spans of time that the query names. */
  readonly spans: readonly TimeSpan[];
};

/** `speakers`: messages begin with the name of who says them (`Ana: ...`). `agent`: a user and an assistant. */
export type ConversationKind = "speakers" | "agent";

/** What a message's text holds of the terms. */
export type Reading = {
  /** Words of what was said; of a long text an estimate. */
  readonly length: number;
  /** Per term: how often it was said. A similar word or a part of a Korean word counts less than 1. */
  readonly said: readonly number[];
  /** Per term: how often it is in the tool calls. */
  readonly did: readonly number[];
  /** Per term: at which words of what was said it stands. */
  readonly places: readonly (readonly number[])[];
  /** Every term is there as it was asked for, not in another form. */
  readonly isFull: boolean;
  /** How closely all words of the query, little ones included, stand together: 1 side by side, 0 if one is missing. */
  readonly closeness: number;
};

/** What is known of the question before any message is scored. */
export type Question = {
  readonly kind: ConversationKind;
  /** Weights of the terms, less for words that frame the question or name a date. */
  readonly weights: readonly number[];
  /** Sum of the weights of all terms that are no names of speakers. */
  readonly total: number;
  readonly isName: readonly boolean[];
  /** The speaker the question is about, if it names exactly one. */
  readonly name: number | undefined;
  readonly isFrame: readonly boolean[];
  readonly isDate: readonly boolean[];
  readonly asksWhen: boolean;
  readonly asksHowMany: boolean;
};

/** A message with all that its scores are made of. */
export type Facts = {
  readonly row: RankRow;
  readonly reading: Reading;
  /** Less than 1 where no person or assistant said it. */
  readonly share: number;
  readonly isAuthor: boolean;
  readonly hasQuestion: boolean;
  readonly endsInQuestion: boolean;
  readonly before: readonly (number | undefined)[];
  readonly after: readonly (number | undefined)[];
  /** How near the named dates, 0 to 1. */
  readonly near: number;
  readonly proximity: number;
  /** How many messages of the session hold each term. */
  readonly sessionCounts: readonly number[];
  readonly averageLength: number;
};

export type Confidence = {
  /** 0 to 1: how much of what the question asks for one message says, rare words counting for more. */
  readonly score: number;
  /** Nothing that clearly answers the question was found. */
  readonly isWeak: boolean;
};

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
