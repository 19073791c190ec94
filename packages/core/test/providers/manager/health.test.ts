// The counters that `hermes memory status` shows: per provider, summed over processes, and never a cause of failures.
import { chmodSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  addHealth,
  addToHealthFile,
  emptyHealth,
  HealthRecorder,
  type HookCounts,
  healthFilePath,
  parseHealth,
  readProviderHealth,
} from "../../../src/providers/manager/health.ts";
import { MemoryManager } from "../../../src/providers/manager/manager.ts";
import { startScript } from "../../fakes/child.ts";
import { tickingClock } from "../../fakes/memory-home.ts";
import { badProvider, provider } from "../../fakes/providers.ts";
import { tempDirectory } from "../../fakes/temp-directory.ts";

const ONE_CALL: HookCounts = { calls: 1, failures: 0, timeouts: 0, skipped: 0, total_ms: 1.5, max_ms: 1.5 };

afterEach(() => {
  vi.useRealTimers();
});

describe("the counts of a manager", () => {
  it("go on where the last process stopped", async () => {
    const home = tempDirectory();
    for (let process = 0; process < 3; process += 1) {
      const manager = new MemoryManager({
        home,
        clock: tickingClock(`2026-03-0${process + 1}T00:00:00.000Z`),
      });
      manager.addProvider(badProvider(["prefetch"], () => Promise.reject(new Error(`failure ${process}`))));
      await manager.prefetchAll("tea?");
      await manager.shutdownAll();
    }
    const health = readProviderHealth(home, "notes");
    expect(health?.hooks.prefetch).toMatchObject({ calls: 3, failures: 3 });
    expect(health?.last_error).toMatchObject({ hook: "prefetch", message: "failure 2" });
    expect(health?.since).toMatch(/^2026-03-01/);
    expect(health?.updated_at).toMatch(/^2026-03-03/);
  });

  it("are kept under the name that config selects by", async () => {
    const home = tempDirectory();
    const manager = new MemoryManager({ home, selectedAs: "my-plugin" });
    manager.addProvider(provider({ name: "Its Own Name", onTurnStart() {} }));
    await manager.onTurnStart(1, "tea?");
    await manager.shutdownAll();
    expect(readProviderHealth(home, "my-plugin")?.hooks.onTurnStart?.calls).toBe(1);
    expect(readProviderHealth(home, "Its Own Name")).toBeUndefined();
  });

  it("of failures are in the file while the agent still runs", async () => {
    vi.useFakeTimers();
    const home = tempDirectory();
    const manager = new MemoryManager({ home });
    manager.addProvider(badProvider(["onTurnStart"], () => Promise.reject(new Error("no"))));
    await manager.onTurnStart(1, "tea?");
    await manager.onTurnStart(2, "tea?");
    await vi.advanceTimersByTimeAsync(250);
    expect(readProviderHealth(home, "notes")?.hooks.onTurnStart?.failures).toBe(2);
  });
});

