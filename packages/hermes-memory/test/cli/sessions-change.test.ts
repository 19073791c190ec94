import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sessionFiles } from "@hermes-memory/core/internal/home";
import { resultNote, STORED_SNAPSHOT } from "@hermes-memory/core/internal/sessions";
import { describe, expect, it } from "vitest";
import { runHere, runHermes, runJson } from "./run.ts";
import {
  CHINESE,
  CRANE,
  DELEGATE,
  homeWithSessions,
  PLAIN,
  TOOL_RUN,
  withStore,
  writeRaw,
} from "./sessions-home.ts";

function idsOf(home: string): Promise<string[]> {
  return withStore(home, async (store) => (await store.searchSessions()).map(({ id }) => id).sort());
}

describe("hermes sessions rename", () => {
  it("joins the words and prints the stored title", async () => {
    const home = await homeWithSessions();
    const { stdout, code } = await runHermes(
      ["sessions", "rename", "20260102_090000_bbc", "A  plain", "\ttitle"],
      {
        home,
      },
    );
    expect({ stdout, code }).toEqual({ stdout: `Session '${PLAIN}' renamed to: A plain title\n`, code: 0 });
    expect(await withStore(home, (store) => store.getSessionTitle(PLAIN))).toBe("A plain title");
  });

  it("refuses a title that is taken, too long or empty, and changes nothing", async () => {
    const home = await homeWithSessions();
    const taken = await runHere(["sessions", "rename", PLAIN, "Harbour", "crane"], { home });
    expect(taken.code).toBe(1);
    expect(taken.stderr).toContain(`Title 'Harbour crane' is already in use by session ${CRANE}`);
    await withStore(home, (store) => store.setSessionTitle(CHINESE, "\u009b31mred"));
    const hostile = await runHere(["sessions", "rename", PLAIN, "\u009b31mred"], { home });
    expect(hostile.stderr).toContain("\\x9b31mred");
    expect(hostile.stderr).not.toContain("\u009b");
    const long = await runHere(["sessions", "rename", PLAIN, "x".repeat(101), "--json"], { home });
    expect(JSON.parse(long.stdout)).toMatchObject({ success: false, kind: "title-too-long" });
    expect((await runHere(["sessions", "rename", PLAIN, " "], { home })).code).toBe(2);
    expect((await runHere(["sessions", "rename", PLAIN], { home })).code).toBe(2);
    expect(await withStore(home, (store) => store.getSessionTitle(PLAIN))).toBeNull();
  });
});

describe("hermes sessions archive", () => {
  it("hides a conversation and brings it back", async () => {
    const home = await homeWithSessions();
    const archived = await runHere(["sessions", "archive", CRANE], { home });
    expect(archived).toMatchObject({ code: 0, stdout: `Session '${CRANE}' is archived.\n` });
    expect((await runHere(["sessions", "list"], { home })).stdout).not.toContain(CRANE);
    expect((await runHere(["sessions", "archive", CRANE], { home })).stdout).toContain("already archived");
    expect(await runJson(["sessions", "archive", CRANE, "--undo"], { home })).toMatchObject({
      archived: false,
      changed: true,
    });
    expect((await runHere(["sessions", "list"], { home })).stdout).toContain(CRANE);
  });
});

