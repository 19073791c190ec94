// The entities that facts are about. All of them are in memory by name, because the table has no index that ignores case; a changed data
// version shows that another process has written. Facts are linked to their entities within the fact's transaction.
import { lowerAscii } from "@hermes-memory/core/internal/lib";
import type { FactDatabase } from "./database.ts";
import type { Scoring } from "./settings.ts";
import type { Mentions } from "./words-and-names.ts";

export type Entity = { readonly id: number; readonly name: string; readonly aliases: readonly string[] };

type EntityRow = { readonly entity_id: number; readonly name: string; readonly aliases: string | null };

export class EntityDirectory {
  readonly #fold: (text: string) => string;
  readonly #byName = new Map<string, number[]>();
  readonly #byAlias = new Map<string, number[]>();
  readonly #byId = new Map<number, Entity>();
  #version: number | undefined;

  constructor(scoring: Scoring) {
    // The Python original compares with LIKE, which ignores the case of ASCII letters only.
    this.#fold = scoring === "reference" ? lowerAscii : (text) => text.toLowerCase();
  }

  /** Call it at the start of a transaction, before the transaction changes anything. */
  refresh(db: FactDatabase): void {
    const version = db.dataVersion();
    if (version === this.#version) return;
    const rows = db.all<EntityRow>("SELECT entity_id, name, aliases FROM entities ORDER BY entity_id");
    this.#byName.clear();
    this.#byAlias.clear();
    this.#byId.clear();
    for (const { entity_id: id, name, aliases } of rows)
      this.adopt({ id, name, aliases: splitAliases(aliases ?? "") });
    this.#version = version;
  }

  /** After a commit that removed entities: the next transaction reads all of them again. */
  forget(): void {
    this.#version = undefined;
  }

  /** After the commit that created or changed the entity. */
  adopt(entity: Entity): void {
    if (!this.#byId.has(entity.id)) append(this.#byName, this.#fold(entity.name), entity.id);
    this.#byId.set(entity.id, entity);
    for (const alias of entity.aliases) append(this.#byAlias, this.#fold(alias), entity.id);
  }

  /** The oldest entity with that name, or else one with that alias. */
  find(name: string): Entity | undefined {
    const folded = this.#fold(name);
    const id = this.#byName.get(folded)?.[0] ?? this.#byAlias.get(folded)?.[0];
    return id === undefined ? undefined : this.#byId.get(id);
  }

  /** All entities that a name may mean: those with that name or alias, and those named like one of their aliases. */
  meant(name: string): readonly Entity[] {
    const named = this.#with(name);
    const others = named.flatMap(({ aliases }) => aliases.flatMap((alias) => this.#with(alias)));
    return [...new Set([...named, ...others])];
  }

  isSame(one: string, other: string): boolean {
    return this.#fold(one) === this.#fold(other);
  }

  #with(name: string): Entity[] {
    const folded = this.#fold(name);
    const ids = [...(this.#byName.get(folded) ?? []), ...(this.#byAlias.get(folded) ?? [])];
    return ids.map((id) => this.#byId.get(id)).filter((entity) => entity !== undefined);
  }
}

export function splitAliases(text: string): string[] {
  return text
    .split(",")
    .map((alias) => alias.trim())
    .filter((alias) => alias !== "");
}

function append(map: Map<string, number[]>, key: string, id: number): void {
  const ids = map.get(key);
  if (ids === undefined) map.set(key, [id]);
  else if (!ids.includes(id)) ids.push(id);
}

// ---- Links between facts and entities ----

type Resolved = {
  /** In the order of their mentions, each once. */
  readonly entities: readonly Entity[];
  /** Created or changed by the transaction; `adopt` them after the commit. */
  readonly changed: readonly Entity[];
};

export function resolveMentions(
  db: FactDatabase,
  directory: EntityDirectory,
  mentions: Mentions,
  scoring: Scoring,
): Resolved {
  directory.refresh(db);
  const changed = new Map<number, Entity>();
  const newest = (entity: Entity | undefined) => entity && (changed.get(entity.id) ?? entity);
  const find = (name: string): Entity | undefined =>
    newest(scoring === "reference" ? findAsLike(db, directory, name) : directory.find(name)) ??
    [...changed.values()].find((entity) =>
      [entity.name, ...entity.aliases].some((known) => directory.isSame(known, name)),
    );

  const found = mentions.names.map((name) => {
    const aliases = mentions.aliases.filter((pair) => pair.name === name).map(({ alias }) => alias);
    const known = [name, ...aliases].map(find).find((entity) => entity !== undefined);
    const entity = known ?? insertEntity(db, name);
    const further = [name, ...aliases].filter(
      (text) =>
        aliases.length > 0 && ![entity.name, ...entity.aliases].some((old) => directory.isSame(old, text)),
    );
    const whole = further.length === 0 ? entity : addAliases(db, entity, further);
    if (whole !== known) changed.set(whole.id, whole);
    return whole;
  });
  const entities = [...new Map(found.map((entity) => [entity.id, newest(entity) ?? entity])).values()];
  return { entities, changed: [...changed.values()] };
}

export function linkFact(db: FactDatabase, factId: number, entities: readonly Entity[]): void {
  for (const { id } of entities) {
    db.run("INSERT OR IGNORE INTO fact_entities (fact_id, entity_id) VALUES (:factId, :id)", { factId, id });
  }
}

export function unlinkFact(db: FactDatabase, factId: number): void {
  db.run("DELETE FROM fact_entities WHERE fact_id = :factId", { factId });
}

export function linkedNames(db: FactDatabase, factId: number): string[] {
  const sql = `
    SELECT e.name FROM fact_entities l JOIN entities e ON e.entity_id = l.entity_id
    WHERE l.fact_id = :factId ORDER BY l.entity_id
  `;
  return db.all<{ name: string }>(sql, { factId }).map(({ name }) => name);
}

// The Python original uses the name as a LIKE pattern. Without wildcards that is a comparison without case.
function findAsLike(db: FactDatabase, directory: EntityDirectory, name: string): Entity | undefined {
  if (!/[%_]/.test(name)) return directory.find(name);
  const sql = `
    SELECT entity_id AS id, name FROM entities
    WHERE name LIKE :name OR ',' || aliases || ',' LIKE '%,' || :name || ',%'
    ORDER BY name LIKE :name DESC, entity_id LIMIT 1
  `;
  const row = db.get<{ id: number; name: string }>(sql, { name });
  return row && { id: row.id, name: row.name, aliases: [] };
}

function insertEntity(db: FactDatabase, name: string): Entity {
  const { lastId } = db.run("INSERT INTO entities (name) VALUES (:name)", { name });
  return { id: lastId, name, aliases: [] };
}

function addAliases(db: FactDatabase, entity: Entity, further: readonly string[]): Entity {
  const aliases = [...entity.aliases, ...further];
  db.run("UPDATE entities SET aliases = :aliases WHERE entity_id = :id", {
    aliases: aliases.join(","),
    id: entity.id,
  });
  return { ...entity, aliases };
}
