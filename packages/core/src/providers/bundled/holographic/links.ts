// Which entities a fact is about: found or made within the fact's own transaction.
import type { FactDatabase } from "./database.ts";
import type { Entity, EntityDirectory } from "./directory.ts";
import type { Mentions } from "./entities.ts";
import type { Scoring } from "./settings.ts";

export type Resolved = {
  /** In the order they were mentioned, each once. */
  readonly entities: readonly Entity[];
  /** Made or changed by the transaction; the directory learns of them after the commit. */
  readonly news: readonly Entity[];
};

export function resolveMentions(
  db: FactDatabase,
  directory: EntityDirectory,
  mentions: Mentions,
  scoring: Scoring,
): Resolved {
  directory.refresh(db);
  const news = new Map<number, Entity>();
  const newest = (entity: Entity | undefined) => entity && (news.get(entity.id) ?? entity);
  const find = (name: string): Entity | undefined =>
    newest(scoring === "reference" ? findAsLike(db, directory, name) : directory.find(name)) ??
    [...news.values()].find((entity) =>
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
    if (whole !== known) news.set(whole.id, whole);
    return whole;
  });
  const entities = [...new Map(found.map((entity) => [entity.id, newest(entity) ?? entity])).values()];
  return { entities, news: [...news.values()] };
}

export function linkFact(db: FactDatabase, factId: number, entities: readonly Entity[]): void {
  for (const { id } of entities) {
    db.run("INSERT OR IGNORE INTO fact_entities (fact_id, entity_id) VALUES (:factId, :id)", { factId, id });
  }
}

export function unlinkFact(db: FactDatabase, factId: number): void {
  db.run("DELETE FROM fact_entities WHERE fact_id = :factId", { factId });
}

/** Names of the entities a fact is linked to. */
export function linkedNames(db: FactDatabase, factId: number): string[] {
  const sql = `
    SELECT e.name FROM fact_entities l JOIN entities e ON e.entity_id = l.entity_id
    WHERE l.fact_id = :factId ORDER BY l.entity_id
  `;
  return db.all<{ name: string }>(sql, { factId }).map(({ name }) => name);
}

// The original takes the name for a LIKE pattern. Without wildcards that is a comparison without case.
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
