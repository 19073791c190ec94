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

  it("gives the tool's error when the database fails", async () => {
    const { store } = await openHome();
    const broken = { ...store, listSessionsRich: () => Promise.reject(new Error("disk I/O error")) };
    expect(await sessionSearchTool(broken, {})).toEqual({
      error: "Failed to list recent sessions: disk I/O error",
      success: false,
    });
  });
});
