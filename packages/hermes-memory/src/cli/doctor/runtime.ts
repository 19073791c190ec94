// What the program runs on: Node.js and the SQLite inside it.
import { describeCause } from "@hermes-memory/core/lib";
import { type Finding, fail, fine } from "./finding.ts";

const LEAST_NODE = 24;
const UPGRADE = `Install Node.js ${LEAST_NODE} or newer from https://nodejs.org.`;

export function checkNode(): Finding[] {
  const version = process.versions.node;
  const message = `Node.js ${version}`;
  if (Number.parseInt(version, 10) >= LEAST_NODE) return [fine("node", message)];
  return [fail("node", `${message} is too old.`, UPGRADE)];
}

/** Really opens a database and makes a full-text table: a build can have SQLite without it. */
export async function checkSqlite(): Promise<Finding[]> {
  let sqlite: typeof import("node:sqlite");
  try {
    sqlite = await import("node:sqlite");
  } catch (cause) {
    return [fail("sqlite", `SQLite cannot be loaded: ${describeCause(cause)}.`, UPGRADE)];
  }
  const database = new sqlite.DatabaseSync(":memory:");
  try {
    const row = database.prepare("SELECT sqlite_version() AS version").get();
    database.exec("CREATE VIRTUAL TABLE probe USING fts5(body)");
    return [fine("sqlite", `SQLite ${String(row?.version)} with full-text search`)];
  } catch (cause) {
    const message = `SQLite has no full-text search (FTS5): ${describeCause(cause)}.`;
    return [fail("sqlite", message, `Use an official build of Node.js. ${UPGRADE}`)];
  } finally {
    database.close();
  }
}
