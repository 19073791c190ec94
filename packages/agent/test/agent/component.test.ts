// An agent as a part of another program: the memory of one person, an identity and objects of that program, and nothing else.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ContextEngine } from "@hermes-memory/core/internal/context";
import { openMemory } from "@hermes-memory/core/internal/memory";
import type { InitializeOptions, MemoryProvider } from "@hermes-memory/core/internal/providers";
import { openSessionStore } from "@hermes-memory/core/internal/sessions";
import { jsonSchema, type ModelMessage, tool } from "ai";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { type Agent, type AgentOptions, createAgent } from "../../src/agent/index.ts";
import { gate, type Script } from "../fakes/wires/script.ts";
import { startWire, type Wire } from "../fakes/wires/wire-in-test.ts";
import { agentHome, modelSection, writeConfig } from "./agent-home.ts";

type Setting = { readonly config?: object; readonly home?: string };

async function opened(script: Script, { config = {}, home = tempDirectory() }: Setting = {}) {
  const wire = await startWire("chat", script);
  writeConfig(home, { ...config, model: modelSection("chat", wire.url) });
  const memory = await openMemory({ home });
  onTestFinished(() => memory.close());
  const ana = memory.user({ platform: "web", id: "ana" });
  const create = async (options: Partial<AgentOptions> = {}): Promise<Agent> => {
    const agent = await createAgent({ memory: ana, env: {}, ...options });
    onTestFinished(() => agent.close());
    return agent;
  };
  return { home, wire, memory, ana, create };
}

function toolsOf(wire: Wire, request: number): readonly string[] {
  const body = wire.requests[request]?.body as { tools?: { function: { name: string } }[] } | undefined;
  return (body?.tools ?? []).map(({ function: { name } }) => name).sort();
}

describe("an agent of another program", () => {
  it("has that program's identity and tools, makes one model call a turn, and reads no files of its directory", async () => {
    const { home, wire, create } = await opened([{ text: "Sunny." }]);
    writeFileSync(join(home, "SOUL.md"), "I am Ada, a gardener.");
    const directory = tempDirectory();
    writeFileSync(join(directory, "AGENTS.md"), "Deploy with make ship.");
    vi.spyOn(process, "cwd").mockReturnValue(directory);
    onTestFinished(() => void vi.restoreAllMocks());
    const weather = tool({ inputSchema: jsonSchema<object>({ type: "object" }), execute: () => "sunny" });
    const agent = await create({ identity: "You are a weather bot.", tools: { weather } });
    expect(await agent.run("How is it?")).toMatchObject({ final_response: "Sunny." });
    await agent.close();
    expect(wire.requests).toHaveLength(1);
    expect(wire.systemOf(0)).toMatch(/^You are a weather bot\.\n\n/);
    for (const text of ["Hermes", "hermes", "Ada", "make ship", home, directory])
      expect(wire.systemOf(0).includes(text), text).toBe(false);
    expect(toolsOf(wire, 0)).toEqual(["memory", "read_result", "session_search", "weather"]);
    expect(agent.platform).toBe("web");
  });

  it.each([5, undefined, null, {}, [5], { text: "hi" }])("refuses %j as a message", async (input) => {
    const { wire, create } = await opened([]);
    const agent = await create();
    await expect(agent.run(input as never)).rejects.toMatchObject({ code: "bad-message" });
    const events = (async () => {
      for await (const _ of agent.stream(input as never));
    })();
    await expect(events).rejects.toMatchObject({ code: "bad-message" });
    await expect(agent.run([])).rejects.toMatchObject({ code: "empty-message" });
    expect(wire.requests).toEqual([]);
  });

  it("works for the person whose memory it got, and leaves the memory open", async () => {
    const remember = {
      name: "memory",
      arguments: { action: "add", target: "user", content: "Plays the oboe" },
    };
    const { home, wire, memory, ana, create } = await opened(({ messages }) =>
      messages.at(-1)?.content === "remember it" ? { toolCalls: [remember] } : { text: "ok" },
    );
    mkdirSync(join(home, "memories"), { recursive: true });
    writeFileSync(join(home, "memories", "USER.md"), "The combination of the safe is 4711");
    const agent = await create();
    await agent.run("remember it");
    expect(readFileSync(join(ana.layers.directory, "USER.md"), "utf8")).toContain("Plays the oboe");
    await agent.close();
    const store = await ana.layers.sessions({ mode: "read" });
    expect(await store?.getSession(agent.sessionId)).toMatchObject({ source: "web", user_id: "ana" });
    const [again, owner, bo] = [
      await create(),
      await create({ memory: memory.owner }),
      await create({ memory: memory.user({ platform: "web", id: "bo" }) }),
    ];
    await again.run("hello");
    expect(wire.systemOf(-1)).toContain("Plays the oboe");
    expect(wire.systemOf(-1)).not.toContain("4711");
    await owner.run("hello");
    expect(wire.systemOf(-1)).toContain("4711");
    expect(owner.platform).toBe("library");
    expect(await owner.resume(agent.sessionId)).toMatchObject({ ok: false, error: { kind: "not_found" } });
    await bo.run("hello");
    expect(wire.systemOf(-1)).not.toMatch(/oboe|4711/);
  });
});

