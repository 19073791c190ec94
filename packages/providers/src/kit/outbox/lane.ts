// One lane in one database, on disk or in memory.
import { setTimeout as sleep } from "node:timers/promises";
import {
  describeCause,
  forgetHolder,
  HermesError,
  isAliveHere,
  newHolder,
} from "@hermes-memory/core/internal/lib";
import type { Pauses } from "./batches.ts";
import { OutboxDatabase, storageProblem } from "./database.ts";
import {
  addMirror,
  countAll,
  deleteUnsent,
  eraseLane,
  eraseText,
  findMirrors,
  idsWith,
  mirrorsContaining,
  removeMirror,
  senderOf,
} from "./erase.ts";
import {
  addEntry,
  addItem,
  discardItems,
  EMPTY_STATE,
  findItem,
  isKnown,
  type LaneKey,
  type MovedEntry,
  readEntries,
  readHolders,
  readItems,
  readState,
  releaseHeld,
} from "./queue.ts";
import { Sender, type SenderOptions } from "./sender.ts";
import type { Sql } from "./sql.ts";
import type {
  Added,
  Deliver,
  LaneOptions,
  LaneState,
  Mirrors,
  NewItem,
  OutboxItem,
  OutboxLane,
} from "./types.ts";

const PAUSES: Pauses = { firstMs: 2_000, longestMs: 5 * 60_000, blockedMs: 5 * 60_000 };

/** How long erasing waits for the end of a delivery that it has aborted. */
const ABORT_MS = 2_000;
/** The same for one of another process, which looks at its lease every 5 s. */
const ABORT_ELSEWHERE_MS = 6_000;

/** One lane in one database. Opens no file: that is done by the first call that needs it. */
export class Lane implements OutboxLane {
  readonly mirrors: Mirrors;
  readonly #options: LaneOptions;
  readonly #key: LaneKey;
  readonly #name: string;
  readonly #database: OutboxDatabase;
  /** Owner of the lease and of held items; other processes can find out whether it is still there. */
  readonly #holder = newHolder();
  readonly #stopListening: () => void;
  #sender: Sender | undefined;
  #isClosed = false;
  /** Deliveries that erasing has aborted. */
  #aborting: Promise<void> = Promise.resolve();
  #abortMs = ABORT_MS;

  constructor(options: LaneOptions & { readonly databaseName?: string }) {
    this.#options = options;
    this.#key = { provider: options.provider, user: options.user };
    this.#name = JSON.stringify(this.#key);
    this.#database = OutboxDatabase.use({ ...options, name: options.databaseName });
    this.#stopListening = this.#database.listen({
      holder: this.#holder,
      changed: (lane) => {
        if (lane === this.#name) this.#sender?.poke();
      },
      erased: async (lane, isErased) => {
        if (lane === this.#name) await this.#sender?.abortSending(isErased);
      },
    });
    this.mirrors = this.#openMirrors();
  }

