// Sends the batches of one lane, in order, while no other process does. Timers never keep the process alive; only `flush` does.
import { describeCause, isAliveHere, isDeadHere, takeCodePoints } from "@hermes-memory/core/internal/lib";
import type { Logger } from "@hermes-memory/core/internal/logger";
import { redactSecrets } from "@hermes-memory/core/internal/security";
import { retryWhileBusy, type SqliteFile } from "@hermes-memory/core/internal/sqlite";
import type { OutboxFile } from "./database.ts";
import {
  findLane,
  giveUpLease,
  holdersOf,
  type LaneKey,
  LEASE_MS,
  type Next,
  obstacle,
  type PauseKind,
  releaseHeld,
  renewLease,
  type Settled,
  settle,
  takeNext,
} from "./rows.ts";
import type { Batch, Deliver, Delivery, Pauses } from "./types.ts";

const RENEW_MS = LEASE_MS / 4;
/** How often a sender looks for writes of other processes, and for the end of a lease. */
const IDLE_POLL_MS = 5_000;
const BUSY_POLL_MS = 250;
/** An outcome that is not on disk makes the batch go out a second time. */
const RECORD_MS = 30_000;
const LONGEST_REASON = 500;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export type SenderOptions = {
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

export class Sender {
  static readonly #all = new Set<Sender>();
  readonly #options: SenderOptions;
  /** Ends of running `flush` calls. */
  readonly #flushes = new Set<() => void>();
  readonly #closing = new AbortController();
  #sending: AbortController | undefined;
  #restsUntilMs = 0;
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
    Sender.#all.add(this);
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

  /** Aborts the delivery of this lane that an agent of this process has under way; none begins before the end of `ms`. */
  static interrupt(file: OutboxFile, { provider, user }: LaneKey, ms: number): void {
    for (const each of Sender.#all) {
      const { file: own, key } = each.#options;
      if (own.path !== file.path || key.provider !== provider || key.user !== user) continue;
      each.#restsUntilMs = performance.now() + ms;
      each.#sending?.abort();
    }
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
    Sender.#all.delete(this);
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
    const restMs = this.#restsUntilMs - performance.now();
    if (restMs > 0) return { kind: "paused", ms: restMs };
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
    this.#sending = lost;
    const renewing = setInterval(() => {
      const isOwner = this.#quietly((sql, lane) => renewLease(sql, lane, owner, Date.now()));
      if (isOwner === false) lost.abort();
    }, RENEW_MS).unref();
    const signal = AbortSignal.any([lost.signal, this.#closing.signal]);
    const delivery = await this.#deliver(batch, signal);
    if (delivery !== undefined) await this.#record(batch, delivery);
    clearInterval(renewing);
    this.#sending = undefined;
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
    const record = () =>
      file.change((sql) => {
        const lane = findLane(sql, key);
        const settlement = { owner, batch, delivery, now: new Date(), pauses };
        return lane === undefined ? undefined : settle(sql, lane, settlement);
      });
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
  #quietly<T>(work: (sql: SqliteFile, lane: number) => T, how: "read" | "change" = "change"): T | undefined {
    const { file, key, log } = this.#options;
    try {
      return file[how]((sql) => {
        const lane = findLane(sql, key);
        return lane === undefined ? undefined : work(sql, lane);
      });
    } catch (cause) {
      log.debug("The outbox could not be used.", { reason: describeCause(cause) });
      return undefined;
    }
  }
}

function toReason(text: string): string {
  return takeCodePoints(redactSecrets(text), LONGEST_REASON);
}
