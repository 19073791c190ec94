import { it } from "vitest";
import { randomNumbers } from "../../fakes/random.ts";
import { playRound } from "./brute-force.ts";

it.each([1, 2, 3, 4])(
  "finds what a search over plain arrays finds, while messages come, change and go (%i)",
  async (seed) => {
    await playRound({ seed, random: randomNumbers(seed), queries: 60 });
  },
  60_000,
);
