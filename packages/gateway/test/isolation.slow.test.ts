// The long run of isolation.test.ts: every kind of caller, with every id of every other person.
import { describe, expect, it } from "vitest";
import { ATTACKERS, attackEverything, attackerOf } from "./isolation-run.ts";
import { isolationWorld } from "./isolation-world.ts";

describe("isolation", () => {
  it.each(ATTACKERS)(
    "holds against %s, with every id of all others",
    async (name) => {
      const world = await isolationWorld(name === "a local caller" ? "local" : "tokens");
      const { cases, requests, answered, leaks } = await attackEverything(
        world,
        await attackerOf(world, name),
        "all",
      );
      console.log(
        `${name}: ${cases} routes, ${requests} requests, ${answered} answered, ${leaks.length} leaks`,
      );
      expect(leaks).toEqual([]);
    },
    300_000,
  );
});
