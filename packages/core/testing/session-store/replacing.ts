// Rewriting a session: its messages are replaced by others, or by none, in one step.
import type { Suite } from "../runner.ts";
import {
  contents,
  expectCode,
  type Harness,
  ManualClock,
  messageIds,
  NOW,
  nth,
  row,
  talk,
  UNREADABLE,
} from "./support.ts";

const CALL = { id: "c1", type: "function", function: { name: "terminal", arguments: '{"command":"ls"}' } };

export function replacingContract({ it, expect }: Suite, { open }: Harness): void {
  it("replacing keeps tool names and platform ids, drops reasoning of others than the assistant, and counts anew", async () => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    await store.createSession("s1", { source: "cli" });
    const old = await talk(store, "s1", ["old", "older"]);
    await store.replaceMessages("s1", [
      { role: "user", content: "one", reasoning: "dropped", message_id: "pm-1" },
      { role: "assistant", content: "two", tool_calls: [CALL], reasoning: "kept" },
      { role: "tool", content: "three", tool_call_id: "c1", tool_name: "terminal" },
      { content: ["four"], platform_message_id: "pm-4" },
    ]);
    const stored = await store.getMessages("s1");
    expect(stored).toMatchObject([
      { role: "user", content: "one", reasoning: null, platform_message_id: "pm-1" },
      { role: "assistant", content: "two", reasoning: "kept", tool_calls: [CALL] },
      { role: "tool", content: "three", tool_name: "terminal", tool_call_id: "c1" },
      { role: "unknown", content: ["four"], platform_message_id: "pm-4" },
    ]);
    expect(Math.min(...messageIds(stored))).toBeGreaterThan(Math.max(...old));
    expect(await row(store, "s1")).toMatchObject({ message_count: 4, tool_call_count: 1 });
  });

  it.each(['"thought"', '"\\"quoted\\""', "5", "true", '[{"x": 1}]', '{"a":"b"}'])(
    "the JSON text %s stays the text it is, however often a session is rewritten from its rows",
    async (json) => {
      await using store = await open();
      await store.createSession("s1", { source: "cli" });
      const thoughts = { reasoning_details: json, codex_reasoning_items: json, codex_message_items: json };
      await store.appendMessage("s1", { role: "assistant", content: "x", ...thoughts });
      for (let round = 0; round < 3; round += 1) {
        const rows = await store.getMessages("s1");
        expect(rows).toMatchObject([thoughts]);
        await store.replaceMessages("s1", rows);
      }
      const exported = await store.exportSession("s1");
      await using other = await open();
      await other.importSessions(exported === null ? [] : [exported]);
      expect(await other.getMessages("s1")).toMatchObject([thoughts]);
      expect(await other.getMessagesAsConversation("s1")).toMatchObject([
        { reasoning_details: JSON.parse(json) },
      ]);
    },
  );

  it("text that is given as a value of its own becomes a JSON string", async () => {
    await using store = await open();
    await store.createSession("s1", { source: "cli" });
    await store.appendMessage("s1", { role: "assistant", content: "x", reasoningDetails: "5" });
    await store.appendMessage("s1", { role: "assistant", content: "x", reasoning_details: "a thought" });
    expect(await store.getMessages("s1")).toMatchObject([
      { reasoning_details: '"5"' },
      { reasoning_details: '"a thought"' },
    ]);
  });

  it("replaced messages without a time get rising ones, so that their order stays", async () => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    await store.createSession("s1", { source: "cli" });
    await store.replaceMessages("s1", [
      { role: "user", content: "one" },
      { role: "assistant", content: "two" },
      { role: "user", content: "three" },
    ]);
    const [first, second, third] = (await store.getMessages("s1")).map(({ timestamp }) => timestamp);
    expect(first).toBeGreaterThanOrEqual(NOW);
    expect(second).toBeGreaterThan(first ?? Number.POSITIVE_INFINITY);
    expect(third).toBeGreaterThan(second ?? Number.POSITIVE_INFINITY);
    expect(third).toBeLessThan(NOW + 0.001);
  });

  it("replacing keeps the times that are given", async () => {
    await using store = await open();
    await store.createSession("s1", { source: "cli" });
    await store.replaceMessages("s1", [{ role: "user", content: "x", timestamp: 1_600_000_000.5 }]);
    expect(await store.getMessages("s1")).toMatchObject([{ timestamp: 1_600_000_000.5 }]);
  });

  it("replacing that fails half way leaves everything as it was", async () => {
    await using store = await open();
    await store.createSession("s1", { source: "cli" });
    await talk(store, "s1", ["one", "two"]);
    const before = await store.exportSession("s1", { includeInactive: true });
    await expect(
      store.replaceMessages("s1", [{ role: "user", content: "new" }, UNREADABLE]),
    ).rejects.toThrow();
    expect(await store.exportSession("s1", { includeInactive: true })).toEqual(before);
  });

  it("replacing with nothing empties the session, rewound rows included", async () => {
    await using store = await open();
    await store.createSession("s1", { source: "cli" });
    const ids = await talk(store, "s1", ["one", "two", "three", "four"]);
    await store.rewindToMessage("s1", nth(ids, 2));
    await store.replaceMessages("s1", []);
    expect(await store.getMessages("s1", { includeInactive: true })).toEqual([]);
    expect(await row(store, "s1")).toMatchObject({ message_count: 0, tool_call_count: 0 });
  });

  it("replacing in an unknown session is refused, unless there is nothing to store", async () => {
    await using store = await open();
    await expectCode(store.replaceMessages("nope", [{ role: "user", content: "x" }]), "unknown-session");
    await store.replaceMessages("nope", []);
    expect(await store.getSession("nope")).toBeNull();
  });

  it("clearing removes every row and the counts", async () => {
    await using store = await open();
    await store.createSession("s1", { source: "cli" });
    await store.createSession("s2", { source: "cli" });
    await store.appendMessage("s1", { role: "assistant", content: "x", toolCalls: [CALL] });
    await talk(store, "s2", ["stays"]);
    await store.clearMessages("s1");
    await store.clearMessages("nope");
    expect(await store.getMessages("s1", { includeInactive: true })).toEqual([]);
    expect(await row(store, "s1")).toMatchObject({ message_count: 0, tool_call_count: 0 });
    expect(await contents(store, "s2")).toEqual(["stays"]);
  });
}
