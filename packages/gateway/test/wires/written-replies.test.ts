// What our wires write, read by the vendors' own clients and by the AI SDK.
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import Anthropic from "@anthropic-ai/sdk";
import { APICallError, generateText, jsonSchema, streamText, tool } from "ai";
import OpenAI from "openai";
import { describe, expect, it, onTestFinished } from "vitest";
import { anthropicProblem, type GatewayProblem, openAiProblem } from "../../src/problem.ts";
import { chatWire } from "../../src/wires/chat.ts";
import { messagesWire } from "../../src/wires/messages.ts";
import { responsesWire } from "../../src/wires/responses.ts";
import type { Wire } from "../../src/wires/wire.ts";
import { METADATA, type Script, serveWire, USAGE } from "./wire-server.ts";

const CALL = { type: "tool-call" as const, id: "call_1", name: "look", arguments: '{"at": "sea"}' };
const SAID = [
  { type: "reasoning" as const, text: "hm" },
  { type: "text" as const, text: "Hello." },
];
const BROKEN: GatewayProblem = { status: 502, code: "model-failed", message: "The model broke off." };
const HELLO = [{ role: "user" as const, content: "hello" }];

async function served(wire: Wire, script: Script) {
  const server = await serveWire(wire, script);
  onTestFinished(() => server[Symbol.asyncDispose]());
  const [apiKey, baseURL] = ["k", `${server.url}/v1`];
  return {
    server,
    openai: new OpenAI({ apiKey, baseURL, maxRetries: 0 }),
    anthropic: new Anthropic({ apiKey, baseURL: server.url, maxRetries: 0 }),
    ai: {
      chat: createOpenAI({ apiKey, baseURL }).chat("m"),
      compatible: createOpenAICompatible({ name: "hermes", baseURL, includeUsage: true })("m"),
      responses: createOpenAI({ apiKey, baseURL }).responses("gpt-5"),
      messages: createAnthropic({ apiKey, baseURL })("claude-x"),
    },
  };
}

describe.each([
  ["chat", chatWire],
  ["compatible", chatWire],
  ["responses", responsesWire],
  ["messages", messagesWire],
] as const)("the AI SDK over %s", (name, wire) => {
  const given = { messages: HELLO, maxRetries: 0, maxOutputTokens: 100 };
  const look = tool({ description: "Looks.", inputSchema: jsonSchema({ type: "object", properties: {} }) });

  it("streams and generates: text, calls, reasoning and usage", async () => {
    const { ai } = await served(wire, { events: [...SAID, CALL], finish: "tool_calls", usage: USAGE });
    const options = { ...given, model: ai[name], tools: { look } };
    const stream = streamText(options);
    for await (const part of stream.fullStream) expect(part.type).not.toBe("error");
    for (const reply of [await generateText(options), stream]) {
      expect(await reply.text).toBe("Hello.");
      const call = { toolCallId: "call_1", toolName: "look", input: { at: "sea" } };
      expect(await reply.toolCalls).toMatchObject([call]);
      expect(await reply.finishReason).toBe("tool-calls");
      expect(await reply.usage).toMatchObject({ inputTokens: 147, outputTokens: 30 });
      const isShown = name === "compatible" || name === "responses";
      if (isShown) expect(await reply.reasoningText).toBe("hm");
    }
  });

  it("reports a problem, at once or in the middle of a stream, and does without usage", async () => {
    const { ai, server } = await served(wire, { problem: BROKEN });
    const model = ai[name];
    const failure = await generateText({ ...given, model }).catch((cause: unknown) => cause);
    expect(failure).toBeInstanceOf(APICallError);
    expect(failure).toMatchObject({ statusCode: 502, message: BROKEN.message });
    server.next = { events: [...SAID, { type: "problem", problem: BROKEN }] };
    const errors: unknown[] = [];
    const stream = streamText({ ...given, model, onError: ({ error }) => void errors.push(error) });
    for await (const _ of stream.fullStream);
    expect(errors).toHaveLength(1);
    expect(JSON.stringify(errors[0], Object.getOwnPropertyNames(errors[0]))).toContain(BROKEN.message);
    server.next = { events: SAID };
    expect((await generateText({ ...given, model })).text).toBe("Hello.");
  });
});

