// The types of an opened home: the home, its persons, and the layers of each person.
import type { HermesConfig, MemoryConfig } from "../config/index.ts";
import type { CommittedWrite, MemoryStore, WriteOrigin } from "../curated/index.ts";
import type { Clock } from "../lib/index.ts";
import type { Logger } from "../lib/logger.ts";
import type {
  Activation,
  ActivationRequest,
  Forgot,
  MemoryManager,
  Mirrored,
  Scrubbed,
  Uploaded,
  UploadRequest,
} from "../providers/index.ts";
import type { ExportLoss, HomeStore, Scope, SessionStore } from "../sessions/index.ts";
import type { SkillStore } from "../skills/index.ts";
import type { Tool } from "../tools/index.ts";

/** Which home `openHome` opens, and the parts of the environment it uses. */
export type OpenHomeOptions = {
  /** `$HERMES_HOME`. */
  readonly home: string;
  /** Receives warnings of the session database while `withSessions` uses it. */
  readonly log?: Pick<Logger, "warn">;
  readonly clock?: Clock;
  /** For variables in paths of skills. Default: `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /**
   * Absent: `<home>/config.yaml`, read once on first use, and again only after a failure. `"live"`: read on every use, for a server
   * that runs for days. A value: used instead of the file.
   */
  readonly config?: HermesConfig | "live";
};

/** A user of a shared home, with their own memory files and sessions. */
export type MemoryUser = { readonly platform: string; readonly userId: string };

/** Opening a home reads and creates nothing. Each layer is opened on first use; closing the home closes all of them. */
export interface Home extends AsyncDisposable {
  /** Absolute. */
  readonly home: string;
  readonly clock: Clock;
  /** Rejects with a `ConfigFailure` if config.yaml cannot be used. */
  config(): Promise<HermesConfig>;
  /** The section `memory:` only. Ignores mistakes in other sections, and reads simple files without the YAML library. */
  memoryConfig(): Promise<MemoryConfig>;
  /** The person the home belongs to: the files in `memories/` and the sessions that have no user. */
  readonly owner: Person;
  /** The same files, and the sessions of all users together. For whoever runs the home: the command line, the MCP server. */
  readonly administrator: Administrator;
  /**
   * One user of a shared home. Throws `bad-user-id` if platform or id is missing (a caller without a user id must not get the owner's
   * memory) or contains U+0000 or a lone surrogate. Returns the same object for the same user.
   */
  user(user: { readonly platform: string; readonly id: string | number | bigint }): Person;
  /**
   * `guest` is closed before the layers of the home are: an agent stores its interrupted turn. Call the returned function when it was
   * closed otherwise. Throws `memory-closed`.
   */
  closeFirst(guest: AsyncDisposable): () => void;
  /** May be called twice. From then on layers and tool calls reject with `memory-closed`, including those already running. */
  close(): Promise<void>;
}

/** The owner or one user. Files, staged writes, sessions and the provider's identity are all derived from the same key. */
export interface Person {
  /** The home this person belongs to. */
  readonly memory: Home;
  /** Undefined: the owner. */
  readonly user: MemoryUser | undefined;
  /** For reading a session store that is not bound to this person. `{}` for the administrator only. */
  readonly scope: Scope;
  /** Where the curated files are. */
  readonly directory: string;
  /** Where writes wait for approval. */
  readonly pendingDirectory: string;
  /** A new store, loaded unless `isLoaded` is false; loading creates the directory. Undefined if config disables both files. */
  curated(options?: CuratedOptions): Promise<MemoryStore | undefined>;
  /**
   * The session database, opened once and closed with the home. It is bound: sessions of others do not exist in it; only the
   * administrator sees all. Undefined if there is no database and `create` is not set.
   */
  sessions(wanted: SessionsWanted & { readonly create: true }): Promise<SessionStore>;
  sessions(wanted: SessionsWanted): Promise<SessionStore | undefined>;
  /**
   * For a server that runs for days: calls `work` with the database, or with undefined while there is none. Reopens the database if
   * its file was replaced, opens it read-only if it cannot be written, and never creates it. `work` must only read: if the file is
   * replaced while it runs, it runs once more on the new one.
   */
  withSessions<T>(work: (store: SessionStore | undefined) => Promise<T>): Promise<T>;
  skills(options?: SkillsWanted): Promise<SkillStore>;
  /** The tools that work outside a conversation: memory, session search, history and skills. Each opens its layer when it runs. */
  tools(rules?: ToolRules): Promise<readonly Tool[]>;
  readonly provider: PersonProvider;
}

