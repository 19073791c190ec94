import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { FormPart } from "../fakes/servers/fake-server.ts";
import { callTool, type HonchoHome, honchoHome, until, WORKSPACE } from "./honcho-home.ts";

const S1 = { session_id: "s1" };
const KILN = "how hot is the kiln in the yard?";
const LONG = "0123456789 ".repeat(20);

function texts({ server }: HonchoHome, session = "kiln"): readonly string[] {
  return server.messagesOf(WORKSPACE, session).map(({ peer_id, content }) => `${peer_id}: ${content}`);
}

function calls({ server }: HonchoHome): readonly string[] {
  return server.requests.map(
    ({ method, path }) => `${method} ${path.replace(/^\/v3\/workspaces\/office/, "W")}`,
  );
}

describe("a session", () => {
  it("starts when the agent's prompt is built: peers with flags, flags read back, context, base and one question", async () => {
    const at = await honchoHome();
    const provider = await at.start();
    expect(calls(at)).toEqual([]); // a command that only writes makes no session
    provider.systemPromptBlock?.({});
    await until(() => calls(at).some((call) => call.endsWith("/chat")) && calls(at).length >= 9);
    expect(calls(at).slice(0, 4).sort()).toEqual([
      "GET W/sessions/kiln/context",
      "GET W/sessions/kiln/peers/ann/config",
      "GET W/sessions/kiln/peers/bot/config",
      "POST W/sessions/kiln/peers",
    ]);
    expect(at.server.flagsOf(WORKSPACE, "kiln", "ann")).toEqual({ observe_me: true, observe_others: false });
    expect(at.server.flagsOf(WORKSPACE, "kiln", "bot")).toEqual({ observe_me: false, observe_others: true });
    const asked = at.server.requests.find(({ path }) => path.endsWith("/chat"));
    expect(asked).toMatchObject({
      path: `/v3/workspaces/${WORKSPACE}/peers/bot/chat`,
      body: { target: "ann", session_id: "kiln", reasoning_level: "low", stream: false },
    });
  });

  it("obeys the flags that the server has, and asks the user's peer when the agent observes nobody", async () => {
    const at = await honchoHome({ observation: { ai: { observeOthers: false } } });
    at.server.addConclusion(WORKSPACE, { content: "likes tea", observer_id: "ann", observed_id: "ann" });
    const provider = await at.start();
    expect(await provider.prefetch?.("does she like tea?", S1)).toContain("likes tea");
    expect(calls(at)).toContain("POST W/peers/ann/chat");
  });

  it("that could not start is started by the next call", async () => {
    const at = await honchoHome();
    at.server.fail(500);
    const provider = await at.start();
    const refused = await callTool(provider, "honcho_profile");
    expect(refused.error).toMatch(/^Honcho session could not be initialized\. /);
    at.server.recover();
    expect(await callTool(provider, "honcho_profile")).toMatchObject({
      result: "No profile facts available yet.",
    });
  });

  it("is inactive for cron jobs and only read by subagents", async () => {
    const at = await honchoHome();
    at.server.addConclusion(WORKSPACE, { content: "likes tea", observer_id: "bot", observed_id: "ann" });
    const before = at.server.stored();
    const cron = await at.start({ platform: "cron" });
    expect(cron.systemPromptBlock?.({})).toBe("");
    expect(cron.getToolSchemas?.()).toEqual([]);
    expect(await cron.prefetch?.("does she like tea?", S1)).toBe("");
    expect(await callTool(cron, "honcho_search", { query: "tea" })).toEqual({
      error: "Honcho is not active (cron context).",
    });
    expect(at.server.requests).toEqual([]);
    const child = await at.start({ agent_context: "subagent" });
    await child.syncTurn?.("I like tea", "Noted.", S1);
    expect(await child.prefetch?.("does she like tea?", S1)).toContain("likes tea");
    expect((await callTool(child, "honcho_conclude", { conclusion: "x" })).error).toContain("stores nothing");
    expect((await callTool(child, "honcho_profile", { card: ["x"] })).error).toContain("stores nothing");
    expect(at.server.stored()).toEqual(before);
  });
});

