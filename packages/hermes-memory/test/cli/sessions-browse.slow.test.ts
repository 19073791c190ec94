import { describe, expect, it } from "vitest";
import { KEYS, startInPty, whyNoPty } from "../fakes/pty.ts";
import { CRANE, homeWithSessions, PLAIN } from "./sessions-home.ts";

const reason = await whyNoPty();

describe.skipIf(reason !== undefined)(`hermes sessions in a pseudo terminal ${reason ?? ""}`, () => {
  it("filters while the user types, shows the chosen session, and restores the terminal", async () => {
    const pty = await startInPty(["sessions", "browse"], { home: await homeWithSessions() });
    await pty.play([
      ["Type to filter", "crane"],
      ["(1 match)", KEYS.enter],
    ]);
    expect(await pty.ended()).toBe(0);
    expect(pty.output()).toContain("which colour has the crane?");
    expect(pty.output()).toContain(`Session ID: ${CRANE}`);
    expect(pty.output()).toContain("modes restored");
  });

  it("leaves with Ctrl-C and exit code 130", async () => {
    const pty = await startInPty(["sessions", "browse"], { home: await homeWithSessions() });
    await pty.play([["Type to filter", KEYS.interrupt]]);
    expect(await pty.ended()).toBe(130);
    expect(pty.output()).toContain("modes restored");
  });

  it("asks before deleting, and takes a y", async () => {
    const pty = await startInPty(["sessions", "delete", PLAIN], { home: await homeWithSessions() });
    await pty.play([["Delete it? [y/N]", `y${KEYS.enter}`]]);
    expect(await pty.ended()).toBe(0);
    expect(pty.output()).toContain(`Deleted session '${PLAIN}'.`);
  });
});
