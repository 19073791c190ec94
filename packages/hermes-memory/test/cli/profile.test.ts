import { existsSync, mkdirSync, writeFileSync } from "node:fs";
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
});
