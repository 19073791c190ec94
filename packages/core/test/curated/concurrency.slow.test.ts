// Many processes on one store: nothing is lost, and no reader ever sees half a file.
import { readFileSync, statSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { startChild, startScript } from "../fakes/child.ts";
import { MemoryHome } from "../fakes/memory-home.ts";
import { hasPython, PYTHON_ADDS } from "../fakes/python-writer.ts";

const ENTRY = /^note \d+ of writer \w+$/;

/** Reads the file in a loop while `work` runs; every content read must be a list of whole entries. */
async function watching(
  home: MemoryHome,
  work: Promise<unknown>,
): Promise<{ looks: number; torn: string[] }> {
  let isRunning = true;
  const finished = work.finally(() => {
    isRunning = false;
  });
  const torn: string[] = [];
  let looks = 0;
  let longest = 0;
  while (isRunning) {
    const text = home.text() ?? "";
    const entries = text === "" ? [] : text.split("\n§\n");
    if (!entries.every((entry) => ENTRY.test(entry)) || entries.length < longest) torn.push(text.slice(-200));
    longest = entries.length;
    looks += 1;
    await new Promise((resolve) => setImmediate(resolve));
  }
  await finished;
  return { looks, torn };
}

describe("eight processes with fifty adds each", () => {
  it("leave four hundred entries, a whole journal, and no torn file at any moment", async () => {
    const home = new MemoryHome();
    const writers = Array.from({ length: 8 }, (_, index) =>
      startScript("adding-process.ts", [home.dir, `w${index}`, "50"]),
    );
    const work = Promise.all(writers.map((writer) => writer.rest()));
    const { looks, torn } = await watching(home, work);
    const reported = (await work).flat();
    const entries = home.text()?.split("\n§\n") ?? [];
    expect(torn).toEqual([]);
    expect(looks).toBeGreaterThan(10);
    expect(entries).toHaveLength(400);
    expect([...entries].sort()).toEqual(reported.sort());
    const journal = home.journal();
    expect(journal.map(({ after }) => after)).toEqual(entries); // one line each, in the order of the file
    for (const [index, line] of journal.entries())
      expect(line.file_before).toBe(index === 0 ? null : journal[index - 1]?.file_after);
  }, 60_000);

  it.skipIf(!hasPython)(
    "share the lock with a Python process that takes fcntl.flock",
    async () => {
      const home = new MemoryHome();
      await home.open();
      const writers = [
        startChild("python3", ["-c", PYTHON_ADDS, home.dir, "python", "40"]),
        startScript("adding-process.ts", [home.dir, "w0", "40"]),
        startScript("adding-process.ts", [home.dir, "w1", "40"]),
      ];
      const work = Promise.all(writers.map((writer) => writer.rest()));
      const { torn } = await watching(home, work);
      const reported = (await work).flat();
      expect(torn).toEqual([]);
      expect(home.text()?.split("\n§\n").sort()).toEqual(reported.sort());
      const store = await home.open({ memoryCharLimit: 1e6 });
      const external = store.history().filter(({ origin }) => origin === "external");
      expect(external.flatMap(({ changes }) => changes).map(({ after }) => after)).toHaveLength(40);
    },
    60_000,
  );
});

describe("two hundred writers", () => {
  it("from several processes at once all get through", async () => {
    const home = new MemoryHome();
    const script = `
      import { MemoryStore } from ${JSON.stringify(new URL("../../src/index.ts", import.meta.url).href)};
      const [dir, name] = process.argv.slice(1);
      const one = async (index) => {
        const store = new MemoryStore({ dir, memoryCharLimit: 1e6, lockTimeoutMs: 60000 });
        const outcome = await store.apply("memory", { action: "add", content: "note " + index + " of writer " + name });
        if (!outcome.ok) throw new Error(outcome.error.message);
      };
      await Promise.all(Array.from({ length: 50 }, (_, index) => one(index)));`;
    const writers = ["a", "b", "c", "d"].map((name) =>
      startChild(process.execPath, ["--input-type=module", "-e", script, home.dir, name]),
    );
    await Promise.all(writers.map((writer) => writer.rest()));
    const entries = home.text()?.split("\n§\n") ?? [];
    expect([entries.length, new Set(entries).size, home.journal().length]).toEqual([200, 200, 200]);
    expect(entries.every((entry) => ENTRY.test(entry))).toBe(true);
    expect(statSync(home.path("MEMORY.md")).size).toBe(readFileSync(home.path("MEMORY.md")).length);
  }, 60_000);
});
