// `fact_store` and `fact_feedback`: arguments in, JSON out.
import { describeCause, HermesError, type Result } from "../../../lib/index.ts";
import {
  ArgumentError,
  type Arguments,
  entityList,
  entityName,
  missing,
  optionalInteger,
  optionalNumber,
  optionalText,
  requiredInteger,
  requiredText,
  tagText,
} from "./arguments.ts";
import type { FactRefusal } from "./content-check.ts";
import type { HolographicSettings } from "./settings.ts";
import type { FactStore } from "./store.ts";

export type ToolContext = { readonly store: FactStore; readonly settings: HolographicSettings };

/** Never rejects: whatever goes wrong is `{"error": text}`. */
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
      const tags = tagText(args);
      const given = {
        ...(category === undefined ? {} : { category }),
        ...(tags === undefined ? {} : { tags }),
      };
      const { factId } = accepted(await store.add(content, given));
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
  // To the original everything but `helpful` is unhelpful.
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
const MOST_RESULTS = 100;

/** The original takes any number: nothing for 0, and below it everything but the last ones. */
function limitOf({ settings }: ToolContext, args: Arguments): number {
  const limit = optionalInteger(args, "limit") ?? DEFAULT_LIMIT;
  if (settings.scoring === "reference" || limit === 0) return limit;
  return Math.min(MOST_RESULTS, Math.max(1, limit));
}

function results(found: readonly object[]): object {
  return { results: found, count: found.length };
}

function accepted<T>(outcome: Result<T, FactRefusal>): T {
  if (outcome.ok) return outcome.value;
  throw new ArgumentError(outcome.error.message);
}
