import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { upgradeToToday } from "../../../core/test/fakes/today-file.ts";
import { sessionsCommands } from "../../src/cli/sessions/commands.ts";
import { runHere, runHermes, runJson } from "./run.ts";
import {
  CHINESE,
  CRANE,
  DELEGATE,
  databaseOf,
  homeWithSessions,
  PLAIN,
  TOOL_RUN,
  withStore,
  writeRaw,
} from "./sessions-home.ts";

describe("without a database", () => {
  it.each([
    [["list"], /^No sessions found\.$/m],
    [["browse"], /^No sessions found\.$/m],
    [["stats"], /^sessions +0$/m],
    [["prune", "--yes"], /^0 sessions pruned\.$/m],
    [["prune", "--dry-run"], /^0 sessions would be pruned\.$/m],
    [["optimize"], /^Nothing to optimize\.$/m],
  ])("%j answers, tells where it would be, and makes neither home nor file", async (args, expected) => {
    const home = join(tempDirectory(), "none");
    const { stdout, stderr, code } = await runHere(["sessions", ...args], { home });
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(expected) });
    expect(stderr).toContain(databaseOf(home));
    expect(stderr).toContain("hermes sessions import");
    expect(existsSync(home)).toBe(false);
  });

  it.each([
    [["show", "x"]],
    [["rename", "x", "y"]],
    [["archive", "x"]],
    [["delete", "x", "--yes"]],
    [["export", "-", "--session-id", "x"]],
  ])("%j finds nothing, with exit code 1, and makes nothing", async (args) => {
    const home = join(tempDirectory(), "none");
    const { stdout, stderr, code } = await runHere(["sessions", ...args], { home });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain("Session 'x' not found.");
    expect(existsSync(home)).toBe(false);
  });

  it("repair says that there is none", async () => {
    const home = join(tempDirectory(), "none");
    for (const args of [["repair"], ["repair", "--check-only"]]) {
      const { stdout, stderr, code } = await runHere(["sessions", ...args], { home });
      expect(code).toBe(1);
      expect(stdout + stderr).toContain(`${databaseOf(home)} does not exist`);
    }
    expect(existsSync(home)).toBe(false);
  });
});

