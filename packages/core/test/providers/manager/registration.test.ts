// Registering providers and their tools: one external provider, reserved tool names, and routing of tool calls.
import { describe, expect, it } from "vitest";
import type { MemoryProvider } from "../../../src/providers/contract.ts";
import { MemoryManager } from "../../../src/providers/manager/manager.ts";
import { provider, recordingLogger, recordingProvider, thenable, toolSchema } from "../../fakes/providers.ts";
import { tempDirectory } from "../../fakes/temp-directory.ts";
import { callContext } from "../../fakes/tools.ts";

function withTools(name: string, ...tools: readonly string[]): MemoryProvider {
  return provider({
    name,
    getToolSchemas: () => tools.map(toolSchema),
    handleToolCall: (tool) => JSON.stringify({ by: name, tool }),
  });
}

describe("an empty manager", () => {
  it("gives empty values", async () => {
    const manager = new MemoryManager({ home: tempDirectory() });
    expect([manager.providers, manager.getAllToolSchemas(), [...manager.getAllToolNames()]]).toEqual([
      [],
      [],
      [],
    ]);
    expect(manager.hasTool("notes_find")).toBe(false);
    await manager.initializeAll("s1");
    await manager.onTurnStart(1, "hello");
    expect(await manager.buildSystemPrompt()).toBe("");
    expect(await manager.prefetchAll("which tea?")).toBe("");
    expect(await manager.onPreCompress([])).toBe("");
    expect(await manager.flushPending()).toBe(true);
    await manager.shutdownAll();
  });
});

describe("taking a provider", () => {
  it("refuses a second one and names both and the setting", () => {
    const log = recordingLogger();
    const manager = new MemoryManager({ log });
    const first = provider({ name: "first" });
    manager.addProvider(first);
    expect(manager.addProvider(withTools("second", "second_find"))).toBe(false);
    expect(manager.providers).toEqual([first]);
    expect(manager.hasTool("second_find")).toBe(false);
    expect(log.at("warn")).toEqual([expect.stringMatching(/'second'.*'first'.*memory\.provider/)]);
  });

  it("refuses a provider for a later contract, and takes one for this", () => {
    const log = recordingLogger();
    const manager = new MemoryManager({ log });
    expect(manager.addProvider(provider({ contract: 2 }))).toBe(false);
    expect(log.at("warn")).toEqual([expect.stringContaining("version 2 of the provider contract")]);
    expect(manager.addProvider(provider({ contract: 1 }))).toBe(true);
  });

  it.each([
    ["without a name", provider({ name: "" })],
    ["whose name is no text", { ...provider(), name: 7 }],
    ["that is nothing", null],
    ["that is nothing at all", undefined],
  ])("refuses a provider %s with one warning", (_what, bad) => {
    const log = recordingLogger();
    const manager = new MemoryManager({ log });
    expect(manager.addProvider(bad as unknown as MemoryProvider)).toBe(false);
    expect([manager.providers, log.at("warn").length]).toEqual([[], 1]);
  });
});

describe("tools", () => {
  it("are entries with the provider's schema, in its order, and its answer to a call", async () => {
    const manager = new MemoryManager();
    manager.addProvider(withTools("notes", "notes_b", "notes_a"));
    const [tool] = manager.tools();
    expect(manager.getAllToolSchemas()).toEqual(["notes_b", "notes_a"].map(toolSchema));
    expect([...manager.getAllToolNames()]).toEqual(["notes_b", "notes_a"]);
    expect(tool).toMatchObject({
      owner: { kind: "provider", name: "notes" },
      policy: { toolset: "memory", effect: "write", untrustedSource: "notes/notes_b" },
    });
    expect(await tool?.run({}, callContext())).toEqual({ text: '{"by":"notes","tool":"notes_b"}' });
  });

  it.each(["memory", "session_search", "terminal"])(
    "named like the agent's own %s are neither offered nor routed, while the others are",
    async (core) => {
      const log = recordingLogger();
      const manager = new MemoryManager({ log, home: tempDirectory() });
      manager.addProvider(withTools("notes", core, "notes_find"));
      await manager.initializeAll("s1");
      expect([...manager.getAllToolNames()]).toEqual(["notes_find"]);
      expect(manager.hasTool(core)).toBe(false);
      expect(JSON.parse(await manager.handleToolCall(core, {}))).toEqual({
        error: `No memory provider handles tool '${core}'`,
      });
      expect(log.at("warn")).toEqual([expect.stringContaining(`'${core}'`)]); // asked twice, said once
    },
  );

  it("are those a provider chose while it was initialised", async () => {
    let tools = ["early"];
    const manager = new MemoryManager({ home: tempDirectory() });
    manager.addProvider(
      provider({
        initialize: () => {
          tools = ["late"];
        },
        getToolSchemas: () => tools.map(toolSchema),
        handleToolCall: () => "{}",
      }),
    );
    expect([manager.hasTool("early"), manager.hasTool("late")]).toEqual([true, false]);
    await manager.initializeAll("s1");
    expect([manager.hasTool("early"), manager.hasTool("late")]).toEqual([false, true]);
    expect(manager.getAllToolSchemas()).toEqual([toolSchema("late")]);
  });

  it("that come asynchronously are there after initialisation, without a warning", async () => {
    const log = recordingLogger();
    const manager = new MemoryManager({ log, home: tempDirectory() });
    manager.addProvider(
      provider({
        getToolSchemas: () => thenable([toolSchema("notes_find")]),
        handleToolCall: () => "{}",
      }),
    );
    expect(manager.getAllToolSchemas()).toEqual([]);
    await manager.initializeAll("s1");
    expect(manager.hasTool("notes_find")).toBe(true);
    expect(log.at("warn")).toEqual([]);
  });
});

describe("a tool call", () => {
  it("gets its arguments and gives the provider's text back unchanged", async () => {
    const { provider: notes, argsOf } = recordingProvider("notes", { handleToolCall: ' { "a" : 1 } ' });
    const manager = new MemoryManager();
    manager.addProvider(notes);
    expect(await manager.handleToolCall("notes_find", { query: "tea" })).toBe(' { "a" : 1 } ');
    expect(argsOf("handleToolCall")).toEqual([
      ["notes_find", { query: "tea" }, { signal: expect.any(AbortSignal) }],
    ]);
  });

  it.each([undefined, null, { found: 1 }, 7])("answered with %j is an error", async (answer) => {
    const manager = new MemoryManager();
    manager.addProvider(recordingProvider("notes", { handleToolCall: answer }).provider);
    const { error } = JSON.parse(await manager.handleToolCall("notes_find", {})) as { error: string };
    expect(error).toMatch(/^Memory tool 'notes_find' failed: .*not text/);
  });
});