describe("hermes sessions delete", () => {
  it("lists the session and its delegate runs, asks, and deletes", async () => {
    const home = await homeWithSessions();
    const transcripts = join(home, "sessions");
    mkdirSync(transcripts);
    writeFileSync(join(transcripts, `${CRANE}.jsonl`), "");
    const kept = await runHere(["sessions", "delete", CRANE], { home, answers: [false] });
    expect(kept).toMatchObject({ code: 1, stdout: "", questions: ["Delete it?"] });
    expect(kept.stderr).toContain(`${CRANE}  Harbour crane  4 messages, cli`);
    expect(kept.stderr).toContain("and 1 delegate run of theirs");
    expect(await idsOf(home)).toContain(CRANE);

    const gone = await runHere(["sessions", "delete", "20260101_0900"], { home, answers: [true] });
    expect(gone).toMatchObject({ code: 0, stdout: `Deleted session '${CRANE}'.\n` });
    expect(await idsOf(home)).toEqual([CHINESE, PLAIN, TOOL_RUN].sort());
    expect(existsSync(join(transcripts, `${CRANE}.jsonl`))).toBe(false);
  });

  it("deletes nothing without a terminal, even when a yes is piped in", async () => {
    const home = await homeWithSessions();
    const { stdout, stderr, code } = await runHermes(["sessions", "delete", PLAIN], { home, input: "yes\n" });
    expect({ stdout, code }).toEqual({ stdout: "", code: 1 });
    expect(stderr).toContain("Nothing was deleted: there is no terminal to ask at. Pass --yes to go on.");
    const json = await runHere(["sessions", "delete", PLAIN, "--json"], { home });
    expect(JSON.parse(json.stdout)).toMatchObject({ success: false, kind: "unconfirmed", sessions: [PLAIN] });
    expect(json.stderr).toBe("");
    expect(await idsOf(home)).toContain(PLAIN);
  });

  it("deletes several, or none when one of them is not there", async () => {
    const home = await homeWithSessions();
    const missing = await runHere(["sessions", "delete", PLAIN, "nobody", "-y"], { home });
    expect(missing).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("Session 'nobody' not found."),
    });
    expect(await idsOf(home)).toContain(PLAIN);
    const both = await runHere(["sessions", "delete", PLAIN, CHINESE, PLAIN, "-y"], { home });
    expect(both.stdout).toBe(`Deleted session '${PLAIN}'.\nDeleted session '${CHINESE}'.\n`);
    expect(await idsOf(home)).toEqual([CRANE, DELEGATE, TOOL_RUN].sort());
  });

  it("refuses a beginning that fits several", async () => {
    const home = await homeWithSessions();
    const { code, stderr } = await runHere(["sessions", "delete", "20260102", "-y"], { home });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining("matches several sessions"),
    });
    expect((await runHere(["sessions", "delete", "", "-y"], { home })).code).toBe(1);
    expect(await idsOf(home)).toHaveLength(5);
  });

  it("says which parts of a compressed conversation stay", async () => {
    const home = await homeWithSessions();
    const next = await withStore(home, (store) => store.continueSession(PLAIN));
    const root = await runHere(["sessions", "delete", PLAIN], { home, answers: [false] });
    expect(root.stderr).toContain(`goes on in ${next.id}, which stays`);
    const tip = await runHere(["sessions", "delete", next.id], { home, answers: [false] });
    expect(tip.stderr).toContain(`began in ${PLAIN}, which stays`);
  });
});

describe("hermes sessions prune", () => {
  async function homeWithOldOnes(): Promise<string> {
    const home = await homeWithSessions();
    writeRaw(
      home,
      "UPDATE sessions SET started_at = 1000, ended_at = 2000 WHERE id IN (?, ?)",
      PLAIN,
      CHINESE,
    );
    writeRaw(home, "UPDATE sessions SET started_at = 1000 WHERE id = ?", CRANE); // still open
    return home;
  }

  it("lists old sessions that ended, asks, and deletes them", async () => {
    const home = await homeWithOldOnes();
    const rehearsal = await runHere(["sessions", "prune", "--dry-run"], { home });
    expect(rehearsal.stdout).toContain(PLAIN);
    expect(rehearsal.stdout).toMatch(/\n2 sessions would be pruned\.\n$/);
    const kept = await runHere(["sessions", "prune"], { home, answers: [false] });
    expect(kept).toMatchObject({
      code: 1,
      stdout: "",
      questions: ["Delete 2 sessions for good?"],
    });
    expect(kept.stderr).toContain(CHINESE);
    expect(await runHere(["sessions", "prune"], { home })).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining("Pass --yes"),
    });
    expect(await idsOf(home)).toHaveLength(5);
    const some = await runHere(["sessions", "prune", "--source", "telegram", "-y"], { home });
    expect(some).toMatchObject({ code: 0, stdout: "1 session pruned.\n" });
    expect(await runJson(["sessions", "prune", "--yes"], { home })).toMatchObject({
      pruned: 1,
      sessions: [PLAIN],
    });
    expect(await idsOf(home)).toEqual([CRANE, DELEGATE, TOOL_RUN].sort());
  });

  it("asks nothing when there is nothing old enough", async () => {
    const home = await homeWithOldOnes();
    const days = String(Math.ceil(Date.now() / 86_400_000) + 1);
    const { stdout, questions } = await runHere(["sessions", "prune", "--older-than", days], {
      home,
      answers: [true],
    });
    expect({ stdout, questions }).toEqual({ stdout: "0 sessions pruned.\n", questions: [] });
    expect((await runHere(["sessions", "prune", "--older-than", "-1"], { home })).code).toBe(2);
  });
});

