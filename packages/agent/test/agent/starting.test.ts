// How an agent starts: its session, its user's memory, and the first calls to its provider.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { loadConfig } from "@hermes-memory/core/internal/config";
import { ok } from "@hermes-memory/core/internal/lib";
import { newMessage, type OpenAiMessage } from "@hermes-memory/core/internal/message";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import type { Agent, AgentOptions } from "../../src/agent/index.ts";
import type { ChatModel } from "../../src/models/index.ts";
import { RECORDER, type Recorder, writeRecorder } from "../fakes/recording-plugin.ts";
import type { Script } from "../fakes/wires/script.ts";
import { type AgentHome, agentHome } from "./agent-home.ts";

const ECHO: Script = ({ messages }) => ({ text: `heard: ${String(messages.at(-1)?.content)}` });

async function withRecorder(
  options: Partial<AgentOptions> = {},
): Promise<AgentHome & { readonly recorder: Recorder }> {
  const home = tempDirectory();
  const recorder = writeRecorder(home);
  const made = await agentHome(ECHO, { home, config: { memory: { provider: RECORDER } }, options });
  return { ...made, recorder };
}

function texts(agent: Agent): unknown[] {
  return agent.messages.map(({ content }) => content);
}

describe("the provider is initialised", () => {
  it("with the session, the platform, the home and the profile, and nothing that is empty", async () => {
    const { agent, recorder, home } = await withRecorder();
    expect(recorder.take("initialize").map(({ args }) => args)).toEqual([
      [
        agent.sessionId,
        {
          platform: "cli",
          hermes_home: home,
          agent_context: "primary",
          agent_workspace: "hermes",
          agent_identity: "default",
          outbox: true,
          outbox_max_items: 10_000,
        },
      ],
    ]);
  });

  it("with the user of a gateway and the title of a session that goes on", async () => {
    const { agent, recorder, another } = await withRecorder({
      user: { platform: "telegram", id: "u7" },
      chat: { userName: "Ana" },
    });
    await agent.run("hello");
    await agent.setTitle("Kiln");
    recorder.take();
    await another({ resume: agent.sessionId });
    expect(recorder.take("initialize", "onSessionSwitch").map(({ args }) => args)).toMatchObject([
      [agent.sessionId, { platform: "telegram", user_id: "u7", user_name: "Ana", session_title: "Kiln" }],
    ]);
  });
});

describe("resume", () => {
  it("goes on with a session by id, beginning of an id or title", async () => {
    const { agent, another } = await agentHome(ECHO);
    await agent.run("hello");
    await agent.setTitle("Kiln");
    await agent.close();
    for (const resume of [agent.sessionId, agent.sessionId.slice(0, -2), "Kiln"]) {
      const resumed = await another({ resume });
      expect(resumed.sessionId).toBe(agent.sessionId);
      expect(texts(resumed)).toEqual(["hello", "heard: hello"]);
      expect(await resumed.store?.getSession(agent.sessionId)).toMatchObject({ ended_at: null });
      await resumed.close();
    }
  });

  it("of a session that is not there is an error that says what to do", async () => {
    const { another } = await agentHome(ECHO);
    await expect(another({ resume: "nothing like it" })).rejects.toMatchObject({
      code: "unknown-session",
      message: expect.stringContaining("nothing like it"),
      hint: expect.stringContaining("hermes sessions list"),
    });
  });

  it("is impossible without a database", async () => {
    const { another } = await agentHome(ECHO);
    await expect(another({ resume: "x", store: null })).rejects.toMatchObject({
      code: "no-session-database",
    });
  });
});

describe("continueLast", () => {
  it("goes on with the newest session of the platform that has messages", async () => {
    const { agent, another } = await agentHome(ECHO);
    await agent.run("first");
    await agent.newSession();
    await agent.run("second");
    const newest = agent.sessionId;
    await agent.newSession(); // nothing is said in it
    const elsewhere = await another({ platform: "telegram" });
    await elsewhere.run("third");
    const continued = await another({ continueLast: true });
    expect(continued.sessionId).toBe(newest);
    expect(texts(continued)).toEqual(["second", "heard: second"]);
  });
});

