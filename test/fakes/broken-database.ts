// Ways in which database files break, done to a closed file.
import { closeSync, openSync, writeFileSync, writeSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

/** Two rows for one object: every statement fails afterwards. */
export function duplicateSchemaRow(path: string, name: string): void {
  surgery(path, (db) => {
    db.prepare("INSERT INTO sqlite_master SELECT * FROM sqlite_master WHERE name = ?").run(name);
  });
}

/** Its declaration no longer parses: every statement fails afterwards. */
export function spoilDeclaration(path: string, name: string): void {
  surgery(path, (db) => {
    db.prepare("UPDATE sqlite_master SET sql = substr(sql, 1, 20) || '(' WHERE name = ?").run(name);
  });
}

/** Noise in the first page of a table. The schema still reads; what touches the table fails. */
export function overwritePages(path: string, table: string): void {
  const page = surgery(path, (db) => {
    db.exec("PRAGMA wal_checkpoint(TRUNCATE)"); // or the log would give the old page back
    const row = db.prepare("SELECT rootpage FROM sqlite_master WHERE name = ?").get(table);
    const size = Number(db.prepare("PRAGMA page_size").get()?.page_size);
    return { at: (Number(row?.rootpage) - 1) * size, size };
  });
  const fd = openSync(path, "r+");
  writeSync(fd, Buffer.alloc(page.size, 0xa5), 0, page.size, page.at);
  closeSync(fd);
}

/** The full-text index contradicts itself; the messages are fine. */
export function spoilIndexContent(path: string): void {
  surgery(path, (db) => db.exec("DELETE FROM messages_fts_docsize WHERE id = 1"));
}

export function writeNoDatabase(path: string): void {
  writeFileSync(path, "Dear diary, this is no database. ".repeat(200));
}

function surgery<T>(path: string, work: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(path, { defensive: false, enableForeignKeyConstraints: false });
  try {
    db.exec("PRAGMA writable_schema = ON");
    return work(db);
  } finally {
    db.close();
  }
}
