// The outbox of one provider and one user: writes that wait for a memory server. A lane is opened by the provider that sends from it;
// `commands.ts` reads the file without one.
import { setTimeout as sleep } from "node:timers/promises";
import {
  describeCause,
  forgetHolder,
  HermesError,
  isAliveHere,
  newHolder,
} from "@hermes-memory/core/internal/lib";
import { retryWhileBusy, type SqliteFile } from "@hermes-memory/core/internal/sqlite";
import { OutboxFile, PATIENT_MS } from "./database.ts";
import {
  addItem,
  addMirror,
  deleteUnsent,
  eraseLane,
  eraseText,
  findItem,
  findLane,
  idsWith,
  isSending,
  type LaneKey,
  mirrorsContaining,
  readItems,
  readState,
  releaseHeld,
  releaseSession,
  removeMirror,
} from "./rows.ts";
import { Sender } from "./sender.ts";
import type {
  Added,
  Deliver,
  LaneOptions,
  LaneState,
  Mirrors,
  NewItem,
  OutboxItem,
  OutboxLane,
  Pauses,
} from "./types.ts";

export { outboxPath } from "./database.ts";
export type * from "./types.ts";

const PAUSES: Pauses = { firstMs: 2_000, longestMs: 5 * 60_000, blockedMs: 5 * 60_000 };
/** How long a write waits for other processes that write. */
const ADD_MS = 15_000;
/** How long erasing waits for the end of a delivery. */
const SENDING_MS = 2_000;

const EMPTY_STATE: LaneState = { waiting: 0, held: 0, dead: 0, refused: 0 };

/** Opens no file: that is done by the first call that needs it. */
export function openLane(options: LaneOptions): OutboxLane {
  return new Lane(options);
}

