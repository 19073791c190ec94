// What a call used, from the SDK's figures and the vendor's own: the SDK does not know cache writes on every wire.
import type { LanguageModelV4Usage } from "@ai-sdk/provider";
import type { ApiMode } from "../chat.ts";
import { normalizeUsage, type Usage, type Wire } from "../usage.ts";

const WIRES: Readonly<Partial<Record<ApiMode, Wire>>> = {
  anthropic_messages: "anthropic",
  chat_completions: "chat",
  responses: "responses",
};

/** Undefined when the server told nothing. */
export function usageOf(usage: LanguageModelV4Usage, apiMode: ApiMode): Usage | undefined {
  const { inputTokens, outputTokens, raw } = usage;
  if (inputTokens.total === undefined && outputTokens.total === undefined && raw === undefined)
    return undefined;
  const told = fromSdk(usage);
  const wire = WIRES[apiMode];
  if (wire === undefined || raw === undefined) return told;
  const own = normalizeUsage(raw, wire);
  // A model object from outside may report in a shape of its own.
  if (own.input + own.cacheRead + own.cacheWrite + own.output === 0) return told;
  if (own.cacheWrite > 0 || told.cacheWrite === 0) return own;
  return { ...own, cacheWrite: told.cacheWrite, input: Math.max(0, own.input - told.cacheWrite) };
}

function fromSdk({ inputTokens, outputTokens }: LanguageModelV4Usage): Usage {
  const cacheRead = count(inputTokens.cacheRead);
  const cacheWrite = count(inputTokens.cacheWrite);
  const rest = count(inputTokens.total) - cacheRead - cacheWrite;
  return {
    input: inputTokens.noCache === undefined ? Math.max(0, rest) : count(inputTokens.noCache),
    cacheRead,
    cacheWrite,
    output: count(outputTokens.total),
    reasoning: count(outputTokens.reasoning),
  };
}

function count(value: number | undefined): number {
  return value !== undefined && Number.isFinite(value) && value > 0 ? Math.trunc(value) : 0;
}
