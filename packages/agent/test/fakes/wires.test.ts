// The fake model servers, as the AI SDK's real providers see them.
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { LanguageModelV4, LanguageModelV4FunctionTool } from "@ai-sdk/provider";
import { describe, expect, it } from "vitest";
import { resolveContextWindow } from "../../src/models/index.ts";
import { failureOf, listen, QUESTION } from "./wires/listen.ts";
import {
  badKey,
  badSignature,
  type Failure,
  gate,
  hangUp,
  modelNotFound,
  outOfCredit,
  overflow,
  payloadTooLarge,
  rateLimited,
  refused,
  type Script,
  serverError,
  type WireKind,
} from "./wires/script.ts";
import { startWire, type TestWireOptions, type Wire } from "./wires/wire-in-test.ts";

type Client = { readonly name: string; readonly kind: WireKind; model(url: string): LanguageModelV4 };

const apiKey = "test-key";
const CLIENTS: readonly Client[] = [
  {
    name: "chat, compatible",
    kind: "chat",
    model: (baseURL) => createOpenAICompatible({ name: "fake", baseURL, includeUsage: true })("fake-model"),
  },
  {
    name: "chat, OpenAI",
    kind: "chat",
    model: (baseURL) => createOpenAI({ baseURL, apiKey }).chat("gpt-4.1"),
  },
  {
    name: "responses",
    kind: "responses",
    model: (baseURL) => createOpenAI({ baseURL, apiKey }).responses("gpt-5"),
  },
  {
    name: "anthropic",
    kind: "anthropic",
    model: (baseURL) => createAnthropic({ baseURL, apiKey })("claude-x"),
  },
  {
    name: "google",
    kind: "google",
    model: (baseURL) => createGoogleGenerativeAI({ baseURL, apiKey })("gemini-x"),
  },
];

const HARD_TEXT = 'Grüße, 世界 👩‍👩‍👧 — "quoted"\nand a second line';

const MARKER = { anthropic: { cacheControl: { type: "ephemeral" } } };

const TOOLS: LanguageModelV4FunctionTool[] = ["look", "break"].map((name) => ({
  type: "function",
  name,
  inputSchema: { type: "object", properties: {} },
}));