describe("chatId", () => {
  it("names the same conversation for agents and for the memory", async () => {
    const { wire, ana, create } = await opened(() => ({ text: "Noted." }));
    await ana.remember("42", "The crane is blue.", "I see.");
    const agent = await create({ chatId: "42", identity: "You are a weather bot." });
    await agent.run("And the tower is red.");
    expect(wire.systemOf(-1)).toMatch(/^You are a weather bot\./);
    expect(wire.wireMessages(-1)).toMatchObject([
      { role: "user", content: "The crane is blue." },
      { role: "assistant", content: "I see." },
      { role: "user", content: "And the tower is red." },
    ]);
    await agent.close();
    const { messages, sessionId } = await ana.context("42", { format: "openai", recall: false });
    expect(messages.map(({ content }) => content)).toEqual([
      "The crane is blue.",
      "I see.",
      "And the tower is red.",
      "Noted.",
    ]);
    expect(sessionId).toBe(agent.sessionId);
    expect(await ana.chats()).toMatchObject([{ chatId: "42", messages: 4 }]);
    const other = await create({ chatId: "43" });
    expect(other.messages).toEqual([]);
    await other.run("hello");
    expect((await ana.chats()).map(({ chatId }) => chatId).sort()).toEqual(["42", "43"]);
  });

  it("that memory.context has begun takes the history of the program", async () => {
    const { wire, ana, create } = await opened([{ text: "Noted." }]);
    await ana.context("42");
    const agent = await create({ chatId: "42", history: [{ role: "user", content: "The crane is blue." }] });
    await agent.run("hello");
    expect(JSON.stringify(wire.wireMessages(0))).toContain("The crane is blue.");
    expect(await agent.store?.getMessages(agent.sessionId)).toHaveLength(3);
  });

  it("goes on after a compaction, and is another one for another user", async () => {
    const { memory, ana, create } = await opened(() => ({ text: "Noted." }));
    const agent = await create({ chatId: "a/b c" });
    const first = agent.sessionId;
    const said = ["say one", "say two", "say three", "say four"];
    for (const text of said) await agent.run(text);
    await agent.compress();
    expect(agent.sessionId).not.toBe(first);
    const shown = (await ana.transcript("a/b c", { format: "openai" }))?.messages;
    expect(shown?.map(({ content }) => content)).toEqual(said.flatMap((text) => [text, "Noted."]));
    expect((await create({ chatId: "a/b c" })).sessionId).toBe(agent.sessionId);
    const bo = memory.user({ platform: "web", id: "bo" });
    expect((await create({ memory: bo, chatId: "a/b c" })).messages).toEqual([]);
    expect((await create({ memory: memory.owner, chatId: "a/b c" })).messages).toEqual([]);
  });
});

