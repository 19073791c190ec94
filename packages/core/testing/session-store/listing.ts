// Finding a session: in lists, and by its title.
import type { SessionStore } from "../../src/sessions/store.ts";
import type { Suite } from "../runner.ts";
import {
  DAY,
  expectCode,
  type Harness,
  HOUR,
  handMadeChain,
  idsOf,
  ManualClock,
  NOW,
  nth,
  row,
  talk,
  withSessions,
} from "./support.ts";

// ---- Listings: what is shown, in which order, and how a compacted conversation looks in them ----

export function listingContract({ it, expect }: Suite, { open }: Harness): void {
  const lastActive = async (store: SessionStore): Promise<number> => {
    const listed = nth(await store.listSessionsRich({ orderByLastActive: true }), 0);
    expect(nth(await store.searchSessions(), 0).last_active).toBe(listed.last_active);
    return listed.last_active;
  };

  it.each([
    ["61 characters cut", "x".repeat(61), `${"x".repeat(60)}...`],
    [
      "the text of structured content",
      [{ type: "text", text: "look here" }, { type: "image_url" }],
      "look here",
    ],
  ])("a preview shows %s", async (_name, content, expected) => {
    await using store = await withSessions(open(), "s1");
    await store.appendMany("s1", [
      { role: "system", content: "prompt" },
      { role: "assistant", content: "welcome" },
      { role: "user", content: null },
      { role: "user", content },
      { role: "user", content: "later" },
    ]);
    expect(await store.listSessionsRich()).toMatchObject([{ id: "s1", preview: expected }]);
  });

  it("the last activity is the time of the latest message, however it was stored", async () => {
    await using store = await open({ clock: new ManualClock() });
    await store.createSession("s1", { source: "cli", startedAt: NOW - 50 });
    await store.appendMessage("s1", { role: "user", content: "a", timestamp: NOW - 20 });
    await store.appendMessage("s1", { role: "user", content: "b", timestamp: NOW - 30 });
    expect(await lastActive(store)).toBe(NOW - 20);
    await store.replaceMessages("s1", [{ role: "user", content: "c", timestamp: NOW - 40 }]);
    expect(await lastActive(store)).toBe(NOW - 40);
    await store.clearMessages("s1");
    expect(await lastActive(store)).toBe(NOW - 50);
  });

  it("the activity of the tip brings the whole conversation up, also with a limit of one", async () => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    await handMadeChain(store, clock, ["a", "b", "c"]);
    for (let index = 0; index < 30; index += 1) {
      clock.advance(60);
      await store.createSession(`newer ${index}`, { source: "cli" });
    }
    clock.advance(60);
    await talk(store, "c", ["still going"]);
    expect(await store.listSessionsRich({ orderByLastActive: true, limit: 1 })).toMatchObject([
      { id: "c", _lineage_root_id: "a", last_active: clock.seconds, preview: "still going" },
    ]);
  });

  it("archived sessions show on request, or alone", async () => {
    await using store = await withSessions(open(), "kept", "put away");
    expect(await store.setSessionArchived("put away", true)).toBe(true);
    expect(idsOf(await store.listSessionsRich())).toEqual(["kept"]);
    expect(await store.listSessionsRich({ includeArchived: true })).toHaveLength(2);
    expect(idsOf(await store.listSessionsRich({ archivedOnly: true, includeArchived: false }))).toEqual([
      "put away",
    ]);
    expect(await store.setSessionArchived("nope", true)).toBe(false);
  });

  it.each(["a", "b", "c"])("archiving '%s' of a chain archives all of it, and back", async (id) => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    await handMadeChain(store, clock, ["a", "b", "c"]);
    await store.createSession("fork", {
      source: "cli",
      parentSessionId: "b",
      modelConfig: { _branched_from: "b" },
    });
    expect(await store.setSessionArchived(id, true)).toBe(true);
    for (const each of ["a", "b", "c"]) expect(await row(store, each)).toMatchObject({ archived: 1 });
    expect(await row(store, "fork")).toMatchObject({ archived: 0 });
    expect(await store.setSessionArchived(id, false)).toBe(true);
    for (const each of ["a", "b", "c"]) expect(await row(store, each)).toMatchObject({ archived: 0 });
  });

  it("a chain shows once: its tip's face on its root's beginnings", async () => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    await handMadeChain(store, clock, ["a", "b"], { source: "telegram", cwd: "/old" });
    clock.advance(HOUR);
    await store.endSession("b", "compression");
    await store.createSession("c", { source: "telegram", cwd: "/new", parentSessionId: "b" });
    await talk(store, "a", ["first words"]);
    await talk(store, "c", ["latest words", "answer"]);
    await store.updateSessionModel("c", "m-new");
    await store.setSessionTitle("c", "Kiln #3");
    await store.updateTokenCounts("a", { inputTokens: 7 });
    await store.updateTokenCounts("c", { inputTokens: 900 });
    const root = await row(store, "a");
    const tip = await row(store, "c");
    expect(await store.listSessionsRich()).toEqual([
      {
        ...root,
        id: "c",
        ended_at: tip.ended_at,
        end_reason: tip.end_reason,
        message_count: 2,
        tool_call_count: tip.tool_call_count,
        title: "Kiln #3",
        last_active: clock.seconds,
        preview: "latest words",
        model: "m-new",
        system_prompt: tip.system_prompt,
        cwd: "/new",
        _lineage_root_id: "a",
      },
    ]);
    expect(root.started_at).toBe(NOW);
  });

  it("a compressed session whose continuation is gone shows itself", async () => {
    const clock = new ManualClock();
    await using store = await withSessions(open({ clock }), "a");
    await store.endSession("a", "compression");
    const [only, ...others] = await store.listSessionsRich();
    expect(others).toEqual([]);
    expect(only).toMatchObject({ id: "a", end_reason: "compression" });
    expect(only).not.toHaveProperty("_lineage_root_id");
  });

  it("branches show, also after their parent was reopened and ended otherwise", async () => {
    const clock = new ManualClock();
    await using store = await withSessions(open({ clock }), "p");
    await store.branchSession("p", { id: "marked", endParent: "branched" });
    clock.advance(10);
    await store.createSession("by time", { source: "cli", parentSessionId: "p" });
    expect(idsOf(await store.listSessionsRich()).sort()).toEqual(["by time", "marked", "p"]);
    await store.reopenSession("p");
    await store.endSession("p", "cli_close");
    expect(idsOf(await store.listSessionsRich())).toContain("marked");
  });

  it("delegates are hidden, also when their parent is gone", async () => {
    await using store = await withSessions(open(), "p");
    await store.createSession("untagged", { source: "cli", parentSessionId: "p" });
    await store.createSession("orphan", {
      source: "subagent",
      modelConfig: { _delegate_from: "__orphaned__" },
    });
    await store.createSession("other", { source: "cli", modelConfig: { _delegate_from: "gone" } });
    expect(idsOf(await store.listSessionsRich())).toEqual(["p"]);
    expect(await store.listSessionsRich({ includeChildren: true, orderByLastActive: true })).toHaveLength(4);
  });

  it("an id query finds a conversation by a part of any id in its chain, in any case", async () => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    await handMadeChain(store, clock, ["First-Abc", "Second-Def", "Third-Ghi"]);
    await store.createSession("other", { source: "cli" });
    for (const idQuery of ["abc", "SECOND", "rd-g"]) {
      const found = await store.listSessionsRich({ orderByLastActive: true, idQuery });
      expect(idsOf(found)).toEqual(["Third-Ghi"]);
    }
    expect(await store.listSessionsRich({ orderByLastActive: true, idQuery: "%" })).toEqual([]);
    expect(await store.listSessionsRich({ orderByLastActive: true, idQuery: "_" })).toEqual([]);
  });

  it("an exact id and a beginning are never lost behind newer ones", async () => {
    await using store = await open();
    await store.createSession("abc", { source: "cli", startedAt: NOW - 2 * DAY });
    await store.createSession("abc-old", { source: "cli", startedAt: NOW - DAY });
    for (let index = 0; index < 30; index += 1) {
      await store.createSession(`x-abc-${index}`, { source: "cli", startedAt: NOW + index });
    }
    expect(idsOf(await store.searchSessionsById("abc", { limit: 1 }))).toEqual(["abc"]);
    expect(idsOf(await store.searchSessionsById("abc", { limit: 3 }))).toEqual([
      "abc",
      "abc-old",
      "x-abc-29",
    ]);
  });

  it("a search by id finds the tip by the root's id, and archived sessions unless told", async () => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    await handMadeChain(store, clock, ["root-1", "tip-1"]);
    expect(await store.searchSessionsById("root-1")).toMatchObject([
      { id: "tip-1", _lineage_root_id: "root-1" },
    ]);
    await store.setSessionArchived("root-1", true);
    expect(await store.searchSessionsById("root-1")).toHaveLength(1);
    expect(await store.searchSessionsById("root-1", { includeArchived: false })).toEqual([]);
  });
}

