import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  archiveSkill,
  listArchivedSkills,
  readUsage,
  restoreSkill,
  setPinned,
  skillHistory,
  undoSkillChange,
} from "../../src/skills/index.ts";
import { failedAs, refusedWith } from "../fakes/answers.ts";
import { SkillHome, skillText } from "./skill-home.ts";

describe("skill_manage", () => {
  it("creates a skill, private and whole, and lists it at once", async () => {
    const home = new SkillHome();
    const store = home.open();
    const content = skillText("deploy", "Ship it");
    const created = await home.manage(
      { action: "create", name: "deploy", category: "ops", content },
      {},
      store,
    );
    expect(created).toEqual({
      success: true,
      message: "Skill 'deploy' created.",
      path: "ops/deploy",
      skill_md: home.path("ops", "deploy", "SKILL.md"),
      _change: { description: "Ship it" },
      category: "ops",
      hint: expect.any(String),
      change_id: expect.stringMatching(/^[0-9a-f]{8}$/),
    });
    expect(home.text("ops/deploy/SKILL.md")).toBe(content);
    expect(statSync(home.path("ops", "deploy", "SKILL.md")).mode & 0o777).toBe(0o600);
    expect(readdirSync(home.path("ops", "deploy"))).toEqual(["SKILL.md"]);
    expect(await home.list({}, store)).toMatchObject({ skills: [{ name: "deploy", category: "ops" }] });
    expect(readUsage(store).get("deploy")).toMatchObject({ created_by: null, patch_count: 0 });
  });

  it("takes over a directory that a killed writer left empty, and no other", async () => {
    const home = new SkillHome();
    home.write("left/.SKILL.md.tmp.abc", "half");
    home.write("used/notes.txt", "mine");
    for (const [name, success] of [
      ["left", true],
      ["used", false],
    ] as const)
      expect((await home.manage({ action: "create", name, content: skillText(name) })).success).toBe(success);
    expect(home.text("left/SKILL.md")).toBe(skillText("left"));
  });

  it("edits, patches, writes and removes files", async () => {
    const home = new SkillHome();
    home.skill("deploy", "x", "one\ntwo\none\n");
    const call = (args: Record<string, unknown>) => home.manage({ name: "deploy", ...args });
    expect(await call({ action: "patch", old_string: "one", new_string: "1" })).toMatchObject(
      refusedWith("fits 2 places"),
    );
    expect(
      await call({ action: "patch", old_string: "one", new_string: "1", replace_all: true }),
    ).toMatchObject({
      success: true,
      message: "Patched SKILL.md in skill 'deploy' (2 replacements).",
      _change: { old: "one", new: "1" },
    });
    expect(await call({ action: "patch", old_string: "two", new_string: "" })).toMatchObject({
      message: "Patched SKILL.md in skill 'deploy' (1 replacement).",
    });
    expect(home.text("deploy/SKILL.md")).toBe(skillText("deploy", "x", "1\n\n1\n"));
    expect(await call({ action: "patch", old_string: "missing", new_string: "x" })).toMatchObject({
      success: false,
      file_preview: home.text("deploy/SKILL.md"),
    });
    const file = { file_path: "references/deep/a.md" };
    expect(await call({ action: "write_file", ...file, file_content: "A" })).toMatchObject({
      message: "File 'references/deep/a.md' written to skill 'deploy'.",
      path: home.path("deploy", "references", "deep", "a.md"),
    });
    expect((await call({ action: "patch", ...file, old_string: "A", new_string: "B" })).success).toBe(true);
    expect(home.text("deploy/references/deep/a.md")).toBe("B");
    expect(await call({ action: "remove_file", file_path: "references/no.md" })).toMatchObject({
      available_files: ["references/deep/a.md"],
    });
    expect(await call({ action: "remove_file", ...file })).toMatchObject({
      message: "File 'references/deep/a.md' removed from skill 'deploy'.",
    });
    expect(readdirSync(home.path("deploy"))).toEqual(["SKILL.md"]);
    expect(await call({ action: "edit", content: skillText("deploy", "fresh") })).toMatchObject({
      message: "Skill 'deploy' updated (full rewrite).",
      _change: { description: "fresh" },
    });
    expect(readUsage(home.open()).get("deploy")?.patch_count).toBe(6);
  });

  it("lets a skill keep the other name its frontmatter has always had", async () => {
    const home = new SkillHome();
    home.write("folder/SKILL.md", skillText("named"));
    const patched = { action: "patch", name: "folder", old_string: "well", new_string: "better" };
    expect((await home.manage(patched)).success).toBe(true);
    expect(
      (await home.manage({ ...patched, old_string: "name: named", new_string: "name: third" })).success,
    ).toBe(false);
    expect(
      (await home.manage({ ...patched, old_string: "name: named", new_string: "name: folder" })).success,
    ).toBe(true);
  });

  it("holds a skill to fifty files", async () => {
    const home = new SkillHome();
    home.skill("deploy");
    for (let index = 0; index < 50; index += 1) home.write(`deploy/references/${index}.md`, "x");
    const write = (file_path: string) =>
      home.manage({ action: "write_file", name: "deploy", file_path, file_content: "y" });
    expect(await write("references/more.md")).toMatchObject(refusedWith("50 files"));
    expect((await write("references/7.md")).success).toBe(true);
  });

  it("deletes a skill with its empty category, and drops its record", async () => {
    const home = new SkillHome();
    home.skill("ops/deploy");
    home.skill("umbrella");
    await home.view({ name: "deploy" });
    const gone = await home.manage({ action: "delete", name: "deploy", absorbed_into: "umbrella" });
    expect(gone).toMatchObject({
      success: true,
      message: "Skill 'deploy' deleted. Its content was absorbed into 'umbrella'.",
    });
    expect(existsSync(home.path("ops"))).toBe(false);
    expect(listArchivedSkills(home.open())).toEqual([]);
    expect(readUsage(home.open()).has("deploy")).toBe(false);
    expect(skillHistory(home.open())).toMatchObject([{ action: "delete", absorbed_into: "umbrella" }]);
  });

  it.each(["review", "curator"] as const)(
    "archives instead when %s deletes, and marks what it creates",
    async (origin) => {
      const home = new SkillHome();
      for (let round = 0; round < 2; round += 1) {
        expect(
          (await home.manage({ action: "create", name: "deploy", content: skillText("deploy") }, { origin }))
            .success,
        ).toBe(true);
        expect(readUsage(home.open()).get("deploy")).toMatchObject({ created_by: "agent", state: "active" });
        const gone = await home.manage({ action: "delete", name: "deploy", absorbed_into: "" }, { origin });
        expect(gone).toMatchObject({ success: true, message: "Skill 'deploy' archived." });
        expect(readUsage(home.open()).get("deploy")).toMatchObject({
          state: "archived",
          archived_at: expect.any(String),
        });
      }
      const names = listArchivedSkills(home.open()).map(({ name }) => name);
      expect(names).toEqual(["deploy", expect.stringMatching(/^deploy-\d{14}$/)]);
      expect(home.text(join(".archive", "deploy", "SKILL.md"))).toBe(skillText("deploy"));
    },
  );
});

