// The active memory provider of each chat: started when a chat first needs it, shut down when other chats have been more active. The
// home shuts down those that are left.
import { describeCause } from "../lib/index.ts";
import type { Logger } from "../lib/logger.ts";
import type { MemoryManager } from "../providers/index.ts";
import type { Person } from "./types.ts";

/** Of one person, and of all persons of a home: a server may see any number of them. */
const MOST_ACTIVE = 16;
const MOST_IN_HOME = 256;

type Starting = Promise<MemoryManager | undefined>;

/** How to stop each provider that runs in a home, the least recently used first. */
const inHomes = new WeakMap<Person["memory"], Map<Starting, () => void>>();

export class ChatProviders {
  readonly #person: Person;
  readonly #log: Logger;
  /** By session, the least recently used first. */
  readonly #active = new Map<string, Starting>();
  readonly #inHome: Map<Starting, () => void>;

  constructor(person: Person, log: Logger) {
    this.#person = person;
    this.#log = log;
    this.#inHome = inHomes.get(person.memory) ?? new Map();
    inHomes.set(person.memory, this.#inHome);
  }

  /** Undefined if no provider is active or it cannot be used, which is logged. Never rejects. */
  of(sessionId: string, chatId: string): Starting {
    const manager = this.#active.get(sessionId) ?? this.#start(sessionId, chatId);
    this.#active.delete(sessionId);
    this.#active.set(sessionId, manager);
    for (const old of this.#active.values()) {
      if (this.#active.size <= MOST_ACTIVE) break;
      this.#drop(old);
    }
    this.#inHome.delete(manager);
    this.#inHome.set(manager, () => this.#drop(manager));
    for (const stop of this.#inHome.values()) {
      if (this.#inHome.size <= MOST_IN_HOME) break;
      stop();
    }
    return manager;
  }

  #drop(manager: Starting): void {
    for (const [sessionId, each] of this.#active) if (each === manager) this.#active.delete(sessionId);
    void this.#stop(manager);
  }

  /** The chat goes on in another session. */
  async continued(from: string, to: string): Promise<void> {
    const manager = this.#active.get(from);
    if (manager === undefined) return;
    this.#active.delete(from);
    this.#active.set(to, manager);
    const active = await manager;
    await active?.onSessionSwitch(to, { parent_session_id: from, reset: false, reason: "compression" });
  }

  /** The chat is gone. */
  async ended(sessionIds: readonly string[]): Promise<void> {
    for (const id of sessionIds) {
      const manager = this.#active.get(id);
      this.#active.delete(id);
      if (manager !== undefined) await this.#stop(manager);
    }
  }

  /** The person is erased. What is queued is handed over before. */
  async endedAll(): Promise<void> {
    await this.ended([...this.#active.keys()]);
  }

  async #start(sessionId: string, chatId: string): Promise<MemoryManager | undefined> {
    try {
      const activation = await this.#person.provider.activate({
        sessionId,
        log: this.#log,
        clock: this.#person.memory.clock,
        options: { platform: "library", agent_context: "primary", chat_id: chatId },
      });
      if (activation.kind === "active") return activation.manager;
      if (activation.kind === "unavailable") this.#active.delete(sessionId); // the next turn tries again
    } catch (cause) {
      this.#log.warn(`The memory provider could not be started: ${describeCause(cause)}`, { sessionId });
      this.#active.delete(sessionId);
    }
    return undefined;
  }

  async #stop(manager: Starting): Promise<void> {
    this.#inHome.delete(manager);
    const active = await manager;
    if (active !== undefined) await this.#person.provider.deactivate(active);
  }
}
