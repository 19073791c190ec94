// The row of a session, and its system prompt.
import type { Suite } from "../runner.ts";
import {
  contents,
  DAY,
  expectCode,
  exportAll,
  type Harness,
  ManualClock,
  NOW,
  nth,
  row,
  talk,
  UNREADABLE,
  withSessions,
} from "./support.ts";

// ---- Session rows: creating, ending, counters, and the values that only the first or only the last writer sets ----

const COLUMNS = [
  "id source user_id model model_config system_prompt parent_session_id started_at ended_at end_reason",
  "message_count tool_call_count input_tokens output_tokens cache_read_tokens cache_write_tokens reasoning_tokens",
  "cwd billing_provider billing_base_url billing_mode estimated_cost_usd actual_cost_usd cost_status cost_source",
  "pricing_version title api_call_count handoff_state handoff_platform handoff_error rewind_count archived",
].flatMap((line) => line.split(" "));

export function sessionsContract({ it, expect }: Suite, { open, reopen }: Harness): void {
  it("counters stop at the highest number that can be read back", async () => {
    await using store = await open();
    const most = Number.MAX_SAFE_INTEGER;
    await store.updateTokenCounts("s1", { inputTokens: 1e18, outputTokens: most, reasoningTokens: 2 });
    await store.updateTokenCounts("s1", { inputTokens: most, outputTokens: 5, reasoningTokens: 3 });
    expect(await row(store, "s1")).toMatchObject({
      input_tokens: most,
      output_tokens: most,
      reasoning_tokens: 5,
    });
    await store.updateTokenCounts("s1", { inputTokens: -1e300, apiCallCount: 1e18, absolute: true });
    expect(await row(store, "s1")).toMatchObject({ input_tokens: -most, api_call_count: most });
  });

  it("gives back what a session was created with, and zeros and nulls for the rest", async () => {
    await using store = await open({ clock: new ManualClock() });
    const created = await store.createSession("s1", {
      source: "telegram",
      model: "m-large",
      modelConfig: { temperature: 0.2 },
      systemPrompt: "Be brief.",
      userId: "u1",
      cwd: "/home/me/project",
    });
    expect(created).toBe("s1");
    const found = await row(store, "s1");
    expect(Object.keys(found).sort()).toEqual([...COLUMNS].sort());
    expect(found).toMatchObject({
      id: "s1",
      source: "telegram",
      model: "m-large",
      system_prompt: "Be brief.",
      user_id: "u1",
      cwd: "/home/me/project",
      parent_session_id: null,
      started_at: NOW,
      ended_at: null,
      end_reason: null,
      message_count: 0,
      input_tokens: 0,
      estimated_cost_usd: null,
      title: null,
      rewind_count: 0,
      archived: 0,
    });
    expect(JSON.parse(found.model_config ?? "")).toEqual({ temperature: 0.2 });
  });

  it("an empty model configuration is stored as none", async () => {
    await using store = await open();
    await store.createSession("s1", { source: "cli", modelConfig: {} });
    expect(await row(store, "s1")).toMatchObject({ model_config: null });
  });

  it("creating a session twice leaves the first row as it is", async () => {
    await using store = await open();
    await store.createSession("s1", { source: "cli", model: "first" });
    expect(await store.createSession("s1", { source: "discord", model: "second" })).toBe("s1");
    expect(await row(store, "s1")).toMatchObject({ source: "cli", model: "first" });
    expect(await store.sessionCount()).toBe(1);
  });

  it("refuses a parent that does not exist, and creates nothing", async () => {
    await using store = await open();
    await expectCode(store.createSession("s1", { source: "cli", parentSessionId: "nope" }), "unknown-parent");
    expect(await store.getSession("s1")).toBeNull();
  });

  it("a child inherits its parent's user and folder unless told otherwise", async () => {
    await using store = await open();
    await store.createSession("parent", { source: "cli", userId: "u1", cwd: "/a" });
    await store.createSession("child", { source: "subagent", parentSessionId: "parent" });
    await store.createSession("other", { source: "cli", parentSessionId: "parent", userId: "u2", cwd: "/b" });
    expect(await row(store, "child")).toMatchObject({ user_id: "u1", cwd: "/a" });
    expect(await row(store, "other")).toMatchObject({ user_id: "u2", cwd: "/b" });
  });

  it("the first end reason survives a second end", async () => {
    const clock = new ManualClock();
    await using store = await withSessions(open({ clock }), "s1");
    clock.advance(10);
    await store.endSession("s1", "cli_close");
    clock.advance(10);
    await store.endSession("s1", "session_reset");
    expect(await row(store, "s1")).toMatchObject({ ended_at: NOW + 10, end_reason: "cli_close" });
  });

  it("a reopened session is live and may end otherwise", async () => {
    await using store = await withSessions(open(), "s1");
    await store.endSession("s1", "cli_close");
    await store.reopenSession("s1");
    expect(await row(store, "s1")).toMatchObject({ ended_at: null, end_reason: null });
    await store.endSession("s1", "idle_timeout");
    expect(await row(store, "s1")).toMatchObject({ end_reason: "idle_timeout" });
  });

  it("ending, reopening or changing an unknown session does nothing", async () => {
    await using store = await open();
    await store.endSession("nope", "cli_close");
    await store.reopenSession("nope");
    await store.updateSessionModel("nope", "m");
    expect(await store.sessionCount()).toBe(0);
  });

  it("token counts add up", async () => {
    await using store = await withSessions(open(), "s1");
    const once = {
      inputTokens: 10,
      outputTokens: 3,
      cacheReadTokens: 5,
      cacheWriteTokens: 2,
      reasoningTokens: 1,
    };
    await store.updateTokenCounts("s1", { ...once, apiCallCount: 1, estimatedCostUsd: 0.5 });
    await store.updateTokenCounts("s1", { ...once, apiCallCount: 2, actualCostUsd: 0.25 });
    expect(await row(store, "s1")).toMatchObject({
      input_tokens: 20,
      output_tokens: 6,
      cache_read_tokens: 10,
      cache_write_tokens: 4,
      reasoning_tokens: 2,
      api_call_count: 3,
      estimated_cost_usd: 0.5,
      actual_cost_usd: 0.25,
    });
  });

  it("absolute token counts replace what was counted, and keep an actual cost that is not given", async () => {
    await using store = await withSessions(open(), "s1");
    await store.updateTokenCounts("s1", {
      inputTokens: 10,
      apiCallCount: 4,
      estimatedCostUsd: 2,
      actualCostUsd: 1,
    });
    await store.updateTokenCounts("s1", { inputTokens: 7, outputTokens: 1, apiCallCount: 2, absolute: true });
    expect(await row(store, "s1")).toMatchObject({
      input_tokens: 7,
      output_tokens: 1,
      api_call_count: 2,
      estimated_cost_usd: 0,
      actual_cost_usd: 1,
    });
  });

  it("token counts make the session when there is none", async () => {
    await using store = await open();
    await store.updateTokenCounts("s1", { inputTokens: 3, model: "m1" });
    expect(await row(store, "s1")).toMatchObject({ source: "unknown", input_tokens: 3, model: "m1" });
  });

  it("token counts fill in the model once, and a switch of model survives them", async () => {
    await using store = await withSessions(open(), "s1");
    await store.updateTokenCounts("s1", { model: "m1" });
    await store.updateTokenCounts("s1", { model: "m2" });
    expect(await row(store, "s1")).toMatchObject({ model: "m1" });
    await store.updateSessionModel("s1", "m3");
    await store.updateTokenCounts("s1", { model: "m1" });
    expect(await row(store, "s1")).toMatchObject({ model: "m3" });
  });

  it("the first billing provider is kept, the last cost status wins", async () => {
    await using store = await withSessions(open(), "s1");
    const first = { billingProvider: "p1", billingBaseUrl: "https://one.test", billingMode: "key" };
    await store.updateTokenCounts("s1", { ...first, costStatus: "estimated", costSource: "table" });
    const second = { billingProvider: "p2", billingBaseUrl: "https://two.test", billingMode: "plan" };
    await store.updateTokenCounts("s1", { ...second, costStatus: "exact", pricingVersion: "v2" });
    expect(await row(store, "s1")).toMatchObject({
      billing_provider: "p1",
      billing_base_url: "https://one.test",
      billing_mode: "key",
      cost_status: "exact",
      cost_source: "table",
      pricing_version: "v2",
    });
  });

  it("notes under a key are kept, replaced and null when absent", async () => {
    await using store = await open();
    expect(await store.getMeta("k")).toBeNull();
    await store.setMeta("k", "one");
    await store.setMeta("k", "two");
    expect(await store.getMeta("k")).toBe("two");
  });

  it.skipIf(!reopen)("everything is still there after closing and opening again", async () => {
    const store = await open();
    await store.createSession("s1", { source: "cli", modelConfig: { a: 1 } });
    await store.setSessionTitle("s1", "Kept");
    const ids = await talk(store, "s1", ["one", "two"]);
    const before = await exportAll(store);
    await store.close();
    await using again = await required(reopen)(store);
    expect(await exportAll(again)).toEqual(before);
    expect(await again.appendMessage("s1", { role: "user", content: "three" })).toBeGreaterThan(
      Math.max(...ids),
    );
  });
}

