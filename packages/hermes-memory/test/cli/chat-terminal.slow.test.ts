// `hermes chat` as a user sees it: a real process in a real pseudo terminal, talking to a model server on loopback.
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { gate } from "../../../agent/test/fakes/wires/script.ts";
import { KEYS, type Pty, startInPty, whyNoPty } from "../fakes/pty.ts";
import { FakeTerminal } from "../fakes/vt.ts";
import { type ChatHome, chatHome, said, TITLE } from "./chat-home.ts";

const why = await whyNoPty();
const SIZE = { columns: 100, rows: 40 };
const READY = "/help lists the commands";
/** The status line: a turn is over. */
const DONE = "user profile";

const start = ({ home }: ChatHome, ...args: readonly string[]): Promise<Pty> =>
  startInPty(args, { home, size: SIZE, env: { NO_COLOR: "1" } });

/** The text on the screen, after all control sequences. */
function seen(pty: Pty): string {
  const terminal = new FakeTerminal(SIZE.columns, SIZE.rows);
  terminal.write(pty.output());
  return terminal.text();
}

describe.skipIf(why !== undefined)("hermes chat in a terminal", () => {
  it("leaves a terminal that echoes and waits for whole lines again", async () => {
    const pty = await start(await chatHome([]), "chat");
    await pty.play([
      [READY, `half a line${KEYS.interrupt}`],
      ["> \r", KEYS.endOfInput],
    ]);
    expect(await pty.ended()).toBe(0);
    expect(pty.output()).toContain("modes restored");
  });

  it("names the model, streams the answer, and resumes the session later", async () => {
    const pause = gate();
    const chat = await chatHome([
      { text: "The crane is blue.", pauseAt: { chars: 8, until: pause } },
      { text: "Since Monday." },
    ]);
    const pty = await start(chat, "chat");
    await pty.play([[READY, "Which colour?\r"]]);
    await pty.waitFor("The cran");
    expect(seen(pty)).not.toContain("blue");
    pause.open();
    await pty.waitFor(DONE);
    await pty.waitFor(TITLE);
    pty.send(KEYS.endOfInput);
    expect(await pty.ended()).toBe(0);
    const text = seen(pty);
    expect(text).toMatch(/^some-model \(custom\) · context 128,000 tokens \(.+\) · prompt caching off\n/);
    expect(text).toMatch(/\n> Which colour\?\nThe crane is blue\.\ncontext [\d,]+\/128,000 \(\d+%\)/);
    const id = /hermes chat --resume (\S+)/.exec(text)?.[1] ?? "";
    expect(text).toContain(`session ${id}\n`);

    const again = await start(chat, "chat", "--resume", id);
    await again.waitFor(`session ${id}, resumed: '${TITLE}', 2 messages`);
    await again.play([
      [READY, KEYS.up],
      ["> Which colour?", `\u0015Since when?\r`], // Ctrl-U empties the line
      [DONE, "/exit\r"],
    ]);
    expect(await again.ended()).toBe(0);
    const [, second] = chat.turns();
    expect(second && said(second)).toEqual([
      "user: Which colour?",
      "assistant: The crane is blue.",
      "user: Since when?",
    ]);
    const history = join(chat.home, ".hermes_history");
    expect(readFileSync(history, "utf8")).toContain("\n+Since when?\n");
    expect(statSync(history).mode & 0o777).toBe(0o600);
  });

  it("starts with 'hermes' alone when a model is configured", async () => {
    const pty = await start(await chatHome([]));
    await pty.play([[READY, KEYS.endOfInput]]);
    expect(await pty.ended()).toBe(0);
    expect(seen(pty)).not.toContain("--resume"); // nothing was said, so there is nothing to go on with
  });

  it("stops a turn at the first Ctrl-C, keeps its text, and takes the next message", async () => {
    const chat = await chatHome([{ text: "It began in spring", stallAfterChars: 12 }, { text: "Fine." }]);
    const pty = await start(chat, "chat");
    await pty.play([
      [READY, "Tell me\r"],
      ["It began in", KEYS.interrupt],
      ["Interrupted.", ""],
      [DONE, "Never mind\r"],
      ["Fine.", ""],
      [DONE, KEYS.endOfInput],
    ]);
    expect(await pty.ended()).toBe(0);
    await chat.wire.waitForAbort(0);
    const [, second] = chat.turns();
    expect(second && said(second)).toEqual([
      "user: Tell me",
      expect.stringContaining("assistant: It began in"),
      "user: Never mind",
    ]);
  });

  it("leaves at the second Ctrl-C, and gives the terminal back", async () => {
    const chat = await chatHome([{ text: "Once upon a time", stallAfterChars: 8 }]);
    const pty = await start(chat, "chat");
    await pty.play([
      [READY, "Tell me\r"],
      ["Once", KEYS.interrupt + KEYS.interrupt],
    ]);
    expect(await pty.ended()).toBe(130);
    expect(pty.output()).toContain("\u001b[?2004l"); // pasting works as before
  });

  it("shows control characters of the model as numbers, and takes keys typed before it was ready", async () => {
    const chat = await chatHome([{ text: "a\u001b]0;owned\u0007b" }]);
    const pty = await start(chat, "chat");
    pty.send("Go\r"); // the terminal still waits for whole lines, and makes a newline of it
    await pty.play([
      ["a\\x1b]0;owned\\x07b", ""],
      [DONE, KEYS.endOfInput],
    ]);
    await pty.ended();
    expect(pty.output()).not.toContain("\u001b]");
  });
});
