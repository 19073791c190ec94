// The Python original's formulas, each brought into the form "similarity of the fact to a key". Those of probe and reason
// do not measure what they are named after: what a fact has of the entity cancels out and the rest is chance. They are
// kept for comparison.
import type { Encoder } from "./encoder.ts";
import type { FactTools } from "./facts.ts";
import { bind, unbind } from "./phases.ts";
import type { Plan, VectorRequest } from "./plan.ts";

/** Within a read transaction. Every fact is ranked. */
export function referencePlan({ encoder, banks }: FactTools, request: VectorRequest): Plan {
  switch (request.kind) {
    case "probe": {
      const key = encoder.entity(request.entity);
      const bank = request.category === undefined ? undefined : banks.vector(request.category);
      return bank === undefined
        ? { ...planOf([[key]]), withoutContent: true }
        : planOf([[unbind(bank, key)]]);
    }
    case "related":
      return planOf([relatedKeys(encoder, request.entity)]);
    case "reason":
      return planOf(request.entities.map((name) => [bind(encoder.entity(name), encoder.roleContent)]));
    default:
      return request satisfies never;
  }
}

/** A name in the place of an entity, and in that of a word of the content. */
export function relatedKeys(encoder: Encoder, name: string): Float64Array[] {
  const atom = encoder.atom(name.toLowerCase());
  return [bind(atom, encoder.roleEntity), bind(atom, encoder.roleContent)];
}

function planOf(subjects: Plan["subjects"]): Plan {
  return { subjects, withoutContent: false, tiers: undefined };
}
