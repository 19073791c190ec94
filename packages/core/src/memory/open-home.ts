// Opens a home. The command line, the MCP server, the agent, the curator and programs that use the library all get the layers here,
// so that they apply the same config, and a user's files always belong to the same user as the sessions. The code of a layer is
// loaded when the layer is first used.
import { readdirSync } from "node:fs";
import { resolve } from "node:path";
import type { ConfigError, HermesConfig, MemoryConfig } from "../config/index.ts";
import type { MemoryStore, MemoryStoreOptions, MemoryTarget } from "../curated/index.ts";
import {
  isDistinctName,
  memoriesDirectory,
  pendingWritesDirectory,
  sessionDatabasePath,
  userMemoriesDirectory,
  usersDirectory,
} from "../home.ts";
import { type Clock, HermesError, isRecord, type Result, systemClock } from "../lib/index.ts";
import type { Logger } from "../lib/logger.ts";
import type { MemoryManager } from "../providers/index.ts";
import type { HomeStore, Scope, SessionStore } from "../sessions/index.ts";
import type { SkillStore } from "../skills/index.ts";
import type { Tool } from "../tools/index.ts";
import type { SessionDatabase } from "./session-database.ts";
import type {
  Administrator,
  CuratedInOptions,
  CuratedOptions,
  Home,
  MemoryUser,
  OpenHomeOptions,
  Person,
  PersonProvider,
  SessionsWanted,
  SkillsWanted,
  ToolRules,
} from "./types.ts";

/** Opens the layers of a home, for programs that need more than `openMemory` offers. Reads and creates nothing until a layer is used. */
export function openHome(options: OpenHomeOptions): Home {
  return new OpenedHome(options);
}

/** config.yaml cannot be used. */
export class ConfigFailure extends HermesError {
  readonly problem: ConfigError;

  constructor(problem: ConfigError) {
    super("config", problem.message, {
      hint: `The file is ${problem.path}; 'hermes config check' lists everything that is wrong with it.`,
    });
    this.problem = problem;
  }
}

/** The value of a config result; throws `ConfigFailure` for an error. */
export function usable<Config>(read: Result<Config, ConfigError>): Config {
  if (read.ok) return read.value;
  throw new ConfigFailure(read.error);
}

/** For callers that work without config.yaml: undefined if it cannot be used. */
export async function ifUsable<Config>(reading: Promise<Config>): Promise<Config | undefined> {
  try {
    return await reading;
  } catch (cause) {
    if (cause instanceof ConfigFailure) return undefined;
    throw cause;
  }
}

