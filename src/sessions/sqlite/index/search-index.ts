// The life of the search index of one open store: kept up to date in the background and before searches, read by searches.
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import type { Connection } from "../connection.ts";
import { isBusy } from "../failures.ts";
import { buildStep, catchUpStep } from "./catch-up.ts";
import {
  checkAgainstMessages,
  cookieOf,
  ensureIndex,
  isIndexCurrent,
  messageColumns,
  stateOf,
} from "./ensure-index.ts";
import { type IndexReader, prepareVocabulary, Reading } from "./reader.ts";
import { LARGE, QUEUE } from "./tables.ts";

/** A search waits this long for an index that is being built, and then says how much it did not look at. */
const WAIT_FOR_BUILD_MS = 10_000;
/** This many queued messages are indexed without waiting for a search. */
const QUEUED_BEFORE_WORK = 256;
const WAIT_ON_CLOSE_MS = 2_000;

export type FinishOptions = {
  readonly signal?: AbortSignal;
  readonly onProgress?: (done: number, total: number) => void;
};

export class SearchIndex {
  readonly #connection: Connection;
  readonly #reading: Reading;
  readonly #isReadOnly: boolean;
  #background: Promise<void> | undefined;
  #isClosing = false;
  #isLookPlanned = false;
  #hasVocabulary = false;
  /** The schema the triggers were last compared at. */
  #cookie: number | undefined;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#reading = new Reading(connection);
    this.#isReadOnly = connection.readOnlyBecause !== undefined;
    if (!this.#isReadOnly) connection.onWrite = () => this.#planLook();
  }

  /** Goes on with what an earlier process left, or begins the first build; returns at once. */
  start(): void {
    if (!this.#isReadOnly) this.#workInBackground();
  }

  /** Runs `work` inside one read transaction, on an index that is as complete as it can be made in 10 seconds. */
  async read<T>(work: (reader: IndexReader) => T): Promise<T> {
    if (!this.#isReadOnly) await this.#drain(WAIT_FOR_BUILD_MS);
    for (;;) {
      const found = await this.#connection.read(() => {
        this.#prepare();
        const reader = this.#reading.step();
        return reader === undefined ? undefined : { value: work(reader) };
      });
      if (found !== undefined) return found.value;
      await nextTurn();
    }
  }

  /** Builds and catches up to the end. False when the signal stopped it. */
  async finish({ signal, onProgress }: FinishOptions): Promise<boolean> {
    const total = stateOf(this.#connection.db)?.todo ?? 0;
    while (this.#hasWork()) {
      if (signal?.aborted) return false;
      if (await this.#step()) break;
      onProgress?.(total - (stateOf(this.#connection.db)?.todo ?? 0), total);
      await nextTurn();
    }
    return !signal?.aborted;
  }

  /** Everything queued is indexed, as far as that is done in two seconds; the rest stays in the file for the next process. */
  async close(): Promise<void> {
    if (this.#isClosing) return;
    this.#isClosing = true;
    await this.#background;
    if (!this.#isReadOnly) await this.#drain(WAIT_ON_CLOSE_MS, "queue");
    this.#reading.close();
  }

  #prepare(): void {
    if (this.#hasVocabulary) return;
    prepareVocabulary(this.#connection);
    this.#hasVocabulary = true;
  }

  #planLook(): void {
    if (this.#isLookPlanned || this.#isClosing || this.#background !== undefined) return;
    this.#isLookPlanned = true;
    setImmediate(() => {
      this.#isLookPlanned = false;
      if (this.#connection.isClosed || this.#isClosing) return;
      if (this.#isLong()) this.#workInBackground();
    });
  }

  #isLong(): boolean {
    try {
      return (
        this.#connection.get(`SELECT 1 FROM ${QUEUE} LIMIT 1 OFFSET ${QUEUED_BEFORE_WORK - 1}`) !== undefined
      );
    } catch {
      return false; // busy, or another program removed the table: the next search or open sees to it
    }
  }

  #workInBackground(): void {
    if (this.#background !== undefined) return;
    this.#background = this.#loop()
      // Searches meet the same error and report it; appends are not concerned.
      .catch(() => undefined)
      .finally(() => {
        this.#background = undefined;
      });
  }

  async #loop(): Promise<void> {
    while (!this.#isClosing && !this.#connection.isClosed && this.#hasWork()) {
      const start = performance.now();
      if (await this.#step()) return;
      // Half of the time belongs to others: to this process, and to whoever wants to write to the file.
      await sleep(performance.now() - start, undefined, { ref: false });
    }
  }

  /** In the foreground, until all is done or time is up. */
  async #drain(limitMs: number, what: "all" | "queue" = "all"): Promise<void> {
    const start = performance.now();
    try {
      while (this.#hasWork(what) && performance.now() - start < limitMs) {
        if (await this.#step(what)) return;
        await nextTurn();
      }
    } catch (cause) {
      // Another program has held the write lock all the time: what is queued is overlaid.
      if (!isBusy(cause instanceof Error ? (cause.cause ?? cause) : cause)) throw cause;
    }
  }

  /** Without taking the write lock. */
  #hasWork(what: "all" | "queue" = "all"): boolean {
    const { db } = this.#connection;
    try {
      const isQueued =
        this.#connection.get(`SELECT 1 FROM ${QUEUE} UNION ALL SELECT 1 FROM ${LARGE} LIMIT 1`) !== undefined;
      if (isQueued || what === "queue") return isQueued;
      const state = stateOf(db);
      return state === undefined || state.todo > 0 || state.checked !== cookieOf(db);
    } catch {
      return what === "all"; // a table is missing or busy: the step finds out which
    }
  }

  /** One transaction. True when all is done. */
  #step(what: "all" | "queue" = "all"): Promise<boolean> {
    const connection = this.#connection;
    const { db } = connection;
    return connection.write(() => {
      const cookie = cookieOf(db);
      if (cookie !== this.#cookie) {
        if (!isIndexCurrent(db)) ensureIndex(db);
        this.#cookie = cookieOf(db);
      }
      const columns = messageColumns(connection);
      if (!catchUpStep(connection, columns).isDone) return false;
      if (what === "queue") return true;
      if (!buildStep(connection, columns).isDone) return false;
      return checkAgainstMessages(db);
    });
  }
}
