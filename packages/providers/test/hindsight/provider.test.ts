// Hindsight against its fake server: turns, sessions, recall, tools, curated entries, erasing, users.
import { describe, expect, it } from "vitest";
import { call, requestsTo, retains, settleOutbox, startFake, startProvider, storedTexts } from "./support.ts";

const OPTIONS = { session_id: "session-1" };
const ENDED = { parent_session_id: "session-1", reset: false } as const;

describe("a finished turn", () => {
  it("is appended to the document of its session, with everything that is known about it", async () => {
    const { provider, fake } = await startProvider({
      settings: { retain_tags: "work,home", retain_source: "cli", observation_scopes: "per_tag" },
      platform: "telegram",
      user_name: "Ann",
      chat_id: "7",
      chat_name: "Kiln",
      chat_type: "group",
      thread_id: "9",
      agent_identity: "coder",
      parent_session_id: "session-0",
    });
    await provider.syncTurn?.("Wie heiß ist der Ofen? 🔥", "1240 Grad.", OPTIONS);
    await settleOutbox(provider);
    const [{ path, body } = { path: "", body: undefined }] = retains(fake);
    expect(path).toBe("/v1/default/banks/hermes/memories");
    const [item] = body?.items ?? [];
    expect(body).toMatchObject({ async: true, operation_id: expect.stringMatching(/^[0-9a-f-]{36}$/) });
    const [turn] = JSON.parse(String(item?.content));
    expect(turn).toEqual([
      { role: "user", content: "User: Wie heiß ist der Ofen? 🔥", timestamp: expect.stringMatching(/Z$/) },
      { role: "assistant", content: "Assistant: 1240 Grad.", timestamp: expect.stringMatching(/Z$/) },
    ]);
    expect(item).toMatchObject({
      context: "conversation between Hermes Agent and the User",
      document_id: "session-1",
      update_mode: "append",
      tags: ["work", "home", "session:session-1", "parent:session-0"],
      observation_scopes: "per_tag",
      metadata: {
        retained_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]+\.\d{3}Z$/),
        message_count: "2",
        turn_index: "1",
        source: "cli",
        session_id: "session-1",
        platform: "telegram",
        user_name: "Ann",
        chat_id: "7",
        chat_name: "Kiln",
        chat_type: "group",
        thread_id: "9",
        agent_identity: "coder",
      },
    });
  });

  it("is sent once: the session switch and the end send only what is left", async () => {
    const { provider, fake } = await startProvider();
    for (const word of ["one", "two", "three"]) {
      await provider.syncTurn?.(word, "Noted.", OPTIONS);
      await settleOutbox(provider);
    }
    await provider.onSessionSwitch?.("session-2", { ...ENDED, reason: "compression" });
    await provider.syncTurn?.("four", "Noted.", { session_id: "session-2" });
    await provider.onSessionEnd?.([], {});
    await provider.shutdown?.({});
    expect(storedTexts(fake).filter((text) => text.startsWith("User:"))).toEqual([
      "User: one",
      "User: two",
      "User: three",
      "User: four",
    ]);
    expect(fake.document("hermes", "session-2")?.tags).toEqual(["session:session-2", "parent:session-1"]);
  });

  it("waits for others with retain_every_n_turns, and is sent with them", async () => {
    const { provider, fake } = await startProvider({ settings: { retain_every_n_turns: "3" } });
    for (const word of ["one", "two"]) await provider.syncTurn?.(word, "Noted.", OPTIONS);
    await settleOutbox(provider);
    expect(retains(fake)).toEqual([]);
    await provider.syncTurn?.("three", "Noted.", OPTIONS);
    await settleOutbox(provider);
    expect(retains(fake)).toHaveLength(1);
    expect(retains(fake)[0]?.body.items[0]).toMatchObject({
      metadata: { message_count: "6", turn_index: "3" },
    });
    await provider.syncTurn?.("four", "Noted.", OPTIONS);
    await provider.shutdown?.({});
    const said = storedTexts(fake).filter((text) => text.startsWith("User:"));
    expect(said).toEqual(["User: one", "User: two", "User: three", "User: four"]);
  });

  it("that was undone before it was sent is withdrawn; an undone turn that was never stored costs none", async () => {
    const { provider, fake } = await startProvider({ settings: { retain_every_n_turns: "3" } });
    const rewind = (undone_turns?: number) =>
      provider.onSessionSwitch?.("session-1", {
        parent_session_id: "",
        reset: false,
        rewound: true,
        undone_turns,
      });
    await provider.onTurnStart?.(1, "kept", {});
    await provider.syncTurn?.("kept", "Noted.", OPTIONS);
    await provider.onTurnStart?.(2, "undone", {});
    await provider.syncTurn?.("undone", "Noted.", OPTIONS);
    await rewind();
    await provider.onTurnStart?.(2, "undone too", {});
    await provider.syncTurn?.("undone too", "Noted.", OPTIONS);
    await provider.onTurnStart?.(3, "interrupted", {});
    await rewind(2);
    await provider.onTurnStart?.(2, "interrupted", {});
    await rewind();
    await provider.onTurnStart?.(2, "last", {});
    await provider.syncTurn?.("last", "Noted.", OPTIONS);
    await settleOutbox(provider);
    expect(retains(fake)).toEqual([]); // two turns wait, not three
    await provider.onSessionEnd?.([], {});
    expect(storedTexts(fake).filter((text) => text.startsWith("User:"))).toEqual([
      "User: kept",
      "User: last",
    ]);
  });

  it("is not stored with auto_retain off, and not by a subagent", async () => {
    const off = await startProvider({ settings: { auto_retain: "false" } });
    await off.provider.syncTurn?.("one", "Noted.", OPTIONS);
    await off.provider.onSessionEnd?.([], {});
    const subagent = await startProvider({ fake: off.fake, agent_context: "subagent" });
    await subagent.provider.syncTurn?.("one", "Noted.", OPTIONS);
    await subagent.provider.onSessionEnd?.([], {});
    expect(off.fake.requests).toEqual([]);
    expect(await call(subagent.provider, "hindsight_retain", { content: "x" })).toEqual({
      error: expect.stringContaining("stores nothing"),
    });
  });

  it.each(["0.4.22", undefined])(
    "is a document of its own on a server %s without append",
    async (version) => {
      const fake = await startFake();
      fake.version = version;
      const { provider, log } = await startProvider({ fake });
      for (const word of ["one", "two"]) {
        await provider.syncTurn?.(word, "Noted.", OPTIONS);
        await settleOutbox(provider);
      }
      const documents = fake.documents("hermes");
      expect(documents.map(({ id }) => id)).toEqual([
        expect.stringMatching(/^session-1-[0-9a-f-]{36}$/),
        expect.stringMatching(/^session-1-[0-9a-f-]{36}$/),
      ]);
      expect(storedTexts(fake)).toEqual(["User: one", "Assistant: Noted.", "User: two", "Assistant: Noted."]);
      expect(log.filter(({ message }) => message.includes("cannot append"))).toHaveLength(1);
      expect(requestsTo(fake, "GET", "/version")).toHaveLength(1);
    },
  );
});

