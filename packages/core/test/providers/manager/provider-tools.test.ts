// The tools that a manager offers: entries, names, schemas and routes agree.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MemoryManager } from "../../../src/providers/manager/manager.ts";
import { ProviderTools } from "../../../src/providers/manager/provider-tools.ts";
import { definitionOf } from "../../../src/tools/index.ts";
import {
  guardedProvider,
  provider,
  recordingLogger,
  recordingProvider,
  toolSchema,
} from "../../fakes/providers.ts";
import { callContext } from "../../fakes/tools.ts";

const NAMES = ["memory", "todo", "find", "add", "drop"];
const CORE = new Set(["memory", "todo"]);
const offers = fc.array(fc.array(fc.constantFrom(...NAMES), { maxLength: 6 }), { maxLength: 4 });

describe("the tools of a manager", () => {
  it("are entries with the provider's schema, and its answer to a call", async () => {
    const manager = new MemoryManager();
    manager.addProvider(recordingProvider("notes", { handleToolCall: '{"error":"no such note"}' }).provider);
    const [tool] = manager.tools();
    expect(tool && definitionOf(tool)).toEqual(toolSchema("notes_find"));
    expect(tool?.owner).toEqual({ kind: "provider", name: "notes" });
    expect(tool?.policy).toEqual({
      toolset: "memory",
      effect: "write",
      untrustedSource: "notes/notes_find",
    });
    expect(await tool?.run({}, callContext())).toEqual({ text: '{"error":"no such note"}', isError: true });
  });

  it("tell the same in all its answers", async () => {
    await fc.assert(
      fc.asyncProperty(offers, async ([first = [], second = []]) => {
        const manager = new MemoryManager({ coreToolNames: CORE });
        for (const [name, tools] of [
          ["notes", first],
          ["builtin", second],
        ] as const)
          manager.addProvider(
            provider({
              name,
              getToolSchemas: () => tools.map(toolSchema),
              handleToolCall: (tool) => `${name} ${tool}`,
            }),
          );
        const advertised = manager.getAllToolSchemas().map(({ name }) => name);
        expect([...manager.getAllToolNames()]).toEqual(advertised);
        expect(manager.tools().map(({ name }) => name)).toEqual(advertised);
        expect(new Set(advertised)).toEqual(new Set([...first, ...second].filter((name) => !CORE.has(name))));
        for (const name of NAMES) {
          const by = first.includes(name) ? "notes" : "builtin";
          if (advertised.includes(name)) expect(await manager.handleToolCall(name, {})).toBe(`${by} ${name}`);
          const isRoutable = !(await manager.handleToolCall(name, {})).includes("No memory provider handles");
          expect([manager.hasTool(name), isRoutable]).toEqual(Array(2).fill(advertised.includes(name)));
        }
      }),
    );
  });
});

describe("the tools that a provider offers", () => {
  it("belong to it; refused names belong to no tool, and the same warning is logged once", async () => {
    const log = recordingLogger();
    const run = async () => ({ text: "{}", isError: false });
    const tools = new ProviderTools({ log, coreToolNames: CORE, deadlineMs: 1_000, run });
    const notes = guardedProvider(
      provider({
        getToolSchemas: () => ["find", "memory"].map(toolSchema),
        handleToolCall: () => "{}",
      }),
    );
    tools.add(notes);
    await tools.refresh(notes, { leftMs: 1_000 });
    expect([tools.ownerOf("find"), tools.ownerOf("memory")]).toEqual([notes, undefined]);
    expect([...tools.refusedNames]).toEqual(["memory"]);
    expect(log.at("warn")).toEqual([expect.stringContaining("'memory'")]);
  });
});
