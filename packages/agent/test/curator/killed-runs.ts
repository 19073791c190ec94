// A run of the curator that is killed instead of making one of its file system calls, and the rollback after it.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
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

export async function curatorHome(): Promise<CuratorHome> {
  const home = await CuratorHome.make();
  home.remember(...MEMORY);
  const recent = { created_at: new Date(Date.now() - 2 * 86_400_000).toISOString() };
  home.skill("one", "Look at the log, then restart the service by hand.", recent);
  home.skill("two", "Ask who is logged in, then restart the machine.", recent);
  home.skill("old", "Never used since it was written.");
  return home;
}

export type Killing = {
  readonly how: "apply-all" | "stage-all" | "rollback";
  readonly at: number;
  readonly on?: string;
};

/** How the process ended and, if it was not killed, how often it changed the file system. */
export function runKilled(home: string, { how, at, on }: Killing): { signal: string | null; calls: number } {
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
export function texts(home: CuratorHome): Readonly<Record<string, string>> {
  const files = Object.entries({ ...home.files("skills"), memory: home.memory });
  return Object.fromEntries(files.filter(([name]) => name === "memory" || /^\w+\/SKILL\.md$/.test(name)));
}

/** Temporary files and staging directories of a restore, anywhere below the home. */
export function leftovers(home: string): string[] {
  const names = readdirSync(home, { recursive: true, encoding: "utf8" });
  return names.filter((name) => /\.tmp(\.|$)|\.rescue$|\.staging-|\.curator_running/.test(name));
}

/** Does the same as `hermes curator rollback`. */
export async function rollBackWhatIsThere(home: CuratorHome): Promise<void> {
  await tidyUp(home.opened());
  const plan = await findRollback(home.opened());
  if (!plan.ok) return expect(plan.error.kind).toBe("nothing");
  expect(await rollBack(plan.value, home.opened())).toMatchObject({ ok: true });
}
