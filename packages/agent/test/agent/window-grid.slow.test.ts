// Combinations of windows, densities and engines: prints the tried and failed turns, a table for each kind of server.
// WINDOW_GRID_TURNS: turns of each conversation, default 24.
import { afterAll, describe, expect, it } from "vitest";
import { type Cell, runCell } from "./window-grid.ts";

const TURNS = Number(process.env.WINDOW_GRID_TURNS ?? 24);

/** How servers differ: in the usage they report, and in their errors. */
const SERVERS: Readonly<Record<string, Pick<Cell, "hasUsage" | "refusal" | "maxOutputTokens">>> = {
  "usage, and numbers in errors": {},
  "no usage, but numbers in errors": { hasUsage: false, refusal: "llama" },
  "neither usage nor numbers": { hasUsage: false, refusal: "mute" },
  "usage, and 1,000 tokens reserved for the reply": { maxOutputTokens: 1_000 },
};

const CELLS = ["compressor", "lcm"].flatMap((engine) =>
  [16_000, 64_000, 200_000].flatMap((window) => [1, 4].map((density) => ({ engine, window, density }))),
);

describe.each(Object.entries(SERVERS))("no turn fails for its length on a server with %s", (name, server) => {
  const rows: string[] = [];
  afterAll(() => console.log(`${name}\n${HEADING}\n${rows.join("\n")}`));

  it.each(CELLS)("$engine, $window tokens, $density characters per token", async (cell) => {
    const outcome = await runCell({ ...cell, ...server, turns: TURNS });
    const { tried, failures, compactions, refused, largest } = outcome;
    const { engine, window, density } = cell;
    const figures = [engine, window, density, tried, failures.length, compactions, refused, largest];
    rows.push(`| ${figures.join(" | ")} |`);
    expect(failures).toEqual([]);
  });
});

const HEADING =
  "| engine | window | chars per token | turns | failed | compactions | requests refused | largest request |\n|---|---|---|---|---|---|---|---|";
