// AI SDK tools in the agent's table.

import type { Tool, ToolOutcome } from "@hermes-memory/core/internal/tools";
import { jsonSchema, tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { userTools } from "../../../src/agent/tools/user-tools.ts";
import { callContext } from "../../fakes/agent-tools.ts";
import { messages } from "../../messages.ts";

async function made(given: unknown, name = "weather"): Promise<Tool> {
  const [first] = await userTools({ [name]: given });
  if (first === undefined) throw new Error("no tool");
  return first;
}

async function run(given: unknown, args: Record<string, unknown> = {}): Promise<ToolOutcome> {
  return (await made(given)).run(args, callContext());
}

const nothing = z.object({});
const returning = (value: unknown) => tool({ inputSchema: nothing, execute: async () => value });

describe("a schema", () => {
  it("of zod becomes JSON schema", async () => {
    const weather = await made(
      tool({
        description: "Says the weather.",
        inputSchema: z.object({ city: z.string().describe("Where."), days: z.number().int().optional() }),
        execute: async () => "",
      }),
    );
    expect(weather).toMatchObject({
      name: "weather",
      description: "Says the weather.",
      schema: {
        type: "object",
        properties: { city: { type: "string", description: "Where." }, days: { type: "integer" } },
        required: ["city"],
      },
    });
    expect(weather.schema).not.toHaveProperty("$schema");
    expect(weather).toMatchObject({
      owner: { kind: "program" },
      policy: { toolset: "user", effect: "write" },
    });
  });

  it("of JSON stays as it is, and takes any arguments", async () => {
    const schema = { type: "object", properties: { city: { type: "string" } } } as const;
    const weather = tool({ inputSchema: jsonSchema(schema), execute: async (input) => input });
    expect((await made(weather)).schema).toEqual(schema);
    expect((await run(weather, { city: 5 })).text).toBe('{"city":5}');
  });

  it("checks the arguments, and gives the tool what it makes of them", async () => {
    const inputSchema = z.object({ days: z.number().default(3), city: z.string() });
    const weather = tool({ inputSchema, execute: async (input) => input });
    expect((await run(weather, { city: "Delft" })).text).toBe('{"days":3,"city":"Delft"}');
    const refused = await run(weather, { city: "s3cret-value", days: "many" });
    expect(refused.isError).toBe(true);
    expect(JSON.parse(refused.text).error).toMatch(
      /^The arguments of 'weather' do not fit: days: .*Nothing was run\.$/,
    );
    expect(refused.text).not.toContain("s3cret-value");
  });
});

describe("a tool gets", () => {
  it("the call's id, a signal, and what was said before", async () => {
    const seen: unknown[] = [];
    const spy = tool({
      inputSchema: nothing,
      execute: async (_input, { toolCallId, messages, abortSignal }) => {
        seen.push(toolCallId, messages, abortSignal);
        return "";
      },
    });
    const { signal } = new AbortController();
    const spoken = messages(
      {
        role: "user",
        content: [
          { type: "text", text: "And" },
          { type: "text", text: "now?" },
        ],
      },
      { role: "assistant", content: "", tool_calls: [{ id: "old" }] },
      { role: "tool", content: "{}", tool_call_id: "old" },
      { role: "assistant", content: "Let me look.", tool_calls: [{ id: "c7" }] },
    );
    await (await made(spy)).run({}, callContext({ callId: "c7", messages: spoken, signal }));
    expect(seen).toEqual(["c7", [{ role: "user", content: "And\nnow?" }], signal]);
  });
});

describe("what a tool returns", () => {
  it.each([
    ["plain text", "plain text"],
    [{ a: [1] }, '{"a":[1]}'],
    [undefined, "null"],
    [null, "null"],
    [5, "5"],
  ])("%j is read as %s", async (value, text) => expect(await run(returning(value))).toEqual({ text }));

  it("piece by piece is its last value", async () => {
    const streaming = tool({
      inputSchema: nothing,
      async *execute() {
        yield "half";
        yield "whole";
      },
    });
    expect((await run(streaming)).text).toBe("whole");
  });

  it.each([
    [{ type: "text", value: "for the model" }, { text: "for the model" }],
    [{ type: "json", value: { a: 1 } }, { text: '{"a":1}' }],
    [
      { type: "error-text", value: "no such city" },
      { text: "no such city", isError: true },
    ],
    [
      { type: "execution-denied", reason: "closed" },
      { text: '{"error":"closed"}', isError: true },
    ],
    [
      {
        type: "content",
        value: [
          { type: "text", text: "a map:" },
          { type: "file", mediaType: "image/png", data: "" },
        ],
      },
      { text: "a map:\n[image/png: not shown]" },
    ],
  ])("is put into other words by toModelOutput: %j", async (shaped, outcome) => {
    const shaping = {
      inputSchema: nothing,
      execute: async () => ({ long: "data" }),
      toModelOutput: () => shaped,
    };
    expect(await run(shaping)).toEqual(outcome);
  });

  it("may be an error, which the batch tells the model", async () => {
    const failing = { inputSchema: nothing, execute: () => Promise.reject(new Error("storm")) };
    await expect(run(failing)).rejects.toThrow("storm");
  });

  it("is fenced when the name says that it comes from the network", async () => {
    expect((await made(returning(""), "web_search")).policy.untrustedSource).toBe("web_search");
    expect((await made(returning(""))).policy.untrustedSource).toBeUndefined();
  });
});

describe("at creation", () => {
  it.each([
    ["without execute", { weather: tool({ inputSchema: nothing }) }, /'weather' has no execute/],
    ["without a schema", { weather: { execute: async () => "" } }, /'weather' has no inputSchema/],
    ["that is none", { weather: "sunny" }, /'weather' has no execute/],
    [
      "whose arguments are no object",
      { weather: { inputSchema: z.string(), execute: async () => "" } },
      /describes a string/,
    ],
    ["that waits for approval", { weather: { ...returning(""), needsApproval: true } }, /approval/],
    ["with the name of ours", { memory: returning("") }, /cannot be named 'memory'/],
    ["with a name that reads like ours", { "Skill-Manage": returning("") }, /reads like 'skill_manage'/],
    [
      "that would crowd out the conversation",
      { weather: { ...returning(""), description: "x".repeat(30_000) } },
      /offers a tool 'weather' whose schema has more than 30000 characters/,
    ],
    [
      "whose schema no request can carry",
      {
        weather: tool({
          inputSchema: jsonSchema(JSON.parse(`${'{"not":'.repeat(120)}{}${"}".repeat(120)}`)),
          execute: async () => "",
        }),
      },
      /'weather' whose schema is nested deeper than 100 levels/,
    ],
    ["with a name no vendor takes", { "my tool": returning("") }, /'my tool' cannot be the name/],
  ])("a tool %s is refused", async (_case, tools, message) => {
    await expect(userTools(tools)).rejects.toMatchObject({
      code: "bad-tool",
      message: expect.stringMatching(message),
    });
  });

  it("tools are read-only only where the caller says so", async () => {
    const tools = await userTools({ a: returning(""), b: returning("") }, { readOnlyTools: ["b"] });
    expect(tools.map(({ policy }) => policy.effect)).toEqual(["write", "read"]);
    await expect(userTools({ a: returning("") }, { readOnlyTools: ["c"] })).rejects.toThrow("'c'");
  });
});
