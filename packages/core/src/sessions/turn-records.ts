// The port that says what each turn used, whichever door it came through: what recall found and what of it the model got, tokens, cost, time.
// Every record belongs to a session: whoever sees the session sees it, and it is deleted and erased with it.
import type { Page } from "./identity.ts";

/** What recall found for one request, what of it was sent to the model, and why the rest was not. */
export type RecallTrace = {
  readonly id: number;
  readonly session_id: string;
  /** Seconds since 1970. */
  readonly at: number;
  /** The message that the text was added to, as a mark; null if it is not added again. */
  readonly mark: string | null;
  readonly query: string;
  /** The text that was added; "" for none. */
  readonly injected: string;
  /** JSON: a list of what was found, each with its source, its length, whether it was injected, refused or left out, and why. */
  readonly found: string;
  readonly duration_ms: number;
  readonly mode: "agent" | "proxy" | "library";
};

/** `at`: default now. */
export type NewRecallTrace = Omit<RecallTrace, "id" | "at" | "mark"> & {
  readonly at?: number;
  readonly mark?: string | null;
};

/** One turn: a message to a model, and everything until its answer. */
export type TurnRecord = {
  readonly id: number;
  readonly session_id: string;
  /** When it began, in seconds since 1970. */
  readonly at: number;
  readonly duration_ms: number;
  readonly mode: RecallTrace["mode"];
  readonly model: string | null;
  readonly input_tokens: number;
  readonly output_tokens: number;
  /** Of the input tokens, those that the model's cache had. */
  readonly cache_read_tokens: number;
  readonly cache_write_tokens: number;
  readonly reasoning_tokens: number;
  /** Calls of the model. */
  readonly calls: number;
  /** In US dollars; null if it is not known. */
  readonly cost: number | null;
  /** Null if nothing was searched for. */
  readonly recall: Omit<RecallTrace, "session_id" | "mode"> | null;
};

/** `recall`: what `addRecall` returned. Amounts that are left out count as 0, or as unknown. */
type NewTurn = Pick<TurnRecord, "session_id" | "at" | "duration_ms" | "mode"> &
  Partial<Omit<TurnRecord, "id" | "recall">> & { readonly recall?: number | undefined };

/** Members that store a record reject with `unknown-session`. */
export interface TurnRecords {
  addTurn(turn: NewTurn): Promise<void>;
  /** The newest first, 100 by default. */
  listTurns(options?: Page & { readonly sessionId?: string; readonly since?: number }): Promise<TurnRecord[]>;

  // Recall: kept before the model gets it, so that the same text is at the same place in the next request
  /** Returns its id. */
  addRecall(trace: NewRecallTrace): Promise<number>;
  /** The newest first, 100 by default. */
  listRecalls(
    options?: Page & { readonly sessionId?: string; readonly since?: number },
  ): Promise<RecallTrace[]>;
  /** The newest trace of each mark, in the order of `marks`. */
  findRecalls(
    sessionId: string,
    marks: readonly string[],
  ): Promise<{ readonly mark: string; readonly injected: string }[]>;
  /**
   * Deletes every recall that holds the text, or for a long one a larger part of it, and overwrites its bytes. Letter case counts, white space
   * does not. `remaining`: sentences about copies that may be left, and what to do.
   */
  forgetRecalls(
    text: string,
    options?: { readonly dryRun?: boolean },
  ): Promise<{ readonly traces: number; readonly remaining: readonly string[] }>;
}