describe("turns", () => {
  it("arrive in order, in one post, without fences and without empty messages", async () => {
    const at = await honchoHome();
    const provider = await at.start();
    await provider.syncTurn?.("How hot?<memory-context>old</memory-context>", "1240.", S1);
    await provider.syncTurn?.("And the glaze?", " ", S1);
    await provider.onSessionEnd?.([], {});
    expect(texts(at)).toEqual(["ann: How hot?", "bot: 1240.", "ann: And the glaze?"]);
    expect(calls(at).filter((call) => call.endsWith("/messages"))).toHaveLength(1);
  });

  it("of more than 100 messages go out in several posts, and long ones in parts", async () => {
    const at = await honchoHome({ messageMaxChars: 60, writeFrequency: "session" });
    const provider = await at.start();
    for (let number = 0; number < 40; number += 1) await provider.syncTurn?.(`${number}`, LONG, S1);
    await provider.onSessionEnd?.([], {});
    const posts = at.server.requests.filter(({ path }) => path.endsWith("/messages"));
    const sizes = posts.map(({ body }) => (body as { messages: unknown[] }).messages.length);
    expect(sizes.length).toBeGreaterThan(1);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(100);
    expect(texts(at).filter((text) => text.startsWith("ann"))).toHaveLength(40);
  });

  it("are written when writeFrequency says so", async () => {
    const everyThird = await honchoHome({ writeFrequency: 3 });
    const counting = await everyThird.start();
    for (const number of [1, 2]) await counting.syncTurn?.(`turn ${number}`, "yes", S1);
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(texts(everyThird)).toEqual([]);
    await counting.syncTurn?.("turn 3", "yes", S1);
    await until(() => texts(everyThird).length === 6);
    expect(texts(everyThird).filter((text) => text.startsWith("ann"))).toEqual([
      "ann: turn 1",
      "ann: turn 2",
      "ann: turn 3",
    ]);

    const atOnce = await honchoHome({ writeFrequency: "turn" });
    await (await atOnce.start()).syncTurn?.("now", "yes", S1);
    expect(texts(atOnce)).toEqual(["ann: now", "bot: yes"]);

    const never = await honchoHome({ saveMessages: false });
    const silent = await never.start();
    await silent.syncTurn?.("secret", "yes", S1);
    await silent.onSessionEnd?.([], {});
    expect(texts(never)).toEqual([]);
  });
});

describe("the name of a session", () => {
  it("changes with the session where each has its own, and old turns stay in the old one", async () => {
    const at = await honchoHome({ sessionStrategy: "per-session" });
    const provider = await at.start();
    await provider.syncTurn?.("first", "yes", S1);
    await provider.onSessionSwitch?.("s2", { parent_session_id: "s1", reset: true });
    await provider.syncTurn?.("second", "yes", { session_id: "s2" });
    await provider.onSessionEnd?.([], {});
    expect(texts(at, "s1")).toEqual(["ann: first", "bot: yes"]);
    expect(texts(at, "s2")).toEqual(["ann: second", "bot: yes"]);
  });

  it("is also that of recall after a compression", async () => {
    const at = await honchoHome({ sessionStrategy: "per-session" });
    at.server.chatAnswer = "fires pots";
    const provider = await at.start();
    provider.onTurnStart?.(1, KILN, {});
    await provider.prefetch?.(KILN, S1);
    await provider.onSessionSwitch?.("s2", { parent_session_id: "s1", reset: false, reason: "compression" });
    const before = calls(at).length;
    provider.onTurnStart?.(2, KILN, {});
    await provider.prefetch?.(KILN, { session_id: "s2" });
    const later = calls(at)
      .slice(before)
      .filter((call) => call.includes("/sessions/"));
    expect(later.some((call) => call.includes("/sessions/s2/context"))).toBe(true);
    expect(later.filter((call) => call.includes("/sessions/s1"))).toEqual([]);
  });

  it("of the chat is kept after a switch", async () => {
    const at = await honchoHome({ sessionStrategy: "per-session" });
    const provider = await at.start({ session_title: "The kiln" });
    await provider.onSessionSwitch?.("s2", { parent_session_id: "s1", reset: false, reason: "compression" });
    await provider.syncTurn?.("second", "yes", { session_id: "s2" });
    await provider.onSessionEnd?.([], {});
    expect(texts(at, "The-kiln")).toHaveLength(2);
  });
});

