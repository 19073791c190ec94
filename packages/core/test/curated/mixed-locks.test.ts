// Writers that lock in different ways; the result of a write says when the Python original is not excluded.
import { describe, expect, it } from "vitest";
import type { MemoryOpOutcome } from "../../src/index.ts";
import { startScript } from "../fakes/child.ts";
import { LOCK_MODES } from "../fakes/lock-modes.ts";
import { MemoryHome } from "../fakes/memory-home.ts";

const [koffi, flock, neither] = LOCK_MODES;

/** Every acknowledged entry must be in the file, and the hashes of the journal lines must form a chain. */
async function expectNothingLost(addsEach: number): Promise<void> {
  const home = new MemoryHome();
  const writers = [koffi, koffi, flock, neither].map((mode, index) =>
    startScript("adding-process.ts", [home.dir, `w${index}`, String(addsEach)], mode.flags),
  );
  const acknowledged = (await Promise.all(writers.map((writer) => writer.rest()))).flat();
  const entries = home.text()?.split("\n§\n") ?? [];
  expect(acknowledged).toHaveLength(4 * addsEach);
  expect(entries.toSorted()).toEqual(acknowledged.toSorted());
  const journal = home.journal();
  expect(journal.map(({ after }) => after)).toEqual(entries);
  for (const [index, line] of journal.entries())
    expect(line.file_before).toBe(index === 0 ? null : journal[index - 1]?.file_after);
}

describe("four processes, two with koffi, one with flock(1), one with neither", () => {
  it("lose none of 120 adds", () => expectNothingLost(30));
});

describe("a process with neither koffi nor flock(1)", () => {
  it("says in the result of every write that Python is not excluded, and once in the warnings", async () => {
    const home = new MemoryHome();
    const add = (content: string) => ({ call: "apply", target: "memory", op: { action: "add", content } });
    const calls = JSON.stringify([
      { call: "load" },
      add("one"),
      add("two"),
      add("two"),
      { call: "warnings" },
    ]);
    const child = startScript("memory-calls.ts", [home.dir, '{"memoryCharLimit":10}', calls], neither.flags);
    const [, first, second, repeated, warnings] = (await child.rest()).map(
      (line) => JSON.parse(line) as unknown,
    );
    const warningOf = (outcome: unknown) => (outcome as { value: MemoryOpOutcome }).value.warning;
    expect(home.text()).toBe("one\n§\ntwo");
    expect(warningOf(first)).toMatch(
      /^File locks do not exclude the Python version of Hermes here \(koffi cannot be loaded: .*; flock\(1\) is not installed\)\. Install koffi or flock\(1\), /,
    );
    expect(warningOf(second)).toMatch(/90% .*File locks do not exclude the Python version of Hermes/); // both are told
    expect(warningOf(repeated)).not.toMatch(/File locks/); // nothing was written
    expect(warnings).toEqual([warningOf(first)]);
  });
});
