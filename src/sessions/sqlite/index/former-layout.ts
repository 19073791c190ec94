// What versions 0.1.0 and 0.2.0 of this program put into a file under the original's names: two FTS tables over views of
// ours, six triggers, a table of texts; and what their `optimize` left when it was interrupted. An object is ours only when
// its text is exactly the one those versions wrote, told by its hash (SHA-256, first 32 digits).
import type { DatabaseSync } from "node:sqlite";
import { sha256 } from "../../../lib/index.ts";

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

type Schema = ReadonlyMap<string, string>;

/** Names of the objects in the file that those versions made. */
export function formerObjects(db: DatabaseSync): ReadonlySet<string> {
  const found = readSchema(db);
  return new Set(FORMER_OBJECTS.filter((object) => isFormer(found, object)).map(([, name]) => name));
}

/**
 * Inside a write transaction. An index of which another program replaced a part stays whole: dropping the rest of it would
 * break that part. The halves of an interrupted `optimize` go in any case.
 */
export function dropFormerLayout(db: DatabaseSync): void {
  const ours = formerObjects(db);
  const isWhole = INDEX.every((name) => ours.has(name)) && TRIGGERS.every((name) => ours.has(name));
  const isHalf = (name: string) =>
    name.startsWith("hermes_memory_build") || name.startsWith("hermes_memory_new_");
  // The texts and views are shared: they stay while an index over them does.
  const usesViews = !isWhole && INDEX.some((name) => ours.has(name));
  const going = FORMER_OBJECTS.filter(
    ([, name]) => ours.has(name) && (isHalf(name) || (INDEX_AND_TRIGGERS.has(name) ? isWhole : !usesViews)),
  );
  const order = ["trigger", "table", "view"];
  // An FTS table goes before the view it reads, everything before the table of texts.
  const rank = ([type, name]: (typeof FORMER_OBJECTS)[number]) =>
    name === "hermes_memory_text" ? order.length : order.indexOf(type);
  for (const [type, name] of going.toSorted((a, b) => rank(a) - rank(b)))
    db.exec(`DROP ${type.toUpperCase()} ${name}`);
}

const INDEX = ["messages_fts", "messages_fts_trigram"];
const TRIGGERS = INDEX.flatMap((name) => ["insert", "delete", "update"].map((event) => `${name}_${event}`));
const INDEX_AND_TRIGGERS: ReadonlySet<string> = new Set([...INDEX, ...TRIGGERS]);

/** Renaming a virtual table puts its name in quotes. */
function isFormer(found: Schema, [, name, hash]: (typeof FORMER_OBJECTS)[number]): boolean {
  const sql = found.get(name)?.replace(/^(CREATE VIRTUAL TABLE )["']([a-z_]+)["']/, "$1$2");
  return sql !== undefined && sha256(sql).startsWith(hash);
}

function readSchema(db: DatabaseSync): Schema {
  const rows = db.prepare("SELECT name, sql FROM main.sqlite_master").all();
  return new Map(rows.map(({ name, sql }) => [String(name), String(sql ?? "")]));
}
