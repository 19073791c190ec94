import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { SkillStore, skillManageTool } from "@hermes-memory/core/internal/skills";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { runHere, runHermes, runJson } from "./run.ts";

function skillText(name: string, description = `About ${name}`): string {
  return `---\nname: ${name}\ndescription: ${description}\n---\n\nDo it well.\n`;
}

function write(home: string, path: string, text: string): void {
  const full = join(home, "skills", path);
  mkdirSync(dirname(full), { recursive: true });
  writeFileSync(full, text);
}

/** A home with two skills. */
function filledHome(): string {
  const home = tempDirectory();
  write(home, "ops/deploy/SKILL.md", skillText("deploy"));
  write(home, "ops/deploy/references/hosts.md", "alpha\nbeta\n");
  write(home, "notes/SKILL.md", skillText("notes", "Take \u001b[31mnotes"));
  return home;
}

async function stage(home: string, args: object, origin: "tool" | "review" = "tool"): Promise<string> {
  const answer = await skillManageTool(new SkillStore({ home }), args, { writeApproval: true, origin });
  return (answer as { pending_id: string }).pending_id;
}

describe("hermes skills list, view, path", () => {
  it("lists skills by category, with marks, and prints no control characters", async () => {
    const home = filledHome();
    write(home, ".bundled_manifest", "deploy:1\n");
    writeFileSync(join(home, "config.yaml"), "skills:\n  disabled: [notes]\n");
    const shown = await runHermes(["skills", "list"], { home });
    expect(shown).toEqual({
      code: 0,
      stdout: "category  name    marks    description\nops       deploy  bundled  About deploy\n",
      stderr: "1 skill not shown; --all lists every one.\n",
    });
    const all = await runHere(["skills", "list", "--all"], { home });
    expect(all.stdout).toMatch(/^ +notes +disabled +Take \[31mnotes\nops +deploy +bundled +About deploy$/m);
    expect(await runJson(["skills", "list", "--all", "--category", "ops"], { home })).toMatchObject({
      skills: [
        { name: "deploy", category: "ops", provenance: "bundled", pinned: false, hidden: null, usage: null },
      ],
      count: 1,
    });
  });

  it("says where skills live when there are none, and makes nothing", async () => {
    const home = join(tempDirectory(), "none");
    const { stdout, stderr, code } = await runHere(["skills", "list"], { home });
    expect({ stdout, code }).toEqual({ stdout: "Nothing.\n", code: 0 });
    expect(stderr).toContain("hermes skills new <name>");
    expect(existsSync(home)).toBe(false);
    expect((await runHere(["skills", "path"], { home })).stdout).toBe(`${join(home, "skills")}\n`);
  });

  it("prints a skill and its files without counting that as use", async () => {
    const home = filledHome();
    const { stdout, stderr } = await runHere(["skills", "view", "ops/deploy"], { home });
    expect(stdout).toBe(skillText("deploy"));
    expect(stderr).toBe("Files: references/hosts.md\n");
    expect((await runHere(["skills", "view", "deploy", "references/hosts.md"], { home })).stdout).toBe(
      "alpha\nbeta\n",
    );
    expect(existsSync(join(home, "skills", ".usage.json"))).toBe(false);
    const missing = await runHere(["skills", "view", "deploy", "references/x.md"], { home });
    expect(missing.code).toBe(1);
    expect(missing.stderr).toBe(
      "error: The skill has no file 'references/x.md'.\nIt has:\n  references/hosts.md\n",
    );
    const unknown = await runHere(["skills", "view", "nope", "--json"], { home });
    expect(JSON.parse(unknown.stdout)).toMatchObject({
      success: false,
      kind: "not_found",
      available_skills: ["deploy", "notes"],
    });
    const empty = await runHere(["skills", "view", "nope", "--json"], { home: tempDirectory() });
    expect(JSON.parse(empty.stdout)).toMatchObject({ hint: "skills_list shows them all." }); // of the error itself
    expect((await runHere(["skills", "path", "deploy"], { home })).stdout).toBe(
      `${join(home, "skills", "ops", "deploy")}\n`,
    );
  });
});

describe("hermes skills new, history, undo", () => {
  it("writes a frame that agents can use at once, and takes it back", async () => {
    const home = tempDirectory();
    const made = await runHermes(
      ["skills", "new", "kiln", "--category", "craft", "--description", 'Fire: the "kiln"'],
      { home },
    );
    const file = join(home, "skills", "craft", "kiln", "SKILL.md");
    expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Skill 'kiln' created\.\n/) });
    expect(await runJson(["skills", "list"], { home })).toMatchObject({
      skills: [{ name: "kiln", description: 'Fire: the "kiln"' }],
    });
    const history = await runHere(["skills", "history"], { home });
    expect(history.stdout).toMatch(/^[0-9a-f]{8} .* cli +create +craft\/kiln\/SKILL\.md$/m);
    const undone = await runHere(["skills", "undo"], { home });
    expect(undone.stdout).toMatch(/^Took back [0-9a-f]{8}: create kiln\.$/m);
    expect(existsSync(join(home, "skills", "craft"))).toBe(false);
    const again = /'hermes skills undo ([0-9a-f]{8})'/.exec(undone.stderr)?.[1] ?? "";
    expect((await runHere(["skills", "undo", again], { home })).code).toBe(0);
    expect(existsSync(file)).toBe(true);
    expect((await runHere(["skills", "history", "--limit", "1"], { home })).stderr).toContain(
      "newest 1 of 3",
    );
  });

  it("takes a whole SKILL.md from standard input, and refuses other text", async () => {
    const home = tempDirectory();
    expect(
      (await runHere(["skills", "new", "kiln", "--stdin"], { home, input: skillText("kiln") })).code,
    ).toBe(0);
    const bad = await runHere(["skills", "new", "other", "--stdin"], { home, input: "text" });
    expect({ code: bad.code, stderr: bad.stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining("YAML frontmatter"),
    });
    for (const args of [["other"], ["other", "--description", "  "]]) {
      const { code, stderr } = await runHere(["skills", "new", ...args], { home });
      expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining("needs a description") });
    }
    const path = await runHere(["skills", "new", "../x", "--description", "d", "--json"], { home });
    expect(path.code).toBe(1);
    expect(JSON.parse(path.stdout)).toMatchObject({ success: false, kind: "invalid" });
    expect((await runHere(["skills", "undo", "zzz"], { home })).code).toBe(1);
  });
});

