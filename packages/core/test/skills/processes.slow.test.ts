// Several processes on one home, and processes that die in the middle of a write.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { sha256 } from "../../src/lib/index.ts";
import { readUsage, setPinned, skillHistory, undoSkillChange } from "../../src/skills/index.ts";
import { startScript } from "../fakes/child.ts";
import { SkillHome, skillText } from "./skill-home.ts";

describe("the usage file", () => {
  it("loses no count of several processes", async () => {
    const home = new SkillHome();
    home.skill("deploy");
    home.skill("other");
    const names = ["deploy", "deploy", "other", "deploy"];
    await Promise.all(names.map((name) => startScript("skill-viewer.ts", [home.home, name, "25"]).rest()));
    const usage = readUsage(home.open());
    expect(usage.get("deploy")).toMatchObject({ view_count: 75, use_count: 75 });
    expect(usage.get("other")).toMatchObject({ view_count: 25, use_count: 25 });
  }, 60_000);

  it("is sorted, indented, and keeps what other programs wrote", async () => {
    const home = new SkillHome();
    for (const name of ["b", "a"]) home.skill(name);
    home.write(
      ".usage.json",
      JSON.stringify({ z: { use_count: 3, theirs: true }, b: { agent_created: true }, odd: 5 }),
    );
    await home.view({ name: "b" });
    await home.view({ name: "a" });
    const text = home.text(".usage.json");
    const content = JSON.parse(text);
    expect(text).toBe(`${JSON.stringify(content, null, 2)}\n`);
    expect(Object.keys(content)).toEqual(["a", "b", "odd", "z"]);
    expect(content).toMatchObject({
      z: { use_count: 3, theirs: true },
      odd: 5,
      b: { agent_created: true, created_by: "agent" },
    });
    expect(Object.keys(content.a)).toEqual(Object.keys(content.a).sort());
    expect(content.a.created_at).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+\+00:00$/);
  });

  it("never blocks reading: a damaged file counts as empty and is copied, an unreadable one is not touched", async () => {
    const home = new SkillHome();
    home.skill("deploy");
    const path = home.write(".usage.json", '{"deploy": {"pinned": tr');
    expect(await home.view({ name: "deploy" })).toMatchObject({ success: true });
    expect(readUsage(home.open()).get("deploy")).toMatchObject({ view_count: 1 });
    expect(readFileSync(`${path}.bak`, "utf8")).toContain("pinned");
    rmSync(path);
    mkdirSync(path); // a directory cannot be read as a file
    expect(await home.view({ name: "deploy" })).toMatchObject({ success: true });
    expect((await setPinned(home.open(), "deploy", true)).ok).toBe(false);
  });
});

describe("a writer that is killed", () => {
  it("leaves the old skill or the new one, and a history that fits it", async () => {
    const home = new SkillHome();
    home.skill("deploy");
    for (let kill = 0; kill < 12; kill += 1) {
      const child = startScript("skill-writer.ts", [home.home, "deploy", `k${kill}`]);
      expect(await child.nextLine()).toBe("ready");
      expect(await child.nextLine()).toBe(`k${kill}-0`); // the write after the previous kill worked
      for (let turns = Math.random() * 300; turns > 0; turns -= 1) await new Promise(setImmediate);
      await child.kill();
      let last = `k${kill}-0`;
      for (let line = await child.nextLine(); line !== undefined; line = await child.nextLine()) last = line;
      const text = home.text("deploy/SKILL.md");
      const word = /^description: (k\d+-\d+)$/m.exec(text)?.[1] ?? "";
      expect(text).toBe(skillText("deploy", word, `${word} ${"wool ".repeat(2000)}end\n`));
      expect(Number(word.split("-")[1])).toBeGreaterThanOrEqual(Number(last.split("-")[1]));
      const [change] = skillHistory(home.open());
      expect([change?.before, change?.after]).toContain(sha256(text));
    }
    const before = home.text("deploy/SKILL.md");
    const store = home.open();
    const undone = await undoSkillChange(store);
    expect(undone.ok).toBe(true);
    expect(home.text("deploy/SKILL.md")).not.toBe(before);
    if (undone.ok) await undoSkillChange(store, undone.value.changeId);
    expect(home.text("deploy/SKILL.md")).toBe(before);
  }, 60_000);

  it("a lock that is held elsewhere is waited for, then reported", async () => {
    const home = new SkillHome();
    home.skill("deploy");
    writeFileSync(home.path(".skills.lock"), "");
    const holder = startScript("lock-holder.ts", [home.path(".skills.lock")]);
    await holder.nextLine();
    const store = home.open({ lockTimeoutMs: 30 });
    const answer = await home.manage({ action: "delete", name: "deploy" }, {}, store);
    expect(answer).toMatchObject({ success: false, error: expect.stringContaining("Another process kept") });
    await holder.kill();
    expect(await home.manage({ action: "delete", name: "deploy" }, {}, store)).toMatchObject({
      success: true,
    });
  });
});
