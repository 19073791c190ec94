// A small part of the table in window-grid.slow.test.ts, and servers with stranger answers.
import { describe, expect, it } from "vitest";
import { registering, writeEngine } from "../../../core/test/fakes/engine-plugins.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { type Cell, runCell } from "./window-grid.ts";

/** Turns 6 to 9 hold results of 60 % and 150 % of the window. */
const TURNS = 9;

describe("no turn fails for its length", () => {
  it.each<Omit<Cell, "turns">>([
    { engine: "lcm", window: 64_000, density: 1 },
    { engine: "lcm", window: 16_000, density: 3 },
    { engine: "compressor", window: 16_000, density: 1 },
    { engine: "compressor", window: 32_000, density: 2 },
  ])("$engine, $window tokens, $density characters per token", async (cell) => {
    const { failures, compactions } = await runCell({ ...cell, turns: TURNS });
    expect(failures).toEqual([]);
    expect(compactions).toBeGreaterThan(0);
  });

  it.each(["compressor", "lcm"] as const)(
    "with a server that reports no usage and states no number (%s)",
    async (engine) => {
      const cell = { window: 16_000, density: 1.5, hasUsage: false, refusal: "mute" } as const;
      const { failures, refused } = await runCell({ ...cell, engine, turns: TURNS });
      expect(failures).toEqual([]);
      expect(refused).toBeGreaterThan(0);
    },
  );

  it.each(["limit", "mute"] as const)(
    "when the window is a quarter of what is believed, and errors are of kind %s",
    async (refusal) => {
      const cell = { engine: "compressor", window: 16_000, believed: 64_000, density: 2, refusal } as const;
      const { failures, refused } = await runCell({ ...cell, hasUsage: false, turns: TURNS });
      expect(failures).toEqual([]);
      expect(refused).toBeGreaterThan(0);
    },
  );
});

describe("an engine whose trigger stays silent", () => {
  it("does not leave a session stuck: results are cut, and say where the rest is", async () => {
    const home = tempDirectory();
    // As after two compactions in a row that gained nothing, or a plugin that never compacts.
    writeEngine(home, "idle", registering("idle", "hasContentToCompress() { return false; }"));
    const results = [[0.5]];
    const cell = { engine: "idle", window: 16_000, density: 2, turns: 6, home, results } as const;
    const { failures, refused, messages } = await runCell(cell);
    expect(failures).toEqual([]);
    expect(refused).toBeLessThan(3);
    const cut = messages.filter(({ content }) => String(content).includes("are left out here"));
    expect(cut.length).toBeGreaterThan(0);
    expect(String(cut[0]?.content)).toMatch(/read_result|message \d+ of session \d{8}_\d{6}_/);
  });
});
