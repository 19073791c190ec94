// A damaged `.usage.json` hides which skills are pinned.
import { expect, it } from "vitest";
import { archiveSkill } from "../../src/skills/change/archive.ts";
import type { SkillOrigin } from "../../src/skills/skill.ts";
import { failedAs, refusedWith } from "../fakes/answers.ts";
import { SkillHome } from "./skill-home.ts";

const UNATTENDED: readonly SkillOrigin[] = ["tool", "review", "curator"];

it.each(UNATTENDED)("%s takes nothing away while it is not known what is pinned", async (origin) => {
  const home = new SkillHome();
  home.skill("mine");
  home.write("mine/references/a.md", "a");
  home.write(".usage.json", '{"mine": {"pinned": tru');
  for (const args of [
    { action: "delete", name: "mine" },
    { action: "remove_file", name: "mine", file_path: "references/a.md" },
  ])
    expect(await home.manage(args, { origin })).toMatchObject(refusedWith(".usage.json is damaged"));
  expect(await archiveSkill(home.open(), "mine", { origin })).toMatchObject(failedAs("protected"));
  expect(home.text("mine/references/a.md")).toBe("a");
});

it("a missing file means that nothing is pinned, and a person decides for themselves", async () => {
  const home = new SkillHome();
  home.skill("one");
  home.skill("two");
  expect(await home.manage({ action: "delete", name: "one" })).toMatchObject({ success: true });
  home.write(".usage.json", "{");
  expect(await home.manage({ action: "delete", name: "two" }, { origin: "cli" })).toMatchObject({
    success: true,
  });
});
