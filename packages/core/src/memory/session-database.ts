// The session database of a home. `open` is for a command or an agent: opened once, closed with the home. `use` is for a server that
// runs for days: it reopens the database if the file was replaced or deleted, and never creates it.
import { statSync } from "node:fs";
import { type Clock, describeCause, errnoCode, HermesError } from "../lib/index.ts";
import type { Logger } from "../lib/logger.ts";
import { type HomeStore, openSessionStore, salvageCopy } from "../sessions/index.ts";
import type { Administrator, SessionsWanted } from "./types.ts";

/** Opening waits at most twice this long, first for writing, then for reading. A client prefers the error "locked" to a longer wait. */
const WAIT_LIMIT_MS = 2_500;

/** Errors of opening for writing after which reading still works. */
const READABLE_STILL: ReadonlySet<string> = new Set([
  "session-db-locked",
  "session-db-full",
  "session-db-read-only",
]);

type Handle = {
  readonly store: HomeStore;
  readonly file: string;
  /** Opened read-only because writing failed; the next call tries to write again. */
  readonly isFallback: boolean;
};

export type SessionDatabaseDeps = {
  readonly path: string;
  readonly warn: Logger["warn"];
  /** For the times of sessions, messages and leases. */
  readonly clock: Clock;
  /** Throws once the home has begun to close. */
  readonly refuseIfClosed: () => void;
};

export class SessionDatabase implements AsyncDisposable {
  readonly #deps: SessionDatabaseDeps;
  readonly #opened = new Map<SessionsWanted["mode"], Promise<HomeStore>>();
  readonly #copies = new AsyncDisposableStack();
  #handle: Handle | undefined;
  #opening: Promise<Handle> | undefined;

  constructor(deps: SessionDatabaseDeps) {
    this.#deps = deps;
  }

  async open(wanted: SessionsWanted): Promise<HomeStore | undefined> {
    this.#deps.refuseIfClosed();
    const store = await this.#openingOf(wanted);
    this.#deps.refuseIfClosed(); // the home began to close meanwhile
    return store;
  }

  /**
   * One connection for all writers, which readers share. A new file is created by one of them only. After a failure the next call
   * tries again.
   */
  #openingOf({ mode: wanted, create = false }: SessionsWanted): Promise<HomeStore> | undefined {
    const known = this.#opened.get("write") ?? this.#opened.get(wanted);
    if (known !== undefined) return known;
    const isNew = !isThere(this.#deps.path);
    if (isNew && !create) return undefined;
    const mode = isNew ? "write" : wanted;
    const opening = openSessionStore({
      path: this.#deps.path,
      readOnly: mode === "read",
      clock: this.#deps.clock,
      onWarning: (message) => this.#deps.warn(message),
    });
    this.#opened.set(mode, opening);
    opening.catch(() => this.#opened.delete(mode));
    return opening;
  }

  async salvage(): ReturnType<Administrator["salvage"]> {
    this.#deps.refuseIfClosed();
    await using made = new AsyncDisposableStack(); // deleted at once if the home closes meanwhile
    const loss = made.use(await salvageCopy(this.#deps.path));
    const store = made.use(
      await openSessionStore({ path: loss.path, readOnly: true, clock: this.#deps.clock }),
    );
    this.#deps.refuseIfClosed();
    this.#copies.use(made.move());
    return { store, loss };
  }

  /** See `Person.withSessions`. Rejects with a `HermesError` if the database cannot be opened. */
  async use<T>(work: (store: HomeStore | undefined) => Promise<T>): Promise<T> {
    for (let isLastTry = false; ; isLastTry = true) {
      this.#deps.refuseIfClosed();
      const handle = await this.#current();
      this.#deps.refuseIfClosed();
      if (handle === undefined) return work(undefined);
      try {
        const value = await work(handle.store);
        if (isLastTry || this.#isCurrent(handle)) return value;
      } catch (cause) {
        if (isLastTry || this.#isCurrent(handle)) throw cause;
      } finally {
        if (handle.isFallback) await this.#release(handle);
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await using closing = new AsyncDisposableStack(); // closes all of them, even if one fails
    closing.use(this.#copies);
    for (const opening of this.#opened.values())
      closing.defer(() =>
        opening.then(
          (store) => store.close(),
          () => undefined, // the caller of `open` got the error
        ),
      );
    await this.#opening?.catch(() => undefined);
    if (this.#handle) await this.#release(this.#handle);
  }

  async #current(): Promise<Handle | undefined> {
    const file = isThere(this.#deps.path) ? fileAt(this.#deps.path) : undefined;
    if (this.#handle !== undefined && this.#handle.file !== file) await this.#release(this.#handle);
    if (this.#handle !== undefined) return this.#handle;
    if (file === undefined) return undefined;
    this.#deps.refuseIfClosed(); // do not open a database that `close` would miss
    this.#opening ??= this.#open(file).finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #open(file: string): Promise<Handle> {
    const options = {
      path: this.#deps.path,
      clock: this.#deps.clock,
      waitLimitMs: WAIT_LIMIT_MS,
      onWarning: (message: string) => this.#deps.warn(message),
    };
    try {
      return this.#keep(await openSessionStore(options), file, false);
    } catch (cause) {
      if (!(cause instanceof HermesError) || !READABLE_STILL.has(cause.code)) throw cause;
      this.#deps.warn("The session database is opened for reading only", { code: cause.code });
      return this.#keep(await openSessionStore({ ...options, readOnly: true }), file, true);
    }
  }

  #keep(store: HomeStore, file: string, isFallback: boolean): Handle {
    for (const warning of store.warnings) this.#deps.warn(warning);
    // Opening may have repaired the database and replaced the file.
    this.#handle = { store, file: isFallback ? file : (fileAt(this.#deps.path) ?? file), isFallback };
    return this.#handle;
  }

  async #release(handle: Handle): Promise<void> {
    if (this.#handle === handle) this.#handle = undefined;
    try {
      await handle.store.close();
    } catch (cause) {
      this.#deps.warn("Closing the session database failed", { cause });
    }
  }

  #isCurrent(handle: Handle): boolean {
    return this.#handle === handle && handle.file === fileAt(this.#deps.path);
  }
}

/** Throws for every error other than "does not exist". */
function isThere(path: string): boolean {
  try {
    statSync(path);
    return true;
  } catch (cause) {
    if (errnoCode(cause) === "ENOENT") return false;
    throw new HermesError("session-db-unavailable", `Cannot access ${path}: ${describeCause(cause)}.`, {
      hint: "Check that the home is a folder and may be read, or set HERMES_HOME.",
      cause,
    });
  }
}

/** Device and inode; undefined if there is no file. For other errors "unknown": opening the store reports them. */
function fileAt(path: string): string | undefined {
  try {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false });
    return found && `${found.dev}:${found.ino}`;
  } catch {
    return "unknown";
  }
}