describe("the archive", () => {
  it("takes what is ours and not pinned, bundled skills only when asked, and gives it back flat", async () => {
    const home = new SkillHome();
    for (const name of ["ops/own", "shipped", "pinned"]) home.skill(name);
    home.write(".bundled_manifest", "shipped:1\n");
    const store = home.open();
    await setPinned(store, "pinned", true);
    const context = { origin: "curator" } as const;
    expect(await archiveSkill(store, "pinned", context)).toMatchObject(failedAs("protected"));
    expect(await archiveSkill(store, "shipped", context)).toMatchObject(failedAs("protected"));
    expect((await archiveSkill(store, "shipped", { ...context, isBundledIncluded: true })).ok).toBe(true);
    expect((await archiveSkill(store, "own", context)).ok).toBe(true);
    expect(listArchivedSkills(store).map(({ name }) => name)).toEqual(["own", "shipped"]);
    expect((await restoreSkill(store, "../pinned", context)).ok).toBe(false);
    expect(await restoreSkill(store, "own", context)).toMatchObject({
      ok: true,
      value: { action: "restore" },
    });
    expect(home.text("own/SKILL.md")).toBe(skillText("own"));
    expect(readUsage(store).get("own")).toMatchObject({ state: "active", archived_at: null });
    home.skill("cat/shipped");
    expect(await restoreSkill(store, "shipped", context)).toMatchObject(failedAs("exists"));
    expect((await undoSkillChange(store)).ok).toBe(true);
    expect(existsSync(home.path("own"))).toBe(false);
    expect(readUsage(store).get("own")).toMatchObject({ state: "archived" });
  });
});
