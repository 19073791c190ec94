// Erasing a text from the fact database: the facts that contain it, entities that no other fact is about, and the bytes of deleted rows in
// SQLite's index, free pages and log. And finding a text in databases that are not open.
import { createReadStream, existsSync, readdirSync } from "node:fs";
import { join, parse } from "node:path";
import { describeCause } from "@hermes-memory/core/internal/lib";
import { SqliteFile, type SqlValues } from "@hermes-memory/core/internal/sqlite";
import type { FactDatabase } from "./database.ts";
import { splitAliases } from "./entity-directory.ts";
import { removeFact, type StoreParts } from "./facts.ts";
import { forUser, readSection, readSettings, SECTION } from "./settings.ts";

const SCAN_CHUNK_BYTES = 1 << 20;
const HOLDS = "instr(content, :text) > 0 OR instr(tags, :text) > 0 OR instr(category, :text) > 0";
const FACTS = `SELECT fact_id AS id FROM facts WHERE ${HOLDS} ORDER BY fact_id`;
const COUNT = `SELECT count(*) AS n FROM facts WHERE ${HOLDS}`;
const LINKED = "SELECT entity_id AS id FROM fact_entities WHERE fact_id = :factId";
const IS_LINKED = "SELECT 1 FROM fact_entities WHERE entity_id = :id LIMIT 1";
const NAMED = "SELECT entity_id AS id FROM entities WHERE instr(name, :text) > 0";
const ALIASED = "SELECT entity_id AS id, aliases FROM entities WHERE instr(aliases, :text) > 0";

export function countFactsWith(db: FactDatabase, text: string): number {
  return db.get<{ n: number }>(COUNT, { text })?.n ?? 0;
}

/** Within a transaction. Removes every fact that contains the text, including facts that the user added. Returns how many. */
export function eraseFacts(parts: StoreParts, text: string): number {
  const { db } = parts;
  const concerned = new Set(db.all<{ id: number }>(NAMED, { text }).map(({ id }) => id));
  const named = new Set(concerned);
  const facts = db.all<{ id: number }>(FACTS, { text });
  for (const { id: factId } of facts) {
    for (const { id } of db.all<{ id: number }>(LINKED, { factId })) concerned.add(id);
    removeFact(parts, factId);
  }
  for (const id of concerned) {
    // An entity that other facts are about is kept, unless its name contains the text.
    if (!named.has(id) && db.get(IS_LINKED, { id }) !== undefined) continue;
    db.run("DELETE FROM fact_entities WHERE entity_id = :id", { id });
    db.run("DELETE FROM entities WHERE entity_id = :id", { id });
  }
  for (const { id, aliases } of db.all<{ id: number; aliases: string }>(ALIASED, { text })) {
    const kept = splitAliases(aliases).filter((alias) => !alias.includes(text));
    db.run("UPDATE entities SET aliases = :aliases WHERE entity_id = :id", { id, aliases: kept.join(",") });
  }
  // A deletion only marks words in the index as deleted; rebuilding the index removes them.
  db.run("INSERT INTO facts_fts(facts_fts) VALUES ('rebuild')");
  return facts.length;
}

/** Within a transaction. */
export function eraseAllFacts(parts: StoreParts): number {
  const count = eraseFacts(parts, ""); // contained in every fact and every name
  // The names of banks are categories, which the model makes up.
  for (const table of ["memory_banks", "fact_entities", "entities"]) parts.db.run(`DELETE FROM ${table}`);
  return count;
}

/** One sentence if there are facts of this user, or without one of the owner; undefined if not. Changes nothing. */
export async function findFactsOf(home: string, user: StoreUser | undefined): Promise<string | undefined> {
  const common = readSettings((await readSection(home)).values, home);
  const { dbPath } = user === undefined ? common : forUser(common, user.platform, user.userId);
  const all = countIn(dbPath, "SELECT count(*) AS n FROM facts", {});
  if (typeof all === "string") return `The holographic store ${dbPath} could not be read: ${all}.`;
  return all === 0
    ? undefined
    : `The holographic store ${dbPath} has ${all === 1 ? "1 fact" : `${all} facts`}.`;
}

