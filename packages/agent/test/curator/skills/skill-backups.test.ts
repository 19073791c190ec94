import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  changeSkill,
  readUsage,
  SkillStore,
  setPinned,
  skillHistory,
} from "@hermes-memory/core/internal/skills";
import { describe, expect, it } from "vitest";
import {
  changeState,
  listSnapshots,
  readState,
  restoreSnapshot,
  takeSnapshot,
} from "../../../src/curator/index.ts";
import { packTarGz, unpackTarGz } from "../../../src/curator/tar.ts";
import { CuratorHome } from "../curator-home.ts";

const day = (count: number): Date => new Date(Date.UTC(2026, 0, count));
const NAMES = ["ash", "bay", "elm", "fig"];

function backUp(home: CuratorHome, now: Date, keep = 5): string {
  const taken = takeSnapshot(home.home, { reason: "test", keep, now });
  if (!taken.ok) throw new Error(taken.error.message);
  return taken.value.id;
}

/** The files of the skills, without those of the curator. */
function texts(home: CuratorHome): Readonly<Record<string, string>> {
  const files = Object.entries(home.files("skills"));
  return Object.fromEntries(files.filter(([name]) => /^\w+\/SKILL\.md$/.test(name)));
}

describe("putting the oldest backup back", () => {
  it("can be done again and again", async () => {
    const home = await CuratorHome.make();
    home.skill("ash", "first");
    const before = texts(home);
    const [oldest = ""] = [1, 2, 3].map((count) => backUp(home, day(count), 3));
    for (let count = 10; count < 15; count += 1) {
      home.skill("ash", `later ${count}`);
      const done = await restoreSnapshot(home.home, oldest, { keep: 3, now: day(count) });
      expect(done).toMatchObject({ ok: true });
      expect(texts(home)).toEqual(before);
      expect(listSnapshots(home.home)).toHaveLength(3);
    }
  });
});

describe("putting a backup back", () => {
  it("leaves a pause, pins and the history of changes as they are now", async () => {
    const home = await CuratorHome.make();
    home.skill("ash", "first");
    const before = texts(home);
    changeState(home.home, () => ({ isPaused: false }));
    const id = backUp(home, day(1));
    changeState(home.home, () => ({ isPaused: true }));
    const store = new SkillStore({ home: home.home });
    await setPinned(store, "ash", true);
    const content = "---\nname: bay\ndescription: How to bay\n---\n\nMine.\n";
    await changeSkill(store, { action: "create", name: "bay", content }, { origin: "cli" });
    const history = skillHistory(store);
    expect(history).not.toHaveLength(0);
    expect(await restoreSnapshot(home.home, id, { keep: 5, now: day(2) })).toMatchObject({ ok: true });
    expect(texts(home)).toEqual(before);
    expect(readState(home.home)).toMatchObject({ ok: true, value: { isPaused: true } });
    expect(readUsage(store).get("ash")).toMatchObject({ pinned: true });
    expect(skillHistory(store)).toEqual(history);
  });

  it("leaves lock files alone, also when another program packed them", async () => {
    const home = await CuratorHome.make();
    home.skill("ash", "first");
    const id = backUp(home, day(1));
    const archive = `skills/.curator_backups/${id}/skills.tar.gz`;
    const packed = unpackTarGz(readFileSync(join(home.home, archive)));
    const locks = [".skills.lock", ".skills.sqlite.lock", ".curator.sqlite.lock"];
    const strays = locks.map((path) => ({ path, mode: 0o600, mtime: 0, data: Buffer.from("packed") }));
    writeFileSync(join(home.home, archive), packTarGz([...packed, ...strays]));
    expect(await restoreSnapshot(home.home, id, { keep: 5, now: day(2) })).toMatchObject({ ok: true });
    for (const name of locks) expect([name, home.read(`skills/${name}`)]).toEqual([name, ""]);
  });

  it.skipIf(process.platform === "win32")("takes a file with a backslash in its name", async () => {
    const home = await CuratorHome.make();
    home.skill("ash", "first");
    home.write("skills/ash/references/a\\b.md", "odd");
    const id = backUp(home, day(1));
    home.write("skills/ash/references/a\\b.md", "changed");
    expect(await restoreSnapshot(home.home, id, { keep: 5, now: day(2) })).toMatchObject({ ok: true });
    expect(home.read("skills/ash/references/a\\b.md")).toBe("odd");
  });
});

/** Restores in a child process that is killed instead of making the given move of a skill. */
function killedAtMove(home: CuratorHome, id: string, move: number): void {
  const script = `
    import fs from "node:fs";
    import { syncBuiltinESMExports } from "node:module";
    const { renameSync } = fs;
    let moves = 0;
    fs.renameSync = (from, to) => {
      if (/[/\\\\](old|new)[/\\\\]/.test(from + to) && ++moves === ${move}) process.kill(process.pid, "SIGKILL");
      renameSync(from, to);
    };
    syncBuiltinESMExports();
    const { restoreSnapshot } = await import(${JSON.stringify(new URL("../../../src/curator/index.ts", import.meta.url).href)});
    await restoreSnapshot(${JSON.stringify(home.home)}, ${JSON.stringify(id)}, { keep: 5, now: new Date() });
  `;
  const { signal, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script]);
  expect({ signal, stderr: String(stderr) }).toMatchObject({ signal: "SIGKILL" });
}

async function changedSinceBackup(): Promise<{ home: CuratorHome; id: string }> {
  const home = await CuratorHome.make();
  for (const name of NAMES) home.skill(name, "first");
  const id = backUp(home, day(1));
  home.skill("ash", "second");
  home.skill("yew", "new since");
  return { home, id };
}

// Five skills are moved out, then four are moved in.
describe.skipIf(process.platform === "win32")("a restore killed between two moves", () => {
  it.each([1, 3, 6, 8])("at move %i is taken back, and told, by the next backup", async (move) => {
    const { home, id } = await changedSinceBackup();
    const before = texts(home);
    killedAtMove(home, id, move);
    if (move > 1) expect(texts(home)).not.toEqual(before);
    const taken = takeSnapshot(home.home, { reason: "next", keep: 5, now: new Date() });
    expect(taken).toMatchObject({ ok: true });
    const told = move > 1 ? [expect.stringContaining("was interrupted")] : undefined;
    expect(taken.ok && taken.value.mended).toEqual(told);
    expect(texts(home)).toEqual(before);
    expect(Object.keys(home.files("skills/.curator_backups")).join()).not.toMatch(/\.restore-|\.discard-/);
  });

  it("is taken back before the next restore packs what stands, and keeps what was written since", async () => {
    const { home, id } = await changedSinceBackup();
    const before = texts(home);
    killedAtMove(home, id, 5);
    home.skill("ash", "written after the kill");
    const done = await restoreSnapshot(home.home, id, { keep: 5, now: new Date() });
    if (!done.ok) throw new Error(done.error.message);
    expect(done.value.mended).toEqual([expect.stringContaining("Files that were in their place are in")]);
    const aside = Object.entries(home.files("skills/.curator_backups")).filter(([name]) =>
      /^aside-/.test(name),
    );
    expect(aside).toEqual([[expect.stringMatching(/ash/), expect.stringContaining("after the kill")]]);
    await restoreSnapshot(home.home, done.value.backup.id, { keep: 5, now: new Date() });
    expect(texts(home)).toEqual(before);
  });
});