describe("hermes sessions list", () => {
  it("prints a table, newest first, without runs of tools and delegates", async () => {
    const home = await homeWithSessions();
    const { stdout, stderr, code } = await runHermes(["sessions", "list"], { home });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const lines = stdout.trimEnd().split("\n");
    expect(lines.map((line) => line.split(" ").at(-1))).toEqual(["id", PLAIN, CHINESE, CRANE]);
    expect(lines[0]).toMatch(/^title +preview +last active +source +id$/);
    expect(lines[3]).toMatch(/^Harbour crane +which colour has the crane\? +\d{4}-\d\d-\d\d /);
  });

  it("filters by source, also for sources that are hidden by default", async () => {
    const home = await homeWithSessions();
    expect(await runJson(["sessions", "list", "--source", "tool"], { home })).toMatchObject([
      { id: TOOL_RUN },
    ]);
    const { stdout } = await runHere(["sessions", "list", "--source", "telegram"], { home });
    expect(stdout).toMatch(
      /^preview +last active +source +id\n记忆系统怎么样 +\S+ +telegram +20260102_090000_bbbbbb\n$/,
    );
    const none = await runHere(["sessions", "list", "--source", "nowhere"], { home });
    expect(none).toMatchObject({ code: 0, stdout: "No sessions found.\n", stderr: "" });
  });

  it("leaves out runs that programs started, and sessions that Hermes Agent hides", async () => {
    const home = await homeWithSessions();
    const before = await runJson(["sessions", "list"], { home });
    upgradeToToday(databaseOf(home));
    await withStore(home, async (store) => {
      for (const source of ["kanban", "oneshot", "subagent", "tool", "cli"]) {
        await store.createSession(`of-${source}`, { source });
        await store.appendMessage(`of-${source}`, { role: "user", content: "work" });
      }
      await store.setSessionHidden("of-cli", true);
    });
    const after = (await runJson(["sessions", "list"], { home })) as { id: string }[];
    expect(after.map(({ id }) => id)).toEqual((before as { id: string }[]).map(({ id }) => id));
    expect(await runJson(["sessions", "list", "--source", "kanban"], { home })).toMatchObject([
      { id: "of-kanban" },
    ]);
  });

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

  it("says how many there are when it lists fewer", async () => {
    const home = await homeWithSessions();
    const { stdout, stderr } = await runHere(["sessions", "list", "--limit", "1"], { home });
    expect(stdout.trimEnd().split("\n")).toHaveLength(2);
    expect(stderr).toBe("The first 1 of 3 sessions; --limit 3 lists them all.\n");
    expect((await runHere(["sessions", "list", "--limit", "0"], { home })).code).toBe(2);
  });

  it("orders by activity, and shows archived ones when asked", async () => {
    const home = await homeWithSessions();
    await withStore(home, async (store) => {
      await store.appendMessage(CRANE, { role: "user", content: "again" });
      await store.setSessionArchived(PLAIN, true);
    });
    const ids = async (...flags: string[]): Promise<string[]> =>
      ((await runJson(["sessions", "list", ...flags], { home })) as { id: string }[]).map(({ id }) => id);
    expect(await ids()).toEqual([CHINESE, CRANE]);
    expect(await ids("--by-activity")).toEqual([CRANE, CHINESE]);
    expect(await ids("--archived")).toEqual([PLAIN]);
    expect(await ids("--all")).toEqual([PLAIN, CHINESE, CRANE]);
    expect((await runHere(["sessions", "list", "--archived"], { home })).stdout).toContain("archived  id");
  });

  it("gives programs the row without the prompt", async () => {
    const home = await homeWithSessions();
    await withStore(home, (store) => store.saveOwnPrompt(CRANE, "a long prompt", 1));
    const rows = (await runJson(["sessions", "list"], { home })) as object[];
    expect(rows.at(-1)).toMatchObject({ id: CRANE, title: "Harbour crane", message_count: 4, source: "cli" });
    expect(JSON.stringify(rows)).not.toContain("a long prompt");
  });
});

