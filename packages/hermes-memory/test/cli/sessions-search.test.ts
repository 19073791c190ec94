import { describe, expect, it } from "vitest";
import { runHere, runHermes } from "./run.ts";
import { DELEGATE, homeWithSessions, PLAIN, TOOL_RUN, withStore, writeRaw } from "./sessions-home.ts";

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
});

async function find(home: string, ...args: string[]): Promise<Found> {
  const { stdout, code } = await runHere(["sessions", "search", ...args, "--json"], { home });
  expect(code).toBe(0);
  return JSON.parse(stdout) as Found;
}
