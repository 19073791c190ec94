import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
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

type Found = {
  readonly stage: string;
  readonly empty: string | null;
  readonly hits: readonly {
    readonly session_id: string;
    readonly role: string;
    readonly title: string | null;
  }[];
};

describe("hermes sessions search", () => {
  it("prints session, snippet and reason of each hit", async () => {
    const home = await homeWithSessions();
    const { stdout, stderr, code } = await runHermes(["sessions", "search", "colour", "crane"], { home });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const lines = stdout.trimEnd().split("\n");
    expect(lines).toEqual([
      expect.stringMatching(/^Harbour crane {2}20260101_090000_aaaaaa {2}2026-01-01 \d\d:\d\d {2}user$/),
      "  which >>>colour<<< has the >>>crane<<<?",
      expect.stringMatching(/^ {2}matched colour, crane · strict: .* · score \d+\.\d\d$/),
    ]);
  });

  it("names a session without a title by its id, and hits are apart from each other", async () => {
    const home = await homeWithSessions();
    await withStore(home, (store) => store.appendMessage(PLAIN, { role: "user", content: "a plain answer" }));
    const { stdout } = await runHere(["sessions", "search", "plain"], { home });
    const [first = "", ...others] = stdout.trimEnd().split("\n\n");
    expect(first).toMatch(new RegExp(`^${PLAIN}  \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d  user\\n`));
    expect(others).toHaveLength(1);
  });

  it("colours matches on a terminal with colours, and nothing else", async () => {
    const home = await homeWithSessions();
    await withStore(home, (store) =>
      store.appendMessage(PLAIN, { role: "user", content: ">>> import lighthouse" }),
    );
    const { stdout } = await runHermes(["sessions", "search", "lighthouse"], {
      home,
      env: { FORCE_COLOR: "1" },
    });
    expect(stdout).toContain(">>> import \u001b[1m\u001b[33mlighthouse\u001b[39m\u001b[22m\n");
    expect(stdout).toContain("\u001b[2m  matched lighthouse");
  });

  it("takes exact words of a tool call as an answer", async () => {
    const home = await homeWithSessions();
    const call = {
      id: "1",
      type: "function",
      function: { name: "run", arguments: '{"c":"rsync zebrapath"}' },
    };
    await withStore(home, (store) =>
      store.appendMessage(PLAIN, { role: "assistant", content: null, tool_calls: [call] }),
    );
    const { stdout } = await runHere(["sessions", "search", "zebrapath"], { home });
    expect(stdout).toContain("rsync >>>zebrapath<<<");
    expect(stdout).not.toContain("Nothing that clearly answers this");
  });

  it("escapes control characters", async () => {
    const home = await homeWithSessions();
    await withStore(home, (store) =>
      store.appendMessage(PLAIN, { role: "user", content: "\u001b]0;owned\u0007 the zebra\r\nstripes" }),
    );
    writeRaw(home, "UPDATE sessions SET title = ? WHERE id = ?", "\u001b[2Jtitle\nline", PLAIN);
    const { stdout } = await runHere(["sessions", "search", "zebra"], { home });
    expect(stdout).toContain("\\x1b[2Jtitle line");
    expect(stdout).toContain("\n  the >>>zebra<<< stripes\n");
    expect(stdout).not.toContain("\u001b");
  });

  it("cuts a word as long as a file to a few hundred characters", async () => {
    const home = await homeWithSessions();
    const blob = "QUJD".repeat(5_000);
    await withStore(home, (store) =>
      store.appendMessage(PLAIN, { role: "user", content: `${blob} narwhal ${blob}` }),
    );
    const { stdout } = await runHere(["sessions", "search", "narwhal"], { home });
    expect(stdout).toContain(">>>narwhal<<<");
    expect(stdout.length).toBeLessThan(1_500);
  });

  it("takes a phrase, operators and a star at their word", async () => {
    const home = await homeWithSessions();
    expect(await find(home, '"plain question"')).toMatchObject({
      stage: "exact",
      hits: [{ session_id: PLAIN }],
    });
    expect(await find(home, '"question plain"')).toMatchObject({ hits: [], empty: "no-match" });
    const either = await find(home, "blue", "OR", "quest*");
    expect(new Set(either.hits.map((hit) => hit.session_id))).toEqual(new Set([CRANE, PLAIN]));
  });

  it("finds Chinese, and text that only a tool printed", async () => {
    const home = await homeWithSessions();
    expect(await find(home, "记忆")).toMatchObject({ hits: [{ session_id: CHINESE }] });
    expect(await find(home, "end")).toMatchObject({ hits: [{ session_id: CRANE, role: "tool" }] });
  });

  it("finds archived conversations, and no rewound messages", async () => {
    const home = await homeWithSessions();
    await withStore(home, async (store) => {
      await store.setSessionArchived(CRANE, true);
      await store.appendMessage(PLAIN, { role: "user", content: "a walrus" });
    });
    expect(await find(home, "crane")).toMatchObject({
      hits: [{ session_id: CRANE, title: "Harbour crane" }],
    });
    expect((await find(home, "walrus", "--all")).hits).toHaveLength(1);
    writeRaw(home, "UPDATE messages SET active = 0 WHERE content = ?", "a walrus");
    expect((await find(home, "walrus", "--all")).hits).toEqual([]);
  });
});

