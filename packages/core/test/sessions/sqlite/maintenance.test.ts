// The contract of maintenance is in testing/session-store/maintenance.ts.
import { expect, it } from "vitest";
import { maintenanceOperations } from "../../../src/sessions/sqlite/maintenance.ts";
import { contextWith } from "./operations.ts";

const NOW = Date.parse("2026-06-01T00:00:00Z") / 1000;

function pruning(lastPruned: string | undefined, prune: () => Promise<number>) {
  const read = async (work: () => unknown) => work();
  const get = () => (lastPruned === undefined ? undefined : { value: lastPruned });
  const write = async (work: () => unknown) => work();
  const run = () => ({ changes: 1, lastId: 0 });
  const context = contextWith({ read, write, get, run } as never);
  return maintenanceOperations(context, { pruneSessions: prune }).maybeAutoPruneAndVacuum({ vacuum: false });
}

it.each([
  ["never", undefined, false],
  ["a minute ago", String(NOW - 60), true],
  ["two days ago", String(NOW - 2 * 86_400), false],
  ["in the future, before the clock was set back", String(NOW + 60), false],
] as const)("automatic pruning that last ran %s", async (_when, lastPruned, isSkipped) => {
  expect(await pruning(lastPruned, async () => 3)).toEqual({
    skipped: isSkipped,
    pruned: isSkipped ? 0 : 3,
    vacuumed: false,
  });
});

it("a failed pruning is reported and does not reject", async () => {
  const failing = async () => {
    throw new Error("disk full");
  };
  expect(await pruning(undefined, failing)).toMatchObject({ pruned: 0, error: "disk full" });
});
