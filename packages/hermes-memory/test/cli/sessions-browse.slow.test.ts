import { spawn } from "node:child_process";
import { describe, expect, it } from "vitest";
import type { Screen, ScreenEvent } from "../../src/cli/screen.ts";
import { runHere, runHermes } from "./run.ts";
import { CHINESE, CRANE, homeWithSessions, PLAIN } from "./sessions-home.ts";
import { hasPty, inTerminal } from "./sessions-pty.ts";

/** A screen on which these keys are pressed, one after each frame. */
function played(events: readonly ScreenEvent[]): {
  screen: Screen;
  pictures: string[];
  isClosed: () => boolean;
} {
  const left = [...events];
  const pictures: string[] = [];
  let isClosed = false;
  const screen: Screen = {
    size: () => ({ columns: 120, rows: 20 }),
    open: async (onEvent) => ({
      draw: (lines) => {
        pictures.push(lines.join("\n"));
        const event = left.shift();
        if (event) setImmediate(() => onEvent(event));
      },
      close: () => {
        isClosed = true;
      },
    }),
  };
  return { screen, pictures, isClosed: () => isClosed };
}

const press = (name: string): ScreenEvent => ({
  kind: "key",
  name,
  text: name.length === 1 ? name : undefined,
});

describe("hermes sessions browse on a screen", () => {
  it("prints how the chosen conversation begins, and its id", async () => {
    const home = await homeWithSessions();
    const { screen, pictures, isClosed } = played([press("h"), press("a"), press("r"), press("return")]);
    const { stdout, code } = await runHere(["sessions", "browse"], { home, answers: [], screen });
    expect(code).toBe(0);
    expect(pictures[0]).toContain("3/3");
    expect(pictures.at(-1)).toContain("1/3  > har");
    expect(stdout).toMatch(/^Session 20260101_090000_aaaaaa\n/);
    expect(stdout).toContain("which colour has the crane?");
    expect(stdout).toContain(`\nSession ID: ${CRANE}\n`);
    expect(isClosed()).toBe(true);
  });

  it("gives programs the chosen row", async () => {
    const home = await homeWithSessions();
    const { screen } = played([press("down"), press("return")]);
    const { stdout } = await runHere(["sessions", "browse", "--json"], { home, answers: [], screen });
    expect(JSON.parse(stdout)).toMatchObject({ id: CHINESE, source: "telegram" });
  });

  it("is cancelled by q and interrupted by Ctrl-C", async () => {
    const home = await homeWithSessions();
    const quit = await runHere(["sessions", "browse"], {
      home,
      answers: [],
      screen: played([press("q")]).screen,
    });
    expect(quit).toMatchObject({ code: 1, stdout: "Cancelled.\n" });
    const { screen, isClosed } = played([{ kind: "key", name: "c", isCtrl: true }]);
    expect(await runHere(["sessions", "browse"], { home, answers: [], screen })).toMatchObject({ code: 130 });
    expect(isClosed()).toBe(true);
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
        { until: "Type to filter", send: "记忆" },
        { until: "1/3", send: "\u007f\u007f" },
        { until: "3/3", send: "\u001b[B\u001b[B" },
        { until: "> Harbour crane", send: "\r" },
      ],
    });
    expect(code).toBe(0);
    const afterwards = output.slice(output.indexOf("\u001b[?1049l"));
    expect(afterwards).toContain("which colour has the crane?");
    expect(afterwards).toContain(`Session ID: ${CRANE}`);
    expect(isRestored).toBe(true);
  });

  it("leaves with Esc, and with Ctrl-C and exit code 130", async () => {
    const home = await homeWithSessions();
    const escaped = await inTerminal(["sessions", "browse"], {
      home,
      steps: [
        { until: "Type to filter", send: "plain" },
        { until: "1/3", send: "\u001b" },
        { until: "3/3", send: "\u001b" },
      ],
    });
    expect(escaped).toMatchObject({
      code: 1,
      isRestored: true,
      output: expect.stringContaining("Cancelled."),
    });
    const interrupted = await inTerminal(["sessions", "browse"], {
      home,
      steps: [{ until: "Type to filter", send: "\u0003" }],
    });
    expect(interrupted).toMatchObject({ code: 130, isRestored: true });
  });

  it("draws anew when the terminal gets smaller", async () => {
    const home = await homeWithSessions();
    const { code, output } = await inTerminal(["sessions", "browse"], {
      home,
      size: { columns: 140, rows: 20 },
      steps: [
        { until: CRANE, resize: { columns: 24, rows: 8 } },
        { until: "Harbour crane        ", send: "q" },
      ],
    });
    expect({ code, isCancelled: output.includes("Cancelled.") }).toEqual({ code: 1, isCancelled: true });
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
