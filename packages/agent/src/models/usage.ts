// What a model call used, in buckets that do not overlap, whatever shape the vendor reports it in.

export type Wire = "anthropic" | "chat" | "responses";

/** Tokens. `input` is what was neither read from a cache nor written to one; `reasoning` is a part of `output`. */
export type Usage = {
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly output: number;
  readonly reasoning: number;
};

export const NO_USAGE: Usage = Object.freeze({
  input: 0,
  cacheRead: 0,
  cacheWrite: 0,
  output: 0,
  reasoning: 0,
});

/** From a vendor's usage object. What is missing or no number counts as 0. Without `wire` the shape is told from its keys. */
export function normalizeUsage(raw: unknown, wire: Wire = wireOf(raw)): Usage {
  const usage = record(raw);
  switch (wire) {
    case "anthropic":
      return {
        input: count(usage.input_tokens),
        cacheRead: count(usage.cache_read_input_tokens),
        cacheWrite: count(usage.cache_creation_input_tokens),
        output: count(usage.output_tokens),
        reasoning: count(record(usage.output_tokens_details).thinking_tokens),
      };
    case "responses": {
      const details = record(usage.input_tokens_details);
      const cached = {
        read: count(details.cached_tokens),
        write: first(details.cache_write_tokens, details.cache_creation_tokens),
      };
      const reasoning = count(record(usage.output_tokens_details).reasoning_tokens);
      return disjoint(count(usage.input_tokens), cached, count(usage.output_tokens), reasoning);
    }
    case "chat": {
      const details = record(usage.prompt_tokens_details);
      const cached = {
        read: first(details.cached_tokens, usage.cache_read_input_tokens),
        write: first(details.cache_write_tokens, usage.cache_creation_input_tokens),
      };
      const reasoning = count(record(usage.completion_tokens_details).reasoning_tokens);
      return disjoint(count(usage.prompt_tokens), cached, count(usage.completion_tokens), reasoning);
    }
    default:
      return wire satisfies never;
  }
}

export function promptTokens({ input, cacheRead, cacheWrite }: Usage): number {
  return input + cacheRead + cacheWrite;
}

export function totalTokens(usage: Usage): number {
  return promptTokens(usage) + usage.output;
}

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    input: a.input + b.input,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    output: a.output + b.output,
    reasoning: a.reasoning + b.reasoning,
  };
}

function wireOf(raw: unknown): Wire {
  const usage = record(raw);
  if ("prompt_tokens" in usage || "completion_tokens" in usage) return "chat";
  return "input_tokens_details" in usage || "total_tokens" in usage ? "responses" : "anthropic";
}

/** Wires that count cached tokens as part of the prompt. A vendor that reports more of them than prompt gets 0, never less. */
function disjoint(
  prompt: number,
  cached: { readonly read: number; readonly write: number },
  output: number,
  reasoning: number,
): Usage {
  const input = Math.max(0, prompt - cached.read - cached.write);
  return { input, cacheRead: cached.read, cacheWrite: cached.write, output, reasoning };
}

function first(...values: readonly unknown[]): number {
  return values.map(count).find((value) => value > 0) ?? 0;
}

function count(value: unknown): number {
  const number = typeof value === "string" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) && number > 0 ? Math.trunc(number) : 0;
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
