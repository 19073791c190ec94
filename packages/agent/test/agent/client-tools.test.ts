// Tools of the client: the turn ends with their calls, and goes on with their results, also in another process.
import { describe, expect, it } from "vitest";
import { expectPairs } from "../../../core/test/context/valid-list.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import type { Agent } from "../../src/agent/index.ts";
import { newestCalls } from "../../src/agent/tools/run-calls.ts";
import { RECORDER, writeRecorder } from "../fakes/recording-plugin.ts";
import type { Reply } from "../fakes/wires/script.ts";
import { call, lookTool, messagesOf, storedLines, turnHome } from "./turns.ts";

const WEATHER = {
  name: "weather",
  description: "The weather of a town.",
  parameters: { type: "object", properties: { town: { type: "string" } } },
};
const clientTools = [WEATHER];
const ASKS: Reply = {
  text: "I look.",
  toolCalls: [{ name: "weather", arguments: { town: "Lund" }, id: "call_w" }],
};
const MIXED: Reply = {
  toolCalls: [
    { name: "weather", arguments: { town: "Lund" }, id: "call_w" },
    { name: "look", arguments: { at: "sky" }, id: "call_l" },
  ],
};
const RAIN = [{ id: "call_w", output: "rain" }];

function openIds(agent: Agent): readonly string[] {
  return newestCalls(agent.messages)?.open.map(({ id }) => id) ?? [];
}

describe("a reply that calls a tool of the client", () => {
  it("ends the turn with the call, stored and not run", async () => {
    const { agent, wire, events } = await turnHome([ASKS]);
    const result = await agent.run("What is the weather?", { clientTools });
    expect(result).toMatchObject({
      exit: "client_tool_calls",
      final_response: "I look.",
      client_tool_calls: [{ id: "call_w", name: "weather", arguments: '{"town":"Lund"}' }],
      completed: false,
      failed: false,
      error: null,
    });
    expect(wire.requests[0]?.tools).toContain("weather");
    expect(wire.requests[0]?.tools).toContain("memory");
    expect(await storedLines(agent)).toEqual(["user: What is the weather?", "assistant: I look."]);
    expect(events.some(({ type }) => type === "tool-start")).toBe(false);
    expect(openIds(agent)).toEqual(["call_w"]);
  });

  it("goes on in another agent, from what is stored", async () => {
    const home = await turnHome([ASKS, { text: "It rains." }, { text: "Still." }]);
    await home.agent.run("What is the weather?", { clientTools });
    const before = home.wire.requests[0]?.system;
    const other = await home.another({ resume: home.agent.sessionId });
    expect(await other.continueWith(RAIN)).toMatchObject({ final_response: "It rains." });
    expect(home.wire.requests[1]?.system).toBe(before);
    await home.agent.run("And now?");
    expect(messagesOf(home, 2).slice(2)).toEqual(["tool: rain", "assistant: It rains.", "user: And now?"]);
  });

  it("runs the agent's own calls of the same reply", async () => {
    const { given, tools } = lookTool();
    const home = await turnHome([MIXED, { text: "Rain, and a sky." }], { options: { tools } });
    const { agent } = home;
    const result = await agent.run("Look.", { clientTools });
    expect(result.client_tool_calls.map(({ id }) => id)).toEqual(["call_w"]);
    expect(given).toEqual([{ at: "sky" }]);
    expect(await storedLines(agent)).toEqual(["user: Look.", "assistant: ", "tool: seen"]);
    await agent.continueWith(RAIN, { clientTools });
    expect(messagesOf(home, 1)).toEqual(["user: Look.", "assistant: null", "tool: seen", "tool: rain"]);
  });

  it("keeps secrets out of the database, and gives the client the real arguments", async () => {
    const key = `sk-proj-${"a1B2c3D4e5".repeat(5)}`;
    const { agent } = await turnHome([call("weather", { town: "Lund", key })]);
    const result = await agent.run("Look.", { clientTools });
    expect(result.client_tool_calls[0]?.arguments).toContain(key);
    const rows = await agent.store?.getMessages(agent.sessionId);
    expect(JSON.stringify(rows)).not.toContain(key);
  });

  it("leaves its text typed meanwhile for the next turn", async () => {
    const { agent } = await turnHome([ASKS]);
    const result = await agent.run("Look.", {
      clientTools,
      onEvent: ({ type }) => void (type === "text-delta" && agent.steer("hurry")),
    });
    expect(result.pending_steer).toContain("hurry");
    expect(openIds(agent)).toEqual(["call_w"]);
  });
});

