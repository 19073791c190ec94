// Recall that a provider fetches in the background for the next turn: one result for one session, used once, and only for a few turns.
// No provider uses it yet: it is meant for the providers that call a server, whose recall is too slow for the turn itself.
import { pyStrip } from "../../lib/index.ts";

export type PrefetchCacheOptions = {
  /** A result is used up to this many turns after the turn it was fetched in. */
  readonly maxAgeTurns?: number;
  /** How long `take` waits for a running fetch. 0: not at all. */
  readonly waitMs?: number;
};

type FetchOutcome =
  | { readonly kind: "kept" }
  | { readonly kind: "empty" }
  /** A newer fetch began, or the cache was cleared, before this one returned. */
  | { readonly kind: "superseded" }
  | { readonly kind: "failed"; readonly cause: unknown };

export type PrefetchCache = {
  /**
   * Starts a background fetch and aborts the running one. A failed or empty fetch keeps the previous result. Never rejects, so it need
   * not be awaited.
   */
  fetch(
    sessionId: string,
    turn: number,
    work: (signal: AbortSignal) => Promise<string>,
  ): Promise<FetchOutcome>;
  /** The result for this session, once; "" when there is none or it is too old. An unusable result is dropped. */
  take(sessionId: string, turn: number, signal?: AbortSignal): Promise<string>;
  /** For a change of session: drops the result and aborts the running fetch. */
  clear(): void;
};

const DEFAULT_MAX_AGE_TURNS = 2;
const LONGEST_WAIT_MS = 3_000;

type Stamp = { readonly sessionId: string; readonly turn: number };
type Running = Stamp & { readonly controller: AbortController; readonly ended: Promise<FetchOutcome> };

export function createPrefetchCache(options: PrefetchCacheOptions = {}): PrefetchCache {
  const maxAgeTurns = options.maxAgeTurns ?? DEFAULT_MAX_AGE_TURNS;
  const waitMs = Math.min(options.waitMs ?? LONGEST_WAIT_MS, LONGEST_WAIT_MS);
  let kept: (Stamp & { readonly text: string }) | undefined;
  let running: Running | undefined;

  function stopRunning(): void {
    running?.controller.abort(new DOMException("This recall is not wanted any more.", "AbortError"));
    running = undefined;
  }

  async function run(
    stamp: Stamp,
    controller: AbortController,
    work: (signal: AbortSignal) => Promise<string>,
  ): Promise<FetchOutcome> {
    const isCurrent = () => running?.controller === controller;
    try {
      const text = await work(controller.signal);
      if (!isCurrent()) return { kind: "superseded" };
      running = undefined;
      if (pyStrip(text) === "") return { kind: "empty" };
      kept = { ...stamp, text };
      return { kind: "kept" };
    } catch (cause) {
      if (!isCurrent()) return { kind: "superseded" };
      running = undefined;
      return { kind: "failed", cause };
    }
  }

  return {
    fetch(sessionId, turn, work) {
      stopRunning();
      const controller = new AbortController();
      const started = Promise.resolve().then(() => run({ sessionId, turn }, controller, work));
      running = { sessionId, turn, controller, ended: started };
      return started;
    },

    async take(sessionId, turn, signal) {
      if (running?.sessionId === sessionId && waitMs > 0) await settledWithin(running.ended, waitMs, signal);
      const result = kept;
      kept = undefined;
      if (result === undefined || result.sessionId !== sessionId) return "";
      const age = turn - result.turn; // below 0 after turns were undone: the question of this result is gone
      return age >= 0 && age <= maxAgeTurns ? result.text : "";
    },

    clear() {
      stopRunning();
      kept = undefined;
    },
  };
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
