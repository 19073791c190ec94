// From an assistant message to calls that can run.

import { type AssistantMessage, renderToolCalls } from "@hermes-memory/core/internal/message";
import { ToolTable } from "@hermes-memory/core/internal/tools";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type CallCheck, checkCalls } from "../../../src/agent/turn/judge.ts";
import { fakeTool } from "../../fakes/agent-tools.ts";
import { message } from "../../messages.ts";

const table = new ToolTable([fakeTool("memory"), fakeTool("todo"), fakeTool("session_search")]);

function asking(...calls: readonly unknown[]): AssistantMessage {
  return message({ role: "assistant", content: "", tool_calls: calls }, { id: "reply" });
}

function call(name: string, args: unknown, id = "c1"): Record<string, unknown> {
  return { id, type: "function", function: { name, arguments: args } };
}

function check(...calls: readonly unknown[]): CallCheck {
  return checkCalls(asking(...calls), table);
}

function argumentsOf(args: unknown): unknown {
  const checked = check(call("todo", args));
  return checked.kind === "ok" ? checked.calls[0]?.args : checked.kind;
}

describe("arguments", () => {
  it.each([
    ['{"a":1}', { a: 1 }],
    [' {"a":1}\n', { a: 1 }],
    ["", {}],
    ["  \n", {}],
    [undefined, {}],
    [null, {}],
    ["null", {}],
    [{ a: [1] }, { a: [1] }],
    ['"{\\"a\\":1}"', { a: 1 }],
  ])("%j are read as %j", (given, read) => expect(argumentsOf(given)).toEqual(read));

  it.each(["[1]", [[1]], "5", '"word"', "{a:1}", '{"a":1}}', "[1,]"])("%j are refused", (given) =>
    expect(argumentsOf(given)).toBe("bad_json"),
  );

  it.each(['{"a":1', '{"a":"half a wo', "{", "[1,", "nonsense"])("%j were cut off", (given) =>
    expect(argumentsOf(given)).toBe("truncated"),
  );

  it("that were cut off count before those that are wrong", () => {
    expect(check(call("todo", "{a:1}", "c1"), call("memory", '{"a', "c2"))).toEqual({
      kind: "truncated",
      name: "memory",
    });
  });

  it("that cannot be read are explained to the model and leave the history usable", () => {
    const checked = check(call("todo", '{"token": sk-secret}', "c1"), call("memory", "{}", "c2"));
    if (checked.kind !== "bad_json") throw new Error(checked.kind);
    expect(checked.results.map(({ id }) => id)).toEqual(["c1", "c2"]);
    expect(JSON.parse(checked.results[0]?.text ?? "")).toHaveProperty("error");
    expect(checked.results[1]?.text).toContain("skipped");
    expect(renderToolCalls(checked.message.toolCalls)).toMatchObject([
      { function: { name: "todo", arguments: "{}" } },
      { function: { name: "memory", arguments: "{}" } },
    ]);
    expect(JSON.stringify(checked)).not.toContain("sk-secret");
  });
});

describe("names", () => {
  it("are repaired in the call and in the message", () => {
    const checked = check(call("SessionSearch", '{"query":"x"}'));
    expect(checked).toMatchObject({
      kind: "ok",
      calls: [{ id: "c1", name: "session_search", args: { query: "x" } }],
      message: {
        toolCalls: [{ id: "c1", name: "session_search", arguments: '{"query":"x"}' }],
      },
    });
  });

  it("that nobody knows stop the whole reply", () => {
    const checked = check(call("terminal", "{}", "c1"), call("memory", "{}", "c2"));
    if (checked.kind !== "unknown_tool") throw new Error(checked.kind);
    expect(checked.results[0]).toEqual({
      id: "c1",
      name: "terminal",
      text: "Tool 'terminal' does not exist. Available tools: memory, session_search, todo",
    });
    expect(checked.results[1]).toMatchObject({ id: "c2", name: "memory" });
    expect(checked.results[1]?.text).toContain("skipped");
  });

  it("are missing where a call is no call", () => {
    expect(check({ id: "c1" })).toMatchObject({ kind: "unknown_tool", results: [{ name: "unknown" }] });
    expect(check(null, "x", 5)).toMatchObject({ kind: "ok", calls: [], message: { toolCalls: [] } });
  });
});

describe("ids", () => {
  it("are made from the call when there is none, and are the same the next time", () => {
    const [one, other] = [check(call("todo", "{}", "")), check(call("todo", "{}", ""))];
    if (one.kind !== "ok") throw new Error(one.kind);
    expect(one.calls[0]?.id).toMatch(/^call_[0-9a-f]{12}$/);
    expect(other).toEqual(one);
  });

  it("that two calls share are told apart", () => {
    const checked = check(call("todo", '{"a":1}', "same"), call("todo", '{"a":2}', "same"));
    if (checked.kind !== "ok") throw new Error(checked.kind);
    expect(new Set(checked.calls.map(({ id }) => id)).size).toBe(2);
  });

  it("of the wire are kept, with whatever else it needs", () => {
    const wire = {
      ...call("todo", "{}", "fc_1"),
      call_id: "call_9",
      response_item_id: "fc_1",
      extra_content: { a: 1 },
    };
    const checked = check(wire);
    expect(checked).toMatchObject({ calls: [{ id: "call_9" }] });
    expect("message" in checked && renderToolCalls(checked.message.toolCalls)).toMatchObject([
      { id: "call_9", call_id: "call_9", response_item_id: "fc_1", extra_content: { a: 1 } },
    ]);
  });
});

describe("whatever a model writes", () => {
  const anyCall = fc.record({
    id: fc.constantFrom("c1", "c2", "", "c3"),
    name: fc.constantFrom("memory", "todo", "Memory", "nothing_like_it"),
    args: fc.oneof(
      fc.json(),
      fc.string(),
      fc.constantFrom('{"a":1}', "", "{}"),
      fc.dictionary(fc.string(), fc.jsonValue()),
    ),
  });

  it("each call that stays has an id of its own and one result or one call for it", () => {
    fc.assert(
      fc.property(fc.array(anyCall, { maxLength: 6 }), (made) => {
        const reply = asking(...made.map(({ id, name, args }) => call(name, args, id)));
        const before = structuredClone(reply);
        const checked = checkCalls(reply, table);
        expect(reply).toEqual(before);
        if (checked.kind === "truncated") return;
        const kept = checked.message.toolCalls;
        const answered = checked.kind === "ok" ? checked.calls : checked.results;
        expect(answered.map(({ id, name }) => [id, name])).toEqual(kept.map(({ id, name }) => [id, name]));
        expect(new Set(kept.map(({ id }) => id)).size).toBe(kept.length);
        for (const { arguments: text } of kept) expect(() => JSON.parse(text)).not.toThrow();
      }),
    );
  });

  it("exact duplicates run once, and nothing else is left out", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('{"a":1}', '{"a":2}', "{}"), { maxLength: 8 }), (texts) => {
        const checked = check(...texts.map((text, place) => call("todo", text, `c${place}`)));
        if (checked.kind !== "ok") throw new Error(checked.kind);
        expect(checked.calls.map(({ args }) => args)).toEqual(
          [...new Set(texts)].map((text) => JSON.parse(text)),
        );
      }),
    );
  });
});
