// The models a server lists, asked with the key that belongs to it and no other.
import { isLoopback, type ModelSelection, parseBaseUrl } from "@hermes-memory/agent/models";
import type { ModelSources } from "./resolution.ts";
import { resolveModel } from "./resolution.ts";
import { serverModels } from "./server-models.ts";

export type AskedServer = {
  readonly provider: string;
  readonly baseUrl: string;
  readonly isHere: boolean;
  /** Undefined when it cannot be had. */
  ask(): Promise<readonly string[] | undefined>;
};

/** Undefined for one that has no list of the kind OpenAI-compatible servers have. Nothing is asked yet. */
export function serverToAsk(sources: ModelSources, selection: ModelSelection): AskedServer | undefined {
  // Which model is of no interest; without a name there would be no server either.
  const resolved = resolveModel(sources, { ...selection, model: selection.model || "any" });
  if (!resolved.ok) return undefined;
  const { provider, baseUrl, apiMode } = resolved.value.identity;
  const base = parseBaseUrl(baseUrl);
  if (base === undefined || (apiMode !== "chat_completions" && apiMode !== "responses")) return undefined;
  const apiKey = resolved.value.hasKey ? resolved.value.chosen.apiKey : "";
  return { provider, baseUrl, isHere: isLoopback(base), ask: () => serverModels(baseUrl, apiKey) };
}
