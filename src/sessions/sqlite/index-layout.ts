// The full-text index in its two shapes. `compact` is ours: external content, so no text is stored twice. `reference` is
// what the original makes: each index with a copy of all text. Either way the six triggers bear the original's names,
// because it counts them, and creates those that are missing.
import { isUnspaced, needsSideText, referenceText, sideText, wholeText } from "./index-text.ts";
import { type SchemaObject, table, trigger, view } from "./side-tables.ts";

export const FTS_TABLES = ["messages_fts", "messages_fts_trigram"] as const;
export type FtsTable = (typeof FTS_TABLES)[number];

export const FTS_TRIGGERS = FTS_TABLES.flatMap((name) =>
  ["insert", "delete", "update"].map((event) => `${name}_${event}`),
);

/** Says how far the building of a compact index has come; exists only while one is being built. */
export const BUILD = "hermes_memory_build";

const INDEXED = "content, tool_name, tool_calls";

/**
 * What cannot be read off a row. `text` stands for the whole row, `extra` (the words of its tool calls) follows what it
 * says, `words` goes into the word index instead of either: without the runs of Han and Kana, which are in the other
 * index, and which a tokenizer that looks for blanks would take for endless words.
 */
export const SIDE_TEXT: SchemaObject = table(
  "hermes_memory_text",
  "message_id INTEGER PRIMARY KEY, text TEXT, extra TEXT, words TEXT",
);

/** `rows` is a condition on the messages `m`. */
export function fillSideText(rows: string): string {
  return (
    `INSERT INTO hermes_memory_text(message_id, text, extra) ` +
    `SELECT m.id, ${sideText("m")} FROM messages m WHERE ${rows} AND ${needsSideText("m")}`
  );
}

/** What FTS5 reads when it needs a row's text. The two blanks give the last characters of a text trigrams of their own. */
export const INDEX_VIEWS: readonly SchemaObject[] = [
  view(
    "hermes_memory_words",
    `SELECT m.id AS id, COALESCE(t.words, ${wholeText("m", "t")}) AS content FROM messages m LEFT JOIN hermes_memory_text t ON t.message_id = m.id`,
  ),
  view(
    "hermes_memory_trigrams",
    `SELECT id, whole || '  ' AS content FROM (SELECT m.id AS id, ${wholeText("m", "t")} AS whole FROM messages m LEFT JOIN hermes_memory_text t ON t.message_id = m.id) WHERE ${isUnspaced("whole")}`,
  ),
];

/** `words` and `trigrams` are the names of the tables, so that a second pair can be built beside the first. */
export function compactTables(words: string, trigrams: string): readonly SchemaObject[] {
  return [
    {
      type: "table",
      name: words,
      sql: `CREATE VIRTUAL TABLE ${words} USING fts5(content, content='hermes_memory_words', content_rowid='id', tokenize='unicode61 remove_diacritics 2')`,
    },
    {
      type: "table",
      name: trigrams,
      sql: `CREATE VIRTUAL TABLE ${trigrams} USING fts5(content, content='hermes_memory_trigrams', content_rowid='id', tokenize='trigram')`,
    },
  ];
}

/**
 * How many pieces of one size an index may have before they are merged. Twice FTS5's own: measured on 100,000 messages,
 * appending cost a few per cent less and the file was 2 % smaller, mostly by the pages that merging leaves behind.
 */
const PIECES_BEFORE_MERGE = 8;

/** To be run once on new tables. The setting is kept in the file. */
export function tuneMerging(name: string): string {
  return `INSERT INTO ${name}(${name}, rank) VALUES('automerge', ${PIECES_BEFORE_MERGE})`;
}

/** Statements of a trigger body that index the row `new`. Whoever stores a message may have put `words` there before. */
export function indexNewRow(words: string, trigrams: string): string {
  return (
    `INSERT INTO hermes_memory_text(message_id, text, extra) SELECT new.id, ${sideText("new")} WHERE ${needsSideText("new")}; ` +
    `INSERT INTO ${words}(rowid, content) SELECT id, content FROM hermes_memory_words WHERE id = new.id; ` +
    `INSERT INTO ${trigrams}(rowid, content) SELECT id, content FROM hermes_memory_trigrams WHERE id = new.id;`
  );
}

/** FTS5 takes a row out of an external index only when it is told exactly the text that went in. */
export function unindexOldRow(words: string, trigrams: string): string {
  const row = "(SELECT 1) LEFT JOIN hermes_memory_text t ON t.message_id = old.id";
  const whole = wholeText("old", "t");
  return (
    `INSERT INTO ${words}(${words}, rowid, content) SELECT 'delete', old.id, COALESCE(t.words, ${whole}) FROM ${row}; ` +
    `INSERT INTO ${trigrams}(${trigrams}, rowid, content) SELECT 'delete', old.id, whole || '  ' FROM (SELECT ${whole} AS whole FROM ${row}) WHERE ${isUnspaced("whole")}; ` +
    "DELETE FROM hermes_memory_text WHERE message_id = old.id;"
  );
}

