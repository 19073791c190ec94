// Titles: cleaned, unique, numbered along a lineage, and found again.

import type { SessionStore } from "../../src/sessions/store.ts";
import type { Suite } from "../runner.ts";
import { expectCode, type Harness, ManualClock, nth } from "./support.ts";

export function titlesContract({ it, expect }: Suite, { open }: Harness): void {
  it.each([
    ["plain", "Glaze recipes", "Glaze recipes"],
    ["padded", "  Glaze  ", "Glaze"],
    ["with tabs and line ends", "a\tb\nc\r\nd", "a b c d"],
    ["with control characters", "a\u000bb\u0001c\u007f", "abc"],
    ["with invisible characters", "a\u200bb\u2028c\u2066d\ufeff", "abcd"],
    ["with a no-break space", "a\u00a0b", "a b"],
    ["with a Mongolian separator", "a\u180eb", "a\u180eb"],
    ["of nothing but blanks", " \t\u200b ", null],
    ["empty", "", null],
    ["of exactly 100 characters", "🪴".repeat(100), "🪴".repeat(100)],
    ["cleaned down to 100 characters", `  ${"x".repeat(100)}\u200b `, "x".repeat(100)],
  ])("a title %s is cleaned", async (_name, title, expected) => {
    await using store = await open();
    await store.createSession("s1", { source: "cli" });
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

  it("a session may be given the title it has, and one in another case is another title", async () => {
    await using store = await titled({ a: "Glaze", b: null });
    expect(await store.setSessionTitle("a", "Glaze")).toBe(true);
    expect(await store.setSessionTitle("b", "glaze")).toBe(true);
  });

  it("clearing sets a title free, and several sessions may have none", async () => {
    await using store = await titled({ a: "Glaze", b: "Kiln" });
    expect(await store.setSessionTitle("a", null)).toBe(true);
    expect(await store.setSessionTitle("a", null)).toBe(true);
    expect(await store.setSessionTitle("b", "Glaze")).toBe(true);
    expect(await store.getSessionTitle("a")).toBeNull();
  });

  it("an unknown session cannot be named, and has no title", async () => {
    await using store = await open();
    expect(await store.setSessionTitle("nope", "Glaze")).toBe(false);
    expect(await store.getSessionTitle("nope")).toBeNull();
  });

  it.each([
    ["proj", "proj #11"],
    ["proj #2", "proj #11"],
    ["proj #7", "proj #11"],
    ["proj #3 #4", "proj #3 #5"],
    ["new", "new"],
    ["new #5", "new"],
    ["x #", "x #"],
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

  it("a title leads to the latest of its numbered line", async () => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    for (const [id, title] of [
      ["s1", "shop"],
      ["s2", "shop #7"],
      ["s3", "shop #2"],
      ["s4", "other"],
    ] as const) {
      await store.createSession(id, { source: "cli" });
      await store.setSessionTitle(id, title);
      clock.advance(60);
    }
    expect(await store.resolveSessionByTitle("shop")).toBe("s3");
    expect(await store.resolveSessionByTitle("shop #7")).toBe("s2");
    expect(await store.resolveSessionByTitle("other")).toBe("s4");
    expect(await store.resolveSessionByTitle("nope")).toBeNull();
  });

  it("only numbers continue a title, and upper case is not lower case", async () => {
    await using store = await titled({ a: "proj", b: "proj #abc", c: "proj #2 #3", d: "PROJ #4" });
    expect(await store.resolveSessionByTitle("proj")).toBe("a");
    expect(await store.resolveSessionByTitle("Proj")).toBeNull();
    expect(await store.resolveSessionByTitle("PROJ")).toBe("d");
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
