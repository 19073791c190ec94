// Recall of a networked memory: it is fetched after a turn for the next one. Only a turn for which nothing was prepared waits for it, or
// every turn of a service that wants it; after a turn that waited in vain no other one waits until the server has answered.
import { pyStrip } from "@hermes-memory/core/internal/lib";
import type { Breaker } from "@hermes-memory/core/internal/providers";
import { pause } from "../deadline.ts";
import { type Link, wasRefused } from "./link.ts";
import type { CommonSettings, RecallAsk, Recalled } from "./service.ts";

const NOTHING: Recalled = { text: "", count: 0 };
/** A recall is used up to this many turns after the turn it was fetched in. */
const MAX_AGE_TURNS = 2;
/** A gateway may serve any number of chats: beyond this, the session whose last fetch began first loses its recall. */
const MAX_SESSIONS = 64;

type Outcome =
  | { readonly kind: "kept" | "empty" }
  /** A newer fetch of the session began, or its recall was cleared, before this one returned. */
  | { readonly kind: "superseded" }
  | { readonly kind: "failed"; readonly cause: unknown };

/** Recalls fetched in the background: one for each session, used once, and only for a few turns. None reaches another session. */
export class PreparedRecalls {
  /** In the order in which their last fetches began. */
  readonly #sessions = new Map<string, Prepared>();

