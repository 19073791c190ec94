// Messages that are not looked up, and what a provider says about what it recalled.
import { describe, expect, it } from "vitest";
import type { MemoryProvider } from "../../../src/providers/contract.ts";
import { MemoryManager } from "../../../src/providers/manager/manager.ts";
import { isTrivialPrompt } from "../../../src/providers/manager/provider-text.ts";
import { readRecallStatus } from "../../../src/providers/manager/recall.ts";
import { provider } from "../../fakes/providers.ts";

describe("a trivial message", () => {
  it.each([
    ..."|   |/new|/compress the harbour|yes|OK!|Thank you.| go   ahead |...k?|Nah \u{1f44d}".split("|"),
    ..."got it,|LGTM".split("|"),
  ])("is %j", (message) => {
    expect(isTrivialPrompt(message)).toBe(true);
  });

  it.each([
    "yes, but use the other port",
    "which tea?",
    "no tea",
    "/etc/hosts is not read, why?",
    "ok ok",
    "knight",
    "do it again with tests",
    `ok${" ".repeat(100)}then the port`,
  ])("is not %j", (message) => {
    expect(isTrivialPrompt(message)).toBe(false);
  });
});

describe("the status of a recall", () => {
  const STATUS = { provider_label: "Notes", count: 3, glyph: "*" };

  async function after(members: Partial<MemoryProvider>, query = "which tea?") {
    const manager = new MemoryManager();
    manager.addProvider(provider(members));
    await manager.prefetchAll(query, { session_id: "s1" });
    return manager;
  }

  it("is that of the last recall", async () => {
    const texts = ["likes tea", ""];
    const manager = await after({ prefetch: () => texts.shift() ?? "", recallStatus: () => STATUS });
    expect(manager.recallStatus()).toEqual([STATUS]);
    await manager.prefetchAll("which cake?", { session_id: "s1" });
    expect(manager.recallStatus()).toEqual([]);
  });

  it.each<[string, Partial<MemoryProvider>]>([
    ["no text", { prefetch: () => " ", recallStatus: () => STATUS }],
    [
      "a text that is kept out whole",
      { prefetch: () => "<memory-context></memory-context>", recallStatus: () => STATUS },
    ],
    ["a failing recall", { prefetch: () => Promise.reject(new Error("down")), recallStatus: () => STATUS }],
    ["no such member", { prefetch: () => "likes tea" }],
    ["nothing to tell", { prefetch: () => "likes tea", recallStatus: () => undefined }],
    [
      "a member that throws",
      {
        prefetch: () => "likes tea",
        recallStatus: () => {
          throw new Error("no");
        },
      },
    ],
  ])("is empty with %s", async (_, members) => {
    expect((await after(members)).recallStatus()).toEqual([]);
  });

  it("is one line without control characters and secrets", () => {
    const status = readRecallStatus({
      provider_label: `No\ntes\u001b[31m ${"x".repeat(100)}`,
      count: 2,
      glyph: "\u{1f9e0}",
    });
    expect(status?.provider_label).toMatch(/^No tes \[31m x+/);
    expect(status?.provider_label.length).toBeLessThanOrEqual(45);
    expect(status).toMatchObject({ count: 2, glyph: "\u{1f9e0}" });
  });

  it.each([
    undefined,
    null,
    "3 memories",
    { ...STATUS, count: 0 },
    { ...STATUS, count: -1 },
    { ...STATUS, count: 1.5 },
    { ...STATUS, count: "3" },
    { count: 3, glyph: "*" },
  ])("that is unusable is left out: %o", (status) => {
    expect(readRecallStatus(status)).toBeUndefined();
  });
});
