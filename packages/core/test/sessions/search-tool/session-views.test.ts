import { describe, expect, it } from "vitest";
import { sessionSearchTool } from "../../../src/sessions/search-tool/tool.ts";
import { column, openHome, talk } from "./support.ts";

const DAY = 86_400;
const START = 1_700_000_000;

async function withDays(count: number) {
  const home = await openHome();
  for (let day = 0; day < count; day += 1)
    await talk(home.store, `day${String(day).padStart(2, "0")}`, ["hello", "hi"], {
      startedAt: START + day * DAY,
    });
  return home;
}

describe("browse", () => {
  it("lists the most recent sessions", async () => {
    const { ask, store } = await withDays(5);
    await store.setSessionTitle("day04", "Latest");
    const answer = await ask({});
    expect(answer).toMatchObject({
      success: true,
      mode: "browse",
      count: 3,
      message: expect.stringContaining("3"),
    });
    expect(column(answer.results, "session_id")).toEqual(["day04", "day03", "day02"]);
    expect(answer.results[0]).toEqual({
      session_id: "day04",
      link: "@session:default/day04",
      title: "Latest",
      source: "cli",
      started_at: START + 4 * DAY,
      last_active: START + 4 * DAY + 120,
      message_count: 2,
      preview: "hello",
    });
  });

  it("hides subagents, tools, archived sessions and the current conversation, and shows branches", async () => {
    const { ask, store } = await withDays(2);
    await talk(store, "sub", ["x"], { source: "subagent", startedAt: START + 9 * DAY });
    await talk(store, "tool", ["x"], { source: "tool", startedAt: START + 9 * DAY });
    await talk(store, "old", ["x"], { startedAt: START + 9 * DAY });
    await store.setSessionArchived("old", true);
    await talk(store, "now", ["x"], { startedAt: START + 9 * DAY });
    await store.continueSession("now", { id: "now-next", messages: [{ role: "user", content: "x" }] });
    await store.branchSession("day00", { id: "fork" });
    for (const currentSessionId of ["now", "now-next"]) {
      const { results } = await ask({ limit: 10 }, { currentSessionId });
      expect(column(results, "session_id").sort()).toEqual(["day00", "day01", "fork"]);
    }
    expect(column((await ask({ source: "subagent" })).results, "session_id")).toEqual(["sub"]);
  });

  it("shows the current conversation when scope says so", async () => {
    const { ask } = await withDays(3);
    const context = { currentSessionId: "day02" };
    expect(column((await ask({ scope: "all" }, context)).results, "session_id")).toEqual([
      "day02",
      "day01",
      "day00",
    ]);
    expect(column((await ask({ scope: "lineage" }, context)).results, "session_id")).toEqual(["day02"]);
  });

  it("finds the sessions of a span of time, however many are newer", async () => {
    const { ask } = await withDays(60);
    const span = { after: START + 5 * DAY, before: START + 8 * DAY };
    expect(column((await ask({ ...span, limit: 10 })).results, "session_id")).toEqual([
      "day07",
      "day06",
      "day05",
    ]);
    expect(column((await ask({ before: START + DAY })).results, "session_id")).toEqual(["day00"]);
    expect(column((await ask({ after: START + 58 * DAY })).results, "session_id")).toEqual([
      "day59",
      "day58",
    ]);
  });

  it("takes several sources", async () => {
    const { ask, store } = await withDays(1);
    await talk(store, "t", ["x"], { source: "telegram" });
    await talk(store, "d", ["x"], { source: "discord" });
    expect(column((await ask({ source: "telegram,discord" })).results, "session_id").sort()).toEqual([
      "d",
      "t",
    ]);
  });

  it("says why the list is empty", async () => {
    const { ask } = await openHome();
    expect(await ask({})).toMatchObject({
      results: [],
      count: 0,
      message: "There are no other sessions yet.",
    });
    expect(await ask({ after: "1d" })).toMatchObject({ message: expect.stringContaining("these filters") });
  });
});

const many = (count: number) => Array.from({ length: count }, (_, index) => `message ${index}`);

