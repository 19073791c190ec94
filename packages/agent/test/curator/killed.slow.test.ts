// kill -9 instead of each rename and of every third call that changes a file: a rollback restores everything.
import { spawnSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { NODE_COMPILE_CACHE } from "../../../core/test/fakes/compile-cache.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { findRollback, rollBack, tidyUp } from "../../src/curator/index.ts";
import { CuratorHome } from "./curator-home.ts";

const FAKES = join(import.meta.dirname, "..", "fakes");
const MEMORY = [
  "Uses pnpm",
  "uses pnpm.",
  "The office of the team is in Graz",
  "The office of the team has a garden",
  "Until 2024-03-01 deploys are frozen",
];
/** One reply for every question; fields that do not belong to a question are ignored. */
const REPLY = JSON.stringify({
  merge: [{ entries: [2, 3], text: "The office of the team is in Graz and has a garden" }],
  contradictions: [],
  outdated: [],
  umbrellas: [{ name: "restarts", description: "When a machine hangs", members: ["one", "two"], reason: "" }],
});

async function curatorHome(): Promise<CuratorHome> {
  const home = await CuratorHome.make();
  home.remember(...MEMORY);
  const recent = { created_at: new Date(Date.now() - 2 * 86_400_000).toISOString() };
  home.skill("one", "Look at the log, then restart the service by hand.", recent);
  home.skill("two", "Ask who is logged in, then restart the machine.", recent);
  home.skill("old", "Never used since it was written.");
  return home;
}

type Killing = {
  readonly how: "apply-all" | "stage-all" | "rollback";
  readonly at: number;
  readonly on?: string;
};

/** How the process ended and, if it was not killed, how often it changed the file system. */
function runKilled(home: string, { how, at, on }: Killing): { signal: string | null; calls: number } {
  const countFile = join(tempDirectory(), "count");
  const hook = new URL("../fakes/kill-at.ts", import.meta.url).href;
  const args = ["--import", hook, join(FAKES, "curating-process.ts"), home, how, REPLY];
  const env = {
    ...process.env,
    NODE_COMPILE_CACHE,
    KILL_AT: String(at),
    KILL_COUNT: countFile,
    ...(on ? { KILL_ON: on } : {}),
  };
  const { signal, status, stderr } = spawnSync(process.execPath, args, { env, encoding: "utf8" });
  if (signal !== null) return { signal, calls: 0 };
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return { signal, calls: Number(readFileSync(countFile, "utf8")) };
}

/** The texts of memory and skills. */
function texts(home: CuratorHome): Readonly<Record<string, string>> {
  const files = Object.entries({ ...home.files("skills"), memory: home.memory });
  return Object.fromEntries(files.filter(([name]) => name === "memory" || /^\w+\/SKILL\.md$/.test(name)));
}

/** Temporary files of memory and staging directories of a restore. */
function leftovers(home: string): string[] {
  const names = readdirSync(home, { recursive: true, encoding: "utf8" });
  return names.filter((name) =>
    /^memories\b.*(\.tmp|\.rescue)$|\.staging-|\.curator_running\.json$/.test(name),
  );
}

/** Does the same as `hermes curator rollback`. */
async function rollBackWhatIsThere(home: CuratorHome): Promise<void> {
  await tidyUp(home.opened());
  const plan = await findRollback(home.opened());
  if (!plan.ok) return expect(plan.error.kind).toBe("nothing");
  expect(await rollBack(plan.value, home.opened())).toMatchObject({ ok: true });
}

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
    "the run %s is taken back by a rollback",
    (how) => expectTakenBack(fresh, { ...point, how }),
    900_000,
  );

  it("a rollback is finished by the next one", async () => {
    const ran = await afterRun();
    const copy = async () => {
      const home = new CuratorHome(tempDirectory(), ran.home.config);
      cpSync(ran.home.home, home.home, { recursive: true, filter: (path) => !path.endsWith(".sqlite.lock") });
      return { home, before: ran.before };
    };
    await expectTakenBack(copy, { ...point, how: "rollback" });
  }, 900_000);
});
