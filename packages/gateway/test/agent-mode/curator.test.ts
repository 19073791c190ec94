// The scheduled curator beside the gateway: for the owner, when due and idle, and never in the way of the server.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ENTRY_DELIMITER } from "@hermes-memory/core/internal/curated";
import { namesIn } from "@hermes-memory/core/internal/lib";
import { type Logger, silentLogger } from "@hermes-memory/core/internal/logger";
import { describe, expect, it } from "vitest";
import { changeState, readState } from "../../../agent/src/curator/index.ts";
import { takeRunLock } from "../../../agent/src/curator/run-lock.ts";
import type { Step } from "../../../agent/test/fakes/wires/script.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { type ModeSetting, modeHome } from "./mode-home.ts";

const ANA = { platform: "web", id: "ana" };
const HOUR_MS = 3_600_000;
const WEEK_MS = 7 * 24 * HOUR_MS;
const EQUAL = ["Deploys on Monday.", "deploys on Monday."];
const ALIKE = [
  "The project uses pnpm for package management",
  "Package management in the project is done with pnpm, never yarn",
];

/** A home whose curator is due. */
async function dueHome(reply: Step, entries: readonly string[] = EQUAL, setting: ModeSetting = {}) {
  const path = tempDirectory();
  const file = join(path, "memories", "MEMORY.md");
  mkdirSync(join(path, "memories"));
  writeFileSync(file, `${entries.join(ENTRY_DELIMITER)}\n`);
  const made = await modeHome(() => reply, { ...setting, home: path });
  const warned: string[] = [];
  const log: Logger = { ...silentLogger, warn: (message) => void warned.push(message) };
  Object.assign(made.gateway, { log });
  changeState(path, () => ({ lastRunAt: new Date(made.clock.atMs - WEEK_MS).toISOString() }));
  const runs = (): number => {
    const state = readState(path);
    return state.ok ? state.value.runCount : Number.NaN;
  };
  return {
    made,
    warned,
    runs,
    staged: () => namesIn(join(path, "pending", "memory")),
    entries: () => readFileSync(file, "utf8").trim().split(ENTRY_DELIMITER),
  };
}

describe("the curator", () => {
  it("runs when it is due and the owner has been idle, and only stages", async () => {
    const { made, runs, staged, entries } = await dueHome({ text: "Hello." });
    await made.ask({ text: "hi" });
    await made.mode.sweep();
    expect(runs()).toBe(0); // the owner was here a moment ago
    made.clock.atMs += 30 * HOUR_MS; // entries of today are left alone
    await made.ask({ text: "hi", user: ANA });
    await made.mode.sweep();
    await made.mode.sweep();
    expect(runs()).toBe(1);
    expect(staged()).toHaveLength(1);
    expect(entries()).toEqual(EQUAL);
  });

  it("does not run beside another process, says so once, and is there again a day later", async () => {
    const { made, runs, warned } = await dueHome({ text: "{}" });
    const held = takeRunLock(made.home, "apply", new Date());
    if (!held.ok) throw new Error(held.error.message);
    for (let round = 0; round < 3; round += 1) await made.mode.sweep();
    expect([runs(), warned]).toEqual([0, ["The scheduled curator run did not happen"]]);
    held.value[Symbol.dispose]();
    made.clock.atMs += 24 * HOUR_MS;
    await made.mode.sweep();
    expect([runs(), warned.length]).toEqual([1, 1]);
  });

  it("is stopped with the server while its model has not answered, and stays due", async () => {
    const { made, runs, staged, warned } = await dueHome({ text: "{}", pauseBefore: "forever" }, ALIKE);
    void made.mode.sweep();
    await made.server.waitForRequest(0);
    const startedAtMs = performance.now();
    await made.mode.close();
    expect(performance.now() - startedAtMs).toBeLessThan(3_000);
    expect([runs(), staged(), warned]).toEqual([0, [], []]);
  });
});
