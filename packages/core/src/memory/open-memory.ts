// The door for programs: opens a home and gives the memory of its owner or of one user. Every member throws a `HermesError`.

import type { TextModel } from "../lib/index.ts";
import { type Logger, silentLogger } from "../lib/logger.ts";
import type { Chats } from "./chats.ts";
import type { Entries } from "./entries.ts";
import { Gate, type StepOutside } from "./gate.ts";
import { openHome } from "./open-home.ts";
import { badOption } from "./options.ts";
import type { Home, OpenHomeOptions, Person } from "./types.ts";
import type { Memory, OpenMemoryOptions, UserMemory } from "./user-memory.ts";

/** Rejects with a `HermesError` if the home or its config.yaml cannot be used. Creates nothing. */
export async function openMemory(options: OpenMemoryOptions): Promise<Memory> {
  const memory = memoryIn(options);
  try {
    await memory.administration.memoryConfig();
  } catch (cause) {
    await memory.close();
    throw cause;
  }
  return memory;
}

/** Reads nothing: a mistake in config.yaml is reported by the first member that needs it. */
export function memoryIn(options: OpenMemoryOptions & Pick<OpenHomeOptions, "config">): Memory {
  return new OpenedMemory(openHome(options), options.log ?? silentLogger);
}

class OpenedMemory implements Memory {
  readonly administration: Home;
  readonly owner: UserMemory;
  readonly #log: Logger;
  /** Weak, because a server may see any number of users; those that are storing something are in `#working`. */
  readonly #users = new WeakMap<Person, UserMemory>();
  readonly #working = new Set<PersonMemory>();

