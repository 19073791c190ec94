import { rmSync } from "node:fs";
import { join } from "node:path";
import { approvePending, readPendingWrites } from "@hermes-memory/core/internal/curated";
import { pendingWritesDirectory } from "@hermes-memory/core/internal/home";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { done } from "../../../../core/test/fakes/memory-home.ts";
import { CuratorHome, clockAt, gist } from "../curator-home.ts";

const PLANTED = [
  "Uses pnpm, not npm",
  "uses  pnpm, not npm.",
  "Deploys on Monday",
  "The staging server runs Ubuntu 22.04",
  "Deploys on Friday",
  "The staging server currently runs Ubuntu 22.04",
  "On vacation until 2024-03-01",
];
const FOUND = ["duplicate: uses  pnpm, not npm.", "stale: On vacation until 2024-03-01"];
const LEFT = [
  "Uses pnpm, not npm",
  "Deploys on Monday",
  "The staging server runs Ubuntu 22.04",
  "Deploys on Friday",
  "The staging server currently runs Ubuntu 22.04",
];

async function planted(): Promise<CuratorHome> {
  const home = await CuratorHome.make();
  home.remember(...PLANTED);
  home.write("memories/USER.md", "Prefers metric units");
  return home;
}

describe("a store with a planted duplicate and a date that is over", () => {
  it("shows exactly those in a dry run, which writes nothing", async () => {
    const home = await planted();
    const before = home.files();
    const run = await home.run({ scope: "all" });
    expect(gist(run)).toEqual(FOUND);
    expect(run.findings).toEqual([]);
    expect(home.files()).toEqual(before);
  });

  it("is what it was, byte for byte, after a rollback", async () => {
    const home = await planted();
    home.write("memories/MEMORY.md", `${home.memory.replaceAll("\n§\n", " \n§\n")}\n§\nDeploys on Monday\n`);
    const before = home.memory;
    const run = await home.run({ mode: "apply" });
    expect(gist(run)).toEqual(["identical: ", ...FOUND]);
    expect(home.memory.split("\n§\n")).toEqual(LEFT);
    expect(await home.rollBack()).toMatchObject({ exact: ["memory"] });
    expect(home.memory).toBe(before);
    expect((await home.store()).archived()).toEqual([]);
    await expect(home.rollBack()).rejects.toThrow("no curator run to take back");
    await expect(home.rollBack(run.id)).rejects.toThrow("nothing that is still there");
  });

  it("is tidied step by step when its proposals are approved, and one rollback takes all of that back", async () => {
    const home = await planted();
    const before = home.memory;
    const run = await home.run({ mode: "propose" });
    expect(home.memory).toBe(before);
    const directory = pendingWritesDirectory(home.home);
    const { records } = readPendingWrites(directory);
    expect(records.map(({ group, origin }) => [group, origin])).toEqual(FOUND.map(() => [run.id, "curator"]));
    expect((await home.run({ mode: "propose" })).decided.map(({ outcome }) => outcome.kind)).toEqual(
      FOUND.map(() => "waiting"),
    );
    const store = await home.store();
    for (const { id } of records) done(await approvePending(store, directory, id));
    expect(home.memory.split("\n§\n")).toEqual(LEFT);
    await home.rollBack(run.id);
    expect(home.memory).toBe(before);
  });
});

describe("the curator", () => {
  it("never takes what is pinned", async () => {
    const home = await CuratorHome.make();
    home.remember("Uses pnpm", "uses pnpm.", "On vacation until 2024-03-01");
    const store = await home.store();
    for (const entry of store.entries("memory")) done(await store.pin("memory", entry));
    const before = home.memory;
    expect(gist(await home.run({ mode: "apply" }))).toEqual([]);
    expect(home.memory).toBe(before);
  });

  it("leaves alone in a scheduled run what a person wrote that day, and does not ask twice", async () => {
    const home = await CuratorHome.make();
    const store = await home.store();
    for (const content of ["Uses pnpm", "uses pnpm."])
      done(await store.apply("memory", { action: "add", content }, { origin: "cli" }));
    const later = (hours: number) => ({ now: () => new Date(Date.now() + hours * 3_600_000) });
    const scheduled = { mode: "propose", isScheduled: true } as const;
    expect(gist(await home.run({ ...scheduled, clock: later(1) }))).toEqual([]);
    expect(gist(await home.run({ mode: "dry-run" }))).toHaveLength(1);
    const first = await home.run({ ...scheduled, clock: later(48) });
    expect(first.decided).toMatchObject([{ outcome: { kind: "staged" } }]);
    rmSync(pendingWritesDirectory(home.home), { recursive: true });
    const second = await home.run({ ...scheduled, clock: later(49) });
    expect(second.decided).toMatchObject([{ outcome: { kind: "waiting" } }]);
  });

  it("says what is large, and leaves it", async () => {
    const home = await CuratorHome.make();
    home.remember("wool ".repeat(200).trim(), "tin ".repeat(220).trim());
    const run = await home.run({ mode: "apply" });
    expect(run.findings.map(({ kind }) => kind)).toEqual(["oversize", "nearly-full"]);
    expect(run.decided).toEqual([]);
  });

  it("goes on with the other file when one cannot be read", async () => {
    const home = await CuratorHome.make();
    home.write("memories/MEMORY.md", "");
    rmSync(join(home.home, "memories/MEMORY.md"));
    home.write("memories/MEMORY.md/not-a-file", "");
    home.write("memories/USER.md", "Likes tea\n§\nlikes tea.");
    const run = await home.run({ mode: "apply" });
    expect(run.notes).toMatchObject([expect.stringContaining("left alone")]);
    expect(home.read("memories/USER.md")).toBe("Likes tea");
  });

  it("keeps texts of memory out of its reports", async () => {
    const home = await planted();
    await home.run({ mode: "apply" });
    await home.run({ mode: "propose", clock: clockAt("2026-11-15T12:00:00Z") });
    const text = Object.values(home.files("logs")).join("\n");
    expect(text).toContain("duplicate in memory");
    for (const entry of PLANTED) expect(text).not.toContain(entry);
  });

  it("tells of a later edit instead of undoing half of a run", async () => {
    const home = await planted();
    await home.run({ mode: "apply" });
    const store = await home.store();
    done(await store.apply("memory", { action: "add", content: "uses  pnpm, not npm." }));
    const before = home.memory;
    await expect(home.rollBack()).rejects.toThrow("is stored again");
    expect(home.memory).toBe(before);
  });
});

const word = fc.constantFrom(..."uses Uses pnpm. tea Tea, likes not 5 Anna until 2024-01-01 §".split(" "));
const entry = fc.array(word, { minLength: 1, maxLength: 6 }).map((words) => words.join(" "));
const gap = fc.constantFrom("\n§\n", " \n§\n ", "\n\n§\n\n");

describe("whatever is in the file", () => {
  it("applying and rolling back leaves the same bytes", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(entry, gap), { minLength: 1, maxLength: 8 }), async (parts) => {
        const home = await CuratorHome.make();
        const text = `${parts.map(([each, between]) => each + between).join("")}Speaks German\n`;
        home.write("memories/MEMORY.md", text);
        const run = await home.run({ mode: "apply" });
        expect(run.decided.filter(({ outcome }) => outcome.kind !== "applied")).toEqual([]);
        if (run.decided.length === 0) expect(home.memory).toBe(text);
        else await home.rollBack(run.id);
        expect(home.memory).toBe(text);
      }),
      { numRuns: 60 },
    );
  });
});
