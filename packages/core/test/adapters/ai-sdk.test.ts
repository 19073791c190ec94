// The adapter with the real AI SDK 5, 6 and 7: what a model gets, and what the chat has afterwards.
import { describe, expect, it, onTestFinished } from "vitest";
import { type AiSdk, type AiSdkOptions, aiSdk, sdkTextModel } from "../../src/adapters/ai-sdk.ts";
import { type Memory, openMemory, type UserMemory } from "../../src/memory/index.ts";
import { type Message, textOf, toolCallsOf } from "../../src/message/index.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";
import { SDKS } from "./ai-sdk-versions.ts";

async function opened(home = tempDirectory()): Promise<Memory> {
  const memory = await openMemory({ home });
  onTestFinished(() => memory.close());
  return memory;
}

async function ana(): Promise<UserMemory> {
  return (await opened()).user({ platform: "web", id: "ana" });
}

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

  it("stores nothing twice when the caller sends its whole list", async () => {
    const me = await ana();
    const model = sdk.model(["one", "two", "three"]);
    const list: object[] = [];
    for (const question of ["1?", "2?", "3?"]) {
      list.push(user(question));
      list.push(assistant(await sdk.generate({ model, memory: chat(me), messages: list })));
    }
    const all = ["user: 1?", "assistant: one", "user: 2?", "assistant: two", "user: 3?", "assistant: three"];
    expect(said(model.prompts[2])).toEqual(all.slice(0, -1));
    expect(await stored(me)).toEqual(all);
  });

  it("stores a question and an answer that were repeated word for word", async () => {
    const me = await ana();
    const model = sdk.model(["hello", "hello"]);
    const memory = chat(me);
    for (let turn = 0; turn < 2; turn += 1) await sdk.generate({ model, memory, messages: [user("hi")] });
    expect(await stored(me)).toEqual(["user: hi", "assistant: hello", "user: hi", "assistant: hello"]);
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

  it("recalls other chats into the question, and does not store that", async () => {
    const me = await ana();
    await sdk.generate({
      model: sdk.model(["Noted."]),
      memory: chat(me, { chatId: "old" }),
      messages: [user("My parrot is called Quito")],
    });
    const model = sdk.model(["Quito"]);
    await sdk.generate({ model, memory: chat(me), messages: [user("What is my parrot called?")] });
    expect(said(model.prompts[0]).at(-1)).toMatch(/What is my parrot called\?\|[\s\S]*Quito/);
    expect(await stored(me)).toEqual(["user: What is my parrot called?", "assistant: Quito"]);
    const without = sdk.model(["?"]);
    await sdk.generate({
      model: without,
      memory: chat(me, { recall: false, chatId: "c2" }),
      messages: [user("What is my parrot called?")],
    });
    expect(said(without.prompts[0])).toEqual(["user: What is my parrot called?"]);
  });

  it("follows the caller's list when an answer is made again or a question is changed", async () => {
    const me = await ana();
    const model = sdk.model(["one", "two", "two, again", "deux"]);
    const memory = chat(me);
    const [a, b] = [user("1?"), user("2?")];
    await sdk.generate({ model, memory, messages: [a] });
    await sdk.generate({ model, memory, messages: [a, assistant("one"), b] });
    await sdk.generate({ model, memory, messages: [a, assistant("one"), b] });
    expect(said(model.prompts[2])).toEqual(["user: 1?", "assistant: one", "user: 2?"]);
    expect(await stored(me)).toEqual(["user: 1?", "assistant: one", "user: 2?", "assistant: two, again"]);
    await sdk.generate({ model, memory, messages: [a, assistant("one"), user("In French?")] });
    expect(said(model.prompts[3])).toEqual(["user: 1?", "assistant: one", "user: In French?"]);
    expect(await stored(me)).toEqual(["user: 1?", "assistant: one", "user: In French?", "assistant: deux"]);
  });

  it.each([
    ["cut", { maxTokens: 400 }, 8, 10],
    ["compacted", { contextLength: 4000 }, 16, 30],
    ["longer than the default limit", {}, 10, 1200],
  ])("follows the caller's list also where history is %s", async (_, options, turns, size) => {
    const me = await ana();
    const words = " lorem ipsum dolor".repeat(size);
    let answers = 0;
    const answer = (prompt: readonly { role: string; content: unknown }[]) =>
      /^user: Q/.test(said(prompt.slice(-1)).join()) ? `A${answers++}${words}` : "## Summary";
    const model = sdk.model(Array.from({ length: 80 }, () => answer));
    const list: object[] = [];
    const send = async () => {
      const memory = chat(me, { recall: false, ...options });
      list.push(assistant(await sdk.generate({ model, memory, messages: list })));
    };
    for (let turn = 0; turn < turns; turn += 1) {
      list.push(user(`Q${turn}${words}`));
      await send();
    }
    const first = said(model.prompts.at(-1));
    const names = async () => {
      const all = await me.transcript("c1", { format: "hermes", limit: Number.POSITIVE_INFINITY });
      return (all?.messages ?? []).map(({ content }) => textOf(content).split(" ")[0]);
    };
    const before = await names();
    expect(before.slice(-2)).toEqual([`Q${turns - 1}`, `A${turns - 1}`]);
    list.pop();
    await send(); // regenerate
    expect(await names()).toEqual([...before.slice(0, -1), `A${turns}`]);
    expect(said(model.prompts.at(-1))).toEqual(first);
    list.splice(-4); // the last question but one is changed
    list.push(user(`Qedit${words}`));
    await send();
    expect(await names()).toEqual([...before.slice(0, -4), "Qedit", `A${turns + 1}`]);
    const shown = said(model.prompts.at(-1));
    expect(shown.slice(-2)[0]?.split(" ")[1]).toBe(`A${turns - 3}`);
    expect(shown.slice(0, -1).join("\n").length).toBeLessThan(24_000 * 4);
  });

  it("takes every list for the whole chat if the caller says so: the first question again, changed, a turn removed", async () => {
    const me = await ana();
    const model = sdk.model(["R1", "R2", "R3", "R4", "R5", "R6", "R7"]);
    const send = (messages: object[]) =>
      sdk.generate({ model, memory: chat(me, { follow: true }), messages });
    const [q1, q2, q3] = [user("q1"), user("q2"), user("q3")];
    await send([q1]);
    await send([q1]);
    expect(await stored(me)).toEqual(["user: q1", "assistant: R2"]);
    await send([user("q1b")]);
    expect(said(model.prompts[2])).toEqual(["user: q1b"]);
    expect(await stored(me)).toEqual(["user: q1b", "assistant: R3"]);
    const begun = [user("q1b"), assistant("R3")];
    await send([...begun, q2]);
    await send([...begun, q2, assistant("R4"), q3]);
    await send([...begun, q3, assistant("R5"), user("q4")]);
    const left = ["user: q1b", "assistant: R3", "user: q3", "assistant: R5", "user: q4"];
    expect(said(model.prompts[5])).toEqual(left);
    expect(await stored(me)).toEqual([...left, "assistant: R6"]);
    // The newest part of the chat, as a user interface with pages has it: its last answer is made again.
    await send([q3, assistant("R5"), user("q4")]);
    expect(said(model.prompts[6])).toEqual(left);
    expect(await stored(me)).toEqual([...left, "assistant: R7"]);
  });

  it("has the question although the reader of a stream leaves without a word, and does not ask it twice", async () => {
    const me = await ana();
    const model = sdk.model([[{ type: "text", text: "a long answer ".repeat(50) }], "Again", "Third"]);
    const memory = chat(me);
    for await (const _ of sdk.stream({ model, memory, messages: [user("1?")] })) break;
    await expect.poll(async () => (await stored(me))[0]).toBe("user: 1?");
    await collected(sdk.stream({ model, memory, messages: [user("2?")] }));
    await collected(sdk.stream({ model, memory, messages: [user("2?")] }));
    const lines = (await stored(me)).filter((line) => !line.includes("long"));
    expect(lines).toEqual(["user: 1?", "user: 2?", "assistant: Again", "user: 2?", "assistant: Third"]);
  });

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

  it("keeps the conversation behind examples that the caller sends each time, if it says so", async () => {
    const me = await ana();
    const model = sdk.model(["one", "two"]);
    const examples = [user("Example?"), assistant("Example!")];
    for (const text of ["1?", "2?"])
      await sdk.generate({ model, memory: chat(me, { follow: false }), messages: [...examples, user(text)] });
    expect(said(model.prompts[1])).toEqual([
      "user: Example?",
      "assistant: Example!",
      "user: 1?",
      "assistant: one",
      "user: 2?",
    ]);
    expect(await stored(me)).toHaveLength(6);
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

  it("passes the text on before it is stored, and ends the stream after that", async () => {
    const me = await ana();
    const gate = Promise.withResolvers<void>();
    const events: string[] = [];
    const slow: UserMemory = Object.create(me, {
      remember: {
        value: async (...given: Parameters<UserMemory["remember"]>) => {
          await gate.promise;
          const remembered = await me.remember(...given);
          events.push("stored");
          return remembered;
        },
      },
    });
    const ask = { model: sdk.model(["All of it"]), memory: chat(slow), messages: [user("?")] };
    let text = "";
    for await (const piece of sdk.stream(ask)) {
      text += piece;
      if (text !== "All of it") continue;
      events.push("read");
      gate.resolve();
    }
    // The question, which is stored while the model answers, and the reply.
    expect([...events, "ended"]).toEqual(["read", "stored", "stored", "ended"]);
    expect(await stored(me)).toEqual(["user: ?", "assistant: All of it"]);
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

  it("shows a user interface the whole chat after a compaction, in pages, and recognises what it sends back", async () => {
    const me = await ana();
    const long = "The harbour crane was painted blue again this year. ".repeat(60);
    for (let turn = 0; turn < 20; turn += 1) await me.remember("c1", `q${turn} ${long}`, `a${turn} ${long}`);
    const model = { complete: async () => "THE SUMMARY" };
    expect((await me.compact("c1", { model, contextLength: 16_000 })).kind).toBe("compacted");
    const memory = chat(me);
    const shown = await memory.uiMessages();
    const names = (list: typeof shown) =>
      list.map(({ parts }) => parts.map((part) => ("text" in part ? part.text.split(" ")[0] : "")).join(""));
    expect(names(shown)).toEqual(Array.from({ length: 20 }, (_, at) => [`q${at}`, `a${at}`]).flat());
    const page = await memory.uiMessages({ limit: 6 });
    expect(page).toEqual(shown.slice(-6));
    expect(await memory.uiMessages({ limit: 4, before: page[0]?.id })).toEqual(shown.slice(-10, -6));
    await expect(memory.uiMessages({ before: "live" })).rejects.toMatchObject({ code: "bad-option" });
    // The page of a user interface comes back with a question, then the whole chat with another one.
    for (const at of [0, 1]) {
      const list = at === 0 ? page : await memory.uiMessages();
      const question = { id: "q", role: "user", parts: [{ type: "text", text: `new ${at}` }] };
      await sdk.generate({
        model: sdk.model([`reply ${at}`]),
        memory: chat(me, { maxTokens: 100_000 }),
        messages: await sdk.fromUi([...list, question]),
      });
    }
    expect(names(await memory.uiMessages()).slice(-4)).toEqual(["new", "reply", "new", "reply"]);
    expect(await me.chat("c1")).toMatchObject({ messages: 44 });
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

  it("creates no chat by reading one", async () => {
    const me = await ana();
    const memory = chat(me, { chatId: "typo" });
    expect([await memory.messages(), await memory.uiMessages()]).toEqual([[], []]);
    expect(await me.chats()).toEqual([]);
  });

  it("keeps both exchanges whole when two programs answer in the same chat", async () => {
    const home = tempDirectory();
    const answers = [1, 2].map(async (who) => {
      const me = (await opened(home)).user({ platform: "web", id: "ana" });
      for (let turn = 0; turn < 4; turn += 1)
        await sdk.generate({
          model: sdk.model([`a${who}${turn}`]),
          memory: chat(me),
          messages: [user(`q${who}${turn}`)],
        });
    });
    await Promise.all(answers);
    const lines = await stored((await opened(home)).user({ platform: "web", id: "ana" }));
    expect(lines).toHaveLength(16);
    for (let at = 0; at < lines.length; at += 2)
      expect(lines[at + 1]).toBe(lines[at]?.replace("user: q", "assistant: a"));
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
    const memory = await opened();
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

  it("sends files, reasoning and tools of the vendor from the store as the SDK would send them", async () => {
    const me = await ana();
    const { middleware, tools } = chat(me);
    // A tool without a function, which the vendor runs.
    const memory = {
      middleware,
      tools: { web_search: { ...tools.memory, execute: undefined } },
    } as unknown as AiSdk;
    const pdf = {
      type: "file",
      data: new Uint8Array([37, 80, 68, 70]),
      mediaType: "application/pdf",
      filename: "a.pdf",
    };
    const searched = {
      type: "tool-call",
      toolCallId: "s1",
      toolName: "web_search",
      input: '{"q":"kiln"}',
      providerExecuted: true,
    };
    const found = {
      type: "tool-result",
      toolCallId: "s1",
      toolName: "web_search",
      result: { hits: 1 },
      providerExecuted: true,
    };
    const signed = { type: "reasoning", text: "Hm.", providerMetadata: { anthropic: { signature: "abc" } } };
    const model = sdk.model([[signed, searched, found, { type: "text", text: "A kiln." }], "Yes.", "Yes."]);
    await sdk.generate({ model, memory, messages: [user([{ type: "text", text: "What?" }, pdf])] });
    await sdk.generate({ model, memory: chat(me), messages: [user("Sure?")] });
    const [question, reply, last] = (model.prompts[1] ?? []).filter(({ role }) => role !== "system");
    expect(model.prompts[1]?.filter(({ role }) => role !== "system")).toHaveLength(3);
    const bytes = Buffer.from([37, 80, 68, 70]).toString("base64");
    expect(question?.content).toMatchObject([
      { type: "text", text: "What?" },
      {
        type: "file",
        mediaType: "application/pdf",
        filename: "a.pdf",
        data: sdk.version === 7 ? { type: "data", data: bytes } : bytes,
      },
    ]);
    expect(reply?.content).toMatchObject([
      { type: "reasoning", text: "Hm.", providerOptions: { anthropic: { signature: "abc" } } },
      {
        type: "tool-call",
        toolCallId: "s1",
        toolName: "web_search",
        input: { q: "kiln" },
        providerExecuted: true,
      },
      { type: "tool-result", toolCallId: "s1", output: { type: "json", value: { hits: 1 } } },
      { type: "text", text: "A kiln." },
    ]);
    expect(last).toMatchObject({ role: "user" });
  });

  it("is a model for summaries and extraction", async () => {
    const scripted = sdk.model(["A short text."]);
    const text = sdkTextModel(scripted.model as Parameters<typeof sdkTextModel>[0]);
    expect(await text.complete({ system: "Summarise.", prompt: "A long text." })).toBe("A short text.");
    expect(scripted.prompts[0]).toEqual([
      { role: "system", content: "Summarise." },
      { role: "user", content: [{ type: "text", text: "A long text." }] },
    ]);
  });

  it("gives the stored chat as messages that the SDK accepts", async () => {
    const me = await ana();
    const memory = chat(me);
    const image = {
      type: "image",
      image: new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10]),
      mediaType: "image/png",
    };
    const model = sdk.model([
      [
        { type: "reasoning", text: "Hm." },
        { type: "text", text: "A dot." },
      ],
      "Yes.",
      "Yes!",
    ]);
    await sdk.generate({ model, memory, messages: [user([{ type: "text", text: "What is this?" }, image])] });
    const messages = (await memory.messages()) as object[];
    await sdk.generate({ model, memory, messages: [...messages, user("Really?")] });
    expect(await stored(me)).toHaveLength(4);
    // History from the store has the form that a model gets.
    await sdk.generate({ model, memory, messages: [user("Sure?")] });
    expect(model.prompts[2]?.filter(({ role }) => role !== "system").slice(0, 2)).toEqual(
      model.prompts[1]?.filter(({ role }) => role !== "system").slice(0, 2),
    );
  });
});

it("offers the wanted tools, and refuses a name that does not exist", async () => {
  const me = await ana();
  expect(Object.keys(chat(me).tools)).toEqual(["memory", "session_search"]);
  expect(Object.keys(chat(me, { tools: ["memory_history"] }).tools)).toEqual(["memory_history"]);
  expect(chat(me, { tools: false }).tools).toEqual({});
  expect(() => chat(me, { tools: ["memmory"] })).toThrow("There is no memory tool named 'memmory'.");
});

it("refuses an option that does not exist", async () => {
  const me = await ana();
  const misspelt = { chatId: "c1", contextLenght: 5 } as AiSdkOptions;
  expect(() => aiSdk(me, misspelt)).toThrow(
    expect.objectContaining({ code: "bad-option", hint: "Did you mean 'contextLength'?" }),
  );
  expect(() => aiSdk(me, "c1" as never)).toThrow(expect.objectContaining({ code: "bad-option" }));
});

it("gives a model that calls a tool wrongly a result to read", async () => {
  const { memory: tool } = chat(await ana()).tools;
  expect(await tool?.execute({ action: "fly" }, { toolCallId: "1" })).toMatchObject({ success: false });
});