describe("filters of hermes sessions search", () => {
  it("leave runs of subagents and tools out, unless they are asked for", async () => {
    const home = await homeWithSessions();
    await withStore(home, (store) => store.appendMessage(DELEGATE, { role: "user", content: "run along" }));
    const nothing = await runHere(["sessions", "search", "run"], { home });
    expect(nothing).toMatchObject({
      code: 0,
      stdout: "No messages found, except in runs of subagents, tools and task boards.\n",
      stderr: "--all searches those too.\n",
    });
    const sessionsOf = async (...args: string[]) =>
      (await find(home, "run", ...args)).hits.map((hit) => hit.session_id).sort();
    expect(await sessionsOf("--all")).toEqual([DELEGATE, TOOL_RUN]);
    expect(await sessionsOf("--source", "tool")).toEqual([TOOL_RUN]);
    expect(await sessionsOf("--source", "tool, subagent")).toEqual([DELEGATE, TOOL_RUN]);
    expect(await sessionsOf("--session", TOOL_RUN)).toEqual([TOOL_RUN]);
  });

  it("choose by role, session and time", async () => {
    const home = await homeWithSessions();
    await withStore(home, async (store) => {
      const words = { content: "the tide table" };
      await store.appendMessage(CRANE, { role: "user", ...words, timestamp: at("2026-02-01T12:00:00") });
      await store.appendMessage(PLAIN, { role: "assistant", ...words, timestamp: at("2026-02-03T12:00:00") });
    });
    const sessionsOf = async (...args: string[]) =>
      (await find(home, "tide", ...args)).hits.map((hit) => hit.session_id);
    expect(await sessionsOf("--role", "user")).toEqual([CRANE]);
    expect(await sessionsOf("--role", "assistant,tool")).toEqual([PLAIN]);
    expect(await sessionsOf("--session", CRANE.slice(0, 13))).toEqual([CRANE]);
    expect(await sessionsOf("--after", "2026-02-02")).toEqual([PLAIN]);
    expect(await sessionsOf("--before", "2026-02-02 00:00")).toEqual([CRANE]);
    expect(await sessionsOf("--sort", "newest")).toEqual([PLAIN, CRANE]);
    expect(await sessionsOf("--sort", "oldest")).toEqual([CRANE, PLAIN]);
    const none = await runHere(["sessions", "search", "tide", "--role", "tool", "--after", "2026-01-01"], {
      home,
    });
    expect(none).toMatchObject({
      code: 0,
      stdout: "No messages found that the filters allow; there are others.\n",
      stderr: expect.stringContaining("Leave out or widen"),
    });
  });

  it("show the best hit of each conversation with --per-session", async () => {
    const home = await homeWithSessions();
    await withStore(home, (store) =>
      store.appendMany(PLAIN, [
        { role: "user", content: "heron" },
        { role: "user", content: "heron and heron" },
      ]),
    );
    expect((await find(home, "heron")).hits).toHaveLength(2);
    expect((await find(home, "heron", "--per-session")).hits).toHaveLength(1);
  });

  it("stop at --limit and say so", async () => {
    const home = await homeWithSessions();
    await withStore(home, (store) =>
      store.appendMany(
        PLAIN,
        ["one", "two", "three"].map((word) => ({ role: "user", content: `otter ${word}` })),
      ),
    );
    const two = await runHere(["sessions", "search", "otter", "--limit", "2"], { home });
    expect(two.stdout.match(/>>>otter<<</g)).toHaveLength(2);
    expect(two.stderr).toBe("The first 2 hits; --limit 4 shows more.\n");
    const one = await runHere(["sessions", "search", "otter", "--limit", "1"], { home });
    expect(one.stderr).toBe("The first hit; --limit 2 shows more.\n");
    expect(await runHere(["sessions", "search", "otter", "--limit", "3"], { home })).toMatchObject({
      stderr: "",
    });
  });

  it.each([
    [["--after", "the day before"], "--after: 'the day before' is not a time that can be read."],
    [["--sort", "best"], "best"],
    [["--limit", "0"], "0"],
  ])("refuse %j as wrong usage", async (args, message) => {
    const home = await homeWithSessions();
    const { stdout, stderr, code } = await runHere(["sessions", "search", "crane", ...args], { home });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(message);
  });

  it("refuse a session that does not exist, and a search for no words at all", async () => {
    const home = await homeWithSessions();
    const unknown = await runHere(["sessions", "search", "crane", "--session", "nope"], { home });
    expect(unknown.code).toBe(1);
    expect(unknown.stderr).toContain("Session 'nope' not found.");
    expect(await runHere(["sessions", "search"], { home })).toMatchObject({ code: 2, stdout: "" });
  });
});

