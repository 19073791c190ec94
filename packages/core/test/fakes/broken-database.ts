// Ways in which database files break, done to a closed file.
import { closeSync, openSync, readSync, writeFileSync, writeSync } from "node:fs";
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

/** Another content in the first page of a table, noise unless told otherwise. The schema still reads; what touches the table fails. */
export function overwritePages(path: string, table: string, content: PageContent = "noise"): void {
  const { page, size } = rootOf(path, table);
  const bytes =
    typeof content === "object"
      ? readPage(path, rootOf(path, content.copyOf).page, size)
      : Buffer.alloc(size, content === "noise" ? 0xa5 : 0);
  const fd = openSync(path, "r+");
  writeSync(fd, bytes, 0, size, (page - 1) * size);
  closeSync(fd);
}

/** `copyOf`: the first page of another table, as a write to the wrong place leaves it. */
export type PageContent = "noise" | "zeros" | { readonly copyOf: string };

function rootOf(path: string, table: string): { page: number; size: number } {
  return surgery(path, (db) => {
    db.exec("PRAGMA wal_checkpoint(TRUNCATE)"); // or the log would give the old page back
    const row = db.prepare("SELECT rootpage FROM sqlite_master WHERE name = ?").get(table);
    if (row === undefined) throw new Error(`${path} has no ${table}`);
    return {
      page: Number(row.rootpage),
      size: Number(db.prepare("PRAGMA page_size").get()?.page_size),
    };
  });
}

function readPage(path: string, page: number, size: number): Buffer {
  const bytes = Buffer.alloc(size);
  const fd = openSync(path, "r");
  readSync(fd, bytes, 0, size, (page - 1) * size);
  closeSync(fd);
  return bytes;
}

/** The full-text index contradicts itself; the messages are fine. */
export function spoilIndexContent(path: string, index: string): void {
  surgery(path, (db) =>
    db.exec(`DELETE FROM ${index}_docsize WHERE id = (SELECT min(id) FROM ${index}_docsize)`),
  );
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
