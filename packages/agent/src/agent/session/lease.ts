// One process at a time works on a session. A turn takes the lease and keeps it alive; whoever comes second is told who has it.
// A holder on this machine whose process is gone, after a crash or a kill, holds nothing.
import { describeHolder, type HeldLease, isDeadHere, type SessionStore } from "@hermes-memory/core/sessions";

const TTL_SECONDS = 60;

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

function busyMessage(sessionId: string, { holder, acquired_at, expires_at }: HeldLease): string {
  const time = (seconds: number) => new Date(seconds * 1000).toLocaleTimeString("en-GB");
  return `Session ${sessionId} is in use by ${describeHolder(holder)} since ${time(acquired_at)}. Unless it is prolonged, its lease ends at ${time(expires_at)}.`;
}
