// Which tools an agent gets.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mcpToolset, selectTools } from "../../../src/agent/tools/toolsets.ts";
import { fakeTool } from "../../fakes/agent-tools.ts";

const SETS: Readonly<Record<string, string>> = {
  memory: "memory",
  notes_find: "memory",
  session_search: "session_search",
  todo: "todo",
  skill_view: "skills",
  skill_manage: "skills",
  delegate_task: "delegation",
  lcm_grep: "context_engine",
  mcp_files_read: mcpToolset("files"),
  mcp_web_get: mcpToolset("web"),
  weather: "user",
};
const TOOLS = Object.entries(SETS).map(([name, toolset]) => fakeTool(name, { toolset }));
const ALL = Object.keys(SETS);
const CORE = ALL.slice(0, 7);

function chosen(enabled: readonly string[] | null, disabled: readonly string[] = []): string[] {
  return selectTools(TOOLS, { enabled, disabled }).map(({ name }) => name);
}

describe("toolsets", () => {
  it.each([
    ["null is everything", null, ALL],
    ["an empty list is nothing", [], []],
    ["all is everything", ["all"], ALL],
    ["* is everything", ["*"], ALL],
    ["memory brings the provider's tools", ["memory"], ["memory", "notes_find"]],
    ["skills are three tools", ["skills"], ["skill_view", "skill_manage"]],
    ["hermes-cli is what belongs to the agent", ["hermes-cli"], CORE],
    ["each MCP server is a set", ["mcp-files"], ["mcp_files_read"]],
    ["the engine's tools are a set", ["context_engine"], ["lcm_grep"]],
    ["sets nobody knows bring nothing", ["nonsense", "toString", "__proto__"], []],
    ["several are joined in the order of the tools", ["todo", "memory"], ["memory", "notes_find", "todo"]],
  ])("%s", (_name, enabled, names) => expect(chosen(enabled)).toEqual(names));

  it("are taken away last, also out of a composite", () => {
    const withoutMemory = (names: readonly string[]): string[] =>
      names.filter((name) => name !== "memory" && name !== "notes_find");
    expect(chosen(null, ["memory"])).toEqual(withoutMemory(ALL));
    expect(chosen(["all"], ["memory"])).toEqual(withoutMemory(ALL));
    expect(chosen(["hermes-cli"], ["memory"])).toEqual(withoutMemory(CORE));
    expect(chosen(["memory"], ["memory"])).toEqual([]);
    expect(chosen(null, ["all"])).toEqual([]);
    expect(chosen(["memory", "todo", "mcp-web"], ["hermes-cli"])).toEqual(["mcp_web_get"]);
  });

  it("never bring a tool that one of the disabled sets holds, nor lose another", () => {
    const names = fc.subarray([
      "memory",
      "todo",
      "skills",
      "hermes-cli",
      "all",
      "*",
      "mcp-files",
      "user",
      "none",
      "context_engine",
    ]);
    fc.assert(
      fc.property(fc.option(names), names, (enabled, disabled) => {
        const off = new Set(disabled.flatMap((set) => chosen([set])));
        const on =
          enabled === null ? ALL : ALL.filter((name) => enabled.some((set) => chosen([set]).includes(name)));
        expect(chosen(enabled, disabled)).toEqual(on.filter((name) => !off.has(name)));
      }),
    );
  });
});
