import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  completeSlash,
  RESERVED_COMMANDS,
  SLASH_COMMANDS,
} from "../../../src/agent/commands/slash-commands.ts";
import { openChat, textOf } from "./fake-agent.ts";

describe("the list of commands", () => {
  it("is told by /help, engine commands included", async () => {
    const chat = await openChat();
    chat.agent.engineCommands = [
      {
        name: "lcm",
        description: "look at nodes",
        argsHint: "[id]",
        owner: "context-engine:x",
        handler: () => "",
      },
    ];
    const reply = await chat.expect("/help", "text");
    const told = textOf(reply);
    for (const { name, summary } of SLASH_COMMANDS) {
      expect(told).toContain(`/${name}`);
      expect(told).toContain(summary);
    }
    expect(told).toMatch(/\/lcm \[id\] +look at nodes/);
  });

  it("is explained one by one, by name, alias, or with its slash", async () => {
    const chat = await openChat();
    expect(textOf(await chat.expect("/help /fork", "text"))).toMatch(/^\/branch \[name\]\n/);
    expect(textOf(await chat.expect("/help undo", "text"))).toContain("/undo [turns] [now]");
    await chat.expect("/help nothing", "error");
  });
});

describe("completion", () => {
  it("offers names, sorted", () => {
    expect(completeSlash("/re")).toEqual(["/reset", "/resume", "/retry"]);
    expect(completeSlash("/RESU")).toEqual(["/resume"]);
    expect(completeSlash("/")).toHaveLength(RESERVED_COMMANDS.length);
  });

  it("offers the words behind a name", () => {
    expect(completeSlash("/memory a")).toEqual(["/memory add", "/memory approval", "/memory approve"]);
    expect(completeSlash("/compress ")).toEqual(["/compress --keep", "/compress --local", "/compress here"]);
  });

  it("offers nothing for messages, paths and free text", () => {
    for (const text of ["", "help", "/etc/ho", "/memory add x", "/nothing a"])
      expect(completeSlash(text)).toEqual([]);
  });
});

describe("a command that does not exist", () => {
  it("is answered with the nearest one", async () => {
    const chat = await openChat();
    expect(textOf(await chat.expect("/hsitory", "error"))).toContain("Did you mean '/history'?");
    expect(textOf(await chat.expect("/hist", "error"))).toContain("Did you mean '/history'?");
    expect(textOf(await chat.expect("/xylophone", "error"))).not.toContain("Did you mean");
  });

  it("is a message behind a blank, and so is a path", async () => {
    const chat = await openChat();
    expect(await chat.type(" /hsitory")).toBeUndefined();
    expect(await chat.type("/etc/hosts has an odd line")).toBeUndefined();
  });
});

describe("a command of the context engine", () => {
  const command = { name: "lcm", description: "", argsHint: "", owner: "context-engine:x" };

  it("gets its arguments and its answer is shown", async () => {
    const chat = await openChat();
    chat.agent.engineCommands = [{ ...command, handler: async (args) => `got ${args}\nand more` }];
    expect((await chat.expect("/LCM  a b ", "text")).lines).toEqual(["got a b", "and more"]);
  });

  it("that throws costs an error reply without secrets", async () => {
    const chat = await openChat();
    const handler = () => {
      throw new Error("refused sk-ant-api03-Kq7Zr2Lm9Xw4Tb6N");
    };
    chat.agent.engineCommands = [{ ...command, handler }];
    const reply = await chat.expect("/lcm", "error");
    expect(textOf(reply)).toContain("context-engine:x");
    expect(JSON.stringify(reply)).not.toContain("Kq7Zr2Lm9Xw4Tb6N");
  });

  it("that never answers does not hold up the chat", async () => {
    const chat = await openChat();
    chat.agent.engineCommands = [{ ...command, handler: () => new Promise(() => undefined) }];
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const reply = chat.expect("/lcm", "error");
    await vi.advanceTimersByTimeAsync(60_000);
    expect(textOf(await reply)).toContain("no answer within 60 seconds");
  });
});

describe("while a turn runs", () => {
  it.each(["/new", "/clear", "/resume kiln", "/branch", "/undo", "/retry", "/compress", "/model kiln-2"])(
    "%s has to wait",
    async (line) => {
      const chat = await openChat();
      await chat.agent.talk("one", "two", "three", "four");
      const before = chat.agent.sessionId;
      chat.agent.isRunning = true;
      expect((await chat.expect(line, "error")).json).toMatchObject({ kind: "busy" });
      expect(chat.agent).toMatchObject({ selections: [], compressions: [] });
      expect(chat.agent.sessionId).toBe(before);
      expect(chat.agent.messages).toHaveLength(4);
    },
  );

  it.each(["/status", "/usage", "/history", "/resume", "/model", "/memory", "/help"])(
    "%s answers",
    async (line) => {
      const chat = await openChat();
      chat.agent.isRunning = true;
      await chat.expect(line, "text");
    },
  );
});

describe("/exit", () => {
  it.each(["/exit", "/quit"])("%s leaves without a question", async (line) => {
    const chat = await openChat();
    await chat.agent.talk("one", "two");
    expect(await chat.expect(line, "exit")).not.toHaveProperty("deleteSession");
    expect(chat.questions).toEqual([]);
  });

  it("deletes the conversation only when that was agreed to", async () => {
    const chat = await openChat();
    await chat.agent.talk("one", "two");
    expect(await chat.expect("/exit --delete", "exit")).toHaveProperty("deleteSession", true);
    expect(chat.questions).toHaveLength(1);
    expect(await chat.expect("/exit --delete now", "exit")).toHaveProperty("deleteSession", true);
    expect(chat.questions).toHaveLength(1);
    chat.answer = false;
    await chat.expect("/exit --delete", "text");
    await chat.expect("/exit --delet", "error");
  });
});
