// Every tool of ours, whichever layer it comes from, as an entry: what it tells a model, a client and a person, and what it does
// with arguments that make no sense. A new tool is among them as soon as its layer's list has it.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadMemoryConfig } from "@hermes-memory/core/internal/config";
import { engineTools, LosslessEngine } from "@hermes-memory/core/internal/context";
import { curatedTools, memoryHistoryEntry } from "@hermes-memory/core/internal/curated";
import { isRecord } from "@hermes-memory/core/internal/lib";
import { activateProvider } from "@hermes-memory/core/internal/providers";
import { openSessionStore, readResultEntry, sessionSearchEntry } from "@hermes-memory/core/internal/sessions";
import { SkillStore, skillTools } from "@hermes-memory/core/internal/skills";
import { callFromOutside, OWN_TOOLSETS, TOOL_NAME, type Tool } from "@hermes-memory/core/internal/tools";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { delegateEntry } from "../../agent/src/agent/delegation/delegate-task.ts";
import { TodoStore, todoEntry } from "../../agent/src/agent/tools/todo.ts";
import { modelSection, writeConfig } from "../../agent/test/agent/agent-home.ts";
import { MemoryHome } from "../../core/test/fakes/memory-home.ts";
import { tempDirectory } from "../../core/test/fakes/temp-directory.ts";
import { runHere } from "./cli/run.ts";
import { connect } from "./mcp/connect.ts";

const NAMES = [
  ...Object.values(OWN_TOOLSETS).flat(),
  "memory_history",
  ...["lcm_grep", "lcm_describe", "lcm_expand", "lcm_status"],
  ...["fact_store", "fact_feedback"],
];

let tools: readonly Tool[] = [];
const cleanup = new AsyncDisposableStack();
beforeAll(async () => {
  const home = mkdtempSync(join(tmpdir(), "hermes-test-"));
  cleanup.defer(() => rmSync(home, { recursive: true, force: true }));
  tools = await everyTool(home);
});
afterAll(() => cleanup.disposeAsync());

/** On stores of one home. The provider is the bundled one that needs nothing. */
async function everyTool(home: string): Promise<readonly Tool[]> {
  writeConfig(home, { memory: { provider: "holographic" } });
  const memory = await new MemoryHome(home).open();
  const store = await openSessionStore({ path: join(home, "state.db") });
  cleanup.defer(() => store.close());
  await store.createSession("s1", { source: "cli" });
  await store.appendMessage("s1", { role: "user", content: "the crane is blue" });
  const skills = new SkillStore({ home });
  const engine = new LosslessEngine({
    store,
    sessionId: "s1",
    contextLength: 20_000,
    summarizer: { complete: async () => "" },
  });
  const config = await loadMemoryConfig(home);
  if (!config.ok) throw new Error(config.error.message);
  const active = await activateProvider({ home, config: config.value, sessionId: "s1" });
  if (active.kind !== "active") throw new Error(`the provider is ${active.kind}`);
  cleanup.defer(() => active.manager.shutdownAll());
  const delegation = { maxConcurrentChildren: 3, maxSpawnDepth: 1, childTimeoutSeconds: 0 };
  return [
    ...curatedTools((work) => work({ store: memory, context: { home } })),
    memoryHistoryEntry((work) => work(memory)),
    sessionSearchEntry({ summarize: false }, (work) => work({ store, context: { home } })),
    readResultEntry({
      directory: join(home, "tool-results"),
      store: () => store,
      limits: () => ({ chars: 10_000, tokens: 5_000, tokenFactor: 1 }),
      fits: (text, { chars }) => text.length <= chars,
    }),
    ...skillTools((work) => work({ store: skills, context: { home } })),
    todoEntry(new TodoStore()),
    delegateEntry({
      config: { delegation } as never,
      session: { usage: { addCost: () => {} } } as never,
      manager: undefined,
      spawn: () => Promise.reject(new Error("no child here")),
      depth: 0,
    }),
    ...(await engineTools({ engine, source: "built-in" })).tools,
    ...active.manager.tools(),
  ];
}

function named(name: string): Tool {
  const tool = tools.find((each) => each.name === name);
  if (tool === undefined) throw new Error(`no ${name}`);
  return tool;
}

