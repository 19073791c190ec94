import fs, { mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { SkillStore } from "../../src/skills/index.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";
import { SkillHome, skillText } from "./skill-home.ts";

async function paths(store: SkillStore): Promise<string[]> {
  return (await store.contents()).skills.map(({ relativePath }) => relativePath);
}

describe("the catalogue", () => {
  it("finds skills under the root and in categories, and nothing in ignored and support directories", async () => {
    const home = new SkillHome();
    for (const path of ["plain", "devops/deploy", "ml/train/axolotl"]) home.skill(path);
    for (const path of [".git/x", ".hub/x", ".archive/x", "node_modules/x", "devops/venv/x", ".history/x"])
      home.skill(path);
    home.skill("plain/references/inner");
    home.skill("references/real"); // not a support directory: nothing above it is a skill
    home.write("SKILL.md", skillText("root"));
    home.write("devops/DESCRIPTION.md", "---\ndescription: Machines\n---\n");
    const contents = await home.open().contents();
    expect(contents.skills.map(({ relativePath, category }) => [relativePath, category])).toEqual([
      ["devops/deploy", "devops"],
      ["ml/train/axolotl", "ml/train"],
      ["plain", null],
      ["references/real", "references"],
    ]);
    expect([...contents.categories]).toEqual([["devops", "Machines"]]);
    expect(contents.warnings).toEqual([]);
  });

  it("follows links within the root once, and none that lead out of it", async () => {
    const home = new SkillHome();
    const outside = tempDirectory();
    mkdirSync(join(outside, "evil"));
    writeFileSync(join(outside, "evil", "SKILL.md"), skillText("evil"));
    home.skill("real/inner");
    mkdirSync(home.path("half"));
    symlinkSync(join(outside, "evil"), home.path("evil"));
    symlinkSync(join(outside, "evil", "SKILL.md"), home.path("half", "SKILL.md"));
    symlinkSync(home.path(), home.path("real", "loop"));
    symlinkSync(home.path("real"), home.path("zlink"));
    symlinkSync("/nowhere", home.path("dangling"));
    expect(await paths(home.open())).toEqual(["real/inner"]);
  });

  it("searches external directories after its own, and lets the first of a name win in lists", async () => {
    const home = new SkillHome();
    const outside = tempDirectory();
    for (const name of ["deploy", "only-there"]) {
      mkdirSync(join(outside, name));
      writeFileSync(join(outside, name, "SKILL.md"), skillText(name, "theirs"));
    }
    home.skill("deploy", "ours");
    const store = home.open({
      externalDirs: ["$TEAM", "missing", join(home.home, "skills")],
      env: { TEAM: outside },
    });
    const { skills } = await store.visible();
    expect(skills.map(({ name, header, isExternal }) => [name, header.description, isExternal])).toEqual([
      ["deploy", "ours", false],
      ["only-there", "theirs", true],
    ]);
  });

  it("hides what is switched off, made for other systems, or of use elsewhere", async () => {
    const home = new SkillHome();
    for (const name of ["off", "off-here", "on"]) home.skill(name);
    home.write("mac/SKILL.md", "---\nname: mac\ndescription: x\nplatforms: [macos]\n---\nb");
    home.write("both/SKILL.md", "---\nname: both\ndescription: x\nplatforms: macos, linux\n---\nb");
    home.write("boxed/SKILL.md", "---\nname: boxed\ndescription: x\nenvironments: [docker]\n---\nb");
    const options = { disabled: ["off"], platformDisabled: { telegram: ["off-here"] } };
    const names = async (store: SkillStore): Promise<string[]> =>
      (await store.visible()).skills.map(({ name }) => name);
    expect(await names(home.open({ ...options, platform: "telegram" }))).toEqual(["both", "on"]);
    expect(await names(home.open({ ...options, platform: "constructor" }))).toEqual([
      "both",
      "off-here",
      "on",
    ]);
    expect(await names(home.open({ system: "darwin", environments: ["docker"] }))).toContain("boxed");
  });
});

describe("the catalogue's memory", () => {
  it("opens no file for a second lookup", async () => {
    const home = new SkillHome();
    for (const file of [home.skill("a/one"), home.skill("a/two")])
      utimesSync(file, 1_700_000_000, 1_700_000_000); // old enough that this time can be trusted
    const store = home.open();
    expect((await store.find("one")).ok).toBe(true);
    const { openSync } = fs;
    const opened: unknown[] = [];
    fs.openSync = ((...args: Parameters<typeof openSync>) => {
      opened.push(args[0]);
      return openSync(...args);
    }) as typeof openSync;
    syncBuiltinESMExports();
    onTestFinished(() => {
      Object.assign(fs, { openSync });
      syncBuiltinESMExports();
    });
    expect((await store.find("two")).ok).toBe(true);
    expect(opened).toEqual([]);
  });

  it("sees an edit in place, a rename, and a change in the same moment with the same size", async () => {
    const home = new SkillHome();
    const file = home.skill("one", "first");
    const store = home.open();
    const description = async (name: string): Promise<string | undefined> => {
      const found = await store.find(name);
      return found.ok ? found.value.header.description : undefined;
    };
    expect(await description("one")).toBe("first");
    const moment = new Date(); // like a file system with coarse times
    for (const word of ["other", "third", "forth"]) {
      writeFileSync(file, skillText("one", word));
      utimesSync(file, moment, moment);
      expect(await description("one")).toBe(word);
    }
    renameSync(home.path("one"), home.path("won"));
    expect((await store.find("won")).ok).toBe(true);
    rmSync(home.path("won"), { recursive: true });
    expect((await store.find("won")).ok).toBe(false);
  });

  it("does not read a file of megabytes for its name", async () => {
    const home = new SkillHome();
    home.skill("huge", "still found", "x".repeat(10_000_000));
    const found = await home.open().find("huge");
    expect(found.ok && found.value.header.description).toBe("still found");
    expect(await home.view({ name: "huge" })).toMatchObject({
      success: false,
      error: expect.stringContaining("not loaded"),
    });
  });
});