class Lane implements OutboxLane {
  readonly mirrors: Mirrors;
  readonly #options: LaneOptions;
  readonly #key: LaneKey;
  readonly #file: OutboxFile;
  /** Owner of the lease and of held items; other processes can find out whether it is still there. */
  readonly #holder = newHolder();
  #sender: Sender | undefined;
  #isClosed = false;
  /** The last write that waits for the file. */
  #adding: Promise<unknown> | undefined;

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#key = { provider: options.provider, user: options.user };
    this.#file = new OutboxFile(options.isDurable ? options.home : undefined, options.log);
    this.mirrors = this.#openMirrors();
  }

  async add(item: NewItem): Promise<Added> {
    if (this.#isClosed) return { kind: "failed", reason: "The outbox is closed." };
    // A write goes to the disk before the call returns, unless an earlier one waits for the file.
    const added = this.#adding === undefined ? this.#add(item) : this.#adding.then(() => this.#add(item));
    this.#adding = added;
    const result = await added;
    if (this.#adding === added) this.#adding = undefined;
    return result;
  }

  async #add(item: NewItem): Promise<Added> {
    const { maxItems, maxBytes, log } = this.#options;
    try {
      const body = JSON.stringify(item.body);
      if (body === undefined) return { kind: "failed", reason: "The body of the write is not a JSON value." };
      const request = { item, body, holder: this.#holder, now: new Date(), maxItems, maxBytes };
      const write = () => this.#file.write((sql) => addItem(sql, this.#key, request));
      const added = await retryWhileBusy(write, ADD_MS);
      if (added.kind === "queued" && !item.isHeld) this.#sender?.poke();
      if (added.kind === "full") log.warn(added.reason);
      return added;
    } catch (cause) {
      return { kind: "failed", reason: explain("A write could not be queued", cause) };
    }
  }

  release(sessionId?: string): void {
    // Those of other running agents are not ours to release.
    const isOurs = (holder: string) => holder === this.#holder || !isAliveHere(holder);
    this.#change("Held writes could not be released", undefined, (sql, lane) =>
      sessionId === undefined ? releaseHeld(sql, lane, isOurs) : releaseSession(sql, lane, sessionId),
    );
    this.#sender?.poke();
  }

  withdraw(select: (item: OutboxItem) => boolean): number {
    const ids = this.items()
      .filter(select)
      .map(({ id }) => id);
    if (ids.length === 0) return 0;
    const count = this.#change("Writes could not be withdrawn", 0, (sql) => deleteUnsent(sql, ids));
    this.#file.emptyLog();
    return count;
  }

  items(): readonly OutboxItem[] {
    return this.#read("The outbox could not be read", [], readItems);
  }

  start(
    deliver: Deliver,
    batchLimit: (kind: string) => number,
    { isAskedFor }: { readonly isAskedFor?: boolean } = {},
  ): void {
    if (this.#isClosed || this.#sender !== undefined) return;
    const { log, pauses = PAUSES } = this.#options;
    const [file, key, owner] = [this.#file, this.#key, this.#holder];
    this.#sender = new Sender({ file, key, owner, pauses, log, deliver, batchLimit, isAskedFor });
  }

  retryNow(): void {
    this.#sender?.retryNow();
  }

  async flush(ms: number, signal?: AbortSignal): Promise<number> {
    await this.#adding;
    if (this.state().waiting > 0) await this.#sender?.flush(ms, signal);
    return this.state().waiting;
  }

  state(): LaneState {
    if (this.#isClosed) return EMPTY_STATE;
    try {
      return this.#inLane((sql, lane) => readState(sql, lane)) ?? EMPTY_STATE;
    } catch (cause) {
      const message = explain("The state of the outbox could not be read", cause);
      return { ...EMPTY_STATE, lastError: { message, at: new Date().toISOString() } };
    }
  }

  where(id: number): "waiting" | "dead" | "gone" {
    // When it cannot be read, nothing says that it was delivered.
    return this.#quietly<"waiting" | "dead" | "gone">("The outbox could not be read", "waiting", () => {
      const found = this.#inLane((sql, lane) => findItem(sql, lane, id));
      return found === undefined ? "gone" : found.state === "dead" ? "dead" : "waiting";
    });
  }

  refusalOf(id: number): string | undefined {
    return this.#read(
      "The outbox could not be read",
      undefined,
      (sql, lane) => findItem(sql, lane, id)?.error ?? undefined,
    );
  }

  async forget(text: string, isDryRun: boolean): Promise<number> {
    return await this.#erase(text, isDryRun, (sql, lane) => eraseText(sql, lane, text));
  }

  async eraseAll(isDryRun: boolean): Promise<number> {
    return await this.#erase("", isDryRun, eraseLane);
  }

  /** "" is contained in every item. */
  async #erase(
    text: string,
    isDryRun: boolean,
    erase: (sql: SqliteFile, lane: number) => number,
  ): Promise<number> {
    if (this.#isClosed) return 0;
    const isBeingSent = () =>
      this.#inLane((sql, lane) => isSending(sql, lane, idsWith(sql, lane, text), Date.now())) === true;
    try {
      if (isDryRun) return this.#inLane((sql, lane) => idsWith(sql, lane, text).length) ?? 0;
      if (isBeingSent()) Sender.interrupt(this.#file, this.#key, SENDING_MS + 500);
      const until = performance.now() + SENDING_MS;
      while (isBeingSent() && performance.now() < until) await sleep(20);
      const isUnderWay = isBeingSent();
      const count = await retryWhileBusy(() => this.#inLane(erase, "change"), PATIENT_MS);
      this.#file.emptyLog();
      if (!isUnderWay) return count ?? 0;
      throw new HermesError("outbox-sending", "What was to be erased is being sent at this moment.", {
        hint: "It is erased in the outbox. Do the same again in a minute, so that the server erases it too.",
      });
    } catch (cause) {
      if (cause instanceof HermesError) throw cause;
      throw new HermesError("outbox-unavailable", `${explain("The outbox could not be erased", cause)}.`, {
        hint: "Nothing was erased in the outbox. Close other processes that use it, check the disk, then try again.",
        cause,
      });
    }
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const finish = () => {
      forgetHolder(this.#holder);
      this.#file.close();
    };
    if (this.#sender === undefined && this.#adding === undefined) finish();
    else void Promise.all([this.#sender?.close(), this.#adding]).then(finish);
  }

  #openMirrors(): Mirrors {
    const unread = "Mirrored entries could not be read";
    const containing = (text: string) =>
      this.#read(unread, [], (sql, lane) => mirrorsContaining(sql, lane, text));
    return {
      add: (mirrored) => {
        const add = () => this.#file.write((sql) => addMirror(sql, this.#key, mirrored));
        this.#quietly("The id of a mirrored entry could not be kept", undefined, add);
      },
      find: (target, text) => containing(text).filter((each) => each.target === target && each.text === text),
      containing,
      remove: (mirrored) => {
        const remove = (sql: SqliteFile, lane: number) => removeMirror(sql, lane, mirrored);
        this.#change("A mirrored entry could not be removed", undefined, remove);
        this.#file.emptyLog();
      },
    };
  }

  /** Undefined when nothing was ever written for this lane. Throws SQLite's errors and `HermesError`. */
  #inLane<T>(work: (sql: SqliteFile, lane: number) => T, how: "read" | "change" = "read"): T | undefined {
    return this.#file[how]((sql) => {
      const lane = findLane(sql, this.#key);
      return lane === undefined ? undefined : work(sql, lane);
    });
  }

  #read<T>(what: string, nothing: T, work: (sql: SqliteFile, lane: number) => T): T {
    return this.#quietly(what, nothing, () => this.#inLane(work) ?? nothing);
  }

  #change<T>(what: string, nothing: T, work: (sql: SqliteFile, lane: number) => T): T {
    return this.#quietly(what, nothing, () => this.#inLane(work, "change") ?? nothing);
  }

  /** For calls of a running turn: a failure costs a line in the log. */
  #quietly<T>(what: string, nothing: T, work: () => T): T {
    if (this.#isClosed) return nothing;
    try {
      return work();
    } catch (cause) {
      this.#options.log.warn(explain(what, cause));
      return nothing;
    }
  }
}

function explain(what: string, cause: unknown): string {
  const why =
    cause instanceof HermesError
      ? [cause.message, cause.hint].filter(Boolean).join(" ")
      : describeCause(cause);
  return `${what}: ${why}`;
}
