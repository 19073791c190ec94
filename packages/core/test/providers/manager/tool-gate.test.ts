// Which agents get provider tools: those that have the memory toolset, one way or another.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MemoryManager } from "../../../src/providers/manager/manager.ts";
import { isGateOpen, type ToolGate, toolsToInject } from "../../../src/providers/manager/tool-gate.ts";
import { indexTools } from "../../../src/providers/manager/tool-index.ts";
import { provider, recordingProvider, toolSchema } from "../../fakes/providers.ts";

const SETS: Readonly<Record<string, readonly string[]>> = {
  everything: ["terminal", "memory"],
  web: ["web_search"],
};

function gate(options: Partial<ToolGate>): ToolGate {
  const resolveToolset = (name: string): readonly string[] => {
    const tools = SETS[name];
    if (!tools) throw new Error(`no toolset ${name}`);
    return tools;
  };
  return { present: [], enabledToolsets: null, resolveToolset, ...options };
}

describe("the gate", () => {
  it.each<[string, Partial<ToolGate>, boolean]>([
    ["everything allowed", { enabledToolsets: null }, true],
    ["the memory toolset", { enabledToolsets: ["memory"] }, true],
    ["a set that contains it", { enabledToolsets: ["web", "everything"] }, true],
    ["the memory tool there already", { enabledToolsets: ["web"], present: ["memory"] }, true],
    ["no toolset", { enabledToolsets: [] }, false],
    ["other toolsets", { enabledToolsets: ["web"] }, false],
    ["unknown toolsets", { enabledToolsets: ["nobody's"] }, false],
    ["memory disabled", { enabledToolsets: ["memory"], disabledToolsets: ["memory"] }, false],
    ["memory disabled, everything allowed", { disabledToolsets: ["memory"] }, false],
    ["memory disabled, the tool there", { present: ["memory"], disabledToolsets: ["memory"] }, false],
    ["a set with memory disabled", { disabledToolsets: ["everything"] }, false],
    ["other sets disabled", { disabledToolsets: ["web", "nobody's"] }, true],
  ])("with %s is open: %s", (_what, options, isOpen) => {
    expect(isGateOpen(gate(options))).toBe(isOpen);
  });

  it("needs no way to look into toolsets", () => {
    const open = { present: [], enabledToolsets: ["memory"] };
    const closed = { present: [], enabledToolsets: ["everything"] };
    expect([isGateOpen(open), isGateOpen(closed)]).toEqual([true, false]);
  });
});

describe("the tools that an agent gets", () => {
  const three = [toolSchema("a"), toolSchema("b"), toolSchema("c")];

  it("are all of them or none", () => {
    expect(toolsToInject(three, gate({})).map((tool) => tool.function)).toEqual(three);
    expect(toolsToInject(three, gate({}))[0]?.type).toBe("function");
    expect(toolsToInject(three, gate({ enabledToolsets: [] }))).toEqual([]);
  });

  it("are not those it has, nor one twice, nor what is no named object", () => {
    const odd = [...three, toolSchema("c"), toolSchema(""), null, 7, {}] as typeof three;
    const added = toolsToInject(odd, gate({ present: ["b"] }));
    expect(added.map((tool) => tool.function.name)).toEqual(["a", "c"]);
  });

  it("come from the manager as they are", () => {
    const manager = new MemoryManager();
    manager.addProvider(recordingProvider().provider);
    expect(toolsToInject(manager.getAllToolSchemas(), gate({}))).toEqual([
      { type: "function", function: toolSchema("notes_find") },
    ]);
  });
});

describe("the tool index", () => {
  const NAMES = ["memory", "todo", "find", "add", "drop"];
  const CORE = new Set(["memory", "todo"]);
  const offers = fc.array(fc.array(fc.constantFrom(...NAMES), { maxLength: 6 }), { maxLength: 4 });

  it("routes every name it advertises to who offered it first, and advertises every name it routes", () => {
    fc.assert(
      fc.property(offers, (lists) => {
        const given = lists.map((names, index) => ({
          registered: { name: `p${index}`, provider: provider({ name: `p${index}` }) },
          schemas: names.map((name) => toolSchema(name)),
        }));
        const { schemas, owners, refusals } = indexTools(given, CORE);
        expect(schemas.map(({ name }) => name)).toEqual([...owners.keys()]);
        for (const [name, owner] of owners) {
          expect(CORE.has(name)).toBe(false);
          expect(owner).toBe(
            given.find((offer) => offer.schemas.some((each) => each.name === name))?.registered,
          );
        }
        expect(new Set(owners.keys())).toEqual(new Set(lists.flat().filter((name) => !CORE.has(name))));
        expect(refusals).toHaveLength(lists.flat().length - schemas.length);
      }),
    );
  });

  it("of a manager tells the same in all its answers", async () => {
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
        for (const name of NAMES) {
          const isRoutable = !(await manager.handleToolCall(name, {})).includes("No memory provider handles");
          expect([manager.hasTool(name), isRoutable]).toEqual(Array(2).fill(advertised.includes(name)));
        }
      }),
    );
  });
});