  add(item: NewItem): Added {
    if (this.#isClosed) return { kind: "failed", reason: "The outbox is closed." };
    const { maxItems, maxBytes } = this.#options;
    try {
      const body = JSON.stringify(item.body);
      if (body === undefined) return { kind: "failed", reason: "The body of the write is not a JSON value." };
      const request = { item, body, holder: this.#holder, now: new Date(), maxItems, maxBytes };
      const added = this.#database.write((sql) => addItem(sql, this.#key, request));
      if (added.kind === "queued" && !item.isHeld) this.#database.announce(this.#name);
      if (added.kind === "full") this.#options.log.warn(added.reason);
      return added;
    } catch (cause) {
      const problem = storageProblem(cause);
      return { kind: "failed", reason: explain("A write could not be queued", cause), problem };
    }
  }

  /** Whether an item with this key is queued or was delivered. */
  knows(dedupeKey: string): boolean {
    const known = () => this.#database.read((sql) => isKnown(sql, this.#key, dedupeKey, new Date())) ?? false;
    return this.#quietly("The outbox could not be read", known, false);
  }

  /** All items that wait or are held, with everything that `takeOver` needs. */
  entries(): readonly MovedEntry[] {
    return this.#database.read((sql) => readEntries(sql, this.#key)) ?? [];
  }

  /** Adds all of them, or none; those beyond the limits are refused. In the order of the entries. Throws SQLite's errors. */
  takeOver(entries: readonly MovedEntry[]): readonly Added[] {
    const { maxItems, maxBytes } = this.#options;
    const limits = { holder: this.#holder, maxItems, maxBytes };
    const added = this.#database.write((sql) =>
      entries.map((entry) => addEntry(sql, this.#key, entry, limits)),
    );
    this.#database.announce(this.#name);
    return added;
  }

  /** Removes them without a trace, dead ones and those in a batch included. */
  discard(ids: readonly number[]): void {
    this.#database.change((sql) => discardItems(sql, this.#key, ids));
  }

  get isSending(): boolean {
    return this.#sender?.isSending === true;
  }

  release(sessionId?: string): void {
    const release = (sql: Sql) => {
      if (sessionId !== undefined) return releaseHeld(sql, this.#key, { sessionId });
      // Those of other running agents are not ours to release.
      const orphaned = readHolders(sql, this.#key).filter((holder) => !isAliveHere(holder));
      return releaseHeld(sql, this.#key, { holders: [this.#holder, ...orphaned] });
    };
    this.#quietly("Held writes could not be released", () => this.#database.change(release), 0);
    this.#database.announce(this.#name);
  }

  withdraw(select: (item: OutboxItem) => boolean): number {
    const ids = this.items()
      .filter(select)
      .map(({ id }) => id);
    if (ids.length === 0) return 0;
    return this.#quietly(
      "Writes could not be withdrawn",
      () => this.#erase((sql) => deleteUnsent(sql, ids)),
      0,
    );
  }

  items(): readonly OutboxItem[] {
    const read = () => this.#database.read((sql) => readItems(sql, this.#key)) ?? [];
    return this.#quietly("The outbox could not be read", read, []);
  }

  start(
    deliver: Deliver,
    batchLimit: (kind: string) => number,
    more: Pick<SenderOptions, "isAskedFor" | "isAllowed"> = {},
  ): void {
    if (this.#isClosed || this.#sender !== undefined) return;
    const { log, pauses = PAUSES } = this.#options;
    this.#sender = new Sender({
      database: this.#database,
      key: this.#key,
      owner: this.#holder,
      pauses,
      log,
      deliver,
      batchLimit,
      ...more,
      onFree: () => this.#database.announce(this.#name),
    });
  }

  /** There may be something to send, or sending is allowed now. */
  poke(): void {
    this.#sender?.poke();
  }

  retryNow(): void {
    this.#sender?.retryNow();
  }

  async flush(ms: number, signal?: AbortSignal): Promise<number> {
    if (this.state().waiting > 0) await this.#sender?.flush(ms, signal);
    return this.state().waiting;
  }

  state(): LaneState {
    if (this.#isClosed) return EMPTY_STATE;
    try {
      return this.#database.read((sql) => readState(sql, this.#key)) ?? EMPTY_STATE;
    } catch (cause) {
      const message = explain("The state of the outbox could not be read", cause);
      return { ...EMPTY_STATE, lastError: { message, at: new Date().toISOString() } };
    }
  }

  where(id: number): "waiting" | "dead" | "gone" {
    const find = () => this.#database.read((sql) => findItem(sql, this.#key, id))?.state ?? "gone";
    // Nothing says that it was delivered.
    return this.#quietly<"waiting" | "dead" | "gone">("The outbox could not be read", find, "waiting");
  }

  refusalOf(id: number): string | undefined {
    const find = () => this.#database.read((sql) => findItem(sql, this.#key, id))?.error;
    return this.#quietly("The outbox could not be read", find, undefined);
  }

  forget(text: string, isDryRun: boolean): number {
    return this.#loudly("The outbox could not be searched for the text", () => {
      const ids = this.#database.read((sql) => idsWith(sql, this.#key, text)) ?? [];
      if (isDryRun) return ids.length;
      this.#noteSender(ids);
      const count = this.#erase((sql) => eraseText(sql, this.#key, text));
      this.#abort((id) => ids.includes(id));
      return count;
    });
  }

  eraseAll(isDryRun: boolean): number {
    return this.#loudly("The outbox could not be erased", () => {
      if (isDryRun) return this.#database.read((sql) => countAll(sql, this.#key)) ?? 0;
      this.#noteSender();
      const count = this.#erase((sql) => eraseLane(sql, this.#key));
      this.#abort(() => true);
      return count;
    });
  }

  /** Before items are erased, or all: another process may be sending them. */
  #noteSender(ids?: readonly number[]): void {
    const owner = this.#database.read((sql) => senderOf(sql, this.#key, ids));
    if (owner === undefined || this.#database.isHolder(owner) || !isAliveHere(owner)) return;
    this.#aborting = Promise.all([this.#aborting, sleep(ABORT_ELSEWHERE_MS)]).then(() => {});
    this.#abortMs = ABORT_ELSEWHERE_MS + ABORT_MS;
  }

  #abort(isErased: (id: number) => boolean): void {
    this.#aborting = Promise.all([this.#aborting, this.#database.announceErased(this.#name, isErased)]).then(
      () => {},
    );
  }