describe("a search that finds nothing", () => {
  it.each([
    [["submarine"], "No messages found.\n", "Try fewer, plainer words"],
    [['"submarine deep"'], "No messages found.\n", "Try fewer, plainer words"],
    [["?!"], "Nothing was searched: the query holds no words.\n", "Name what to look for"],
  ])("says why and what to try: %j", async (words, said, hint) => {
    const home = await homeWithSessions();
    const { stdout, stderr, code } = await runHere(["sessions", "search", ...words], { home });
    expect({ code, stdout }).toEqual({ code: 0, stdout: said });
    expect(stderr).toContain(hint);
  });

  it("has the reason in its JSON", async () => {
    const home = await homeWithSessions();
    expect(await runJson(["sessions", "search", "submarine"], { home })).toEqual({
      query: "submarine",
      stage: "none",
      empty: "no-match",
      hits: [],
    });
  });

  it("because there is no database makes neither home nor file", async () => {
    const home = join(tempDirectory(), "none");
    const { stdout, stderr, code } = await runHere(["sessions", "search", "crane"], { home });
    expect({ code, stdout }).toEqual({ code: 0, stdout: "No messages found.\n" });
    expect(stderr).toContain(databaseOf(home));
    const named = await runHere(["sessions", "search", "crane", "--session", "x"], { home });
    expect(named).toMatchObject({ code: 1, stdout: "" });
    expect(existsSync(home)).toBe(false);
  });
});

async function find(home: string, ...args: string[]): Promise<Found> {
  const { stdout, code } = await runHere(["sessions", "search", ...args, "--json"], { home });
  expect(code).toBe(0);
  return JSON.parse(stdout) as Found;
}

/** Seconds of a local time. */
function at(time: string): number {
  return new Date(time).getTime() / 1000;
}
