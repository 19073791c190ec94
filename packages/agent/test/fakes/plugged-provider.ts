// A provider object of the test's own, put into a home as a plugin: the agent finds and loads it like anybody's.
import { randomUUID } from "node:crypto";
import type { MemoryProvider } from "../../../core/src/providers/contract.ts";
import { writePlugin } from "../../../core/test/fakes/plugins.ts";

/** `memory.provider` names it by the provider's own name. */
export function plugIn(home: string, provider: MemoryProvider): void {
  const key = `hermes-test-provider:${randomUUID()}`;
  Reflect.set(globalThis, key, provider);
  writePlugin(home, provider.name, {
    "plugin.yaml": `name: ${provider.name}\nversion: 1\ndescription: "Of a test"\n`,
    "index.mjs": `export function register(ctx) { ctx.registerMemoryProvider(globalThis[${JSON.stringify(key)}]); }\n`,
  });
}
