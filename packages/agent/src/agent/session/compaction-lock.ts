// The lock of a compaction, kept alive while a summary is written: that can take longer than the lock lives.
import type { SessionStore } from "@hermes-memory/core/sessions";

const TTL_SECONDS = 300;

export class CompactionLock {
  readonly holder: string;
  readonly #store: SessionStore;
  readonly #sessionId: string;
  readonly #timer: ReturnType<typeof setInterval>;

  private constructor(store: SessionStore, sessionId: string, holder: string, ttlSeconds: number) {
    this.#store = store;
    this.#sessionId = sessionId;
    this.holder = holder;
    const renew = (): void =>
      // Whether it is still ours is asked again before anything changes.
      void store.renewCompressionLock(sessionId, holder, { ttl: ttlSeconds }).catch(() => undefined);
    this.#timer = setInterval(renew, (ttlSeconds * 1000) / 3);
    this.#timer.unref();
  }

  /** Undefined when somebody else has it. */
  static async take(
    store: SessionStore,
    sessionId: string,
    holder: string,
    ttlSeconds = TTL_SECONDS,
  ): Promise<CompactionLock | undefined> {
    const isTaken = await store.tryAcquireCompressionLock(sessionId, holder, { ttl: ttlSeconds });
    return isTaken ? new CompactionLock(store, sessionId, holder, ttlSeconds) : undefined;
  }

  async isOurs(): Promise<boolean> {
    return (await this.#store.getCompressionLockHolder(this.#sessionId)) === this.holder;
  }

  async release(): Promise<void> {
    clearInterval(this.#timer);
    await this.#store.releaseCompressionLock(this.#sessionId, this.holder).catch(() => undefined); // it runs out by itself
  }
}