describe("the file", () => {
  it("and its lock are for the owner alone, also where it was open before", () => {
    const home = tempDirectory();
    const path = healthFilePath(home, "notes");
    addToHealthFile(home, "notes", { stray_errors: 1 });
    expect([path, `${path}.lock`].map((each) => statSync(each).mode & 0o777)).toEqual([0o600, 0o600]);
    expect(statSync(dirname(path)).mode & 0o777).toBe(0o700);
    chmodSync(path, 0o644);
    addToHealthFile(home, "notes", { stray_errors: 1 });
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it.each(["", "{", "null", "7", '"x"', "\u0000\u0000", "[1,2"])("that holds %j starts anew", (damaged) => {
    const home = tempDirectory();
    const path = healthFilePath(home, "notes");
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, damaged);
    expect(readProviderHealth(home, "notes")).toBeUndefined();
    expect(addToHealthFile(home, "notes", { stray_errors: 2 })).toBe(true);
    expect(readProviderHealth(home, "notes")).toMatchObject({ stray_errors: 2, dropped_tasks: 0, hooks: {} });
  });

  it("that a user edited gives its usable values", () => {
    const edited = {
      since: 7,
      hooks: { prefetch: { calls: "many", failures: -1, timeouts: 2, max_ms: null }, odd: 7 },
      texts: { cut: 3 },
      dropped_tasks: Number.NaN,
      last_error: { hook: "prefetch" },
      availability: { available: true, checked_at: 7, checked_by: "setup" },
    };
    expect(parseHealth(edited, "notes")).toEqual({
      provider: "notes",
      since: "1970-01-01T00:00:00.000Z",
      updated_at: "1970-01-01T00:00:00.000Z",
      hooks: {
        prefetch: { calls: 0, failures: 0, timeouts: 2, skipped: 0, total_ms: 0, max_ms: 0 },
        odd: { calls: 0, failures: 0, timeouts: 0, skipped: 0, total_ms: 0, max_ms: 0 },
      },
      texts: { cut: 3, unfenced: 0, blocked: 0 },
      dropped_tasks: 0,
      stray_errors: 0,
    });
  });

  it("of a provider with an odd name stays within its directory", () => {
    const home = tempDirectory();
    expect(addToHealthFile(home, "../../evil/name", { stray_errors: 1 })).toBe(true);
    expect(dirname(healthFilePath(home, "../../evil/name"))).toBe(join(home, "provider-health"));
    expect(readProviderHealth(home, "../../evil/name")).toMatchObject({ stray_errors: 1 });
  });

  it("loses nothing when two processes add at once", async () => {
    const home = tempDirectory();
    const added = [1, 2].map(() => startScript("provider-process.ts", ["add: 100", home]).rest());
    expect(await Promise.all(added)).toEqual([["added"], ["added"]]);
    expect(readProviderHealth(home, "notes")).toMatchObject({
      stray_errors: 200,
      hooks: { prefetch: { calls: 200, total_ms: 200, max_ms: 99 } },
    });
  });
});

describe("counts that cannot be written", () => {
  it("are kept until they can be written", () => {
    const home = tempDirectory();
    const blocked = join(home, "provider-health");
    writeFileSync(blocked, "a file where a directory should be");
    const recorder = new HealthRecorder(home, "notes", tickingClock());
    recorder.stray("first");
    recorder.write();
    expect(readProviderHealth(home, "notes")).toBeUndefined();
    rmSync(blocked);
    recorder.stray("second");
    recorder.write();
    recorder.write(); // and are added once
    expect(readProviderHealth(home, "notes")).toMatchObject({
      stray_errors: 2,
      last_error: { hook: "stray", message: "second" },
    });
  });

  it("wait for a lock only so long", async () => {
    const home = tempDirectory();
    addToHealthFile(home, "notes", { stray_errors: 1 });
    const holder = startScript("lock-holder.ts", [`${healthFilePath(home, "notes")}.lock`]);
    expect(await holder.nextLine()).toBe("held");
    expect(addToHealthFile(home, "notes", { stray_errors: 1 })).toBe(false);
    holder.closeInput();
    await holder.rest();
    expect(addToHealthFile(home, "notes", { stray_errors: 1 })).toBe(true);
    expect(readProviderHealth(home, "notes")?.stray_errors).toBe(2);
  });
});

describe("adding counts", () => {
  it("sums counts, and keeps the longest time and the latest error", () => {
    const before = emptyHealth("notes", "2026-03-01T00:00:00.000Z");
    const slow = { ...ONE_CALL, timeouts: 1, total_ms: 0.1, max_ms: 9 };
    const last_error = { hook: "prefetch", message: "no", at: "2026-03-02T00:00:00.000Z" };
    const once = addHealth(before, { hooks: { prefetch: ONE_CALL }, last_error }, "2026-03-02T00:00:00.000Z");
    const twice = addHealth(
      once,
      { hooks: { prefetch: slow }, texts: { cut: 1, unfenced: 2, blocked: 3 }, dropped_tasks: 4 },
      "2026-03-03T00:00:00.000Z",
    );
    expect(twice).toEqual({
      ...before,
      updated_at: "2026-03-03T00:00:00.000Z",
      hooks: { prefetch: { calls: 2, failures: 0, timeouts: 1, skipped: 0, total_ms: 1.6, max_ms: 9 } },
      texts: { cut: 1, unfenced: 2, blocked: 3 },
      dropped_tasks: 4,
      last_error,
    });
  });
});
