// Session rows: creating, ending, counters, and the values that only the first or only the last writer sets.
import type { Suite } from "../runner.ts";
import { expectCode, type Harness, ManualClock, NOW, row, talk } from "./support.ts";

const COLUMNS = [
  "id source user_id model model_config system_prompt parent_session_id started_at ended_at end_reason",
  "message_count tool_call_count input_tokens output_tokens cache_read_tokens cache_write_tokens reasoning_tokens",
  "cwd billing_provider billing_base_url billing_mode estimated_cost_usd actual_cost_usd cost_status cost_source",
  "pricing_version title api_call_count handoff_state handoff_platform handoff_error rewind_count archived",
].flatMap((line) => line.split(" "));

export function sessionsContract({ it, expect }: Suite, { open, reopen }: Harness): void {
  it("token counts may have the short names of the original's parameters", async () => {
    await using store = await open();
    await store.updateTokenCounts("a", { input: 10, output: 5, cacheRead: 1, cacheWrite: 2, reasoning: 3 });
    expect(await store.getSession("a")).toMatchObject({
      input_tokens: 10,
      output_tokens: 5,
      cache_read_tokens: 1,
      cache_write_tokens: 2,
      reasoning_tokens: 3,
    });
  });

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

  it("a start time may be given", async () => {
    await using store = await open();
    await store.createSession("s1", { source: "cli", startedAt: 1_600_000_000.25 });
    expect(await row(store, "s1")).toMatchObject({ started_at: 1_600_000_000.25 });
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

  it.each(["", "a/b", "../outside", "/etc/passwd"])("refuses '%s' as an id", async (id) => {
    await using store = await open();
    await expectCode(store.createSession(id, { source: "cli" }), "bad-session-id");
    expect(await store.sessionCount()).toBe(0);
  });

  it.each(["..", "cron_j1_20260101_010000", "a b", "100%_done", "会话", "'; DROP TABLE sessions; --"])(
    "takes '%s' as an id like any other",
    async (id) => {
      await using store = await open();
      await store.createSession(id, { source: "cli" });
      await talk(store, id, ["hello"]);
      expect(await row(store, id)).toMatchObject({ id, message_count: 1 });
      expect(await store.resolveSessionId(id)).toBe(id);
    },
  );

  it("ensuring a session makes a minimal row that messages can be appended to", async () => {
    await using store = await open();
    expect(await store.ensureSession("s1")).toBe("s1");
    await store.appendMessage("s1", { role: "user", content: "hi" });
    expect(await row(store, "s1")).toMatchObject({ source: "unknown", message_count: 1 });
  });

  it("ensuring a session that exists changes nothing", async () => {
    await using store = await open();
    await store.createSession("s1", { source: "cli" });
    await store.ensureSession("s1", { source: "api", model: "m" });
    expect(await row(store, "s1")).toMatchObject({ source: "cli", model: null });
  });

  it("an unknown session is null", async () => {
    await using store = await open();
    expect(await store.getSession("nope")).toBeNull();
    expect(await store.getSession("")).toBeNull();
  });

  it("the first end reason survives a second end", async () => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    await store.createSession("s1", { source: "cli" });
    clock.advance(10);
    await store.endSession("s1", "cli_close");
    clock.advance(10);
    await store.endSession("s1", "session_reset");
    expect(await row(store, "s1")).toMatchObject({ ended_at: NOW + 10, end_reason: "cli_close" });
  });

  it("a reopened session is live and may end otherwise", async () => {
    await using store = await open();
    await store.createSession("s1", { source: "cli" });
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
    await store.updateSessionCwd("nope", "/a");
    await store.updateSessionModel("nope", "m");
    await store.updateSystemPrompt("nope", "p");
    await store.updateSessionMeta("nope", { a: 1 });
    expect(await store.sessionCount()).toBe(0);
  });

  it("an empty folder does not replace the known one", async () => {
    await using store = await open();
    await store.createSession("s1", { source: "cli", cwd: "/a" });
    await store.updateSessionCwd("s1", "");
    expect(await row(store, "s1")).toMatchObject({ cwd: "/a" });
    await store.updateSessionCwd("s1", "/b");
    expect(await row(store, "s1")).toMatchObject({ cwd: "/b" });
  });

  it("the configuration is replaced, the model only when given", async () => {
    await using store = await open();
    await store.createSession("s1", { source: "cli", model: "m1", modelConfig: { a: 1 } });
    await store.updateSessionMeta("s1", '{"b": 2}');
    expect(await row(store, "s1")).toMatchObject({ model: "m1", model_config: '{"b": 2}' });
    await store.updateSessionMeta("s1", { c: 3 }, { model: "m2" });
    const changed = await row(store, "s1");
    expect(changed.model).toBe("m2");
    expect(JSON.parse(changed.model_config ?? "")).toEqual({ c: 3 });
  });

  it("prompt and model are set whatever they were", async () => {
    await using store = await open();
    await store.createSession("s1", { source: "cli", model: "m1", systemPrompt: "old" });
    await store.updateSystemPrompt("s1", "new");
    await store.updateSessionModel("s1", "m2");
    expect(await row(store, "s1")).toMatchObject({ system_prompt: "new", model: "m2" });
  });

  it("token counts add up", async () => {
    await using store = await open();
    await store.createSession("s1", { source: "cli" });
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
    await using store = await open();
    await store.createSession("s1", { source: "cli" });
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

  it("the actual cost stays unknown until it is given", async () => {
    await using store = await open();
    await store.createSession("s1", { source: "cli" });
    await store.updateTokenCounts("s1", { inputTokens: 1 });
    expect(await row(store, "s1")).toMatchObject({ actual_cost_usd: null });
  });

  it("token counts make the session when there is none", async () => {
    await using store = await open();
    await store.updateTokenCounts("s1", { inputTokens: 3, model: "m1" });
    expect(await row(store, "s1")).toMatchObject({ source: "unknown", input_tokens: 3, model: "m1" });
  });

  it("token counts fill in the model once, and a switch of model survives them", async () => {
    await using store = await open();
    await store.createSession("s1", { source: "cli" });
    await store.updateTokenCounts("s1", { model: "m1" });
    await store.updateTokenCounts("s1", { model: "m2" });
    expect(await row(store, "s1")).toMatchObject({ model: "m1" });
    await store.updateSessionModel("s1", "m3");
    await store.updateTokenCounts("s1", { model: "m1" });
    expect(await row(store, "s1")).toMatchObject({ model: "m3" });
  });

  it("the first billing provider is kept, the last cost status wins", async () => {
    await using store = await open();
    await store.createSession("s1", { source: "cli" });
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

  it("counts sessions by source, size and archive", async () => {
    await using store = await open();
    await store.createSession("a", { source: "cli" });
    await store.createSession("b", { source: "cli" });
    await store.createSession("c", { source: "tool" });
    await talk(store, "b", ["one", "two"]);
    await store.setSessionArchived("a", true);
    expect(await store.sessionCount()).toBe(2);
    expect(await store.sessionCount({ source: "cli" })).toBe(1);
    expect(await store.sessionCount({ includeArchived: true })).toBe(3);
    expect(await store.sessionCount({ archivedOnly: true, includeArchived: true })).toBe(1);
    expect(await store.sessionCount({ minMessageCount: 2 })).toBe(1);
    expect(await store.sessionCount({ excludeSources: ["tool"] })).toBe(1);
    expect(await store.sessionCount({ excludeSources: [] })).toBe(2);
  });

  it("counting without children leaves out what the listing leaves out", async () => {
    await using store = await open();
    await store.createSession("root", { source: "cli" });
    await store.createSession("run", { source: "cli", parentSessionId: "root" });
    await store.createSession("fork", {
      source: "cli",
      parentSessionId: "root",
      modelConfig: { _branched_from: "root" },
    });
    expect(await store.sessionCount()).toBe(3);
    expect(await store.sessionCount({ excludeChildren: true })).toBe(2);
    expect(await store.listSessionsRich()).toHaveLength(2);
  });

  it("closing twice is harmless, and a closed store says so", async () => {
    const store = await open();
    await store.close();
    await store.close();
    await expectCode(store.getSession("s1"), "session-db-closed");
    await expectCode(store.createSession("s1", { source: "cli" }), "session-db-closed");
  });

  it.skipIf(!reopen)("everything is still there after closing and opening again", async () => {
    const store = await open();
    await store.createSession("s1", { source: "cli", modelConfig: { a: 1 } });
    await store.setSessionTitle("s1", "Kept");
    const ids = await talk(store, "s1", ["one", "two"]);
    const before = await store.exportAll();
    await store.close();
    await using again = await required(reopen)(store);
    expect(await again.exportAll()).toEqual(before);
    expect(await again.appendMessage("s1", { role: "user", content: "three" })).toBeGreaterThan(
      Math.max(...ids),
    );
  });

  it.skipIf(!reopen)("what one handle has acknowledged, another one sees", async () => {
    await using store = await open();
    await store.createSession("s1", { source: "cli" });
    await using other = await required(reopen)(store);
    const id = await store.appendMessage("s1", { role: "user", content: "seen?" });
    expect(await other.getMessages("s1")).toMatchObject([{ id, content: "seen?" }]);
  });
}

function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("this backend cannot reopen");
  return value;
}