const LOOK = { name: "look", parameters: { type: "object", properties: {} } };
const MORE = [CALL, { ...CALL, id: "call_2", arguments: "" }];

describe("OpenAI's client", () => {
  it("reads a chat with our metadata, and usage in a stream only when it asks", async () => {
    const { openai } = await served(chatWire, { events: SAID, usage: USAGE });
    const body = { model: "m", messages: HELLO };
    const message = { role: "assistant", content: "Hello.", reasoning_content: "hm" };
    expect(await openai.chat.completions.create(body)).toMatchObject({
      object: "chat.completion",
      choices: [{ finish_reason: "stop", message }],
      usage: { prompt_tokens: 147, completion_tokens: 30, prompt_tokens_details: { cached_tokens: 40 } },
      hermes: { session_id: METADATA.sessionId, notices: METADATA.notices, compacted_from: "s-0" },
    });
    for (const include_usage of [true, false]) {
      const options = { ...body, stream: true as const, stream_options: { include_usage } };
      const chunks = [];
      for await (const chunk of await openai.chat.completions.create(options)) chunks.push(chunk);
      expect(chunks[0]?.choices[0]?.delta.role).toBe("assistant");
      expect(chunks.filter(({ usage }) => usage)).toHaveLength(include_usage ? 1 : 0);
      expect(chunks.at(-1)?.usage?.total_tokens).toBe(include_usage ? 177 : undefined);
      expect(chunks.find((chunk) => "hermes" in chunk)?.choices[0]?.finish_reason).toBe("stop");
    }
  });

  it("puts streamed calls of a chat together", async () => {
    const { openai } = await served(chatWire, { events: MORE, finish: "tool_calls" });
    const tools = [{ type: "function" as const, function: LOOK }];
    const stream = openai.chat.completions.stream({ model: "m", messages: HELLO, tools });
    const calls = (await stream.finalChatCompletion()).choices[0]?.message.tool_calls;
    expect(calls).toMatchObject([
      { id: "call_1", function: { arguments: CALL.arguments } },
      { id: "call_2", function: { arguments: "{}" } },
    ]);
  });

  it("reads the events of a response in their order, and sends its items back", async () => {
    const events = [...SAID, ...MORE, { type: "ping" as const }, { type: "text" as const, text: "More." }];
    const { openai, server } = await served(responsesWire, { events, finish: "tool_calls", usage: USAGE });
    const tools = [{ type: "function" as const, ...LOOK, strict: false }];
    const stream = openai.responses.stream({ model: "m", input: "hello", tools });
    const seen: { type: string; sequence_number: number }[] = [];
    for await (const event of stream) seen.push(event);
    expect(seen.map(({ sequence_number: number }) => number)).toEqual(seen.map((_, index) => index));
    const item = (...names: string[]) => ["output_item.added", ...names, "output_item.done"];
    const text = item(
      ...["content_part.added", "output_text.delta", "output_text.done", "content_part.done"],
    );
    const call = item("function_call_arguments.delta", "function_call_arguments.done");
    const thought = ["part.added", "text.delta", "text.done", "part.done"].map(
      (each) => `reasoning_summary_${each}`,
    );
    expect(seen.map(({ type }) => type.replace("response.", ""))).toEqual([
      ...["created", "in_progress", ...item(...thought), ...text, ...call, ...call, ...text, "completed"],
    ]);
    const reply = await stream.finalResponse();
    expect(reply).toMatchObject({
      status: "completed",
      output_text: "Hello.More.",
      usage: { input_tokens: 147, total_tokens: 177, input_tokens_details: { cached_tokens: 40 } },
      hermes: { session_id: "s-1" },
    });
    const result = { type: "function_call_output" as const, call_id: "call_1", output: "a crane" };
    const input = [
      ...HELLO,
      ...(JSON.parse(JSON.stringify(reply.output)) as OpenAI.Responses.ResponseInput),
      result,
    ];
    server.next = { events: SAID, finish: "length" };
    const next = await openai.responses.create({ model: "m", input });
    expect(next).toMatchObject({ status: "incomplete", incomplete_details: { reason: "max_output_tokens" } });
    const sent = server.requests.at(-1)?.messages ?? [];
    expect(sent.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
    expect(sent[1]).toMatchObject({ toolCalls: [{ id: "call_1" }, { id: "call_2" }] });
  });
});

it("Anthropic's client reads a message without thinking, whole and streamed", async () => {
  const events = [
    ...SAID,
    { type: "ping" as const },
    ...MORE,
    { ...CALL, id: "call_3", arguments: "not JSON" },
  ];
  const { anthropic } = await served(messagesWire, { events, finish: "tool_calls", usage: USAGE });
  const tools = [{ name: "look", input_schema: { type: "object" as const } }];
  const body = { model: "m", max_tokens: 100, messages: HELLO, tools };
  const content = [
    { type: "text", text: "Hello." },
    { type: "tool_use", id: "call_1", name: "look", input: { at: "sea" } },
    { type: "tool_use", id: "call_2", input: {} },
    { type: "tool_use", id: "call_3", input: { invalid_arguments: "not JSON" } },
  ];
  const usage = { input_tokens: 100, cache_read_input_tokens: 40, output_tokens: 30 };
  const expected = { stop_reason: "tool_use", content, usage };
  const hermes = { session_id: METADATA.sessionId, notices: METADATA.notices };
  expect(await anthropic.messages.create(body)).toMatchObject({ type: "message", ...expected, hermes });
  const stream = anthropic.messages.stream(body);
  const seen = [];
  for await (const event of stream) seen.push(event);
  expect(await stream.finalMessage()).toMatchObject(expected);
  expect(seen.find(({ type }) => type === "message_delta")).toMatchObject({ hermes });
  expect(seen.at(-1)?.type).toBe("message_stop");
});

it.each([
  [400, OpenAI.BadRequestError, "invalid_request_error", Anthropic.BadRequestError, "invalid_request_error"],
  [
    401,
    OpenAI.AuthenticationError,
    "authentication_error",
    Anthropic.AuthenticationError,
    "authentication_error",
  ],
  [
    403,
    OpenAI.PermissionDeniedError,
    "permission_error",
    Anthropic.PermissionDeniedError,
    "permission_error",
  ],
  [404, OpenAI.NotFoundError, "invalid_request_error", Anthropic.NotFoundError, "not_found_error"],
  [413, OpenAI.APIError, "invalid_request_error", Anthropic.APIError, "request_too_large"],
  [429, OpenAI.RateLimitError, "rate_limit_error", Anthropic.RateLimitError, "rate_limit_error"],
  [503, OpenAI.InternalServerError, "server_error", Anthropic.APIError, "overloaded_error"],
] as const)("status %i is each vendor's exception", async (status, openAiClass, openAiType, theirs, type) => {
  const problem = { status, code: "some-code", message: "It went wrong.", hint: "Try again.", param: "x" };
  const chat = await served(chatWire, { problem });
  const ofOpenAi = await chat.openai.chat.completions
    .create({ model: "m", messages: HELLO })
    .catch((cause: unknown) => cause);
  expect(ofOpenAi).toBeInstanceOf(openAiClass);
  expect(ofOpenAi).toMatchObject({ status, type: openAiType, code: "some-code", param: "x" });
  expect((ofOpenAi as Error).message).toContain("It went wrong. Try again.");
  expect(openAiProblem(problem)).toMatchObject({ error: { type: openAiType } });
  const messages = await served(messagesWire, { problem });
  const ofAnthropic = await messages.anthropic.messages
    .create({ model: "m", max_tokens: 9, messages: HELLO })
    .catch((cause: unknown) => cause);
  expect(ofAnthropic).toBeInstanceOf(theirs);
  expect(anthropicProblem(problem)).toMatchObject({
    error: { type, message: "x: It went wrong. Try again." },
  });
});
