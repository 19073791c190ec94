// Recall of a networked memory: it is fetched after a turn for the next one. Only a turn for which nothing was prepared waits for it, or
// every turn of a service that wants it; after a turn that waited in vain no other one waits until the server has answered.
import { pyStrip } from "@hermes-memory/core/internal/lib";
import type { Breaker } from "@hermes-memory/core/internal/providers";
import { describeForeign } from "@hermes-memory/core/internal/providers";
import { createPrefetchCache, type PrefetchCache } from "../prefetch-cache.ts";
import { type Link, wasRefused } from "./link.ts";
import type { CommonSettings, RecallAsk, Recalled } from "./service.ts";

const NOTHING: Recalled = { text: "", count: 0 };

export type RecallerOptions<S extends CommonSettings> = {
  readonly link: Link<S>;
  readonly breaker: Breaker;
  /** How long a turn waits. */
  readonly waitMs: number;
  readonly closing: AbortSignal;
  readonly inBackground: (what: string, work: (signal: AbortSignal) => Promise<void>) => void;
  readonly warnOnce: (message: string) => void;
};

export class Recaller<S extends CommonSettings> {
  readonly #options: RecallerOptions<S>;
  readonly #prepared: PrefetchCache<Recalled>;
  /** Turns that wait now. */
  #waiting = 0;
  /** A turn waited in vain: no other one waits until a recall was answered. */
  #isHanging = false;

  constructor(options: RecallerOptions<S>) {
    this.#options = options;
    this.#prepared = createPrefetchCache<Recalled>({
      waitMs: options.waitMs,
      isEmpty: ({ text }) => pyStrip(text) === "",
    });
  }

  get isHanging(): boolean {
    return this.#isHanging;
  }

  /** Drops what was prepared for the session, or for all. */
  clear(sessionId?: string): void {
    this.#prepared.clear(sessionId);
  }

  /** For the turn that is running. */
  async take(
    query: string,
    turn: { readonly sessionId: string; readonly turn: number; readonly signal: AbortSignal | undefined },
  ): Promise<Recalled> {
    this.noteUnanswered();
    const startedAt = performance.now();
    this.#waiting += 1;
    let count = 0;
    try {
      const recalled = await this.#recall(query, turn);
      count = recalled.count;
      return recalled;
    } finally {
      this.#waiting -= 1;
      // Also when it failed: a request may end at its own timeout just before the turn stops waiting.
      const waitedInVain = count === 0 && performance.now() - startedAt > 0.9 * this.#options.waitMs;
      if (count > 0) this.#isHanging = false;
      else if (waitedInVain) this.#isHanging = true;
    }
  }

  /** A turn that is over went on without its recall. */
  noteUnanswered(): void {
    if (this.#waiting > 0) this.#isHanging = true;
  }

  async #recall(
    query: string,
    {
      sessionId,
      turn,
      signal,
    }: { readonly sessionId: string; readonly turn: number; readonly signal: AbortSignal | undefined },
  ): Promise<Recalled> {
    const { link, breaker, waitMs } = this.#options;
    const connection = link.current();
    const ask = { sessionId, turn, shownInTurn: turn };
    if (connection.prefetch !== undefined)
      return await connection.prefetch(query, {
        ...ask,
        mayWait: !this.#isHanging,
        signal: this.#untilClosed(signal),
      });
    if (connection.recall === undefined) return NOTHING;
    const startedAt = performance.now();
    const isPaused = () => breaker.state === "open";
    const usesPrepared = connection.recallsEachTurn !== true || isPaused() || this.#isHanging;
    if (usesPrepared && this.#prepared.has(sessionId)) {
      const patience = this.#isHanging ? AbortSignal.abort() : signal;
      const prepared = await this.#prepared.take(sessionId, turn, patience);
      if (prepared !== undefined) return prepared;
    }
    if (this.#isHanging) return NOTHING; // the recall that is prepared after each turn finds out when the server answers again
    // Nothing was prepared for this turn, so this one waits, unless the wait for a hanging server has used up the time.
    const isLate = performance.now() - startedAt > waitMs / 2;
    if (isLate || isPaused()) return NOTHING;
    const work = this.#prepared.fetch(sessionId, turn, (fetching) =>
      this.#ask(query, { ...ask, signal: this.#untilClosed(fetching) }),
    );
    const now = await this.#prepared.take(sessionId, turn, signal);
    if (now !== undefined) return now;
    // A failure that is known already is the manager's to count; a fetch that still runs may serve the next turn.
    const outcome = await Promise.race([work, Promise.resolve(undefined)]);
    if (outcome?.kind === "failed") throw outcome.cause;
    return NOTHING;
  }

  async #ask(query: string, ask: RecallAsk): Promise<Recalled> {
    const { link } = this.#options;
    const recall = async () => (await link.connection.recall?.(query, ask)) ?? NOTHING;
    const used = link.connection;
    let recalled: Recalled;
    try {
      recalled = await recall();
    } catch (cause) {
      if (!wasRefused(cause) || !link.replaces(used)) throw cause;
      recalled = await recall();
    }
    this.#isHanging = false;
    return recalled;
  }

  /** Starts the recall for the next turn and does not wait for it. */
  prepare(query: string, { sessionId, turn }: { readonly sessionId: string; readonly turn: number }): void {
    const { link, breaker, closing, inBackground, warnOnce } = this.#options;
    const connection = link.current();
    if (closing.aborted || breaker.state === "open") return;
    const ask = { sessionId, turn, shownInTurn: turn + 1 };
    if (connection.queuePrefetch !== undefined) {
      const work = connection.queuePrefetch.bind(connection);
      inBackground("Preparing recall", (signal) => work(query, { ...ask, signal }));
      return;
    }
    if (connection.recall === undefined) return;
    void this.#prepared
      .fetch(sessionId, turn, (signal) => this.#ask(query, { ...ask, signal: this.#untilClosed(signal) }))
      .then((outcome) => {
        if (outcome.kind === "failed") warnOnce(`Preparing recall failed: ${describeForeign(outcome.cause)}`);
      });
  }

  #untilClosed(signal: AbortSignal | undefined): AbortSignal {
    const { closing } = this.#options;
    return signal === undefined ? closing : AbortSignal.any([signal, closing]);
  }
}
