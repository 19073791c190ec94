// The failure modes of providers, numbered as in the list that every release is tested against.
import { describe, expect, it, vi } from "vitest";
import { DEFAULT_MEMORY_CONFIG } from "../../core/src/config/index.ts";
import { buildMemoryContextBlock } from "../../core/src/providers/fence/recall-fence.ts";
import { activateProvider } from "../../core/src/providers/manager/activate.ts";
import { readProviderHealth } from "../../core/src/providers/manager/health.ts";
import { MemoryManager } from "../../core/src/providers/manager/manager.ts";
import { registeringPlugin, writePlugin } from "../../core/test/fakes/plugins.ts";
import {
  badProvider,
  hangingProvider,
  pause,
  provider,
  recordingLogger,
  toolSchema,
} from "../../core/test/fakes/providers.ts";
import { tempDirectory } from "../../core/test/fakes/temp-directory.ts";
import { fitChars, hasContext, hasTools, parseMode } from "../src/kit/provider-mode.ts";

/** A home with a plugin named `notes`, and an attempt to use it. */
async function activated(more: string, config: { readonly provider?: string } = {}) {
  const home = tempDirectory();
  writePlugin(home, "notes", { "index.mjs": registeringPlugin({ name: "notes", more }) });
  const log = recordingLogger();
  const activation = await activateProvider({
    home,
    config: { ...DEFAULT_MEMORY_CONFIG, provider: "notes", ...config },
    sessionId: "s1",
    log,
  });
  return { home, log, activation };
}

describe("failure modes of providers", () => {
  it.each(["", "  ", "builtin", "Built-In", " none "])("11: none configured (%j)", async (configured) => {
    const { log, activation } = await activated("", { provider: configured });
    expect(activation).toEqual({ kind: "none" });
    expect(log.lines).toEqual([]);
    expect(new MemoryManager().tools()).toEqual([]);
  });

  it("12: `is_available` false", async () => {
    const { home, log, activation } = await activated(
      'isAvailable() { return false; } unavailableReason() { return "no key is set"; } initialize() { throw "never"; }',
    );
    expect(activation).toEqual({ kind: "unavailable", name: "notes", reason: "no key is set." });
    expect(log.at("warn")).toEqual([expect.stringMatching(/'notes' is not used: no key is set/)]);
    expect(readProviderHealth(home, "notes")?.availability).toMatchObject({
      available: false,
      reason: "no key is set.",
      checked_by: "activation",
    });
  });

  it("13: initialise fails", async () => {
    const { log, activation } = await activated(
      'initialize() { throw new Error("no connection"); } getToolSchemas() { return [{ name: "notes_find" }]; } handleToolCall() { return "{}"; }',
    );
    if (activation.kind !== "active") throw new Error(`expected an active provider, got ${activation.kind}`);
    expect(log.at("warn")).toEqual([expect.stringContaining("failed in initialize: no connection")]);
    expect(activation.manager.hasTool("notes_find")).toBe(true);
    expect(await activation.manager.prefetchAll("tea?")).toBe("");
    await activation.manager.shutdownAll();
  });

  it("14: prefetch fails or times out", async () => {
    const failing = new MemoryManager();
    failing.addProvider(badProvider(["prefetch"], () => Promise.reject(new Error("no"))));
    expect(buildMemoryContextBlock(await failing.prefetchAll("tea?"))).toBe("");
    const hanging = new MemoryManager({ deadlinesMs: { turnStart: 1 } });
    hanging.addProvider(hangingProvider(["prefetch"]));
    expect(buildMemoryContextBlock(await hanging.prefetchAll("tea?"))).toBe("");
  });

  it("15: sync fails", async () => {
    const log = recordingLogger();
    const manager = new MemoryManager({ log });
    const failing = pause();
    manager.addProvider(
      provider({
        syncTurn: async () => {
          await failing.over;
          throw new Error("disk full");
        },
      }),
    );
    manager.finishTurn({ session_id: "s1", user: "tea?", assistant: "yes" }); // the reply is out by now
    expect(log.lines).toEqual([]);
    failing.end();
    await manager.flushPending();
    expect(log.at("warn")).toEqual([expect.stringContaining("failed in syncTurn: disk full")]);
  });

  it("16: tool throws", async () => {
    const log = recordingLogger();
    const manager = new MemoryManager({ log });
    manager.addProvider(
      badProvider(["handleToolCall"], () => {
        throw new Error("no such fact");
      }),
    );
    expect(await manager.handleToolCall("notes_find", {})).toBe(
      JSON.stringify({ error: "Memory tool 'notes_find' failed: no such fact" }),
    );
    expect(log.at("error")).toHaveLength(1);
  });

  it("17: second external provider", () => {
    const log = recordingLogger();
    const manager = new MemoryManager({ log });
    expect(["first", "second"].map((name) => manager.addProvider(provider({ name })))).toEqual([true, false]);
    expect(log.at("warn")).toHaveLength(1);
  });

  it.each([
    ["18: mode `tools`", "tools", "", 1],
    ["19: mode `context`", "context", "likes tea", 0],
    ["neither of them: mode `hybrid`", "hybrid", "likes tea", 1],
  ])("%s", async (_row, word, recall, tools) => {
    const manager = new MemoryManager({ home: tempDirectory() });
    let mode = parseMode("hybrid");
    manager.addProvider(
      provider({
        initialize: () => {
          mode = parseMode(word);
        },
        prefetch: () => (hasContext(mode) ? "likes tea" : ""),
        getToolSchemas: () => (hasTools(mode) ? [toolSchema()] : []),
        handleToolCall: () => "{}",
      }),
    );
    await manager.initializeAll("s1");
    expect(await manager.prefetchAll("tea?")).toBe(recall);
    expect(manager.tools()).toHaveLength(tools);
    expect(manager.hasTool("notes_find")).toBe(tools === 1);
    await manager.shutdownAll();
  });

  it("20: budget too small", async () => {
    const fact = "likes 🍵 and the sea";
    const small = new MemoryManager({ recallMaxChars: 7 });
    small.addProvider(provider({ prefetch: () => fact }));
    expect(await small.prefetchAll("tea?")).toBe("likes 🍵");
    const own = new MemoryManager();
    own.addProvider(provider({ prefetch: () => fitChars(fact, 10) }));
    expect(await own.prefetchAll("tea?")).toBe("likes 🍵 …");
  });

  it("21: first turn", async () => {
    vi.useFakeTimers();
    try {
      const cache: string[] = [];
      const manager = new MemoryManager();
      manager.addProvider(
        provider({
          prefetch: () => cache.pop() ?? new Promise(() => {}),
          queuePrefetch: () => void cache.push("likes tea"),
        }),
      );
      await manager.onTurnStart(1, "tea?");
      const first = manager.prefetchAll("tea?", { session_id: "s1" });
      await vi.advanceTimersByTimeAsync(3_000);
      expect(await first).toBe("");
    } finally {
      vi.useRealTimers();
    }
  });

  it("22: session switches during prefetch", async () => {
    const answer = Promise.withResolvers<string>();
    const manager = new MemoryManager();
    manager.addProvider(provider({ prefetch: () => answer.promise }));
    const recall = manager.prefetchAll("tea?", { session_id: "s1" });
    await manager.onSessionSwitch("s2", { parent_session_id: "s1", reset: true, reason: "new_session" });
    answer.resolve("what s1 was about");
    expect(await recall).toBe("");
    expect(await manager.prefetchAll("tea?", { session_id: "s2" })).toBe("what s1 was about"); // asked anew
  });
});
