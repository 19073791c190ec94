// The UI message stream, read by the AI SDK 5, 6 and 7 over a real HTTP server.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import type { HermesError } from "@hermes-memory/core/internal/lib";
import * as ai7 from "ai";
import * as ai5 from "ai5";
import * as ai6 from "ai6";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { type Agent, lastUserInput, type UIResponseOptions } from "../../../src/agent/index.ts";
import { gate, type Script } from "../../fakes/wires/script.ts";
import { type AgentHome, type AgentSetting, agentHome, collected } from "../agent-home.ts";
import { lookTool } from "../turns.ts";

type Chat = AgentHome & { readonly url: string };

/** As a program would serve `useChat`. */
async function chatServer(
  script: Script,
  setting: AgentSetting = {},
  options: UIResponseOptions = {},
): Promise<Chat> {
  const made = await agentHome(script, setting);
  const server = createServer(async (request, response) => {
    const { messages } = (await new Response(Readable.toWeb(request) as ReadableStream).json()) as {
      messages: readonly unknown[];
    };
    const answer = made.agent.toUIMessageStreamResponse(lastUserInput(messages), options);
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    const body = Readable.fromWeb(answer.body as never);
    response.on("close", () => body.destroy());
    body.on("error", () => response.destroy());
    body.pipe(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { ...made, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/chat` };
}

type Part = { readonly type: string; readonly [key: string]: unknown };
type Read = { readonly parts: readonly Part[]; readonly errors: readonly string[] };

// The majors have the same API here, but types that do not fit each other.
const SDKS = { 5: ai5, 6: ai6, 7: ai7 } as unknown as Readonly<Record<5 | 6 | 7, typeof ai7>>;

async function ask(url: string, text: string, version: 5 | 6 | 7 = 7): Promise<Read> {
  const { DefaultChatTransport, readUIMessageStream } = SDKS[version];
  const stream = await new DefaultChatTransport({ api: url }).sendMessages({
    trigger: "submit-message",
    chatId: "c",
    messageId: undefined,
    abortSignal: undefined,
    messages: [{ id: "1", role: "user", parts: [{ type: "text", text }] }],
  });
  const errors: string[] = [];
  let parts: readonly Part[] = [];
  const messages = readUIMessageStream({
    stream,
    onError: (error) => void errors.push(error instanceof Error ? error.message : String(error)),
  });
  for await (const message of messages) parts = message.parts as readonly Part[];
  return { parts, errors };
}

const LOOKS: Script = [
  {
    reasoning: "Where is it?",
    text: "I look.",
    toolCalls: [
      { name: "look", arguments: { at: "sea" } },
      { name: "look", arguments: { at: "fog" } },
    ],
  },
  { text: "A ship." },
];

function looking(): AgentSetting {
  const { tools } = lookTool(({ at }) => {
    if (at === "fog") throw new Error("nothing to be seen at db.internal");
    return { seen: "a ship" };
  });
  return { options: { tools } };
}

describe("toUIMessageStreamResponse", () => {
  it.each([5, 6, 7] as const)("is read by version %i of the AI SDK", async (version) => {
    const { url } = await chatServer(LOOKS, looking());
    const { parts, errors } = await ask(url, "look", version);
    expect(errors).toEqual([]);
    expect(parts).toMatchObject([
      { type: "step-start" },
      { type: "reasoning", text: "Where is it?", state: "done" },
      { type: "text", text: "I look.", state: "done" },
      { type: "tool-look", state: "output-available", input: { at: "sea" }, output: { seen: "a ship" } },
      { type: "tool-look", state: "output-error", input: { at: "fog" }, errorText: "An error occurred." },
      { type: "step-start" },
      { type: "text", text: "A ship.", state: "done" },
    ]);
  });

  it("interrupts the turn of a client that disconnects", async () => {
    const { url, agent, events } = await chatServer([{ text: "The crane is blue.", stallAfterChars: 8 }]);
    const stop = new AbortController();
    const response = await fetch(url, {
      method: "POST",
      body: JSON.stringify({ messages: [{ role: "user", parts: [{ type: "text", text: "colour?" }] }] }),
      signal: stop.signal,
    });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    for (let read = ""; !read.includes("text-delta"); ) read += (await reader?.read())?.value ?? "";
    const ended = new Promise<void>((resolve) => {
      agent.onEvent(({ type }) => void (type === "turn-end" && resolve()));
    });
    stop.abort();
    await ended;
    expect(events.at(-1)).toMatchObject({ type: "turn-end", result: { interrupted: true } });
  });

  it("gives onError codes of the error page for failed turns and tools", async () => {
    const codes: string[] = [];
    const options = {
      onError: (error: HermesError) => {
        codes.push(error.code);
        return error.code;
      },
    };
    const tools = await chatServer(LOOKS, looking(), options);
    await ask(tools.url, "look");
    const opened = gate();
    const made = await agentHome([{ text: "One.", pauseBefore: opened }]);
    const other = await made.another({ sessionId: made.agent.sessionId });
    const running = made.agent.run("one");
    await vi.waitFor(() => expect(made.wire.requests).toHaveLength(1));
    await collected(other.toUIMessageStream("two", options));
    opened.open();
    await running;
    const failing = await agentHome([], {
      wire: { mayRunOut: true },
      options: { waitForRetry: async () => {} },
    });
    await collected(failing.agent.toUIMessageStream("hello", options));
    expect(codes).toEqual(["tool-failed", "session-busy", "model-error"]);
  });

  it("tells the client when the agent is closed under it", async () => {
    const { agent } = await agentHome([{ text: "The crane is blue.", stallAfterChars: 8 }]);
    const route = async () => {
      await using routed = agent;
      return routed.toUIMessageStreamResponse("colour?", { onError: ({ code }) => code });
    };
    const text = await (await route()).text();
    expect(text).toContain('{"type":"error","errorText":"agent-closed"}');
    expect(text).toMatch(/\{"type":"abort"\}\n\ndata: \[DONE\]\n\n$/);
  });
});

describe("closeWhenDone", () => {
  const closed = (agent: Agent) => expect(agent.run("more")).rejects.toMatchObject({ code: "agent-closed" });

  it("closes the agent of a route before the stream ends, so that the next request has the chat", async () => {
    const made = await agentHome([{ text: "Hi." }, { text: "Again." }]);
    const text = await made.agent.toUIMessageStreamResponse("hello", { closeWhenDone: true }).text();
    expect(text).toContain('"finishReason":"stop"');
    const next = await made.another({ resume: made.agent.sessionId });
    expect(await next.run("and?")).toMatchObject({ final_response: "Again." });
    await closed(made.agent);
  });

  it("closes it when the client leaves, and after a turn that was refused", async () => {
    const made = await agentHome([{ text: "The crane is blue.", stallAfterChars: 8 }]);
    const reader = made.agent.toUIMessageStream("colour?", { closeWhenDone: true }).getReader();
    while ((await reader.read()).value?.type !== "text-delta");
    await reader.cancel();
    await closed(made.agent);
    const refused = await made.another();
    const chunks = await collected(refused.toUIMessageStream(" ", { closeWhenDone: true }));
    expect(chunks).toContainEqual({ type: "error", errorText: "An error occurred." });
    await closed(refused);
  });

  it("tells an interrupt as abort, and not as a closed agent", async () => {
    const { agent } = await agentHome([{ text: "The crane is blue.", stallAfterChars: 8 }]);
    const chunks: string[] = [];
    for await (const chunk of agent.toUIMessageStream("colour?", { closeWhenDone: true })) {
      chunks.push(chunk.type);
      if (chunk.type === "text-delta") agent.interrupt();
    }
    expect(chunks).not.toContain("error");
    expect(chunks.at(-1)).toBe("abort");
  });
});

/** The arguments of the first call are cut off, so the model is asked again. */
const ASKED_AGAIN: Script = [
  { text: "I loo", toolCalls: [{ name: "look", arguments: '{"at": "s' }], finish: "length" },
  { text: "I look.", toolCalls: [{ name: "look", arguments: { at: "sea" } }] },
  { text: "A ship." },
];

function texts(parts: readonly Part[]): unknown[] {
  return parts.flatMap(({ type, text }) => (type === "text" ? [text] : []));
}

describe("text that the model wrote in vain", () => {
  it("is marked, so that a client can leave it out", async () => {
    const { url } = await chatServer(ASKED_AGAIN, looking());
    const { parts } = await ask(url, "look");
    expect(texts(parts)).toEqual(["I loo", "I look.", "A ship."]);
    const valid = parts.filter(
      ({ providerMetadata }) =>
        !(providerMetadata as { hermes?: { discarded?: boolean } })?.hermes?.discarded,
    );
    expect(texts(valid)).toEqual(["I look.", "A ship."]);
  });

  it("is never sent with holdText", async () => {
    const { url } = await chatServer(ASKED_AGAIN, looking(), { holdText: true });
    expect(texts((await ask(url, "look")).parts)).toEqual(["I look.", "A ship."]);
  });

  it("is held where a hook changes the text at the end", async () => {
    const { agent } = await agentHome([{ text: "blue" }], {
      options: { hooks: { transformOutput: (text) => text.toUpperCase() } },
    });
    const chunks = await collected(agent.toUIMessageStream("colour?"));
    expect(chunks.flatMap((chunk) => (chunk.type === "text-delta" ? [chunk.delta] : []))).toEqual(["BLUE"]);
  });
});

describe("lastUserInput", () => {
  it("takes text and images of the last message", () => {
    const text = { type: "text", text: "What is it?" };
    expect(
      lastUserInput([
        { role: "assistant", parts: [] },
        { role: "user", parts: [text] },
      ]),
    ).toBe("What is it?");
    expect(lastUserInput([{ role: "user", content: "hi" }])).toBe("hi");
    const image = { type: "file", mediaType: "image/png", url: "data:image/png;base64,AA==" };
    expect(lastUserInput([{ role: "user", parts: [text, image] }])).toEqual([
      text,
      { type: "image_url", image_url: { url: image.url } },
    ]);
  });

  it.each([
    [[]],
    [[{ role: "assistant", parts: [] }]],
    [[{ role: "user" }]],
    [[{ role: "user", parts: [{ type: "file", mediaType: "application/pdf", url: "x" }] }]],
    [undefined],
  ])("refuses %j", (messages) => {
    expect(() => lastUserInput(messages as unknown[])).toThrow(
      expect.objectContaining({ code: "bad-message" }),
    );
  });
});

/** The chunks fit the types of all three majors. */
export function typeChecks(agent: Agent): void {
  const seven: ReadableStream<ai7.UIMessageChunk> = agent.toUIMessageStream("hello");
  const six: ReadableStream<ai6.UIMessageChunk> = agent.toUIMessageStream("hello");
  const five: ReadableStream<ai5.UIMessageChunk> = agent.toUIMessageStream("hello");
  void [seven, six, five];
}
