// Adds facts one by one, alternating with the floor, so that a slow moment of the disk affects both.
import { round } from "../statistics.ts";
import { openFactHome, type Settings } from "./fact-home.ts";
import { openFloor } from "./floor.ts";
import type { GeneratedFact } from "./generate.ts";
import { type AddRates, addRates } from "./rates.ts";

export type Adds = AddRates & {
  /** The store's rate divided by that of `full`, which is as durable. */
  readonly of_floor: number;
  /** Bare tables: with an fsync for every commit (`full`), or only for checkpoints (`normal`). */
  readonly floor: { readonly full: AddRates; readonly normal: AddRates };
};

type AddOne = (fact: GeneratedFact) => unknown;

/** Facts per block: enough to warm the caches, and few enough that the disk's speed hardly changes within a block. */
const TURN = 100;

/** Fills the home, which must be empty. The floor's files are beside it. */
export async function measureAdds(
  home: string,
  settings: Settings,
  facts: readonly GeneratedFact[],
): Promise<Adds> {
  await using store = await openFactHome(home, settings);
  using full = openFloor(`${home}-full.db`, "full");
  using normal = openFloor(`${home}-normal.db`, "normal");
  const addToStore = meter(({ content, category, tags }) => store.ask("add", { content, category, tags }));
  const addToFull = meter((fact) => full.add(fact));
  const addToNormal = meter((fact) => normal.add(fact));
  for (let start = 0; start < facts.length; start += TURN) {
    const turn = facts.slice(start, start + TURN);
    for (const { addAll } of [addToStore, addToFull, addToNormal]) await addAll(turn);
  }
  const rates = addToStore.rates();
  const floor = { full: addToFull.rates(), normal: addToNormal.rates() };
  return { ...rates, of_floor: round(rates.per_s / floor.full.per_s, 3), floor };
}

function meter(add: AddOne) {
  const times: number[] = [];
  let cpuMs = 0;
  return {
    async addAll(facts: readonly GeneratedFact[]): Promise<void> {
      const before = process.cpuUsage();
      for (const fact of facts) {
        const startedAt = performance.now();
        await add(fact);
        times.push(performance.now() - startedAt);
      }
      const { user, system } = process.cpuUsage(before);
      cpuMs += (user + system) / 1000;
    },
    rates: () => addRates(times, cpuMs),
  };
}
