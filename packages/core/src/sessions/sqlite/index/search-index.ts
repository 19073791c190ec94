// The search index of one open store: updated in the background and before searches, and read by searches.
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { HermesError } from "../../../lib/index.ts";
import { type Connection, featuresOf, schemaCookie, type WriteOptions } from "../connection.ts";
import { isBusy, sqliteCause } from "../failures.ts";
import { indexRemedy } from "../write-access.ts";
import { buildStep, catchUpStep, indexOneLarge } from "./indexing.ts";
import { type IndexReader, prepareVocabulary, Reading } from "./reader.ts";
import {
  checkAgainstMessages,
  dropFormerLayout,
  ensureIndex,
  hasFormerLayout,
  isIndexCurrent,
  LARGE,
  QUEUE,
  STATE,
} from "./tables.ts";

/** A search waits this long for an index that is being built, then reports how many messages it did not search. */
const WAIT_FOR_BUILD_MS = 10_000;
/** With this many queued messages, indexing starts without waiting for a search. */
const QUEUED_BEFORE_WORK = 256;
const WAIT_ON_CLOSE_MS = 2_000;
/** Another program may hold the write lock for long, and a search does not need it. */
const WAIT_FOR_LOCK_MS = 250;

export type FinishOptions = {
  readonly signal?: AbortSignal;
  readonly onProgress?: (done: number, total: number) => void;
};

export class SearchIndex {
  readonly #connection: Connection;
  readonly #reading: Reading;
  readonly #isReadOnly: boolean;
  #background: Promise<void> | undefined;
  /** Also ends the pauses of the background work. They do not keep the process alive, so close must not wait for them. */
  readonly #closing = new AbortController();
  #isLookPlanned = false;
  #hasTriedFormer = false;
  /** The schema cookie at which the triggers were last checked. */
  #cookie: number | undefined;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#reading = new Reading(connection);
    this.#isReadOnly = connection.readOnlyBecause !== undefined;
    if (!this.#isReadOnly) connection.onWrite = () => this.#planLook();
  }

