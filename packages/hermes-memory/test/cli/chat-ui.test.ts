import type { BusyMode, CommandReply } from "@hermes-memory/agent/internal/agent";
import { describe, expect, it, onTestFinished } from "vitest";
import { ChatUi, type UiEnd } from "../../src/cli/chat/chat-ui.ts";
import type { HistoryFile } from "../../src/cli/chat/history-file.ts";
import { painter } from "../../src/cli/terminal.ts";
import { CTRL_C, CTRL_D, ENTER, fakeAgent, fakeCommands, fakeTty } from "./chat-fakes.ts";

type Options = {
  readonly replies?: Readonly<Record<string, CommandReply>>;
  readonly run?: ReturnType<typeof fakeCommands>["run"];
  readonly history?: readonly string[];
  readonly busyMode?: BusyMode;
};

/** A chat on a terminal in memory. */
async function chatting({ replies, run, history = [], busyMode = "steer" }: Options = {}) {
  const played = fakeAgent();
  const { tty, terminal, press, type, isOpen } = fakeTty();
  const kept: string[] = [];
  const file: HistoryFile = { entries: history, trouble: undefined, append: (text) => void kept.push(text) };
  let nowMs = 0;
  const fakes = fakeCommands(replies);
  const commands = { ...fakes, run: run ?? fakes.run };
  const ui = new ChatUi({
    agent: played.agent,
    commands,
    tty,
    paint: painter(false),
    history: file,
    showReasoning: false,
    busyMode: () => busyMode,
    now: () => nowMs,
  });
  played.listen((event) => ui.onEvent(event));
  const ended = ui.run([{ text: "some-model\n" }]);
  onTestFinished(async () => {
    press(CTRL_D, CTRL_C, CTRL_C, CTRL_C);
    await ended;
  });
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  await settled();
  return {
    ...played,
    ui,
    ended,
    kept,
    press,
    type,
    isOpen,
    screen: () => terminal.text().trimEnd(),
    pass: (ms: number) => {
      nowMs += ms;
    },
    send: (text: string) => {
      type(text);
      press(ENTER);
    },
    /** Waits until pending work has gone as far as it can without the test. */
    settled,
  };
}

const told = (...lines: string[]): CommandReply => ({ kind: "text", lines, json: null });

describe("a chat on a terminal", () => {
  it("shows the answer while it is written, with the input line below it", async () => {
    const { send, nextTurn, screen, settled } = await chatting();
    send("Which colour?");
    const turn = await nextTurn();
    expect(turn.text).toBe("Which colour?");
    turn.emit({ type: "text-delta", text: "The crane " });
    expect(screen()).toMatch(/^some-model\n> Which colour\?\nThe crane\n. answering \(Ctrl-C stops it\)\n>$/);
    turn.emit({ type: "text-delta", text: "is blue." });
    turn.end({ final_response: "The crane is blue." });
    await settled();
    expect(screen()).toBe(
      "some-model\n> Which colour?\nThe crane is blue.\ncontext 1,234/20,000 (6%) · memory 45%\n>",
    );
  });

  it("gives a message sent during a turn to that turn", async () => {
    const { send, type, nextTurn, steered, screen, settled } = await chatting();
    send("Begin");
    const turn = await nextTurn();
    turn.emit({ type: "text-delta", text: "Working" });
    send("but only the first part");
    type("half a thou");
    turn.emit({ type: "text-delta", text: " on it" });
    expect(steered).toEqual(["but only the first part"]);
    expect(screen()).toContain("Working\n> but only the first part\n(queued");
    turn.end({ final_response: "Working on it" });
    await settled();
    expect(screen()).toMatch(/\n> half a thou$/);
  });

  it("queues messages sent during a turn in busy mode 'queue', and sends them in order", async () => {
    const { send, nextTurn, steered, interrupts } = await chatting({ busyMode: "queue" });
    send("Begin");
    const first = await nextTurn();
    send("second");
    send("third");
    expect(steered).toEqual([]);
    first.end({ final_response: "Done." });
    const second = await nextTurn();
    expect(second.text).toBe("second");
    second.end();
    expect((await nextTurn()).text).toBe("third");
    expect(interrupts()).toBe(0);
  });

  it("sends a prompt that was queued first before a later text that the turn did not take", async () => {
    const replies: Record<string, CommandReply> = {
      "/q first": { kind: "queue", lines: [], text: "first", json: null },
    };
    const { send, nextTurn, settled } = await chatting({ replies });
    send("Begin");
    const turn = await nextTurn();
    send("/q first");
    await settled();
    send("second");
    turn.end({ pending_steer: "second" });
    const next = await nextTurn();
    expect(next.text).toBe("first");
    next.end();
    expect((await nextTurn()).text).toBe("second");
  });

  it("runs no queued prompt after Ctrl-C, and gives it back to the input line", async () => {
    const { send, press, nextTurn, screen, settled } = await chatting({ busyMode: "queue" });
    send("Begin");
    const first = await nextTurn();
    send("then that");
    press(CTRL_C);
    first.end({ interrupted: true });
    await settled();
    expect(screen()).toMatch(/\n> then that$/);
  });

  it("sends a prompt of /queue when the turn has ended, and at once when none runs", async () => {
    const replies: Record<string, CommandReply> = {
      "/q later": { kind: "queue", lines: ["Queued."], text: "later", json: null },
    };
    const { send, nextTurn, settled } = await chatting({ replies });
    send("/q later");
    const first = await nextTurn();
    expect(first.text).toBe("later");
    send("/q later");
    await settled();
    first.end();
    expect((await nextTurn()).text).toBe("later");
  });

  it("leaves at the second Ctrl-C of a running turn, with exit code 130", async () => {
    const { send, press, pass, nextTurn, ended, isOpen } = await chatting();
    send("Begin");
    const turn = await nextTurn();
    press(CTRL_C);
    pass(1500);
    press(CTRL_C);
    turn.end({ interrupted: true });
    expect(await ended).toEqual<UiEnd>({ exitCode: 130, deleteSession: false });
    expect(isOpen()).toBe(false);
  });

  it("leaves at Ctrl-D and at the second Ctrl-C of an empty prompt", async () => {
    const one = await chatting();
    one.press(CTRL_D);
    expect(await one.ended).toEqual({ exitCode: 0, deleteSession: false });
    const other = await chatting();
    other.type("text");
    other.press(CTRL_C);
    expect(other.screen()).toMatch(/\n>$/);
    other.press(CTRL_C);
    expect(other.screen()).toContain("Ctrl-C again leaves");
    other.press(CTRL_C);
    expect((await other.ended).exitCode).toBe(0);
  });

  it("keeps sent messages, each once, for the arrow keys and for the next chat", async () => {
    const { send, press, nextTurn, kept, settled, screen } = await chatting({ history: ["older"] });
    for (let i = 0; i < 2; i += 1) {
      send("again");
      (await nextTurn()).end();
      await settled();
    }
    expect(kept).toEqual(["again"]);
    press({ kind: "key", name: "up" }, { kind: "key", name: "up" });
    expect(screen()).toMatch(/\n> older$/);
  });

  it("shows nothing of a model's control sequences but their numbers", async () => {
    const { send, nextTurn, screen } = await chatting();
    send("Go");
    const turn = await nextTurn();
    turn.emit({ type: "text-delta", text: "a\u001b[2Jb\u009bc" });
    turn.emit({ type: "notice", level: "warn", cause: "x", text: "\u001b]0;title\u0007" });
    expect(screen()).toContain("a\\x1b[2Jb\\x9bc\n\\x1b]0;title\\x07");
    turn.end();
  });
});