describe("sessionId", () => {
  it("names a new session, and goes on with it the next time, at its tip", async () => {
    const { agent, another } = await agentHome(ECHO, { options: { sessionId: "chat-42" } });
    expect(agent.sessionId).toBe("chat-42");
    for (const word of ["one", "two", "three", "four"]) await agent.run(`say ${word}`);
    const again = await another();
    expect(again.sessionId).toBe("chat-42");
    expect(again.messages).toHaveLength(8);
    await again.compress();
    expect((await another()).sessionId).toBe(again.sessionId);
    expect(again.sessionId).not.toBe("chat-42");
  });

  it("of another user's session is refused, and nothing is written to it", async () => {
    const { agent, another } = await agentHome(ECHO, {
      options: { sessionId: "chat-42", user: { platform: "cli", id: "ana" } },
    });
    await agent.run("hello");
    await expect(another({ user: { platform: "cli", id: "ben" } })).rejects.toMatchObject({
      code: "unknown-session",
    });
    expect(await agent.store?.getMessages("chat-42")).toHaveLength(2);
  });
});

describe("without", () => {
  it("memory: no memory tool, no provider, nothing of it in the prompt", async () => {
    const { agent, recorder, wire } = await withRecorder({ skipMemory: true });
    await agent.run("hello");
    expect(recorder.calls).toEqual([]);
    expect(agent.memory).toBeUndefined();
    expect(agent.toolNames).not.toContain("memory");
    expect(wire.requests[0]?.tools).not.toContain("memory");
    expect(await agent.status()).toMatchObject({ memory: { memory: null, user: null, provider: null } });
  });

  it("a database: it talks, begins anew and switches nothing", async () => {
    const { agent, home } = await agentHome(ECHO, { options: { store: null } });
    expect(await agent.run("hello")).toMatchObject({ final_response: "heard: hello", completed: true });
    expect(await agent.run("again")).toMatchObject({ completed: true });
    expect(existsSync(join(home, "state.db"))).toBe(false);
    for (const outcome of [
      await agent.resume("x"),
      await agent.branch(),
      await agent.undo(),
      await agent.setTitle("x"),
    ])
      expect(outcome).toMatchObject({ ok: false, error: { kind: "no_database" } });
    expect(await agent.newSession({ title: "Fresh" })).toMatchObject({ ok: true });
    expect(agent.messages).toEqual([]);
    expect(await agent.status()).toMatchObject({ messages: 0, turns: 0 });
  });
});

describe("config handed in", () => {
  it("counts for memory too, whatever the file says", async () => {
    const { another, home } = await agentHome(ECHO);
    const loaded = await loadConfig(home);
    if (!loaded.ok) throw new Error(loaded.error.message);
    const { memory } = loaded.value;
    const agent = await another({
      config: { ...loaded.value, memory: { ...memory, memoryCharLimit: 77, userProfileEnabled: false } },
    });
    expect((await agent.status()).memory).toMatchObject({ memory: { limit: 77 }, user: null });
  });
});