// ---- Flags of a whole conversation. Older files have no columns for the last two ----

export function flagsContract({ it, expect }: Suite, { open }: Harness): void {
  it("pinning and hiding change the whole chain where the rows can note it, and nothing elsewhere", async () => {
    const clock = new ManualClock();
    await using store = await withSessions(open({ clock }), "a");
    await store.continueSession("a", { id: "b" });
    await store.createSession("other", { source: "cli" });
    const canNote = (await row(store, "a")).pinned !== undefined;
    const flagsOf = async (id: string) => {
      const { pinned = 0, hidden = 0 } = await row(store, id);
      return { pinned, hidden };
    };
    const noted = (pinned: 0 | 1, hidden: 0 | 1) => (canNote ? { pinned, hidden } : { pinned: 0, hidden: 0 });
    expect(await store.setSessionHidden("b", true)).toBe(canNote);
    for (const id of ["a", "b"]) expect(await flagsOf(id)).toEqual(noted(0, 1));
    expect(await store.setSessionHidden("b", true)).toBe(false);
    expect(await store.setSessionPinned("a", true)).toBe(canNote);
    for (const id of ["a", "b"]) expect(await flagsOf(id)).toEqual(noted(1, 0));
    expect(await store.setSessionPinned("b", false)).toBe(canNote);
    for (const id of ["a", "b", "other"]) expect(await flagsOf(id)).toEqual({ pinned: 0, hidden: 0 });
    for (const id of ["nope", ""]) {
      expect(await store.setSessionPinned(id, true)).toBe(false);
      expect(await store.setSessionHidden(id, true)).toBe(false);
    }
  });
}

