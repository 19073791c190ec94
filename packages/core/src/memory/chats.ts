// The chats of a person: from a chat id to its session, what to send to a model, and what to store of its reply.
import type { Person } from "./types.ts";
import type { Remembered, UserMemory } from "./user-memory.ts";

type Members = Pick<UserMemory, "context" | "chats" | "chat" | "rename" | "forgetChat" | "compact">;

export class Chats implements Members {
  readonly #person: Person;

  constructor(person: Person) {
    this.#person = person;
  }

  context: Members["context"] = () => this.#later();
  remember(_chatId: string, _args: readonly unknown[]): Promise<Remembered> {
    return this.#later();
  }
  chats: Members["chats"] = () => this.#later();
  chat: Members["chat"] = () => this.#later();
  rename: Members["rename"] = () => this.#later();
  forgetChat: Members["forgetChat"] = () => this.#later();
  compact: Members["compact"] = () => this.#later();

  #later(): never {
    throw new Error(`not built: ${this.#person.directory}`);
  }
}
