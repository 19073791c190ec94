// Recall that a provider fetches in the background for the next turn: one result for each session, used once, and only for a few turns.
// A result never reaches another session.

export type PrefetchCacheOptions<T> = {
  /** A result is used up to this many turns after the turn it was fetched in. */
  readonly maxAgeTurns?: number;
  /** How long `take` waits for a running fetch, at most 3 s. 0: not at all. */
  readonly waitMs?: number;
  /** An empty result does not replace an earlier one. Default: none is empty. */
  readonly isEmpty?: (value: T) => boolean;
};

type FetchOutcome =
  | { readonly kind: "kept" }
  | { readonly kind: "empty" }
  /** A newer fetch of the session began, or its entry was cleared or dropped, before this one returned. */
  | { readonly kind: "superseded" }
  | { readonly kind: "failed"; readonly cause: unknown };

export type PrefetchCache<T> = {
  /**
   * Starts a background fetch and aborts the running one of the same session. A failed or empty fetch keeps the previous result. Never
   * rejects, so it need not be awaited.
   */
  fetch(sessionId: string, turn: number, work: (signal: AbortSignal) => Promise<T>): Promise<FetchOutcome>;
  /** The result for this session, once; undefined when there is none or it is too old. An unusable result is dropped. */
  take(sessionId: string, turn: number, signal?: AbortSignal): Promise<T | undefined>;
  /** Whether a result or a running fetch exists. */
  has(sessionId: string): boolean;
  /** Drops the result of the session, or of all, and aborts the running fetch. */
  clear(sessionId?: string): void;
};

const DEFAULT_MAX_AGE_TURNS = 2;
const LONGEST_WAIT_MS = 3_000;
/** A gateway may serve any number of chats: beyond this, the session whose last fetch began first loses its entry. */
const MAX_SESSIONS = 64;

type Entry<T> = {
  kept?: { readonly turn: number; readonly value: T };
  running?: { readonly controller: AbortController; readonly ended: Promise<FetchOutcome> };
};

export function createPrefetchCache<T>(options: PrefetchCacheOptions<T> = {}): PrefetchCache<T> {
  const { maxAgeTurns = DEFAULT_MAX_AGE_TURNS, isEmpty = () => false } = options;
  const waitMs = Math.min(options.waitMs ?? LONGEST_WAIT_MS, LONGEST_WAIT_MS);
  /** In the order in which their last fetches began. */
  const sessions = new Map<string, Entry<T>>();

  function drop(sessionId: string): void {
    const entry = sessions.get(sessionId);
    sessions.delete(sessionId);
    if (entry !== undefined) stop(entry);
  }

  function dropIfBare(sessionId: string, entry: Entry<T>): void {
    const isBare = entry.kept === undefined && entry.running === undefined;
    if (isBare && sessions.get(sessionId) === entry) sessions.delete(sessionId);
  }

  async function run(
    entry: Entry<T>,
    turn: number,
    controller: AbortController,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<FetchOutcome> {
    const isCurrent = () => entry.running?.controller === controller;
    try {
      const value = await work(controller.signal);
      if (!isCurrent()) return { kind: "superseded" };
      entry.running = undefined;
      if (isEmpty(value)) return { kind: "empty" };
      entry.kept = { turn, value };
      return { kind: "kept" };
    } catch (cause) {
      if (!isCurrent()) return { kind: "superseded" };
      entry.running = undefined;
      return { kind: "failed", cause };
    }
  }

  return {
    fetch(sessionId, turn, work) {
      const entry = sessions.get(sessionId) ?? {};
      stop(entry);
      const controller = new AbortController();
      const ended = Promise.resolve()
        .then(() => run(entry, turn, controller, work))
        .finally(() => dropIfBare(sessionId, entry));
      entry.running = { controller, ended };
      sessions.delete(sessionId); // and to the end of the order
      sessions.set(sessionId, entry);
      const [oldest] = sessions.keys();
      if (sessions.size > MAX_SESSIONS && oldest !== undefined) drop(oldest);
      return ended;
    },

    async take(sessionId, turn, signal) {
      const running = sessions.get(sessionId)?.running;
      if (running !== undefined && waitMs > 0) await settledWithin(running.ended, waitMs, signal);
      const entry = sessions.get(sessionId);
      if (entry === undefined) return undefined;
      const { kept } = entry;
      entry.kept = undefined;
      dropIfBare(sessionId, entry);
      if (kept === undefined) return undefined;
      const age = turn - kept.turn; // below 0 after turns were undone: the question of this result is gone
      return age >= 0 && age <= maxAgeTurns ? kept.value : undefined;
    },

    has: (sessionId) => sessions.has(sessionId),

    clear(sessionId) {
      for (const each of sessionId === undefined ? [...sessions.keys()] : [sessionId]) drop(each);
    },
  };
}

function stop<T>(entry: Entry<T>): void {
  entry.running?.controller.abort(new DOMException("This recall is not wanted any more.", "AbortError"));
  entry.running = undefined;
}

async function settledWithin(
  work: Promise<unknown>,
  ms: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (signal?.aborted === true) return;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(finish, ms);
    signal?.addEventListener("abort", finish, { once: true });
    void work.then(finish);
    function finish(): void {
      clearTimeout(timer);
      signal?.removeEventListener("abort", finish);
      resolve();
    }
  });
}
