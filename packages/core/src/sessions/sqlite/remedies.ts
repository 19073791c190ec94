// Failures of a write that come from an index in the same file, ours or another program's, and what is done before the
// write is tried a second time.
import { sessionError } from "../errors.ts";
import type { Connection, Remedy } from "./connection.ts";
import { UPSTREAM_INDEXES, versionOf } from "./ensure-schema.ts";
import { isCorrupt, isCorruptIndex } from "./failures.ts";
import { mendOwnTables } from "./own-damage.ts";
import { SCHEMA_VERSION } from "./schema.ts";
import { disarmForeignTokenizer, isMissingTokenizer } from "./write-access.ts";

/**
 * Undefined when nothing is known about the failure. Throws when it is known that nothing can be done.
 *
 * Structured content begins with a zero byte. The trigram tokenizer of SQLite 3.40 stops there and this one does not:
 * deleting or changing such a row takes off more tokens than were counted, and when the total falls below zero, which it
 * does in small indexes, FTS5 calls the index malformed. In a file of the June original (up to version 16) the index is
 * made anew by this library, in the same transaction. A later original's index is not ours to touch.
 */
export function remedyFor(connection: Connection, cause: unknown): Remedy | undefined {
  const { db, path } = connection;
  // A process of upstream's that has the tokenizer opened the file meanwhile and put its triggers back.
  if (isMissingTokenizer(cause)) return () => disarmForeignTokenizer(db);
  if (!isCorruptIndex(cause)) {
    if (!isCorrupt(cause) || connection.readOnlyBecause !== undefined) return undefined;
    // Our triggers write to tables of ours. Another process may have mended them meanwhile: the write is tried again anyway.
    mendOwnTables(path, { cause });
    return () => {};
  }
  if (versionOf(db) <= SCHEMA_VERSION) return () => rebuildOriginalIndexes(connection);
  throw sessionError(
    "session-db-unavailable",
    `Nothing was changed in ${path}: the search index that Hermes Agent keeps there was written by another version of SQLite, and refuses to let go of these messages.`,
    {
      hint: "Delete them with Hermes Agent, or run its 'hermes sessions optimize-storage' first.",
      cause,
    },
  );
}

/** For work on our own index alone: it is made anew when SQLite calls it malformed. */
export function indexRemedy({ path }: Connection, cause: unknown): Remedy | undefined {
  if (!isCorrupt(cause)) return undefined;
  mendOwnTables(path, { cause, isIndexWrong: isCorruptIndex(cause) });
  return () => {};
}

function rebuildOriginalIndexes(connection: Connection): void {
  for (const name of UPSTREAM_INDEXES) {
    const found = connection.get("SELECT 1 FROM main.sqlite_master WHERE name = :name", { name });
    if (found !== undefined) connection.db.exec(`INSERT INTO ${name}(${name}) VALUES('rebuild')`);
  }
}