describe("files from before Honcho", () => {
  async function homeWithFiles(block: Record<string, unknown> = {}): Promise<HonchoHome> {
    const at = await honchoHome(block);
    mkdirSync(join(at.home, "memories"));
    writeFileSync(join(at.home, "memories", "MEMORY.md"), "The kiln is in the yard.");
    writeFileSync(join(at.home, "memories", "USER.md"), "  \n");
    writeFileSync(join(at.home, "memories", "SOUL.md"), "You are calm.");
    return at;
  }

  async function begin(at: HonchoHome, options: Parameters<HonchoHome["start"]>[0] = {}): Promise<void> {
    const provider = await at.start(options);
    await callTool(provider, "honcho_context");
    await provider.onSessionEnd?.([], {});
    await provider.shutdown?.({});
  }

  it("are uploaded once into an empty session, and into no other", async () => {
    const at = await homeWithFiles();
    await begin(at);
    await begin(at);
    await begin(at, { session_title: "another" });
    expect(texts(at, "another")).toEqual([]);
    const messages = at.server.messagesOf(WORKSPACE, "kiln");
    expect(
      messages.map(({ peer_id, metadata }) => [peer_id, metadata.original_file, metadata.target_peer]),
    ).toEqual([
      ["ann", "MEMORY.md", "user"],
      ["bot", "SOUL.md", "ai"],
    ]);
    expect(messages[0]?.content).toMatch(
      /^<prior_memory_file>\n<context>[^<]+<\/context>\n\nThe kiln is in the yard\./,
    );
    const upload = at.server.requests.find(({ path }) => path.endsWith("/upload"));
    const { multipart: parts } = (upload?.body ?? {}) as { multipart: FormPart[] };
    expect(parts.map(({ name, filename, contentType }) => [name, filename, contentType])).toEqual([
      ["file", "consolidated_memory.md", "text/plain"],
      ["peer_id", undefined, undefined],
      ["metadata", undefined, undefined],
    ]);
  });

  it("are not uploaded where each session is new, where messages are not saved, or into a used session", async () => {
    for (const block of [{ sessionStrategy: "per-session" }, { saveMessages: false }]) {
      const at = await homeWithFiles(block);
      await begin(at);
      expect(calls(at).filter((call) => call.endsWith("/upload"))).toEqual([]);
    }
    const used = await homeWithFiles();
    used.server.addMessage(WORKSPACE, "kiln", { peer_id: "ann", content: "hello" });
    await begin(used);
    expect(texts(used)).toEqual(["ann: hello"]);
  });

  it("of the owner do not reach a user of a gateway", async () => {
    const at = await homeWithFiles();
    await begin(at, { platform: "telegram", user_id: "42" });
    const uploaded = at.server
      .sessionsOf(WORKSPACE)
      .flatMap((id) => texts(at, id))
      .join("\n");
    expect(uploaded).not.toContain("yard");
    expect(uploaded).toContain("You are calm.");
  });
});

describe("two users", () => {
  it("share neither peers nor sessions nor recall, and cannot ask about each other", async () => {
    const at = await honchoHome();
    const ana = await at.start({
      platform: "telegram",
      user_id: "42",
      gateway_session_key: "telegram:group:7",
    });
    const bo = await at.start({
      platform: "telegram",
      user_id: "43",
      gateway_session_key: "telegram:group:7",
    });
    await ana.syncTurn?.("My code is 1187", "Noted.", S1);
    await ana.onMemoryWrite?.("add", "user", "Ana's code is 1187", {});
    await bo.syncTurn?.("Hello", "Hi.", S1);
    for (const each of [ana, bo]) await each.onSessionEnd?.([], {});
    expect(at.server.sessionsOf(WORKSPACE)).toHaveLength(2);
    expect(at.server.peersOf(WORKSPACE)).toHaveLength(4);
    expect(await ana.prefetch?.("what is the code?", S1)).toContain("1187");
    expect(await bo.prefetch?.("what is the code?", S1)).not.toContain("1187");
    const anas = at.server.peersOf(WORKSPACE).find((peer) => peer.startsWith("telegram-42"));
    expect(anas).toBeDefined();
    for (const [tool, args] of [
      ["honcho_search", { query: "code" }],
      ["honcho_reasoning", { query: "code" }],
      ["honcho_profile", {}],
      ["honcho_context", {}],
      ["honcho_conclude", { conclusion: "x" }],
    ] as const)
      expect(await callTool(bo, tool, { ...args, peer: anas })).toEqual({
        error: "Only 'user' and 'ai' can be asked about in this conversation.",
      });
    const [conclusion] = at.server
      .peersOf(WORKSPACE)
      .flatMap((one) => at.server.conclusionsOf(WORKSPACE, one, anas ?? ""));
    expect(await callTool(bo, "honcho_conclude", { delete_id: conclusion?.id })).toEqual({
      error: `Failed to delete conclusion ${conclusion?.id}.`,
    });
    expect(await callTool(ana, "honcho_conclude", { delete_id: conclusion?.id })).toEqual({
      result: `Conclusion ${conclusion?.id} deleted.`,
    });
  });

  it("with the ids of the Python edition have plain peers and the chat's own session", async () => {
    const at = await honchoHome({ user_scope: "id" });
    const key = "agent:main:telegram:dm:42";
    const provider = await at.start({ platform: "telegram", user_id: "42", gateway_session_key: key });
    await provider.syncTurn?.("Hello", "Hi.", S1);
    await provider.onSessionEnd?.([], {});
    expect(texts(at, "agent-main-telegram-dm-42")).toEqual(["42: Hello", "bot: Hi."]);
  });
});

