// kill -9 at random moments of a stream of writes: the file is always the old one or the new one.
import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { readJsonLines, sha256 } from "../../src/lib/index.ts";
import { startScript } from "../fakes/child.ts";
import { addAll, done, MemoryHome } from "../fakes/memory-home.ts";

/** Two lanes: 60 kills here, 200 with `npm run soak`. */
const KILLS_PER_LANE = process.env.HERMES_SOAK ? 100 : 30;
const ENTRY = /^k\d+-\d+ (wool )+end$/;

/** Lets a writer commit a few times, kills it at a random moment after that, returns its last report. */
async function killOne(home: MemoryHome, name: string): Promise<string | undefined> {
  const child = startScript("tireless-writer.ts", [
    home.dir,
    name,
    String(50 + Math.floor(Math.random() * 2000)),
  ]);
  expect(await child.nextLine()).toBe("ready");
  const commits = 1 + Math.floor(Math.random() * 3);
  let last: string | undefined;
  for (let index = 0; index < commits; index += 1) last = await child.nextLine();
  expect(last).toMatch(new RegExp(`^${name}-`)); // the write after the previous kill worked
  for (let turns = Math.random() * 400; turns > 0; turns -= 1) await new Promise(setImmediate);
  await child.kill();
  for (let line = await child.nextLine(); line !== undefined; line = await child.nextLine()) last = line;
  return last;
}

function check(home: MemoryHome, last: string | undefined): void {
  const text = home.text() ?? "";
  const entries = text.split("\n§\n");
  for (const entry of entries) expect(entry).toMatch(ENTRY);
  expect(entries.map((entry) => entry.split(" ")[0])).toContain(last); // what was reported is there
  const { values } = readJsonLines(home.path(".history", "memory.jsonl"));
  const { file_before, file_after } = values.at(-1) as Record<string, string | null>;
  expect([file_before, file_after]).toContain(sha256(text)); // old or new, and the journal knows which
}

async function lane(name: string): Promise<MemoryHome> {
  const home = new MemoryHome();
  for (let index = 0; index < KILLS_PER_LANE; index += 1)
    check(home, await killOne(home, `k${name}${index}`));
  return home;
}

describe("a writer that is killed again and again", () => {
  it("leaves a whole file, a journal that parses, and a store that goes on", async () => {
    // A process that ends normally fills the compile cache; killed ones cannot.
    await startScript("adding-process.ts", [new MemoryHome().dir, "first", "1"]).rest();
    for (const home of await Promise.all([lane("1"), lane("2")])) {
      const { damaged } = readJsonLines(home.path(".history", "memory.jsonl"));
      expect(damaged).toBe(0);
      const store = await home.open({ memoryCharLimit: 50_000 });
      const before = home.text();
      await addAll(store, ["still works"]);
      done(await store.undo());
      expect(home.text()).toBe(before);
      const leftovers = readdirSync(home.dir).filter((each) => each.endsWith(".tmp"));
      expect(leftovers.length).toBeLessThanOrEqual(KILLS_PER_LANE);
      done(await store.forget("no such text, but it cleans up"));
      expect(readdirSync(home.dir).filter((each) => each.endsWith(".tmp"))).toEqual([]);
    }
  }, 120_000);
});
