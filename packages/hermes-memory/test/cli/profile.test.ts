import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { runHere } from "./run.ts";

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
    await runHere(["profile", "create", "work"], { home });
    const used = await runHere(["profile", "use", "WORK"], { home });
    const path = join(home, "profiles", "work");
    expect(used).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("The active profile is now 'work'."),
      stderr: "",
    });
    expect((await runHere(["profile", "path"], { home })).stdout).toBe(`${path}\n`);
    expect((await runHere(["config", "path"], { home })).stdout).toBe(`${join(path, "config.yaml")}\n`);
    expect((await runHere(["profile", "path", "default"], { home })).stdout).toBe(`${home}\n`);
  });

  it("says when HERMES_HOME wins over the active profile", async () => {
    const home = homeWithMemory();
    await runHere(["profile", "create", "one"], { home });
    await runHere(["profile", "create", "two"], { home });
    const one = join(home, "profiles", "one");
    const used = await runHere(["profile", "use", "two"], { home: one });
    expect(used.code).toBe(0);
    expect(used.stderr).toContain("HERMES_HOME");
    const listed = await runHere(["profile", "list"], { home: one });
    expect(listed.stdout).toMatch(/^active +two$/m);
    expect(listed.stderr).toContain("In use here is 'one'");
  });

  it("can leave an active profile that was deleted", async () => {
    const home = homeWithMemory();
    writeFileSync(join(home, "active_profile"), "lost\n");
    const refused = await runHere(["memory", "show"], { home });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("hermes profile use default");
    const listed = await runHere(["profile", "list"], { home });
    expect(listed.code).toBe(0);
    expect(listed.stderr).toContain("There is no profile 'lost'");
    expect((await runHere(["profile", "use", "default"], { home })).code).toBe(0);
    expect((await runHere(["memory", "show"], { home })).code).toBe(0);
  });

  it.each([
    [["create", "a", "--clone", "--clone-all"], "not both"],
    [["create", "a", "--from", "default"], "needs --clone"],
  ])("refuses %j", async (args, reason) => {
    const home = homeWithMemory();
    const { stdout, stderr, code } = await runHere(["profile", ...args], { home });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(reason);
    expect(existsSync(join(home, "profiles", "a"))).toBe(false);
  });
});