  /** Aborts the running fetch of the same session. A failed or empty fetch keeps what is there. Never rejects, so it need not be awaited. */
  fetch(sessionId: string, turn: number, work: (signal: AbortSignal) => Promise<Recalled>): Promise<Outcome> {
    const prepared: Prepared = this.#sessions.get(sessionId) ?? {};
    prepared.running?.abort();
    const running = new AbortController();
    prepared.running = running;
    prepared.ended = Promise.resolve()
      .then(() => work(running.signal))
      .then(
        (recalled): Outcome => {
          if (prepared.running !== running) return { kind: "superseded" };
          if (pyStrip(recalled.text) === "") return { kind: "empty" };
          prepared.kept = { turn, recalled };
          return { kind: "kept" };
        },
        (cause: unknown): Outcome =>
          prepared.running === running ? { kind: "failed", cause } : { kind: "superseded" },
      )
      .finally(() => {
        if (prepared.running === running) prepared.running = undefined;
      });
    this.#sessions.delete(sessionId); // and to the end of the order
    this.#sessions.set(sessionId, prepared);
    const [oldest] = this.#sessions.keys();
    if (this.#sessions.size > MAX_SESSIONS && oldest !== undefined) this.clear(oldest);
    return prepared.ended;
  }

  /** The recall for this session, once, after waiting at most `waitMs` for a running fetch. One that is too old is dropped. */
  async take(
    sessionId: string,
    turn: number,
    waitMs: number,
    signal: AbortSignal = new AbortController().signal,
  ): Promise<Recalled | undefined> {
    const waited = this.#sessions.get(sessionId);
    if (waited?.running !== undefined && !signal.aborted) {
      const end = new AbortController();
      const patience = pause(waitMs, AbortSignal.any([end.signal, signal]));
      await Promise.race([waited.ended, patience]);
      end.abort();
    }
    const prepared = this.#sessions.get(sessionId);
    const kept = prepared?.kept;
    if (prepared !== undefined) prepared.kept = undefined;
    if (kept === undefined) return undefined;
    const age = turn - kept.turn; // below 0 after turns were undone: the question of this recall is gone
    return age >= 0 && age <= MAX_AGE_TURNS ? kept.recalled : undefined;
  }

  /** Whether a recall or a running fetch exists. */
  has(sessionId: string): boolean {
    const { kept, running } = this.#sessions.get(sessionId) ?? {};
    return kept !== undefined || running !== undefined;
  }

  /** Drops the recall of the session, or of all, and aborts the running fetch. */
  clear(sessionId?: string): void {
    for (const each of sessionId === undefined ? [...this.#sessions.keys()] : [sessionId]) {
      const prepared = this.#sessions.get(each);
      this.#sessions.delete(each);
      prepared?.running?.abort(new DOMException("This recall is not wanted any more.", "AbortError"));
      if (prepared !== undefined) prepared.running = undefined;
    }
  }
}

type Prepared = {
  kept?: { readonly turn: number; readonly recalled: Recalled } | undefined;
  running?: AbortController | undefined;
  ended?: Promise<Outcome>;
};

export type RecallerOptions<S extends CommonSettings> = {
  readonly link: Link<S>;
  readonly breaker: Breaker;
  /** How long a turn waits. */
  readonly waitMs: number;
  readonly closing: AbortSignal;
  readonly inBackground: (what: string, work: (signal: AbortSignal) => Promise<void>) => void;
};

type RecallTurn = {
  readonly sessionId: string;
  readonly turn: number;
  readonly signal: AbortSignal | undefined;
};

export class Recaller<S extends CommonSettings> {
  readonly #options: RecallerOptions<S>;
  readonly #prepared = new PreparedRecalls();
  /** Turns that wait now. */
  #waiting = 0;
  /** A turn waited in vain: no other one waits until a recall was answered. */
  #isHanging = false;

  constructor(options: RecallerOptions<S>) {
    this.#options = options;
  }

  get isHanging(): boolean {
    return this.#isHanging;
  }

  /** Drops what was prepared for the session, or for all. */
  clear(sessionId?: string): void {
    this.#prepared.clear(sessionId);
  }

  /** For the turn that is running. */
  async take(query: string, turn: RecallTurn): Promise<Recalled> {
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

  async #recall(query: string, { sessionId, turn, signal }: RecallTurn): Promise<Recalled> {
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
      const prepared = await this.#prepared.take(sessionId, turn, this.#isHanging ? 0 : waitMs, signal);
      if (prepared !== undefined) return prepared;
    }
    if (this.#isHanging) return NOTHING; // the recall that is prepared after each turn finds out when the server answers again
    // Nothing was prepared for this turn, so this one waits, unless the wait for a hanging server has used up the time.
    const isLate = performance.now() - startedAt > waitMs / 2;
    if (isLate || isPaused()) return NOTHING;
    const work = this.#fetch(query, ask);
    const now = await this.#prepared.take(sessionId, turn, waitMs, signal);
    if (now !== undefined) return now;
    // A failure that is known already is the manager's to count; a fetch that still runs may serve the next turn.
    const outcome = await Promise.race([work, Promise.resolve(undefined)]);
    if (outcome?.kind === "failed") throw outcome.cause;
    return NOTHING;
  }

  /** A recall that is refused because of the settings is asked for again if these have changed. */
  #fetch(query: string, ask: Omit<RecallAsk, "signal">): Promise<Outcome> {
    const { link } = this.#options;
    return this.#prepared.fetch(ask.sessionId, ask.turn, async (fetching) => {
      const signal = this.#untilClosed(fetching);
      const recall = async () => (await link.connection.recall?.(query, { ...ask, signal })) ?? NOTHING;
      const used = link.connection;
      const recalled = await recall().catch((cause: unknown) => {
        if (!wasRefused(cause) || !link.replaces(used)) throw cause;
        return recall();
      });
      this.#isHanging = false;
      return recalled;
    });
  }

  /** Starts the recall for the next turn and does not wait for it. */
  prepare(query: string, { sessionId, turn }: Pick<RecallTurn, "sessionId" | "turn">): void {
    const { link, breaker, closing, inBackground } = this.#options;
    const connection = link.current();
    if (closing.aborted || breaker.state === "open") return;
    const ask = { sessionId, turn, shownInTurn: turn + 1 };
    inBackground("Preparing recall", async (signal) => {
      if (connection.queuePrefetch !== undefined)
        return await connection.queuePrefetch(query, { ...ask, signal });
      if (connection.recall === undefined) return;
      const outcome = await this.#fetch(query, ask);
      if (outcome.kind === "failed") throw outcome.cause;
    });
  }

  #untilClosed(signal: AbortSignal | undefined): AbortSignal {
    const { closing } = this.#options;
    return signal === undefined ? closing : AbortSignal.any([signal, closing]);
  }
}