describe("slash commands on a terminal", () => {
  it("print their reply and send nothing to the model", async () => {
    const { send, settled, screen } = await chatting({
      replies: { "/usage": told("Tokens: 5", "Cost: none") },
    });
    send("/usage");
    await settled();
    expect(screen()).toBe("some-model\n> /usage\nTokens: 5\nCost: none\n>");
  });

  it("put a text into the input line, send one, and leave", async () => {
    const replies: Record<string, CommandReply> = {
      "/undo": { kind: "edit", lines: ["Taken back."], text: "what I\nsaid", json: null },
      "/retry": { kind: "send", lines: ["Once more."], text: "what I said", json: null },
      "/exit --delete": { kind: "exit", lines: ["Bye."], deleteSession: true, json: null },
    };
    const { send, press, settled, screen, nextTurn, ended } = await chatting({ replies });
    send("/undo");
    await settled();
    expect(screen()).toMatch(/Taken back\.\n> what I\n {2}said$/);
    press(CTRL_C);
    send("/retry");
    const turn = await nextTurn();
    expect(turn.text).toBe("what I said");
    turn.end({ final_response: "Yes." });
    await settled();
    send("/exit --delete");
    expect(await ended).toEqual({ exitCode: 0, deleteSession: true });
  });

  it("work while a turn runs", async () => {
    const { send, settled, screen, nextTurn, steered } = await chatting({
      replies: { "/usage": told("Tokens: 5") },
    });
    send("Begin");
    const turn = await nextTurn();
    send("/usage");
    await settled();
    expect(screen()).toContain("> /usage\nTokens: 5\n");
    expect(steered).toEqual([]);
    turn.end();
  });

  it("ask before they throw something away; only a line answers", async () => {
    const answers: boolean[] = [];
    const asking = await chatting({
      run: async (line: string, ...rest: unknown[]) => {
        const [confirm] = rest as [(question: string) => Promise<boolean>];
        answers.push(await confirm(`${line}: sure?`));
        return told("ok");
      },
    });
    asking.send("/new");
    await asking.settled();
    expect(asking.screen()).toMatch(/\/new: sure\? \[y\/N\]\n>$/);
    asking.send("y");
    await asking.settled();
    asking.send("/clear");
    await asking.settled();
    asking.press(CTRL_C);
    await asking.settled();
    expect(answers).toEqual([true, false]);
  });
});

describe("a question about a memory write", () => {
  it("shows the text, keeps the unfinished input, and returns the typed answer", async () => {
    const { ui, send, type, press, nextTurn, screen, settled } = await chatting();
    send("Remember that I like tea");
    const turn = await nextTurn();
    type("half a line");
    const answer = ui.ask("Save to memory: add to memory?", "likes tea\nand biscuits");
    await settled();
    expect(screen()).toMatch(/ {2}likes tea\n {2}and biscuits\nSave to memory: add to memory\? \[y\/N\]\n>$/);
    type("y");
    press(ENTER);
    expect(await answer).toBe("yes");
    expect(screen()).toMatch(/> half a line$/);
    turn.end();
  });

  it("stays staged when the user leaves", async () => {
    const { ui, press, ended, settled } = await chatting();
    const answer = ui.ask("Save?");
    await settled();
    press({ kind: "end" });
    expect(await answer).toBe("none");
    expect((await ended).exitCode).toBe(130);
  });
});