/**
 * SQLite does not promise an order among triggers of one event, and both indexes need the side text. So one trigger
 * does the work of both, and the other only bears its name.
 */
export const COMPACT_TRIGGERS: readonly SchemaObject[] = [
  trigger(
    "messages_fts_insert",
    "AFTER INSERT ON messages",
    indexNewRow("messages_fts", "messages_fts_trigram"),
  ),
  trigger(
    "messages_fts_delete",
    "AFTER DELETE ON messages",
    unindexOldRow("messages_fts", "messages_fts_trigram"),
  ),
  trigger(
    "messages_fts_update",
    `AFTER UPDATE OF ${INDEXED} ON messages`,
    `${unindexOldRow("messages_fts", "messages_fts_trigram")} ${indexNewRow("messages_fts", "messages_fts_trigram")}`,
  ),
  trigger("messages_fts_trigram_insert", "AFTER INSERT ON messages WHEN 0", "SELECT 1;"),
  trigger("messages_fts_trigram_delete", "AFTER DELETE ON messages WHEN 0", "SELECT 1;"),
  trigger("messages_fts_trigram_update", `AFTER UPDATE OF ${INDEXED} ON messages WHEN 0`, "SELECT 1;"),
];

export const COMPACT: readonly SchemaObject[] = [
  SIDE_TEXT,
  ...INDEX_VIEWS,
  ...compactTables("messages_fts", "messages_fts_trigram"),
  ...COMPACT_TRIGGERS,
];

/** The names of the compact tables while they are built. */
export const NEW_WORDS = "hermes_memory_new_words";
export const NEW_TRIGRAMS = "hermes_memory_new_trigrams";

const ROW_IS_BUILT = (row: "new" | "old") => `WHEN ${row}.id <= (SELECT built FROM ${BUILD})`;

// What is already in the new pair has to follow changes; what is not yet will be read later. Ids can come back: an
// import keeps those of a session that was deleted.
export const BUILD_TRIGGERS: readonly SchemaObject[] = [
  trigger(
    `${BUILD}_insert`,
    `AFTER INSERT ON messages ${ROW_IS_BUILT("new")}`,
    indexNewRow(NEW_WORDS, NEW_TRIGRAMS),
  ),
  trigger(
    `${BUILD}_delete`,
    `AFTER DELETE ON messages ${ROW_IS_BUILT("old")}`,
    unindexOldRow(NEW_WORDS, NEW_TRIGRAMS),
  ),
  trigger(
    `${BUILD}_update`,
    `AFTER UPDATE OF ${INDEXED} ON messages ${ROW_IS_BUILT("old")}`,
    `${unindexOldRow(NEW_WORDS, NEW_TRIGRAMS)} ${indexNewRow(NEW_WORDS, NEW_TRIGRAMS)}`,
  ),
];

/** Everything a conversion works with until it is done. */
export const BUILD_OBJECTS: readonly SchemaObject[] = [
  SIDE_TEXT,
  ...INDEX_VIEWS,
  table(BUILD, "built INTEGER NOT NULL"),
  ...compactTables(NEW_WORDS, NEW_TRIGRAMS),
  ...BUILD_TRIGGERS,
];

export const REFERENCE_TRIGGERS: readonly SchemaObject[] = FTS_TABLES.flatMap((name) => {
  const insert = `INSERT INTO ${name}(rowid, content) VALUES (new.id, ${referenceText("new")});`;
  const remove = `DELETE FROM ${name} WHERE rowid = old.id;`;
  return [
    trigger(`${name}_insert`, "AFTER INSERT ON messages", insert),
    trigger(`${name}_delete`, "AFTER DELETE ON messages", remove),
    trigger(`${name}_update`, `AFTER UPDATE OF ${INDEXED} ON messages`, `${remove} ${insert}`),
  ];
});

export const REFERENCE_TABLES: Readonly<Record<FtsTable, string>> = {
  messages_fts: "CREATE VIRTUAL TABLE messages_fts USING fts5(\n    content\n)",
  messages_fts_trigram:
    "CREATE VIRTUAL TABLE messages_fts_trigram USING fts5(\n    content,\n    tokenize='trigram'\n)",
};

export function fillReferenceTable(name: FtsTable): string {
  return `INSERT INTO ${name}(rowid, content) SELECT m.id, ${referenceText("m")} FROM messages m ORDER BY m.id`;
}
