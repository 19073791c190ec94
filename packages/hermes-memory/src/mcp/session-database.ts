// The session database as a server that runs for days needs it: opened when it is first asked for, let go when the file
// under it is another one or none, and never made by looking.
import { statSync } from "node:fs";
import { sessionDatabasePath } from "@hermes-memory/core/home";
import { HermesError } from "@hermes-memory/core/lib";
import { openSessionStore, type SessionStore } from "@hermes-memory/core/sessions";
import type { Log } from "./log.ts";

/** Twice this, because writing is tried before reading. An answer that says "locked" is worth more than a long silence. */
const WAIT_LIMIT_MS = 2_500;

/** Reading works although writing does not. */
const READABLE_STILL: ReadonlySet<string> = new Set([
  "session-db-locked",
  "session-db-full",
  "session-db-read-only",
]);

type Handle = {
  readonly store: SessionStore;
  readonly file: string;
  /** Opened read-only for want of something better; the next call tries again. */
  readonly isMakeshift: boolean;
};

export class SessionDatabase implements AsyncDisposable {
  readonly #path: string;
  readonly #log: Log;
  #handle: Handle | undefined;
  #opening: Promise<Handle> | undefined;

  constructor(home: string, log: Log) {
    this.#path = sessionDatabasePath(home);
    this.#log = log;
  }

  /**
   * Runs `work` on the store, or on undefined while there is no database. Rejects with a `HermesError` when it cannot be
   * opened. `work` only reads: when the file is exchanged meanwhile it runs once more, on the new one.
   */
  async use<T>(work: (store: SessionStore | undefined) => Promise<T>): Promise<T> {
    for (let isLastTry = false; ; isLastTry = true) {
      const handle = await this.#current();
      if (handle === undefined) return work(undefined);
      try {
        const value = await work(handle.store);
        if (isLastTry || this.#isCurrent(handle)) return value;
      } catch (cause) {
        if (isLastTry || this.#isCurrent(handle)) throw cause;
      } finally {
        if (handle.isMakeshift) await this.#release(handle);
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opening?.catch(() => undefined);
    if (this.#handle) await this.#release(this.#handle);
  }

  async #current(): Promise<Handle | undefined> {
    const file = fileAt(this.#path);
    if (this.#handle !== undefined && this.#handle.file !== file) await this.#release(this.#handle);
    if (this.#handle !== undefined) return this.#handle;
    if (file === undefined) return undefined;
    this.#opening ??= this.#open(file).finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #open(file: string): Promise<Handle> {
    const options = {
      path: this.#path,
      waitLimitMs: WAIT_LIMIT_MS,
      onWarning: (message: string) => this.#log.warn(message),
    };
    try {
      return this.#opened(await openSessionStore(options), file, false);
    } catch (cause) {
      if (!(cause instanceof HermesError) || !READABLE_STILL.has(cause.code)) throw cause;
      this.#log.warn("The session database is opened for reading only", { code: cause.code });
      return this.#opened(await openSessionStore({ ...options, readOnly: true }), file, true);
    }
  }

  #opened(store: SessionStore, file: string, isMakeshift: boolean): Handle {
    for (const warning of store.warnings) this.#log.warn(warning);
    // A repair may have put another file in place while it was opened.
    this.#handle = { store, file: isMakeshift ? file : (fileAt(this.#path) ?? file), isMakeshift };
    return this.#handle;
  }

  async #release(handle: Handle): Promise<void> {
    if (this.#handle === handle) this.#handle = undefined;
    try {
      await handle.store.close();
    } catch (cause) {
      this.#log.warn("Closing the session database failed", { cause });
    }
  }

  #isCurrent(handle: Handle): boolean {
    return this.#handle === handle && handle.file === fileAt(this.#path);
  }
}

/** Undefined when nothing is there. A place that cannot be looked at is for the store to complain about. */
function fileAt(path: string): string | undefined {
  try {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false });
    return found && `${found.dev}:${found.ino}`;
  } catch {
    return "unknown";
  }
}