describe("recall", () => {
  it("shows turns that the server gives back as they were stored as what was said", async () => {
    const { provider, fake } = await startProvider();
    await provider.syncTurn?.("Which tea?\n[1] green", "The green one.", OPTIONS);
    await settleOutbox(provider);
    fake.retain("hermes", { content: "[tea] is a list of one" });
    const text = (await provider.prefetch?.("which green tea?", OPTIONS)) ?? "";
    expect(text).toContain("- User: Which tea?\n[1] green\nAssistant: The green one.");
    expect(text).toContain("- [tea] is a list of one");
    expect(text).not.toContain('"role"');
    const { result } = await call(provider, "hindsight_recall", { query: "green tea" });
    expect(result).not.toContain('"role"');
  });

  it("has the preamble and one line per fact, and asks as configured", async () => {
    const { provider, fake } = await startProvider({
      settings: {
        recall_types: "world,observation",
        recall_tags: "home,work",
        recall_tags_match: "any_strict",
      },
    });
    fake.retain(
      "hermes",
      { content: "Ann likes tea", tags: ["home"] },
      { content: "Bo likes tea", tags: ["x"] },
    );
    const text = await provider.prefetch?.("who likes tea?", OPTIONS);
    expect(text).toBe(
      [
        "# Hindsight Memory (persistent cross-session context)",
        "- Use these memories for questions about the user and about earlier sessions.",
        "- Call no tool to look up what is already listed here.",
        "",
        "- Ann likes tea",
        "- Ann likes tea",
      ].join("\n"),
    );
    expect(provider.recallStatus?.()).toMatchObject({ provider_label: "Hindsight", count: 2 });
    expect(requestsTo(fake, "POST", "/recall")[0]?.body).toEqual({
      query: "who likes tea?",
      types: ["world", "observation"],
      budget: "mid",
      max_tokens: 4096,
      tags: ["home", "work"],
      tags_match: "any_strict",
      include: { entities: null },
    });
  });
});