  async erased(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, this.#abortMs);
    });
    await Promise.race([this.#aborting, late]).finally(() => clearTimeout(timer));
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#stopListening();
    const finish = () => {
      forgetHolder(this.#holder);
      this.#database.announce(this.#name);
      this.#database.release();
    };
    if (this.#sender === undefined) finish();
    else void this.#sender.close().then(finish);
  }

  #openMirrors(): Mirrors {
    const [database, key] = [this.#database, this.#key];
    return {
      add: (mirrored) =>
        this.#quietly(
          "The id of a mirrored entry could not be kept",
          () => database.write((sql) => addMirror(sql, key, mirrored)),
          undefined,
        ),
      find: (target, text) =>
        this.#quietly(
          "Mirrored entries could not be read",
          () => database.read((sql) => findMirrors(sql, key, target, text)) ?? [],
          [],
        ),
      containing: (text) =>
        this.#quietly(
          "Mirrored entries could not be read",
          () => database.read((sql) => mirrorsContaining(sql, key, text)) ?? [],
          [],
        ),
      remove: (mirrored) => {
        const remove = () => this.#erase((sql) => removeMirror(sql, key, mirrored));
        this.#quietly("A mirrored entry could not be removed", remove, 0);
      },
    };
  }

  /** For calls of a running turn: a failure costs a line in the log. */
  #quietly<T>(what: string, work: () => T, nothing: T): T {
    if (this.#isClosed) return nothing;
    try {
      return work();
    } catch (cause) {
      this.#options.log.warn(explain(what, cause));
      return nothing;
    }
  }

  /** For calls of a user who must learn of a failure. */
  #loudly(what: string, work: () => number): number {
    if (this.#isClosed) return 0;
    try {
      return this.#database.patiently(work);
    } catch (cause) {
      throw new HermesError("outbox-unavailable", `${explain(what, cause)}.`, {
        hint: "Nothing was erased in the outbox. Close other processes that use it, check the disk, then try again.",
        cause,
      });
    }
  }

  /** Without a file there is nothing to erase. */
  #erase(work: (sql: Sql) => number): number {
    const count = this.#database.change(work) ?? 0;
    this.#database.emptyLog();
    return count;
  }
}

function explain(what: string, cause: unknown): string {
  const why =
    cause instanceof HermesError
      ? [cause.message, cause.hint].filter(Boolean).join(" ")
      : describeCause(cause);
  return `${what}: ${why}`;
}
