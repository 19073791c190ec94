// The adapter with the real AI SDK 5, 6 and 7: what a model gets, and what the chat has afterwards.
import { describe, expect, it, onTestFinished } from "vitest";
import { type AiSdk, type AiSdkOptions, aiSdk, sdkTextModel } from "../../src/adapters/ai-sdk.ts";
import type { UserMemory } from "../../src/memory/index.ts";
import { type Message, textOf, toolCallsOf } from "../../src/message/index.ts";
import { ana, openedMemory } from "../fakes/opened-memory.ts";
import { SDKS } from "./ai-sdk-versions.ts";

function chat(me: UserMemory, options: Partial<AiSdkOptions> = {}): AiSdk {
  const errors: unknown[] = [];
  onTestFinished(() => expect(errors).toEqual([]));
  const onError = (cause: unknown) => void errors.push(cause);
  return aiSdk(me, { chatId: "c1", onError, ...options });
}

async function collected(texts: AsyncIterable<string>): Promise<string[]> {
  const all: string[] = [];
  for await (const text of texts) all.push(text);
  return all;
}

const user = (content: unknown) => ({ role: "user", content });
const assistant = (content: unknown) => ({ role: "assistant", content });

/** `role: text` of every stored message; calls as `name(arguments)`. */
async function stored(me: UserMemory, chatId = "c1"): Promise<string[]> {
  const { messages } = await me.context(chatId, { format: "hermes", recall: false });
  return (messages as readonly Message[]).map((message) => {
    const calls = toolCallsOf(message).map(({ name, arguments: given }) => `${name}(${given})`);
    return [`${message.role}: ${textOf(message.content)}`.trim(), ...calls].join(" ");
  });
}

const system = (prompt: readonly { role: string; content: unknown }[] = []) =>
  prompt.filter(({ role }) => role === "system").map(({ content }) => content);
const said = (prompt: readonly { role: string; content: unknown }[] = []) =>
  prompt
    .filter(({ role }) => role !== "system")
    .map(({ role, content }) => {
      const parts = content as { type: string; text?: string; toolName?: string }[];
      return `${role}: ${parts.map((part) => part.text ?? `${part.type} ${part.toolName ?? ""}`).join("|")}`;
    });

const call = (id: string, name: string, input: object) => ({
  type: "tool-call",
  toolCallId: id,
  toolName: name,
  input: JSON.stringify(input),
});

