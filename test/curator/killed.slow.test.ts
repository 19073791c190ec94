// As killed.test.ts, at every call that changes a file.
import { describe, expect, it } from "vitest";
import { curatorHome, leftovers, rollBackWhatIsThere, runKilled, texts } from "./killed-runs.ts";

describe.each(["apply-all", "stage-all"] as const)(
  "%s, killed in place of each call that changes a file",
  (how) => {
    it("is taken back by a rollback, and no temporary file is left anywhere", async () => {
      const { calls } = runKilled((await curatorHome()).home, { how, at: 0 });
      for (let at = 1; at <= calls; at += 1) {
        const home = await curatorHome();
        const before = texts(home);
        expect(runKilled(home.home, { how, at }).signal).toBe("SIGKILL");
        await rollBackWhatIsThere(home);
        expect({ at, left: leftovers(home.home), texts: texts(home) }).toEqual({
          at,
          left: [],
          texts: before,
        });
      }
    }, 900_000);
  },
);

describe("a rollback killed in place of each call that changes a file", () => {
  it("is finished by the next one, and no temporary file is left anywhere", async () => {
    const ran = async () => {
      const home = await curatorHome();
      const before = texts(home);
      runKilled(home.home, { how: "apply-all", at: 0 });
      return { home, before };
    };
    const { calls } = runKilled((await ran()).home.home, { how: "rollback", at: 0 });
    for (let at = 1; at <= calls; at += 1) {
      const { home, before } = await ran();
      expect(runKilled(home.home, { how: "rollback", at }).signal).toBe("SIGKILL");
      await rollBackWhatIsThere(home);
      expect({ at, left: leftovers(home.home), texts: texts(home) }).toEqual({ at, left: [], texts: before });
    }
  }, 900_000);
});
