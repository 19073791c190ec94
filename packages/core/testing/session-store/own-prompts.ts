// System prompts this program made, beside those of other programs; and the mark that tells whether anybody wrote.
import type { Suite } from "../runner.ts";
import {
  contents,
  DAY,
  expectCode,
  type Harness,
  ManualClock,
  nth,
  row,
  talk,
  UNREADABLE,
} from "./support.ts";

export function ownPromptsContract({ it, expect }: Suite, { open, reopen }: Harness): void {
  it("is given back as it was saved, byte for byte, also to another handle", async () => {
    await using store = await open();
    await store.createSession("a", { source: "cli" });
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

  it("leaves a prompt another program wrote where it is, before ours and after", async () => {
    await using store = await open();
    await store.createSession("a", { source: "cli", systemPrompt: "theirs" });
    await store.saveOwnPrompt("a", "ours", 1);
    expect((await row(store, "a")).system_prompt).toBe("theirs");
    await store.createSession("b", { source: "cli" });
    await store.saveOwnPrompt("b", "ours", 1);
    await store.updateSystemPrompt("b", "theirs");
    await store.saveOwnPrompt("b", "ours again", 1);
    expect((await row(store, "b")).system_prompt).toBe("theirs");
    expect(await store.getOwnPrompt("b")).toEqual({ text: "ours again", version: 1 });
  });

  it("of a continuation is stored with it, in its row as well; without one there is none", async () => {
    await using store = await open();
    await store.createSession("a", { source: "cli" });
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
    await using store = await open();
    await store.createSession("a", { source: "cli" });
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

  it("goes when its session is deleted or pruned, and does not come back with its id", async () => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    for (const id of ["deleted", "pruned", "empty"]) {
      await store.createSession(id, { source: "cli" });
      await store.saveOwnPrompt(id, "ours", 1);
    }
    await talk(store, "pruned", ["hello"]);
    await store.endSession("pruned", "cli_close");
    expect(await store.deleteSession("deleted")).toBe(true);
    expect(await store.deleteSessionIfEmpty("empty")).toBe(true);
    clock.advance(100 * DAY);
    expect(await store.pruneSessions({ olderThanDays: 90 })).toBe(1);
    for (const id of ["deleted", "pruned", "empty"]) {
      await store.createSession(id, { source: "cli" });
      expect([id, await store.getOwnPrompt(id)]).toEqual([id, null]);
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
