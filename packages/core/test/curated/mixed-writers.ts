// Processes with koffi, with flock(1) and with neither add to one file at once.
import { expect } from "vitest";
import { startScript } from "../fakes/child.ts";
import { LOCK_MODES } from "../fakes/lock-modes.ts";
import { MemoryHome } from "../fakes/memory-home.ts";

const [koffi, flock, neither] = LOCK_MODES;

/** Every acknowledged entry must be in the file, and the hashes of the journal lines must form a chain. */
export async function expectNothingLost(addsEach: number): Promise<void> {
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
