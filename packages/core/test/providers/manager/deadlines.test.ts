// How long the agent waits for a provider that never answers, hook by hook. Uses fake timers.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { readProviderHealth } from "../../../src/providers/manager/health.ts";
import { MemoryManager } from "../../../src/providers/manager/manager.ts";
import type { MemoryManagerOptions } from "../../../src/providers/manager/options.ts";
import {
  DRIVE,
  HOOKS,
  type HookName,
  hangingProvider,
  provider,
  recordingLogger,
} from "../../fakes/providers.ts";
import { tempDirectory } from "../../fakes/temp-directory.ts";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

/** Milliseconds until `work` is settled; undefined when it is not after `upTo`. */
async function settlesAfter(work: Promise<unknown>, upTo: number, stepMs = 100): Promise<number | undefined> {
  let isSettled = false;
  void work.finally(() => {
    isSettled = true;
  });
  for (let waited = 0; ; waited += stepMs) {
    await vi.advanceTimersByTimeAsync(waited === 0 ? 0 : stepMs);
    if (isSettled) return waited;
    if (waited >= upTo) return undefined;
  }
}

function managerWith(options: MemoryManagerOptions, ...hooks: readonly HookName[]): MemoryManager {
  const manager = new MemoryManager(options);
  manager.addProvider(hangingProvider(hooks));
  return manager;
}

const WAITS_MS: Readonly<Record<HookName, number>> = {
  initialize: 10_000,
  getToolSchemas: 2_000,
  systemPromptBlock: 2_000,
  onTurnStart: 3_000,
  prefetch: 3_000,
  queuePrefetch: 120_000,
  syncTurn: 120_000,
  handleToolCall: 120_000,
  onSessionEnd: 10_000,
  onSessionSwitch: 2_000,
  onPreCompress: 10_000,
  onMemoryWrite: 120_000,
  onDelegation: 120_000,
  shutdown: 2_500,
};

describe("a provider that hangs", () => {
  it.each(HOOKS)("in %s costs its deadline and one warning", async (hook) => {
    const home = tempDirectory();
    const log = recordingLogger();
    const manager = managerWith({ home, log }, hook);
    expect(await settlesAfter(DRIVE[hook](manager), 200_000)).toBe(WAITS_MS[hook]);
    const level = hook === "handleToolCall" ? "error" : "warn";
    expect(log.at(level)).toEqual([
      expect.stringMatching(
        new RegExp(`'notes' failed in ${hook}: no answer within ${WAITS_MS[hook] / 1000} s`),
      ),
    ]);
    await vi.advanceTimersByTimeAsync(250); // the counts follow soon
    expect(readProviderHealth(home, "notes")?.hooks[hook]).toMatchObject({ timeouts: 1, failures: 0 });
  });

  it("has its signal aborted at the deadline", async () => {
    let signal: AbortSignal | undefined;
    const manager = new MemoryManager();
    manager.addProvider(
      provider({
        onPreCompress: (_messages, options) => {
          signal = options.signal;
          return new Promise(() => {});
        },
      }),
    );
    void manager.onPreCompress([]);
    await vi.advanceTimersByTimeAsync(WAITS_MS.onPreCompress - 1);
    expect(signal?.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(signal?.reason).toMatchObject({ name: "TimeoutError" });
  });

  it("in everything costs a turn three seconds, and the turns after it nothing", async () => {
    const manager = managerWith({}, "onTurnStart", "prefetch", "syncTurn", "queuePrefetch");
    const turn = async (number: number): Promise<void> => {
      await manager.onTurnStart(number, "tea?");
      await manager.prefetchAll("tea?", { session_id: "s1" });
      manager.finishTurn({ session_id: "s1", user: "tea?", assistant: "yes" });
    };
    // The recall has no time left, but it is called, because it may have an answer ready.
    expect(await settlesAfter(turn(1), 10_000, 1)).toBeLessThanOrEqual(3_001);
    expect(await settlesAfter(turn(2), 10_000, 1)).toBe(0);
    expect(await settlesAfter(turn(3), 10_000, 1)).toBe(0);
  });
});

describe("the time of a turn", () => {
  it("is shared by its start and its recall", async () => {
    const manager = new MemoryManager();
    manager.addProvider(
      provider({
        onTurnStart: () => new Promise((resolve) => setTimeout(resolve, 2_000)),
        prefetch: () => new Promise(() => {}),
      }),
    );
    const turn = async (): Promise<void> => {
      await manager.onTurnStart(1, "tea?");
      await manager.prefetchAll("tea?");
    };
    expect(await settlesAfter(turn(), 10_000)).toBe(3_000);
  });

  it("used up by its start still leaves a recall that is ready", async () => {
    const manager = new MemoryManager();
    manager.addProvider(
      provider({ onTurnStart: () => new Promise<void>(() => {}), prefetch: async () => "likes tea" }),
    );
    const start = manager.onTurnStart(1, "tea?");
    await vi.advanceTimersByTimeAsync(3_000);
    await start;
    expect(await manager.prefetchAll("tea?")).toBe("likes tea");
  });

  it.each([
    [1, 1_000],
    [0.5, 500],
    [0, undefined],
  ])("is what memory.prefetch_timeout_s says: %d", async (prefetchTimeoutS, expected) => {
    const manager = managerWith({ prefetchTimeoutS }, "prefetch");
    expect(await settlesAfter(manager.prefetchAll("tea?"), 600_000, 100)).toBe(expected);
  });
});

describe("a shutdown", () => {
  it("of a provider that hangs in everything, noticed meanwhile, takes six seconds", async () => {
    const manager = managerWith({}, ...HOOKS.filter((hook) => hook !== "getToolSchemas"));
    manager.syncAll("tea?", "yes");
    void manager.prefetchAll("tea?");
    void manager.handleToolCall("notes_find", {});
    expect(await settlesAfter(manager.shutdownAll(), 20_000)).toBe(6_000);
  });
});