describe("messages that a program brings along", () => {
  const call = { id: "c1", type: "function", function: { name: "look", arguments: "{}" } };
  const rows: readonly OpenAiMessage[] = [
    { role: "user", content: [{ type: "text", text: "What do you see?" }], timestamp: 1_700_000_000 },
    { role: "assistant", content: null, tool_calls: [call] },
    { role: "tool", tool_call_id: "c1", name: "look", content: "a crane" },
    { role: "assistant", content: "A crane." },
  ];

  it("may be chat rows or messages of another agent, and are stored as this one's own", async () => {
    const { agent, another } = await agentHome(ECHO, { options: { history: rows } });
    expect(await agent.run("and now?")).toMatchObject({ final_response: "heard: and now?" });
    const copy = await another({ history: agent.messages });
    await copy.run("once more");
    const stored = await Promise.all([agent, copy].map((one) => one.store?.getMessages(one.sessionId)));
    const [first = [], second = []] = stored.map((list) =>
      (list ?? []).map(({ role, content, tool_calls, tool_call_id, tool_name }) => {
        return { role, content, tool_calls, tool_call_id, tool_name };
      }),
    );
    expect(first.slice(0, 4)).toMatchObject([
      { role: "user", content: rows[0]?.content },
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", content: "a crane", tool_call_id: "c1", tool_name: "look" },
      { role: "assistant", content: "A crane." },
    ]);
    expect(second.slice(0, first.length)).toEqual(first);
    expect(stored[0]?.[0]?.timestamp).toBe(1_700_000_000);
    const ids = [...agent.messages, ...copy.messages].map(({ meta }) => meta.id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it.each([
    ["history", { history: [rows[0], "no message"] }, "Entry 1 of history is not an object."],
    ["history", { history: [{ content: "x" }] }, "Entry 0 of history has no role."],
    [
      "prefillMessages",
      { prefillMessages: [rows[0], rows[3], null] },
      "Entry 2 of prefillMessages is not an object.",
    ],
  ])("are refused with their place in %s when they are none", async (_option, options, text) => {
    const { another } = await agentHome(ECHO);
    await expect(another(options as Partial<AgentOptions>)).rejects.toMatchObject({
      code: "bad-message",
      message: text,
    });
  });

  const meta = { id: "a", atSeconds: 5 };
  it.each([
    [{ role: "assistant", content: "y", meta }, "has no list of tool calls"],
    [{ role: "assistant", content: null, tool_calls: [call], meta }, "has no list of tool calls"],
    [{ role: "tool", content: "y", meta }, "names no tool call"],
    [{ role: "evil", content: "y", meta }, "has a role that messages do not have"],
    [{ role: "user", content: 5, meta }, "has a content that is neither text nor a list of parts"],
    [{ role: "user", content: [null], meta }, "has a content that is neither text nor a list of parts"],
    [
      { role: "user", content: "y", meta: { ...meta, atSeconds: Number.NaN } },
      "has the wrong value in meta.atSeconds",
    ],
    [
      { role: "user", content: "y", meta: { ...meta, storedContent: 5 } },
      "has the wrong value in meta.storedContent",
    ],
    [
      { role: "user", content: "y", meta: { ...meta, finishReason: 7 } },
      "has the wrong value in meta.finishReason",
    ],
    [
      { role: "user", content: "y", meta: { ...meta, writtenRole: "system" } },
      "has another role in meta.writtenRole",
    ],
    [
      { role: "system", content: "y", meta: { ...meta, writtenRole: "user" } },
      "has another role in meta.writtenRole",
    ],
  ])("are refused when they only look like messages: %j", async (entry, why) => {
    const { another } = await agentHome(ECHO);
    await expect(another({ history: [rows[0], entry] as never })).rejects.toMatchObject({
      code: "bad-message",
      message: `Entry 1 of history ${why}.`,
    });
  });

  it.each(["abc", { 0: rows[0] }, 7])("are refused as a whole when they are no list: %j", async (history) => {
    const { another } = await agentHome(ECHO);
    await expect(another({ history: history as never })).rejects.toMatchObject({
      code: "bad-message",
      message: "The option history is not a list of messages.",
    });
  });

  it("are stored as the model reads them", async () => {
    const given = newMessage(
      { role: "user", content: "read by the model" },
      { storedContent: "harmless", rowId: 1, originId: 2 },
    );
    const { agent, wire } = await agentHome(ECHO, { options: { history: [given] } });
    await agent.run("go");
    expect(wire.requests[0]?.raw).toContain("read by the model");
    const [row] = (await agent.store?.getMessages(agent.sessionId)) ?? [];
    expect(row?.content).toBe("read by the model");
    expect(row).not.toHaveProperty("origin_id");
  });

  it("may be in front of every request, chat rows too", async () => {
    const prefillMessages = [
      { role: "user", content: "example" },
      { role: "assistant", content: "like this" },
    ];
    const { agent, wire } = await agentHome(ECHO, { options: { prefillMessages } });
    await agent.run("hello");
    expect(wire.wireMessages(0)).toMatchObject([...prefillMessages, { role: "user", content: "hello" }]);
    expect(agent.messages).toHaveLength(2);
  });
});

it("a model object that always answers with the same message is stored once for each answer", async () => {
  const message = newMessage({ role: "assistant", content: "Yes.", toolCalls: [] }, { rowId: 99 });
  const model: ChatModel = {
    identity: { model: "m", provider: "custom", apiMode: "chat_completions", baseUrl: "" },
    stream: async () => ok({ message, finishReason: "stop", usage: undefined, model: undefined }),
  };
  const { another } = await agentHome(ECHO, { wire: { mayRunOut: true } });
  const agent = await another({ model });
  await agent.run("one");
  await agent.run("two");
  const rows = await agent.store?.getMessages(agent.sessionId);
  expect(rows?.map(({ content }) => content)).toEqual(["one", "Yes.", "two", "Yes."]);
  expect(agent.messages.map(({ meta }) => meta.rowId)).toEqual(rows?.map(({ id }) => id));
});