describe("files of sessions", () => {
  const DAYS = 86_400_000;

  /** A home whose crane session names the result `1-00000001`; no session refers to another result and a snapshot. */
  async function homeWithFiles(): Promise<{ home: string; left: () => string[] }> {
    const home = await homeWithSessions();
    const { sessionsDir, resultsDir } = sessionFiles(home);
    for (const directory of [sessionsDir, resultsDir]) mkdirSync(directory);
    const note = resultNote({ id: "1-00000001", chars: 3, shownChars: 1, reader: "read_result" });
    await withStore(home, (store) =>
      store.appendMessage(CRANE, { role: "tool", toolCallId: "1", content: `a\n\n${note}` }),
    );
    const old = (Date.now() - 2 * DAYS) / 1000;
    const files = {
      [join(resultsDir, "1-00000001.txt")]: "abc",
      [join(resultsDir, "2-00000001.txt")]: "abc",
      [join(sessionsDir, `session_${CRANE}.json`)]: "{}",
      [join(sessionsDir, "session_gone.json")]: JSON.stringify({ ...STORED_SNAPSHOT, messages: [] }, null, 2),
      [join(sessionsDir, "session_legacy.json")]: "{}",
    };
    for (const [path, text] of Object.entries(files)) {
      writeFileSync(path, text);
      utimesSync(path, old, old);
    }
    return { home, left: () => [...readdirSync(resultsDir), ...readdirSync(sessionsDir)].sort() };
  }

  it("go with a session that is deleted", async () => {
    const { home, left } = await homeWithFiles();
    expect((await runHere(["sessions", "delete", CRANE, "--yes"], { home })).code).toBe(0);
    expect(left()).toEqual(["2-00000001.txt", "session_gone.json", "session_legacy.json"]);
  });

  it("that no session refers to are reported by doctor, with the command that removes them", async () => {
    const { home } = await homeWithFiles();
    const { findings } = (await runJson(["doctor"], { home })) as { findings: Record<string, string>[] };
    expect(findings.filter(({ check }) => check === "files")).toEqual([
      {
        check: "files",
        status: "warn",
        message: expect.stringMatching(
          /^1 tool result and 1 JSON snapshot of sessions that are gone, \d+ B\.$/,
        ),
        remedy: "'hermes sessions prune --orphans' lists them, asks, and removes them.",
      },
      { check: "files", status: "ok", message: expect.stringContaining("1 conversation in ") },
    ]);
  });

  it("that no session refers to are listed and, after a question, removed", async () => {
    const { home, left } = await homeWithFiles();
    const rehearsal = await runHere(["sessions", "prune", "--orphans", "--dry-run"], { home });
    expect(rehearsal.stdout).toMatch(
      /2-00000001\.txt {2}3 B\n.*session_gone\.json.*\n2 files would be removed/,
    );
    expect((await runHere(["sessions", "prune", "--orphans"], { home })).stderr).toContain("Pass --yes");
    const recent = await runHere(["sessions", "prune", "--orphans", "--older-than", "3", "-y"], { home });
    expect(recent.stdout).toBe("0 files removed.\n");
    expect(left()).toHaveLength(5);
    expect(await runJson(["sessions", "prune", "--orphans", "--yes"], { home })).toMatchObject({
      success: true,
      removed: 2,
    });
    expect(left()).toEqual(["1-00000001.txt", `session_${CRANE}.json`, "session_legacy.json"]);
    expect((await runHere(["sessions", "prune", "--orphans", "--source", "cli"], { home })).code).toBe(2);
  });
});
