// What the provider puts into prompts.
import type { ProviderMode } from "../../kit/mode.ts";
import { hasTools, modeSentence } from "../../kit/mode.ts";
import type { FactRow } from "./rows.ts";

export function promptBlock(factCount: number, mode: ProviderMode): string {
  const state =
    factCount === 0
      ? "Active, and empty so far."
      : `Active, with ${factCount} ${factCount === 1 ? "fact" : "facts"}; names are resolved to entities and every fact has a trust score.`;
  const use = !hasTools(mode)
    ? ""
    : factCount === 0
      ? "Add facts the user would expect you to remember with fact_store(action='add', content='...'). Rate facts you have used with fact_feedback."
      : "Use fact_store to search, probe an entity, reason across several, or add. Rate facts you have used with fact_feedback.";
  return ["# Holographic Memory", state, modeSentence(mode), use].filter((line) => line !== "").join("\n");
}

/** Empty for no facts. */
export function recallText(facts: readonly FactRow[]): string {
  if (facts.length === 0) return "";
  const lines = facts.map(({ trust_score, content }) => `- [${oneDecimal(trust_score)}] ${content}`);
  return ["## Holographic Memory", ...lines].join("\n");
}

/** Python rounds an exact half to the even neighbour: 0.25 is 0.2. `toFixed` takes the larger one. */
export function oneDecimal(value: number): string {
  const tenths = value * 10;
  const below = Math.floor(tenths);
  // Multiples of a quarter are the only halves of a tenth that a double holds exactly.
  const isHalf = Number.isInteger(value * 4) && tenths - below === 0.5;
  return isHalf && below % 2 === 0 ? (below / 10).toFixed(1) : value.toFixed(1);
}
