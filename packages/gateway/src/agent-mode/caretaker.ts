// What agent mode does beside its requests, 60 seconds after the start and then every 5 minutes: memory providers are told of sessions that
// have expired, agents that nobody uses are closed, and the curator runs if it is due. Once a day old traces of recall are removed.
import { chooseModel, curatorModel } from "@hermes-memory/agent/internal/models";
import { describeCause } from "@hermes-memory/core/internal/lib";
import type { Home } from "@hermes-memory/core/internal/memory";
import type { LiveSession } from "@hermes-memory/core/internal/sessions";
import { servedHomes } from "../gateway.ts";
import type { Gateway } from "../types.ts";
import type { LiveAgents } from "./live-agents.ts";
import {
  agentKey,
  expiryOf,
  finalise,
  fromLiveKey,
  type LiveIndex,
  liveIndexOf,
  notTold,
  type ResetPolicy,
  resetPolicy,
} from "./session-life.ts";

const FIRST_ROUND_MS = 60_000;
const BETWEEN_ROUNDS_MS = 300_000;
const DAY_MS = 86_400_000;
const MOST_FAILURES = 3;

/** Does not keep the process alive. */
export class Caretaker {
  readonly #gateway: Gateway;
  readonly #agents: LiveAgents;
  /** Of ends that could not be told. */
  readonly #failures = new Map<string, number>();
  readonly #prunedAtMs = new WeakMap<Home, number>();
  #curateAgainAtMs = 0;
  /** Of the curator's run. */
  #curator: AbortController | undefined;
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> | undefined;
  #isStopped = false;

  constructor(gateway: Gateway, agents: LiveAgents) {
    this.#gateway = gateway;
    this.#agents = agents;
    this.#schedule(FIRST_ROUND_MS);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    this.#curator?.abort(new DOMException("The server is stopping.", "AbortError"));
    await this.#round;
  }

  /** One round, now. Never rejects. */
  sweep(): Promise<void> {
    this.#round ??= this.#sweep().finally(() => {
      this.#round = undefined;
    });
    return this.#round;
  }

  /** Closes agents that were not used for long, and those above the limit. */
  async tidy(): Promise<void> {
    await this.#tried("Idle agents were not closed", async () => {
      const { maxLiveAgents: most, idleAgentSeconds: idleSeconds } = (await this.#gateway.config()).gateway;
      this.#agents.tidy({ most, idleSeconds });
    });
  }

  #schedule(ms: number): void {
    if (this.#isStopped) return;
    const round = (): void => void this.sweep().then(() => this.#schedule(BETWEEN_ROUNDS_MS));
    this.#timer = setTimeout(round, ms).unref();
  }

  async #sweep(): Promise<void> {
    await this.#tried("Looking for expired sessions failed", async () => {
      const policy = resetPolicy(await this.#gateway.config(), this.#gateway.env);
      for (const home of await servedHomes(this.#gateway)) {
        // A home without a database has no sessions.
        if ((await home.administrator.sessions({ mode: "write" })) === undefined) continue;
        const index = await liveIndexOf(home);
        for (const session of await index.listLiveSessions())
          if (!this.#isStopped) await this.#endExpired(home, index, session, policy);
        await this.#pruneTurns(home);
      }
    });
    await this.tidy();
    await this.#curate();
  }

  async #endExpired(home: Home, index: LiveIndex, seen: LiveSession, policy: ResetPolicy): Promise<void> {
    const { clock, log } = this.#gateway;
    const isExpired = (live: LiveSession): boolean =>
      live.finalized_at === null && expiryOf(policy, live.last_active_at, clock.now()) !== undefined;
    const found = isExpired(seen) ? fromLiveKey(home, seen.key) : undefined;
    const key = agentKey(home, seen.key);
    if (found === undefined || this.#agents.isBusy(key)) return;
    const end = await this.#agents.begin(key);
    try {
      await this.#agents.release(key);
      const live = await index.getLiveSession(seen.key);
      if (live === null || !isExpired(live)) return; // somebody spoke meanwhile, or another server was faster
      const done = (): Promise<void> =>
        index.saveLiveSession({ ...live, finalized_at: clock.now().getTime() / 1000 });
      const id = `${key}\0${seen.session_id}`;
      try {
        if ((await finalise(found.person, live, found, { log, clock })) === "gone")
          await index.deleteLiveSession(live.key);
        else await done();
        this.#failures.delete(id);
      } catch (cause) {
        const failures = (this.#failures.get(id) ?? 0) + 1;
        this.#failures.set(id, failures);
        const isLast = failures >= MOST_FAILURES;
        log.warn(notTold(live, cause, isLast ? `, ${failures} times; it is not tried again` : ""));
        if (!isLast) return;
        this.#failures.delete(id);
        await done();
      }
    } finally {
      end();
    }
  }

  /** In the first round and then once a day. After a failure it is tried again in the next round. */
  async #pruneTurns(home: Home): Promise<void> {
    const nowMs = this.#gateway.clock.now().getTime();
    if (nowMs - (this.#prunedAtMs.get(home) ?? Number.NEGATIVE_INFINITY) < DAY_MS) return;
    await this.#tried("Old traces of recall were not removed", async () => {
      const { recallTraceDays } = (await this.#gateway.config()).gateway;
      await (await home.administrator.sessions({ mode: "write" }))?.pruneTurns(recallTraceDays);
      this.#prunedAtMs.set(home, nowMs);
    });
  }

  /**
   * For the owner of the served home. After a run or a failure it waits a day: a state file that cannot be written must not cost a run,
   * or a line in the log, every 5 minutes.
   */
  async #curate(): Promise<void> {
    const { clock, log, env } = this.#gateway;
    const nowMs = clock.now().getTime();
    if (this.#isStopped || nowMs < this.#curateAgainAtMs) return;
    this.#curator = new AbortController();
    try {
      const config = await this.#gateway.config();
      if (!chooseModel({ env, config }).ok) return;
      const { maybeRunCurator } = await import("@hermes-memory/agent/internal/curator");
      const { administration: memory } = this.#gateway.memory(undefined);
      const idleHours = async (): Promise<number> => {
        const store = await memory.owner.sessions({ mode: "read" });
        const [newest] = (await store?.searchSessions({ limit: 1 })) ?? [];
        return (nowMs / 1000 - (newest?.last_active ?? 0)) / 3600;
      };
      const { signal } = this.#curator;
      const model = () => curatorModel(config, env);
      const { kind } = await maybeRunCurator({ memory, log, signal, idleHours, model });
      if (kind === "ran" || kind === "failed") this.#curateAgainAtMs = nowMs + DAY_MS;
    } catch (cause) {
      this.#curateAgainAtMs = nowMs + DAY_MS;
      log.warn(`The curator was not started: ${describeCause(cause)}`);
    }
  }

  async #tried(failure: string, work: () => Promise<void>): Promise<void> {
    await work().catch((cause: unknown) => this.#gateway.log.warn(`${failure}: ${describeCause(cause)}`));
  }
}
