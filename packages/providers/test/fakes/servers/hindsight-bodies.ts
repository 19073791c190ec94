// The request bodies that the fake Hindsight accepts.
import {
  anything,
  type Check,
  either,
  flag,
  integer,
  listOf,
  mapOf,
  nullable,
  number,
  object,
  oneOf,
  text,
} from "./body-check.ts";
import { FACT_TYPES } from "./hindsight-bank.ts";

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const strings = listOf(text());
const budget = oneOf("low", "mid", "high");
const tagsMatch = oneOf("any", "all", "any_strict", "all_strict", "exact");
const query = text({ min: 1, pattern: /[\p{L}\p{N}_]/u });
const upTo = nullable(object({ optional: { max_tokens: integer({ min: 0 }) } }));

const moment: Check = (value, loc) =>
  typeof value === "string" && !Number.isNaN(Date.parse(value))
    ? []
    : [{ type: "datetime_parsing", loc, msg: "Input should be a valid datetime" }];

export function retainBody(knowsUpdateMode: boolean, knowsOperationId: boolean): Check {
  const item = object({
    required: { content: text({ min: 1 }) },
    optional: {
      timestamp: nullable(moment),
      context: nullable(text()),
      metadata: nullable(mapOf(text())),
      document_id: nullable(text()),
      entities: nullable(
        listOf(object({ required: { text: text() }, optional: { type: nullable(text()) } })),
      ),
      resolve_entities: nullable(flag),
      tags: nullable(strings),
      observation_scopes: nullable(
        either(listOf(strings), oneOf("per_tag", "combined", "all_combinations", "shared")),
      ),
      strategy: nullable(text()),
      ...(knowsUpdateMode ? { update_mode: nullable(oneOf("replace", "append")) } : {}),
    },
  });
  return object({
    required: { items: listOf(item, { min: 1 }) },
    optional: {
      async: flag,
      document_tags: nullable(strings),
      ...(knowsOperationId ? { operation_id: nullable(text({ pattern: UUID })) } : {}),
    },
  });
}

export const recallBody = object({
  required: { query },
  optional: {
    types: nullable(listOf(oneOf(...FACT_TYPES))),
    budget,
    max_tokens: integer({ min: 1 }),
    tags: nullable(strings),
    tags_match: tagsMatch,
    include: object({ optional: { entities: upTo, chunks: upTo, source_facts: upTo } }),
    trace: flag,
    query_timestamp: nullable(moment),
    prefer_observations: flag,
    min_scores: nullable(
      object({
        optional: {
          semantic: nullable(number),
          keyword: nullable(number),
          reranker: nullable(number),
          final: nullable(number),
        },
      }),
    ),
  },
});

export const reflectBody = object({
  required: { query },
  optional: {
    budget,
    context: nullable(text()),
    max_tokens: integer({ min: 1 }),
    tags: nullable(strings),
    tags_match: tagsMatch,
    response_schema: nullable(mapOf(anything)),
    fact_types: nullable(listOf(oneOf(...FACT_TYPES))),
    include: object({
      optional: { facts: nullable(mapOf(anything)), tool_calls: nullable(mapOf(anything)) },
    }),
  },
});

export const configBody = object({ required: { updates: mapOf(anything) } });

export const bankBody = object({
  optional: {
    name: nullable(text()),
    mission: nullable(text()),
    background: nullable(text()),
    reflect_mission: nullable(text()),
    retain_mission: nullable(text()),
    observations_mission: nullable(text()),
    enable_observations: nullable(flag),
    disposition: nullable(mapOf(integer())),
  },
});
