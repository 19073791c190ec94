import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type BusyMode, runSlashCommand } from "../../../src/agent/index.ts";
import { message } from "../../messages.ts";
import { openChat, textOf } from "./fake-agent.ts";

describe("/undo", () => {
  it("takes back the newest turn and offers its text for editing", async () => {
    const chat = await openChat();
    await chat.agent.talk("one", "two", "three", "four");
    const reply = await chat.expect("/undo", "edit");
    expect(chat.questions).toEqual(["Take back the newest turn?"]);
    expect(reply).toMatchObject({ text: "three", json: { turns: 1, messages: 2 } });
    expect(chat.agent.messages).toHaveLength(2);
  });

  it("takes nothing back when the answer is no", async () => {
    const chat = await openChat();
    await chat.agent.talk("one", "two");
    chat.answer = false;
    expect(textOf(await chat.expect("/undo 2", "text"))).toContain("'/undo 2 now'");
    expect(chat.questions).toEqual(["Take back the newest 2 turns?"]);
    expect(await chat.store.getMessages(chat.agent.sessionId)).toHaveLength(2);
  });

  it("asks nothing about what makes no sense, or where there is nothing", async () => {
    const chat = await openChat();
    for (const line of ["/undo all", "/undo 0", "/undo -1", "/undo"]) await chat.expect(line, "error");
    expect(textOf(await chat.expect("/undo all", "error"))).toBe("Usage: /undo [turns] [now]");
    expect(chat.questions).toEqual([]);
  });
});

describe("/retry", () => {
  it("takes the newest turn out of the conversation and sends its text again", async () => {
    const chat = await openChat();
    await chat.agent.talk("one", "two", "three\nlines", "four");
    expect(await chat.expect("/retry", "send")).toMatchObject({ text: "three\nlines" });
    expect(chat.questions).toEqual([]);
    expect(await chat.store.getMessages(chat.agent.sessionId)).toHaveLength(2);
  });

  it("refuses before anything is lost when the message is not text alone", async () => {
    const chat = await openChat();
    await chat.agent.talk("one", "two");
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } };
    chat.agent.hear({ role: "user", content: [{ type: "text", text: "look" }, image] });
    expect((await chat.expect("/retry", "error")).json).toMatchObject({ kind: "refused" });
    expect(chat.agent.messages).toHaveLength(3);
    expect(await chat.store.getMessages(chat.agent.sessionId)).toHaveLength(2);
  });

  it("has nothing to send at first", async () => {
    expect((await (await openChat()).expect("/retry", "error")).json).toMatchObject({ kind: "nothing" });
  });
});

describe("/compress", () => {
  it.each([
    ["/compress", { kind: "full" }],
    ["/compact the kiln", { kind: "focus", topic: "the kiln" }],
    ["/compress here 3", { kind: "partial", keep: 3 }],
    ["/compress --keep=1", { kind: "partial", keep: 1 }],
  ])("%s asks the agent for it", async (line, command) => {
    const chat = await openChat();
    await chat.agent.talk("one", "two", "three", "four");
    const reply = await chat.expect(line, "text");
    expect(chat.agent.compressions).toEqual([command]);
    expect(reply.lines.slice(0, 2)).toEqual(["Compacted 6 messages to 3.", "Fewer."]);
  });

  it("tells the note, the notices and where the conversation goes on", async () => {
    const chat = await openChat();
    await chat.agent.talk("one", "two", "three", "four");
    const before = chat.agent.sessionId;
    const feedback = { noop: false, headline: "Done.", token_line: "More.", note: "Longer." };
    chat.agent.compressReport = {
      feedback,
      notices: ["Without a model."],
      sessionId: "20260301_080000_aaaaaa",
    };
    const reply = await chat.expect("/compress", "text");
    expect(reply.lines.slice(0, 4)).toEqual(["Done.", "More.", "Longer.", "Without a model."]);
    expect(reply.lines[4]).toContain("20260301_080000_aaaaaa");
    expect(reply.json).toMatchObject({ old_session_id: before, session_id: "20260301_080000_aaaaaa" });
  });

  it.each(["aborted", "busy", "failed"] as const)("is an error when it was %s", async (kind) => {
    const chat = await openChat();
    await chat.agent.talk("one", "two", "three", "four");
    chat.agent.compressReport = { kind, notices: ["The reason."] };
    const reply = await chat.expect("/compress", "error");
    expect(reply.lines).toContain("The reason.");
    expect(textOf(reply)).not.toContain("Compacted 6");
  });

  it("needs four messages", async () => {
    const chat = await openChat();
    await chat.agent.talk("one", "two", "three");
    expect(textOf(await chat.expect("/compress", "error"))).toContain("3 messages");
    expect(chat.agent.compressions).toEqual([]);
  });
});

