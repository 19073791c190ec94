import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { upgradeToToday } from "../../../core/test/fakes/today-file.ts";
import { runHere, runHermes } from "./run.ts";
import { CRANE, databaseOf, homeWithSessions, PLAIN, withStore, writeRaw } from "./sessions-home.ts";

describe("hermes sessions list", () => {
  it("shows the messages that a compaction within the session put away, and none that is for models only", async () => {
    const home = await homeWithSessions();
    upgradeToToday(databaseOf(home));
    await withStore(home, (store) => store.appendMessage(CRANE, { role: "user", content: "for the model" }));
    writeRaw(home, "UPDATE messages SET active = 0, compacted = 1 WHERE content <> 'for the model'");
    writeRaw(home, "UPDATE messages SET display_kind = 'hidden' WHERE content = 'for the model'");
    const { stdout } = await runHere(["sessions", "show", CRANE], { home });
    expect(stdout).toContain("which colour has the crane?");
    expect(stdout).toContain("[compacted]");
    expect(stdout).not.toMatch(/for the model|\[rewound\]/);
  });

  it("deletes no session in which the original has a turn, and says whose it is", async () => {
    const home = await homeWithSessions();
    upgradeToToday(databaseOf(home));
    writeRaw(
      home,
      `INSERT INTO session_turn_leases VALUES ('${CRANE}', 'host=elsewhere:turn=1', 1, 4102444800)`,
    );
    const refused = await runHere(["sessions", "delete", CRANE, "--yes"], { home });
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toMatch(/host=elsewhere:turn=1.*2100-01-01/s);
    expect(await withStore(home, (store) => store.getSession(CRANE))).not.toBeNull();
  });
});

describe("hostile text in the database", () => {
  it.each([
    [["list"]],
    [["show", PLAIN]],
    [["browse"]],
    [["delete", PLAIN]],
    [["stats"]],
    [["prune", "--dry-run", "--older-than", "0"]],
  ])("%j shows control characters and never sends them", async (args) => {
    const home = await homeWithSessions();
    const evil = "\u001b[2Ja\u001b]0;owned\u0007b\u009b31m\u202ec\rd";
    writeRaw(
      home,
      "UPDATE sessions SET title = ?, source = ?, ended_at = started_at WHERE id = ?",
      evil,
      evil,
      PLAIN,
    );
    writeRaw(home, "UPDATE messages SET content = ?, tool_name = ? WHERE session_id = ?", evil, evil, PLAIN);
    const { stdout, stderr } = await runHere(["sessions", ...args], { home, canDraw: true, typed: [""] });
    expect((stdout + stderr).replaceAll("\n", "")).not.toMatch(/[\p{Cc}\u202e]/u);
    expect(stdout + stderr).toContain("\\x1b]0;owned");
  });
});

describe("a database that cannot be opened", () => {
  it.each([["list"], ["stats"], ["export -"], ["delete x"], ["optimize"]])(
    "ends '%s' with what is wrong, and leaves the file alone",
    async (args) => {
      const home = tempDirectory();
      writeFileSync(databaseOf(home), "this is no database, but it is longer than a header".repeat(40));
      const { stdout, stderr, code } = await runHere(["sessions", ...args.split(" ")], { home });
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toMatch(/^error: Could not open session database: /);
      expect(readFileSync(databaseOf(home), "utf8")).toMatch(/^this is no database/);
    },
  );
});

describe("reading", () => {
  it("does not change the database", async () => {
    const home = await homeWithSessions();
    const before = readFileSync(databaseOf(home));
    for (const args of [["list"], ["show", CRANE], ["stats"], ["export", "-"], ["repair", "--check-only"]])
      expect((await runHermes(["sessions", ...args], { home })).code).toBe(0);
    expect(readFileSync(databaseOf(home)).equals(before)).toBe(true);
  });
});