describe("hermes sessions show", () => {
  it("prints facts and conversation, with long tool output cut", async () => {
    const home = await homeWithSessions();
    const { stdout, code } = await runHermes(["sessions", "show", CRANE], { home });
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^Session 20260101_090000_aaaaaa\n {2}title {5}Harbour crane\n {2}source {4}cli, m-1\n/,
    );
    expect(stdout).toContain("  folder    /harbour\n");
    expect(stdout).toMatch(/\n\nuser {2}\S+ \S+\nwhich colour has the crane\?\n\nassistant/);
    expect(stdout).toContain('I will look.\n  -> terminal({"command":"ls"})\n');
    expect(stdout).toMatch(
      /\n\ntool terminal {2}\S+ \S+\nx{600}\n\[108 more characters; --full prints everything\]\n/,
    );
    expect(stdout).not.toContain("the end");
    expect((await runHere(["sessions", "show", CRANE, "--full"], { home })).stdout).toContain("x the end\n");
  });

  it("takes a beginning of the id that fits one session, and lists the candidates otherwise", async () => {
    const home = await homeWithSessions();
    expect(await runJson(["sessions", "show", "20260102_090000_bbb"], { home })).toMatchObject({
      id: CHINESE,
    });
    const { stderr, code } = await runHere(["sessions", "show", "20260102"], { home });
    expect(code).toBe(1);
    expect(stderr).toContain("'20260102' matches several sessions");
    expect(stderr).toContain(`  ${CHINESE}\n`);
    expect(stderr).toContain(`  ${PLAIN}`);
    const json = await runHere(["sessions", "show", "20260102", "--json"], { home });
    expect(JSON.parse(json.stdout)).toMatchObject({ kind: "ambiguous", candidates: [PLAIN, CHINESE] });
    const missing = await runHere(["sessions", "show", "nobody"], { home });
    expect(missing).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("Session 'nobody' not found."),
    });
    expect((await runHere(["sessions", "show", ""], { home })).stderr).toContain("Session '' not found.");
  });

  it("stops after --limit messages and says so", async () => {
    const home = await homeWithSessions();
    const { stdout, stderr } = await runHere(["sessions", "show", CRANE, "--limit", "1"], { home });
    expect(stdout).toContain("which colour");
    expect(stdout).not.toContain("I will look");
    expect(stderr).toBe("The first 1 of 4 messages; --limit 4 prints them all.\n");
  });

  it("shows rewound messages only with --all, marked", async () => {
    const home = await homeWithSessions();
    await withStore(home, async (store) => {
      const [first] = await store.getMessages(CRANE);
      await store.rewindToMessage(CRANE, first?.id ?? 0);
    });
    expect((await runHere(["sessions", "show", CRANE], { home })).stdout).not.toContain("which colour");
    const all = await runHere(["sessions", "show", CRANE, "--all"], { home });
    expect(all.stdout).toMatch(/user .*\[rewound\]\nwhich colour/);
  });

  it("says where a session came from and where it goes on", async () => {
    const home = await homeWithSessions();
    const next = await withStore(home, (store) => store.continueSession(CRANE));
    const root = await runHere(["sessions", "show", CRANE], { home });
    expect(root.stdout).toContain(`  goes on   in ${next.id}\n`);
    expect(root.stdout).toContain("(compression)");
    expect((await runHere(["sessions", "show", next.id], { home })).stdout).toContain(
      `origin    continues ${CRANE}`,
    );
    expect((await runHere(["sessions", "show", DELEGATE], { home })).stdout).toContain(
      `delegate run of ${CRANE}`,
    );
    expect(await runJson(["sessions", "show", CRANE], { home })).toMatchObject({ tip_session_id: next.id });
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

describe("hermes sessions stats and path", () => {
  it("counts, by source, and tells the size", async () => {
    const home = await homeWithSessions();
    const { stdout, code } = await runHermes(["sessions", "stats"], { home });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ {2}telegram +1$/m);
    expect(stdout).toMatch(/^bytes +\S+ [kM]B$/m);
    expect(await runJson(["sessions", "stats"], { home })).toMatchObject({
      sessions: 5,
      messages: 7,
      exists: true,
    });
  });

  it("prints the path in the profile that is asked for", async () => {
    const home = tempDirectory();
    expect((await runHere(["sessions", "path"], { home })).stdout).toBe(`${databaseOf(home)}\n`);
    mkdirSync(join(home, "profiles", "work"), { recursive: true });
    const { stdout } = await runHere(["-p", "work", "sessions", "path"], { home });
    expect(stdout).toBe(`${join(home, "profiles", "work", "state.db")}\n`);
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

describe("the group", () => {
  it("is not loaded by other commands", async () => {
    const home = tempDirectory();
    const coverage = join(home, "coverage");
    mkdirSync(coverage);
    await runHermes(["memory", "show"], { home, env: { NODE_V8_COVERAGE: coverage } });
    const loaded = readdirSync(coverage).flatMap((name) => {
      const { result } = JSON.parse(readFileSync(join(coverage, name), "utf8")) as {
        result: { url: string }[];
      };
      return result.map(({ url }) => url);
    });
    expect(loaded.some((url) => url.includes("/src/cli/memory/"))).toBe(true);
    expect(loaded.filter((url) => /\/src\/(cli\/)?sessions\/|node:sqlite/.test(url))).toEqual([]);
  });

  it("has a help page with an example for every command", async () => {
    for (const { name, examples } of sessionsCommands) {
      const { stdout, code } = await runHere([...name.split(" "), "--help"], { home: tempDirectory() });
      expect(code).toBe(0);
      expect(stdout).toContain(`Usage: hermes ${name}`);
      expect(stdout).toContain("--json");
      for (const example of examples ?? []) expect(stdout).toContain(example);
    }
  });
});
