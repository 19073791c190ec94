import { describe, expect, it } from "vitest";
import { runHere, runHermes } from "./run.ts";
import { CRANE, homeWithSessions, PLAIN } from "./sessions-home.ts";
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
    expect(quit).toMatchObject({ code: 1, stdout: "", stderr: "Cancelled.\n" });
  });
});

it("hermes sessions browse names other commands where there is no screen", async () => {
  const home = await homeWithSessions();
  const { stdout, stderr, code } = await runHermes(["sessions", "browse"], { home });
  expect({ stdout, code }).toEqual({ stdout: "", code: 1 });
  expect(stderr).toContain("hermes sessions list");
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
