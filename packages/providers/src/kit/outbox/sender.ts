// Sends the batches of one lane, in order, while no other process does. Timers never keep the process alive; only `flush` does.
import { describeCause, isAliveHere, isDeadHere, takeCodePoints } from "@hermes-memory/core/internal/lib";
import type { Logger } from "@hermes-memory/core/internal/logger";
import { redactSecrets } from "@hermes-memory/core/internal/security";
import {
  giveUpLease,
  keepLease,
  LEASE_MS,
  type Next,
  type Outcome,
  type Pauses,
  peekNext,
  type Settled,
  settle,
  takeNext,
} from "./batches.ts";
import type { OutboxDatabase } from "./database.ts";
import { type LaneKey, type PauseKind, readHolders, releaseHeld } from "./queue.ts";
import type { Batch, Deliver } from "./types.ts";

const RENEW_MS = 5_000;
/** A lease that ended by the clock is taken over after the owner missed two renewals: the clock may have been set forward. */
const MISSED_RENEWALS_MS = 12_000;
/** How often a sender looks for writes of other processes. */
const IDLE_POLL_MS = 5_000;
const LONGEST_BUSY_POLL_MS = 1_000;
const LONGEST_REASON = 500;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export type SenderOptions = {
  readonly database: OutboxDatabase;
  readonly key: LaneKey;
  /** From `newHolder`. */
  readonly owner: string;
  readonly pauses: Pauses;
  readonly log: Logger;
  readonly deliver: Deliver;
  readonly batchLimit: (kind: string) => number;
  /** Called when the lane is free again after something was sent: other lane objects of this process may wait for that. */
  readonly onFree: () => void;
  /** A user asked for sending now: the first attempt does not wait for a pause that the server asked for. */
  readonly isAskedFor?: boolean;
  /** False: nothing is sent now. */
  readonly isAllowed?: () => boolean;
};

export class Sender {
  readonly #options: SenderOptions;
  readonly #busyPollMs: number;
  /** Ends of running `flush` calls. */
  readonly #flushes = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #sending:
    | { readonly batch: Batch; readonly abort: AbortController; readonly ended: Promise<unknown> }
    | undefined;
  #isClosed = false;
  /** Nothing was tried since the start: pauses of earlier processes do not count, except those that the server asked for. */
  #isFresh = true;
  /** A `flush` may skip one pause. */
  #mayHurry = false;
  /** The lease of another owner, and since when it has not been renewed, by the clock that nobody can set. */
  #seen: { readonly owner: string; readonly untilMs: number; readonly sinceMs: number } | undefined;
  #storageFailures = 0;
  #isFirstRun = true;
  /** In this run. */
  #hasSent = false;
  /** Something changed after the run had looked. */
  #isPoked = false;

  constructor(options: SenderOptions) {
    this.#options = options;
    this.#busyPollMs = Math.min(LONGEST_BUSY_POLL_MS, Math.max(10, options.pauses.firstMs / 2));
    this.#runIn(0);
  }