describe("a provider object", () => {
  function recording() {
    const seen: { initialized: InitializeOptions[]; synced: string[]; shutdowns: string[] } = {
      initialized: [],
      synced: [],
      shutdowns: [],
    };
    const provider: MemoryProvider = {
      name: "notes",
      isAvailable: () => true,
      initialize: (_session, options) => void seen.initialized.push(options),
      getToolSchemas: () => [],
      prefetch: async () => "The crane is blue.",
      syncTurn: async (user) => void seen.synced.push(user),
      shutdown: async () => void seen.shutdowns.push("notes"),
    };
    return { provider, seen };
  }

  it("is used instead of config's, knows the chat, and is shut down with the agent", async () => {
    const { wire, create } = await opened([{ text: "Blue." }], {
      config: { memory: { provider: "holographic" } },
    });
    const { provider, seen } = recording();
    const chat = {
      name: "Harbour",
      type: "group",
      threadId: "t1",
      gatewaySessionKey: "web:42",
      userName: "Ana",
      userIdAlt: "+49",
    };
    const agent = await create({ provider, chatId: "42", chat });
    await agent.run("Which colour has the crane?");
    expect(JSON.stringify(wire.wireMessages(-1))).toContain("The crane is blue.");
    expect(seen.initialized).toMatchObject([
      {
        platform: "web",
        user_id: "ana",
        chat_id: "42",
        chat_name: "Harbour",
        chat_type: "group",
        thread_id: "t1",
        gateway_session_key: "web:42",
        user_name: "Ana",
        user_id_alt: "+49",
      },
    ]);
    expect((await agent.status()).memory.provider).toBe("notes");
    await agent.close();
    expect(seen.synced).toEqual(["Which colour has the crane?"]);
    expect(seen.shutdowns).toEqual(["notes"]);
  });

  it("is none with false", async () => {
    const { create } = await opened([], { config: { memory: { provider: "holographic" } } });
    expect((await (await create({ provider: false })).status()).memory.provider).toBeNull();
    expect((await (await create()).status()).memory.provider).toBe("holographic");
  });
});

describe("a context engine object", () => {
  it("is used instead of config's, and cannot break a turn", async () => {
    const { create } = await opened([{ text: "One." }, { text: "Two." }]);
    const engine: ContextEngine = {
      name: "mine",
      lastPromptTokens: 0,
      lastCompletionTokens: 0,
      lastTotalTokens: 0,
      thresholdTokens: 1,
      contextLength: 100_000,
      compressionCount: 0,
      updateFromResponse: () => {
        throw new Error("no such moon");
      },
      shouldCompress: () => false,
      compress: async (messages) => ({
        kind: "compacted",
        messages: messages.slice(-1),
        leftOut: [],
        prunedResults: 0,
        tokensBefore: 2,
        tokensAfter: 1,
        notices: [],
      }),
      getStatus: () => {
        throw new Error("no such sun");
      },
    };
    const agent = await create({ contextEngine: engine });
    expect(await agent.run("hello")).toMatchObject({ completed: true });
    expect((await agent.status()).context.engine).toBe("mine");
    const { kind } = await agent.compress();
    expect(kind).toBe("compacted");
    expect(agent.messages.map(({ content }) => content)).toEqual(["One."]);
    expect(await agent.run("again")).toMatchObject({ completed: true });
  });
});

