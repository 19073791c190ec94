import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openSessionStore } from "@hermes-memory/core/internal/sessions";
import { VERSION } from "@hermes-memory/core/internal/version";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { runHermes, runJson } from "./run.ts";

describe("hermes status", () => {
  it("works on a machine without a home, and creates none", async () => {
    const home = join(tempDirectory(), "none");
    const { stdout, stderr, code } = await runHermes(["status"], { home });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(`hermes-memory ${VERSION}\n`);
    expect(stdout).toContain(`${home}  (not there yet`);
    expect(stdout).toContain("0/2,200 chars, 0 entries\n");
    expect(stdout).toContain("changed   never\n");
    expect(stdout).toMatch(/next steps \(3\)\n {2}hermes memory add '/);
    expect(existsSync(home)).toBe(false);
  });

  it("shows usage as bars, and the last change", async () => {
    const home = tempDirectory();
    mkdirSync(join(home, "memories"));
    writeFileSync(join(home, "memories", "USER.md"), "u".repeat(688));
    const added = (await runJson(["memory", "add", "the crane is blue"], { home })) as { change_id: string };
    const { stdout, code } = await runHermes(["status"], { home });
    expect(code).toBe(0);
    expect(stdout).toContain("memory    17/2,200 chars, 1 entry\n");
    expect(stdout).toContain("user      688/1,375 chars, 1 entry\n");
    expect(stdout).toMatch(
      new RegExp(`changed {3}\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d {2}add in memory, ${added.change_id}\n`),
    );
    expect(stdout).not.toContain("next steps");
    expect(stdout).not.toContain("crane");
    expect(await runJson(["status"], { home })).toMatchObject({
      version: VERSION,
      home,
      home_exists: true,
      profile: "default",
      targets: {
        memory: { entry_count: 1, used_chars: 17, char_limit: 2200, percent: 0, enabled: true },
        user: { entry_count: 1, used_chars: 688, char_limit: 1375, percent: 50, enabled: true },
      },
      pending: 0,
      last_change: { id: added.change_id, target: "memory", action: "add", origin: "cli" },
    });
  });

  it("counts sessions and messages, and says when the database cannot be opened", async () => {
    const home = tempDirectory();
    {
      await using store = await openSessionStore({ path: join(home, "state.db") });
      await store.createSession("one", { source: "cli" });
      await store.appendMany("one", [{ content: "a" }, { content: "b" }]);
    }
    expect((await runHermes(["status"], { home })).stdout).toMatch(/sessions {2}1, 2 messages, \S+ kB\n/);
    expect(await runJson(["status"], { home })).toMatchObject({ sessions: { count: 1, messages: 2 } });
    writeFileSync(join(home, "state.db"), "something else entirely, and quite a lot of it".repeat(20));
    const { stdout, code } = await runHermes(["status"], { home });
    expect(code).toBe(0);
    expect(stdout).toContain("is not a SQLite database");
  });

  it("changes nothing in the home", async () => {
    const home = tempDirectory();
    mkdirSync(join(home, "memories"));
    writeFileSync(join(home, "memories", "MEMORY.md"), "written by somebody else");
    await runHermes(["status"], { home });
    expect(readdirSync(home, { recursive: true }).sort()).toEqual([
      "memories",
      join("memories", "MEMORY.md"),
    ]);
  });

  it("survives a broken config, a file it cannot read, and staged writes", async () => {
    const home = tempDirectory();
    mkdirSync(join(home, "memories", "USER.md"), { recursive: true });
    mkdirSync(join(home, "pending", "memory"), { recursive: true });
    const record = { id: "0123abcd", payload: { action: "add" } };
    writeFileSync(join(home, "pending", "memory", "0123abcd.json"), JSON.stringify(record));
    writeFileSync(join(home, "config.yaml"), "memory:\n  overflow: maybe\n");
    const { stdout, stderr, code } = await runHermes(["status"], { home });
    expect(code).toBe(0);
    expect(stderr).toContain("memory.overflow");
    expect(stdout).toContain("cannot be read: it is a directory");
    expect(stdout).toContain("1 write to approve");
    expect(stdout).toMatch(/\nnext steps {2}hermes config check, hermes doctor, hermes memory pending\n$/);
  });
});
