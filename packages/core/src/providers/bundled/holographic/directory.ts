// Every known entity by its names, in memory: looking one up in the table would read all of it, because no index there
// ignores case. What other processes add is noticed by the data version.
import type { FactDatabase } from "./database.ts";
import type { Scoring } from "./settings.ts";

export type Entity = { readonly id: number; readonly name: string; readonly aliases: readonly string[] };

type EntityRow = { readonly entity_id: number; readonly name: string; readonly aliases: string | null };

export class EntityDirectory {
  readonly #fold: (text: string) => string;
  readonly #byName = new Map<string, number[]>();
  readonly #byAlias = new Map<string, number[]>();
  readonly #byId = new Map<number, Entity>();
  #version: number | undefined;

  constructor(scoring: Scoring) {
    // The original compares with LIKE, which knows the case of ASCII letters only.
    this.#fold = scoring === "reference" ? lowerAscii : (text) => text.toLowerCase();
  }

  /** Call it first thing in a transaction, before the transaction changes anything itself. */
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

  /** After a commit that took entities away: the next transaction reads them all again. */
  forget(): void {
    this.#version = undefined;
  }

  /** After the commit that made or changed it. */
  adopt(entity: Entity): void {
    if (!this.#byId.has(entity.id)) append(this.#byName, this.#fold(entity.name), entity.id);
    this.#byId.set(entity.id, entity);
    for (const alias of entity.aliases) append(this.#byAlias, this.#fold(alias), entity.id);
  }

  /** The oldest entity of that name, or else one that has it as an alias. */
  find(name: string): Entity | undefined {
    const folded = this.#fold(name);
    const id = this.#byName.get(folded)?.[0] ?? this.#byAlias.get(folded)?.[0];
    return id === undefined ? undefined : this.#byId.get(id);
  }

  /** Everything that may be meant by a name: who is called so, who has it as an alias, and who is called like their aliases. */
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

function lowerAscii(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}