  /** Continues what an earlier process left, or starts the first build. Returns at once. */
  start(): void {
    if (!this.#isReadOnly) this.#workInBackground();
  }

  /** Runs `work` inside one read transaction, on an index that is as complete as 10 seconds allow. */
  async read<T>(work: (reader: IndexReader) => T): Promise<T> {
    if (!this.#isReadOnly) await this.#drain(WAIT_FOR_BUILD_MS);
    try {
      return await this.#readNow(work);
    } catch (cause) {
      // Made from the messages again. Damage in the messages table itself shows when they are read.
      if (this.#isReadOnly || indexRemedy(this.#connection, sqliteCause(cause)) === undefined) throw cause;
      await this.#drain(WAIT_FOR_BUILD_MS);
      return this.#readNow(work);
    }
  }

  async #readNow<T>(work: (reader: IndexReader) => T): Promise<T> {
    for (;;) {
      const found = await this.#connection.read(
        () => {
          // Each time, because a rolled-back attempt removes the table.
          prepareVocabulary(this.#connection);
          const reader = this.#reading.step();
          return reader === undefined ? undefined : { value: work(reader) };
        },
        { remedyFor: () => undefined },
      );
      if (found !== undefined) return found.value;
      await nextTurn();
    }
  }

  /** Indexes everything. False when the signal stopped it. */
  async finish({ signal, onProgress }: FinishOptions): Promise<boolean> {
    const total = await this.#todo();
    while (this.#hasWork()) {
      if (signal?.aborted) return false;
      if (await this.#step()) break;
      onProgress?.(total - (await this.#todo()), total);
      await nextTurn();
    }
    return !signal?.aborted;
  }

  /** Removes the documents of deleted messages. False when some are still there after `limitMs`. */
  async catchUp(limitMs: number): Promise<boolean> {
    await this.#drain(limitMs, "queue");
    return !this.#hasWork("queue");
  }

  /** Indexes what is queued, for at most two seconds. The rest stays queued for the next process. */
  async close(): Promise<void> {
    if (this.#isClosing) return;
    this.#closing.abort();
    await this.#background;
    // Messages that cannot be indexed now stay queued, and the next search or open reports the same error.
    if (!this.#isReadOnly) await this.#drain(WAIT_ON_CLOSE_MS, "queue").catch(() => undefined);
    this.#reading.close();
  }

  get #isClosing(): boolean {
    return this.#closing.signal.aborted;
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
      return false; // busy, or another program removed the table: the next search or open handles it
    }
  }

  #workInBackground(): void {
    if (this.#background !== undefined) return;
    this.#background = this.#loop()
      // Closed meanwhile, or searches will report the same error. Appends are not affected.
      .catch(() => undefined)
      .finally(() => {
        this.#background = undefined;
      });
  }

  async #loop(): Promise<void> {
    while (!this.#isClosing && !this.#connection.isClosed && this.#hasWork()) {
      const start = performance.now();
      if (await this.#step()) return;
      // Pauses as long as it worked, for the rest of this process and for other writers.
      const { signal } = this.#closing;
      await sleep(performance.now() - start, undefined, { ref: false, signal });
    }
  }

  /** In the foreground, until everything is done or the time is up. */
  async #drain(limitMs: number, what: "all" | "queue" = "all"): Promise<void> {
    const start = performance.now();
    while (this.#hasWork(what) && performance.now() - start < limitMs) {
      try {
        if (await this.#step(what, { waitLimitMs: WAIT_FOR_LOCK_MS })) return;
      } catch (cause) {
        if (!isLocked(cause)) throw cause;
        // Queued messages are in the overlay; messages never indexed are worth waiting for.
        if (what === "queue" || (await this.#todo()) === 0) return;
      }
      await nextTurn();
    }
  }

  /** Messages up to this id still have to be indexed. */
  #todo(): Promise<number> {
    return this.#connection.read(() => {
      try {
        return this.#connection.get<{ todo: number }>(TODO)?.todo ?? 0;
      } catch (cause) {
        if (isBusy(cause)) throw cause;
        return 0; // the step reports what is wrong
      }
    });
  }

  /** Does not take the write lock. */
  #hasWork(what: "all" | "queue" = "all"): boolean {
    const connection = this.#connection;
    try {
      if (connection.get(`SELECT 1 FROM ${QUEUE} LIMIT 1`) !== undefined) return true;
      if (what === "queue") return false;
      const now = Date.now() / 1000;
      return connection.get(IS_COMPLETE) === undefined || connection.get(IS_FREE, { now }) !== undefined;
    } catch {
      return what === "all"; // a table is missing or busy: the step reports which
    }
  }

  /** One transaction, or one large message. True when everything is done. */
  async #step(what: "all" | "queue" = "all", options: WriteOptions = {}): Promise<boolean> {
    const isDone = await this.#connection.write(() => this.#stepInside(what), {
      ...options,
      remedyFor: (cause) => indexRemedy(this.#connection, cause),
      isUnsynced: true, // it can be made again
    });
    if (!isDone || what === "queue") return isDone;
    // The remedy of that read may have emptied a damaged index, so look again.
    return !(await indexOneLarge(this.#connection)) && !this.#hasWork();
  }

  #stepInside(what: "all" | "queue"): boolean {
    const connection = this.#connection;
    const { db } = connection;
    if (schemaCookie(db) !== this.#cookie) {
      // First check, or another program changed the schema and may have removed our triggers.
      if (!isIndexCurrent(db)) ensureIndex(db);
      this.#cookie = schemaCookie(db);
    }
    const columns = featuresOf(connection).messages;
    if (!catchUpStep(connection, columns)) return false;
    if (what === "queue") return true;
    if (!buildStep(connection, columns)) return false;
    // Only when the new index is complete: a process of the old version could still search with the old one.
    if (!this.#hasTriedFormer && hasFormerLayout(db)) dropFormerLayout(db, connection.path);
    this.#hasTriedFormer = true; // once per process, because another process may keep the file open for long
    return checkAgainstMessages(db);
  }
}

const TODO = `SELECT todo FROM ${STATE}`;
const IS_COMPLETE = `SELECT 1 FROM ${STATE} WHERE todo <= 0 AND checked = (SELECT schema_version FROM pragma_schema_version)`;
const IS_FREE = `SELECT 1 FROM ${LARGE} WHERE until < :now`;

function isLocked(cause: unknown): boolean {
  return cause instanceof HermesError && cause.code === "session-db-locked";
}
