import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sessionFiles } from "@hermes-memory/core/internal/home";
import { resultNote, STORED_SNAPSHOT } from "@hermes-memory/core/internal/sessions";
import { describe, expect, it } from "vitest";
import { jsonHere, runHere } from "./run.ts";
import { CHINESE, CRANE, homeWithSessions, PLAIN, TOOL_RUN, withStore } from "./sessions-home.ts";

function idsOf(home: string): Promise<string[]> {
  return withStore(home, async (store) => (await store.searchSessions()).map(({ id }) => id).sort());
}

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

  it("says which parts of a compressed conversation stay", async () => {
    const home = await homeWithSessions();
    const next = await withStore(home, (store) => store.continueSession(PLAIN));
    const root = await runHere(["sessions", "delete", PLAIN], { home, answers: [false] });
    expect(root.stderr).toContain(`goes on in ${next.id}, which stays`);
    const tip = await runHere(["sessions", "delete", next.id], { home, answers: [false] });
    expect(tip.stderr).toContain(`began in ${PLAIN}, which stays`);
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
    const { findings } = (await jsonHere(["doctor"], { home })) as { findings: Record<string, string>[] };
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
    expect(await jsonHere(["sessions", "prune", "--orphans", "--yes"], { home })).toMatchObject({
      success: true,
      removed: 2,
    });
    expect(left()).toEqual(["1-00000001.txt", `session_${CRANE}.json`, "session_legacy.json"]);
    expect((await runHere(["sessions", "prune", "--orphans", "--source", "cli"], { home })).code).toBe(2);
  });
});
