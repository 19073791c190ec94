// OpenAI's chat wire against OpenAI's own client and the AI SDK. Bodies are hand-written after the API reference and the clients' types.
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, jsonSchema, streamText, tool } from "ai";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chatWire } from "../../src/wires/chat.ts";
import { attempt } from "../attempt.ts";
import { METADATA, requestOf, serveWire, USAGE, type WireServer } from "./wire-server.ts";

const HELLO = [{ role: "user" as const, content: "hello" }];
const CALL = { type: "tool-call" as const, id: "call_1", name: "look", arguments: '{"at":"sea"}' };
const LOOK = {
  type: "function" as const,
  function: { name: "look", description: "Looks.", parameters: { type: "object", properties: {} } },
};

describe("a chat request", () => {
  const parse = (body: object) => attempt(() => chatWire.parse({ model: "m", messages: HELLO, ...body }));
  const read = (body: object) => requestOf(chatWire, { model: "m", messages: HELLO, ...body });

  it("has its first system messages as instructions, and later ones in their place", () => {
    const { system, messages } = read({
      messages: [
        { role: "system", content: "Be kind." },
        { role: "developer", content: [{ type: "text", text: "Be brief." }] },
        { role: "user", content: "hello" },
        { role: "system", content: "It is late." },
      ],
    });
    expect(system).toBe("Be kind.\n\nBe brief.");
    expect(messages.map(({ role, content }) => [role, content])).toEqual([
      ["user", "hello"],
      ["system", "It is late."],
    ]);
  });

  it("keeps images, calls, results and unknown fields", () => {
    const { messages } = read({
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "what is this?", cache_control: { type: "ephemeral" } },
            { type: "image_url", image_url: { url: "data:image/png;base64,AAAA", detail: "low" } },
          ],
        },
        {
          role: "assistant",
          content: null,
          reasoning_content: "I look.",
          tool_calls: [{ id: "call_1", type: "function", function: { name: "look", arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: "call_1", content: [{ type: "text", text: "a crane" }] },
      ],
    });
    expect(messages).toMatchObject([
      {
        role: "user",
        content: [
          { type: "text", text: "what is this?" },
          { type: "image", url: "data:image/png;base64,AAAA", vendor: { image_url: { detail: "low" } } },
        ],
        vendor: { cache_control: { type: "ephemeral" } },
      },
      {
        role: "assistant",
        content: null,
        toolCalls: [{ id: "call_1", name: "look", arguments: "{}" }],
        vendor: { reasoning_content: "I look." },
      },
      { role: "tool", toolCallId: "call_1", content: "a crane" },
    ]);
  });

  it("of the old API has calls and results that belong together", () => {
    const { messages, tools, toolChoice } = read({
      functions: [{ name: "look" }],
      function_call: "none",
      messages: [
        ...HELLO,
        { role: "assistant", content: null, function_call: { name: "look", arguments: "{}" } },
        { role: "function", name: "look", content: "a crane" },
      ],
    });
    const [, call, result] = messages;
    expect(call).toMatchObject({ toolCalls: [{ name: "look", arguments: "{}" }] });
    expect(result).toMatchObject({
      role: "tool",
      toolName: "look",
      toolCallId: call?.role === "assistant" ? call.toolCalls[0]?.id : "",
    });
    expect(result?.meta.writtenRole).toBeUndefined();
    expect(tools).toEqual([
      { name: "look", description: "", parameters: { type: "object", properties: {} } },
    ]);
    expect(toolChoice).toBe("none");
  });

  it("cannot name stored rows or times", () => {
    const { messages } = read({
      messages: [
        {
          role: "user",
          content: "hello",
          timestamp: 5,
          _row_id: 7,
          meta: { id: "x", atSeconds: 1, rowId: 7 },
        },
      ],
    });
    expect(messages[0]?.meta).toEqual({ id: expect.any(String), atSeconds: 0 });
    expect(messages[0]?.vendor).toBeUndefined();
  });

  it.each([
    ["messages", { messages: undefined }],
    ["messages", { messages: [] }],
    ["messages", { messages: "hello" }],
    ["messages[0]", { messages: ["hello"] }],
    ["messages[0].role", { messages: [{ content: "hello" }] }],
    ["messages[0].role", { messages: [{ role: "robot", content: "secret" }] }],
    ["messages[0].content", { messages: [{ role: "user", content: 5 }] }],
    ["messages[0].content", { messages: [{ role: "user" }] }],
    ["messages[0].content[0]", { messages: [{ role: "user", content: [7] }] }],
    ["messages[0].content[0].text", { messages: [{ role: "user", content: [{ type: "text" }] }] }],
    ["messages[0].tool_call_id", { messages: [{ role: "tool", content: "secret" }] }],
    [
      "messages[0].tool_calls[0].function",
      { messages: [{ role: "assistant", tool_calls: [{ id: "call_1" }] }] },
    ],
    ["model", { model: undefined }],
    ["model", { model: 5 }],
    ["stream", { stream: "yes" }],
    ["temperature", { temperature: "hot" }],
    ["max_tokens", { max_tokens: 0 }],
    ["tools", { tools: {} }],
    ["tools[0].function.name", { tools: [{ type: "function", function: {} }] }],
    ["tool_choice", { tool_choice: "any" }],
    ["user", { user: 5 }],
    ["user", { user: "" }],
  ])("with a wrong field is refused by the name %s", (param, body) => {
    const parsed = parse(body);
    expect(parsed).toMatchObject({ ok: false, error: { status: 400, param } });
    expect(JSON.stringify(parsed)).not.toContain("secret");
  });

  it("may have unknown fields, and null for every field that it does not use", () => {
    expect(
      parse({ unknown: { deep: [1] }, stream: null, tools: null, temperature: null, user: null, n: null }).ok,
    ).toBe(true);
  });

  it.each([
    [[], { n: 1, response_format: { type: "text" }, stop: [], logprobs: false, top_p: 0.5, seed: 1 }],
    [["n"], { n: 2 }],
    [["stop"], { stop: "END" }],
    [["response_format"], { response_format: { type: "json_object" } }],
    [["tool_choice"], { tools: [LOOK], tool_choice: "required" }],
    [["parallel_tool_calls"], { tools: [LOOK], parallel_tool_calls: false }],
    [
      ["modalities", "audio"].sort(),
      { modalities: ["text", "audio"], audio: { voice: "alloy", format: "wav" } },
    ],
    [["tools.custom"], { tools: [{ type: "custom", custom: { name: "patch" } }] }],
    [
      ["messages.input_audio"],
      {
        messages: [
          { role: "user", content: [{ type: "input_audio", input_audio: { data: "AA", format: "wav" } }] },
        ],
      },
    ],
  ])("says that %j would be lost on another wire", (names, body) => {
    expect([...read(body).unsupported].sort()).toEqual(names);
  });
});

