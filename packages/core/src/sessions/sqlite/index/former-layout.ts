// What versions 0.1.0 and 0.2.0 of this program put into a file under the original's names: two FTS tables over views of
// ours, six triggers, a table of texts; and what their `optimize` left when it was interrupted. An object is ours only when
// its text is exactly the one those versions wrote, told by its hash (SHA-256, first 32 digits).
import type { DatabaseSync } from "node:sqlite";
import { holdFileLock, sha256 } from "../../../lib/index.ts";
import { versionOf } from "../ensure-schema.ts";
import { otherHolders } from "../holders.ts";
import { SCHEMA_VERSION } from "../schema.ts";

const FORMER_OBJECTS: readonly (readonly [type: string, name: string, hash: string])[] = [
  ["table", "hermes_memory_text", "16124692d0e80c40410ad2c243031d0a"],
  ["view", "hermes_memory_words", "25ed6a7541cb7afce8fae1f92135cb22"],
  ["view", "hermes_memory_trigrams", "122d2c089c55ad17c2db4effecfecb44"],
  ["table", "messages_fts", "e16a4329bb17f2f15cb3f7703cf7c245"],
  ["table", "messages_fts_trigram", "26777aeea0a392423cffcd3dfc05e73a"],
  ["trigger", "messages_fts_insert", "9fc56c6115c0c9b0f3a0f1035f3a3580"],
  ["trigger", "messages_fts_delete", "fa92d8c136d8dc032fbd3c0bf9a4bbd1"],
  ["trigger", "messages_fts_update", "e8301b4823184a8fab50b69188238a3f"],
  ["trigger", "messages_fts_trigram_insert", "8eea2b16bc4f3846ccb79b145c03cc55"],
  ["trigger", "messages_fts_trigram_delete", "36e180e22f964356c65fd9fdcd6062c2"],
  ["trigger", "messages_fts_trigram_update", "3d19adece238672edc6a47a1fde8264c"],
  ["table", "hermes_memory_build", "e3cc017807ad8a609d4c892c5e8cd07b"],
  ["table", "hermes_memory_new_words", "18095102363ad2dcf18f0f44677e1e7f"],
  ["table", "hermes_memory_new_trigrams", "cc91a85c753d0ac968a42a8d16ee696e"],
  ["trigger", "hermes_memory_build_insert", "b0b96885275e7f93b0f5e9c0b7d225e0"],
  ["trigger", "hermes_memory_build_delete", "a9670ad5b471f55cd046a6875b6f7d8c"],
  ["trigger", "hermes_memory_build_update", "813e14394bba2425ce2e665ded397de7"],
];

export const formerNames: ReadonlySet<string> = new Set(FORMER_OBJECTS.map(([, name]) => name));

type Schema = ReadonlyMap<string, string>;

/** True when something in the file looks like it. Cheap. */
export function hasFormerLayout(db: DatabaseSync): boolean {
  const names = SIGNS.map((name) => `'${name}'`).join(", ");
  return db.prepare(`SELECT 1 FROM main.sqlite_master WHERE name IN (${names})`).get() !== undefined;
}

/** Without these there is none. */
const SIGNS = ["hermes_memory_text", "hermes_memory_words", "hermes_memory_trigrams", "hermes_memory_build"];

/**
 * Inside a write transaction. In files up to version 16 the six triggers go by their names: the original may have put its
 * own on our tables. In later files everything has to be exactly ours, or the index stays; and a Hermes that has such a file
 * open searches with it, so it stays until no other process has the file open. False when nothing was done.
 */
export function dropFormerLayout(db: DatabaseSync, path: string): boolean {
  if (versionOf(db) > SCHEMA_VERSION && otherHolders(path).length > 0) return false;
  const lock = holdFileLock(`${path}.fts_rebuild.lock`);
  if (!lock.ok) return false;
  using _held = lock.value;
  const found = readSchema(db);
  const ours = new Set(FORMER_OBJECTS.filter((object) => isFormer(found, object)).map(([, name]) => name));
  const isOurIndex = INDEX.every((name) => ours.has(name));
  const isOursAlone = versionOf(db) <= SCHEMA_VERSION || TRIGGERS.every((name) => ours.has(name));
  if (isOurIndex && isOursAlone) {
    for (const name of TRIGGERS) db.exec(`DROP TRIGGER IF EXISTS ${name}`);
    for (const name of INDEX) db.exec(`DROP TABLE ${name}`);
  }
  const others = FORMER_OBJECTS.filter(([, name]) => ours.has(name) && !IN_INDEX.has(name));
  const isShared = !isOursAlone && INDEX.some((name) => ours.has(name));
  // The views and the texts stay while an index over them does.
  for (const type of ["trigger", "table", "view"])
    for (const [each, name] of others)
      if (each === type && (!isShared || isHalf(name))) db.exec(`DROP ${type.toUpperCase()} ${name}`);
  return true;
}

/** Left by an interrupted `optimize`. */
function isHalf(name: string): boolean {
  return name.startsWith("hermes_memory_build") || name.startsWith("hermes_memory_new_");
}

const INDEX = ["messages_fts", "messages_fts_trigram"];
const TRIGGERS = INDEX.flatMap((name) => ["insert", "delete", "update"].map((event) => `${name}_${event}`));
const IN_INDEX: ReadonlySet<string> = new Set([...INDEX, ...TRIGGERS]);

/** Renaming a virtual table puts its name in quotes. */
function isFormer(found: Schema, [, name, hash]: (typeof FORMER_OBJECTS)[number]): boolean {
  const sql = found.get(name)?.replace(/^(CREATE VIRTUAL TABLE )["']([a-z_]+)["']/, "$1$2");
  return sql !== undefined && sha256(sql).startsWith(hash);
}

function readSchema(db: DatabaseSync): Schema {
  const rows = db.prepare("SELECT name, sql FROM main.sqlite_master").all();
  return new Map(rows.map(({ name, sql }) => [String(name), String(sql ?? "")]));
}
