// The door for programs: opens a home and gives the memory of its owner or of one user. Every member throws a `HermesError`.

import { type Logger, silentLogger } from "../lib/logger.ts";
import type { Chats } from "./chats.ts";
import type { Entries } from "./entries.ts";
import { openHome } from "./open-home.ts";
import type { Home, Person } from "./types.ts";
import type { Memory, OpenMemoryOptions, UserMemory } from "./user-memory.ts";

/** Rejects with a `HermesError` if the home or its config.yaml cannot be used. Creates nothing. */
export async function openMemory(options: OpenMemoryOptions): Promise<Memory> {
  const home = openHome(options);
  try {
    await home.memoryConfig();
  } catch (cause) {
    await home.close();
    throw cause;
  }
  return new OpenedMemory(home, options.log ?? silentLogger);
}

class OpenedMemory implements Memory {
  readonly administration: Home;
  readonly owner: UserMemory;
  readonly #log: Logger;
  readonly #owner: PersonMemory;
  readonly #users = new Map<Person, PersonMemory>();

  constructor(home: Home, log: Logger) {
    this.administration = home;
    this.#log = log;
    this.#owner = new PersonMemory(home.owner, log);
    this.owner = this.#owner;
  }

  get home(): string {
    return this.administration.home;
  }

  user(user: { readonly platform: string; readonly id: string | number | bigint }): UserMemory {
    const person = this.administration.user(user);
    const known = this.#users.get(person) ?? new PersonMemory(person, this.#log);
    this.#users.set(person, known);
    return known;
  }

  close(): Promise<void> {
    return this[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#owner, ...this.#users.values()].map((person) => person.settled()));
    await this.administration.close();
  }
}

/** The layers of a person are loaded with the first member that needs them. */
class PersonMemory implements UserMemory {
  readonly layers: Person;
  readonly #log: Logger;
  #entries: Promise<Entries> | undefined;
  #chats: Promise<Chats> | undefined;

  constructor(person: Person, log: Logger) {
    this.layers = person;
    this.#log = log;
  }

  /** Resolves when nothing is being stored any more. */
  async settled(): Promise<void> {
    await (await this.#chats)?.settled();
  }

  get user(): UserMemory["user"] {
    const { user } = this.layers;
    return user && { platform: user.platform, id: user.userId };
  }

  readonly context: UserMemory["context"] = async (chatId, options) =>
    (await this.#openChats()).context(chatId, options);
  readonly remember: UserMemory["remember"] = async (chatId: string, ...args: unknown[]) =>
    (await this.#openChats()).remember(chatId, args);
  readonly transcript: UserMemory["transcript"] = async (chatId, options) =>
    (await this.#openChats()).transcript(chatId, options);
  readonly chats: UserMemory["chats"] = async (...args) => (await this.#openChats()).chats(...args);
  readonly chat: UserMemory["chat"] = async (...args) => (await this.#openChats()).chat(...args);
  readonly rename: UserMemory["rename"] = async (...args) => (await this.#openChats()).rename(...args);
  readonly forgetChat: UserMemory["forgetChat"] = async (...args) =>
    (await this.#openChats()).forgetChat(...args);
  readonly compact: UserMemory["compact"] = async (...args) => (await this.#openChats()).compact(...args);
  readonly extract: UserMemory["extract"] = async (...args) => {
    const { extractFacts } = await import("./extract.ts");
    return extractFacts({ chats: await this.#openChats(), entries: await this.#openEntries() }, ...args);
  };

  readonly add: UserMemory["add"] = async (...args) => (await this.#openEntries()).add(...args);
  readonly list: UserMemory["list"] = async (...args) => (await this.#openEntries()).list(...args);
  readonly update: UserMemory["update"] = async (...args) => (await this.#openEntries()).update(...args);
  readonly remove: UserMemory["remove"] = async (...args) => (await this.#openEntries()).remove(...args);
  readonly undo: UserMemory["undo"] = async (...args) => (await this.#openEntries()).undo(...args);
  readonly history: UserMemory["history"] = async (...args) => (await this.#openEntries()).history(...args);
  readonly explain: UserMemory["explain"] = async (...args) => (await this.#openEntries()).explain(...args);

  readonly search: UserMemory["search"] = async (...args) =>
    (await import("./search.ts")).searchMemory(this.layers, ...args);
  readonly erase: UserMemory["erase"] = async (options = {}) => {
    const { erasePerson } = await import("./erase.ts");
    const chats = options.dryRun ? undefined : await this.#chats;
    // Before it, so that turns on their way to the provider are erased there; after it, for calls that ran meanwhile.
    await chats?.forgetAll();
    const erased = await erasePerson(this.layers, options);
    await chats?.forgetAll();
    return erased;
  };

  #openEntries(): Promise<Entries> {
    this.#entries ??= import("./entries.ts").then(({ Entries }) => new Entries(this.layers));
    return this.#entries;
  }

  #openChats(): Promise<Chats> {
    this.#chats ??= import("./chats.ts").then(({ Chats }) => new Chats(this.layers, this.#log));
    return this.#chats;
  }
}
