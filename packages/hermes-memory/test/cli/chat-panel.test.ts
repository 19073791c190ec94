import { describe, expect, it, onTestFinished } from "vitest";
import { Panel } from "../../src/cli/chat/panel.ts";
import { painter } from "../../src/cli/terminal.ts";
import { CTRL_C, ENTER, fakeTty } from "./chat-fakes.ts";

const TAB = { kind: "key", name: "tab" } as const;

async function opened() {
  const { tty, terminal, press, type } = fakeTty();
  const reported: string[] = [];
  const parts = { tty, paint: painter(false), history: [], showReasoning: false, now: () => 0 };
  const panel = new Panel(parts, {
    submitted: (text) => void reported.push(`submitted ${text}`),
    interrupted: () => void reported.push("interrupted"),
    ended: () => void reported.push("ended"),
    gone: () => void reported.push("gone"),
    touched: () => undefined,
    complete: (written) => ["/title", "/tools"].filter((name) => name.startsWith(written)),
  });
  await panel.open([]);
  onTestFinished(() => panel.close());
  const screen = (): string => terminal.text().trimEnd();
  return { panel, press, type, reported, screen };
}

describe("the panel of a chat", () => {
  it("shows the candidates of a completion until the next key", async () => {
    const { press, type, screen } = await opened();
    type("/t");
    press(TAB);
    expect(screen()).toBe("/title  /tools\n> /t");
    type("i");
    press(TAB);
    expect(screen()).toBe("> /title");
  });

  it("asks its questions one after the other, in the place of the input line", async () => {
    const { panel, press, type, reported, screen } = await opened();
    type("draft");
    const first = panel.ask("Write it?", "some text");
    const second = panel.ask("Delete it?");
    await Promise.resolve();
    expect(screen()).toBe("  some text\nWrite it? [y/N]\n>");
    type("y");
    press(ENTER);
    expect(await first).toBe("yes");
    await Promise.resolve();
    expect(screen()).toContain("Delete it? [y/N]");
    press(CTRL_C);
    expect(await second).toBe("none");
    expect(reported).toEqual(["interrupted"]);
    expect(screen().endsWith("> draft")).toBe(true);
  });

  it("draws nothing once it is closed, and answers open questions with none", async () => {
    const { panel, screen } = await opened();
    const asked = panel.ask("Write it?");
    await Promise.resolve();
    panel.close();
    const before = screen();
    panel.say("dim", "too late");
    expect(await asked).toBe("none");
    expect(await panel.ask("Again?")).toBe("none");
    expect(screen()).toBe(before);
  });
});