describe.each(CLIENTS)("the $name wire", ({ name, kind, model }) => {
  const begin = async (script: Script, options?: TestWireOptions): Promise<[Wire, LanguageModelV4]> => {
    const wire = await startWire(kind, script, options);
    return [wire, model(wire.url)];
  };

  it.each([{}, { chunkChars: 1 }, { chunkChars: 1000 }, { splitBytes: true }])(
    "streams text with %o",
    async (how) => {
      const [, client] = await begin([{ text: HARD_TEXT, ...how }]);
      const heard = await listen(client);
      expect(heard).toMatchObject({ text: HARD_TEXT, finish: "stop", errors: [] });
      if (how.chunkChars === 1) expect(heard.deltas).toEqual([...HARD_TEXT]);
    },
  );

  it("carries calls of tools, well-formed or not", async () => {
    const toolCalls = [
      { name: "look", arguments: { path: "ä/b", deep: { list: [1] } }, id: "call-one" },
      { name: "break", arguments: '{"path": "half', id: "call-two" },
    ];
    const [wire, client] = await begin([{ text: "I will look.", toolCalls }]);
    const heard = await listen(client, { tools: TOOLS });
    expect(heard.calls).toEqual([
      ["call-one", "look", '{"path":"ä/b","deep":{"list":[1]}}'],
      ["call-two", "break", '{"path": "half'],
    ]);
    expect(heard).toMatchObject({ text: "I will look.", finish: "tool-calls", errors: [] });
    expect(wire.requests[0]?.tools).toEqual(["look", "break"]);
  });

  it("gives calls ids of their own", async () => {
    const toolCalls = [
      { name: "look", arguments: {} },
      { name: "look", arguments: {} },
    ];
    const [, client] = await begin([{ toolCalls }, { toolCalls }]);
    const [, other] = await begin([{ toolCalls }]);
    const heard = [await listen(client), await listen(client), await listen(other)];
    expect(new Set(heard.flatMap(({ calls }) => calls.map(([id]) => id))).size).toBe(6);
  });

  it("tells usage in buckets, and why it stopped", async () => {
    const usage = { input: 100, cacheRead: 40, cacheWrite: 7, output: 30, reasoning: 10 };
    const [, client] = await begin([
      { text: "cut off", usage, finish: "length" },
      { text: "filtered", finish: "content_filter" },
    ]);
    const heard = await listen(client);
    expect(heard.finish).toBe("length");
    expect(heard.usage).toMatchObject({
      inputTokens: { total: 147, cacheRead: 40 },
      outputTokens: { total: 30, reasoning: 10 },
    });
    // Only these report what was written to a cache; the compatible provider leaves it in the raw figures.
    if (["anthropic", "responses", "chat, OpenAI"].includes(name))
      expect(heard.usage?.inputTokens).toMatchObject({ noCache: 100, cacheWrite: 7 });
    if (kind === "chat")
      expect(heard.usage?.raw).toMatchObject({ prompt_tokens_details: { cache_write_tokens: 7 } });
    expect((await listen(client)).finish).toBe("content-filter");
  });

  it("estimates usage where the script has none", async () => {
    const [wire, client] = await begin([{ text: "12345678" }, { text: "x", usage: null }]);
    const { usage } = await listen(client);
    expect(usage?.inputTokens.total).toBe(Math.ceil([...(wire.requests[0]?.raw ?? "")].length / 4));
    expect(usage?.outputTokens.total).toBe(2);
    expect((await listen(client)).usage?.inputTokens.total ?? 0).toBe(0);
  });

  it("answers without streaming", async () => {
    const toolCalls = [{ name: "look", arguments: { path: "x" } }];
    const [wire, client] = await begin([{ text: HARD_TEXT, toolCalls, usage: { input: 5, output: 6 } }]);
    const { content, usage, finishReason } = await client.doGenerate({ ...QUESTION, tools: TOOLS });
    const kinds = content.map((part) => (part.type === "text" ? part.text : part.type));
    expect(kinds).toEqual([HARD_TEXT, "tool-call"]);
    expect([finishReason.unified, usage.inputTokens.total, usage.outputTokens.total]).toEqual([
      "tool-calls",
      5,
      6,
    ]);
    expect(wire.requests[0]?.body.stream ?? false).toBe(false);
  });

  it("records what was sent, with the same view for all wires", async () => {
    const [wire, client] = await begin([{ text: "ok" }]);
    await listen(client, {
      prompt: [
        { role: "system", content: "Be brief.", providerOptions: MARKER },
        { role: "user", content: [{ type: "text", text: "first" }], providerOptions: MARKER },
        { role: "assistant", content: [{ type: "text", text: "answer" }] },
        { role: "user", content: [{ type: "text", text: "second" }] },
      ],
    });
    const [request] = wire.requests;
    expect(JSON.parse(request?.raw ?? "")).toEqual(request?.body);
    expect(request?.raw.includes("cache_control")).toBe(kind === "anthropic");
    expect(wire.systemOf(0)).toBe("Be brief.");
    expect(wire.wireMessages(-1)).toEqual([
      { role: "user", content: "first" },
      { role: "assistant", content: "answer" },
      { role: "user", content: "second" },
    ]);
    expect(() => wire.wireMessages(1)).toThrow("There is no request 1; 1 have arrived.");
  });

  it.each<[string, Failure, number]>([
    ["overflow", overflow(20_000), 400],
    ["rate limit", rateLimited(7), 429],
    ["server error", serverError(), 500],
    ["too large", payloadTooLarge(), 413],
    ["refused", refused(), 400],
    ["not found", modelNotFound(), 404],
    ["bad signature", badSignature(), 400],
    ["own words", { status: 418, message: "I am a teapot" }, 418],
    ["own body", { status: 502, body: "<html>Bad gateway</html>", headers: { "x-from": "proxy" } }, 502],
  ])("fails as its vendor does: %s", async (_, failure, status) => {
    const [, client] = await begin([failure]);
    const error = await failureOf(client.doStream(QUESTION));
    expect(error).toMatchObject({ statusCode: status, isRetryable: status === 429 || status >= 500 });
    if (failure.kind !== undefined || failure.message !== undefined) expect(error.data).toBeDefined(); // understood
    if (failure.limitTokens !== undefined) expect(error.message).toMatch(/\b20000\b/);
    if (failure.message !== undefined) expect(error.message).toBe(failure.message);
    if (failure.retryAfterSeconds !== undefined)
      expect(error.responseHeaders).toMatchObject({ "retry-after": "7" });
    if (failure.headers !== undefined) expect(error.responseHeaders).toMatchObject({ "x-from": "proxy" });
  });

  it("refuses keys and unpaid bills with the vendor's status", async () => {
    const [, client] = await begin([badKey(), outOfCredit()]);
    const statuses = [
      (await failureOf(client.doStream(QUESTION))).statusCode,
      (await failureOf(client.doStream(QUESTION))).statusCode,
    ];
    const own: Partial<Record<WireKind, number[]>> = { anthropic: [401, 400], google: [400, 429] };
    expect(statuses).toEqual(own[kind] ?? [401, 429]);
  });

  it("hangs up without an answer", async () => {
    const [, client] = await begin([hangUp()]);
    expect((await failureOf(client.doStream(QUESTION))).statusCode).toBeUndefined();
  });

  it("cuts the connection behind exactly so many characters", async () => {
    const heldBack = gate();
    const [wire, client] = await begin([
      { text: HARD_TEXT, cutAfterChars: 10, pauseAt: { chars: 10, until: heldBack } },
      { text: "next" },
    ]);
    const expected = [...HARD_TEXT].slice(0, 10).join("");
    const heard = await listen(client, {}, (text) => text === expected && heldBack.open());
    expect(heard.text).toBe(expected);
    expect(heard.finish).toBeUndefined();
    expect(heard.broken).toBeInstanceOf(Error);
    expect((await listen(client)).text).toBe("next");
    const abort = failureOf(wire.waitForAbort(0)); // it was not the client who ended it
    await wire.close();
    expect((await abort).message).toContain("closed before");
  });

  it("cuts a reply before its end when all of the text has been sent", async () => {
    const door = gate();
    const [, client] = await begin([
      { text: "whole", cutAfterChars: 99, pauseAt: { chars: 99, until: door } },
    ]);
    expect(await listen(client, {}, (text) => text === "whole" && door.open())).toMatchObject({
      text: "whole",
      finish: undefined,
      broken: expect.any(Error),
    });
  });

  it("stalls until the client gives up", async () => {
    const [wire, client] = await begin([{ text: "one two three", stallAfterChars: 7 }, { text: "next" }]);
    const stop = new AbortController();
    const heard = await listen(
      client,
      { abortSignal: stop.signal },
      (text) => text === "one two" && stop.abort(),
    );
    expect(heard).toMatchObject({ text: "one two", finish: undefined });
    await wire.waitForAbort(0);
    expect((await listen(client)).text).toBe("next");
  });

  it("reports an error in the middle of a stream", async () => {
    const [, client] = await begin([{ text: "half a sentence", failAfterChars: 6 }]);
    const heard = await listen(client);
    expect(heard.text).toBe("half a");
    expect(heard.errors).toHaveLength(1);
  });

  it("keeps the answer back until the gate opens", async () => {
    const door = gate();
    const [wire, client] = await begin([{ text: "late", pauseBefore: door }, { text: "quick" }]);
    const order: string[] = [];
    const late = listen(client).then(({ text }) => order.push(text));
    expect((await wire.waitForRequest(0)).index).toBe(0);
    order.push((await listen(client)).text);
    door.open();
    await late;
    expect(order).toEqual(["quick", "late"]);
  });

  it("answers from a function of the request", async () => {
    const [, client] = await begin(async ({ index, system, messages }) => ({
      text: `${index}: ${system}, ${String(messages.at(-1)?.content)}`,
    }));
    await listen(client);
    expect((await listen(client)).text).toBe("1: Be short., Hello");
  });

  it("says when the script has no step left, or fails", async () => {
    const [wire, client] = await begin([], { mayRunOut: true });
    const error = await failureOf(client.doStream(QUESTION));
    expect([error.statusCode, error.message]).toEqual([500, "The script has no step left for request 0."]);
    expect(wire.problems).toEqual([error.message]);
    const throwing = (): never => {
      throw new Error("assertion in a script");
    };
    const [other, asked] = await begin(throwing, { mayRunOut: true });
    await failureOf(asked.doStream(QUESTION));
    expect(other.problems).toEqual([expect.stringContaining("assertion in a script")]);
  });

  it("tells its window to those who ask", async () => {
    const wire = await startWire(kind, [], { contextLength: 20_480 });
    const window = await resolveContextWindow({ model: "claude-x", baseUrl: wire.url, provider: kind });
    expect(window).toMatchObject({ tokens: 20_480, source: "server" });
    expect(wire.requests).toEqual([]);
    expect(wire.otherRequests).toContainEqual(expect.stringMatching(/^GET \/v1(beta)?\/models/));
  });
});
