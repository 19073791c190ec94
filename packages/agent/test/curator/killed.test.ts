// kill -9 at any moment of a run: a rollback restores everything and leaves no temporary file.
import { describe, expect, it } from "vitest";
import { curatorHome, leftovers, rollBackWhatIsThere, runKilled, texts } from "./killed-runs.ts";

describe("a run killed before one of its renames, where its temporary file lies beside the real one", () => {
  it("can be taken back, and leaves no temporary file anywhere", async () => {
    const kill = { how: "apply-all", on: "renameSync" } as const;
    const { calls } = runKilled((await curatorHome()).home, { ...kill, at: 0 });
    expect(calls).toBeGreaterThan(10);
    for (let at = 1; at <= calls; at += Math.ceil(calls / 4)) {
      const home = await curatorHome();
      const before = texts(home);
      expect(runKilled(home.home, { ...kill, at }).signal).toBe("SIGKILL");
      expect(leftovers(home.home)).not.toEqual([]);
      await rollBackWhatIsThere(home);
      expect({ at, left: leftovers(home.home), texts: texts(home) }).toEqual({ at, left: [], texts: before });
    }
  });
});