  /** There may be something to send. */
  poke(): void {
    this.#isPoked = true;
    if (this.#running === undefined) this.#runIn(0);
  }

  /** Resolves when there is nothing to send, the lane pauses, `ms` are over, or `signal` is aborted. */
  flush(ms: number, signal?: AbortSignal): Promise<void> {
    if (this.#isClosed || !(ms > 0) || signal?.aborted) return Promise.resolve();
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

  get isSending(): boolean {
    return this.#sending !== undefined;
  }

  /** Stops a delivery that contains an item for which `isErased` is true. Resolves when it has ended. */
  async abortSending(isErased: (id: number) => boolean): Promise<void> {
    if (!this.#sending?.batch.items.some(({ id }) => isErased(id))) return;
    this.#sending.abort.abort();
    await this.#sending.ended;
  }

  /** Aborts a running delivery. Resolves when it has ended: until then the lease is kept, so that no other process sends the batch. */
  close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#sending?.abort.abort();
    this.#endFlushes();
    return this.#running ?? Promise.resolve();
  }

  #runIn(ms: number): void {
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#running = this.#run().then((waitMs) => {
        this.#running = undefined;
        if (this.#hasSent) this.#options.onFree();
        this.#runIn(this.#isPoked ? 0 : waitMs);
      });
    }, ms).unref();
  }

  /** Sends until nothing can be sent. Resolves to the milliseconds until the next look; never rejects. */
  async #run(): Promise<number> {
    this.#hasSent = false;
    this.#adoptHeld();
    while (!this.#isClosed) {
      this.#isPoked = false;
      const next = this.#next();
      if (next.kind === "busy") return this.#busyPollMs;
      if (next.kind === "batch") {
        this.#hasSent = true;
        await this.#send(next.batch);
        continue;
      }
      this.#endFlushes();
      return next.kind === "paused" ? Math.min(next.ms, IDLE_POLL_MS) : IDLE_POLL_MS;
    }
    this.#giveUpLease();
    return 0;
  }

  #giveUpLease(): void {
    const { database, key, owner, log } = this.#options;
    try {
      database.change((sql) => giveUpLease(sql, key, owner));
    } catch (cause) {
      log.debug("The lease of the outbox could not be given up.", { reason: describeCause(cause) });
    }
  }

  #endFlushes(): void {
    for (const end of [...this.#flushes]) end();
    this.#mayHurry = false;
  }

  #next(): Next {
    const { database, key, owner, pauses, isAllowed = () => true } = this.#options;
    if (!isAllowed()) return { kind: "nothing" };
    const request = {
      owner,
      nowMs: Date.now(),
      ignores: this.#ignoredPauses(),
      mayTakeOver: (other: string, untilMs: number) => this.#mayTakeOver(other, untilMs),
      batchLimit: (kind: string) => this.#batchLimit(kind),
    };
    try {
      const found = database.read((sql) => peekNext(sql, key, request) ?? "something") ?? { kind: "nothing" };
      const next = found === "something" ? database.write((sql) => takeNext(sql, key, request)) : found;
      this.#storageFailures = 0;
      if (next.kind === "batch") {
        this.#isFresh = false;
        this.#mayHurry = false;
      }
      return next;
    } catch (cause) {
      this.#storageFailures += 1;
      this.#options.log.debug("The outbox could not be read.", { reason: describeCause(cause) });
      const ms = Math.min(pauses.longestMs, pauses.firstMs * 2 ** Math.min(this.#storageFailures, 20));
      return { kind: "paused", pause: "later", ms };
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

  #batchLimit(kind: string): number {
    try {
      return this.#options.batchLimit(kind);
    } catch {
      return 1;
    }
  }

  #mayTakeOver(owner: string, untilMs: number): boolean {
    if (isDeadHere(owner)) return true;
    if (this.#seen?.owner !== owner || this.#seen.untilMs !== untilMs)
      this.#seen = { owner, untilMs, sinceMs: performance.now() };
    const unchangedMs = performance.now() - this.#seen.sinceMs;
    if (unchangedMs >= LEASE_MS) return true;
    return untilMs < Date.now() && unchangedMs >= MISSED_RENEWALS_MS && !isAliveHere(owner);
  }

  /** Held items of processes that have ended are let go; at the start also those of processes that cannot be looked up from here. */
  #adoptHeld(): void {
    const { database, key } = this.#options;
    const isGone = this.#isFirstRun ? (holder: string) => !isAliveHere(holder) : isDeadHere;
    this.#isFirstRun = false;
    try {
      const holders = database.read((sql) => readHolders(sql, key))?.filter(isGone) ?? [];
      if (holders.length > 0) database.change((sql) => releaseHeld(sql, key, { holders }));
    } catch (cause) {
      this.#options.log.debug("Held writes of the outbox could not be released.", {
        reason: describeCause(cause),
      });
    }
  }

  async #send(batch: Batch): Promise<void> {
    const abort = new AbortController();
    const ending = this.#outcomeOf(batch, abort.signal);
    this.#sending = { batch, abort, ended: ending };
    const renewing = setInterval(() => this.#renew(abort), RENEW_MS).unref();
    const outcome = await ending;
    await this.#record(batch, outcome);
    clearInterval(renewing);
    this.#sending = undefined;
  }

  #renew(abort: AbortController): void {
    if (this.#isClosed) return;
    const { database, key, owner } = this.#options;
    try {
      if (!database.write((sql) => keepLease(sql, key, owner, Date.now()))) abort.abort();
    } catch (cause) {
      this.#options.log.debug("The lease of the outbox could not be renewed.", {
        reason: describeCause(cause),
      });
    }
  }

  async #outcomeOf(batch: Batch, signal: AbortSignal): Promise<Outcome> {
    try {
      const delivery = await this.#options.deliver(batch, signal);
      if (delivery.kind === "delivered") return delivery;
      if (signal.aborted) return { kind: "aborted" };
      return { ...delivery, reason: toReason(delivery.reason) };
    } catch (cause) {
      return signal.aborted ? { kind: "aborted" } : { kind: "later", reason: toReason(describeCause(cause)) };
    }
  }

  /** Repeated until it is on disk: a delivered batch that is not recorded would be sent again. */
  async #record(batch: Batch, outcome: Outcome): Promise<void> {
    const { database, key, owner, pauses, log } = this.#options;
    for (let failures = 0; ; failures += 1) {
      try {
        const settlement = { owner, batch, outcome, now: new Date(), pauses, jitter: Math.random() };
        this.#report(
          batch,
          outcome,
          database.write((sql) => settle(sql, key, settlement)),
        );
        return;
      } catch (cause) {
        log.warn("The outcome of a delivery could not be written to the outbox.", {
          reason: describeCause(cause),
        });
        if (this.#isClosed) return;
        this.#endFlushes();
        await idle(Math.min(pauses.longestMs, pauses.firstMs * 2 ** Math.min(failures, 20)));
      }
    }
  }

  #report(batch: Batch, outcome: Outcome, settled: Settled): void {
    if (!("reason" in outcome)) return;
    const { key, log } = this.#options;
    const fields = {
      kind: batch.kind,
      items: batch.items.length,
      attempt: batch.attempt,
      reason: outcome.reason,
    };
    if (settled === "dead")
      log.warn(`${key.provider} refused a write three times; it is a dead letter now.`, fields);
    else if (outcome.kind === "blocked")
      log.warn(`${key.provider} takes no writes; they wait in the outbox.`, fields);
    else log.info(`${key.provider} did not take a write; it is tried again.`, fields);
  }
}

function toReason(text: string): string {
  return takeCodePoints(redactSecrets(text), LONGEST_REASON);
}

function idle(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
