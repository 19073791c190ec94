// The file `memory_outbox.db`: opening it, and what happens when it is damaged, was replaced, or was written by a newer version.
import { existsSync, renameSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { describeCause, errnoCode, HermesError } from "@hermes-memory/core/internal/lib";
import type { Logger } from "@hermes-memory/core/internal/logger";
import { enterWal, isDamage, readWithoutTrace, SqliteFile } from "@hermes-memory/core/internal/sqlite";
import { prepareTables, SCHEMA_VERSION } from "./rows.ts";

/** How long commands wait for other processes. Writes of the outbox take milliseconds. */
export const PATIENT_MS = 2_000;
const IN_MEMORY = ":memory:";

export function outboxPath(home: string): string {
  return join(resolve(home), "memory_outbox.db");
}

export class OutboxFile {
  readonly path: string;
  readonly #log: Logger;
  readonly #busyMs: number;
  #opened: { readonly sql: SqliteFile; readonly inode: bigint } | undefined;
  #lastWarning = "";

  /** Opens nothing yet. `busyMs`: how long one call may block the event loop while another process writes. */
  constructor(home: string | undefined, log: Logger, busyMs = 100) {
    this.path = home === undefined ? IN_MEMORY : outboxPath(home);
    this.#log = log;
    this.#busyMs = busyMs;
  }

  /** Undefined when there is no file. Throws SQLite's errors and `HermesError`. */
  read<T>(work: (sql: SqliteFile) => T): T | undefined {
    return this.#isThere() ? this.#mending(work) : undefined;
  }

  /** All changes of `work`, or none; makes the file. `work` may run twice. Throws SQLite's errors and `HermesError`. */
  write<T>(work: (sql: SqliteFile) => T): T {
    return this.#mending((sql) => sql.transaction(() => work(sql)));
  }

  /** Like `write`, but undefined when there is no file. */
  change<T>(work: (sql: SqliteFile) => T): T | undefined {
    return this.#isThere() ? this.write(work) : undefined;
  }

  /** So that no deleted byte is left, unless another process reads from the log. */
  emptyLog(): void {
    try {
      this.#opened?.sql.emptyLog();
    } catch (cause) {
      this.#log.debug("The log of the outbox could not be emptied.", { reason: describeCause(cause) });
    }
  }

  close(): void {
    this.#opened?.sql.close();
    this.#opened = undefined;
  }

  #isThere(): boolean {
    return this.path === IN_MEMORY ? this.#opened !== undefined : existsSync(this.path);
  }

  /** A damaged file is moved aside once, and `work` runs on a new one. */
  #mending<T>(work: (sql: SqliteFile) => T): T {
    try {
      return work(this.#current());
    } catch (cause) {
      if (!isDamage(cause)) throw cause;
      this.#moveAside(cause);
      return work(this.#current());
    }
  }

  #current(): SqliteFile {
    // Another process moved the file aside, or someone deleted it: what is written to the old one would be lost.
    if (this.#opened !== undefined && this.#opened.inode !== inodeOf(this.path)) this.close();
    this.#opened ??= { sql: this.#open(), inode: inodeOf(this.path) };
    return this.#opened.sql;
  }

  #open(): SqliteFile {
    if (this.path !== IN_MEMORY && existsSync(this.path)) {
      const problem = newerVersion(this.path, this.#busyMs);
      if (problem !== undefined) {
        if (problem.message !== this.#lastWarning) this.#log.warn(problem.message);
        this.#lastWarning = problem.message;
        throw problem;
      }
    }
    const sql = new SqliteFile(this.path, { timeout: this.#busyMs });
    try {
      if (this.path !== IN_MEMORY) enterWal(sql); // on a network drive that refuses, the file works without
      sql.exec("PRAGMA synchronous = FULL; PRAGMA secure_delete = ON");
      if (sql.userVersion !== SCHEMA_VERSION) sql.transaction(() => prepareTables(sql));
      return sql;
    } catch (cause) {
      sql.close();
      throw cause;
    }
  }

  #moveAside(cause: unknown): void {
    const seen = this.#opened?.inode ?? inodeOf(this.path);
    this.close();
    if (inodeOf(this.path) !== seen) return; // another process was faster
    const aside = `${this.path}.damaged-${new Date().toISOString().replace(/[:.]/g, "-")}`;
    // The log first: beside the new file it would be taken for the log of that.
    for (const suffix of ["-wal", "-shm", ""]) renameIfThere(`${this.path}${suffix}`, `${aside}${suffix}`);
    this.#log.warn(
      `The outbox ${this.path} is damaged (${describeCause(cause)}). It was moved to ${aside} and a new one begun: what waited in it is not sent.`,
    );
  }
}

/**
 * For status: changes and creates nothing. Undefined when there is no file. Throws `HermesError` for a file that is damaged or newer.
 */
export function readOnly<T>(home: string, work: (sql: SqliteFile) => T): T | undefined {
  const path = outboxPath(home);
  if (!existsSync(path)) return undefined;
  try {
    const problem = newerVersion(path, PATIENT_MS);
    if (problem !== undefined) throw problem;
    // What `work` reads is the same in a file of version 1.
    return readWithoutTrace(path, PATIENT_MS, (sql) => (sql.userVersion === 0 ? undefined : work(sql)));
  } catch (cause) {
    if (cause instanceof HermesError) throw cause;
    throw new HermesError(
      "outbox-unreadable",
      `The outbox ${path} cannot be read: ${describeCause(cause)}.`,
      {
        hint: isDamage(cause)
          ? "The next agent that uses the provider moves the file aside and begins a new one."
          : "Check the permissions of the file and its folder.",
        cause,
      },
    );
  }
}

function newerVersion(path: string, timeout: number): HermesError | undefined {
  const version = readWithoutTrace(path, timeout, (sql) => sql.userVersion);
  if (version <= SCHEMA_VERSION) return undefined;
  return new HermesError(
    "outbox-newer",
    `The outbox ${path} has version ${version}, and this program knows version ${SCHEMA_VERSION}. It was left as it is.`,
    { hint: "Update hermes-memory, or move the file away." },
  );
}

function inodeOf(path: string): bigint {
  return path === IN_MEMORY ? 0n : (statSync(path, { throwIfNoEntry: false, bigint: true })?.ino ?? 0n);
}

function renameIfThere(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (cause) {
    if (errnoCode(cause) !== "ENOENT") throw cause;
  }
}