/** Sees the sessions of all users; sessions it creates have no user. */
export interface Administrator extends Person {
  sessions(wanted: SessionsWanted & { readonly create: true }): Promise<HomeStore>;
  sessions(wanted: SessionsWanted): Promise<HomeStore | undefined>;
  withSessions<T>(work: (store: HomeStore | undefined) => Promise<T>): Promise<T>;
  /** The curated files in any directory, even if config disables them: the store then refuses writes. */
  curatedIn(directory: string, options?: CuratedInOptions): Promise<MemoryStore>;
  /** A copy with every readable row of a damaged database. Deleted when the home is closed. */
  salvage(): Promise<{ readonly store: HomeStore; readonly loss: ExportLoss }>;
  /** Names of the users' directories below `memories/users`, sorted. They do not reveal the user ids. */
  userDirectories(): readonly string[];
}

/** How a person's curated store is opened. */
export type CuratedOptions = {
  /** Allows texts that look like credentials in this store, whatever config says. */
  readonly allowSecrets?: boolean;
  /** Receives every line that is added to the store's `warnings`. */
  readonly log?: (line: string) => void;
  /** False: for history, archive and paths only. Reads nothing and creates no directory. */
  readonly isLoaded?: boolean;
};

/** How `curatedIn` opens the curated files of a directory. */
export type CuratedInOptions = CuratedOptions & {
  /** Used instead of config.yaml. */
  readonly config?: MemoryConfig;
};

/** `create` also creates a missing file for reading. */
export type SessionsWanted = { readonly mode: "read" | "write"; readonly create?: boolean };

/** For which platform skills are opened, and whether they may hold secrets. */
export type SkillsWanted = {
  /** Where the conversation takes place: `cli`, `telegram`, ... */
  readonly platform?: string;
  /** In addition to what config allows. */
  readonly allowSecrets?: boolean;
};

/** How the tools of a person run, and who hears about their writes. */
export type ToolRules = {
  /** Runs calls on the curated files one after the other. Default: at once. */
  readonly inOrder?: <T>(work: () => Promise<T>) => Promise<T>;
  /** Receives every line that is added to the curated store's `warnings`. */
  readonly log?: (line: string) => void;
  /** Who calls the memory tool, for the journal. Default: `tool`. */
  readonly origin?: WriteOrigin;
  /** Called after each call of the memory tool with the committed changes. The tool's answer waits for it. */
  readonly onWrites?: (writes: readonly CommittedWrite[]) => void | Promise<void>;
};

/** The active memory provider, on behalf of one person. If none is active, the layer is not loaded. */
export interface PersonProvider {
  /** Starts the provider for a session; the home shuts it down. The person's `platform` and `user_id` override the options. */
  activate(request: Omit<ActivationRequest, "home" | "config">): Promise<Activation>;
  /** Shuts down a provider that `activate` started, before the home is closed. */
  deactivate(manager: MemoryManager): Promise<void>;
  /** Tells the provider about committed writes. `origin`: `cli`, `mcp`, `library` or `curator`. Never rejects. */
  mirror(writes: readonly CommittedWrite[], origin: string): Promise<Mirrored>;
  /** Copies entries that the provider does not have yet. Never rejects. */
  upload(request: Omit<UploadRequest, "home" | "config" | "user">): Promise<Uploaded>;
  /** Erases a text in the provider's store; with `isDryRun` only counts the matches. */
  forget(text: string, options: { readonly isDryRun: boolean }): Promise<Forgot>;
  /** Erases everything of this person in the provider's store; with `isDryRun` only counts it. */
  erase(options: { readonly isDryRun: boolean }): Promise<Forgot>;
  /** One sentence for each bundled provider that is not active but still has records of this person. */
  findElsewhere(): Promise<readonly { readonly provider: string; readonly found: string }[]>;
  /** Makes the provider overwrite the bytes of deleted texts. */
  scrub(texts: readonly string[]): Promise<Scrubbed>;
}
