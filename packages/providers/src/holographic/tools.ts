// The tools `fact_store` and `fact_feedback`: their schemas, their answers as JSON, and reading their arguments.
import { codePointLength, describeCause, HermesError, type Result } from "@hermes-memory/core/internal/lib";
import type { ToolDefinition } from "@hermes-memory/core/internal/tools";
import type { HolographicSettings } from "./settings.ts";
import type { FactStore } from "./store.ts";

// ---- Schemas ----

const CATEGORIES = ["user_pref", "project", "tool", "general"];

const FACT_STORE: ToolDefinition = {
  name: "fact_store",
  description: [
    "Long-term facts with entities and trust. The always-on `memory` tool keeps the few things every turn needs; this keeps everything else worth knowing later.",
    "Actions, from simple to powerful:",
    "add - keep one fact, a full sentence with the names it is about;",
    "search - find facts by words;",
    "probe - all that is known about one entity (a person, project, tool);",
    "related - facts that have to do with an entity, also where it is only part of the text;",
    "reason - facts that connect several entities;",
    "contradict - pairs of facts about the same thing that disagree;",
    "update - correct a fact, its tags or category, or move its trust by trust_delta;",
    "remove - delete a fact;",
    "list - facts by trust, most trusted first.",
    "Before you answer a question about the user or their work, probe or reason first.",
  ].join("\n"),
  parameters: {
    type: "object",
    properties: {
      action: {
        type: "string",
        enum: ["add", "search", "probe", "related", "reason", "contradict", "update", "remove", "list"],
      },
      content: { type: "string", description: "The fact, for add; its new text, for update." },
      query: { type: "string", description: "Words to look for, for search." },
      entity: { type: "string", description: "A name, for probe and related." },
      entities: { type: "array", items: { type: "string" }, description: "Names, for reason." },
      fact_id: { type: "integer", description: "Which fact, for update and remove." },
      category: { type: "string", enum: CATEGORIES },
      tags: { type: "string", description: "Comma separated." },
      trust_delta: { type: "number", description: "How far to move the trust, for update." },
      min_trust: { type: "number", description: "Leave out facts with less trust, for search and list." },
      limit: { type: "integer", description: "At most this many results, 10 unless given." },
    },
    required: ["action"],
  },
};

const FACT_FEEDBACK: ToolDefinition = {
  name: "fact_feedback",
  description:
    "Rate a fact after you have used it: helpful when it was right, unhelpful when it was wrong or out of date. Accurate facts rise, outdated ones sink.",
  parameters: {
    type: "object",
    properties: {
      action: { type: "string", enum: ["helpful", "unhelpful"] },
      fact_id: { type: "integer" },
    },
    required: ["action", "fact_id"],
  },
};

export const TOOL_SCHEMAS: readonly ToolDefinition[] = [FACT_STORE, FACT_FEEDBACK];

// ---- Answers ----

type ToolContext = { readonly store: FactStore; readonly settings: HolographicSettings };

/** Never rejects: every failure becomes `{"error": text}`. */
export async function runTool(context: ToolContext, name: string, args: Arguments): Promise<object> {
  try {
    if (name === "fact_store") return await runFactStore(context, args);
    if (name === "fact_feedback") return await runFeedback(context, args);
    return { error: `Unknown tool: ${name}` };
  } catch (cause) {
    if (cause instanceof ArgumentError) return { error: cause.message };
    const hint = cause instanceof HermesError && cause.hint !== undefined ? ` ${cause.hint}` : "";
    return { error: `${describeCause(cause)}${hint}` };
  }
}

async function runFactStore(context: ToolContext, args: Arguments): Promise<object> {
  const { store } = context;
  const action = requiredText(args, "action");
  const category = optionalText(args, "category") || undefined;
  switch (action) {
    case "add": {
      const content = requiredText(args, "content");
      const { factId } = accepted(await store.add(content, { category, tags: tagText(args) }));
      return { fact_id: factId, status: "added" };
    }
    case "search":
      return results(await search(context, args, category));
    case "probe":
    case "related": {
      const entity = entityName(requiredText(args, "entity"));
      return results(await store.query({ kind: action, entity, category, limit: limitOf(context, args) }));
    }
    case "reason": {
      const entities = entityList(args);
      return results(await store.query({ kind: action, entities, category, limit: limitOf(context, args) }));
    }
    case "contradict":
      return results(await store.contradictions(category, limitOf(context, args)));
    case "update": {
      const change = {
        content: optionalText(args, "content"),
        trustDelta: optionalNumber(args, "trust_delta"),
        tags: tagText(args),
        category,
      };
      return { updated: accepted(await store.update(requiredInteger(args, "fact_id"), change)) };
    }
    case "remove":
      return { removed: await store.remove(requiredInteger(args, "fact_id")) };
    case "list": {
      const minTrust = optionalNumber(args, "min_trust") ?? 0;
      const facts = await store.list({ category, minTrust, limit: limitOf(context, args) });
      return { facts, count: facts.length };
    }
    default:
      return { error: `Unknown action: ${action}` };
  }
}

