// Databases of conversations with their questions.

export type Turn = { readonly id: string; readonly role: "user" | "assistant"; readonly content: string };
export type Meeting = { readonly id: string; readonly startedAt: number; readonly turns: readonly Turn[] };
type Question = {
  readonly text: string;
  /** Turns and meetings that answer it; no turns where the set names meetings only. */
  readonly turns: ReadonlySet<string>;
  readonly meetings: ReadonlySet<string>;
};
export type Database = {
  readonly meetings: readonly Meeting[];
  /** Those with an answer in it. */
  readonly questions: readonly Question[];
  /** About the people and things of this database, but without an answer in it. */
  readonly unanswerable: readonly string[];
  /** Made for another database. */
  readonly foreign: readonly string[];
};
export type QuestionSet = {
  readonly name: "locomo" | "longmemeval";
  readonly databases: readonly Database[];
};
