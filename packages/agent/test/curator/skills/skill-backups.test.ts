import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readlinkSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import {
  changeSkill,
  readUsage,
  SkillStore,
  setPinned,
  skillHistory,
} from "@hermes-memory/core/internal/skills";
import { describe, expect, it } from "vitest";
import { fixtureHome } from "../../../../../test/fixtures/fixture-home.ts";
import { changeState, listBackups, readState, restoreBackup } from "../../../src/curator/index.ts";
import { CuratorHome } from "../curator-home.ts";
import { tarOf } from "../tar-of.ts";

const NOW = new Date("2026-06-01T00:00:00Z");

async function restored(home: CuratorHome, id: string): Promise<string> {
  const done = await restoreBackup(home.home, id, NOW);
  if (!done.ok) throw new Error(`${done.error.kind}: ${done.error.message}`);
  return done.value.before;
}

function leftovers(home: string): string[] {
  const names = readdirSync(home, { recursive: true, encoding: "utf8" });
  return names.filter((name) => name.includes(".staging-"));
}

/** The skills, without what a restore leaves alone. */
function texts(home: CuratorHome): Readonly<Record<string, string>> {
  const files = Object.entries(home.files("skills"));
  return Object.fromEntries(files.filter(([name]) => !/^\.curator|\.usage|\.lock$/.test(name)));
}

describe("a backup of the skills", () => {
  it("is restored with links, empty directories and unusual names, and the skills before can be restored", async () => {
    const home = await CuratorHome.make();
    for (const name of ["one", "two"]) home.skill(name, "first");
    home.write(`skills/${"deep/".repeat(30)}long ö name/SKILL.md`, "long");
    mkdirSync(join(home.home, "skills/empty"));
    symlinkSync("../one", join(home.home, "skills/two/link"));
    const first = texts(home);
    const id = home.backUp();
    home.skill("one", "second");
    home.skill("extra", "extra");
    const second = texts(home);
    const before = await restored(home, id);
    expect(texts(home)).toEqual(first);
    expect(home.has("skills/empty")).toBe(true);
    expect(home.has("skills/two/link/SKILL.md")).toBe(true);
    expect(listBackups(home.home).map((each) => each.id)).toEqual([before, id]);
    const again = await restored(home, before);
    expect(again).not.toBe(before);
    expect(texts(home)).toEqual(second);
    expect(home.has("skills/two/link/SKILL.md")).toBe(true);
    expect(leftovers(home.home)).toEqual([]);
  });

  it("of version 0.3.0 is restored", async () => {
    const home = new CuratorHome(fixtureHome("0.3.0"), (await CuratorHome.make()).config);
    const [backup] = listBackups(home.home);
    expect(backup).toMatchObject({ reason: "before curator run 0c45797b" });
    expect(home.has("skills/grind-flour/SKILL.md")).toBe(false);
    await restored(home, backup?.id ?? "");
    expect(home.read("skills/grind-flour/SKILL.md")).toContain("name: grind-flour");
  });

  it("of the Python original is restored, with long names and links", async () => {
    const home = await CuratorHome.make();
    home.skill("ash", "first");
    const id = home.backUp();
    const made = new URL("../from-python.tar.gz", import.meta.url); // by `tarfile` of Python 3.11
    cpSync(made, join(home.home, `skills/.curator_backups/${id}/skills.tar.gz`));
    await restored(home, id);
    expect(home.read(`skills/skill/${"d".repeat(90)}/${"e".repeat(90)} ö=1.md`)).toBe("long\n");
    expect(readlinkSync(join(home.home, "skills/skill/link"))).toBe(`../${"f".repeat(120)}`);
  });

  it("leaves a pause, pins and the history of changes as they are now", async () => {
    const home = await CuratorHome.make();
    home.skill("ash", "first");
    const before = home.read("skills/ash/SKILL.md");
    changeState(home.home, () => ({ isPaused: false }));
    const id = home.backUp();
    changeState(home.home, () => ({ isPaused: true }));
    const store = new SkillStore({ home: home.home });
    await setPinned(store, "ash", true);
    home.skill("ash", "second", { pinned: true });
    const content = "---\nname: bay\ndescription: How to bay\n---\n\nMine.\n";
    await changeSkill(store, { action: "create", name: "bay", content }, { origin: "cli" });
    const history = skillHistory(store);
    expect(history).not.toHaveLength(0);
    await restored(home, id);
    expect(home.read("skills/ash/SKILL.md")).toBe(before);
    expect(home.has("skills/bay")).toBe(false);
    expect(readState(home.home)).toMatchObject({ ok: true, value: { isPaused: true } });
    expect(readUsage(store).get("ash")).toMatchObject({ pinned: true });
    expect(skillHistory(store).map(({ id: change }) => change)).toEqual(history.map((each) => each.id));
  });

  it("leaves lock files and the hub's list alone, also when another program packed them", async () => {
    const home = await CuratorHome.make();
    home.skill("ash", "first");
    home.write("skills/.hub/lock.json", "now");
    const id = home.backUp();
    const locks = [".skills.lock", ".skills.sqlite.lock", ".curator.sqlite.lock"];
    const packed = [...locks, ".hub/lock.json", "ash/x.lock"].map((path) => ({ path, data: "packed" }));
    writeFileSync(join(home.home, `skills/.curator_backups/${id}/skills.tar.gz`), gzipSync(tarOf(...packed)));
    await restored(home, id);
    for (const name of locks) expect([name, home.read(`skills/${name}`)]).toEqual([name, ""]);
    expect(home.read("skills/.hub/lock.json")).toBe("now");
    expect(home.read("skills/ash/x.lock")).toBe("packed");
  });

  it.each<[string, string | Uint8Array]>([
    ["is no archive", "no archive"],
    ["is cut short", gzipSync(tarOf({ path: "a", data: "A".repeat(2000) }).subarray(0, 1500))],
    ["leads elsewhere", gzipSync(tarOf({ path: "../../up", data: "x" }))],
  ])("that %s changes nothing", async (_what, bytes) => {
    const home = await CuratorHome.make();
    home.skill("ash", "first");
    const id = home.backUp();
    writeFileSync(join(home.home, `skills/.curator_backups/${id}/skills.tar.gz`), bytes);
    const before = home.files();
    const attempts = [await restoreBackup(home.home, id, NOW), await restoreBackup(home.home, "..", NOW)];
    expect(attempts).toMatchObject([
      { ok: false, error: { kind: "damaged" } },
      { ok: false, error: { kind: "not-found" } },
    ]);
    expect(home.files()).toEqual(before);
  });
});

