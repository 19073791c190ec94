// The active memory provider of each chat: started when a chat first needs it, shut down when other chats have been more active. The
// home shuts down those that are left.
import { describeCause } from "../lib/index.ts";
import type { Logger } from "../lib/logger.ts";
import type { MemoryManager } from "../providers/index.ts";
import type { Person } from "./types.ts";

const MOST_ACTIVE = 16;

export class ChatProviders {
  readonly #person: Person;
  readonly #log: Logger;
  /** By session, the least recently used first. */
  readonly #active = new Map<string, Promise<MemoryManager | undefined>>();

  constructor(person: Person, log: Logger) {
    this.#person = person;
    this.#log = log;
  }

  /** Undefined if no provider is active or it cannot be used, which is logged. Never rejects. */
  of(sessionId: string, chatId: string): Promise<MemoryManager | undefined> {
    const manager = this.#active.get(sessionId) ?? this.#start(sessionId, chatId);
    this.#active.delete(sessionId);
    this.#active.set(sessionId, manager);
    for (const [oldest, old] of this.#active) {
      if (this.#active.size <= MOST_ACTIVE) break;
      this.#active.delete(oldest);
      void this.#stop(old);
    }
    return manager;
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

  async #stop(manager: Promise<MemoryManager | undefined>): Promise<void> {
    const active = await manager;
    if (active !== undefined) await this.#person.provider.deactivate(active);
  }
}
