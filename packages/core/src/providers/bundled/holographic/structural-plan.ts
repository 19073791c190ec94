// What the questions mean under `scoring: structural`: how much a fact's vector has of an entity's key. Only facts that
// are linked to the entity or name it can have any of it; the vectors of all others are within chance of zero, which at
// 10,000 facts or with short vectors would bring in strangers. So only those come into question.
import type { FactTools } from "./facts.ts";
import { phrase } from "./fts-query.ts";
import type { Plan, VectorRequest } from "./plan.ts";
import { relatedKeys } from "./reference-plan.ts";
import { withoutSyntaxErrors } from "./search.ts";

/** Within a read transaction. */
export function structuralPlan(tools: FactTools, request: VectorRequest): Plan {
  const asked = request.kind === "reason" ? request.entities : [request.entity];
  const subjects = asked.map((name) => subjectOf(tools, name));
  const { encoder } = tools;
  const keysOf = (name: string) =>
    request.kind === "related" ? relatedKeys(encoder, name) : [encoder.entity(name)];
  return {
    subjects: subjects.map(({ names }) => [...names].flatMap(keysOf)),
    withoutContent: false,
    tiers: tiersOf(subjects),
  };
}

type Subject = {
  /** Lower-case: as asked for, and every name the entities meant are kept under. */
  readonly names: ReadonlySet<string>;
  readonly linked: ReadonlySet<number>;
  /** Facts with one of its names in their text or tags. */
  readonly named: ReadonlySet<number>;
};

function subjectOf({ db, directory }: FactTools, asked: string): Subject {
  directory.refresh(db);
  const entities = directory.meant(asked);
  const names = new Set([asked, ...entities.map(({ name }) => name)].map((name) => name.toLowerCase()));
  const linked = db.all<{ id: number }>(
    "SELECT fact_id AS id FROM fact_entities WHERE entity_id IN (SELECT value FROM json_each(:ids))",
    { ids: JSON.stringify(entities.map(({ id }) => id)) },
  );
  const spelled = new Set([...names, ...entities.flatMap(({ aliases }) => aliases)]);
  const match = [...spelled].map(phrase).join(" OR ");
  const sql = "SELECT rowid AS id FROM facts_fts WHERE facts_fts MATCH :match";
  const named = withoutSyntaxErrors(() => db.all<{ id: number }>(sql, { match }));
  return { names, linked: idsOf(linked), named: idsOf(named) };
}

/** Facts that have to do with every subject; those linked to all of them before those that only name one. */
function tiersOf(subjects: readonly Subject[]): Map<number, number> {
  const [first, ...others] = subjects;
  const tiers = new Map<number, number>();
  for (const id of first === undefined ? [] : new Set([...first.linked, ...first.named])) {
    if (!others.every(({ linked, named }) => linked.has(id) || named.has(id))) continue;
    tiers.set(id, subjects.every(({ linked }) => linked.has(id)) ? 0 : 1);
  }
  return tiers;
}

function idsOf(rows: readonly { readonly id: number }[]): Set<number> {
  return new Set(rows.map(({ id }) => id));
}
