// A model sees the schemas and calls the tools, wrongly too. The answer is JSON that it can read.

import type { MemoryProvider } from "../../src/providers/index.ts";
import { CORE_TOOL_NAMES } from "../../src/providers/manager/core-tools.ts";
import { about, type Suite } from "../runner.ts";
import { badCalls, hostileCalls, type ToolCall } from "./inputs.ts";
import { type ProviderHarness, settle, start } from "./support.ts";

const JSON_TYPES = ["string", "number", "integer", "boolean", "array", "object", "null"];

export function toolsContract({ it, expect }: Suite, harness: ProviderHarness): void {
  it("have names of their own that every model API takes", async (test) => {
    const { provider } = await start(test, harness);
    const names = (await provider.getToolSchemas()).map(({ name }) => name);
    expect(names).toEqual([...new Set(names)]);
    for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(names.filter((name) => CORE_TOOL_NAMES.has(name))).toEqual([]);
  });

  it("are described, with a JSON schema for their arguments", async (test) => {
    const { provider } = await start(test, harness);
    for (const schema of await provider.getToolSchemas()) {
      expect(schema).toEqual(JSON.parse(JSON.stringify(schema)));
      expect(schema.description.trim()).not.toBe("");
      expect(schema.parameters).toMatchObject({ type: "object", properties: expect.any(Object) });
      const properties = schema.parameters.properties as Record<string, { type?: unknown }>;
      for (const [key, { type }] of Object.entries(properties))
        about(key, () => expect(JSON_TYPES).toContain(type));
      const required = (schema.parameters.required ?? []) as readonly string[];
      expect(Object.keys(properties)).toEqual(expect.arrayContaining([...required]));
    }
  });

  it("stay the same from one look to the next", async (test) => {
    const { provider } = await start(test, harness);
    expect(await provider.getToolSchemas()).toEqual(await provider.getToolSchemas());
  });

  it("answer with JSON when arguments are missing or of the wrong kind", async (test) => {
    const { provider } = await start(test, harness);
    for (const schema of await provider.getToolSchemas())
      for (const call of badCalls(schema)) await expectJson(provider, call);
  });

  it("answer with JSON when arguments are huge or hostile", async (test) => {
    const { provider } = await start(test, harness);
    for (const schema of await provider.getToolSchemas())
      for (const call of hostileCalls(schema)) await expectJson(provider, call);
  });

  it("answer several calls at once", async (test) => {
    const { provider } = await start(test, harness);
    const calls = (await provider.getToolSchemas()).flatMap((schema) => hostileCalls(schema).slice(0, 3));
    await Promise.all(calls.map((call) => expectJson(provider, call)));
  });

  it("come to an end when asked for one that does not exist", async (test) => {
    const { provider } = await start(test, harness);
    const outcome = await settle(() => provider.handleToolCall?.("no_such_tool", {}, {}));
    expect(["answered", "failed"]).toContain(outcome);
  });

  it("give up when the caller has", async (test) => {
    const { provider } = await start(test, harness);
    const signal = AbortSignal.abort();
    for (const schema of await provider.getToolSchemas()) {
      const [call] = hostileCalls(schema);
      const outcome = await settle(() =>
        provider.handleToolCall?.(schema.name, call?.args ?? {}, { signal }),
      );
      expect(["answered", "failed"]).toContain(outcome);
    }
  });
}

async function expectJson(provider: MemoryProvider, { tool, args, what }: ToolCall): Promise<void> {
  let answer: unknown;
  try {
    answer = await provider.handleToolCall?.(tool, args, {});
  } catch (cause) {
    throw new Error(`${what} was not answered`, { cause });
  }
  const isObject = typeof answer === "string" && typeof JSON.parse(answer) === "object";
  if (!isObject) throw new Error(`${what} was answered with ${String(answer).slice(0, 200)}`);
  if (!String(answer).isWellFormed()) throw new Error(`${what} was answered with half of a surrogate pair`);
}
