import { systemClock } from "@hermes-memory/core/internal/lib";
import { silentLogger } from "@hermes-memory/core/internal/logger";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { openTokens } from "../../../gateway/src/tokens.ts";
import { runHermes } from "./run.ts";

describe("hermes token in several processes at once", () => {
  it("loses no token and brings none back", async () => {
    const home = tempDirectory();
    const tokens = openTokens({ home, clock: systemClock, log: silentLogger });
    const old = await Promise.all(
      ["a", "b", "c"].map(async (name) => await tokens.create({ name, rights: { kind: "owner" } })),
    );
    expect(old.every(({ ok }) => ok)).toBe(true);
    const outcomes = await Promise.all([
      ...Array.from({ length: 8 }, async () => await runHermes(["token", "create"], { home })),
      ...["a", "b", "c"].map(async (name) => await runHermes(["token", "revoke", name, "--yes"], { home })),
    ]);
    expect(outcomes.map(({ code }) => code)).toEqual(Array.from({ length: 11 }, () => 0));
    expect(tokens.list()).toHaveLength(8);
    const made = outcomes.slice(0, 8).map(({ stdout }) => stdout.trim());
    const callers = made.map((token) => tokens.authenticate(token));
    expect(callers.every((caller) => "kind" in caller && caller.kind === "token")).toBe(true);
  }, 60_000);
});