describe("OpenAI's client", () => {
  let server: WireServer;
  let client: OpenAI;
  beforeAll(async () => {
    server = await serveWire(chatWire, { events: [] });
    client = new OpenAI({ apiKey: "k", baseURL: `${server.url}/v1`, maxRetries: 0 });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it("reads a whole reply with usage and our metadata", async () => {
    server.next = {
      events: [
        { type: "reasoning", text: "hm" },
        { type: "text", text: "Hello." },
      ],
      usage: USAGE,
    };
    const reply = await client.chat.completions.create({ model: "m", messages: HELLO });
    expect(reply).toMatchObject({
      object: "chat.completion",
      model: "test-model",
      choices: [
        { finish_reason: "stop", message: { role: "assistant", content: "Hello.", reasoning_content: "hm" } },
      ],
      usage: {
        prompt_tokens: 147,
        completion_tokens: 30,
        total_tokens: 177,
        prompt_tokens_details: { cached_tokens: 40 },
        completion_tokens_details: { reasoning_tokens: 12 },
      },
      hermes: { session_id: METADATA.sessionId, notices: METADATA.notices, compacted_from: "s-0" },
    });
  });

  it("streams text, and gets usage only when it asks", async () => {
    server.next = {
      events: [{ type: "ping" }, { type: "text", text: "Hel" }, { type: "text", text: "lo." }],
      usage: USAGE,
    };
    for (const include_usage of [true, false]) {
      const chunks = [];
      const stream = await client.chat.completions.create({
        model: "m",
        messages: HELLO,
        stream: true,
        stream_options: { include_usage },
      });
      for await (const chunk of stream) chunks.push(chunk);
      expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("")).toBe("Hello.");
      expect(chunks[0]?.choices[0]?.delta.role).toBe("assistant");
      expect(chunks.filter(({ usage }) => usage)).toHaveLength(include_usage ? 1 : 0);
      expect(chunks.at(-1)?.usage?.total_tokens).toBe(include_usage ? 177 : undefined);
      expect(chunks.find((chunk) => "hermes" in chunk)?.choices[0]?.finish_reason).toBe("stop");
    }
  });

  it("puts streamed tool calls together", async () => {
    server.next = {
      events: [{ type: "text", text: "Wait." }, CALL, { ...CALL, id: "call_2", arguments: "" }],
      finish: "tool_calls",
    };
    const stream = client.chat.completions.stream({ model: "m", messages: HELLO, tools: [LOOK] });
    const { choices } = await stream.finalChatCompletion();
    expect(choices[0]).toMatchObject({
      finish_reason: "tool_calls",
      message: {
        content: "Wait.",
        tool_calls: [
          { id: "call_1", type: "function", function: { name: "look", arguments: CALL.arguments } },
          { id: "call_2", type: "function", function: { name: "look", arguments: "{}" } },
        ],
      },
    });
  });

  it.each([
    [400, OpenAI.BadRequestError, "invalid_request_error"],
    [401, OpenAI.AuthenticationError, "authentication_error"],
    [403, OpenAI.PermissionDeniedError, "permission_error"],
    [404, OpenAI.NotFoundError, "invalid_request_error"],
    [409, OpenAI.ConflictError, "invalid_request_error"],
    [422, OpenAI.UnprocessableEntityError, "invalid_request_error"],
    [429, OpenAI.RateLimitError, "rate_limit_error"],
    [503, OpenAI.InternalServerError, "server_error"],
  ] as const)("throws its own exception for status %i", async (status, kind, type) => {
    server.next = {
      problem: { status, code: "some-code", message: "It went wrong.", hint: "Try again.", param: "x" },
    };
    const failure = await client.chat.completions
      .create({ model: "m", messages: HELLO })
      .catch((cause) => cause);
    expect(failure).toBeInstanceOf(kind);
    expect(failure).toMatchObject({ status, type, code: "some-code", param: "x" });
    expect(failure.message).toContain("It went wrong. Try again.");
  });

  it("throws a problem in the middle of a stream, after the text before it", async () => {
    server.next = {
      events: [
        { type: "text", text: "Hel" },
        { type: "problem", problem: { status: 502, code: "model-failed", message: "The model broke off." } },
      ],
    };
    let text = "";
    const read = async () => {
      for await (const { choices } of await client.chat.completions.create({
        model: "m",
        messages: HELLO,
        stream: true,
      }))
        text += choices[0]?.delta.content ?? "";
    };
    await expect(read()).rejects.toThrow("The model broke off.");
    expect(text).toBe("Hel");
  });
});

describe("the AI SDK", () => {
  const tools = {
    look: tool({ description: "Looks.", inputSchema: jsonSchema({ type: "object", properties: {} }) }),
  };
  const models = (url: string) => ({
    openai: createOpenAI({ apiKey: "k", baseURL: `${url}/v1` }).chat("m"),
    compatible: createOpenAICompatible({ name: "hermes", baseURL: `${url}/v1`, includeUsage: true })("m"),
  });

  it("does without usage", async () => {
    await using server = await serveWire(chatWire, { events: [{ type: "text", text: "Hello." }] });
    const given = { model: models(server.url).compatible, prompt: "hello", maxRetries: 0 };
    const stream = streamText(given);
    expect([(await generateText(given)).text, await stream.text]).toEqual(["Hello.", "Hello."]);
  });

  it.each(["openai", "compatible"] as const)("streams and generates over %s", async (name) => {
    await using server = await serveWire(chatWire, {
      events: [{ type: "reasoning", text: "hm" }, { type: "text", text: "Hello." }, CALL],
      finish: "tool_calls",
      usage: USAGE,
    });
    const model = models(server.url)[name];
    const given = { model, tools, messages: HELLO, maxRetries: 0 };
    const stream = streamText(given);
    const parts = [];
    for await (const part of stream.fullStream) parts.push(part.type);
    expect(parts).not.toContain("error");
    for (const reply of [await generateText(given), stream]) {
      expect(await reply.text).toBe("Hello.");
      expect(await reply.toolCalls).toMatchObject([
        { toolCallId: "call_1", toolName: "look", input: { at: "sea" } },
      ]);
      expect(await reply.finishReason).toBe("tool-calls");
      expect(await reply.usage).toMatchObject({ inputTokens: 147, outputTokens: 30 });
      if (name === "compatible") expect(await reply.reasoningText).toBe("hm");
    }
  });
});
