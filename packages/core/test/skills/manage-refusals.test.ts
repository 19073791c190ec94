import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SKILL_ACTIONS } from "../../src/skills/index.ts";
import { parseFilePath } from "../../src/skills/skill-files.ts";
import { skillManageTool } from "../../src/skills/tools.ts";
import { refusedWith } from "../fakes/answers.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";
import { type Json, SkillHome, skillText, tree } from "./skill-home.ts";

const create = (name: unknown, more: Json = {}): Json => ({
  action: "create",
  name,
  content: skillText(String(name)),
  ...more,
});
const edit = (content: string, name = "deploy"): Json => ({ action: "edit", name, content });
const file = (action: string, file_path?: string, file_content?: string): Json => ({
  action,
  name: "deploy",
  file_path,
  file_content,
});
const patch = { action: "patch", name: "deploy", old_string: "Do it well.", new_string: "Do it better." };

describe("skill_manage refuses", () => {
  it.each<[string, Json | null]>([
    ["Unknown action", null],
    ["Unknown action 'rename'. Use: create, patch, edit", { action: "rename", name: "x" }],
    ["name is required for 'create'.", { action: "create" }],
    ["name must be a string.", create(5)],
    ["Invalid skill name 'Deploy'", create("Deploy")],
    ["Invalid skill name", create("a/b")],
    ["Invalid skill name", create("../x")],
    ["Invalid skill name", create(".hidden")],
    ["Invalid skill name", create("a\0b")],
    ["at most 64 characters", create("x".repeat(65))],
    ["not looked into", create("node_modules")],
    ["Invalid category name 'a/b'", create("new", { category: "a/b" })],
    ["Invalid category name", create("new", { category: ".." })],
    ["skills cannot be nested", create("new", { category: "deploy" })],
    ["content is required for 'create'.", { action: "create", name: "new" }],
    ["differs from the skill's directory", create("new", { content: skillText("old") })],
    ["at most 100,000 characters", create("new", { content: "x".repeat(10_000_000) })],
    ["exists already", create("deploy")],
    ["exists already", create("deploy", { category: "ops" })],
    ["exists already", create("alias")],
    ["There is no skill 'nope'.", { action: "edit", name: "nope", content: skillText("nope") }],
    ["must start with YAML", edit("text")],
    ["differs", edit(skillText("other"))],
    ["old_string is required", { action: "patch", name: "deploy", new_string: "x" }],
    ["new_string is required", { action: "patch", name: "deploy", old_string: "x" }],
    ["are the same", { ...patch, new_string: patch.old_string }],
    ["has no file 'references/no.md'", { ...patch, file_path: "references/no.md" }],
    ["must start with YAML", { ...patch, old_string: "---\nname", new_string: "name" }],
    [
      "needs the field 'description'",
      { ...patch, old_string: "description: About deploy\n", new_string: "" },
    ],
    ["at most 100,000 characters", { ...patch, new_string: "x".repeat(100_000) }],
    ["file_path is required", file("write_file", undefined, "x")],
    ["file_content is required", file("write_file", "references/x.md")],
    ["at most 1,048,576 bytes", file("write_file", "references/x.md", "é".repeat(600_000))],
    ["must start with YAML", file("write_file", "SKILL.md", "x")],
    ["SKILL.md cannot be removed", file("remove_file", "SKILL.md")],
    ["has no file", file("remove_file", "assets/x")],
    ["which is no skill", { action: "delete", name: "deploy", absorbed_into: "nope" }],
    ["into itself", { action: "delete", name: "deploy", absorbed_into: "deploy" }],
  ])("with '%s'", async (message, args) => {
    const home = new SkillHome();
    home.skill("deploy");
    home.write("dir/SKILL.md", skillText("alias"));
    const before = tree(home);
    const answer = await skillManageTool(home.open(), args);
    expect(answer).toMatchObject({ success: false, error: expect.stringContaining(message) });
    expect(JSON.stringify(answer).length).toBeLessThan(3000);
    expect(tree(home)).toEqual(before);
  });

  it.each([
    "/etc/x",
    "C:/x",
    "../x.md",
    "references/../../x.md",
    "references/a/../b.md",
    "notes.md",
    "references",
    "references/",
    "References/x.md",
    "skill.md",
    "Skill.MD",
    "SKILL.md ",
    "SKILL.md.",
    "inner/SKILL.md",
    "references/SKILL.md",
    "scripts/skill.md",
    "references/x\0.md",
    "references\\x.md",
    "references//x.md",
    "references/\ud800",
    `references/${"x".repeat(300)}`,
  ])("the path %j", async (file_path) => {
    const home = new SkillHome();
    home.skill("deploy");
    const before = tree(home);
    for (const action of ["write_file", "remove_file", "patch"]) {
      const args = { ...patch, action, file_path, file_content: "x" };
      expect(await home.manage(args)).toMatchObject(refusedWith("file_path"));
    }
    expect(tree(home)).toEqual(before);
  });

  it("any path that would leave the four directories", () => {
    const part = fc.oneof(
      fc.constantFrom("..", ".", "references", "SKILL.md", "a", "", "~", "\\"),
      fc.string({ maxLength: 5 }),
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 5 }), (parts) => {
        const parsed = parseFilePath(parts.join("/"));
        if (!parsed.ok) return;
        expect(parsed.value).toMatch(/^(SKILL\.md|(references|templates|scripts|assets)\/.+)$/);
        expect(join("/skills/skill", parsed.value)).toBe(`/skills/skill/${parsed.value}`);
      }),
    );
  });

  it("to write, remove or delete through links", async () => {
    const home = new SkillHome();
    const outside = tempDirectory();
    writeFileSync(join(outside, "x.md"), "theirs");
    mkdirSync(join(outside, "linked"));
    home.skill("deploy");
    home.skill("real/inner");
    symlinkSync(outside, home.path("deploy", "references"));
    mkdirSync(home.path("deploy", "scripts"));
    symlinkSync(join(outside, "x.md"), home.path("deploy", "scripts", "x.md"));
    symlinkSync("/nowhere/at/all", home.path("deploy", "scripts", "dangling"));
    symlinkSync(outside, home.path("escape"));
    symlinkSync(home.path("real", "inner"), home.path("aaa"));
    for (const file_path of ["references/x.md", "references/new.md", "scripts/x.md", "scripts/dangling"]) {
      const written = await home.manage({
        action: "write_file",
        name: "deploy",
        file_path,
        file_content: "ours",
      });
      expect(written).toMatchObject(refusedWith("link"));
      expect((await home.manage({ action: "remove_file", name: "deploy", file_path })).success).toBe(false);
      expect((await home.manage({ ...patch, old_string: "theirs", file_path })).success).toBe(false);
    }
    expect((await home.manage(create("fresh", { category: "escape" }))).success).toBe(false);
    expect(await home.manage({ action: "delete", name: "aaa" })).toMatchObject({
      error: expect.stringContaining("symbolic link"),
    });
    expect(readFileSync(join(outside, "x.md"), "utf8")).toBe("theirs");
    expect(readdirSync(outside).sort()).toEqual(["linked", "x.md"]);
    expect(existsSync(home.path("real", "inner", "SKILL.md"))).toBe(true);
  });
});

it("skill_manage never throws, whatever it is given", async () => {
  const home = new SkillHome();
  home.skill("deploy");
  const value = fc.oneof(
    fc.string(),
    fc.constantFrom("deploy", "SKILL.md", "references/x.md", null, true, 5, {}, []),
  );
  const fields = [
    "name",
    "content",
    "category",
    "file_path",
    "file_content",
    "old_string",
    "new_string",
    "absorbed_into",
  ];
  const args = fc.record(
    {
      action: fc.constantFrom(...SKILL_ACTIONS, "x"),
      ...Object.fromEntries(fields.map((field) => [field, value])),
    },
    { requiredKeys: [] },
  );
  await fc.assert(
    fc.asyncProperty(args, async (given) => {
      const answer = (await skillManageTool(home.open(), given)) as Json;
      expect(typeof answer.success).toBe("boolean");
      if (answer.success === false) expect(typeof answer.error).toBe("string");
    }),
    { numRuns: 60 },
  );
});
