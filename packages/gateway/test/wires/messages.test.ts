// Anthropic's wire against Anthropic's own client and the AI SDK. Bodies are hand-written after the API reference and the clients' types.
import { createAnthropic } from "@ai-sdk/anthropic";
import Anthropic from "@anthropic-ai/sdk";
import { generateText, jsonSchema, streamText, tool } from "ai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { messagesWire } from "../../src/wires/messages.ts";
import { attempt } from "../attempt.ts";
import { METADATA, requestOf, serveWire, USAGE, type WireServer } from "./wire-server.ts";

const HELLO = [{ role: "user" as const, content: "hello" }];
const CALL = { type: "tool-call" as const, id: "toolu_1", name: "look", arguments: '{"at": "sea"}' };
const LOOK = { name: "look", description: "Looks.", input_schema: { type: "object" as const } };
const MARKER = { type: "ephemeral" };

describe("a messages request", () => {
  const parse = (body: object) =>
    attempt(() => messagesWire.parse({ model: "m", max_tokens: 100, messages: HELLO, ...body }));
  const read = (body: object) =>
    requestOf(messagesWire, { model: "m", max_tokens: 100, messages: HELLO, ...body });

  it("has its system blocks as one text", () => {
    const system = [
      { type: "text", text: "Be kind." },
      { type: "text", text: "Be brief.", cache_control: MARKER },
    ];
    expect(read({ system }).system).toBe("Be kind.\n\nBe brief.");
    expect(read({ system: "Be kind." }).system).toBe("Be kind.");
  });

  it("keeps thinking, signatures, calls, results, images and markers", () => {
    const { messages, unsupported } = read({
      messages: [
        {
          role: "user",
          content: [
            { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } },
            { type: "image", source: { type: "url", url: "https://example.org/a.png" } },
            { type: "text", text: "what is this?", cache_control: MARKER },
          ],
        },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "I look.", signature: "sig" },
            { type: "redacted_thinking", data: "hidden" },
            { type: "text", text: "Looking.", citations: null },
            { type: "tool_use", id: "toolu_1", name: "look", input: { at: "sea" } },
            { type: "tool_use", id: "toolu_2", name: "look", input: {} },
          ],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "toolu_1", content: [{ type: "text", text: "a crane" }] },
            { type: "tool_result", tool_use_id: "toolu_2", is_error: true, content: "no light" },
            { type: "text", text: "go on" },
          ],
        },
      ],
    });
    expect(unsupported).toEqual([]);
    expect(messages).toMatchObject([
      {
        role: "user",
        content: [
          { type: "image", url: "data:image/png;base64,AAAA" },
          { type: "image", url: "https://example.org/a.png" },
          { type: "text", text: "what is this?" },
        ],
        vendor: { cache_control: MARKER },
      },
      {
        role: "assistant",
        content: "Looking.",
        toolCalls: [
          { id: "toolu_1", name: "look", arguments: '{"at":"sea"}' },
          { id: "toolu_2", name: "look", arguments: "{}" },
        ],
        vendor: {
          reasoning: "I look.",
          reasoning_details: [
            { type: "thinking", thinking: "I look.", signature: "sig" },
            { type: "redacted_thinking", data: "hidden" },
          ],
        },
      },
      { role: "tool", toolCallId: "toolu_1", content: "a crane" },
      { role: "tool", toolCallId: "toolu_2", content: "no light", meta: { finishReason: "error-text" } },
      { role: "user", content: "go on" },
    ]);
  });

  it("reads the same message wherever the cache marker is", () => {
    const text = { type: "text", text: "hello" };
    const contents = ["hello", [text], [{ ...text, cache_control: MARKER }]].map(
      (content) => read({ messages: [{ role: "user", content }] }).messages[0]?.content,
    );
    expect(contents).toEqual(["hello", "hello", "hello"]);
  });

  it("has the choice of tools and the id of Claude Code", () => {
    expect(read({ tools: [LOOK], tool_choice: { type: "any" } })).toMatchObject({
      toolChoice: "required",
      tools: [{ name: "look", description: "Looks.", parameters: { type: "object" } }],
      unsupported: ["tool_choice"],
    });
    expect(read({ tool_choice: { type: "tool", name: "look" } }).toolChoice).toEqual({ name: "look" });
    expect(read({ metadata: { user_id: "user_1_session_2" } }).ids).toEqual({
      metadataUserId: "user_1_session_2",
    });
  });

  it.each([
    ["messages", { messages: [] }],
    ["messages[0].role", { messages: [{ role: "tool", content: "secret" }] }],
    ["messages[0].content", { messages: [{ role: "user" }] }],
    ["messages[0].content", { messages: [{ role: "user", content: { secret: 1 } }] }],
    ["messages[0].content[0].type", { messages: [{ role: "user", content: [{ text: "secret" }] }] }],
    ["messages[0].content[0].text", { messages: [{ role: "assistant", content: [{ type: "text" }] }] }],
    [
      "messages[0].content[0].id",
      { messages: [{ role: "assistant", content: [{ type: "tool_use", name: "x" }] }] },
    ],
    [
      "messages[0].content[0].tool_use_id",
      { messages: [{ role: "user", content: [{ type: "tool_result", content: "secret" }] }] },
    ],
    ["system", { system: 5 }],
    ["tools[0].name", { tools: [{ input_schema: {} }] }],
    ["tool_choice", { tool_choice: "auto" }],
    ["max_tokens", { max_tokens: -1 }],
    ["model", { model: "" }],
  ])("with a wrong field is refused by the name %s", (param, body) => {
    const parsed = parse(body);
    expect(parsed).toMatchObject({ ok: false, error: { status: 400, param } });
    expect(JSON.stringify(parsed)).not.toContain("secret");
  });

  it.each([
    [
      [],
      {
        thinking: { type: "enabled", budget_tokens: 1024 },
        top_k: 5,
        stop_sequences: [],
        output_config: { effort: "low" },
      },
    ],
    [["stop_sequences"], { stop_sequences: ["END"] }],
    [["mcp_servers"], { mcp_servers: [{ type: "url", url: "https://example.org", name: "x" }] }],
    [["container"], { container: "c" }],
    [["output_config.format"], { output_config: { format: { type: "json_schema", schema: {} } } }],
    [
      ["tool_choice.disable_parallel_tool_use"],
      { tool_choice: { type: "auto", disable_parallel_tool_use: true } },
    ],
    [["tools.web_search_20250305"], { tools: [{ type: "web_search_20250305", name: "web_search" }] }],
    [
      ["messages.document"],
      { messages: [{ role: "user", content: [{ type: "document", source: { type: "text", data: "x" } }] }] },
    ],
  ])("says that %j would be lost on another wire", (names, body) => {
    expect(read(body).unsupported).toEqual(names);
  });
});

