import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { runHermes, runJson } from "./run.ts";

function homeWithMemory(): string {
  const home = tempDirectory();
  mkdirSync(join(home, "memories"), { mode: 0o700 });
  writeFileSync(join(home, "memories", "MEMORY.md"), "the harbour crane is blue");
  writeFileSync(join(home, "config.yaml"), "memory:\n  nudge_interval: 7\n");
  return home;
}

describe("hermes profile", () => {
  it("lists the default profile of a home that does not exist, and makes none", async () => {
    const home = join(tempDirectory(), "none");
    const { stdout, stderr, code } = await runHermes(["profile", "list"], { home });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(`  default  ${home}  yes     no\n`);
    expect(existsSync(home)).toBe(false);
  });

  it("creates an empty profile, tells how to use it, and lists it", async () => {
    const home = homeWithMemory();
    const made = await runHermes(["profile", "create", "Work"], { home });
    const path = join(home, "profiles", "work");
    expect(made.code).toBe(0);
    expect(made.stdout).toContain(path);
    expect(made.stderr).toContain("hermes profile use work");
    expect(await runJson(["profile", "list"], { home })).toEqual({
      root: home,
      active: "default",
      in_use: "default",
      profiles: [
        { name: "default", home, active: true, has_memory: true },
        { name: "work", home: path, active: false, has_memory: false },
      ],
    });
  });

  it("clones the profile in use, or the one that is named", async () => {
    const home = homeWithMemory();
    const first = await runJson(["profile", "create", "work", "--clone"], { home });
    expect(first).toMatchObject({
      name: "work",
      from: "default",
      copied: ["memories/MEMORY.md", "config.yaml"],
    });
    writeFileSync(join(home, "profiles", "work", "SOUL.md"), "calm");
    const second = await runJson(["-p", "work", "profile", "create", "trial", "--clone"], { home });
    expect(second).toMatchObject({ from: "work" });
    expect(readFileSync(join(home, "profiles", "trial", "SOUL.md"), "utf8")).toBe("calm");
    const third = await runHermes(["profile", "create", "other", "--clone-all", "--from", "default"], {
      home,
    });
    expect(third.stdout).toMatch(/^from +default$/m);
    expect(existsSync(join(home, "profiles", "other", "SOUL.md"))).toBe(false);
  });

  it("switches the active profile, and other commands follow", async () => {
    const home = homeWithMemory();
    await runJson(["profile", "create", "work"], { home });
    const used = await runHermes(["profile", "use", "WORK"], { home });
    const path = join(home, "profiles", "work");
    expect(used).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("The active profile is now 'work'."),
      stderr: "",
    });
    expect((await runHermes(["profile", "path"], { home })).stdout).toBe(`${path}\n`);
    expect((await runHermes(["config", "path"], { home })).stdout).toBe(`${join(path, "config.yaml")}\n`);
    expect((await runHermes(["profile", "path", "default"], { home })).stdout).toBe(`${home}\n`);
  });

  it("says when HERMES_HOME wins over the active profile", async () => {
    const home = homeWithMemory();
    await runJson(["profile", "create", "one"], { home });
    await runJson(["profile", "create", "two"], { home });
    const one = join(home, "profiles", "one");
    const used = await runHermes(["profile", "use", "two"], { home: one });
    expect(used.code).toBe(0);
    expect(used.stderr).toContain("HERMES_HOME");
    const listed = await runHermes(["profile", "list"], { home: one });
    expect(listed.stdout).toMatch(/^active +two$/m);
    expect(listed.stderr).toContain("In use here is 'one'");
  });

  it("can leave an active profile that was deleted", async () => {
    const home = homeWithMemory();
    writeFileSync(join(home, "active_profile"), "lost\n");
    const refused = await runHermes(["memory", "show"], { home });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("hermes profile use default");
    const listed = await runHermes(["profile", "list"], { home });
    expect(listed.code).toBe(0);
    expect(listed.stderr).toContain("There is no profile 'lost'");
    expect((await runHermes(["profile", "use", "default"], { home })).code).toBe(0);
    expect((await runHermes(["memory", "show"], { home })).code).toBe(0);
  });

  it.each([
    [["profile", "create", "no/slash"], 1, "cannot be a profile name"],
    [["profile", "create", "root"], 1, "reserved"],
    [["profile", "create", "default"], 1, "always exists"],
    [["profile", "use", "nobody"], 1, "hermes profile create nobody"],
    [["profile", "path", "nobody"], 1, "hermes profile list"],
    [["profile", "create", "a", "--clone", "--from", "nobody"], 1, "There is no profile 'nobody'"],
    [["profile", "create", "a", "--clone", "--clone-all"], 2, "not both"],
    [["profile", "create", "a", "--from", "default"], 2, "needs --clone"],
    [["profile", "create"], 2, "missing required argument"],
  ])("refuses %j with exit code %i and a reason", async (args, exitCode, reason) => {
    const home = homeWithMemory();
    const { stdout, stderr, code } = await runHermes(args, { home });
    expect({ code, stdout }).toEqual({ code: exitCode, stdout: "" });
    expect(stderr).toContain(reason);
    expect(existsSync(join(home, "profiles", "a"))).toBe(false);
  });

  it("refuses a name that is taken, as JSON", async () => {
    const home = homeWithMemory();
    await runJson(["profile", "create", "work"], { home });
    const { stdout, code } = await runHermes(["profile", "create", "work", "--json"], { home });
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ success: false, kind: "exists", name: "work" });
  });
});
