// The outbox of one provider and one user: writes that wait for a memory server. A lane is opened by the provider that sends from it;
// `commands.ts` reads the file without one.
import { setTimeout as sleep } from "node:timers/promises";
import {
  describeCause,
  forgetHolder,
  HermesError,
  isAliveHere,
  isDeadHere,
  newHolder,
  takeCodePoints,
} from "@hermes-memory/core/internal/lib";
import type { Logger } from "@hermes-memory/core/internal/logger";
import { redactSecrets } from "@hermes-memory/core/internal/security";
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
  giveUpLease,
  holdersOf,
  idsWith,
  isSending,
  type LaneKey,
  LEASE_MS,
  mirrorsContaining,
  type Next,
  obstacle,
  type PauseKind,
  readItems,
  readState,
  releaseHeld,
  releaseSession,
  removeMirror,
  renewLease,
  type Settled,
  settle,
  takeNext,
} from "./rows.ts";
import type {
  Added,
  Batch,
  Deliver,
  Delivery,
  LaneOptions,
  LaneState,
  Mirrors,
  NewItem,
  OutboxItem,
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

/** The outbox of one provider and one user. Opens no file: that is done by the first call that needs it. */
export class OutboxLane {
  /** What the mirrored entries of the curated memory are called at the server. */
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

  /** On disk when it resolves to `queued`; waits up to 15 s for other processes that write. In the order of the calls; never rejects. */
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

  /** Lets held items of the session go, or of all sessions. */
  release(sessionId?: string): void {
    // Those of other running agents are not ours to release.
    const isOurs = (holder: string) => holder === this.#holder || !isAliveHere(holder);
    this.#change("Held writes could not be released", undefined, (sql, lane) =>
      sessionId === undefined ? releaseHeld(sql, lane, isOurs) : releaseSession(sql, lane, sessionId),
    );
    this.#sender?.poke();
  }

  /** Removes items that were not sent yet (undone turns); a batch that is being sent stays. Returns how many. */
  withdraw(select: (item: OutboxItem) => boolean): number {
    const ids = this.items()
      .filter(select)
      .map(({ id }) => id);
    if (ids.length === 0) return 0;
    const count = this.#change("Writes could not be withdrawn", 0, (sql) => deleteUnsent(sql, ids));
    this.#file.emptyLog();
    return count;
  }

  /** Held and waiting items, oldest first. */
  items(): readonly OutboxItem[] {
    return this.#read("The outbox could not be read", [], readItems);
  }

  /**
   * Starts sending: first what an earlier process left. `isAskedFor`: a user's command sends now, so the first attempt does not wait for
   * a pause that the server asked for.
   */
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

  /** Tries again at once, whatever the pause: the key was changed. */
  retryNow(): void {
    this.#sender?.retryNow();
  }

  /** Waits until everything that is not held was delivered or died, or the lane has to pause, or `ms` are over. Resolves to what is left. */
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

  /** Where an item is now; "gone": it was delivered or erased. A held item is waiting. */
  where(id: number): "waiting" | "dead" | "gone" {
    // When it cannot be read, nothing says that it was delivered.
    return this.#quietly<"waiting" | "dead" | "gone">("The outbox could not be read", "waiting", () => {
      const found = this.#inLane((sql, lane) => findItem(sql, lane, id));
      return found === undefined ? "gone" : found.state === "dead" ? "dead" : "waiting";
    });
  }

  /** Why the server refused an item that is dead. */
  refusalOf(id: number): string | undefined {
    return this.#read(
      "The outbox could not be read",
      undefined,
      (sql, lane) => findItem(sql, lane, id)?.error ?? undefined,
    );
  }

  /**
   * Erases items, dead ones included, whose text contains `text`; with `isDryRun` only counts. Case-sensitive. Mirrors stay. Waits at most 2 s
   * for the end of a delivery of such items: what it took to the server can be found there afterwards. Rejects with `HermesError`.
   */
  async forget(text: string, isDryRun: boolean): Promise<number> {
    return await this.#erase(text, isDryRun, (sql, lane) => eraseText(sql, lane, text));
  }

  /** As `forget`, for all items and mirrors of the lane. */
  async eraseAll(isDryRun: boolean): Promise<number> {
    return await this.#erase("", isDryRun, eraseLane);
  }

  /** "" is contained in every item. */
  async #erase(text: string, isDryRun: boolean, erase: LaneWork<number>): Promise<number> {
    if (this.#isClosed) return 0;
    const isBeingSent = () =>
      this.#inLane((sql, lane) => isSending(sql, lane, idsWith(sql, lane, text), Date.now())) === true;
    try {
      if (isDryRun) return this.#inLane((sql, lane) => idsWith(sql, lane, text).length) ?? 0;
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

  /** Stops sending; what is left stays. A running delivery is aborted. */
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

  #inLane<T>(work: LaneWork<T>, how: "read" | "change" = "read"): T | undefined {
    return inLane(this.#file, this.#key, work, how);
  }

  #read<T>(what: string, nothing: T, work: LaneWork<T>): T {
    return this.#quietly(what, nothing, () => this.#inLane(work) ?? nothing);
  }

  #change<T>(what: string, nothing: T, work: LaneWork<T>): T {
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

/** Gets the number of the lane in the file. */
type LaneWork<T> = (sql: SqliteFile, lane: number) => T;

/** Undefined when nothing was ever written for this lane. Throws SQLite's errors and `HermesError`. */
function inLane<T>(file: OutboxFile, key: LaneKey, work: LaneWork<T>, how: "read" | "change"): T | undefined {
  return file[how]((sql) => {
    const lane = findLane(sql, key);
    return lane === undefined ? undefined : work(sql, lane);
  });
}

function explain(what: string, cause: unknown): string {
  const why =
    cause instanceof HermesError
      ? [cause.message, cause.hint].filter(Boolean).join(" ")
      : describeCause(cause);
  return `${what}: ${why}`;
}

// ---- Sending ----
// Sends the batches of one lane, in order, while no other process does. Timers never keep the process alive; only `flush` does.

const RENEW_MS = LEASE_MS / 4;
/** How often a sender looks for writes of other processes, and for the end of a lease. */
const IDLE_POLL_MS = 5_000;
const BUSY_POLL_MS = 250;
/** An outcome that is not on disk makes the batch go out a second time. */
const RECORD_MS = 30_000;
const LONGEST_REASON = 500;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

type SenderOptions = {
  readonly file: OutboxFile;
  readonly key: LaneKey;
  /** From `newHolder`. */
  readonly owner: string;
  readonly pauses: Pauses;
  readonly log: Logger;
  readonly deliver: Deliver;
  readonly batchLimit: (kind: string) => number;
  /** A user asked for sending now: the first attempt does not wait for a pause that the server asked for. */
  readonly isAskedFor?: boolean;
};

class Sender {
  readonly #options: SenderOptions;
  /** Ends of running `flush` calls. */
  readonly #flushes = new Set<() => void>();
  readonly #closing = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  /** Nothing was tried since the start: pauses of earlier processes do not count, except those that the server asked for. */
  #isFresh = true;
  /** A `flush` may skip one pause. */
  #mayHurry = false;
  #isFirstRun = true;
  /** Something changed after the run had looked. */
  #isPoked = false;

  constructor(options: SenderOptions) {
    this.#options = options;
    this.#runIn(0);
  }

  /** There may be something to send. */
  poke(): void {
    this.#isPoked = true;
    if (this.#running === undefined) this.#runIn(0);
  }

  /** Resolves when there is nothing to send, the lane pauses, `ms` are over, or `signal` is aborted. */
  flush(ms: number, signal?: AbortSignal): Promise<void> {
    if (this.#closing.signal.aborted || !(ms > 0) || signal?.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", end);
        this.#flushes.delete(end);
        resolve();
      };
      const timer = setTimeout(end, Math.min(ms, LONGEST_TIMER_MS));
      signal?.addEventListener("abort", end);
      this.#flushes.add(end);
      this.#mayHurry = this.#running === undefined;
      this.poke();
    });
  }

  /** Tries again now, whatever the pause: the key was changed. */
  retryNow(): void {
    this.#isFresh = true;
    this.poke();
  }

  /** Aborts a running delivery. Resolves when it has ended: until then the lease is kept, so that no other process sends the batch. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#timer);
    this.#endFlushes();
    await this.#running;
  }

  #runIn(ms: number): void {
    clearTimeout(this.#timer);
    if (this.#closing.signal.aborted) return;
    this.#timer = setTimeout(() => {
      this.#running = this.#run().then((waitMs) => {
        this.#running = undefined;
        this.#runIn(this.#isPoked ? 0 : waitMs);
      });
    }, ms).unref();
  }

  /** Sends until nothing can be sent. Resolves to the milliseconds until the next look; never rejects. */
  async #run(): Promise<number> {
    this.#adoptHeld();
    let hasSent = false;
    let next: Next = { kind: "nothing" };
    while (!this.#closing.signal.aborted) {
      this.#isPoked = false;
      next = this.#next();
      if (next.kind !== "batch") break;
      hasSent = true;
      await this.#send(next.batch);
    }
    if (hasSent) this.#quietly((sql, lane) => giveUpLease(sql, lane, this.#options.owner));
    if (next.kind === "busy") return this.#flushes.size > 0 ? 20 : BUSY_POLL_MS;
    this.#endFlushes();
    return next.kind === "paused" ? Math.min(next.ms, IDLE_POLL_MS) : IDLE_POLL_MS;
  }

  #endFlushes(): void {
    for (const end of [...this.#flushes]) end();
    this.#mayHurry = false;
  }

  #next(): Next {
    const { file, key, owner, batchLimit } = this.#options;
    const request = { owner, nowMs: Date.now(), ignores: this.#ignoredPauses(), batchLimit };
    try {
      const lane = file.read((sql) => findLane(sql, key));
      if (lane === undefined) return { kind: "nothing" };
      // Without the lock of the file when there is nothing to do.
      const found = file.read((sql) => obstacle(sql, lane, request));
      const next = found ?? file.write((sql) => takeNext(sql, lane, request));
      if (next.kind === "batch") {
        this.#isFresh = false;
        this.#mayHurry = false;
      }
      return next;
    } catch (cause) {
      this.#options.log.debug("The outbox could not be read.", { reason: describeCause(cause) });
      return { kind: "paused", ms: IDLE_POLL_MS };
    }
  }

  #ignoredPauses(): readonly PauseKind[] {
    if (this.#isFresh) {
      const standard = ["later", "blocked", "refused"] as const;
      return this.#options.isAskedFor === true ? [...standard, "asked"] : standard;
    }
    if (this.#flushes.size === 0) return [];
    return this.#mayHurry ? ["later", "refused"] : ["refused"]; // a server that refuses does answer
  }

  /** Held items of processes that have ended are let go; at the start also those of processes that cannot be looked up from here. */
  #adoptHeld(): void {
    const isGone = this.#isFirstRun ? (holder: string) => !isAliveHere(holder) : isDeadHere;
    this.#isFirstRun = false;
    // Without the lock of the file when there are none.
    if (this.#quietly((sql, lane) => holdersOf(sql, lane).some(isGone), "read"))
      this.#quietly((sql, lane) => releaseHeld(sql, lane, isGone));
  }

  async #send(batch: Batch): Promise<void> {
    const { owner } = this.#options;
    const lost = new AbortController();
    const renewing = setInterval(() => {
      const isOwner = this.#quietly((sql, lane) => renewLease(sql, lane, owner, Date.now()));
      if (isOwner === false) lost.abort();
    }, RENEW_MS).unref();
    const signal = AbortSignal.any([lost.signal, this.#closing.signal]);
    const delivery = await this.#deliver(batch, signal);
    if (delivery !== undefined) await this.#record(batch, delivery);
    clearInterval(renewing);
  }

  /** Undefined: it was aborted. */
  async #deliver(batch: Batch, signal: AbortSignal): Promise<Delivery | undefined> {
    try {
      const delivery = await this.#options.deliver(batch, signal);
      if (delivery.kind === "delivered") return delivery;
      return signal.aborted ? undefined : { ...delivery, reason: toReason(delivery.reason) };
    } catch (cause) {
      return signal.aborted ? undefined : { kind: "later", reason: toReason(describeCause(cause)) };
    }
  }

  async #record(batch: Batch, delivery: Delivery): Promise<void> {
    const { file, key, owner, pauses, log } = this.#options;
    const settleNow: LaneWork<Settled> = (sql, lane) =>
      settle(sql, lane, { owner, batch, delivery, now: new Date(), pauses });
    const record = () => inLane(file, key, settleNow, "change");
    try {
      this.#report(batch, delivery, await retryWhileBusy(record, RECORD_MS));
    } catch (cause) {
      const reason = describeCause(cause);
      log.warn("The outcome of a delivery could not be written to the outbox.", { reason });
    }
  }

  #report({ kind, items, attempt }: Batch, delivery: Delivery, settled: Settled | undefined): void {
    if (!("reason" in delivery)) return;
    const { key, log } = this.#options;
    const fields = { kind, items: items.length, attempt, reason: delivery.reason };
    if (settled === "dead")
      log.warn(`${key.provider} refused a write three times; it is a dead letter now.`, fields);
    else if (delivery.kind === "blocked")
      log.warn(`${key.provider} takes no writes; they wait in the outbox.`, fields);
    else log.info(`${key.provider} did not take a write; it is tried again.`, fields);
  }

  /** Undefined when the file cannot be used now: the lease then ends by itself, held writes wait. */
  #quietly<T>(work: LaneWork<T>, how: "read" | "change" = "change"): T | undefined {
    const { file, key, log } = this.#options;
    try {
      return inLane(file, key, work, how);
    } catch (cause) {
      log.debug("The outbox could not be used.", { reason: describeCause(cause) });
      return undefined;
    }
  }
}

function toReason(text: string): string {
  return takeCodePoints(redactSecrets(text), LONGEST_REASON);
}