describe("results", () => {
  it("that are sent twice go on from the stored ones", async () => {
    const home = await turnHome([ASKS, { status: 401 }, { text: "It rains." }]);
    await home.agent.run("Look.", { clientTools });
    expect(await home.agent.continueWith(RAIN, { messageId: "r1" })).toMatchObject({ exit: "model_error" });
    expect(await home.agent.continueWith(RAIN, { messageId: "r1" })).toMatchObject({
      final_response: "It rains.",
    });
    expect((await storedLines(home.agent)).filter((line) => line.startsWith("tool"))).toEqual(["tool: rain"]);
    expect(home.agent.messages.filter(({ meta }) => meta.platformMessageId === "r1")).toHaveLength(1);
  });

  it("of calls that nobody made are refused, and nothing is stored", async () => {
    const { agent, wire } = await turnHome([ASKS]);
    await agent.run("Look.", { clientTools });
    const before = await storedLines(agent);
    expect(await agent.continueWith([{ id: "call_x", output: "?" }])).toMatchObject({
      exit: "no_open_calls",
      failed: true,
    });
    expect(await storedLines(agent)).toEqual(before);
    expect(wire.requests).toHaveLength(1);
  });

  it("of some calls only leave a note for the others", async () => {
    const both: Reply = {
      toolCalls: [
        { name: "weather", arguments: { town: "Lund" }, id: "call_1" },
        { name: "weather", arguments: { town: "Ystad" }, id: "call_2" },
      ],
    };
    const { agent } = await turnHome([both, { text: "Half." }]);
    await agent.run("Both.", { clientTools });
    await agent.continueWith([{ id: "call_2", output: "sun", isError: true }]);
    const lines = await storedLines(agent);
    expect(lines.slice(2, 4)).toEqual([
      "tool: [Tool execution skipped — the client sent no result of weather, only those of other calls]",
      "tool: sun",
    ]);
    expectPairs(agent.messages);
  });

  it("that are none are a mistake of the caller", async () => {
    const { agent } = await turnHome([]);
    await expect(agent.continueWith([])).rejects.toMatchObject({ code: "bad-message" });
    await expect(agent.continueWith([{ id: "a" } as never])).rejects.toMatchObject({ code: "bad-message" });
  });

  it("that are too long are kept in a file, which the model reads", async () => {
    const last = (): string => String(home.agent.messages.at(-1)?.content);
    const home = await turnHome(
      ({ index }) => {
        const [, id] = /kept as result (\S+):/.exec(index === 1 ? last() : "") ?? [];
        return [ASKS, call("read_result", { id, limit: 20 })][index] ?? { text: last().slice(0, 100) };
      },
      { options: { store: null } },
    );
    await home.agent.run("Look.", { clientTools });
    const result = await home.agent.continueWith([{ id: "call_w", output: "drop ".repeat(200_000) }]);
    expect(result.final_response).toContain("characters 0 to 20 of 1,000,000");
  });
});

describe("a user's message while calls are unanswered", () => {
  it("stores a result for each that says so", async () => {
    const home = await turnHome([ASKS, { text: "As you like." }]);
    const { agent } = home;
    await agent.run("Look.", { clientTools });
    await agent.run("Never mind.");
    expect(messagesOf(home, 1).slice(2)).toEqual([
      "tool: [Tool execution skipped — the client sent no result of weather. User sent a new message]",
      "user: Never mind.",
    ]);
    expect(await storedLines(agent)).toHaveLength(5);
    expect(await agent.continueWith(RAIN)).toMatchObject({ exit: "no_open_calls" });
  });
});

describe("an interrupt", () => {
  it("while own tools of a mixed batch run answers the client's calls", async () => {
    const home = await turnHome([MIXED, { text: "Next." }], {
      options: { tools: lookTool(() => home.agent.interrupt()).tools },
    });
    const { agent } = home;
    const result = await agent.run("Look.", { clientTools });
    expect(result).toMatchObject({ exit: "interrupted_by_user", client_tool_calls: [] });
    expect((await storedLines(agent)).at(-1)).toMatch(/weather was skipped due to user interrupt/);
    expectPairs(agent.messages);
  });
});

describe("a compaction", () => {
  it("does not happen while calls are unanswered", async () => {
    const { agent } = await turnHome([ASKS, { text: "It rains." }]);
    await agent.run("Look.", { clientTools });
    expect(await agent.compress()).toMatchObject({
      kind: "unchanged",
      notices: [expect.stringContaining("client")],
    });
    expect(await agent.continueWith(RAIN)).toMatchObject({ final_response: "It rains." });
  });
});

