import { it } from "vitest";
import { randomNumbers } from "../../fakes/random.ts";
import { playRound } from "./brute-force.ts";

const SEEDS = Array.from({ length: 40 }, (_, at) => 1000 + at);

it.each(SEEDS)(
  "finds what a search over plain arrays finds, in 100 rounds (%i)",
  { timeout: 120_000 },
  async (seed) => {
    await playRound({ seed, random: randomNumbers(seed), queries: 100 });
  },
);
