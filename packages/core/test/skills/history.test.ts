import { appendFileSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { pruneHistory, readChanges } from "../../src/skills/history.ts";
import { type SkillStore, skillHistory, undoSkillChange } from "../../src/skills/index.ts";
import { type Json, SkillHome, skillText, tree } from "./skill-home.ts";

const KEPT = /\.history|\.usage|\.archive/;

/** The skills themselves, without history and usage. */
function skills(home: SkillHome): Record<string, string> {
  return Object.fromEntries(Object.entries(tree(home)).filter(([path]) => !KEPT.test(path)));
}

async function undo(store: SkillStore, id?: string): Promise<string> {
  const outcome = await undoSkillChange(store, id);
  if (!outcome.ok) throw new Error(outcome.error.message);
  return outcome.value.changeId;
}

async function refusal(store: SkillStore, id?: string): Promise<string> {
  const outcome = await undoSkillChange(store, id);
  return outcome.ok ? "done" : outcome.error.message;
}

describe("the history of skills", () => {
  it("tells what changed, by whom, with hashes, and keeps the text before", async () => {
    const home = new SkillHome();
    home.skill("ops/deploy", "x", "secret recipe\n");
    const context = { origin: "review", sessionId: "s1" } as const;
    await home.manage({ action: "patch", name: "deploy", old_string: "recipe", new_string: "plan" }, context);
    const [change] = skillHistory(home.open());
    expect(change).toMatchObject({
      action: "patch",
      skill: "deploy",
      path: "ops/deploy",
      file: "SKILL.md",
      origin: "review",
      session: "s1",
    });
    expect(readFileSync(home.path(".history", "changes.jsonl"), "utf8")).not.toContain("secret");
    expect(readFileSync(home.path(".history", "blobs", String(change?.before)), "utf8")).toContain(
      "secret recipe",
    );
  });

  it("takes any series of changes back, byte for byte, and makes it again", async () => {
    const step = fc.constantFrom<Json>(
      { action: "create", name: "new", content: skillText("new") },
      { action: "edit", name: "deploy", content: skillText("deploy", "y", "fresh\n") },
      { action: "patch", name: "deploy", old_string: "Do it", new_string: "Do it, do it" },
      { action: "write_file", name: "deploy", file_path: "references/a.md", file_content: "A" },
      { action: "write_file", name: "deploy", file_path: "assets/logo.bin", file_content: "text now" },
      { action: "remove_file", name: "deploy", file_path: "assets/logo.bin" },
      { action: "delete", name: "deploy" },
      { action: "delete", name: "new" },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 7 }),
        fc.boolean(),
        async (steps, isUnattended) => {
          const home = new SkillHome();
          home.skill("ops/deploy");
          home.write("ops/deploy/assets/logo.bin", new Uint8Array([0, 255, 1]));
          const store = home.open();
          const states = [skills(home)];
          for (const args of steps) {
            const { success } = await home.manage(args, { origin: isUnattended ? "curator" : "tool" }, store);
            if (success) states.push(skills(home));
          }
          const undone: string[] = [];
          for (const state of states.slice(0, -1).reverse()) {
            undone.push(await undo(store));
            expect(skills(home)).toEqual(state);
          }
          for (const state of states.slice(1)) {
            await undo(store, undone.pop());
            expect(skills(home)).toEqual(state);
          }
        },
      ),
      { numRuns: 25 },
    );
  });

  it("does not count an undo that was cut off between its line and its rename", async () => {
    const home = new SkillHome();
    home.skill("deploy");
    const store = home.open();
    const before = skills(home);
    const deleted = await home.manage({ action: "delete", name: "deploy" }, {}, store);
    const id = String(deleted.change_id);
    const lines = join(store.directory, ".history", "changes.jsonl");
    const after = readFileSync(lines, "utf8");
    await undo(store, id);
    // The skill as after the delete, and the line of the undo: the state after a kill.
    const { moved } = JSON.parse(after.trim().split("\n").at(-1) ?? "") as {
      moved: { from: string; to: string };
    };
    mkdirSync(join(store.directory, moved.to, ".."), { recursive: true });
    renameSync(join(store.directory, moved.from), join(store.directory, moved.to));
    expect(skillHistory(store).find((change) => change.id === id)?.undone_by).toBeUndefined();
    const undone = await undo(store, id);
    expect(skills(home)).toEqual(before);
    expect(skillHistory(store).find((change) => change.id === id)?.undone_by).toBe(undone);
    await undo(store, undone); // deleted once more: the interrupted line must not count as an undo now
    expect(skillHistory(store).find((change) => change.id === id)?.undone_by).toBeUndefined();
  });

  it("refuses to write over what came later", async () => {
    const home = new SkillHome();
    const file = home.skill("deploy");
    const store = home.open();
    expect(await refusal(store)).toContain("no change of a skill to take back");
    const patched = await home.manage(
      { action: "patch", name: "deploy", old_string: "well", new_string: "better" },
      {},
      store,
    );
    appendFileSync(file, "by hand\n");
    expect(await refusal(store)).toContain("no longer what change");
    writeFileSync(file, skillText("deploy")); // as before
    expect(await refusal(store, String(patched.change_id))).toContain("never took effect");
    expect(await refusal(store, "00000000")).toContain("has no change '00000000'");
    const created = await home.manage(
      { action: "create", name: "new", content: skillText("new") },
      {},
      store,
    );
    await home.manage(
      { action: "write_file", name: "new", file_path: "references/a.md", file_content: "a" },
      {},
      store,
    );
    expect(await refusal(store, String(created.change_id))).toContain("other files since it was created");
    const again = await home.manage(
      { action: "edit", name: "deploy", content: skillText("deploy", "z") },
      {},
      store,
    );
    await undo(store, String(again.change_id));
    expect(await refusal(store, String(again.change_id))).toContain("was taken back already");
  });

  it("does nothing outside of the skills, whatever the file of the history says", async () => {
    const home = new SkillHome();
    home.skill("deploy");
    const outside = join(home.home, "config.yaml");
    writeFileSync(outside, "a: 1\n");
    const line = {
      id: "aaaaaaaa",
      time: "",
      action: "patch",
      skill: "x",
      origin: "tool",
      before: null,
      after: null,
    };
    home.write(
      ".history/changes.jsonl",
      [
        { ...line, path: "..", file: "../config.yaml" },
        { ...line, id: "bbbbbbbb", path: "deploy", file: null, moved: { from: "../../x", to: "deploy" } },
        { ...line, id: "cccccccc", path: "deploy", file: "SKILL.md", root: home.home },
      ]
        .map((each) => JSON.stringify(each))
        .join("\n"),
    );
    const store = home.open();
    for (const id of ["aaaaaaaa", "bbbbbbbb", "cccccccc"])
      expect(await refusal(store, id)).toContain("no longer what change");
    expect(readFileSync(outside, "utf8")).toBe("a: 1\n");
    expect(skills(home)).toEqual({ [home.path("deploy", "SKILL.md")]: skillText("deploy") });
  });

  it("keeps the newest changes within its limits, with what they need and nothing else", async () => {
    const home = new SkillHome();
    home.skill("deploy");
    home.skill("gone");
    const store = home.open();
    await home.manage({ action: "delete", name: "gone" }, {}, store);
    for (let index = 0; index < 12; index += 1)
      await home.manage(
        { action: "edit", name: "deploy", content: skillText("deploy", `v${index}`) },
        {},
        store,
      );
    pruneHistory(store.directory, { keep: 5, slack: 2, maxBlobBytes: 1_000_000 });
    const changes = readChanges(store.directory);
    expect(changes).toHaveLength(5);
    expect(readdirSync(home.path(".history", "blobs")).sort()).toEqual(
      changes.map(({ before }) => before).sort(),
    );
    expect(readdirSync(home.path(".archive", ".deleted"))).toEqual([]);
    for (let index = 0; index < 5; index += 1) await undo(store);
    expect(home.text("deploy/SKILL.md")).toBe(skillText("deploy", "v6"));
    pruneHistory(store.directory, { keep: 100, slack: 100, maxBlobBytes: 300 });
    expect(readChanges(store.directory).length).toBeLessThan(4);
  });

  it("refuses a change it cannot record, and leaves the skill unchanged", async () => {
    const home = new SkillHome();
    home.skill("deploy");
    home.write(".history", "a file where the folder should be");
    const answer = await home.manage({ action: "edit", name: "deploy", content: skillText("deploy", "new") });
    expect(answer).toMatchObject({ success: false, error: expect.stringContaining("The disk refused") });
    expect(home.text("deploy/SKILL.md")).toBe(skillText("deploy"));
    expect(readdirSync(home.path("deploy"))).toEqual(["SKILL.md"]);
    expect(
      (await home.manage({ action: "create", name: "new", category: "c", content: skillText("new") }))
        .success,
    ).toBe(false);
    expect(readdirSync(home.path()).filter((name) => !name.startsWith("."))).toEqual(["deploy"]);
  });
});