describe("/history", () => {
  it("shows the newest messages, numbered, with who said them", async () => {
    const chat = await openChat();
    const calls = [{ id: "call_1", type: "function", function: { name: "todo", arguments: "{}" } }];
    chat.agent.hear(
      { role: "user", content: "what is\nto do" },
      { role: "assistant", content: "", tool_calls: calls },
      { role: "tool", tool_name: "todo", tool_call_id: "call_1", content: "x".repeat(500) },
      { role: "assistant", content: [{ type: "text", text: "Nothing." }] },
    );
    const { lines } = await chat.expect("/history", "text");
    expect(lines).toHaveLength(4);
    expect(lines[0]).toMatch(/^1\. you, \d{4}-\d\d-\d\d \d\d:\d\d: what is to do$/);
    expect(lines[1]).toMatch(/^2\. agent, .*: \(calls todo\)$/);
    expect(lines[2]).toMatch(/^3\. tool todo, .*: x{120}\.\.\.$/);
    expect(lines[3]).toMatch(/^4\. agent, .*: Nothing\.$/);
  });

  it("shows what was typed, not what was added for the model, and nothing of one turn only", async () => {
    const chat = await openChat();
    chat.agent.hear(
      message({ role: "user", content: "typed plus added" }, { storedContent: "typed" }),
      message({ role: "user", content: "go on" }, { ephemeral: "continuation" }),
    );
    const reply = await chat.expect("/history", "text");
    expect(reply.lines).toHaveLength(1);
    expect(reply.lines[0]).toMatch(/: typed$/);
    expect(JSON.stringify(reply.json)).not.toContain("added");
  });

  it("says so where nothing was said yet", async () => {
    expect((await (await openChat()).expect("/history", "text")).lines).toEqual([
      "Nothing has been said yet.",
    ]);
  });

  it("does not spell out a summary", async () => {
    const chat = await openChat();
    chat.agent.hear({ role: "user", content: "a very long summary", _compressed_summary: true });
    expect(textOf(await chat.expect("/history", "text"))).toMatch(/: \(summary of what was said before\)$/);
  });
});

describe("/save", () => {
  it("writes the conversation to a private file of its own", async () => {
    const chat = await openChat();
    await chat.agent.talk("one", "two");
    await chat.agent.setTitle("kiln");
    chat.agent.hear(message({ role: "user", content: "typed plus added" }, { storedContent: "typed" }));
    const reply = await chat.expect("/save", "text");
    const path = join(chat.home, "sessions", "saved", "hermes_conversation_20260301_080509.json");
    expect(reply.json).toEqual({ path, messages: 3 });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const saved = JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
    expect(saved).toMatchObject({ session_id: chat.agent.sessionId, title: "kiln", model: "kiln-1" });
    expect((saved.messages as { content: unknown }[]).map(({ content }) => content)).toEqual([
      "one",
      "two",
      "typed",
    ]);
    expect(JSON.stringify(saved)).not.toMatch(/"_|added/);
  });

  it("says what is in the way, and the chat goes on", async () => {
    const chat = await openChat();
    await chat.agent.talk("one", "two");
    writeFileSync(join(chat.home, "sessions"), "a file");
    expect((await chat.expect("/save", "error")).json).toMatchObject({ kind: "io" });
  });
});

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
  it("is the next message when no turn takes it", async () => {
    const chat = await openChat();
    expect(await chat.expect("/steer go on", "queue")).toMatchObject({ text: "go on" });
    chat.agent.isRunning = true; // but it refuses: its steering is closed
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
