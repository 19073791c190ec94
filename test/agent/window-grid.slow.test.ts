// The whole table: windows x densities x engines, turns tried and failed. Prints it.
import { expect, it } from "vitest";
import { type Cell, type Outcome, runCell } from "./window-grid.ts";

const WINDOWS = [16_000, 32_000, 64_000, 128_000, 200_000];
const DENSITIES = [1, 2, 3, 4];
const ENGINES = ["compressor", "lcm"] as const;
const TURNS = Number(process.env.WINDOW_GRID_TURNS ?? 36);

/** How servers differ: what they report, and what they say when they refuse. */
const SERVERS: Readonly<Record<string, Pick<Cell, "hasUsage" | "refusal" | "maxOutputTokens">>> = {
  "usage, numbers in errors": {},
  "no usage, numbers in errors": { hasUsage: false, refusal: "llama" },
  "no usage, no numbers": { hasUsage: false, refusal: "mute" },
  "usage, reply of 1,000 tokens reserved": { maxOutputTokens: 1_000 },
};

it.each(Object.entries(SERVERS))(
  "no turn fails for its length on a server with %s",
  async (name, server) => {
    const lines: string[] = [];
    const failures: string[] = [];
    for (const engine of ENGINES)
      for (const window of WINDOWS)
        for (const density of DENSITIES) {
          const outcome = await runCell({ window, density, engine, turns: TURNS, ...server });
          lines.push(row(window, density, engine, outcome));
          failures.push(...outcome.failures.map((text) => `${engine} ${window} ${density}: ${text}`));
        }
    console.log(`${name}\n${HEADING}\n${lines.join("\n")}\n${failures.join("\n")}`);
    expect(failures).toEqual([]);
  },
  3_600_000,
);

const HEADING =
  "| engine | window | chars per token | turns | failed | compactions | requests refused | largest request |\n|---|---|---|---|---|---|---|---|";

function row(window: number, density: number, engine: string, outcome: Outcome): string {
  const { tried, failures, compactions, refused, largest } = outcome;
  const cells = [engine, window, density, tried, failures.length, compactions, refused, largest];
  return `| ${cells.join(" | ")} |`;
}