describe("tools", () => {
  it("are three, and none in mode context; the prompt names bank, mode and budget", async () => {
    const { provider } = await startProvider();
    const names = ((await provider.getToolSchemas?.()) ?? []).map(({ name }) => name);
    expect(names).toEqual(["hindsight_retain", "hindsight_recall", "hindsight_reflect"]);
    expect(await provider.systemPromptBlock?.({})).toMatch(
      /^# Hindsight Memory\n.*hybrid.*hermes.*mid[\s\S]*hindsight_recall/,
    );
    const context = await startProvider({ settings: { memory_mode: "context" } });
    expect(await context.provider.getToolSchemas?.()).toEqual([]);
    expect(await context.provider.systemPromptBlock?.({})).not.toContain("hindsight_recall");
  });

  it("store with the tags of the call after those of the settings", async () => {
    const { provider, fake } = await startProvider({ settings: { retain_tags: "a,b" } });
    const answer = await call(provider, "hindsight_retain", {
      content: "Ann likes tea",
      context: "small talk",
      tags: ["b", "c", " "],
    });
    expect(answer).toEqual({ result: "Memory stored successfully." });
    const [item] = retains(fake)[0]?.body.items ?? [];
    expect(item).toMatchObject({
      content: "Ann likes tea",
      context: "small talk",
      tags: ["a", "b", "c"],
      metadata: { message_count: "1", session_id: "session-1" },
    });
    expect(item).not.toHaveProperty("document_id");
    expect(retains(fake)[0]?.body.async).toBe(true);
    expect(await call(provider, "hindsight_recall", { query: "tea" })).toEqual({
      result: "1. Ann likes tea",
    });
  });

  it("answer what was found, that nothing was found, and what is missing", async () => {
    const { provider, fake } = await startProvider();
    fake.retain("hermes", { content: "Ann likes tea" }, { content: "Bo likes tea too" });
    expect(await call(provider, "hindsight_recall", { query: "tea" })).toEqual({
      result: "1. Ann likes tea\n2. Bo likes tea too",
    });
    expect(await call(provider, "hindsight_recall", { query: "xylophone" })).toEqual({
      result: "No relevant memories found.",
    });
    expect(await call(provider, "hindsight_recall", { query: "?!" })).toEqual({
      result: "No relevant memories found.",
    });
    fake.reflection = "They like tea.";
    expect(await call(provider, "hindsight_reflect", { query: "tea?" })).toEqual({
      result: "They like tea.",
    });
    fake.reflection = " ";
    expect(await call(provider, "hindsight_reflect", { query: "tea?" })).toEqual({
      result: "No relevant memories found.",
    });
    expect(await call(provider, "hindsight_retain", {})).toEqual({
      error: "Missing required parameter: content",
    });
    expect(await call(provider, "hindsight_recall", { query: " " })).toEqual({
      error: "Missing required parameter: query",
    });
    expect(await call(provider, "hindsight_nothing", {})).toEqual({
      error: "Unknown tool: hindsight_nothing",
    });
  });
});