describe("scroll", () => {
  it("shows the messages around one, all roles included", async () => {
    const { store, ask } = await openHome();
    const ids = await talk(store, "a", many(10), { model: "m1" });
    const tool = await store.appendMessage("a", { role: "tool", toolName: "ls", content: "files" });
    const answer = await ask({ session_id: "a", around_message_id: ids[9], window: 2, query: "ignored" });
    expect(answer).toEqual({
      success: true,
      mode: "scroll",
      session_id: "a",
      around_message_id: ids[9],
      session_meta: { when: expect.any(String), source: "cli", model: "m1", title: null },
      window: 2,
      messages: [
        { id: ids[7], role: "assistant", content: "message 7", timestamp: expect.any(Number) },
        { id: ids[8], role: "user", content: "message 8", timestamp: expect.any(Number) },
        { id: ids[9], role: "assistant", content: "message 9", timestamp: expect.any(Number), anchor: true },
        { id: tool, role: "tool", content: "files", timestamp: expect.any(Number), tool_name: "ls" },
      ],
      messages_before: 2,
      messages_after: 1,
    });
  });

  it("does not show messages that were taken back, even by their id", async () => {
    const { store, ask } = await openHome();
    const ids = await talk(store, "a", many(6));
    await store.rewindToMessage("a", ids[4] ?? 0);
    for (const id of ids.slice(4)) {
      expect(await ask({ session_id: "a", around_message_id: id })).toEqual({
        error: `around_message_id ${id} not in session_id a`,
        success: false,
      });
    }
  });

  it("goes on from the last id, which comes again", async () => {
    const { store, ask } = await openHome();
    const ids = await talk(store, "a", many(12));
    const first = await ask({ session_id: "a", around_message_id: ids[5], window: 3 });
    const next = await ask({ session_id: "a", around_message_id: first.messages.at(-1)?.id, window: 3 });
    expect(column(next.messages, "id")).toEqual(ids.slice(5, 12));
    expect(next).toMatchObject({ messages_before: 3, messages_after: 3 });
  });

  it("finds a message in another session of the lineage and says so", async () => {
    const { store, ask } = await openHome();
    await talk(store, "root", many(3));
    const { messageIds } = await store.continueSession("root", {
      id: "next",
      messages: [{ role: "user", content: "later" }],
    });
    const [id] = messageIds;
    const answer = await ask({ session_id: "root", around_message_id: id });
    expect(answer).toMatchObject({
      session_id: "next",
      messages: [{ id, anchor: true }],
      warning: `around_message_id ${id} lives in next (child of root); rebound transparently`,
    });
  });

  it("checks the anchor, the lineage, the session and the message, in this order", async () => {
    const { store, ask } = await openHome();
    const [own] = await talk(store, "now", ["mine"]);
    const [foreign] = await talk(store, "a", ["other"]);
    const error = async (args: object, context = {}) => (await ask(args, context)).error;
    const current = { currentSessionId: "now" };
    expect(await error({ session_id: "now", around_message_id: "abc" }, current)).toBe(
      "scroll requires integer around_message_id",
    );
    expect(await error({ session_id: "now", around_message_id: 999 }, current)).toBe(
      "scroll rejected: anchor lives in the current session lineage (already in your active context)",
    );
    expect(await error({ session_id: "nope", around_message_id: foreign }, current)).toBe(
      "session_id not found: nope",
    );
    expect(await error({ session_id: "a", around_message_id: own })).toBe(
      `around_message_id ${own} not in session_id a`,
    );
    expect(await error({ session_id: "a", around_message_id: 1e300 })).toContain("not in session_id a");
  });

  it("lets an agent read its own compacted turns, but not what it still sees", async () => {
    const { store, ask } = await openHome();
    const [old] = await talk(store, "root", ["old"]);
    const { messageIds } = await store.continueSession("root", {
      id: "now",
      messages: [{ role: "user", content: "new" }],
    });
    const context = { currentSessionId: "now", liveMessageIds: messageIds };
    const scrollTo = (id: unknown, scope?: string) =>
      ask({ session_id: "root", around_message_id: id, scope }, context);
    expect(await scrollTo(old, "lineage")).toMatchObject({ success: true, messages: [{ content: "old" }] });
    expect(await scrollTo(old, "all")).toMatchObject({ success: true });
    expect((await scrollTo(old)).error).toContain("Pass scope='lineage'");
    expect((await scrollTo(messageIds[0], "lineage")).error).toContain("already in your active context");
  });

  it("is bounded in size", async () => {
    const { store, ask } = await openHome();
    const ids = await talk(store, "a", Array(20).fill("long ".repeat(5000)));
    const { messages } = await ask({ session_id: "a", around_message_id: ids[10], window: 20 });
    expect(messages).toHaveLength(20);
    expect(JSON.stringify(messages).length).toBeLessThan(65_000);
  });
});

describe("read", () => {
  it("gives a whole session", async () => {
    const { store, ask } = await openHome();
    const ids = await talk(store, "a", many(30));
    const answer = await ask({ session_id: "a" });
    expect(answer).toMatchObject({
      success: true,
      mode: "read",
      session_id: "a",
      session_meta: { source: "cli" },
      message_count: 30,
      truncated: false,
    });
    expect(column(answer.messages, "id")).toEqual(ids);
    expect(answer).not.toHaveProperty("message");
    expect(answer).not.toHaveProperty("profile");
  });

  it("leaves out the middle of a long one and says how to see it", async () => {
    const { store, ask } = await openHome();
    const ids = await talk(store, "a", many(50));
    const answer = await ask({ session_id: "a" });
    expect(answer).toMatchObject({ message_count: 50, truncated: true });
    expect(column(answer.messages, "id")).toEqual([...ids.slice(0, 20), ...ids.slice(-10)]);
    expect(answer.message).toMatch(/50 messages.*around_message_id/);
  });

  it("shows active messages only, and works for the current session", async () => {
    const { store, ask } = await openHome();
    const ids = await talk(store, "a", many(6));
    await store.rewindToMessage("a", ids[4] ?? 0);
    const answer = await ask({ session_id: "a" }, { currentSessionId: "a" });
    expect(answer).toMatchObject({ message_count: 4 });
    expect(column(answer.messages, "id")).toEqual(ids.slice(0, 4));
  });

  it("says when there is no such session", async () => {
    const { ask } = await openHome();
    expect(await ask({ session_id: "nope" })).toEqual({
      error: "session_id not found: nope",
      success: false,
    });
    const long = await ask({ session_id: "x".repeat(100_000) });
    expect(String(long.error).length).toBeLessThan(1000);
  });
});

it.each([
  ["listSessionsRich", {}, "Failed to list recent sessions"],
  ["getMessagesAround", { session_id: "a", around_message_id: 1 }, "failed to load messages"],
  ["getMessages", { session_id: "a" }, "failed to load session"],
])("a failure of the database in %s is the tool's error", async (member, args, doing) => {
  const { store } = await openHome();
  await talk(store, "a", ["x"]);
  const broken = { ...store, [member]: () => Promise.reject(new Error("disk I/O error")) };
  expect(await sessionSearchTool(broken, args)).toEqual({
    error: `${doing}: disk I/O error`,
    success: false,
  });
});
