import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SKILL_ACTIONS } from "../../src/skills/index.ts";
import { parseFilePath } from "../../src/skills/skill-files.ts";
import { skillManageTool } from "../../src/skills/tools.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";
import { type Json, SkillHome, skillText, tree } from "./skill-home.ts";

const create = (name: unknown, more: Json = {}): Json => ({
  action: "create",
  name,
  content: skillText(String(name)),
  ...more,
});
const patch = { action: "patch", name: "deploy", old_string: "Do it well.", new_string: "Do it better." };

describe("skill_manage refuses", () => {
  it.each<[string, Json | null, string]>([
    ["no arguments", null, "Unknown action"],
    [
      "an unknown action",
      { action: "rename", name: "x" },
      "Unknown action 'rename'. Use: create, patch, edit",
    ],
    ["no name", { action: "create" }, "name is required for 'create'."],
    ["a name that is no text", create(5), "name must be a string."],
    ["capitals", create("Deploy"), "Invalid skill name 'Deploy'"],
    ["a name with a path", create("a/b"), "Invalid skill name"],
    ["a climbing name", create("../x"), "Invalid skill name"],
    ["a name with a leading dot", create(".hidden"), "Invalid skill name"],
    ["a name with NUL", create("a\0b"), "Invalid skill name"],
    ["a long name", create("x".repeat(65)), "at most 64 characters"],
    ["a name that is never searched for skills", create("node_modules"), "not looked into"],
    ["a category of two parts", create("new", { category: "a/b" }), "Invalid category name 'a/b'"],
    ["a climbing category", create("new", { category: ".." }), "Invalid category name"],
    ["a skill as category", create("new", { category: "deploy" }), "skills cannot be nested"],
    ["no content", { action: "create", name: "new" }, "content is required for 'create'."],
    [
      "a frontmatter with another name",
      create("new", { content: skillText("old") }),
      "differs from the skill's directory",
    ],
    ["ten megabytes", create("new", { content: "x".repeat(10_000_000) }), "at most 100,000 characters"],
    ["a name that is taken", create("deploy"), "exists already"],
    ["a name that is taken elsewhere", create("deploy", { category: "ops" }), "exists already"],
    ["a name that is taken in a frontmatter", create("alias"), "exists already"],
    [
      "an edit of nothing",
      { action: "edit", name: "nope", content: skillText("nope") },
      "There is no skill 'nope'.",
    ],
    [
      "an edit without frontmatter",
      { action: "edit", name: "deploy", content: "text" },
      "must start with YAML",
    ],
    ["an edit that renames", { action: "edit", name: "deploy", content: skillText("other") }, "differs"],
    [
      "a patch without old_string",
      { action: "patch", name: "deploy", new_string: "x" },
      "old_string is required",
    ],
    [
      "a patch without new_string",
      { action: "patch", name: "deploy", old_string: "x" },
      "new_string is required",
    ],
    ["a patch that changes nothing", { ...patch, new_string: patch.old_string }, "are the same"],
    [
      "a patch of a missing file",
      { ...patch, file_path: "references/no.md" },
      "has no file 'references/no.md'",
    ],
    [
      "a patch that breaks the frontmatter",
      { ...patch, old_string: "---\nname", new_string: "name" },
      "must start with YAML",
    ],
    [
      "a patch that removes the description",
      { ...patch, old_string: "description: About deploy\n", new_string: "" },
      "needs the field 'description'",
    ],
    [
      "a patch that grows too far",
      { ...patch, new_string: "x".repeat(100_000) },
      "at most 100,000 characters",
    ],
    [
      "a file without a path",
      { action: "write_file", name: "deploy", file_content: "x" },
      "file_path is required",
    ],
    [
      "a file without content",
      { action: "write_file", name: "deploy", file_path: "references/x.md" },
      "file_content is required",
    ],
    [
      "a file that is too large",
      {
        action: "write_file",
        name: "deploy",
        file_path: "references/x.md",
        file_content: "é".repeat(600_000),
      },
      "at most 1,048,576 bytes",
    ],
    [
      "SKILL.md as a file without frontmatter",
      { action: "write_file", name: "deploy", file_path: "SKILL.md", file_content: "x" },
      "must start with YAML",
    ],
    [
      "removing SKILL.md",
      { action: "remove_file", name: "deploy", file_path: "SKILL.md" },
      "SKILL.md cannot be removed",
    ],
    [
      "removing a missing file",
      { action: "remove_file", name: "deploy", file_path: "assets/x" },
      "has no file",
    ],
    [
      "absorption into nothing",
      { action: "delete", name: "deploy", absorbed_into: "nope" },
      "which is no skill",
    ],
    ["absorption into itself", { action: "delete", name: "deploy", absorbed_into: "deploy" }, "into itself"],
  ])("%s", async (_what, args, message) => {
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
      expect(await home.manage(args)).toMatchObject({
        success: false,
        error: expect.stringContaining("file_path"),
      });
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
      expect(written).toMatchObject({ success: false, error: expect.stringContaining("link") });
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