describe("erasing", () => {
  it("of a text reaches conclusions and cards, and says which sessions keep it", async () => {
    const at = await honchoHome();
    const provider = await at.start();
    await provider.syncTurn?.("My pin is 7719", "Noted.", S1);
    await provider.onMemoryWrite?.("add", "user", "Her pin is 7719", {});
    await provider.onMemoryWrite?.("add", "user", "Likes tea", {});
    await provider.onSessionEnd?.([], {});
    at.server.setCard(WORKSPACE, "bot", "ann", ["Pin: 7719", "Name: Ann"]);
    expect(await provider.forget?.("7719", { dry_run: true })).toMatchObject({ erased: 2 });
    const report = await provider.forget?.("7719", {});
    expect(report).toMatchObject({ erased: 2 });
    expect(report?.remaining).toContain("one Honcho session hold it: kiln.");
    expect(at.server.cardOf(WORKSPACE, "bot", "ann")).toEqual(["Name: Ann"]);
    expect(at.server.conclusionsOf(WORKSPACE, "bot", "ann").map(({ content }) => content)).toEqual([
      "Likes tea",
    ]);
    expect(await provider.forget?.("7719", {})).toMatchObject({ erased: 0 });
  });

  it("of a user deletes sessions, conclusions and cards, but no session with others", async () => {
    const at = await honchoHome();
    const provider = await at.start();
    await provider.syncTurn?.("Hello", "Hi.", S1);
    await provider.onMemoryWrite?.("add", "user", "Likes tea", {});
    await provider.onSessionEnd?.([], {});
    at.server.addMessage(WORKSPACE, "round-table", { peer_id: "ann", content: "all of us" });
    at.server.addMessage(WORKSPACE, "round-table", { peer_id: "guest", content: "yes" });
    const counted = await provider.eraseUser?.({ dry_run: true });
    expect(counted?.erased).toBeGreaterThanOrEqual(3); // two messages, one conclusion
    const report = await provider.eraseUser?.({});
    expect(report?.erased).toBe(counted?.erased);
    expect(report?.remaining).toContain("round-table");
    expect(report?.remaining).toContain("Honcho cannot delete peers: 'ann'");
    expect(at.server.sessionsOf(WORKSPACE)).toEqual(["round-table"]);
    await provider.syncTurn?.("A new start", "Yes.", S1);
    await provider.onSessionEnd?.([], {});
    expect(texts(at)).toEqual(["ann: A new start", "bot: Yes."]);
  });

  it("of a user with the ids of the Python edition keeps what the shared agent knows about itself", async () => {
    const at = await honchoHome({ user_scope: "id" });
    at.server.addConclusion(WORKSPACE, { content: "is calm", observer_id: "bot", observed_id: "bot" });
    const provider = await at.start({ platform: "telegram", user_id: "42" });
    await provider.onMemoryWrite?.("add", "user", "Likes tea", {});
    expect((await provider.eraseUser?.({}))?.erased).toBeGreaterThanOrEqual(1);
    expect(at.server.conclusionsOf(WORKSPACE, "bot", "42")).toEqual([]);
    expect(at.server.conclusionsOf(WORKSPACE, "bot", "bot")).toHaveLength(1);
  });

  it("of a user who shares a pinned peer is refused", async () => {
    const at = await honchoHome({ pinUserPeer: true });
    const owner = await at.start();
    await owner.onMemoryWrite?.("add", "user", "Likes tea", {});
    const guest = await at.start({ platform: "telegram", user_id: "42" });
    expect(await guest.eraseUser?.({})).toMatchObject({
      erased: 0,
      remaining: expect.stringContaining("pinUserPeer"),
    });
    expect(at.server.conclusionsOf(WORKSPACE, "bot", "ann")).toHaveLength(1);
  });
});

describe("mirrored entries", () => {
  it("that another machine stored are found by their text when they are removed", async () => {
    const at = await honchoHome();
    at.server.addConclusion(WORKSPACE, { content: "Likes tea", observer_id: "bot", observed_id: "ann" });
    const provider = await at.start();
    await provider.onMemoryWrite?.("replace", "user", "Likes coffee", { old_text: "Likes tea" });
    expect(at.server.conclusionsOf(WORKSPACE, "bot", "ann").map(({ content }) => content)).toEqual([
      "Likes coffee",
    ]);
  });

  it("wait when the session is gone at the server, and arrive when it was made again", async () => {
    const at = await honchoHome();
    const provider = await at.start();
    await provider.onMemoryWrite?.("add", "user", "Likes tea", {});
    await fetch(`${at.server.url}/v3/workspaces/${WORKSPACE}/sessions/kiln`, { method: "DELETE" });
    await provider.onMemoryWrite?.("add", "user", "Likes coffee", {});
    await provider.syncTurn?.("Hello", "Hi.", S1);
    await provider.onSessionEnd?.([], {});
    expect(texts(at)).toEqual(["ann: Hello", "bot: Hi."]);
    expect(at.server.flagsOf(WORKSPACE, "kiln", "bot")).toMatchObject({ observe_others: true });
  });
});