describe("the mission of a bank", () => {
  it.each([
    [
      "0.9.1",
      "PATCH",
      "/config",
      { updates: { reflect_mission: "Remember kilns", retain_mission: "Facts only" } },
    ],
    ["0.4.22", "PUT", "/hermes", { reflect_mission: "Remember kilns", retain_mission: "Facts only" }],
  ])("is set once before the first write, on %s by %s", async (version, method, ending, body) => {
    const { provider, fake } = await startProvider({
      version,
      settings: { bank_mission: "Remember kilns", bank_retain_mission: "Facts only" },
    });
    for (const word of ["one", "two"]) await call(provider, "hindsight_retain", { content: word });
    const missions = requestsTo(fake, method, ending);
    expect(missions.map((request) => request.body)).toEqual([body]);
    expect(fake.requests.indexOf(missions[0] as never)).toBeLessThan(
      fake.requests.indexOf(requestsTo(fake, "POST", "/memories")[0] as never),
    );
  });

  it("that is refused does not keep turns from being stored", async () => {
    const { provider, fake, log } = await startProvider({ settings: { bank_mission: "Remember kilns" } });
    fake.delayNext(0); // the version
    fake.failNext(1, 400, { detail: "no missions here" });
    await provider.syncTurn?.("one", "Noted.", OPTIONS);
    await settleOutbox(provider);
    expect(storedTexts(fake)).toContain("User: one");
    expect(log.some(({ level, message }) => level === "warn" && message.includes("mission"))).toBe(true);
  });
});

describe("curated entries", () => {
  it("are documents named after their text, so that the same entry is stored once", async () => {
    const { provider, fake } = await startProvider();
    for (let times = 0; times < 2; times += 1)
      expect(await provider.onMemoryWrite?.("add", "user", "Likes tea", {})).toEqual({ stored: true });
    expect(fake.documents("hermes").map(({ text }) => text)).toEqual(["Likes tea"]);
    await provider.onMemoryWrite?.("replace", "user", "Likes coffee", { old_text: "Likes tea" });
    expect(fake.documents("hermes").map(({ text }) => text)).toEqual(["Likes coffee"]);
    await provider.onMemoryWrite?.("remove", "user", "", { old_text: "Likes coffee" });
    expect(fake.documents("hermes")).toEqual([]);
    expect(await provider.onMemoryWrite?.("remove", "user", "", { old_text: "Never there" })).toEqual({
      stored: true,
    });
  });

  it("that the server has not processed yet are cancelled when they are removed", async () => {
    const { provider, fake } = await startProvider();
    fake.settleByHand = true;
    await provider.onMemoryWrite?.("add", "user", "Likes tea", {});
    await provider.onMemoryWrite?.("remove", "user", "", { old_text: "Likes tea" });
    fake.settle();
    expect(fake.documents("hermes")).toEqual([]);
  });
});

describe("erasing", () => {
  it("finds a text in turns, in entries and in facts, on every page, and counts before it erases", async () => {
    const { provider, fake } = await startProvider();
    for (let number = 0; number < 130; number += 1)
      fake.retain("hermes", { content: `Note ${number}`, document_id: `note-${number}` });
    fake.retain("hermes", { content: "The code is 73.5", document_id: "last" });
    await provider.syncTurn?.('The code is "73.5"\nreally', "Noted.", OPTIONS);
    await settleOutbox(provider);
    expect(await provider.forget?.('"73.5"\nreally', { dry_run: true })).toEqual({ erased: 1 });
    expect(await provider.forget?.("73.5", { dry_run: true })).toEqual({ erased: 2 });
    expect(fake.documents("hermes")).toHaveLength(132);
    expect(await provider.forget?.("73.5", {})).toEqual({ erased: 2 });
    expect(JSON.stringify(fake.stored())).not.toContain("73.5");
    expect(fake.documents("hermes")).toHaveLength(130);
    expect(await provider.forget?.("note 1", {})).toEqual({ erased: 0 }); // case counts
  });

  it("of a user deletes the bank, and the next write has its mission again", async () => {
    const { provider, fake } = await startProvider({ settings: { bank_mission: "Remember kilns" } });
    await call(provider, "hindsight_retain", { content: "one" });
    expect(await provider.eraseUser?.({ dry_run: true })).toEqual({ erased: 1 });
    expect(await provider.eraseUser?.({})).toEqual({ erased: 1 });
    expect(fake.documents("hermes")).toEqual([]);
    await call(provider, "hindsight_retain", { content: "two" });
    expect(fake.overrides("hermes")).toEqual({ reflect_mission: "Remember kilns" });
  });
});

