// Reads the sessions of a database one after the other, each from one state of the database, while its product goes on writing.
import { stat } from "node:fs/promises";
import { describeCause } from "@hermes-memory/core/internal/lib";
import { type Draft, isKept, type Said } from "../declare.ts";
import type { Reading, SessionFacts, Walking } from "../reader.ts";
import { openSource, type SourceDatabase } from "./sqlite-source.ts";

/** How often a session is read again because another program changed the database meanwhile. */
const MAX_ATTEMPTS = 5;

type Listed = { readonly id: string; readonly mark: string | undefined };
type Whole = { readonly facts: Omit<SessionFacts, "nativeId" | "mark">; readonly messages: readonly Draft[] };

/** What is said of the sessions that changed. One without messages is not begun: that must not empty what was imported. */
export async function* changedSessions<Session extends Listed>(
  path: string,
  reading: Reading,
  list: (db: SourceDatabase) => readonly Session[],
  read: (db: SourceDatabase, session: Session) => Whole | undefined,
): AsyncGenerator<Said> {
  const isChanged = ({ id, mark }: Session): boolean => mark === undefined || !reading.isUnchanged(id, mark);
  const sessions = databaseSessions(path, reading, {
    list: (db) => list(db).filter(isChanged),
    read: (db, session) => ({ session, whole: read(db, session) }),
    name: ({ id }) => id,
  });
  const hasRows = (draft: Draft): boolean => isKept(draft, reading) || (draft.toolResults?.length ?? 0) > 0;
  for await (const { session, whole } of sessions) {
    if (whole === undefined || !whole.messages.some(hasRows)) continue;
    yield { ...whole.facts, nativeId: session.id, mark: session.mark };
    yield* whole.messages;
    yield { kind: "end" };
  }
}

/** Gives what `read` made of each session that `list` names. A session that cannot be read is reported; the others follow. */
export async function* databaseSessions<Session, Result>(
  path: string,
  reading: Reading,
  steps: {
    readonly list: (db: SourceDatabase) => readonly Session[];
    readonly read: (db: SourceDatabase, session: Session) => Result;
    /** What to call a session in a report. */
    readonly name: (session: Session) => string;
  },
): AsyncGenerator<Result> {
  let db = await openSource(path, reading);
  try {
    const sessions = await attempt((source) => steps.list(source));
    const { size } = await stat(path);
    for (const session of sessions) {
      let result: Result;
      try {
        result = await attempt((source) => steps.read(source, session));
      } catch (cause) {
        reading.signal.throwIfAborted();
        reading.unreadable(path, `session ${steps.name(session)}: ${describeCause(cause)}`);
        continue;
      }
      yield result;
      reading.advanced(size / sessions.length);
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