function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("this backend cannot reopen");
  return value;
}

// ---- System prompts made by this program, beside those of other programs; and the mark that shows whether a process wrote ----

export function ownPromptsContract({ it, expect }: Suite, { open, reopen }: Harness): void {
  it("is returned byte for byte, also by another handle", async () => {
    await using store = await withSessions(open(), "a");
    expect(await store.getOwnPrompt("a")).toBeNull();
    const text = "  You are…\n\tärger 灯塔 🏮\n";
    await store.saveOwnPrompt("a", text, 3);
    expect(await store.getOwnPrompt("a")).toEqual({ text, version: 3 });
    expect((await row(store, "a")).system_prompt).toBe(text);
    expect(await store.getOwnPrompt("unknown")).toBeNull();
    await expectCode(store.saveOwnPrompt("unknown", text, 1), "unknown-session");
    if (reopen === undefined) return;
    await using other = await reopen(store);
    expect(await other.getOwnPrompt("a")).toEqual({ text, version: 3 });
  });

  it.each([
    ["nothing", null],
    ["an empty text", ""],
  ])("takes the place of %s in the session's row, and later of itself", async (_name, systemPrompt) => {
    await using store = await open();
    await store.createSession("a", { source: "cli", systemPrompt });
    await store.saveOwnPrompt("a", "one", 1);
    await store.saveOwnPrompt("a", "two", 2);
    expect((await row(store, "a")).system_prompt).toBe("two");
    expect(await store.getOwnPrompt("a")).toEqual({ text: "two", version: 2 });
  });

  it("leaves a prompt another program wrote where it is", async () => {
    await using store = await open();
    await store.createSession("a", { source: "cli", systemPrompt: "theirs" });
    await store.saveOwnPrompt("a", "ours", 1);
    expect((await row(store, "a")).system_prompt).toBe("theirs");
    await store.saveOwnPrompt("a", "ours again", 1);
    expect((await row(store, "a")).system_prompt).toBe("theirs");
    expect(await store.getOwnPrompt("a")).toEqual({ text: "ours again", version: 1 });
  });

  it("of a continuation is stored with it, in its row as well; without one there is none", async () => {
    await using store = await withSessions(open(), "a");
    await store.saveOwnPrompt("a", "old", 1);
    const ownPrompt = { text: "new", version: 2 };
    await store.continueSession("a", { id: "b", ownPrompt, systemPrompt: "not this" });
    expect(await store.getOwnPrompt("b")).toEqual(ownPrompt);
    expect((await row(store, "b")).system_prompt).toBe("new");
    expect(await store.getOwnPrompt("a")).toEqual({ text: "old", version: 1 });
    await store.continueSession("b", { id: "c", systemPrompt: "plain" });
    expect(await store.getOwnPrompt("c")).toBeNull();
    expect((await row(store, "c")).system_prompt).toBe("plain");
  });

  it("of a continuation that fails is not stored either", async () => {
    await using store = await withSessions(open(), "a");
    const ownPrompt = { text: "new", version: 2 };
    const lockHolder = "nobody";
    await expectCode(store.continueSession("a", { id: "b", ownPrompt, lockHolder }), "lock-lost");
    await expect(
      store.continueSession("a", { id: "b", ownPrompt, messages: [UNREADABLE] }),
    ).rejects.toThrow();
    await store.createSession("b", { source: "cli" });
    expect(await store.getOwnPrompt("b")).toBeNull();
  });

  it("of a branch is its parent's unless told; a parent without one has none to give", async () => {
    await using store = await open();
    await store.createSession("a", { source: "cli", systemPrompt: "theirs" });
    await store.branchSession("a", { id: "bare" });
    expect(await store.getOwnPrompt("bare")).toBeNull();
    expect((await row(store, "bare")).system_prompt).toBeNull();
    await store.saveOwnPrompt("a", "ours", 4);
    await store.branchSession("a", { id: "same" });
    expect(await store.getOwnPrompt("same")).toEqual({ text: "ours", version: 4 });
    expect((await row(store, "same")).system_prompt).toBe("ours");
    await store.branchSession("a", { id: "told", ownPrompt: { text: "other", version: 5 } });
    expect(await store.getOwnPrompt("told")).toEqual({ text: "other", version: 5 });
    expect((await row(store, "told")).system_prompt).toBe("other");
  });

  it("goes when its session is deleted or pruned, as the mark of an extraction, and does not come back with its id", async () => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    await expectCode(store.setExtractedId("unknown", 1), "unknown-session");
    for (const id of ["deleted", "pruned", "empty"]) {
      await store.createSession(id, { source: "cli" });
      await store.saveOwnPrompt(id, "ours", 1);
      await store.setExtractedId(id, 6);
      await store.setExtractedId(id, 7);
      expect(await store.getExtractedId(id)).toBe(7);
    }
    await talk(store, "pruned", ["hello"]);
    await store.endSession("pruned", "cli_close");
    expect(await store.deleteSession("deleted")).toBe(true);
    expect(await store.deleteSessionIfEmpty("empty")).toBe(true);
    clock.advance(100 * DAY);
    expect(await store.pruneSessions({ olderThanDays: 90 })).toBe(1);
    for (const id of ["deleted", "pruned", "empty"]) {
      await store.createSession(id, { source: "cli" });
      expect([id, await store.getOwnPrompt(id), await store.getExtractedId(id)]).toEqual([id, null, null]);
    }
  });

  it("the mark of a session changes with every kind of write to its messages, and with its end", async () => {
    await using store = await open();
    expect(await store.getSessionMark("a")).toBeNull();
    await store.createSession("a", { source: "cli" });
    const empty = {
      message_count: 0,
      rewind_count: 0,
      last_message_id: null,
      ended_at: null,
      end_reason: null,
    };
    expect(await store.getSessionMark("a")).toEqual(empty);
    const seen = new Set([JSON.stringify(empty)]);
    const noteChange = async (name: string) => {
      const mark = JSON.stringify(await store.getSessionMark("a"));
      expect([name, seen.has(mark)]).toEqual([name, false]);
      seen.add(mark);
    };
    const ids = await talk(store, "a", ["one", "two", "three", "four"]);
    expect(await store.getSessionMark("a")).toEqual({ ...empty, message_count: 4, last_message_id: ids[3] });
    await noteChange("append");
    await store.rewindToMessage("a", nth(ids, 2));
    expect(await store.getSessionMark("a")).toMatchObject({ rewind_count: 1, last_message_id: ids[1] });
    await noteChange("rewind");
    await store.restoreRewound("a", nth(ids, 2));
    await noteChange("restore");
    await store.replaceMessages("a", [
      { role: "user", content: "1" },
      { role: "assistant", content: "2" },
      { role: "user", content: "3" },
      { role: "assistant", content: "4" },
    ]);
    expect(await contents(store, "a")).toHaveLength(4);
    await noteChange("replace");
    await store.endSession("a", "cli_close");
    expect(await store.getSessionMark("a")).toMatchObject({ end_reason: "cli_close" });
    await noteChange("end");
  });
}