/** Restores in a child process that is killed instead of making the given rename. */
function killedAtRename(home: CuratorHome, id: string, rename: number): void {
  const script = `
    import fs from "node:fs";
    import { syncBuiltinESMExports } from "node:module";
    const { renameSync } = fs;
    let count = 0;
    fs.renameSync = (from, to) => {
      if (/staging/.test(from + to) && ++count === ${rename}) process.kill(process.pid, "SIGKILL");
      renameSync(from, to);
    };
    syncBuiltinESMExports();
    const { restoreBackup } = await import(${JSON.stringify(new URL("../../../src/curator/index.ts", import.meta.url).href)});
    await restoreBackup(${JSON.stringify(home.home)}, ${JSON.stringify(id)}, new Date());
  `;
  const { signal, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script]);
  expect({ signal, stderr: String(stderr) }).toMatchObject({ signal: "SIGKILL" });
}

// The copy gets its name, five skills are moved out, then four are moved in.
describe.skipIf(process.platform === "win32")("a restore that was killed", () => {
  it.each([1, 4, 7])("at rename %i can be repeated, and has lost nothing", async (rename) => {
    const home = await CuratorHome.make();
    for (const name of ["ash", "bay", "elm", "fig"]) home.skill(name, "first");
    const wanted = texts(home);
    const id = home.backUp();
    home.skill("ash", "second");
    home.skill("yew", "new since");
    const before = texts(home);
    killedAtRename(home, id, rename);
    expect(leftovers(home.home)).not.toEqual([]);
    const copy = listBackups(home.home).find((each) => each.id !== id);
    await restored(home, id);
    expect({ texts: texts(home), left: leftovers(home.home) }).toEqual({ texts: wanted, left: [] });
    if (rename === 1) expect(copy).toBeUndefined(); // nothing was moved yet
    const first = copy?.id ?? listBackups(home.home)[0]?.id ?? "";
    await restored(home, first);
    expect(texts(home)).toEqual(before);
  });
});
