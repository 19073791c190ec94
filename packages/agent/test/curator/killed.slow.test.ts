// Like killed.test.ts, but killed at every rename and at every third call that changes a file.
import { cpSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { CuratorHome } from "./curator-home.ts";
import {
  curatorHome,
  type Killing,
  leftovers,
  rollBackWhatIsThere,
  runKilled,
  texts,
} from "./killed-runs.ts";

const POINTS = [
  { name: "before each rename", on: "renameSync", step: 1 },
  { name: "in place of every third call that changes a file", step: 3 },
] as const;

async function expectTakenBack(
  start: () => Promise<{ home: CuratorHome; before: object }>,
  { how, on, step }: Pick<Killing, "how" | "on"> & { readonly step: number },
): Promise<void> {
  const kill = { how, on };
  const { calls } = runKilled((await start()).home.home, { ...kill, at: 0 });
  expect(calls).toBeGreaterThan(0);
  for (let at = 1; at <= calls; at += step) {
    const { home, before } = await start();
    expect(runKilled(home.home, { ...kill, at }).signal).toBe("SIGKILL");
    await rollBackWhatIsThere(home);
    expect({ at, left: leftovers(home.home), texts: texts(home) }).toEqual({ at, left: [], texts: before });
  }
}

const fresh = async () => {
  const home = await curatorHome();
  return { home, before: texts(home) };
};

const afterRun = async () => {
  const { home, before } = await fresh();
  runKilled(home.home, { how: "apply-all", at: 0 });
  return { home, before };
};

describe.each(POINTS)("killed $name", (point) => {
  it.each(["apply-all", "stage-all"] as const)(
    "the run %s is taken back by a rollback, and no temporary file is left anywhere",
    (how) => expectTakenBack(fresh, { ...point, how }),
    900_000,
  );

  it("a rollback is finished by the next one, and no temporary file is left anywhere", async () => {
    const ran = await afterRun();
    const copy = async () => {
      const home = new CuratorHome(tempDirectory(), ran.home.config);
      cpSync(ran.home.home, home.home, { recursive: true, filter: (path) => !path.endsWith(".sqlite.lock") });
      return { home, before: ran.before };
    };
    await expectTakenBack(copy, { ...point, how: "rollback" });
  }, 900_000);
});