type StoreUser = { readonly platform: string; readonly userId: string };

/**
 * Removes the bytes of deleted rows from the file. Undefined when none are left, or else why some may be: another process that has the
 * database open keeps SQLite from emptying its log.
 */
export async function scrubFile(db: FactDatabase): Promise<string | undefined> {
  try {
    await db.vacuum();
    if (await db.emptyLog()) return undefined;
    return `The facts are gone, but ${db.path} and its log ${db.path}-wal may hold deleted text in free pages while another process has the database open. Close that process and forget again.`;
  } catch (cause) {
    return `The facts are gone, but ${db.path} may hold deleted text in unused pages: ${describeCause(cause)} Forget again later.`;
  }
}

/** When no fact contains the text: whether its bytes are in the file or its log. Undefined when they are not. */
export async function findDeletedText(path: string, text: string): Promise<string | undefined> {
  const wanted = Buffer.from(text);
  const holding: string[] = [];
  for (const file of [path, `${path}-wal`]) if (await holdsBytes(file, wanted)) holding.push(file);
  if (holding.length === 0) return undefined;
  return `No fact has it, but ${holding.join(" and ")} may still hold it in deleted records.`;
}

async function holdsBytes(path: string, wanted: Buffer): Promise<boolean> {
  if (!existsSync(path)) return false;
  let tail = Buffer.alloc(0);
  for await (const chunk of createReadStream(path, { highWaterMark: SCAN_CHUNK_BYTES })) {
    const piece = Buffer.concat([tail, chunk as Buffer]);
    if (piece.includes(wanted)) return true;
    tail = piece.subarray(Math.max(0, piece.length - wanted.length + 1));
  }
  return false;
}

/** How many facts of the owner's database contain the text, as a sentence; undefined for none. Changes nothing. */
export async function findFactTraces(home: string, text: string): Promise<string | undefined> {
  return tracesIn(await storePath(home), text);
}

/** The databases of the home's other users that contain the text. Changes nothing. */
export async function findUserTraces(
  home: string,
  text: string,
): Promise<readonly { readonly path: string; readonly reach: string }[]> {
  const dbPath = await storePath(home);
  const { dir, name, ext } = parse(dbPath);
  if (!existsSync(dir)) return [];
  const paths = readdirSync(dir)
    .filter(
      (each) =>
        each.startsWith(`${name}.`) && each.endsWith(ext) && each.length > name.length + ext.length + 1,
    )
    .map((each) => join(dir, each));
  const found = [];
  for (const path of paths) {
    const told = tracesIn(path, text) ?? (await findDeletedText(path, text));
    if (told === undefined) continue;
    const reach = `${told} It belongs to one user of several, and is reached while it is the active store: 'hermes config set ${SECTION}.db_path ${path}', forget again, then set db_path back.`;
    found.push({ path, reach });
  }
  return found;
}

async function storePath(home: string): Promise<string> {
  return readSettings((await readSection(home)).values, home).dbPath;
}

function tracesIn(dbPath: string, text: string): string | undefined {
  const n = countIn(dbPath, COUNT, { text });
  if (typeof n === "string") return `The holographic store ${dbPath} could not be searched: ${n}.`;
  if (n === 0) return undefined;
  return `The holographic store ${dbPath} has ${n === 1 ? "1 fact that contains" : `${n} facts that contain`} it.`;
}

/** 0 without a database; a text says why it cannot be read. */
function countIn(dbPath: string, sql: string, values: SqlValues): number | string {
  if (!existsSync(dbPath)) return 0;
  try {
    using file = new SqliteFile(dbPath, { readOnly: true });
    if (file.get("SELECT 1 FROM sqlite_master WHERE name = 'facts'") === undefined) return 0;
    return file.get<{ n: number }>(sql, values)?.n ?? 0;
  } catch (cause) {
    return describeCause(cause);
  }
}