describe("Anthropic's client", () => {
  let server: WireServer;
  let client: Anthropic;
  const ask = { model: "m", max_tokens: 100, messages: HELLO, tools: [LOOK] };
  beforeAll(async () => {
    server = await serveWire(messagesWire, { events: [] });
    client = new Anthropic({ apiKey: "k", baseURL: server.url, maxRetries: 0 });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it("reads a whole reply without thinking, with usage and our metadata", async () => {
    server.next = {
      events: [{ type: "reasoning", text: "hm" }, { type: "text", text: "Hello." }, CALL],
      finish: "tool_calls",
      usage: USAGE,
    };
    const reply = await client.messages.create(ask);
    expect(reply).toMatchObject({
      type: "message",
      role: "assistant",
      content: [
        { type: "text", text: "Hello." },
        { type: "tool_use", id: "toolu_1", name: "look", input: { at: "sea" } },
      ],
      stop_reason: "tool_use",
      stop_sequence: null,
      usage: {
        input_tokens: 100,
        cache_read_input_tokens: 40,
        cache_creation_input_tokens: 7,
        output_tokens: 30,
      },
      hermes: { session_id: METADATA.sessionId, notices: METADATA.notices },
    });
    expect(reply.content).toHaveLength(2);
  });

  it("streams, and puts the reply together", async () => {
    server.next = {
      events: [
        { type: "reasoning", text: "hm" },
        { type: "ping" },
        { type: "text", text: "Hel" },
        { type: "text", text: "lo." },
        CALL,
        { ...CALL, id: "toolu_2", arguments: "" },
        { ...CALL, id: "toolu_3", arguments: "not JSON" },
        { type: "text", text: "More." },
      ],
      finish: "tool_calls",
      usage: USAGE,
    };
    const stream = client.messages.stream(ask);
    const events = [];
    for await (const event of stream) events.push(event);
    const reply = await stream.finalMessage();
    expect(reply).toMatchObject({
      content: [
        { type: "text", text: "Hello." },
        { type: "tool_use", id: "toolu_1", input: { at: "sea" } },
        { type: "tool_use", id: "toolu_2", input: {} },
        { type: "tool_use", id: "toolu_3", input: { invalid_arguments: "not JSON" } },
        { type: "text", text: "More." },
      ],
      stop_reason: "tool_use",
      usage: { input_tokens: 100, cache_read_input_tokens: 40, output_tokens: 30 },
    });
    expect(events.find(({ type }) => type === "message_delta")).toMatchObject({
      hermes: { session_id: "s-1" },
    });
    expect(events.at(-1)?.type).toBe("message_stop");
  });

  it.each([
    [400, Anthropic.BadRequestError, "invalid_request_error"],
    [401, Anthropic.AuthenticationError, "authentication_error"],
    [403, Anthropic.PermissionDeniedError, "permission_error"],
    [404, Anthropic.NotFoundError, "not_found_error"],
    [413, Anthropic.APIError, "request_too_large"],
    [422, Anthropic.UnprocessableEntityError, "invalid_request_error"],
    [429, Anthropic.RateLimitError, "rate_limit_error"],
    [500, Anthropic.InternalServerError, "api_error"],
    [503, Anthropic.APIError, "overloaded_error"],
  ] as const)("throws its own exception for status %i", async (status, kind, type) => {
    server.next = {
      problem: { status, code: "some-code", message: "It went wrong.", hint: "Try again.", param: "x" },
    };
    const failure = await client.messages.create(ask).catch((cause) => cause);
    expect(failure).toBeInstanceOf(kind);
    expect(failure).toMatchObject({ status, type, errorCode: "some-code" });
    expect(failure.message).toContain("x: It went wrong. Try again.");
  });

  it("throws a problem in the middle of a stream", async () => {
    server.next = {
      events: [
        { type: "text", text: "Hel" },
        { type: "problem", problem: { status: 503, code: "busy", message: "The model is busy." } },
      ],
    };
    const failure = await client.messages
      .stream(ask)
      .finalMessage()
      .catch((cause) => cause);
    expect(failure).toBeInstanceOf(Anthropic.APIError);
    expect(failure).toMatchObject({ type: "overloaded_error", apiMessage: "The model is busy." });
  });
});

it("the AI SDK streams and generates", async () => {
  await using server = await serveWire(messagesWire, {
    events: [{ type: "text", text: "Hello." }, CALL],
    finish: "tool_calls",
    usage: USAGE,
  });
  const model = createAnthropic({ apiKey: "k", baseURL: `${server.url}/v1` })("claude-x");
  const tools = {
    look: tool({ description: "Looks.", inputSchema: jsonSchema({ type: "object", properties: {} }) }),
  };
  const given = { model, tools, messages: HELLO, maxRetries: 0, maxOutputTokens: 100 };
  const stream = streamText(given);
  const parts = [];
  for await (const part of stream.fullStream) parts.push(part.type);
  expect(parts).not.toContain("error");
  for (const reply of [await generateText(given), stream]) {
    expect(await reply.text).toBe("Hello.");
    expect(await reply.toolCalls).toMatchObject([
      { toolCallId: "toolu_1", toolName: "look", input: { at: "sea" } },
    ]);
    expect(await reply.finishReason).toBe("tool-calls");
    expect(await reply.usage).toMatchObject({ inputTokens: 147, outputTokens: 30 });
  }
});
