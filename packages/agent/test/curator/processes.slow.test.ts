import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { startChild } from "../../../core/test/fakes/child.ts";
import { currentRunner, runCurator } from "../../src/curator/index.ts";
import { CuratorHome, gist } from "./curator-home.ts";

const CURATING = join(import.meta.dirname, "../fakes/curating-process.ts");

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