class OpenedHome implements Home {
  readonly home: string;
  readonly clock: Clock;
  readonly owner: Person;
  readonly administrator: Administrator;
  readonly options: OpenHomeOptions;
  /** Weak, because a server may see any number of users. */
  readonly #users = new Map<string, WeakRef<Person>>();
  readonly #gone = new FinalizationRegistry<string>((key) => {
    if (this.#users.get(key)?.deref() === undefined) this.#users.delete(key);
  });
  readonly #opened = new AsyncDisposableStack();
  readonly #config = kept(async () => {
    const { loadConfig } = await import("../config/index.ts");
    return usable(await loadConfig(this.home));
  });
  readonly #memoryConfig = kept(async () => {
    const { loadMemoryConfig } = await import("../config/index.ts");
    return usable(await loadMemoryConfig(this.home));
  });
  /** Providers that run. */
  #managers: Set<MemoryManager> | undefined;
  #database: Promise<SessionDatabase> | undefined;
  /** Agents that work on it. */
  readonly #guests = new Set<AsyncDisposable>();
  #isClosed = false;
  #closing: Promise<void> | undefined;

  constructor(options: OpenHomeOptions) {
    this.home = resolve(homeIn(options));
    this.clock = options.clock ?? systemClock;
    this.options = options;
    this.owner = new PersonOfHome(this, undefined);
    this.administrator = new AdministratorOfHome(this, undefined);
  }

  config(): Promise<HermesConfig> {
    const given = this.options.config;
    return typeof given === "object" ? Promise.resolve(given) : this.#config(given === "live");
  }

  memoryConfig(): Promise<MemoryConfig> {
    const given = this.options.config;
    return typeof given === "object" ? Promise.resolve(given.memory) : this.#memoryConfig(given === "live");
  }

  user(user: { readonly platform: unknown; readonly id: unknown }): Person {
    if (!isRecord(user)) throw nobody("platform and id", user);
    const { platform, id } = user;
    if (typeof platform !== "string" || platform.trim() === "") throw nobody("platform", platform);
    const userId = idText(id);
    for (const [field, text] of Object.entries({ platform, id: userId }))
      if (!isDistinctName(text)) throw indistinct(field);
    const key = JSON.stringify([platform, userId]);
    const known = this.#users.get(key)?.deref();
    if (known !== undefined) return known;
    const person = new PersonOfHome(this, { platform, userId });
    this.#users.set(key, new WeakRef(person));
    this.#gone.register(person, key);
    return person;
  }

  closeFirst(guest: AsyncDisposable): () => void {
    this.refuseIfClosed();
    this.#guests.add(guest);
    return () => void this.#guests.delete(guest);
  }

  close(): Promise<void> {
    return this[Symbol.asyncDispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const guests = await Promise.allSettled([...this.#guests].map((guest) => guest[Symbol.asyncDispose]()));
    await this.#opened.disposeAsync();
    for (const guest of guests) if (guest.status === "rejected") throw guest.reason;
  }

  refuseIfClosed(): void {
    if (!this.#isClosed) return;
    throw new HermesError("memory-closed", `The memory of ${this.home} is closed.`, {
      hint: "Open the home again with openMemory or openHome.",
    });
  }

  /** One per home, shared by all persons. */
  database(): Promise<SessionDatabase> {
    this.#database ??= import("./session-database.ts").then(({ SessionDatabase }) => {
      const { log } = this.options;
      const path = sessionDatabasePath(this.home);
      const warn: Logger["warn"] = (message, fields) => log?.warn(message, fields);
      const refuseIfClosed = () => this.refuseIfClosed();
      return this.closeLater(new SessionDatabase({ path, warn, clock: this.clock, refuseIfClosed }));
    });
    return this.#database;
  }

  /** Shuts the manager down together with the home, or at once if the home is already closed. */
  async shutDownLater(manager: MemoryManager): Promise<void> {
    if (this.#isClosed) await manager.shutdownAll();
    this.refuseIfClosed();
    this.#managers ??= this.#opened.adopt(new Set(), async (managers) => {
      await Promise.all([...managers].map((each) => each.shutdownAll()));
    });
    this.#managers.add(manager);
  }

  async shutDown(manager: MemoryManager): Promise<void> {
    await manager.shutdownAll();
    this.#managers?.delete(manager);
  }

  /** Closes `opened` together with the home, or at once if the home is already closed. */
  async closeLater<Opened extends AsyncDisposable>(opened: Opened): Promise<Opened> {
    if (this.#isClosed) await opened[Symbol.asyncDispose]();
    this.refuseIfClosed();
    return this.#opened.use(opened);
  }
}

/** Reads once, or with `isLive` each time. A failure is not kept: the user may repair the file. */
function kept<Config>(read: () => Promise<Config>): (isLive: boolean) => Promise<Config> {
  let last: Promise<Config> | undefined;
  return (isLive) => {
    if (!isLive && last !== undefined) return last;
    const reading = read();
    last = reading;
    reading.catch(() => {
      if (last === reading) last = undefined;
    });
    return reading;
  };
}

/** The owner of the home; the layer of sessions, which has the same constant, is not loaded for it. */
const NO_USER = { withoutUser: true } as const satisfies Scope;

class PersonOfHome implements Person {
  readonly memory: OpenedHome;
  readonly user: MemoryUser | undefined;
  readonly scope: Scope;
  readonly directory: string;
  readonly pendingDirectory: string;
  readonly provider: PersonProvider;
  /** Of this person, by the store of the home. */
  readonly #stores = new WeakMap<HomeStore, SessionStore>();

  constructor(memory: OpenedHome, user: MemoryUser | undefined) {
    const { home } = memory;
    this.memory = memory;
    this.user = user;
    this.scope = user === undefined ? NO_USER : { userId: user.userId, userPlatform: user.platform };
    this.directory =
      user === undefined ? memoriesDirectory(home) : userMemoriesDirectory(home, user.platform, user.userId);
    this.pendingDirectory = pendingWritesDirectory(home, this.directory);
    this.provider = providerOf(memory, user);
  }

  async curated(options: CuratedOptions = {}): Promise<MemoryStore | undefined> {
    this.memory.refuseIfClosed();
    const config = await this.memory.memoryConfig();
    if (!config.memoryEnabled && !config.userProfileEnabled) return undefined;
    return openCurated(this.memory, this.directory, { ...options, config });
  }

  sessions(wanted: SessionsWanted & { readonly create: true }): Promise<SessionStore>;
  sessions(wanted: SessionsWanted): Promise<SessionStore | undefined>;
  async sessions(wanted: SessionsWanted): Promise<SessionStore | undefined> {
    const store = await (await this.memory.database()).open(wanted);
    const own = store && (this.#stores.get(store) ?? store.forUser(this.user ?? NO_USER));
    if (store && own) this.#stores.set(store, own);
    return own;
  }

  async withSessions<T>(work: (store: SessionStore | undefined) => Promise<T>): Promise<T> {
    const database = await this.memory.database();
    return database.use((store) => work(store?.forUser(this.user ?? NO_USER)));
  }

  async skills({ platform, allowSecrets }: SkillsWanted = {}): Promise<SkillStore> {
    const { home, clock, options } = this.memory;
    this.memory.refuseIfClosed();
    const { skills: config } = await this.memory.config();
    const { SkillStore } = await import("../skills/index.ts");
    this.memory.refuseIfClosed();
    const { externalDirs, disabled, platformDisabled, templateVars } = config;
    return new SkillStore({
      home,
      clock,
      externalDirs,
      disabled,
      platformDisabled,
      templateVars,
      allowSecrets: allowSecrets === true || config.allowSecrets,
      platform,
      env: options.env,
    });
  }

  async tools(rules: ToolRules = {}): Promise<readonly Tool[]> {
    const { memory } = this;
    memory.refuseIfClosed();
    const { toolsOf } = await import("./person-tools.ts");
    return (await toolsOf(this, rules)).map((tool) => ({
      ...tool,
      run: async (args, call) => {
        memory.refuseIfClosed();
        return tool.run(args, call);
      },
    }));
  }
}

class AdministratorOfHome extends PersonOfHome implements Administrator {
  override readonly scope: Scope = {};

  override sessions(wanted: SessionsWanted & { readonly create: true }): Promise<HomeStore>;
  override sessions(wanted: SessionsWanted): Promise<HomeStore | undefined>;
  override async sessions(wanted: SessionsWanted): Promise<HomeStore | undefined> {
    return (await this.memory.database()).open(wanted);
  }

  override async withSessions<T>(work: (store: HomeStore | undefined) => Promise<T>): Promise<T> {
    return (await this.memory.database()).use(work);
  }

  async curatedIn(directory: string, options: CuratedInOptions = {}): Promise<MemoryStore> {
    const config = options.config ?? (await this.memory.memoryConfig());
    return openCurated(this.memory, directory, { ...options, config });
  }

  async salvage(): ReturnType<Administrator["salvage"]> {
    return (await this.memory.database()).salvage();
  }

  userDirectories(): readonly string[] {
    return directoriesIn(usersDirectory(this.memory.home));
  }
}

async function openCurated(
  memory: OpenedHome,
  dir: string,
  { config, allowSecrets, log, isLoaded = true }: CuratedInOptions & { readonly config: MemoryConfig },
): Promise<MemoryStore> {
  const { MemoryStore } = await import("../curated/index.ts");
  memory.refuseIfClosed(); // loading creates the directory
  const store = new MemoryStore({
    ...curatedSettings(config),
    dir,
    clock: memory.clock,
    allowSecrets: allowSecrets === true || config.allowSecrets,
    log,
  });
  if (isLoaded) await store.load(); // an unreadable file is reported in `store.warnings`
  return store;
}

function curatedSettings(config: MemoryConfig): Omit<MemoryStoreOptions, "dir"> {
  const disabled: MemoryTarget[] = [];
  if (!config.memoryEnabled) disabled.push("memory");
  if (!config.userProfileEnabled) disabled.push("user");
  return {
    memoryCharLimit: config.memoryCharLimit,
    userCharLimit: config.userCharLimit,
    disabled,
    overflow: config.overflow,
    scanAllow: config.scanAllow,
    allowSecrets: config.allowSecrets,
    historyMaxBytes: config.historyMaxBytes,
    historyKeep: config.historyKeep,
    lockTimeoutMs: config.lockTimeoutSeconds * 1000,
  };
}

function providerOf(memory: OpenedHome, user: MemoryUser | undefined): PersonProvider {
  type Layer = typeof import("../providers/index.ts") & {
    readonly request: { readonly home: string; readonly config: MemoryConfig; readonly user?: MemoryUser };
  };
  /** Undefined, and the layer is not loaded, if no provider is active. */
  const layer = async (isGiven = false): Promise<Layer | undefined> => {
    const config = await memory.memoryConfig();
    if (!isGiven && config.provider.trim() === "") return undefined;
    const request = { home: memory.home, config, user };
    return { ...(await import("../providers/index.ts")), request };
  };
  return {
    async activate({ options, ...request }) {
      memory.refuseIfClosed();
      const providers = await layer(request.provider !== undefined);
      if (providers === undefined) return { kind: "none" };
      const { home, config } = providers.request;
      const identity = user === undefined ? {} : { platform: user.platform, user_id: user.userId };
      const activation = await providers.activateProvider({
        ...request,
        home,
        config,
        options: { ...options, ...identity },
      });
      if (activation.kind !== "active") return activation;
      const { manager } = activation;
      await memory.shutDownLater(manager);
      return activation;
    },
    deactivate: (manager) => memory.shutDown(manager),
    async mirror(writes, origin) {
      const providers = writes.length === 0 ? undefined : await layer();
      return providers?.mirrorWrites({ ...providers.request, writes, origin }) ?? { kind: "none" };
    },
    async upload(request) {
      const providers = await layer();
      return providers?.uploadEntries({ ...request, ...providers.request }) ?? { kind: "none" };
    },
    async forget(text, { isDryRun }) {
      const providers = await layer();
      return providers?.forgetInProvider({ ...providers.request, text, isDryRun }) ?? { kind: "none" };
    },
    async erase({ isDryRun }) {
      const providers = await layer();
      return providers?.eraseInProvider({ ...providers.request, isDryRun }) ?? { kind: "none" };
    },
    async findElsewhere() {
      const { bundledProviders } = await import("../providers/index.ts");
      const { provider } = await memory.memoryConfig();
      return (await bundledProviders())?.findStoresElsewhere(memory.home, provider.trim(), user) ?? [];
    },
    async scrub(texts) {
      const providers = texts.length === 0 ? undefined : await layer();
      return providers?.scrubInProvider({ ...providers.request, texts }) ?? { kind: "none" };
    },
  };
}

/** An empty text would mean the current directory of the process. */
function homeIn(options: Partial<OpenHomeOptions> | undefined): string {
  const home: unknown = options?.home;
  if (typeof home === "string" && home !== "" && !home.includes("\0")) return home;
  const what = home === "" ? "an empty text" : typeof home === "string" ? "a text with U+0000" : typeof home;
  throw new HermesError("bad-home", `The home was passed as ${what}, which names no directory.`, {
    hint: "Pass the path of the directory: $HERMES_HOME, or ~/.hermes.",
  });
}

/** Accepts numbers, because some platforms number their users. */
function idText(id: unknown): string {
  if (typeof id === "string" && id.trim() !== "") return id;
  if (typeof id === "bigint" || (typeof id === "number" && Number.isSafeInteger(id))) return String(id);
  throw nobody("id", id);
}

/** A caller without a user id must not get the owner's memory. */
function nobody(field: string, value: unknown): HermesError {
  const what =
    typeof value === "string"
      ? "an empty text"
      : value === null || value === undefined
        ? value
        : typeof value;
  return new HermesError(
    "bad-user-id",
    `The user's ${field} ${field.includes(" ") ? "were" : "was"} passed as ${what}, which names no user.`,
    {
      hint: "Pass the platform and the id that your login gave this user. Nobody's memory was opened.",
    },
  );
}

function indistinct(field: string): HermesError {
  const message = `The user's ${field} contains U+0000 or half of a surrogate pair, so it cannot be told from other ones.`;
  return new HermesError("bad-user-id", message, {
    hint: "Pass it as the platform has it, as well-formed text.",
  });
}

function directoriesIn(directory: string): string[] {
  try {
    const entries = readdirSync(directory, { withFileTypes: true });
    return entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort();
  } catch {
    return []; // no user yet, or the folder cannot be read; 'hermes doctor' reports permissions
  }
}
