// A home with the provider, used as an agent does: through its tools and its recall.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createHolographicProvider } from "../../packages/providers/src/holographic/provider.ts";

/** Keys of the section `plugins.hermes-memory-store`. Without any, the defaults apply. */
export type Settings = Readonly<Record<string, string>>;

type Answer = Readonly<Record<string, unknown>>;
export type Row = Readonly<Record<string, unknown>>;

export type FactHome = AsyncDisposable & {
  /** One call of `fact_store`. Throws for an error in the answer: a refused call is fast and would falsify the figures. */
  ask(action: string, args?: Readonly<Record<string, unknown>>): Promise<Answer>;
  rows(action: string, args?: Readonly<Record<string, unknown>>): Promise<readonly Row[]>;
  recall(query: string): Promise<string>;
};

export async function openFactHome(home: string, settings: Settings): Promise<FactHome> {
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, "config.yaml"), configText(settings));
  const provider = createHolographicProvider();
  await provider.initialize("bench", { hermes_home: home, platform: "cli", agent_context: "primary" });
  const ask = async (action: string, args = {}) => {
    const text = await provider.handleToolCall?.("fact_store", { action, ...args }, {});
    const answer = JSON.parse(text ?? '{"error":"the provider has no tools"}') as Answer;
    if (answer.error !== undefined) throw new Error(`fact_store ${action}: ${String(answer.error)}`);
    return answer;
  };
  return {
    ask,
    rows: async (action, args) => {
      const answer = await ask(action, args);
      return (answer.results ?? answer.facts) as readonly Row[];
    },
    recall: async (query) => (await provider.prefetch?.(query, { session_id: "bench" })) ?? "",
    [Symbol.asyncDispose]: async () => provider.shutdown?.({}),
  };
}

function configText(settings: Settings): string {
  const lines = Object.entries(settings).map(([key, value]) => `    ${key}: ${value}\n`);
  return lines.length === 0 ? "" : `plugins:\n  hermes-memory-store:\n${lines.join("")}`;
}
