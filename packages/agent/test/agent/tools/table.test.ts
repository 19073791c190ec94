// The tool table: what requests carry, and what a name means that a model has slightly wrong.
import { describe, expect, it } from "vitest";
import { ToolTable } from "../../../src/agent/tools/index.ts";
import { fakeTool } from "../../fakes/agent-tools.ts";

const NAMES = ["memory", "session_search", "todo", "skill_manage", "mcp_files_read-text", "lcm_grep"];
const table = new ToolTable(NAMES.map((name) => fakeTool(name)));

describe("the table", () => {
  it("keeps the first of two tools with one name", () => {
    const [first, second] = [fakeTool("todo", { toolset: "one" }), fakeTool("todo", { toolset: "two" })];
    const both = new ToolTable([first, second]);
    expect(both.tools).toEqual([first]);
    expect(both.get("todo")?.toolset).toBe("one");
  });

  it("gives the same bytes for the same tools, however they were put together", () => {
    const other = new ToolTable(NAMES.toReversed().map((name) => fakeTool(name)));
    expect(JSON.stringify(other.definitions())).toBe(JSON.stringify(table.definitions()));
    expect(table.definitions().map(({ name }) => name)).toEqual([...NAMES].sort());
  });

  it("tells a model nothing but name, description and parameters", () => {
    const [definition] = new ToolTable([fakeTool("todo", { untrustedSource: "x" })]).definitions();
    expect(Object.keys(definition ?? {})).toEqual(["name", "description", "parameters"]);
  });

  it("leaves out a tool whose name reads like another owner's, and says so", () => {
    const alike = new ToolTable([
      fakeTool("notes_find", { toolset: "user" }),
      fakeTool("Notes-Find", { toolset: "memory" }),
      fakeTool("mcp_a_Find", { toolset: "mcp-a" }),
      fakeTool("mcp_a_find", { toolset: "mcp-a" }), // one owner may do as it likes
    ]);
    expect(alike.names).toEqual(["mcp_a_Find", "mcp_a_find", "notes_find"]);
    expect(alike.leftOut).toEqual([
      {
        name: "Notes-Find",
        owner: "the memory provider",
        kept: { name: "notes_find", owner: "the program" },
      },
    ]);
    expect(alike.resolveName("Notes-Find")).toBeUndefined();
    expect(alike.resolveName("MCP_A_FIND")).toBeUndefined(); // two are spelled like that
  });

  it("keeps the order in which it got the tools", () => {
    expect(table.tools.map(({ schema }) => schema.name)).toEqual(NAMES);
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

  it("prefers the closest of several", () => {
    const close = new ToolTable([fakeTool("lcm_expand"), fakeTool("lcm_expand_query")]);
    expect(close.resolveName("lcm_expnd")).toBe("lcm_expand");
    expect(close.resolveName("lcm_expand_qery")).toBe("lcm_expand_query");
  });

  it("means nobody when two owners could be meant", () => {
    const mixed = new ToolTable([
      fakeTool("memory", { toolset: "memory" }),
      fakeTool("memorize", { toolset: "user" }),
      fakeTool("fact_store", { toolset: "memory" }),
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
      fakeTool("mcp_home_delete_note", { toolset: "mcp-home" }),
      fakeTool("memory"),
    ]);
    expect(home.resolveName("MCP_home_delete-note")).toBe("mcp_home_delete_note");
    expect(home.resolveName("mcp_work_delete_note")).toBeUndefined();
    expect(home.resolveName("mcp_home_delete_notes")).toBeUndefined();
    expect(home.resolveName("mcp_memory")).toBeUndefined();
    expect(home.resolveName("home_delete_note")).toBeUndefined();
  });

  it("means no other tool when somebody offered one of that name and did not get it", () => {
    const refusing = new ToolTable([fakeTool("memory"), fakeTool("notes_find", { toolset: "user" })], {
      refused: ["Memory"],
    });
    for (const asked of ["Memory", '"Memory"', "<Memory>"])
      expect(refusing.resolveName(asked)).toBeUndefined();
    expect(refusing.resolveName("MEMORY")).toBe("memory");
  });

  it("finds nothing in an empty table", () =>
    expect(new ToolTable([]).resolveName("memory")).toBeUndefined());
});
