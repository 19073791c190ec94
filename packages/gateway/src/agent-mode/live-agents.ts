// The agents that are kept in memory between requests, one per conversation, the least recently used first; and the turns of each
// conversation, one at a time. An agent that is let go is closed without ending its session: the next request makes another one.
import { setTimeout as sleep } from "node:timers/promises";
import type { Agent } from "@hermes-memory/agent/internal/agent";
import { describeCause } from "@hermes-memory/core/internal/lib";
import type { Logger } from "@hermes-memory/core/internal/logger";
import { refused } from "../types.ts";

type Entry = {
  readonly agent: Agent;
  /** An agent with another signature is replaced: other config, model or session. */
  readonly signature: string;
  usedAtMs: number;
};

/** How long a request waits for the one before it in the same conversation. */
const WAIT_MS = 30_000;

export class LiveAgents {
  readonly #log: Logger;
  readonly #now: () => number;
  readonly #waitMs: number;
  readonly #entries = new Map<string, Entry>();
  /** The end of the newest turn of each conversation that has one. */
  readonly #turns = new Map<string, Promise<void>>();
  readonly #closing = new Set<Promise<void>>();

  constructor({
    log,
    now,
    waitMs = WAIT_MS,
  }: { readonly log: Logger; readonly now: () => number; readonly waitMs?: number | undefined }) {
    this.#log = log;
    this.#now = now;
    this.#waitMs = waitMs;
  }

  get size(): number {
    return this.#entries.size;
  }

  isBusy(key: string): boolean {
    return this.#turns.has(key);
  }

  /** Resolves to a function that ends the turn. Throws 409 when the turn before does not end in time. */
  async begin(key: string, signal?: AbortSignal): Promise<() => void> {
    const before = this.#turns.get(key);
    const { promise: over, resolve } = Promise.withResolvers<void>();
    const mine = (before ?? Promise.resolve()).then(() => over);
    this.#turns.set(key, mine);
    const end = (): void => {
      resolve();
      if (this.#turns.get(key) === mine) this.#turns.delete(key);
    };
    if (before === undefined || (await isOver(before, this.#waitMs, signal))) return end;
    // Those behind this one wait for the turn that runs.
    resolve();
    void mine.then(() => this.#turns.get(key) === mine && this.#turns.delete(key));
    signal?.throwIfAborted();
    throw refused(409, "session-busy", {
      message: "Another request of this conversation is still being answered.",
      hint: "Wait until it has ended, or stop it, and send this one again.",
      retryAfterSeconds: 5,
    });
  }

  /** The live agent, or a new one. Only between `begin` and its end. */
  async get(key: string, signature: string, make: () => Promise<Agent>): Promise<Agent> {
    const known = this.#entries.get(key);
    if (known?.signature === signature) {
      this.#touch(key, known);
      return known.agent;
    }
    await this.release(key);
    const agent = await make();
    this.#touch(key, { agent, signature, usedAtMs: this.#now() });
    return agent;
  }

  /** Closes the agent of this conversation, if there is one. The session goes on. */
  async release(key: string): Promise<void> {
    const entry = this.#entries.get(key);
    this.#entries.delete(key);
    if (entry !== undefined) await this.#close(entry.agent);
  }

  /** In the background: those that were not used for long, and the least recently used above the limit. Never one that is busy. */
  tidy({ most, idleSeconds }: { readonly most: number; readonly idleSeconds: number }): void {
    const oldestMs = this.#now() - idleSeconds * 1000;
    for (const [key, { usedAtMs }] of this.#entries) {
      const isTooMuch = this.#entries.size > most || usedAtMs < oldestMs;
      if (isTooMuch && !this.isBusy(key)) void this.release(key);
    }
  }

  /** Waits for the turns that run, and closes all agents. */
  async close(): Promise<void> {
    await Promise.all(this.#turns.values());
    await Promise.all([...this.#entries.keys()].map((key) => this.release(key)));
    await Promise.all(this.#closing);
  }

  #touch(key: string, entry: Entry): void {
    entry.usedAtMs = this.#now();
    this.#entries.delete(key);
    this.#entries.set(key, entry);
  }

  async #close(agent: Agent): Promise<void> {
    const closing: Promise<void> = agent
      .close({ keepSession: true })
      .catch((cause: unknown) => this.#log.warn(`A live agent was not closed: ${describeCause(cause)}`))
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
    await closing;
  }
}

async function isOver(turn: Promise<void>, waitMs: number, signal?: AbortSignal): Promise<boolean> {
  const waited = new AbortController();
  const stop = signal === undefined ? waited.signal : AbortSignal.any([signal, waited.signal]);
  const late = sleep(waitMs, false, { signal: stop }).catch(() => false);
  return Promise.race([turn.then(() => true), late]).finally(() => waited.abort());
}
