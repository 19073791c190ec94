// One process at a time works on a session. A turn takes the lease and keeps it alive; whoever comes second is told who has it.
// A holder on this machine whose process is gone, after a crash or a kill, holds nothing.
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { threadId } from "node:worker_threads";
import { errnoCode, randomHex } from "../../lib/index.ts";
import type { SessionStore } from "../../sessions/index.ts";

const TTL_SECONDS = 60;

/** Those of this thread's agents that are open: also of another copy of this package in the process. */
const LIVE = Symbol.for("hermes-memory.live-lease-holders");
const shared = globalThis as { [LIVE]?: Set<string> };
const liveHolders: Set<string> = shared[LIVE] ?? new Set();
shared[LIVE] = liveHolders;

/** Counts as alive until `forgetHolder`. */
export function newHolder(): string {
  const holder = `pid=${process.pid}:host=${hostname()}${NAMESPACE}:nonce=${THREAD}${randomHex(4)}`;
  liveHolders.add(holder);
  return holder;
}

/** Its agent is closed. */
export function forgetHolder(holder: string): void {
  liveHolders.delete(holder);
}

/** Numbers of processes mean nothing in another container, though it may share the host's name. Only Linux tells. */
const NAMESPACE = namespace();

function namespace(): string {
  try {
    return `/${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return "";
  }
}

/** What one thread knows of its agents says nothing about those of another. */
const THREAD = threadId === 0 ? "" : `${threadId}_`;

export class SessionLease {
  readonly #store: SessionStore;
  readonly #holder: string;
  readonly #ttlSeconds: number;
  #sessionId: string;
  /** Runs as long as the lease is taken. */
  #timer: ReturnType<typeof setInterval> | undefined;
  #isLost = false;
  #refusal: string | undefined;

  /** Nothing is asked of the database before `take`. */
  constructor(store: SessionStore, sessionId: string, holder: string, ttlSeconds = TTL_SECONDS) {
    this.#store = store;
    this.#sessionId = sessionId;
    this.#holder = holder;
    this.#ttlSeconds = ttlSeconds;
  }

  get isTaken(): boolean {
    return this.#timer !== undefined;
  }

  /** Somebody else has taken over, or had it before it could be asked for. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** Why it could not be had, when it was asked for too late. */
  get refusal(): string | undefined {
    return this.#refusal;
  }

  /** Undefined when it is taken; otherwise who has it. Rejects with a `HermesError` when the database cannot be used. */
  async take(sessionId = this.#sessionId): Promise<string | undefined> {
    this.#sessionId = sessionId;
    const busy = await acquire(this.#store, sessionId, this.#holder, this.#ttlSeconds);
    if (busy !== undefined) return busy;
    this.#timer ??= setInterval(() => void this.#renew(), (this.#ttlSeconds * 1000) / 3);
    this.#timer.unref();
    return undefined;
  }

  /** False once another process has taken over, as after a long sleep of this one; and before it was taken. */
  async isHeld(): Promise<boolean> {
    if (this.#isLost || !this.isTaken) return false;
    try {
      // No clock is asked: those of a process stand still while the machine sleeps. And a read waits for nobody.
      const held = await this.#store.getSessionLease(this.#sessionId);
      if (held?.holder === this.#holder) return true;
    } catch {
      return true; // nobody can take it from a database that is away
    }
    await this.#renew(); // it has run out; as long as nobody has taken it, it can be had again
    return !this.#isLost;
  }

  /** Takes a session that is about to be made, so that nobody gets in between. `switchTo` or `abandon` follows. */
  async prepare(sessionId: string): Promise<void> {
    await this.#store.acquireSessionLease(sessionId, this.#holder, { ttl: this.#ttlSeconds });
  }

  async switchTo(sessionId: string): Promise<void> {
    const old = this.#sessionId;
    this.#sessionId = sessionId;
    await this.#store.releaseSessionLease(old, this.#holder).catch(() => undefined);
  }

  async abandon(sessionId: string): Promise<void> {
    await this.#store.releaseSessionLease(sessionId, this.#holder).catch(() => undefined);
  }

  /** Harmless when it is not taken. `take` may follow. */
  async release(): Promise<void> {
    if (!this.isTaken) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    await this.#store.releaseSessionLease(this.#sessionId, this.#holder).catch(() => undefined); // it runs out by itself
  }

  /** For good: whoever works under it has to stop. */
  async giveUp(why: string): Promise<void> {
    this.#isLost = true;
    this.#refusal = why;
    await this.release();
  }

  async #renew(): Promise<void> {
    const id = this.#sessionId; // a compaction may move on while the database is waited for
    try {
      const isOurs = await this.#store.renewSessionLease(id, this.#holder, { ttl: this.#ttlSeconds });
      if (!isOurs && this.isTaken && id === this.#sessionId) this.#isLost = true;
    } catch {
      // The database is busy or away. As long as nobody else takes the lease it is ours; the next look tells.
    }
  }
}

/** Undefined when it was taken; otherwise who has it. */
async function acquire(
  store: SessionStore,
  sessionId: string,
  holder: string,
  ttl: number,
): Promise<string | undefined> {
  for (let attempt = 0; ; attempt += 1) {
    const lease = await store.acquireSessionLease(sessionId, holder, { ttl });
    if (lease.acquired) return undefined;
    const isGone = attempt === 0 && isDeadHere(lease.holder);
    if (!isGone || !(await store.breakSessionLease(sessionId, lease.holder)))
      return busyMessage(sessionId, lease);
  }
}

function busyMessage(
  sessionId: string,
  lease: { readonly holder: string; readonly acquired_at: number },
): string {
  const { pid, host } = partsOf(lease.holder);
  const who = pid === undefined ? lease.holder : `process ${pid}${isHere(host) ? "" : ` on ${host}`}`;
  const since = new Date(lease.acquired_at * 1000).toLocaleTimeString("en-GB");
  return `Session ${sessionId} is in use by ${who} since ${since}.`;
}

/** Known to be gone. A process of another machine, or of an unknown one, may well be alive. */
export function isDeadHere(holder: string): boolean {
  const { pid, host, thread } = partsOf(holder);
  if (pid === undefined || !isHere(host)) return false;
  // In a container a program that is started again often has the number of the one before.
  if (pid === process.pid) return thread === THREAD && !liveHolders.has(holder);
  try {
    process.kill(pid, 0);
    return isZombie(pid);
  } catch (cause) {
    return errnoCode(cause) === "ESRCH"; // EPERM: alive, of another user
  }
}

/** Without a namespace: from a system that has none. */
function isHere(host: string | undefined): boolean {
  return host === hostname() || host === `${hostname()}${NAMESPACE}`;
}

/** Killed, and its parent has not looked yet. Only Linux tells. */
function isZombie(pid: number): boolean {
  try {
    return /^\d+ \(.*\) Z /s.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

type HolderParts = { readonly pid?: number; readonly host?: string; readonly thread?: string };

function partsOf(holder: string): HolderParts {
  const match = /^pid=(\d+):host=(.*):nonce=(\d+_)?\w+$/.exec(holder);
  return match ? { pid: Number(match[1]), host: match[2] ?? "", thread: match[3] ?? "" } : {};
}