/** Arguments under the names the tool knows and one it does not, with values of every kind, some of which fit. */
function argumentsOf({ schema }: Tool): fc.Arbitrary<Record<string, unknown>> {
  const properties = isRecord(schema.properties) ? schema.properties : {};
  const words = ["", "all", "add", "s1", "crane", "\u0000\u001b[2J\nx", "7", "-1", "2025-01-01", "../../etc"];
  const known = Object.values(properties).flatMap((each) =>
    isRecord(each) && Array.isArray(each.enum) ? (each.enum as unknown[]) : [],
  );
  const value = fc.oneof(
    fc.constantFrom(...words, ...known),
    fc.string({ unit: "binary" }),
    fc.integer(),
    fc.constantFrom(null, true, -1, 0, 1e308, 2 ** 53),
    fc.constantFrom<unknown>(
      { toString: "" },
      [{ toString: 1 }],
      { length: 3 },
      { toJSON: 0, valueOf: 0 },
      [],
    ),
    fc.jsonValue(),
  );
  return fc.dictionary(fc.constantFrom(...Object.keys(properties), "junk"), value, { maxKeys: 6 });
}

describe("every tool of ours", () => {
  it("is in this suite, and no name is there twice", () => {
    expect(tools.map(({ name }) => name).sort()).toEqual([...NAMES].sort());
  });

  it("of the agent has its name reserved, in the set it is switched on with", () => {
    for (const { name, owner, policy } of tools)
      if (owner.kind === "own" && name !== "memory_history")
        expect(OWN_TOOLSETS[policy.toolset as keyof typeof OWN_TOOLSETS], name).toContain(name);
  });

  describe.each(NAMES)("%s", (name) => {
    it("has a name, a description and the schema of an object", () => {
      const { description, schema } = named(name);
      expect(name).toMatch(TOOL_NAME);
      expect(description.trim()).not.toBe("");
      expect(schema.type).toBe("object");
      const properties = schema.properties as Readonly<Record<string, unknown>>;
      expect(isRecord(properties)).toBe(true);
      for (const property of Object.values(properties)) expect(property).toHaveProperty("type");
      for (const required of (schema.required ?? []) as readonly string[])
        expect(properties).toHaveProperty(required);
      expect(JSON.parse(JSON.stringify(schema))).toEqual(schema);
    });

    it("shows a person one line, whatever its arguments are", () => {
      const tool = named(name);
      fc.assert(
        fc.property(argumentsOf(tool), (args) => {
          expect(tool.preview(args)).not.toMatch(/[\x00-\x1f\x7f-\x9f]/);
        }),
      );
    });

    it("answers whatever its arguments are, and tells of a failure as JSON with an error", async () => {
      const tool = named(name);
      await fc.assert(
        fc.asyncProperty(argumentsOf(tool), async (args) => {
          const { text, isError = false } = await tool.run(args, callFromOutside());
          expect(typeof text).toBe("string");
          if (isError) expect(JSON.parse(text)).toHaveProperty("error", expect.any(String));
        }),
        { numRuns: 40 },
      );
    });
  });
});

describe("the same entry", () => {
  it("runs alike for the agent, the MCP server and the command line", async () => {
    const home = tempDirectory();
    writeConfig(home, {
      memory: { provider: "holographic" },
      model: modelSection("chat", "http://127.0.0.1:9"),
    });
    const broken = { action: "add", target: "nowhere", content: "x" };
    const client = await connect(home);
    const [part] = (await client.callTool({ name: "memory", arguments: broken })).content as {
      text: string;
    }[];
    const outcome = await named("memory").run(broken, callFromOutside());
    expect({ text: part?.text, isError: true }).toEqual(outcome);

    const unknown = { action: "get", fact_id: 77 };
    const { stdout, code } = await runHere(
      ["memory", "tool", "fact_store", JSON.stringify(unknown), "--json"],
      {
        home,
      },
    );
    const fact = await named("fact_store").run(unknown, callFromOutside());
    expect(JSON.parse(stdout)).toEqual(JSON.parse(fact.text));
    expect(code).toBe(fact.isError === true ? 1 : 0);
  });
});