describe.each(SDKS)("AI SDK $version", (sdk) => {
  it("sends the memory behind the caller's system text and the history in front of a new message", async () => {
    const me = await ana();
    await me.add("Prefers metric units", { target: "user" });
    const model = sdk.model(["12 degrees", "No"]);
    await sdk.generate({ model, memory: chat(me), messages: [user("How warm is it?")], system: "Be brief." });
    await sdk.generate({ model, memory: chat(me), messages: [user("Is that warm?")], system: "Be brief." });
    expect(said(model.prompts[1])).toEqual([
      "user: How warm is it?",
      "assistant: 12 degrees",
      "user: Is that warm?",
    ]);
    const [own, memory, ...more] = system(model.prompts[1]);
    expect([own, more]).toEqual(["Be brief.", []]);
    expect(memory).toContain("Prefers metric units");
    expect(system(model.prompts[0])).toEqual([own, memory]);
    expect(await stored(me)).toEqual([
      "user: How warm is it?",
      "assistant: 12 degrees",
      "user: Is that warm?",
      "assistant: No",
    ]);
  });

  it.each(["generate", "stream"] as const)(
    "runs the tools in a loop and adds the same bytes to every step: %s",
    async (how) => {
      const me = await ana();
      const before = chat(me, { chatId: "old" });
      await sdk.generate({
        model: sdk.model(["Noted: glaze 42"]),
        memory: before,
        messages: [user("The kiln glaze is number 42")],
      });
      const model = sdk.model([
        [
          { type: "text", text: "Let me note that." },
          call("k1", "memory", { action: "add", target: "user", content: "Has a kiln" }),
        ],
        [call("k2", "session_search", { query: "glaze" })],
        "Number 42.",
      ]);
      const ask = { model, memory: chat(me), messages: [user("Which kiln glaze did I use?")], steps: 5 };
      if (how === "generate") expect(await sdk.generate(ask)).toBe("Number 42.");
      else expect((await collected(sdk.stream(ask))).join("")).toBe("Let me note that.Number 42.");
      expect(model.prompts).toHaveLength(3);
      const [first = [], second = [], third = []] = model.prompts;
      expect(JSON.stringify(second)).toContain(JSON.stringify(first).slice(0, -1));
      expect(JSON.stringify(third)).toContain(JSON.stringify(second).slice(0, -1));
      expect(JSON.stringify(third)).toContain("glaze 42");
      const { messages } = await me.context("c1", { format: "hermes" });
      expect((messages as readonly Message[]).map(({ role }) => role)).toEqual([
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "assistant",
      ]);
      expect((await stored(me))[1]).toMatch(/^assistant: Let me note that\. memory\(.*Has a kiln/);
      expect((await me.list({ target: "user" })).map(({ text }) => text)).toEqual(["Has a kiln"]);
      // The stored chat is accepted by the SDK and sent again.
      const again = sdk.model(["Yes."]);
      await sdk.generate({ model: again, memory: chat(me), messages: [user("Sure?")] });
      expect(said(again.prompts[0]).map((line) => line.split(":")[0])).toEqual([
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "assistant",
        "user",
      ]);
    },
  );

  it("marks a reply that ended with an error as interrupted", async () => {
    const me = await ana();
    const model = sdk.model([
      [
        { type: "text", text: "Half of" },
        call("k", "memory", {}),
        { type: "error", error: new Error("503") },
      ],
    ]);
    await collected(sdk.stream({ model, memory: chat(me), messages: [user("1?")] })).catch(() => []);
    const { messages } = await me.context("c1", { format: "hermes", recall: false });
    expect(await stored(me)).toEqual(["user: 1?", "assistant: Half of"]);
    expect((messages.at(-1) as Message).meta.finishReason).toBe("interrupted");
  });

  it("reports a summary that failed, and answers", async () => {
    const me = await ana();
    const errors: unknown[] = [];
    const onError = (cause: unknown) => void errors.push(cause);
    const words = " lorem ipsum dolor".repeat(60);
    const answer = (prompt: readonly { role: string; content: unknown }[]) => {
      if (/^user: Q/.test(said(prompt.slice(-1)).join())) return `A${words}`;
      throw new Error("no summary today");
    };
    const model = sdk.model(Array.from({ length: 60 }, () => answer));
    for (let turn = 0; turn < 10; turn += 1)
      await sdk.generate({
        model,
        memory: chat(me, { contextLength: 3000, onError }),
        messages: [user(`Q${turn}${words}`)],
      });
    expect(errors.length).toBeGreaterThan(0);
    expect(errors[0]).toMatchObject({ code: "compaction-failed" });
    expect(String(errors[0])).toContain("no summary today");
  });

  it("goes on when a client sends only the result of its own tool, twice", async () => {
    const me = await ana();
    const own = { tools: { look: { ...chat(me).tools.memory, execute: undefined } } } as unknown as AiSdk;
    const result = (toolCallId: string) => ({
      role: "tool",
      content: [
        {
          type: "tool-result",
          toolCallId,
          toolName: "look",
          output: { type: "text", value: `seen ${toolCallId}` },
        },
      ],
    });
    const model = sdk.model([[call("a", "look", {})], [call("b", "look", {})], "Done."]);
    const { middleware } = chat(me);
    for (const messages of [[user("Look twice")], [result("a")], [result("b")]])
      await sdk.generate({ model, memory: { ...own, middleware }, messages });
    expect(said(model.prompts[2])).toEqual([
      ...["user: Look twice", "assistant: tool-call look", "tool: tool-result look"],
      ...["assistant: tool-call look", "tool: tool-result look"],
    ]);
    expect(await stored(me)).toEqual([
      ...["user: Look twice", "assistant: look({})", "tool: seen a", "assistant: look({})", "tool: seen b"],
      "assistant: Done.",
    ]);
  });

  it("keeps the text of a stream that broke off or was stopped, and no half of a tool call", async () => {
    const me = await ana();
    const start = { type: "tool-input-start", id: "k", toolName: "memory" };
    const model = sdk.model([
      [{ type: "text", text: "Once upon" }, start, { type: "break" }],
      [{ type: "text", text: "A second" }, call("k", "memory", {}), { type: "hang" }],
      "Third",
    ]);
    const memory = chat(me, { tools: false });
    await collected(sdk.stream({ model, memory, messages: [user("1?")] })).catch(() => []);
    const stop = new AbortController();
    const reading = (async () => {
      let text = "";
      for await (const piece of sdk.stream({ model, memory, messages: [user("2?")], signal: stop.signal })) {
        text += piece;
        if (text === "A second") stop.abort();
      }
    })();
    await reading.catch(() => undefined);
    await sdk.generate({ model, memory, messages: [user("3?")] });
    expect(await stored(me)).toEqual([
      "user: 1?",
      "assistant: Once upon",
      "user: 2?",
      "assistant: A second",
      "user: 3?",
      "assistant: Third",
    ]);
  });

  it("keeps the question of a failed call, and once when the SDK tries again", async () => {
    const me = await ana();
    const broken = Object.assign(new Error("overloaded"), {
      isRetryable: true,
      responseHeaders: { "retry-after-ms": "1" },
      [Symbol.for("vercel.ai.error.AI_APICallError")]: true,
      [Symbol.for("vercel.ai.error")]: true,
    });
    const model = sdk.model([broken, "Back again", new Error("gone")]);
    const memory = chat(me);
    await sdk.generate({ model, memory, messages: [user("1?")] });
    await expect(sdk.generate({ model, memory, messages: [user("2?")] })).rejects.toThrow("gone");
    expect(await stored(me)).toEqual(["user: 1?", "assistant: Back again", "user: 2?"]);
    expect(model.prompts[0]).toEqual(model.prompts[1]);
  });

  it("answers even if nothing can be stored, and reports it", async () => {
    const me = await ana();
    const errors: unknown[] = [];
    const broken: UserMemory = Object.create(me, {
      remember: { value: () => Promise.reject(new Error("disk full")) },
    });
    const memory = aiSdk(broken, { chatId: "c1", onError: (cause) => errors.push(cause) });
    expect(await sdk.generate({ model: sdk.model(["fine"]), memory, messages: [user("?")] })).toBe("fine");
    expect(
      (await collected(sdk.stream({ model: sdk.model(["fine too"]), memory, messages: [user("?")] }))).join(
        "",
      ),
    ).toBe("fine too");
    // Of a stream, the question and then the whole exchange are tried.
    expect(errors.map(String)).toEqual(Array(3).fill("Error: disk full"));
  });

  it("gives the stored chat to a user interface, which sends it back with the next question", async () => {
    const me = await ana();
    const memory = chat(me);
    const model = sdk.model([
      [
        { type: "reasoning", text: "Hm." },
        call("k1", "memory", { action: "add", target: "user", content: "Has a kiln" }),
      ],
      "Noted.",
      "You have a kiln.",
      "A kiln!",
    ]);
    const live = await sdk.live({ model, memory, messages: [user("I have a kiln")], steps: 2 });
    const shown = await memory.uiMessages();
    expect(shown[1]?.parts.map(({ type }) => type)).toEqual(live.parts.map(({ type }) => type));
    expect(await sdk.validated(shown, memory.tools)).toEqual(shown);
    expect(shown.map(({ role, parts }) => [role, ...parts.map(({ type }) => type)])).toEqual([
      ["user", "text"],
      ["assistant", "step-start", "reasoning", "tool-memory", "step-start", "text"],
    ]);
    expect(shown[1]?.parts[2]).toMatchObject({ state: "output-available", output: { success: true } });
    const question = { id: "q", role: "user", parts: [{ type: "text", text: "What do I have?" }] };
    const ask = async () =>
      sdk.generate({ model, memory: chat(me), messages: await sdk.fromUi([...shown, question]) });
    await ask();
    const lines = await stored(me);
    expect(lines).toHaveLength(6);
    expect(said(model.prompts[2]).map((line) => line.split(":")[0])).toEqual([
      "user",
      "assistant",
      "tool",
      "assistant",
      "user",
    ]);
    await ask(); // regenerate
    expect(await stored(me)).toEqual([...lines.slice(0, -1), "assistant: A kiln!"]);
    expect(JSON.stringify(model.prompts[3])).toBe(JSON.stringify(model.prompts[2]));
  });

  it("shows a user interface failed tools and the signatures of reasoning", async () => {
    const me = await ana();
    const signed = { anthropic: { signature: "S" } };
    const redacted = { anthropic: { redactedData: "R" } };
    const parts = [
      { type: "reasoning", text: "Hm.", providerOptions: signed },
      { type: "reasoning", text: "", providerOptions: redacted },
      { type: "tool-call", toolCallId: "k1", toolName: "memory", input: {} },
      { type: "tool-call", toolCallId: "k2", toolName: "memory", input: {} },
    ];
    const output = (toolCallId: string, type: string, value: string) => ({
      role: "tool",
      content: [{ type: "tool-result", toolCallId, toolName: "memory", output: { type, value } }],
    });
    const results = [output("k1", "error-text", "kaboom"), output("k2", "text", "fine")];
    await me.remember("c1", [user("?"), assistant(parts), ...results]);
    const shown = await chat(me).uiMessages();
    expect(shown[1]?.parts.slice(1)).toMatchObject([
      { type: "reasoning", text: "Hm.", providerMetadata: signed },
      { type: "reasoning", text: "", providerMetadata: redacted },
      { state: "output-error", errorText: "kaboom" },
      { state: "output-available", output: "fine" },
    ]);
    expect(await sdk.validated(shown, chat(me).tools)).toEqual(shown);
    const [, reply] = (await sdk.fromUi(shown)) as { content: object[] }[];
    expect(reply?.content.slice(0, 2)).toMatchObject(parts.slice(0, 2));
  });

  it("shows a user interface the parts of a reply in their order", async () => {
    const me = await ana();
    const memory = chat(me);
    const text = { type: "text", text: "Before." };
    const tool = call("k1", "memory", { action: "add", target: "user", content: "Has a kiln" });
    const model = sdk.model([[text, tool, { type: "reasoning", text: "Hm." }], "Done."]);
    const live = await sdk.live({ model, memory, messages: [user("I have a kiln")], steps: 2 });
    const [, shown] = await memory.uiMessages();
    expect(shown?.parts.map(({ type }) => type)).toEqual(live.parts.map(({ type }) => type));
  });

  it.each(["the new message", "the whole list"])(
    "summarises a chat that no longer fits, when it is sent %s",
    async (what) => {
      const me = await ana();
      const long = (name: string) =>
        `${name} ${"The harbour crane was painted blue again this year. ".repeat(60)}`;
      const isAnswer = (prompt: readonly { role: string; content: unknown }[]) =>
        /^user: Question \d+\?/.test(said(prompt.slice(-1)).join());
      let answers = 0;
      const answer = (prompt: readonly { role: string; content: unknown }[]) =>
        isAnswer(prompt) ? long(`Answer ${answers++}.`) : "THE SUMMARY";
      const model = sdk.model(Array.from({ length: 40 }, () => answer));
      const list: object[] = [];
      const sessions = new Set<string | undefined>();
      for (let turn = 0; turn < 12; turn += 1) {
        list.push(user(long(`Question ${turn}?`)));
        const messages = what === "the whole list" ? list : list.slice(-1);
        list.push(
          assistant(await sdk.generate({ model, memory: chat(me, { contextLength: 16_000 }), messages })),
        );
        sessions.add((await me.chat("c1"))?.sessionId);
      }
      const asked = model.prompts.filter(isAnswer).map((prompt) => JSON.stringify(prompt));
      expect(asked).toHaveLength(12);
      expect(sessions.size).toBeGreaterThan(1);
      expect(asked.at(-1)).toContain("THE SUMMARY");
      expect(Math.max(...asked.map(({ length }) => length))).toBeLessThan(16_000 * 4);
      expect((await me.chats()).map(({ chatId }) => chatId)).toEqual(["c1"]);
      const lines = await stored(me);
      expect(lines.slice(-2).map((line) => line.slice(0, 24))).toEqual(
        ["user: Question 11? The ha", "assistant: Answer 11. Th"].map((line) => line.slice(0, 24)),
      );
      expect(new Set(lines).size).toBe(lines.length);
    },
  );

  it("keeps two users with the same chat id apart while both stream", async () => {
    const memory = await openedMemory();
    const names = ["ana", "bob"];
    await Promise.all(
      names.map(async (id) => {
        const me = memory.user({ platform: "web", id });
        for (let turn = 0; turn < 3; turn += 1)
          await collected(
            sdk.stream({
              model: sdk.model([`${id} ${turn}`]),
              memory: chat(me),
              messages: [user(`I am ${id} ${turn}`)],
            }),
          );
      }),
    );
    for (const id of names) {
      const lines = await stored(memory.user({ platform: "web", id }));
      expect(lines).toEqual(
        [0, 1, 2].flatMap((turn) => [`user: I am ${id} ${turn}`, `assistant: ${id} ${turn}`]),
      );
    }
  });

  it("is a model for summaries and extraction", async () => {
    const parts = ["A short ", "text."].map((text) => ({ type: "text", text }));
    const scripted = sdk.model([[{ type: "reasoning", text: "Hm" }, ...parts]]);
    const text = sdkTextModel(scripted.model as Parameters<typeof sdkTextModel>[0]);
    expect(await text.complete({ system: "Summarise.", prompt: "A long text." })).toBe("A short text.");
    expect(scripted.prompts[0]).toEqual([
      { role: "system", content: "Summarise." },
      { role: "user", content: [{ type: "text", text: "A long text." }] },
    ]);
  });
});

it("refuses an option that does not exist", async () => {
  const me = await ana();
  const misspelt = { chatId: "c1", contextLenght: 5 } as object;
  expect(() => aiSdk(me, misspelt as never)).toThrow(
    expect.objectContaining({ code: "bad-option", hint: "Did you mean 'contextLength'?" }),
  );
  expect(() => aiSdk(me, "c1" as never)).toThrow(expect.objectContaining({ code: "bad-option" }));
});

it("offers the wanted tools, and refuses a name that does not exist", async () => {
  const me = await ana();
  expect(Object.keys(chat(me).tools)).toEqual(["memory", "session_search"]);
  expect(Object.keys(chat(me, { tools: ["memory_history"] }).tools)).toEqual(["memory_history"]);
  expect(chat(me, { tools: false }).tools).toEqual({});
  expect(() => chat(me, { tools: ["memmory"] })).toThrow("There is no memory tool named 'memmory'.");
  const { skill_manage: owners } = chat(me, { tools: ["skill_manage"] }).tools;
  const refused = { error: "skill_manage is not for users of a shared home." };
  expect(await owners?.execute({}, { toolCallId: "t" })).toEqual(refused);
});
