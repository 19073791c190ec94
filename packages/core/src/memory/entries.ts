// The curated entries of a person, by id: what `MemoryStore` does with operations and `Result`, with errors that are thrown.
import type { Person } from "./types.ts";
import type { UserMemory } from "./user-memory.ts";

type Members = Pick<UserMemory, "add" | "list" | "update" | "remove" | "undo" | "history" | "explain">;

export class Entries implements Members {
  readonly #person: Person;

  constructor(person: Person) {
    this.#person = person;
  }

  add: Members["add"] = () => this.#later();
  list: Members["list"] = () => this.#later();
  update: Members["update"] = () => this.#later();
  remove: Members["remove"] = () => this.#later();
  undo: Members["undo"] = () => this.#later();
  history: Members["history"] = () => this.#later();
  explain: Members["explain"] = () => this.#later();

  #later(): never {
    throw new Error(`not built: ${this.#person.directory}`);
  }
}