async function search(
  context: ToolContext,
  args: Arguments,
  category: string | undefined,
): Promise<readonly object[]> {
  const { store, settings } = context;
  const hits = await store.search({
    query: requiredText(args, "query"),
    category,
    minTrust: optionalNumber(args, "min_trust") ?? settings.minTrust,
    limit: limitOf(context, args),
    isSafe: settings.querySyntax === "safe",
  });
  if (settings.scoring === "structural") store.countRetrieval(hits);
  return hits;
}

async function runFeedback({ store, settings }: ToolContext, args: Arguments): Promise<object> {
  const isReference = settings.scoring === "reference";
  const action = requiredText(args, "action");
  const factId = requiredInteger(args, "fact_id");
  // The Python original takes every action but `helpful` for unhelpful.
  if (!isReference && action !== "helpful" && action !== "unhelpful")
    throw new ArgumentError(`Unknown action: ${action}. Use helpful or unhelpful.`);
  const rated = await store.rate(factId, action === "helpful");
  if (rated === undefined) {
    const text = `fact_id ${factId} not found`;
    throw isReference ? missing(text) : new ArgumentError(text);
  }
  const { oldTrust, newTrust, helpfulCount } = rated;
  return { fact_id: factId, old_trust: oldTrust, new_trust: newTrust, helpful_count: helpfulCount };
}

const DEFAULT_LIMIT = 10;
const MAX_RESULTS = 100;

/** The Python original accepts any number: no results for 0, and for a negative number all but the last ones. */
function limitOf({ settings }: ToolContext, args: Arguments): number {
  const limit = optionalInteger(args, "limit") ?? DEFAULT_LIMIT;
  if (settings.scoring === "reference" || limit === 0) return limit;
  return Math.min(MAX_RESULTS, Math.max(1, limit));
}

function results(found: readonly object[]): object {
  return { results: found, count: found.length };
}

function accepted<T>(outcome: Result<T, string>): T {
  if (outcome.ok) return outcome.value;
  throw new ArgumentError(outcome.error);
}

// ---- Arguments: models send numbers as text, and null for an absent value ----

export type Arguments = Readonly<Record<string, unknown>>;

/** The model gets it as `{"error": message}`. */
export class ArgumentError extends Error {}

function requiredText(args: Arguments, key: string): string {
  const value = optionalText(args, key);
  if (value === undefined) throw missing(key);
  return value;
}

export function optionalText(args: Arguments, key: string): string | undefined {
  const value = args[key] ?? undefined;
  if (value === undefined) return undefined;
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  throw new ArgumentError(`'${key}' must be a text`);
}

/** A text with commas; models also send a list. */
export function tagText(args: Arguments): string | undefined {
  const { tags } = args;
  if (Array.isArray(tags)) return tags.map(String).join(",");
  return optionalText(args, "tags");
}

export function entityList(args: Arguments): string[] {
  const { entities } = args;
  if (!Array.isArray(entities) || entities.length === 0)
    throw new ArgumentError("reason requires 'entities' list");
  if (entities.length > MAX_ENTITIES)
    throw new ArgumentError(`'entities' may name ${MAX_ENTITIES}, but names ${entities.length}`);
  return entities.map((entity) => entityName(String(entity)));
}

/** Bounds the work: every character is hashed. */
const MAX_NAME_CHARS = 200;
const MAX_ENTITIES = 20;

function entityName(name: string): string {
  if (codePointLength(name) > MAX_NAME_CHARS)
    throw new ArgumentError(`an entity's name may have ${MAX_NAME_CHARS} characters`);
  return name;
}

export function optionalNumber(args: Arguments, key: string): number | undefined {
  const value = args[key] ?? undefined;
  if (value === undefined) return undefined;
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  if (typeof number !== "number" || !Number.isFinite(number))
    throw new ArgumentError(`'${key}' must be a number, but is ${shown(value)}`);
  return number;
}

export function optionalInteger(args: Arguments, key: string): number | undefined {
  const number = optionalNumber(args, key);
  if (number === undefined) return undefined;
  if (!Number.isSafeInteger(Math.trunc(number)))
    throw new ArgumentError(`'${key}' must be a whole number, but is ${shown(args[key])}`);
  return Math.trunc(number);
}

function requiredInteger(args: Arguments, key: string): number {
  const value = optionalInteger(args, key);
  if (value === undefined) throw missing(key);
  return value;
}

function missing(key: string): ArgumentError {
  return new ArgumentError(`Missing required argument: '${key}'`);
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? String(value)).slice(0, 60);
}