describe("names", () => {
  it("a tool of the agent wins over the client's of the same name, with a notice", async () => {
    const { agent, events, wire } = await turnHome([call("memory", { action: "nonsense" }), { text: "So." }]);
    const mine = { ...WEATHER, name: "memory", description: "The client's own." };
    const result = await agent.run("Note it.", { clientTools: [mine, { ...mine, name: "Memory" }] });
    expect(result).toMatchObject({ exit: "text_response", client_tool_calls: [] });
    expect(wire.requests[0]?.raw).not.toContain("The client's own.");
    const told = events.flatMap((event) => (event.type === "notice" ? [event.cause] : []));
    expect(told).toEqual(expect.arrayContaining(["client-tool:memory", "client-tool:Memory"]));
  });

  it("the agent's task list and subagents are left out beside them, but for one of the same name", async () => {
    const script = [{ text: "One." }, { text: "Two." }, { text: "Three." }];
    const { agent, wire } = await turnHome(script, { options: { toolsets: null } });
    await agent.run("With tools.", { clientTools: [{ ...WEATHER, name: "todowrite" }] });
    await agent.run("With another.", { clientTools: [{ ...WEATHER, name: "todo" }] });
    await agent.run("Without.");
    const own = wire.requests.map(({ tools }) => tools.filter((name) => /todo|delegate|^memory$/.test(name)));
    expect(own).toEqual([
      ["memory", "todowrite"],
      ["memory", "todo"],
      ["delegate_task", "memory", "todo"],
    ]);
    expect(wire.requests[2]?.system).toBe(wire.requests[0]?.system);
  });

  it("a tool that no model would take is refused before anything is stored", async () => {
    const { agent } = await turnHome([]);
    const bad = { ...WEATHER, name: "what weather?" };
    await expect(agent.run("hi", { clientTools: [bad] })).rejects.toMatchObject({ code: "bad-tool" });
    expect(agent.messages).toEqual([]);
  });
});

describe("memory", () => {
  it("is asked once per turn, told once at its end, and recalls the same bytes after the results", async () => {
    const directory = tempDirectory();
    const provider = writeRecorder(directory, { prefetch: "the user lives in Lund" });
    const config = { memory: { provider: RECORDER } };
    const home = await turnHome([ASKS, { text: "It rains." }], { home: directory, config });
    await home.agent.run("What is the weather?", { clientTools });
    await home.agent.continueWith(RAIN, { clientTools });
    const [first, second] = home.wire.requests.map(({ messages }) => messages[0]?.content);
    expect(first).toContain("the user lives in Lund");
    expect(second).toBe(first);
    await home.agent.close();
    expect(provider.calls.filter(({ hook }) => hook === "syncTurn")).toHaveLength(1);
  });
});

describe("instructions", () => {
  it("become part of the stored prompt, and later ones stand behind it", async () => {
    const home = await turnHome([{ text: "1" }, { text: "2" }, { text: "3" }, { text: "4" }]);
    const { agent, wire } = home;
    await agent.run("a", { instructions: "Be brief." });
    const stored = agent.systemPrompt;
    expect(wire.systemOf(0)).toContain("<client-instructions>\nBe brief.\n</client-instructions>");
    await agent.run("b", { instructions: "Be brief." });
    expect(wire.systemOf(1)).toBe(wire.systemOf(0));
    await agent.run("c", { instructions: "Be long." });
    expect(agent.systemPrompt).toBe(stored);
    expect(wire.systemOf(2)).toMatch(/Be brief\..*have changed.*Be long\./s);
    expect(wire.systemOf(2).startsWith(wire.systemOf(0))).toBe(true);
    await agent.run("d", { instructions: "" });
    expect(wire.systemOf(3)).toMatch(/no longer apply\.$/);
  });

  it("are recognised in the prompt of a stored session", async () => {
    const home = await turnHome([{ text: "1" }, { text: "2" }]);
    await home.agent.run("a", { instructions: "Be brief.\n\nBe kind." });
    const other = await home.another({ resume: home.agent.sessionId });
    await other.run("b", { instructions: "Be brief." });
    expect(home.wire.systemOf(1)).toContain("These replace the ones above");
    expect(other.systemPrompt).toBe(home.agent.systemPrompt);
  });
});

describe("a closed agent", () => {
  it("whose session is kept does not end it, and tells the provider of no end", async () => {
    const directory = tempDirectory();
    const provider = writeRecorder(directory);
    const config = { memory: { provider: RECORDER } };
    const home = await turnHome([{ text: "Hello." }], { home: directory, config });
    await home.agent.run("hi");
    const { sessionId } = home.agent;
    const other = await home.another({ provider: false });
    await home.agent.close({ keepSession: true });
    expect(provider.calls.map(({ hook }) => hook)).not.toContain("onSessionEnd");
    expect(await other.store?.getSession(sessionId)).toMatchObject({ ended_at: null });
  });
});
