// What a file has that version 16 of the schema does not. The original adds columns and tables to a file while others have it open,
// so this is read again whenever SQLite's own schema counter has changed, and each statement is written for the file at hand.
import type { Connection } from "./connection.ts";

export type FileFeatures = {
  readonly sessions: ReadonlySet<string>;
  readonly messages: ReadonlySet<string>;
  readonly tables: ReadonlySet<string>;
  /** The rules of version 17 and later hold: archives within a session, continuations that start before their parent's end. */
  readonly isToday: boolean;
};

const NONE: ReadonlySet<string> = new Set();

/** A file with the columns of version 16 and no others. */
export const JUNE: FileFeatures = { sessions: NONE, messages: NONE, tables: NONE, isToday: false };

const known = new WeakMap<Connection, { readonly version: number; readonly features: FileFeatures }>();

/** Inside a transaction. */
export function featuresOf(connection: Connection): FileFeatures {
  const version = connection.get<{ schema_version: number }>("PRAGMA schema_version")?.schema_version ?? -1;
  const cached = known.get(connection);
  if (cached?.version === version) return cached.features;
  const names = (sql: string) => new Set(connection.all<{ name: string }>(sql).map(({ name }) => name));
  const messages = names("SELECT name FROM pragma_table_info('messages')");
  const features: FileFeatures = {
    sessions: names("SELECT name FROM pragma_table_info('sessions')"),
    messages,
    tables: names("SELECT name FROM main.sqlite_master WHERE type = 'table'"),
    isToday: messages.has("compacted"),
  };
  known.set(connection, { version, features });
  return features;
}

/** A statement that differs from file to file, put together once for each kind. */
export function byFile(build: (file: FileFeatures) => string): (connection: Connection) => string {
  const built = new WeakMap<FileFeatures, string>();
  return (connection) => {
    const file = featuresOf(connection);
    const sql = built.get(file) ?? build(file);
    built.set(file, sql);
    return sql;
  };
}

/** Live rows, and those that a compaction within the session put away: what people see, and what lists and windows show. */
export function isShown(message: string, file: FileFeatures): string {
  return file.isToday ? `(${message}.active = 1 OR ${message}.compacted = 1)` : `${message}.active = 1`;
}

/** Rows that can be taken back, restored, replaced and cleared. An archive stays as it is. */
export function isChangeable(message: string, file: FileFeatures): string {
  return file.isToday ? `${message}.compacted = 0` : "1";
}

export function hasPromptTable(file: FileFeatures): boolean {
  return file.tables.has("system_prompts") && file.sessions.has("system_prompt_hash");
}
