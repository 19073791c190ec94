import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openSessionStore } from "@hermes-memory/core/internal/sessions";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { runHere } from "./run.ts";

describe("hermes status", () => {
  it("counts sessions and messages, and says when the database cannot be opened", async () => {
    const home = tempDirectory();
    {
      await using store = await openSessionStore({ path: join(home, "state.db") });
      await store.createSession("one", { source: "cli" });
      await store.appendMany("one", [{ content: "a" }, { content: "b" }]);
    }
    const { stdout: counted } = await runHere(["status", "--json"], { home });
    expect(JSON.parse(counted)).toMatchObject({ sessions: { count: 1, messages: 2 } });
    writeFileSync(join(home, "state.db"), "something else entirely, and quite a lot of it".repeat(20));
    const { stdout, code } = await runHere(["status"], { home });
    expect(code).toBe(0);
    expect(stdout).toContain("is not a SQLite database");
  });

  it("survives a broken config, a file it cannot read, and staged writes", async () => {
    const home = tempDirectory();
    mkdirSync(join(home, "memories", "USER.md"), { recursive: true });
    mkdirSync(join(home, "pending", "memory"), { recursive: true });
    const record = { id: "0123abcd", payload: { action: "add" } };
    writeFileSync(join(home, "pending", "memory", "0123abcd.json"), JSON.stringify(record));
    writeFileSync(join(home, "config.yaml"), "memory:\n  overflow: maybe\n");
    const { stdout, stderr, code } = await runHere(["status"], { home });
    expect(code).toBe(0);
    for (const word of ["memory.overflow", "hermes config check", "hermes doctor", "hermes memory pending"])
      expect(stderr).toContain(word);
    expect(stdout).toContain("it is a directory");
    expect(stdout).toMatch(/\npending +1\n/);
  });
});
