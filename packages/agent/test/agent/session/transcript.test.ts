// Messages as they are kept: without secrets, each with its time.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { jsonSchema, tool } from "ai";
import { describe, expect, it } from "vitest";
import { withMaskedArguments } from "../../../src/agent/session/transcript.ts";
import { message } from "../../messages.ts";
import { agentHome } from "../agent-home.ts";

const KEY = `ghp_${"a1B2c3D4".repeat(4)}`;

describe("secrets in the arguments of a call", () => {
  const stored = (args: string): string => {
    const call = { id: "a", type: "function", function: { name: "x", arguments: args } };
    const { toolCalls } = withMaskedArguments(message({ role: "assistant", tool_calls: [call] }));
    return toolCalls[0]?.arguments ?? "";
  };

  it.each([
    ["as a value", { token: KEY }],
    ["at the beginning of a line", { content: `first\n${KEY}\tlast` }],
    ["deep inside", { a: [{ b: { c: `x ${KEY}` } }] }],
    ["as the name of a field", { [KEY]: 1 }],
    ["given away by the name of their field", { env: { API_KEY: "a1B2c3D4a1B2c3D4" } }],
  ])("are masked %s, and the rest is the JSON it was", (_, args) => {
    const text = stored(JSON.stringify(args));
    expect(text).not.toContain("a1B2c3D4");
    expect(text).toContain("***");
    expect(Object.keys(JSON.parse(text) as object)).toHaveLength(1);
  });

  it("leave nothing of arguments that are no JSON", () => {
    expect(stored(`{"a": "${KEY}`)).toBe("{}");
    expect(stored(`{"a": "x\\n${KEY}`)).toBe("{}");
  });

  it("change nothing where there are none, not even the spelling", () => {
    for (const text of ['{"z": 1,  "a":"x\\n\\u00e9"}', "{ not json", ""]) expect(stored(text)).toBe(text);
  });

  it("reach the tool, and neither database, log, events nor the next request", async () => {
    const got: unknown[] = [];
    const inputSchema = jsonSchema({ type: "object", properties: { line: { type: "string" } } } as never);
    const execute = async (args: unknown): Promise<string> => {
      got.push(args);
      return "done";
    };
    const line = `export TOKEN\n${KEY}`;
    const use = { name: "use", arguments: { line } };
    const { agent, home, wire, events } = await agentHome(
      [
        { toolCalls: [use] },
        { toolCalls: [{ name: "no_such_tool_at_all", arguments: { line } }] },
        { text: "Done." },
        { text: "Still done." },
      ],
      { options: { tools: { use: tool({ inputSchema, execute }) } } },
    );
    expect(await agent.run("use it")).toMatchObject({ final_response: "Done." });
    await agent.run("and again");
    await agent.close();
    expect(got).toEqual([{ line }]);
    expect(JSON.stringify(events)).not.toContain("a1B2c3D4");
    expect(wire.requests.map(({ raw }) => raw).join("")).not.toContain("a1B2c3D4");
    for (const file of readdirSync(home, { recursive: true, withFileTypes: true }))
      if (file.isFile())
        expect(readFileSync(join(file.parentPath, file.name), "latin1"), file.name).not.toContain("a1B2c3D4");
  });
});
