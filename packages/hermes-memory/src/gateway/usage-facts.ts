// What a model's usage tells about a request, for spans and `/metrics`.
import type { Usage } from "@hermes-memory/agent/internal/models";
import type { RequestFacts } from "./types.ts";

export function usageFacts(usage: Usage | undefined): RequestFacts {
  if (usage === undefined) return {};
  const { input, output, cacheRead, cacheWrite } = usage;
  return {
    inputTokens: input,
    outputTokens: output,
    cacheReadTokens: cacheRead,
    cacheWriteTokens: cacheWrite,
  };
}
