// The tool table: what requests carry, and what a name means that a model has slightly wrong.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Tool, type ToolOwner, ToolTable } from "../../src/tools/index.ts";
import { fakeTool } from "../fakes/tools.ts";

const PROGRAM = { kind: "program" } as const;
const NOTES = { kind: "provider", name: "notes" } as const;
const server = (name: string): ToolOwner => ({ kind: "mcp", server: name });

const OWNERS: Readonly<Record<string, ToolOwner>> = {
  "mcp_files_read-text": server("files"),
  lcm_grep: { kind: "engine", name: "lcm" },
};
const NAMES = ["memory", "session_search", "todo", "skill_manage", "mcp_files_read-text", "lcm_grep"];
const named = (name: string): Tool => fakeTool(name, { owner: OWNERS[name] ?? { kind: "own" } });
const table = new ToolTable(NAMES.map(named));

describe("the table", () => {
  it("keeps the first of two tools with one name", () => {
    const [first, second] = [fakeTool("todo", { toolset: "one" }), fakeTool("todo", { toolset: "two" })];
    const both = new ToolTable([first, second]);
    expect(both.tools).toEqual([first]);
    expect(both.get("todo")?.policy.toolset).toBe("one");
    expect(both.leftOut).toEqual([{ tool: second, reason: "same-name", kept: first }]);
    expect(both.resolveName('"todo"')).toBe("todo");
  });

  it("leaves out a tool whose name reads like another owner's, and says so", () => {
    const kept = fakeTool("notes_find", { owner: PROGRAM });
    const tool = fakeTool("Notes-Find", { owner: NOTES });
    const alike = new ToolTable([
      kept,
      tool,
      fakeTool("mcp_a_Find", { owner: server("a") }),
      fakeTool("mcp_a_find", { owner: server("a") }), // one owner may do as it likes
    ]);
    expect(alike.names).toEqual(["mcp_a_Find", "mcp_a_find", "notes_find"]);
    expect(alike.leftOut).toEqual([{ tool, reason: "reads-alike", kept }]);
    expect(alike.resolveName("Notes-Find")).toBeUndefined();
    expect(alike.resolveName("MCP_A_FIND")).toBeUndefined(); // two are spelled like that
  });

  it("has every name it was given once, with the tool of who came first, and says what it left out", () => {
    const lists = fc.array(
      fc.array(fc.constantFrom("memory", "todo", "find", "add", "drop"), { maxLength: 6 }),
      {
        maxLength: 4,
      },
    );
    fc.assert(
      fc.property(lists, (offers) => {
        const tools = offers.flatMap((names, index) =>
          names.map((name) => fakeTool(name, { owner: { kind: "provider", name: `p${index}` } })),
        );
        const { tools: kept, names, leftOut } = new ToolTable(tools);
        expect(new Set(names)).toEqual(new Set(offers.flat()));
        for (const tool of kept) expect(tool).toBe(tools.find(({ name }) => name === tool.name));
        expect(kept.length + leftOut.length).toBe(tools.length);
        for (const { tool, kept: first } of leftOut) expect(first.name).toBe(tool.name);
      }),
    );
  });
});

describe("a name that does not exist is repaired", () => {
  it.each([
    ["memory", "memory"],
    ["Memory", "memory"],
    ["SESSION_SEARCH", "session_search"],
    ["session-search", "session_search"],
    ["session search", "session_search"],
    ["SessionSearch", "session_search"],
    ["sessionSearch", "session_search"],
    ["memory_tool", "memory"],
    ["memorytool", "memory"],
    ["MemoryTool", "memory"],
    ["memory_tool_tool", "memory"],
    ['todo" <arg', "todo"],
    ["todo<parameter>", "todo"],
    ['"todo"', "todo"],
    ["<todo>", "todo"],
    ["sesion_serch", "session_search"],
    ["memories", "memory"],
    ["mcp_files_read_text", "mcp_files_read-text"],
    ["LCMGrep", "lcm_grep"],
  ])("%s means %s", (asked, meant) => expect(table.resolveName(asked)).toBe(meant));

  it.each(["", " ", "<", '""', "terminal", "web_search", "memory_tool_tool_tool_tool"])(
    "%s means nothing",
    (asked) => expect(table.resolveName(asked)).toBeUndefined(),
  );

  it("is not searched for when it is longer than any name", () =>
    expect(table.resolveName("memory".repeat(10_000))).toBeUndefined());

  it("takes a name that exists as it is, even if another is spelled alike", () => {
    const alike = new ToolTable([fakeTool("a_b"), fakeTool("a-b")]);
    expect([alike.resolveName("a-b"), alike.resolveName("a_b")]).toEqual(["a-b", "a_b"]);
  });

  it("means nobody when two owners could be meant", () => {
    const mixed = new ToolTable([
      fakeTool("memory"),
      fakeTool("memorize", { owner: PROGRAM }),
      fakeTool("fact_store", { owner: NOTES }),
    ]);
    expect(mixed.resolveName("Memory")).toBe("memory");
    expect(mixed.resolveName("memorie")).toBeUndefined(); // close to both
    expect(mixed.resolveName("fact_stor")).toBe("fact_store");
  });

  it("means nobody when it has more words than the tool it looks like", () => {
    // Of a provider that was switched off since: its tool is not the agent's.
    for (const asked of ["memory_find", "memory_delete", "todo_add"])
      expect(table.resolveName(asked)).toBeUndefined();
  });

  it("is not taken from one MCP server to another", () => {
    const home = new ToolTable([
      fakeTool("mcp_home_delete_note", { owner: server("home") }),
      fakeTool("memory"),
    ]);
    expect(home.resolveName("MCP_home_delete-note")).toBe("mcp_home_delete_note");
    expect(home.resolveName("mcp_work_delete_note")).toBeUndefined();
    expect(home.resolveName("mcp_home_delete_notes")).toBeUndefined();
    expect(home.resolveName("mcp_memory")).toBeUndefined();
    expect(home.resolveName("home_delete_note")).toBeUndefined();
  });

  it("means no other tool when somebody offered one of that name and did not get it", () => {
    const refusing = new ToolTable([fakeTool("memory"), fakeTool("notes_find", { owner: PROGRAM })], {
      refused: ["Memory"],
    });
    for (const asked of ["Memory", '"Memory"', "<Memory>"])
      expect(refusing.resolveName(asked)).toBeUndefined();
    expect(refusing.resolveName("MEMORY")).toBe("memory");
  });

  it("finds nothing in an empty table", () =>
    expect(new ToolTable([]).resolveName("memory")).toBeUndefined());
});
