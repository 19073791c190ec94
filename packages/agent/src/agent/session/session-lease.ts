// The lease of a session: one process at a time works on a session. A turn takes the lease and renews it every 20 seconds; a second
// process gets a message that names the holder.
import {
  describeHolder,
  type HeldLease,
  isDeadHere,
  type SessionStore,
} from "@hermes-memory/core/internal/sessions";

/** The session is in use by another process, or it was deleted. */
export type Refusal = { readonly kind: "busy" | "gone"; readonly message: string };

const LEASE_SECONDS = 60;
const TTL = { ttl: LEASE_SECONDS };

export class SessionLease {
  readonly #store: SessionStore;
  readonly #holder: string;
  #sessionId: string;
  /** Renews the lease while it is taken. */
  #timer: ReturnType<typeof setInterval> | undefined;
  #isLost = false;
  #refusal: string | undefined;

  /** Does not use the database before `take`. */
  constructor(store: SessionStore, sessionId: string, holder: string) {
    this.#store = store;
    this.#sessionId = sessionId;
    this.#holder = holder;
  }

  get isTaken(): boolean {
    return this.#timer !== undefined;
  }

  /** Another process took the lease over, or already had it. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** Why it was refused. */
  get refusal(): string | undefined {
    return this.#refusal;
  }

  /** Undefined on success; otherwise a message that names the holder. Rejects with a `HermesError` when the database cannot be used. */
  async take(sessionId = this.#sessionId): Promise<string | undefined> {
    this.#sessionId = sessionId;
    const busy = await acquire(this.#store, sessionId, this.#holder);
    if (busy !== undefined) return busy;
    this.#timer ??= setInterval(() => void this.#renew(), (LEASE_SECONDS * 1000) / 3);
    this.#timer.unref();
    return undefined;
  }

  /** False before `take`, and once another process has taken over, for example while this machine slept. */
  async isHeld(): Promise<boolean> {
    if (this.#isLost || !this.isTaken) return false;
    try {
      // Ask the database, not a clock: a process's clocks stop while the machine sleeps.
      const held = await this.#store.getSessionLease(this.#sessionId);
      if (held?.holder === this.#holder) return true;
    } catch {
      return true; // no other process can take it while the database cannot be used
    }
    await this.#renew(); // it expired; take it again unless another process has it
    return !this.#isLost;
  }

  /** Takes the lease of a session that is about to be created. Call `switchTo` or `abandon` afterwards. */
  async prepare(sessionId: string): Promise<void> {
    await this.#store.acquireSessionLease(sessionId, this.#holder, TTL);
  }

  async switchTo(sessionId: string): Promise<void> {
    const old = this.#sessionId;
    this.#sessionId = sessionId;
    await this.abandon(old);
  }

  /** A lease that cannot be released now expires by itself. */
  async abandon(sessionId: string): Promise<void> {
    await this.#store.releaseSessionLease(sessionId, this.#holder).catch(() => undefined);
  }

  /** Does nothing when the lease is not taken. `take` may be called again. */
  async release(): Promise<void> {
    if (!this.isTaken) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    await this.abandon(this.#sessionId);
  }

  /** The work under this lease has to stop; the lease cannot be taken again. */
  async giveUp(refusal: Refusal): Promise<Refusal> {
    this.#isLost = true;
    this.#refusal = refusal.message;
    await this.release();
    return refusal;
  }

  async #renew(): Promise<void> {
    const id = this.#sessionId; // a compaction may switch sessions during the renewal
    try {
      const isOurs = await this.#store.renewSessionLease(id, this.#holder, TTL);
      if (!isOurs && this.isTaken && id === this.#sessionId) this.#isLost = true;
    } catch {
      // The database is busy or cannot be used. The lease is ours until another process takes it; `isHeld` finds out.
    }
  }
}

/** Undefined on success; otherwise a message that names the holder. Breaks the lease of a process of this machine that no longer runs. */
async function acquire(store: SessionStore, sessionId: string, holder: string): Promise<string | undefined> {
  for (let attempt = 0; ; attempt += 1) {
    const lease = await store.acquireSessionLease(sessionId, holder, TTL);
    if (lease.acquired) return undefined;
    const isGone = attempt === 0 && isDeadHere(lease.holder);
    if (!isGone || !(await store.breakSessionLease(sessionId, lease.holder)))
      return busyMessage(sessionId, lease);
  }
}

function busyMessage(sessionId: string, { holder, acquired_at, expires_at }: HeldLease): string {
  const time = (seconds: number) => new Date(seconds * 1000).toLocaleTimeString("en-GB");
  return `Session ${sessionId} is in use by ${describeHolder(holder)} since ${time(acquired_at)}. Wait until that turn ends, or close that process; its reservation ends at ${time(expires_at)} unless it is renewed.`;
}
