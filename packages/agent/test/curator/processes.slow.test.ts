import { join } from "node:path";
import { readJsonLines } from "@hermes-memory/core/internal/lib";
import { describe, expect, it } from "vitest";
import { type Child, startChild } from "../../../core/test/fakes/child.ts";
import { currentRunner, readRuns, runCurator } from "../../src/curator/index.ts";
import { CuratorHome, gist } from "./curator-home.ts";

const CURATING = join(import.meta.dirname, "../fakes/curating-process.ts");

const WORDS = "oak elm ash fir yew box bay fig may nut".split(" ");

/** Twenty facts, each with a twin. */
function twins(): string[] {
  const facts = WORDS.flatMap((one) => [
    `The ${one} tree is cut in spring`,
    `The ${one} tree is fed in autumn`,
  ]);
  return facts.flatMap((fact) => [fact, `${fact.toLowerCase()}.`]);
}

async function ticks(child: Child, count: number): Promise<void> {
  for (let seen = 0; seen < count; ) {
    const line = await child.nextLine();
    if (line === undefined) return;
    if (line === "tick") seen += 1;
  }
}

describe("two curators at once", () => {
  it("exclude each other: the second is told which process runs, and may start when the first was killed", async () => {
    const home = await CuratorHome.make();
    home.remember("Uses pnpm", "uses pnpm.", "Lives in Graz", "Likes tea");
    const child = startChild(process.execPath, [CURATING, home.home, "hang"]);
    expect(await child.nextLine()).toBe("ready");
    expect(await child.nextLine()).toBe("asked");
    const options = { memory: home.opened(), mode: "apply", scope: "memory" } as const;
    const second = await runCurator(options);
    expect(second).toMatchObject({ ok: false, error: { kind: "running", runner: { pid: child.pid } } });
    expect(currentRunner(home.home)).toMatchObject({ pid: child.pid });
    expect(gist(await home.run())).toHaveLength(1); // a dry run takes no lock
    await child.kill();
    expect(currentRunner(home.home)).toBeUndefined();
    expect(await runCurator(options)).toMatchObject({ ok: true, value: { summary: "1 applied" } });
    expect(home.memory).toBe("Uses pnpm\n§\nLives in Graz\n§\nLikes tea");
  });
});

describe("a curator killed in the middle of its work", () => {
  it.each([1, 6, 9, 14, 23, 31])(
    "after %i steps has lost nothing, and can be taken back or finished",
    async (count) => {
      const home = await CuratorHome.make("memory:\n  memory_char_limit: 10000\n");
      const entries = twins();
      home.remember(...entries);
      const before = home.memory;
      const child = startChild(process.execPath, [CURATING, home.home]);
      await ticks(child, count);
      await child.kill();
      const left = home.memory.split("\n§\n");
      expect(left).toEqual(entries.filter((entry) => left.includes(entry)));
      for (const fact of entries.filter((_, index) => index % 2 === 0)) expect(left).toContain(fact);
      expect(readJsonLines(join(home.home, "memories/.history/memory.jsonl")).damaged).toBe(0);
      if (left.length < entries.length) {
        const [run] = readRuns(home.home);
        await home.rollBack(run?.id);
        expect(home.memory).toBe(before);
      }
      await home.run({ mode: "apply" });
      expect(home.memory.split("\n§\n")).toEqual(entries.filter((_, index) => index % 2 === 0));
      await home.rollBack();
      expect(home.memory).toBe(before);
    },
  );
});