describe("messages of the AI SDK as history", () => {
  const history: ModelMessage[] = [
    { role: "user", content: [{ type: "text", text: "How is it in Rome?" }] },
    {
      role: "assistant",
      content: [
        { type: "text", text: "I look." },
        { type: "tool-call", toolCallId: "c1", toolName: "weather", input: { city: "Rome" } },
        { type: "tool-call", toolCallId: "c2", toolName: "weather", input: { city: "Ostia" } },
      ],
    },
    {
      role: "tool",
      content: [
        {
          type: "tool-result",
          toolCallId: "c1",
          toolName: "weather",
          output: { type: "json", value: { c: 30 } },
        },
        {
          type: "tool-result",
          toolCallId: "c2",
          toolName: "weather",
          output: { type: "text", value: "windy" },
        },
      ],
    },
    { role: "assistant", content: "30 degrees." },
  ];

  it("reach the model and the database with their calls and results", async () => {
    const { wire, create } = await opened([{ text: "Yes." }]);
    const agent = await create({ history });
    await agent.run("And windy in Ostia?");
    expect(wire.wireMessages(0)).toMatchObject([
      { role: "user" },
      {
        role: "assistant",
        tool_calls: [
          { id: "c1", function: { name: "weather", arguments: '{"city":"Rome"}' } },
          { id: "c2", function: { name: "weather", arguments: '{"city":"Ostia"}' } },
        ],
      },
      { role: "tool", tool_call_id: "c1", content: '{"c":30}' },
      { role: "tool", tool_call_id: "c2", content: "windy" },
      { role: "assistant", content: "30 degrees." },
      { role: "user" },
    ]);
    expect(await agent.store?.getMessages(agent.sessionId)).toHaveLength(7);
  });

  it("are refused as messages of a user interface, with the way out", async () => {
    const { create } = await opened([]);
    const ui = [
      { role: "user", parts: [{ type: "text", text: "hi" }] },
    ] as unknown as AgentOptions["history"];
    await expect(create({ history: ui })).rejects.toMatchObject({
      code: "bad-message",
      message: "Entry 0 of history is a message of a user interface, with 'parts' and no 'content'.",
      hint: expect.stringContaining("convertToModelMessages"),
    });
  });
});

describe("closing the memory while a turn runs", () => {
  it("interrupts the turn, stores what there is of it and closes the agent", async () => {
    const { home, memory, ana, create } = await opened([{ text: "The crane is blue.", stallAfterChars: 8 }]);
    const agent = await create({ chatId: "42" });
    const stalled = new Promise<void>((resolve) => {
      agent.onEvent(({ type }) => void (type === "text-delta" && resolve()));
    });
    const running = agent.run("colour?");
    await stalled;
    await memory.close();
    expect(await running).toMatchObject({ interrupted: true, error: null });
    await expect(agent.run("more")).rejects.toMatchObject({ code: "agent-closed" });
    await expect(createAgent({ memory: ana, env: {} })).rejects.toMatchObject({ code: "memory-closed" });

    await using again = await openMemory({ home });
    const store = await again.user({ platform: "web", id: "ana" }).layers.sessions({ mode: "read" });
    const rows = (await store?.getMessages(agent.sessionId)) ?? [];
    expect(rows.map(({ role }) => role)).toEqual(["user", "assistant"]);
    expect(await store?.getSession(agent.sessionId)).toMatchObject({ end_reason: "agent_close" });
  });
});

it("a turn whose store the program closes says that its reply is not stored", async () => {
  const pause = gate();
  const { create } = await opened([{ text: "Blue.", pauseBefore: pause }]);
  const store = await openSessionStore({ path: join(tempDirectory(), "state.db") });
  const agent = await create({ store });
  const notices: string[] = [];
  const asked = new Promise<void>((resolve) => {
    agent.onEvent((event) => {
      if (event.type === "turn-start") resolve();
      if (event.type === "notice") notices.push(event.cause);
    });
  });
  const running = agent.run("colour?");
  await asked;
  await vi.waitFor(async () => expect(await store.getMessages(agent.sessionId)).toHaveLength(1));
  await store.close();
  pause.open();
  expect(await running).toMatchObject({
    final_response: "Blue.",
    error: expect.stringContaining("are not stored"),
    hint: expect.stringContaining("Close the agent before"),
  });
  expect(notices).toContain("session-store-closed");
});

describe("contextLength", () => {
  it("is the window for engine and status, whatever config says", async () => {
    const { agent } = await agentHome([], {
      config: { model: { context_length: 100_000 } },
      options: { contextLength: 200_000 },
    });
    expect(agent.window).toEqual({ tokens: 200_000, source: "option", isProvisional: false });
    expect((await agent.status()).context).toMatchObject({
      limit_tokens: 200_000,
      threshold_tokens: 100_000,
    });
  });
});