describe("sessions and users", () => {
  it("have banks of their own by the template, also after a switch", async () => {
    const { provider, fake } = await startProvider({
      settings: { bank_id_template: "{platform}-{session}" },
    });
    await provider.syncTurn?.("one", "Noted.", OPTIONS);
    await provider.onSessionSwitch?.("session-2", { ...ENDED });
    await provider.syncTurn?.("two", "Noted.", { session_id: "session-2" });
    await provider.onSessionEnd?.([], {});
    expect(storedTexts(fake, "cli-session-1")).toContain("User: one");
    expect(storedTexts(fake, "cli-session-2")).toContain("User: two");
  });

  it("share a bank only with user_scope shared", async () => {
    const { fake } = await startProvider();
    const people = [
      { platform: "telegram", user_id: "42" },
      { platform: "discord", user_id: "42" },
    ];
    for (const [user_scope, banks] of [
      ["platform", 2],
      ["id", 1],
      ["shared", 1],
    ] as const) {
      const before = new Set(fake.banks());
      for (const person of people) {
        const { provider } = await startProvider({ fake, settings: { user_scope }, ...person });
        await call(provider, "hindsight_retain", { content: "mine" });
      }
      expect(fake.banks().filter((bank) => !before.has(bank))).toHaveLength(banks);
    }
    expect(fake.banks()).toContain("hermes");
    expect(fake.banks()).toContain("hermes-42");
  });
});

describe("a provider without a key or a program", () => {
  it.each([
    ["cloud", "HINDSIGHT_API_KEY"],
    ["local_embedded", "hindsight-embed"],
  ])("in mode %s has no tools, no prompt and no request", async (mode, word) => {
    const fake = await startFake();
    const { provider, env } = await startProvider({
      fake,
      settings: { mode },
      env: { HINDSIGHT_API_URL: "", HINDSIGHT_API_KEY: "", PATH: "" },
    });
    expect(env.HINDSIGHT_API_KEY).toBe("");
    expect(await provider.isAvailable()).toBe(false);
    expect(await provider.unavailableReason?.()).toContain(word);
    expect(await provider.getToolSchemas?.()).toEqual([]);
    expect(await provider.systemPromptBlock?.({})).toBe("");
    await provider.syncTurn?.("one", "Noted.", OPTIONS);
    expect(await provider.prefetch?.("one", OPTIONS)).toBe("");
    expect(await call(provider, "hindsight_recall", { query: "x" })).toEqual({
      error: expect.stringContaining(word),
    });
    await expect(provider.checkConnection?.(AbortSignal.timeout(1000))).rejects.toThrow(word);
    expect(fake.requests).toEqual([]);
  });
});

it("a server that answers with foreign JSON is a failure for the tools, and for the check", async () => {
  const { provider, fake } = await startProvider();
  for (const raw of ['{"hello":1}', "[]", "null"]) {
    fake.answerWithText(raw, "application/json");
    for (const [tool, args] of [
      ["hindsight_retain", { content: "The kiln is fired at 1240 C." }],
      ["hindsight_recall", { query: "kiln" }],
      ["hindsight_reflect", { query: "kiln" }],
    ] as const)
      expect((await call(provider, tool, args)).error).toContain("is not one that Hindsight gives");
    const check = provider.checkConnection?.(AbortSignal.timeout(5_000));
    await expect(check).rejects.toThrow("is not one that Hindsight gives");
  }
});