describe("hermes skills disable, enable", () => {
  it("switches a skill off and on, for all or for one platform, and keeps comments", async () => {
    const home = filledHome();
    const config = join(home, "config.yaml");
    writeFileSync(config, "# mine\nskills:\n  disabled: [old] # kept\n");
    const off = await runHere(["skills", "disable", "ops/deploy"], { home });
    expect(off).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("The skill 'deploy' is now switched off.\n"),
    });
    expect(readFileSync(config, "utf8")).toMatch(
      /^# mine\nskills:\n {2}disabled: \[.*old.*deploy.*\] # kept\n$/,
    );
    expect((await runHere(["skills", "disable", "deploy"], { home })).stdout).toContain(
      "already switched off",
    );
    expect((await runHere(["skills", "view", "deploy"], { home })).stderr).toContain("switched off");
    expect(await runJson(["skills", "disable", "notes", "--platform", "telegram"], { home })).toMatchObject({
      success: true,
      key: "skills.platform_disabled.telegram",
      value: ["notes"],
    });
    expect(await runJson(["skills", "list"], { home })).toMatchObject({ skills: [{ name: "notes" }] });
    expect((await runHere(["skills", "enable", "deploy"], { home })).stdout).toContain(
      "The skill 'deploy' is now switched on.\n",
    );
    expect((await runHere(["skills", "enable", "old"], { home })).code).toBe(0);
    expect(await runJson(["config", "get", "skills.disabled"], { home })).toMatchObject({ value: [] });
    expect((await runHere(["skills", "disable", "nope"], { home })).code).toBe(1);
    expect((await runHere(["skills", "disable", "notes", "--platform", "a.b"], { home })).code).toBe(2);
  });

  it("stops at a config that cannot be read", async () => {
    const home = filledHome();
    writeFileSync(join(home, "config.yaml"), "skills:\n  disabled: {a: 1}\n");
    const { code, stderr } = await runHere(["skills", "list"], { home });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining("skills.disabled must be a list of skill names"),
    });
  });
});

describe("hermes skills pending, approve, reject", () => {
  it("lists staged changes with their diff, and decides about one or all", async () => {
    const home = filledHome();
    const empty = await runHere(["skills", "pending"], { home });
    expect(empty.stdout).toBe("No pending skill changes.\n");
    const patch = { action: "patch", name: "deploy", old_string: "well", new_string: "better" };
    const first = await stage(home, patch, "review");
    const second = await stage(home, { action: "create", name: "kiln", content: skillText("kiln") });
    const third = await stage(home, patch);
    const shown = await runHere(["skills", "pending", "--diff"], { home });
    expect(shown.stdout).toContain(
      `Pending skill changes (3):\n  ${first} [auto]  patch skill 'deploy': SKILL.md\n`,
    );
    expect(shown.stdout).toContain("    -Do it well.\n    +Do it better.\n");
    expect(await runJson(["skills", "pending"], { home })).toMatchObject({
      pending: [{ id: first }, { id: second }, { id: third }],
      skipped: [],
    });
    const one = await runHere(["skills", "approve", first], { home });
    expect(one).toMatchObject({
      code: 0,
      stdout: `Approved 1 skill change(s).\n  ${first}: Patched SKILL.md in skill 'deploy' (1 replacement).\n`,
    });
    const all = await runHere(["skills", "approve", "all", "--json"], { home });
    expect(all.code).toBe(1);
    expect(JSON.parse(all.stdout)).toMatchObject({
      success: false,
      approved: [{ id: second, message: "Skill 'kiln' created." }],
      failed: [{ id: third, kind: "no_match" }],
    });
    expect((await runHere(["skills", "reject", third], { home })).stdout).toBe(
      `Rejected pending skill change '${third}'.\n`,
    );
    expect((await runHere(["skills", "approve", third], { home })).code).toBe(1);
    expect(await runJson(["skills", "reject", "all"], { home })).toEqual({ success: true, rejected: [] });
    expect(await runJson(["skills", "history"], { home })).toMatchObject([
      { approval: second },
      { approval: first, origin: "review" },
    ]);
  });
});
