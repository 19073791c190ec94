import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type BusyMode, runSlashCommand } from "../../../src/agent/commands/index.ts";
import { openChat, textOf } from "./fake-agent.ts";

describe("/queue", () => {
  it("gives the prompt to the entrance for the next turn, by its short name too", async () => {
    const chat = await openChat();
    chat.agent.isRunning = true;
    for (const name of ["/queue", "/q"])
      expect(await chat.expect(`${name} then paint it`, "queue")).toMatchObject({
        text: "then paint it",
        json: { queued: true },
      });
    chat.agent.isRunning = false;
    expect(await chat.expect("/q now", "queue")).toMatchObject({ text: "now", json: { queued: false } });
  });

  it("without a prompt says how it is used and how to leave: '/q' once left the chat", async () => {
    const chat = await openChat();
    expect(textOf(await chat.expect("/q", "error"))).toContain("'/exit' leaves");
  });
});

describe("/steer", () => {
  it("gives the running turn a message", async () => {
    const chat = await openChat();
    const steered: string[] = [];
    chat.agent.isRunning = true;
    chat.agent.steer = (text?: string) => steered.push(text ?? "") > 0;
    await chat.expect("/steer only the left one", "text");
    expect(steered).toEqual(["only the left one"]);
  });

  it("is the next message when no turn takes it", async () => {
    const chat = await openChat();
    expect(await chat.expect("/steer go on", "queue")).toMatchObject({ text: "go on" });
    chat.agent.isRunning = true; // and refuses: its steering is closed
    expect(await chat.expect("/steer go on", "queue")).toMatchObject({ json: { steered: false } });
    await chat.expect("/steer", "error");
  });
});

describe("/busy", () => {
  it("tells and sets what Enter does, and saves it beside the user's comments", async () => {
    const chat = await openChat();
    writeFileSync(join(chat.home, "config.yaml"), "# mine\ntimezone: UTC\n");
    let mode: BusyMode = "steer";
    const busy = {
      mode: () => mode,
      setMode: (next: BusyMode) => {
        mode = next;
      },
    };
    const host = { config: chat.config, confirm: async () => true, busy };
    const type = (line: string) => runSlashCommand(chat.agent, line, host);
    expect(await type("/busy")).toMatchObject({ kind: "text", json: { busy_input_mode: "steer" } });
    expect(await type("/busy Interrupt")).toMatchObject({
      json: { busy_input_mode: "interrupt", saved: true },
    });
    expect(mode).toBe("interrupt");
    expect(await type("/busy status")).toMatchObject({ json: { busy_input_mode: "interrupt" } });
    expect(readFileSync(join(chat.home, "config.yaml"), "utf8")).toBe(
      "# mine\ntimezone: UTC\ndisplay:\n  busy_input_mode: interrupt\n",
    );
    expect(await type("/busy sometimes")).toMatchObject({ kind: "error" });
    expect(mode).toBe("interrupt");
  });

  it("says so where nothing can be typed during a turn", async () => {
    const chat = await openChat();
    await chat.expect("/busy queue", "error");
  });
});

describe("/curator", () => {
  it("runs the words as 'hermes curator' does, and shows the status without any", async () => {
    const chat = await openChat();
    const ran: (readonly string[])[] = [];
    const runCurator = async (words: readonly string[]) => {
      ran.push(words);
      return { kind: "text" as const, lines: ["done"], json: null };
    };
    const host = { config: chat.config, confirm: async () => true, runCurator };
    expect(await runSlashCommand(chat.agent, "/curator run --dry-run", host)).toMatchObject({
      lines: ["done"],
    });
    await runSlashCommand(chat.agent, "/curator", host);
    expect(ran).toEqual([["run", "--dry-run"], ["status"]]);
    expect(textOf(await chat.expect("/curator", "error"))).toContain("hermes curator");
  });
});
