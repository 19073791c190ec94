// Messages on their way into the database and back.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openSessionStore } from "@hermes-memory/core/sessions";
import { jsonSchema, tool } from "ai";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import type { AgentMessage } from "../../src/agent/message.ts";
import { fromRow, toRow, withMaskedArguments } from "../../src/agent/rows.ts";
import { agentHome } from "./agent-home.ts";

const KEY = `ghp_${"a1B2c3D4".repeat(4)}`;

describe("a message that was stored and read back", () => {
  // Columns that are indexed hold no U+0000 and no half characters; content holds everything.
  const word = fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 });
  const anyText = fc.string({ unit: "binary", maxLength: 30 });
  const list = fc.array(fc.record({ type: fc.constant("thing"), text: word }), {
    minLength: 1,
    maxLength: 3,
  });
  const content = fc.oneof(
    anyText,
    word,
    fc.constant(null),
    fc.array(fc.record({ type: fc.constant("text"), text: anyText }), { minLength: 1, maxLength: 3 }),
    fc.constant([{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }]),
  );
  const timestamp = fc.double({ min: 1, max: 4e9, noNaN: true });
  const some = <T>(model: Record<string, fc.Arbitrary<T>>) => fc.record(model, { requiredKeys: [] });
  const call = fc.record({
    id: word,
    type: fc.constant("function"),
    function: fc.record({ name: word, arguments: anyText }),
  });
  const thoughts = some<unknown>({
    finish_reason: word,
    reasoning: word,
    reasoning_content: fc.oneof(word, fc.constant("")),
    reasoning_details: list,
    codex_reasoning_items: list,
    codex_message_items: list,
    tool_calls: fc.array(call, { minLength: 1, maxLength: 3 }),
  });
  const message = fc
    .oneof(
      fc.tuple(fc.constant("user"), some<unknown>({ message_id: word, observed: fc.constant(true) })),
      fc.tuple(fc.constant("assistant"), thoughts),
      fc.tuple(fc.constant("tool"), fc.record({ tool_call_id: word, tool_name: word })),
    )
    .chain(([role, extra]) => fc.record({ content, timestamp }).map((rest) => ({ role, ...rest, ...extra })));

  it("is the message it was, whatever it says, and a copy of it in a continuation too", async () => {
    await using store = await openSessionStore({ path: join(tempDirectory(), "state.db") });
    let n = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(message, { minLength: 1, maxLength: 6 }), async (messages) => {
        n += 1;
        const id = await store.createSession(`s${n}`, { source: "cli" });
        await store.appendMany(id, messages.map(toRow));
        const read = (await store.getMessages(id)).map(fromRow);
        expect(read.map(plain)).toEqual(messages);
        const next = await store.continueSession(id, {
          messages: read.map((one) => toRow(one as AgentMessage)),
        });
        const copies = await store.getMessages(next.id);
        expect(copies.map(fromRow).map(plain)).toEqual(messages);
        expect(copies.map(({ origin_id }) => origin_id)).toEqual(read.map((one) => one?._row_id));
      }),
      { numRuns: 60 },
    );
  });

  const plain = (one: AgentMessage | undefined): unknown => {
    const { _id, _row_id, ...rest } = one ?? { _id: undefined, _row_id: undefined };
    return rest;
  };

  it("keeps the time it was said, is no message when it only describes the session, and survives broken JSON", async () => {
    await using store = await openSessionStore({ path: join(tempDirectory(), "state.db") });
    await store.createSession("s", { source: "cli" });
    await store.appendMany("s", [
      { role: "session_meta", content: "x" },
      { role: "assistant", content: "y", timestamp: 12.5, reasoning_details: "[not json" },
    ]);
    const read = (await store.getMessages("s")).map(fromRow);
    expect(read[0]).toBeUndefined();
    expect(read[1]).toMatchObject({ role: "assistant", content: "y", timestamp: 12.5 });
  });
});

describe("secrets in the arguments of a call", () => {
  const stored = (args: string): string => {
    const call = { id: "a", type: "function", function: { name: "x", arguments: args } };
    const message = withMaskedArguments({ role: "assistant", tool_calls: [call] });
    return (message.tool_calls as (typeof call)[])[0]?.function.arguments ?? "";
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

describe("the time of a message", () => {
  it("is when it was said: the question before the calls, the results after them, each of its own", async () => {
    let seconds = 1_800_000_000;
    const clock = { now: () => new Date(seconds * 1000) };
    const tick = async (): Promise<string> => {
      seconds += 10;
      return "tick";
    };
    const inputSchema = jsonSchema({ type: "object", properties: {} } as never);
    const script = [
      { toolCalls: [{ name: "tick", arguments: {} }] },
      { toolCalls: [{ name: "tick", arguments: {} }] },
      { text: "Done." },
    ];
    const { agent } = await agentHome(script, {
      options: { clock, tools: { tick: tool({ inputSchema, execute: tick }) } },
    });
    await agent.run("go", { persistUserTimestamp: 1_799_999_000 });
    const rows = await agent.store?.getMessages(agent.sessionId);
    expect(rows?.map(({ timestamp }) => timestamp - 1_800_000_000)).toEqual([-1000, 0, 10, 10, 20, 20]);
    expect(agent.messages.map(({ timestamp }) => timestamp)).toEqual(rows?.map(({ timestamp }) => timestamp));
  });
});
