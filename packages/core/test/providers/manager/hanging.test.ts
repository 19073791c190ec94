// A provider that is known to hang costs each further call one second. Uses fake timers.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { MemoryProvider } from "../../../src/providers/contract.ts";
import { MemoryManager } from "../../../src/providers/manager/manager.ts";
import type { MemoryManagerOptions } from "../../../src/providers/manager/options.ts";
import { HOOKS, hangingProvider, pause, provider } from "../../fakes/providers.ts";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

const never = (): Promise<never> => new Promise(() => {});
const EVERYWHERE = HOOKS.filter((hook) => hook !== "getToolSchemas");

/** Milliseconds until `work` is settled, in steps of 50. */
async function costs(work: Promise<unknown>): Promise<number> {
  let isSettled = false;
  void work.finally(() => {
    isSettled = true;
  });
  await vi.advanceTimersByTimeAsync(0);
  for (let waited = 0; ; waited += 50) {
    if (isSettled) return waited;
    if (waited > 200_000) throw new Error("It never ends.");
    await vi.advanceTimersByTimeAsync(50);
  }
}

function managerOf(member: MemoryProvider, options: MemoryManagerOptions = {}): MemoryManager {
  const manager = new MemoryManager(options);
  manager.addProvider(member);
  return manager;
}

/** The calls of one turn. */
async function turn(manager: MemoryManager, number = 1): Promise<void> {
  await manager.onTurnStart(number, "tea?");
  await manager.prefetchAll("tea?", { session_id: "s1" });
  manager.finishTurn({ session_id: "s1", user: "tea?", assistant: "yes" });
}

async function leave(manager: MemoryManager): Promise<void> {
  await manager.onSessionEnd([]);
  await manager.shutdownAll();
}

function takes(ms: number): () => Promise<void> {
  return () => new Promise((resolve) => setTimeout(resolve, ms));
}

/** Rejects when its signal is aborted, as a client does whose server hangs. */
function obedient(_first: unknown, options: { readonly signal?: AbortSignal }): Promise<never> {
  return new Promise((_resolve, reject) => {
    options.signal?.addEventListener("abort", () => reject(options.signal?.reason), { once: true });
  });
}

describe("a provider that was noticed to hang", () => {
  it("costs the exit three seconds, also minutes later", async () => {
    const manager = managerOf(hangingProvider(EVERYWHERE));
    await costs(turn(manager));
    expect(await costs(leave(manager))).toBeLessThanOrEqual(3_050);

    const idle = managerOf(hangingProvider(EVERYWHERE));
    await costs(turn(idle));
    await vi.advanceTimersByTimeAsync(600_000);
    expect(await costs(leave(idle))).toBeLessThanOrEqual(3_050);
  });

  it("costs every other call one second, and so does the queue", async () => {
    const manager = managerOf(hangingProvider(EVERYWHERE));
    await costs(turn(manager));
    expect(await costs(manager.onPreCompress([]))).toBe(1_000);
    expect(await costs(manager.onSessionEnd([]))).toBeLessThanOrEqual(2_050);
    expect(await costs(manager.buildSystemPrompt())).toBe(1_000);
    expect(await costs(manager.onSessionSwitch("s2"))).toBe(1_000);
    await vi.advanceTimersByTimeAsync(60_000); // the calls of the first turn are taken for lost, so it is asked again
    expect(await costs(turn(manager, 2))).toBeLessThanOrEqual(2_050);
  });

  it("is noticed by the hook that hung first, and the next one is short", async () => {
    const manager = managerOf(hangingProvider(["onSessionEnd", "shutdown"]));
    expect(await costs(manager.onSessionEnd([]))).toBe(10_000);
    expect(await costs(manager.shutdownAll())).toBe(1_000);
  });

  it("is noticed too when it gives up as soon as it is told to", async () => {
    const manager = managerOf(
      provider({
        onPreCompress: obedient,
        onSessionEnd: obedient,
        onSessionSwitch: obedient,
      }),
    );
    expect(await costs(manager.onPreCompress([]))).toBe(10_000);
    expect(await costs(manager.onSessionEnd([]))).toBe(10_000); // once may be chance
    expect(await costs(manager.onSessionSwitch("s2"))).toBe(1_000);
    expect(await costs(manager.onPreCompress([]))).toBe(1_000);
  });

  it("has its signal aborted at shutdown at the latest", async () => {
    let signal: AbortSignal | undefined;
    const manager = managerOf(
      provider({
        onPreCompress: never,
        onSessionEnd: (_messages, options) => {
          ({ signal } = options);
          return never();
        },
      }),
    );
    await costs(manager.onPreCompress([]));
    await costs(leave(manager));
    expect(signal?.aborted).toBe(true); // a socket it waits for would keep the process alive
  });

  it("gets its whole deadline again once it has answered", async () => {
    const hang = pause();
    const manager = managerOf(
      provider({ onPreCompress: () => hang.over.then(() => ""), onSessionEnd: takes(4_000) }),
    );
    expect(await costs(manager.onPreCompress([]))).toBe(10_000);
    expect(await costs(manager.onSessionEnd([]))).toBe(1_000);
    hang.end();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await costs(manager.onSessionEnd([]))).toBe(4_000);
  });

  it("keeps the time that config sets no limit to", async () => {
    const manager = managerOf(
      provider({ onPreCompress: never, prefetch: () => takes(7_000)().then(() => "tea") }),
      {
        prefetchTimeoutS: 0,
      },
    );
    await costs(manager.onPreCompress([]));
    expect(await costs(manager.prefetchAll("tea?"))).toBe(7_000);
  });
});

