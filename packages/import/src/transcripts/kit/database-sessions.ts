// Reads the sessions of a database one after the other, each from one state of the database, while its product goes on writing.
import { stat } from "node:fs/promises";
import { describeCause } from "@hermes-memory/core/internal/lib";
import { type Draft, isKept, type Said } from "../declare.ts";
import type { Reading, SessionFacts, Walking } from "../reader.ts";
import { openSource, type SourceDatabase } from "./sqlite-source.ts";

/** How often a session is read again because another program changed the database meanwhile. */
const MAX_ATTEMPTS = 5;

/** A row without an id is no session. */
type Listed = { readonly id: string | undefined; readonly mark: string | undefined };
type Whole = { readonly facts: Omit<SessionFacts, "nativeId" | "mark">; readonly messages: readonly Draft[] };

/**
 * What is said of the sessions that changed. One without messages is not begun: that must not empty what was imported. A session that
 * cannot be read is reported; the others follow.
 */
export async function* changedSessions<Session extends Listed>(
  path: string,
  reading: Reading,
  list: (db: SourceDatabase) => readonly Session[],
  read: (db: SourceDatabase, session: Session & { readonly id: string }) => Whole | undefined,
): AsyncGenerator<Said> {
  let db = await openSource(path, reading);
  const hasRows = (draft: Draft): boolean => isKept(draft, reading) || (draft.toolResults?.length ?? 0) > 0;
  try {
    const sessions = await attempt(list);
    const { size } = await stat(path);
    for (const session of sessions) {
      reading.advanced(size / sessions.length);
      const { id, mark } = session;
      if (id === undefined || (mark !== undefined && reading.isUnchanged(id, mark))) continue;
      let whole: Whole | undefined;
      try {
        whole = await attempt((source) => read(source, { ...session, id }));
      } catch (cause) {
        reading.signal.throwIfAborted();
        reading.unreadable(path, `session ${id}: ${describeCause(cause)}`);
      }
      if (whole === undefined || !whole.messages.some(hasRows)) continue;
      yield { ...whole.facts, nativeId: id, mark };
      yield* whole.messages;
      yield { kind: "end" };
    }
  } finally {
    db[Symbol.dispose]();
  }

  /** A database that nobody had open is read without locks. When a program opens it meanwhile, it is opened again, now with locks. */
  async function attempt<T>(read: (source: SourceDatabase) => T): Promise<T> {
    for (let count = 1; ; count += 1) {
      reading.signal.throwIfAborted();
      try {
        const result = db.snapshot(() => read(db));
        if (!db.changedMeanwhile()) return result;
      } catch (cause) {
        if (!db.changedMeanwhile()) throw cause;
      }
      if (count === MAX_ATTEMPTS) throw new Error("another program keeps changing it");
      db[Symbol.dispose]();
      db = await openSource(path, reading);
    }
  }
}

/** The ids in a table, none where the database cannot be read: reading it reports the reason. */
export async function idsIn(path: string, table: string, walking: Walking): Promise<string[]> {
  try {
    using db = await openSource(path, walking);
    return db.all(`SELECT id FROM ${table}`).map(({ id }) => String(id));
  } catch {
    walking.signal.throwIfAborted();
    return [];
  }
}

/** Those of the columns that the table has, for a SELECT. Products change their tables between versions. */
export function columnsIn(db: SourceDatabase, table: string, wanted: readonly string[]): string {
  const existing = db.columnsOf(table);
  return wanted.filter((column) => existing.has(column)).join(", ");
}

/** Whether the file is an SQLite database whose first pages hold this text, such as the definition of a table. */
export function isDatabaseWith(head: Uint8Array, pattern: RegExp): boolean {
  const start = Buffer.from(head.buffer, head.byteOffset, head.byteLength).toString("latin1");
  return start.startsWith("SQLite format 3\0") && pattern.test(start);
}
