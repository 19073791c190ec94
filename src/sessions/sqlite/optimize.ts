// Turns the original's index into the compact one while everybody goes on working. A second pair of index tables is built
// beside the first, a piece per transaction, and remembers how far it got; then one transaction puts it in its place.
import type { LongWork, OptimizeOutcome, SessionStore } from "../store.ts";
import type { Connection } from "./connection.ts";
import type { StoreContext } from "./context.ts";
import { ensureBuild, indexLayout } from "./ensure-schema.ts";
import {
  BUILD,
  BUILD_TRIGGERS,
  COMPACT_TRIGGERS,
  FTS_TABLES,
  FTS_TRIGGERS,
  fillSideText,
  NEW_TRIGRAMS,
  NEW_WORDS,
} from "./index-layout.ts";
import { fillWords } from "./index-words.ts";
import { giveSpaceBack, mergeIndexes, settledBytes } from "./maintenance.ts";

/** Small enough for a fraction of a second each, also with long messages. */
const ROWS_PER_STEP = 200;
const BYTES_PER_STEP = 1_000_000;

const RANGE = "id > :from AND id <= :to";
// Rows not built yet have no trigger that keeps their words in step: they may have changed since, or be gone, and their
// ids may have come back. All of it is worked out anew.
const CLEAR_TEXT = "DELETE FROM hermes_memory_text WHERE message_id > :from AND message_id <= :to";
const CLEAR_LEFT_BEHIND =
  "DELETE FROM hermes_memory_text WHERE NOT EXISTS (SELECT 1 FROM messages WHERE id = message_id)";
const FILL_TEXT = fillSideText("m.id > :from AND m.id <= :to");
const FILL_WORDS = `INSERT INTO ${NEW_WORDS}(rowid, content) SELECT id, content FROM hermes_memory_words WHERE ${RANGE}`;
const FILL_TRIGRAMS = `
  INSERT INTO ${NEW_TRIGRAMS}(rowid, content) SELECT id, content FROM hermes_memory_trigrams WHERE ${RANGE}
`;
// Bytes, because the length of a text ends at its first zero, and structured content begins with one.
const NEXT_ROWS = `
  SELECT id, COALESCE(octet_length(content), 0) + COALESCE(octet_length(tool_calls), 0) AS size FROM messages
  WHERE id > :from ORDER BY id LIMIT ${ROWS_PER_STEP}
`;

export type OptimizeOperations = Pick<SessionStore, "optimize">;

export function optimizeOperations({ connection }: StoreContext): OptimizeOperations {
  return {
    async optimize(work = {}): Promise<OptimizeOutcome> {
      const bytesBefore = await settledBytes(connection);
      const outcome = async (converted: boolean, finished: boolean): Promise<OptimizeOutcome> => ({
        bytesBefore,
        bytesAfter: await settledBytes(connection),
        converted,
        finished,
      });
      const needsConversion = await connection.read(() => indexLayout(connection.db) !== "compact");
      if (needsConversion && !(await convert(connection, work))) return outcome(false, false);
      work.onProgress?.({ step: "merging the index", done: 0, total: 1 });
      await mergeIndexes(connection, work.signal);
      if (work.signal?.aborted) return outcome(needsConversion, false);
      if (work.vacuum !== false) {
        work.onProgress?.({ step: "giving space back", done: 0, total: 1 });
        await giveSpaceBack(connection);
      }
      return outcome(needsConversion, true);
    },
  };
}

/** False when the signal stopped it. */
async function convert(connection: Connection, { onProgress, signal }: LongWork): Promise<boolean> {
  await connection.write(() => begin(connection));
  const total = await connection.read(
    () => connection.get<{ last: number | null }>("SELECT MAX(id) AS last FROM messages")?.last ?? 0,
  );
  for (;;) {
    if (signal?.aborted) return false;
    // The last step, when nothing is left to add, changes the tables over in the same transaction.
    const built = await connection.write(() => {
      if (indexLayout(connection.db) === "compact") return null; // another process was faster
      const from = connection.get<{ built: number }>(`SELECT built FROM ${BUILD}`)?.built ?? 0;
      const to = endOfStep(connection, from);
      if (to === null) {
        takeOver(connection);
        return null;
      }
      for (const sql of [CLEAR_TEXT, FILL_TEXT]) connection.run(sql, { from, to });
      fillWords(connection.db, from, to);
      for (const sql of [FILL_WORDS, FILL_TRIGRAMS]) connection.run(sql, { from, to });
      connection.run(`UPDATE ${BUILD} SET built = :to`, { to });
      return to;
    });
    if (built === null) return true;
    onProgress?.({ step: "building the compact index", done: Math.min(built, total), total });
  }
}

function begin(connection: Connection): void {
  const { db } = connection;
  if (indexLayout(db) !== "compact") ensureBuild(db);
}

/** The last id of the next piece, or null when there is none. */
function endOfStep(connection: Connection, from: number): number | null {
  let end: number | null = null;
  let bytes = 0;
  for (const row of connection.iterate<{ id: number; size: number }>(NEXT_ROWS, { from })) {
    if (end !== null && bytes + row.size > BYTES_PER_STEP) break;
    end = row.id;
    bytes += row.size;
  }
  return end;
}

function takeOver(connection: Connection): void {
  const { db } = connection;
  const triggers = [...FTS_TRIGGERS, ...BUILD_TRIGGERS.map(({ name }) => name)];
  for (const name of triggers) db.exec(`DROP TRIGGER IF EXISTS ${name}`);
  for (const name of FTS_TABLES) db.exec(`DROP TABLE IF EXISTS ${name}`);
  // Without it, renaming fails when somebody else's view in the file names a table that is gone.
  db.exec("PRAGMA legacy_alter_table = ON");
  try {
    db.exec(`ALTER TABLE ${NEW_WORDS} RENAME TO messages_fts`);
    db.exec(`ALTER TABLE ${NEW_TRIGRAMS} RENAME TO messages_fts_trigram`);
  } finally {
    db.exec("PRAGMA legacy_alter_table = OFF");
  }
  db.exec(`DROP TABLE ${BUILD}`);
  db.exec(CLEAR_LEFT_BEHIND);
  for (const { sql } of COMPACT_TRIGGERS) db.exec(sql);
}
