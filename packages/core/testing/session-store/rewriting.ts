// Changing the messages of a session: replacing, rewinding and restoring them.
import type { SessionStore } from "../../src/sessions/store.ts";
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
  withSessions,
} from "./support.ts";

// ---- Replacing the messages of a session by others, or by none, in one transaction ----

const CALL = { id: "c1", type: "function", function: { name: "terminal", arguments: '{"command":"ls"}' } };

export function replacingContract({ it, expect }: Suite, { open }: Harness): void {
  it("replacing keeps tool names and platform ids, drops reasoning of others than the assistant, and counts anew", async () => {
    const clock = new ManualClock();
    await using store = await withSessions(open({ clock }), "s1");
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
      await using store = await withSessions(open(), "s1");
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

  it("text that is given as a separate value becomes a JSON string", async () => {
    await using store = await withSessions(open(), "s1");
    await store.appendMessage("s1", { role: "assistant", content: "x", reasoningDetails: "5" });
    await store.appendMessage("s1", { role: "assistant", content: "x", reasoning_details: "a thought" });
    expect(await store.getMessages("s1")).toMatchObject([
      { reasoning_details: '"5"' },
      { reasoning_details: '"a thought"' },
    ]);
  });

  it("replaced messages without a time get rising ones, so that their order stays", async () => {
    const clock = new ManualClock();
    await using store = await withSessions(open({ clock }), "s1");
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

  it("a replacement that fails half way changes nothing", async () => {
    await using store = await withSessions(open(), "s1");
    await talk(store, "s1", ["one", "two"]);
    const before = await store.exportSession("s1", { includeInactive: true });
    await expect(
      store.replaceMessages("s1", [{ role: "user", content: "new" }, UNREADABLE]),
    ).rejects.toThrow();
    expect(await store.exportSession("s1", { includeInactive: true })).toEqual(before);
  });

  it("replacing with nothing empties the session, rewound rows included", async () => {
    await using store = await withSessions(open(), "s1");
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
    await using store = await withSessions(open(), "s1", "s2");
    await store.appendMessage("s1", { role: "assistant", content: "x", toolCalls: [CALL] });
    await talk(store, "s2", ["stays"]);
    await store.clearMessages("s1");
    await store.clearMessages("nope");
    expect(await store.getMessages("s1", { includeInactive: true })).toEqual([]);
    expect(await row(store, "s1")).toMatchObject({ message_count: 0, tool_call_count: 0 });
    expect(await contents(store, "s2")).toEqual(["stays"]);
  });
}

// ---- Going back to an earlier message, and forward again ----

const TEXTS = ["one", "1", "two", "2", "three", "3"];

export function rewindContract({ it, expect }: Suite, { open }: Harness): void {
  it("hides the target and everything after it, and tells what it was", async () => {
    await using store = await open();
    const ids = await session(store);
    const before = nth(await store.getMessages("s1"), 2);
    expect(await store.rewindToMessage("s1", nth(ids, 2))).toEqual({
      rewound_count: 4,
      target_message: before,
      new_head_id: nth(ids, 1),
    });
    expect(await contents(store, "s1")).toEqual(["one", "1"]);
    const all = await store.getMessages("s1", { includeInactive: true });
    expect(messageIds(all)).toEqual(ids);
    expect(all.map(({ active }) => active)).toEqual([1, 1, 0, 0, 0, 0]);
    expect(await row(store, "s1")).toMatchObject({ message_count: 6, rewind_count: 1 });
  });

  it("a second rewind to the same message only counts", async () => {
    await using store = await open();
    const ids = await session(store);
    await store.rewindToMessage("s1", nth(ids, 2));
    const again = await store.rewindToMessage("s1", nth(ids, 2));
    expect(again).toMatchObject({
      rewound_count: 0,
      target_message: { active: 0 },
      new_head_id: nth(ids, 1),
    });
    expect(await row(store, "s1")).toMatchObject({ rewind_count: 2 });
  });

  it("decodes the target's content", async () => {
    await using store = await withSessions(open(), "s1");
    const content = [{ type: "text", text: "look" }];
    const id = await store.appendMessage("s1", { role: "user", content });
    expect(await store.rewindToMessage("s1", id)).toMatchObject({
      target_message: { id, content, active: 1 },
    });
  });

  it("refuses a target that is unknown, of another session, or not by the user, and changes nothing", async () => {
    await using store = await open();
    const ids = await session(store);
    await store.createSession("s2", { source: "cli" });
    const [foreign] = await talk(store, "s2", ["elsewhere"]);
    await expectCode(store.rewindToMessage("s1", 999_999), "unknown-message");
    await expectCode(store.rewindToMessage("s1", foreign ?? -1), "unknown-message");
    await expectCode(store.rewindToMessage("nope", nth(ids, 0)), "unknown-message");
    await expectCode(store.rewindToMessage("s1", nth(ids, 1)), "not-a-user-message");
    expect(await contents(store, "s1")).toEqual(TEXTS);
    expect(await contents(store, "s2")).toEqual(["elsewhere"]);
    expect(await row(store, "s1")).toMatchObject({ rewind_count: 0 });
  });

  it("restores what was rewound from a message on", async () => {
    await using store = await open();
    const ids = await session(store);
    await store.rewindToMessage("s1", nth(ids, 2));
    expect(await store.restoreRewound("s1", nth(ids, 4))).toBe(2);
    expect(await contents(store, "s1")).toEqual(["one", "1", "three", "3"]);
    expect(await store.restoreRewound("s1", 0)).toBe(2);
    expect(await store.restoreRewound("s1", 0)).toBe(0);
    expect(await contents(store, "s1")).toEqual(TEXTS);
    expect(await row(store, "s1")).toMatchObject({ message_count: 6, rewind_count: 1 });
  });

  it("restores in its own session only", async () => {
    await using store = await open();
    const ids = await session(store);
    await store.createSession("s2", { source: "cli" });
    await store.rewindToMessage("s1", nth(ids, 2));
    expect(await store.restoreRewound("s2", 0)).toBe(0);
    expect(await contents(store, "s1")).toEqual(["one", "1"]);
  });

  it.each([
    ["one turn unless told", undefined, 1, "three", ["one", "1", "two", "2"]],
    ["as many turns as told", 2, 2, "two", ["one", "1"]],
    ["all turns when told more than there are", 99, 3, "one", []],
    ["one turn when told none", 0, 1, "three", ["one", "1", "two", "2"]],
    ["one turn when told a negative number", -5, 1, "three", ["one", "1", "two", "2"]],
  ])("undoes %s", async (_name, turns, turns_undone, target_text, left) => {
    await using store = await open();
    await session(store);
    const outcome = await store.undoTurns("s1", turns);
    expect(outcome).toEqual({ rewound_count: TEXTS.length - left.length, turns_undone, target_text });
    expect(await contents(store, "s1")).toEqual(left);
  });

  it("has nothing to undo without a user message", async () => {
    await using store = await withSessions(open(), "s1");
    expect(await store.undoTurns("s1")).toBeNull();
    await store.appendMessage("s1", { role: "assistant", content: "hello" });
    expect(await store.undoTurns("s1")).toBeNull();
    expect(await store.undoTurns("nope")).toBeNull();
    expect(await contents(store, "s1")).toEqual(["hello"]);
  });

  it("takes turns back and stores others in one step, or does neither", async () => {
    await using store = await open();
    const ids = await session(store);
    const third = nth(ids, 2);
    const before = await contents(store, "s1");
    const other = { role: "user", content: "another two" };
    await expect(store.appendMany("s1", [other, UNREADABLE], { takeBackFrom: third })).rejects.toThrow();
    await expectCode(
      store.appendMany("s1", [other], { takeBackFrom: third, ifLast: third }),
      "session-changed",
    );
    expect(await contents(store, "s1")).toEqual(before);
    await store.appendMany("s1", [other], { takeBackFrom: third, ifLast: nth(ids, -1) });
    expect(await contents(store, "s1")).toEqual(["one", "1", "another two"]);
    await store.appendMany("s1", [{ role: "assistant", content: "beside" }], { isShown: false });
    await store.appendMany("s1", [{ role: "assistant", content: "1, again" }], { takeBackFrom: nth(ids, 1) });
    expect(await contents(store, "s1")).toEqual(["one", "1, again"]);
    const all = await store.getMessages("s1", { includeInactive: true });
    expect(all.map(({ content }) => content)).toContain("beside");
    await store.appendMany("s1", [], { takeBackFrom: nth(ids, 0) });
    expect(await contents(store, "s1")).toEqual([]);
  });
}

async function session(store: SessionStore): Promise<number[]> {
  await store.createSession("s1", { source: "cli" });
  return talk(store, "s1", TEXTS);
}