// ---- Titles: cleaned, unique, numbered along a lineage, and found again ----

export function titlesContract({ it, expect }: Suite, { open }: Harness): void {
  it.each([
    ["padded", "  Glaze  ", "Glaze"],
    ["of nothing but blanks", " \t\u200b ", null],
    ["of exactly 100 characters", "🪴".repeat(100), "🪴".repeat(100)],
    ["cleaned down to 100 characters", `  ${"x".repeat(100)}\u200b `, "x".repeat(100)],
  ])("a title %s is cleaned", async (_name, title, expected) => {
    await using store = await withSessions(open(), "s1");
    expect(await store.setSessionTitle("s1", title)).toBe(true);
    expect(await store.getSessionTitle("s1")).toBe(expected);
  });

  it("refuses a title of 101 characters and keeps the old one", async () => {
    await using store = await titled({ s1: "Old" });
    await expectCode(store.setSessionTitle("s1", "🪴".repeat(101)), "title-too-long");
    await expect(store.setSessionTitle("s1", "x".repeat(101))).rejects.toThrow(/101 .*100/);
    expect(await store.getSessionTitle("s1")).toBe("Old");
  });

  it("refuses a title that another session has, and says which", async () => {
    await using store = await titled({ a: "Glaze", b: null });
    await expectCode(store.setSessionTitle("b", " Glaze "), "title-taken");
    await expect(store.setSessionTitle("b", "Glaze")).rejects.toThrow(/'Glaze'.* a\b/);
    expect(await store.getSessionTitle("b")).toBeNull();
  });

  it("clearing sets a title free, and several sessions may have none", async () => {
    await using store = await titled({ a: "Glaze", b: "Kiln" });
    expect(await store.setSessionTitle("a", null)).toBe(true);
    expect(await store.setSessionTitle("a", null)).toBe(true);
    expect(await store.setSessionTitle("b", "Glaze")).toBe(true);
    expect(await store.getSessionTitle("a")).toBeNull();
  });

  it.each([
    ["proj", "proj #11"],
    ["proj #3 #4", "proj #3 #5"],
    ["new", "new"],
  ])("after '%s' comes '%s'", async (base, expected) => {
    await using store = await titled({
      a: "proj",
      b: "proj #2",
      c: "proj #10",
      d: "proj #abc",
      e: "proj #3 #4",
    });
    expect(await store.getNextTitleInLineage(base)).toBe(expected);
  });

  it("wildcards in titles mean themselves", async () => {
    await using store = await titled({
      a: "a_b",
      b: "axb #5",
      c: "a%b",
      d: "a%b #2",
      e: "a\\b",
      f: "a\\b #3",
    });
    expect(await store.getNextTitleInLineage("a_b")).toBe("a_b #2");
    expect(await store.getNextTitleInLineage("a%b")).toBe("a%b #3");
    expect(await store.getNextTitleInLineage("a\\b")).toBe("a\\b #4");
    expect(await store.resolveSessionByTitle("a_b")).toBe("a");
    expect(await store.resolveSessionByTitle("a%b")).toBe("d");
    expect(await store.resolveSessionByTitle("%")).toBeNull();
  });

  it("a title of 100 characters goes on, shortened to make room for its number", async () => {
    await using store = await titled({ root: "🪴".repeat(100) });
    const titles = new Set([await store.getSessionTitle("root")]);
    let id = "root";
    for (let round = 0; round < 12; round += 1) {
      const next = await store.continueSession(id);
      expect([...(next.title ?? "")].length).toBeLessThanOrEqual(100);
      expect(next.title).toMatch(/^(🪴)+ #\d+$/u);
      titles.add(next.title);
      id = next.id;
    }
    expect(titles.size).toBe(13);
  });

  it("of two sessions that want one title at the same time, one gets it", async () => {
    await using store = await titled({ a: null, b: null, c: null, d: null });
    const outcomes = await Promise.allSettled(
      ["a", "b", "c", "d"].map((id) => store.setSessionTitle(id, "wanted")),
    );
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const lost = nth(
      outcomes.filter((outcome) => outcome.status === "rejected"),
      0,
    );
    expect(lost.reason).toMatchObject({ code: "title-taken" });
  });

  async function titled(titles: Record<string, string | null>): Promise<SessionStore> {
    const clock = new ManualClock();
    const store = await open({ clock });
    for (const [id, title] of Object.entries(titles)) {
      await store.createSession(id, { source: "cli" });
      await store.setSessionTitle(id, title);
      clock.advance(60);
    }
    return store;
  }
}
