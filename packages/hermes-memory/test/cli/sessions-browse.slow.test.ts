import { spawn } from "node:child_process";
import { describe, expect, it } from "vitest";
import { runHere, runHermes } from "./run.ts";
import { CHINESE, CRANE, homeWithSessions, PLAIN } from "./sessions-home.ts";
import { hasPty, inTerminal } from "./sessions-pty.ts";

describe("hermes sessions browse where a list can be drawn", () => {
  it("prints how the chosen conversation begins, and its id", async () => {
    const home = await homeWithSessions();
    const play = { home, typed: ["Harbour"], canDraw: true };
    const { stdout, code } = await runHere(["sessions", "browse"], play);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Session 20260101_090000_aaaaaa\n/);
    expect(stdout).toContain("which colour has the crane?");
    expect(stdout).toContain(`\nSession ID: ${CRANE}\n`);
    const json = await runHere(["sessions", "browse", "--json"], { ...play, typed: ["Harbour"] });
    expect(JSON.parse(json.stdout)).toMatchObject({ id: CRANE, source: "cli" });
  });

  it("is cancelled when the user leaves", async () => {
    const home = await homeWithSessions();
    const quit = await runHere(["sessions", "browse"], { home, typed: [], canDraw: true });
    expect(quit).toMatchObject({ code: 1, stdout: "Cancelled.\n" });
  });
});

describe("hermes sessions browse without a screen", () => {
  it("lists numbers and takes one from standard input", async () => {
    const home = await homeWithSessions();
    const { stdout, stderr, code } = await runHermes(["sessions", "browse"], { home, input: "3\n" });
    expect(code).toBe(0);
    expect(stderr).toContain("   1. a plain question");
    expect(stderr).toContain("   3. Harbour crane");
    expect(stderr).toContain("Number of the session (1-3, empty to leave): ");
    expect(stdout).toContain(`Session ID: ${CRANE}\n`);
  });

  it("asks again after a wrong answer", async () => {
    const home = await homeWithSessions();
    const { stdout, stderr } = await runHere(["sessions", "browse"], { home, input: "9\nx\n1" });
    expect(stderr).toContain("There is no number '9'.");
    expect(stderr).toContain("There is no number 'x'.");
    expect(stdout).toContain(`Session ID: ${PLAIN}\n`);
  });

  it.each(["", "\n1\n", "q\n", "0\n"])("is cancelled by %j", async (input) => {
    const home = await homeWithSessions();
    const { stdout, code } = await runHermes(["sessions", "browse"], { home, input });
    expect({ stdout, code }).toEqual({ stdout: "Cancelled.\n", code: 1 });
  });

  it("ends when a number is in, without waiting for the end of the input", async () => {
    const home = await homeWithSessions();
    const { main, env } = {
      main: new URL("../../src/cli/main.ts", import.meta.url).pathname,
      env: { ...process.env },
    };
    const child = spawn(process.execPath, [main, "sessions", "browse", "--json"], {
      env: { ...env, HERMES_HOME: home },
      stdio: ["pipe", "pipe", "ignore"],
    });
    child.stdin.write("1\n"); // and stays open
    const chunks: Buffer[] = [];
    for await (const chunk of child.stdout) chunks.push(chunk as Buffer);
    expect(JSON.parse(Buffer.concat(chunks).toString())).toMatchObject({ id: PLAIN });
    child.stdin.destroy();
  });
});

describe.skipIf(!hasPty())("hermes sessions browse in a pseudo terminal (needs python3)", () => {
  it("filters while the user types, shows the chosen session, and restores the terminal", async () => {
    const home = await homeWithSessions();
    const { output, code, isRestored } = await inTerminal(["sessions", "browse"], {
      home,
      steps: [
        { until: "Type to filter", send: "crane" },
        { until: "(1 match)", send: "\r" },
      ],
    });
    expect(code).toBe(0);
    expect(output).toContain("which colour has the crane?");
    expect(output).toContain(`Session ID: ${CRANE}`);
    expect(isRestored).toBe(true);
  });

  it("leaves with Ctrl-C and exit code 130", async () => {
    const home = await homeWithSessions();
    const steps = [{ until: "Type to filter", send: "\u0003" }];
    const interrupted = await inTerminal(["sessions", "browse"], { home, steps });
    expect(interrupted).toMatchObject({ code: 130, isRestored: true });
  });

  it("asks for a number on a terminal that cannot draw", async () => {
    const home = await homeWithSessions();
    const { code, output } = await inTerminal(["sessions", "browse"], {
      home,
      env: { TERM: "dumb" },
      steps: [{ until: "Number of the session", send: "2\r" }],
    });
    expect(code).toBe(0);
    expect(output).toContain(`Session ID: ${CHINESE}`);
    expect(output).not.toContain("\u001b");
  });

  it("asks before deleting, and takes a y", async () => {
    const home = await homeWithSessions();
    const { code, output } = await inTerminal(["sessions", "delete", PLAIN], {
      home,
      steps: [{ until: "Delete it? [y/N]", send: "y\r" }],
    });
    expect({ code, isDeleted: output.includes(`Deleted session '${PLAIN}'.`) }).toEqual({
      code: 0,
      isDeleted: true,
    });
  });
});
