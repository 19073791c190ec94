import { err } from "@hermes-memory/core/internal/lib";
import { describe, expect, it } from "vitest";
import { changeState, curatorDue, maybeRunCurator, readState } from "../../src/curator/index.ts";
import { CuratorHome, clockAt } from "./curator-home.ts";

const CONFIG = { enabled: true, intervalHours: 168, minIdleHours: 2 };
const NOW = new Date("2026-11-15T12:00:00Z");
const hoursAgo = (hours: number): string => new Date(NOW.getTime() - hours * 3_600_000).toISOString();

describe("whether the curator is due", () => {
  it.each([
    ["is put off when it never ran", { lastRunAt: null, isPaused: false }, CONFIG, undefined, "first"],
    ["is due after the interval", { lastRunAt: hoursAgo(168), isPaused: false }, CONFIG, undefined, "due"],
    ["is not due before it", { lastRunAt: hoursAgo(167), isPaused: false }, CONFIG, undefined, "too-early"],
    ["waits while the agent is in use", { lastRunAt: hoursAgo(200), isPaused: false }, CONFIG, 1, "busy"],
    ["does not wait for an idle agent", { lastRunAt: hoursAgo(200), isPaused: false }, CONFIG, 2, "due"],
    ["rests while it is paused", { lastRunAt: hoursAgo(200), isPaused: true }, CONFIG, undefined, "paused"],
    [
      "rests when it is switched off",
      { lastRunAt: hoursAgo(200), isPaused: false },
      { ...CONFIG, enabled: false },
      undefined,
      "disabled",
    ],
    ["treats an unreadable time as none", { lastRunAt: "soon", isPaused: false }, CONFIG, undefined, "first"],
  ])("%s", (_name, state, config, idle, expected) => {
    const due = curatorDue(state, config, NOW, idle);
    expect(due.kind === "not-due" ? due.reason : due.kind).toBe(expected);
  });

  it("waits one interval, not years, after the clock was set back", () => {
    const due = curatorDue({ lastRunAt: "2031-01-01T00:00:00Z", isPaused: false }, CONFIG, NOW);
    expect(due).toMatchObject({ nextAt: new Date("2026-11-22T12:00:00Z") });
  });
});

describe("a scheduled run", () => {
  it("is put off by one interval, then only proposes", async () => {
    const home = await CuratorHome.make();
    home.remember("Uses pnpm", "uses pnpm.");
    const at = (time: string) => maybeRunCurator({ memory: home.opened(clockAt(time)) });
    expect(await at("2026-01-01T00:00:00Z")).toEqual({ kind: "put-off" });
    expect(await at("2026-01-07T00:00:00Z")).toMatchObject({ kind: "not-due", due: { reason: "too-early" } });
    const before = home.memory;
    expect(await at("2026-01-08T00:00:00Z")).toMatchObject({
      kind: "ran",
      run: { mode: "propose", scope: "all", summary: "1 staged" },
    });
    expect(home.memory).toBe(before);
    expect(await at("2026-01-09T00:00:00Z")).toMatchObject({ kind: "not-due" });
    expect(readState(home.home)).toMatchObject({ ok: true, value: { runCount: 1 } });
  });

  it("looks for a model and for idle hours only when its time has come", async () => {
    const home = await CuratorHome.make();
    home.remember("Uses pnpm", "uses pnpm.");
    changeState(home.home, () => ({ lastRunAt: "2026-01-01T00:00:00Z" }));
    const asked: string[] = [];
    const run = (time: string, idle: number) =>
      maybeRunCurator({
        memory: home.opened(clockAt(time)),
        idleHours: async () => {
          asked.push("idle");
          return idle;
        },
        model: async () => {
          asked.push("model");
          return err("none");
        },
      });
    expect(await run("2026-01-07T00:00:00Z", 9)).toMatchObject({ due: { reason: "too-early" } });
    expect(asked).toEqual([]);
    expect(await run("2026-01-09T00:00:00Z", 1)).toMatchObject({ due: { reason: "busy" } });
    expect(asked).toEqual(["idle"]);
    expect(await run("2026-01-09T00:00:00Z", 2)).toMatchObject({ kind: "ran", run: { summary: "1 staged" } });
    expect(asked).toEqual(["idle", "idle", "model"]);
  });

  it("leaves memory alone where curator.memory is off", async () => {
    const home = await CuratorHome.make("curator:\n  memory: false\n");
    home.remember("Uses pnpm", "uses pnpm.");
    changeState(home.home, () => ({ lastRunAt: "2025-01-01T00:00:00Z" }));
    const outcome = await maybeRunCurator({ memory: home.opened(clockAt("2026-01-08T00:00:00Z")) });
    expect(outcome).toMatchObject({ kind: "ran", run: { scope: "skills", decided: [] } });
  });

  it("does not start on a state file that is damaged: it may say paused", async () => {
    const home = await CuratorHome.make();
    home.write("skills/.curator_state", '{"paused": tr');
    expect(await maybeRunCurator({ memory: home.opened() })).toMatchObject({ kind: "failed" });
    expect(home.read("skills/.curator_state")).toBe('{"paused": tr');
  });

  it("keeps fields of other programs in the state file", async () => {
    const home = await CuratorHome.make();
    home.write("skills/.curator_state", '{"last_run_summary_shown_at": "x", "run_count": 4}');
    changeState(home.home, () => ({ isPaused: true }));
    expect(JSON.parse(home.read("skills/.curator_state"))).toMatchObject({
      last_run_summary_shown_at: "x",
      run_count: 4,
      paused: true,
    });
  });
});
