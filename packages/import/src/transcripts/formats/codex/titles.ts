// Titles and parents of Codex threads, which it keeps beside the transcripts: in a list of names, later in a database.
import { readdir, readFile, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { describeCause } from "@hermes-memory/core/internal/lib";
import { jsonLines } from "../../kit/json-lines.ts";
import { databaseStamps, openSource } from "../../kit/sqlite-source.ts";
import { textOf } from "../../kit/values.ts";
import type { Reading } from "../../reader.ts";

export type CodexThreads = {
  readonly titles: ReadonlyMap<string, string>;
  /** Parents of spawned threads. */
  readonly parents: ReadonlyMap<string, string>;
};

/** What was read last: all transcripts of one home ask for the same, and it is read again when a file changed. */
let last: { readonly stamp: string; readonly threads: CodexThreads } | undefined;

export async function codexThreads(home: string, reading: Reading): Promise<CodexThreads> {
  const list = join(home, "session_index.jsonl");
  const database = await stateDatabase(home, textOf(reading.env?.CODEX_SQLITE_HOME));
  const files = [list, ...(database === undefined ? [] : databaseStamps(database))];
  const stamp = [home, ...(await Promise.all(files.map(stampOf)))].join(" ");
  if (last?.stamp === stamp) return last.threads;
  const titles = new Map<string, string>();
  const parents = new Map<string, string>();
  const quiet = { ...reading, malformed: () => {}, advanced: () => {} };
  try {
    for await (const { value } of jsonLines(list, quiet)) {
      const id = textOf(value.id);
      const name = textOf(value.thread_name);
      if (id !== undefined && name !== undefined) titles.set(id, name);
    }
  } catch {
    reading.signal.throwIfAborted(); // newer releases have no such file
  }
  if (database !== undefined) await readDatabase(database, { titles, parents }, reading);
  last = { stamp, threads: { titles, parents } };
  return last.threads;
}

async function readDatabase(
  path: string,
  { titles, parents }: { titles: Map<string, string>; parents: Map<string, string> },
  reading: Reading,
): Promise<void> {
  try {
    using db = await openSource(path, reading);
    const columns = ["name", "title"].filter((name) => db.columnsOf("threads").has(name));
    if (columns.length > 0)
      for (const row of db.each(`SELECT id, ${columns.join(", ")} FROM threads`)) {
        const title = textOf(row.name) ?? textOf(row.title);
        if (typeof row.id === "string" && title !== undefined) titles.set(row.id, title);
      }
    if (db.hasTable("thread_spawn_edges"))
      for (const row of db.each("SELECT parent_thread_id, child_thread_id FROM thread_spawn_edges"))
        parents.set(String(row.child_thread_id), String(row.parent_thread_id));
  } catch (cause) {
    reading.signal.throwIfAborted();
    reading.unreadable(path, describeCause(cause));
  }
}

/** The database with the highest number. A variable or the setting `sqlite_home` moves it; a copied home has it beside the transcripts. */
async function stateDatabase(home: string, named: string | undefined): Promise<string | undefined> {
  const config = await readFile(join(home, "config.toml"), "utf8").catch(() => "");
  // Settings of the whole program stand before the first table.
  const moved = /^\s*sqlite_home\s*=\s*["']([^"'\n]+)["']/m.exec(config.split(/^\s*\[/m)[0] ?? "")?.[1];
  for (const folder of [named, moved, "."]) {
    if (folder === undefined) continue;
    const place = resolve(home, folder);
    const names = await readdir(place).catch(() => []); // settings may name a folder of another machine
    const numbers = names.flatMap((name) => /^state_(\d+)\.sqlite$/.exec(name)?.[1] ?? []).map(Number);
    if (numbers.length > 0) return join(place, `state_${Math.max(...numbers)}.sqlite`);
  }
  return undefined;
}

async function stampOf(path: string): Promise<string> {
  const found = await stat(path).catch(() => undefined);
  return `${path}:${found?.size}:${found?.mtimeMs}`;
}