describe("a provider that is only slow", () => {
  it("keeps its deadlines", async () => {
    const ended: string[] = [];
    const manager = managerOf(
      provider({
        onTurnStart: takes(1_500),
        prefetch: () => takes(1_400)().then(() => "likes tea"),
        syncTurn: () => takes(4_500)().then(() => void ended.push("sync")),
        onSessionEnd: () => takes(9_500)().then(() => void ended.push("end")),
        onSessionSwitch: () => takes(1_900)().then(() => void ended.push("switch")),
        shutdown: () => takes(2_400)().then(() => void ended.push("shutdown")),
      }),
    );
    for (const number of [1, 2]) expect(await costs(turn(manager, number))).toBe(2_900);
    await vi.advanceTimersByTimeAsync(10_000);
    await costs(turn(manager, 3));
    expect(await costs(manager.onSessionEnd([]))).toBe(4_500 + 9_500);
    expect(await costs(manager.onSessionSwitch("s2"))).toBe(1_900);
    expect(await costs(manager.shutdownAll())).toBe(2_400);
    expect(ended).toEqual(["sync", "sync", "sync", "end", "switch", "shutdown"]);
  });
});

describe("trouble with a provider", () => {
  it("is told once, not again for later failures", async () => {
    const told: string[] = [];
    const manager = managerOf(hangingProvider(EVERYWHERE), { onTrouble: (text) => told.push(text) });
    await costs(turn(manager));
    await costs(leave(manager));
    expect(told).toEqual([
      "The memory provider 'notes' does not answer (onTurnStart: no answer within 3 s). The conversation goes on without it; 'hermes memory status' shows more.",
    ]);
  });

  it("is told for a failure, with its reason and without a secret", async () => {
    const told: string[] = [];
    const key = `sk-ant-${"a1".repeat(24)}`;
    const failing = provider({
      syncTurn: () => Promise.reject(new Error(`refused with ${key}`)),
      onSessionEnd: () => Promise.reject(new Error("again")),
    });
    const manager = managerOf(failing, { onTrouble: (text) => told.push(text) });
    manager.syncAll("tea?", "yes");
    await manager.onSessionEnd([]);
    expect(told).toEqual([
      expect.stringMatching(/^The memory provider 'notes' failed \(syncTurn: refused with /),
    ]);
    expect(told.join()).not.toContain(key);
  });
});