  constructor(home: Home, log: Logger) {
    this.administration = home;
    this.#log = log;
    this.owner = new PersonMemory(home.owner, log, this.#working);
  }

  get home(): string {
    return this.administration.home;
  }

  user(user: { readonly platform: string; readonly id: string | number | bigint }): UserMemory {
    const person = this.administration.user(user);
    const known = this.#users.get(person) ?? new PersonMemory(person, this.#log, this.#working);
    this.#users.set(person, known);
    return known;
  }

  close(): Promise<void> {
    return this[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#working].map((person) => person.settled()));
    await this.administration.close();
  }
}

/** The layers of a person are loaded with the first member that needs them. */
class PersonMemory implements UserMemory {
  readonly layers: Person;
  readonly #log: Logger;
  readonly #gate = new Gate();
  /** Those whose work `close` waits for. */
  readonly #working: Set<PersonMemory>;
  #calls = 0;
  #entries: Promise<Entries> | undefined;
  #chats: Promise<Chats> | undefined;

  constructor(person: Person, log: Logger, working: Set<PersonMemory>) {
    this.layers = person;
    this.#log = log;
    this.#working = working;
  }

  /** Resolves when the calls so far have ended, except those that wait for a model, and nothing is being stored any more. */
  async settled(): Promise<void> {
    await this.#gate.settled();
    await (await this.#chats)?.settled();
  }

  get user(): UserMemory["user"] {
    const { user } = this.layers;
    return user && { platform: user.platform, id: user.userId };
  }

  readonly openChat: UserMemory["openChat"] = (...args) =>
    this.#pass(async () => (await this.#openChats()).openChat(...args));
  readonly block: UserMemory["block"] = (...args) =>
    this.#pass(async () => (await this.#openChats()).block(...args));
  readonly recall: UserMemory["recall"] = (...args) =>
    this.#pass(async () => (await this.#openChats()).recall(...args));
  readonly context: UserMemory["context"] = (chatId, options) =>
    this.#pass(async () => (await this.#openChats()).context(chatId, options));
  readonly remember: UserMemory["remember"] = (chatId: string, ...args: unknown[]) =>
    this.#pass(async (step) => {
      const { readArguments } = await import("./remember.ts");
      const [said, reply] = args;
      // A reply that arrives later may itself need this memory.
      const isAwaited = typeof said === "string" && typeof reply === "object" && !Array.isArray(reply);
      const read = await (isAwaited ? step(() => readArguments(args)) : readArguments(args));
      return (await this.#openChats()).remember(chatId, read);
    });
  readonly ask: UserMemory["ask"] = (...args) =>
    this.#pass(async () => (await this.#openChats()).ask(...args));
  readonly answer: UserMemory["answer"] = (...args) =>
    this.#pass(async () => (await this.#openChats()).answer(...args));
  readonly transcript: UserMemory["transcript"] = (chatId, options) =>
    this.#pass(async () => (await this.#openChats()).transcript(chatId, options));
  readonly chats: UserMemory["chats"] = (...args) =>
    this.#pass(async () => (await this.#openChats()).chats(...args));
  readonly chat: UserMemory["chat"] = (...args) =>
    this.#pass(async () => (await this.#openChats()).chat(...args));
  readonly rename: UserMemory["rename"] = (...args) =>
    this.#pass(async () => (await this.#openChats()).rename(...args));
  readonly forgetChat: UserMemory["forgetChat"] = (...args) =>
    this.#pass(async () => (await this.#openChats()).forgetChat(...args));
  readonly compact: UserMemory["compact"] = (chatId, options) =>
    this.#pass(async (step) => {
      const chats = await this.#openChats();
      return chats.compact(chatId, { ...options, model: askedOutside(options?.model, step) });
    });
  readonly extract: UserMemory["extract"] = (chatId, options) =>
    this.#pass(async (step) => {
      const { extractFacts } = await import("./extract.ts");
      const layers = { chats: await this.#openChats(), entries: await this.#openEntries() };
      return extractFacts(layers, chatId, { ...options, model: askedOutside(options?.model, step) });
    });

  readonly add: UserMemory["add"] = (...args) =>
    this.#pass(async () => (await this.#openEntries()).add(...args));
  readonly list: UserMemory["list"] = (...args) =>
    this.#pass(async () => (await this.#openEntries()).list(...args));
  readonly update: UserMemory["update"] = (...args) =>
    this.#pass(async () => (await this.#openEntries()).update(...args));
  readonly remove: UserMemory["remove"] = (...args) =>
    this.#pass(async () => (await this.#openEntries()).remove(...args));
  readonly undo: UserMemory["undo"] = (...args) =>
    this.#pass(async () => (await this.#openEntries()).undo(...args));
  readonly history: UserMemory["history"] = (...args) =>
    this.#pass(async () => (await this.#openEntries()).history(...args));
  readonly explain: UserMemory["explain"] = (...args) =>
    this.#pass(async () => (await this.#openEntries()).explain(...args));

  readonly search: UserMemory["search"] = (...args) =>
    this.#pass(async () => (await import("./search.ts")).searchMemory(this.layers, ...args));
  readonly erase: UserMemory["erase"] = (options = {}) =>
    options.dryRun
      ? this.#pass(async () => (await import("./erase.ts")).erasePerson(this.layers, options))
      : this.#gate.passAlone(async () => {
          const { erasePerson } = await import("./erase.ts");
          const chats = await this.#chats;
          // Before it, so that turns on their way to the provider are erased there; after it, for what providers did at their end.
          await chats?.forgetAll();
          const erased = await erasePerson(this.layers, options);
          await chats?.forgetAll();
          return erased;
        });

  /** One call, which an erasure waits for. What it began in the background may end after it. */
  async #pass<T>(work: (step: StepOutside) => Promise<T>): Promise<T> {
    this.#working.add(this);
    this.#calls += 1;
    try {
      return await this.#gate.pass(work);
    } finally {
      this.#calls -= 1;
      this.#rest().catch(() => undefined); // the caller got the error
    }
  }

  async #rest(): Promise<void> {
    await this.settled();
    if (this.#calls === 0) this.#working.delete(this);
  }

  #openEntries(): Promise<Entries> {
    this.#entries ??= import("./entries.ts").then(({ Entries }) => new Entries(this.layers));
    return this.#entries;
  }

  #openChats(): Promise<Chats> {
    this.#chats ??= import("./chats.ts").then(({ Chats }) => new Chats(this.layers, this.#log));
    return this.#chats;
  }
}

/** A model may answer for minutes, and may itself use this memory: while it does, the person can be erased. */
function askedOutside(model: TextModel | undefined, step: StepOutside): TextModel {
  if (typeof model?.complete !== "function")
    throw badOption(
      "'model' has no function 'complete'.",
      "Pass { model: { complete({ system, prompt }) { ... } } }: it resolves with the text of the answer.",
    );
  return { complete: (request) => step(async () => model.complete(request)) };
}
