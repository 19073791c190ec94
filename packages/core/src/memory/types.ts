// The opened home as its users see it: one home, the persons in it, and what each of them has.
import type { HermesConfig, MemoryConfig } from "../config/index.ts";
import type { CommittedWrite, MemoryStore } from "../curated/index.ts";
import type { Clock } from "../lib/index.ts";
import type { Logger } from "../lib/logger.ts";
import type { Activation, ActivationRequest, Forgot, Mirrored, Scrubbed } from "../providers/index.ts";
import type { ExportLoss, Scope, SessionStore } from "../sessions/index.ts";
import type { SkillStore } from "../skills/index.ts";
import type { Tool } from "../tools/index.ts";

export type OpenMemoryOptions = {
  /** `$HERMES_HOME`. */
  readonly home: string;
  /** Gets what the session database had to work around while `withSessions` was open. */
  readonly log?: Pick<Logger, "warn">;
  readonly clock?: Clock;
  /** For variables in the paths of skills. Default: the process's own. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /**
   * Absent: `<home>/config.yaml`, read when it is first asked for, and again after a failure only. `"live"`: read at every question, for a server that runs
   * for days. A value: in place of the file.
   */
  readonly config?: HermesConfig | "live";
};

/** A user of a home that several share; each has memory files and sessions of their own. */
export type MemoryUser = { readonly platform: string; readonly userId: string };

/** Opening it reads and makes nothing. Each layer is opened when it is asked for; closing the home closes all of them. */
export interface Memory extends AsyncDisposable {
  /** Absolute. */
  readonly home: string;
  readonly clock: Clock;
  /** Rejects with a `ConfigFailure`: guessed settings would be worse than none. */
  config(): Promise<HermesConfig>;
  /** The section `memory:` alone. A mistake in another section does not matter, and a plain file is read without a YAML library. */
  memoryConfig(): Promise<MemoryConfig>;
  /** Whose home it is. Reads every session; the rows it writes have no user. */
  readonly owner: Owner;
  /**
   * One user of several. Numbers are taken as ids too. Throws `bad-user-id` where platform or id is missing, because a caller that has
   * lost its user must not get the owner's memory, and where one contains U+0000 or half of a surrogate pair. The same user is the
   * same object.
   */
  user(user: { readonly platform: string; readonly id: string | number | bigint }): Person;
  everyone(): Everyone;
  /** Harmless when done twice. Afterwards layers and runs of tools reject with `memory-closed`, also those that were under way. */
  close(): Promise<void>;
}

/** The owner or one user. Files, staged writes, sessions and the provider's identity all come from the same key. */
export interface Person {
  /** The home this person belongs to. */
  readonly memory: Memory;
  /** Undefined: the owner. */
  readonly user: MemoryUser | undefined;
  /** For reads of a session store that is not bound to this person: `{}` for the owner. */
  readonly scope: Scope;
  /** Where the curated files are. */
  readonly directory: string;
  /** Where writes to them wait for approval. */
  readonly pendingDirectory: string;
  /** A store of its own, loaded now. Undefined when config switches both files off. Loading makes the directory. */
  curated(options?: CuratedOptions): Promise<MemoryStore | undefined>;
  /**
   * The session database, opened once; for a user bound to them, so that the sessions of others do not exist in it. Undefined when
   * there is none and it may not be made. The home closes it.
   */
  sessions(wanted: SessionsWanted & { readonly create: true }): Promise<SessionStore>;
  sessions(wanted: SessionsWanted): Promise<SessionStore | undefined>;
  /**
   * For a server that runs for days: runs `work` on the database, or on undefined while there is none. It is opened again when the
   * file under it was exchanged, read where it cannot be written, and never made. `work` only reads: when the file is exchanged
   * meanwhile it runs once more, on the new one.
   */
  withSessions<T>(work: (store: SessionStore | undefined) => Promise<T>): Promise<T>;
  skills(options?: SkillsWanted): Promise<SkillStore>;
  /** The tools that work outside of a conversation: memory, session search, history and skills. Each opens its layer when it runs. */
  tools(rules?: ToolRules): Promise<readonly Tool[]>;
  readonly provider: PersonProvider;
}

export interface Owner extends Person {
  /** The curated files in any directory, also when config switches them off: the store then refuses writes. */
  curatedIn(directory: string, options?: CuratedInOptions): Promise<MemoryStore>;
}

/** Work that concerns all users together. It has no curated files. */
export interface Everyone {
  sessions(wanted: SessionsWanted & { readonly create: true }): Promise<SessionStore>;
  sessions(wanted: SessionsWanted): Promise<SessionStore | undefined>;
  /** A copy with every row of a damaged database that can be read. It goes when the home is closed. */
  salvage(): Promise<{ readonly store: SessionStore; readonly loss: ExportLoss }>;
  /** Names of the users' directories below `memories/users`, sorted. They do not tell the user's id. */
  userDirectories(): readonly string[];
}

export type CuratedOptions = {
  /** Texts that look like credentials may be stored this time, whatever config says. */
  readonly allowSecrets?: boolean;
  /** Gets every line that goes to the store's `warnings`. */
  readonly log?: (line: string) => void;
};

export type CuratedInOptions = CuratedOptions & {
  /** False: history and paths only. Nothing is read yet, and no directory is made. */
  readonly isLoaded?: boolean;
  /** In place of what config.yaml says. */
  readonly config?: MemoryConfig;
};

/** With `create`, a file that is not there is made, also for reading. */
export type SessionsWanted = { readonly mode: "read" | "write"; readonly create?: boolean };

export type SkillsWanted = {
  /** Where the conversation takes place: `cli`, `telegram`, ... */
  readonly platform?: string;
  /** Adds to what config allows. */
  readonly allowSecrets?: boolean;
};

export type ToolRules = {
  /** Runs one piece of work on the curated files after the other. Default: at once. */
  readonly inOrder?: <T>(work: () => Promise<T>) => Promise<T>;
  /** Gets every line that goes to the curated store's `warnings`. */
  readonly log?: (line: string) => void;
  /** After each call of the memory tool: the changes that are committed. The answer waits for it. */
  readonly onWrites?: (writes: readonly CommittedWrite[]) => void | Promise<void>;
};

/** The active memory provider, on behalf of one person. Without an active one nothing of that layer is loaded. */
export interface PersonProvider {
  /** Starts it for a session. `platform` and `user_id` are the user's own whatever the options say. Shut down with the home. */
  activate(request: Omit<ActivationRequest, "home" | "config">): Promise<Activation>;
  /** Hands over writes that are committed. `origin` is who wrote: `cli`, `mcp`, `curator`. Never rejects. */
  mirror(writes: readonly CommittedWrite[], origin: string): Promise<Mirrored>;
  /** Erases a text in its store, or with `isDryRun` counts what would go. */
  forget(text: string, options: { readonly isDryRun: boolean }): Promise<Forgot>;
  /** Has it erase, to the bytes, what it deleted. */
  scrub(texts: readonly string[]): Promise<Scrubbed>;
}
