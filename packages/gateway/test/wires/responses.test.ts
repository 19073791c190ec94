// OpenAI's responses wire against OpenAI's own client and the AI SDK. Bodies are hand-written after the API reference and the clients' types.
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, jsonSchema, type ModelMessage, streamText, tool } from "ai";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { responsesWire } from "../../src/wires/responses.ts";
import { attempt } from "../attempt.ts";
import { METADATA, requestOf, serveWire, USAGE, type WireServer } from "./wire-server.ts";

const CALL = { type: "tool-call" as const, id: "call_1", name: "look", arguments: '{"at":"sea"}' };
const LOOK = {
  type: "function" as const,
  name: "look",
  description: "Looks.",
  parameters: { type: "object", properties: {} },
  strict: false,
};

describe("a responses request", () => {
  const parse = (body: object) => attempt(() => responsesWire.parse({ model: "m", input: "hello", ...body }));
  const read = (body: object) => requestOf(responsesWire, { model: "m", input: "hello", ...body });

  it("may be a text with instructions", () => {
    expect(read({ instructions: "Be kind." })).toMatchObject({
      system: "Be kind.",
      messages: [{ role: "user", content: "hello" }],
    });
  });

  it("has the items of one reply in one message, with what the vendor needs to go on", () => {
    const { system, messages, unsupported } = read({
      instructions: "Be kind.",
      input: [
        { type: "message", role: "developer", content: [{ type: "input_text", text: "Be brief." }] },
        {
          role: "user",
          content: [
            { type: "input_text", text: "look" },
            { type: "input_image", image_url: "https://example.org/a.png", detail: "low" },
          ],
        },
        {
          type: "reasoning",
          id: "rs_1",
          summary: [{ type: "summary_text", text: "I look." }],
          encrypted_content: "secret",
        },
        {
          type: "message",
          role: "assistant",
          id: "msg_1",
          status: "completed",
          phase: "commentary",
          content: [{ type: "output_text", text: "Looking.", annotations: [], logprobs: [] }],
        },
        {
          type: "function_call",
          id: "fc_1",
          call_id: "call_1",
          name: "look",
          arguments: "{ }",
          status: "completed",
        },
        { type: "function_call_output", call_id: "call_1", output: "a crane" },
        { role: "assistant", content: "A crane." },
        { role: "user", content: "thanks" },
      ],
    });
    expect(system).toBe("Be kind.\n\nBe brief.");
    expect(unsupported).toEqual([]);
    expect(messages).toMatchObject([
      {
        role: "user",
        content: [
          { type: "text", text: "look" },
          { type: "image", url: "https://example.org/a.png", vendor: { image_url: { detail: "low" } } },
        ],
      },
      {
        role: "assistant",
        content: "Looking.",
        toolCalls: [
          {
            id: "call_1",
            name: "look",
            arguments: "{ }",
            vendor: { call_id: "call_1", response_item_id: "fc_1" },
          },
        ],
        vendor: {
          reasoning: "I look.",
          codex_reasoning_items: [{ type: "reasoning", id: "rs_1", encrypted_content: "secret" }],
          codex_message_items: [{ id: "msg_1", phase: "commentary" }],
        },
      },
      { role: "tool", toolCallId: "call_1", content: "a crane" },
      { role: "assistant", content: "A crane." },
      { role: "user", content: "thanks" },
    ]);
  });

  it("keeps calls of custom tools and shells, and says that they would be lost", () => {
    const { messages, unsupported } = read({
      tools: [{ type: "custom", name: "apply_patch" }, { type: "web_search" }, LOOK],
      input: [
        { role: "user", content: "patch it" },
        { type: "custom_tool_call", call_id: "call_1", name: "apply_patch", input: "*** Begin" },
        {
          type: "local_shell_call",
          id: "ls_1",
          call_id: "call_2",
          action: { type: "exec", command: ["ls"] },
        },
        { type: "custom_tool_call_output", call_id: "call_1", output: "done" },
        { type: "local_shell_call_output", id: "call_2", output: "a.txt" },
        { type: "web_search_call", id: "ws_1", status: "completed" },
      ],
    });
    expect(messages).toMatchObject([
      { role: "user" },
      {
        role: "assistant",
        toolCalls: [
          { id: "call_1", name: "apply_patch", arguments: '{"input":"*** Begin"}' },
          { id: "call_2", name: "local_shell" },
        ],
      },
      { role: "tool", toolCallId: "call_1", content: "done" },
      { role: "tool", toolCallId: "call_2", content: "a.txt" },
    ]);
    expect(unsupported).toEqual([
      "tools.custom",
      "tools.web_search",
      "input.custom_tool_call",
      "input.local_shell_call",
      "input.custom_tool_call_output",
      "input.local_shell_call_output",
      "input.web_search_call",
    ]);
  });

  it("that refers to items of a reply goes on from that reply", () => {
    const id = responsesWire.newReplyId();
    const tag = id.slice("resp_".length);
    const { messages, ids, unsupported } = read({
      input: [
        { role: "user", content: "look" },
        { type: "item_reference", id: `msg_${tag}_0` },
        { type: "function_call", call_id: "call_1", name: "look", arguments: "{}" },
        { type: "function_call_output", call_id: "call_1", output: "a crane" },
      ],
    });
    expect(ids.previousResponseId).toBe(id);
    expect(messages).toMatchObject([{ role: "tool", toolCallId: "call_1" }]);
    expect(messages).toHaveLength(1);
    expect(unsupported).toEqual([]);
    const foreign = read({ input: [{ id: "msg_0123" }, { role: "user", content: "thanks" }] });
    expect(foreign).toMatchObject({
      ids: { previousResponseId: "msg_0123" },
      messages: [{ role: "user", content: "thanks" }],
      unsupported: ["input.item_reference"],
    });
  });

  it("has its ids", () => {
    expect(
      read({
        user: "u",
        conversation: { id: "conv_1" },
        previous_response_id: "resp_1",
        prompt_cache_key: "k",
        litellm_session_id: "l",
      }).ids,
    ).toEqual({
      user: "u",
      conversation: "conv_1",
      previousResponseId: "resp_1",
      promptCacheKey: "k",
      litellmSessionId: "l",
    });
  });

  it.each([
    ["input", { input: undefined }],
    ["input", { input: [] }],
    ["input", { input: { role: "user" } }],
    ["input[0]", { input: ["secret"] }],
    ["input[0].role", { input: [{ role: "robot", content: "secret" }] }],
    ["input[0].content", { input: [{ role: "user", content: { secret: true } }] }],
    ["input[0].content", { input: [{ role: "assistant", content: 5 }] }],
    ["input[0].call_id", { input: [{ type: "function_call", name: "look" }] }],
    ["input[0].call_id", { input: [{ type: "function_call_output", output: "secret" }] }],
    ["input[0].id", { input: [{ type: "item_reference" }] }],
    ["input[0].type", { input: [{ type: 5 }] }],
    ["instructions", { instructions: 5 }],
    ["tools[0].name", { tools: [{ type: "function" }] }],
    ["tool_choice", { tool_choice: "any" }],
    ["conversation.id", { conversation: {} }],
    ["max_output_tokens", { max_output_tokens: 1.5 }],
  ])("with a wrong field is refused by the name %s", (param, body) => {
    const parsed = parse(body);
    expect(parsed).toMatchObject({ ok: false, error: { status: 400, param } });
    expect(JSON.stringify(parsed)).not.toContain("secret");
  });

  it.each([
    [
      [],
      {
        store: true,
        reasoning: { effort: "high" },
        include: ["reasoning.encrypted_content"],
        text: { verbosity: "low" },
      },
    ],
    [["text.format"], { text: { format: { type: "json_schema", name: "x", schema: {} } } }],
    [["background"], { background: true }],
    [["prompt"], { prompt: { id: "pmpt_1" } }],
    [["tool_choice"], { tools: [LOOK], tool_choice: { type: "function", name: "look" } }],
    [["include.logprobs"], { include: ["message.output_text.logprobs"] }],
    [["input.input_file"], { input: [{ role: "user", content: [{ type: "input_file", file_id: "f" }] }] }],
  ])("says that %j would be lost on another wire", (names, body) => {
    expect(read(body).unsupported).toEqual(names);
  });
});

describe("OpenAI's client", () => {
  let server: WireServer;
  let client: OpenAI;
  beforeAll(async () => {
    server = await serveWire(responsesWire, { events: [] });
    client = new OpenAI({ apiKey: "k", baseURL: `${server.url}/v1`, maxRetries: 0 });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it("reads a whole reply, and sends its items back", async () => {
    server.next = {
      events: [{ type: "reasoning", text: "hm" }, { type: "text", text: "Hello." }, CALL],
      finish: "tool_calls",
      usage: USAGE,
    };
    const reply = await client.responses.create({ model: "m", input: "hello", tools: [LOOK] });
    expect(reply.output_text).toBe("Hello.");
    expect(reply).toMatchObject({
      object: "response",
      status: "completed",
      error: null,
      output: [
        { type: "reasoning", summary: [{ type: "summary_text", text: "hm" }] },
        { type: "message", content: [{ type: "output_text", text: "Hello." }] },
        { type: "function_call", call_id: "call_1", name: "look", arguments: CALL.arguments },
      ],
      usage: {
        input_tokens: 147,
        input_tokens_details: { cached_tokens: 40 },
        output_tokens: 30,
        output_tokens_details: { reasoning_tokens: 12 },
        total_tokens: 177,
      },
      hermes: { session_id: METADATA.sessionId },
    });
    await client.responses.create({
      model: "m",
      input: [
        { role: "user", content: "hello" },
        ...(reply.output as OpenAI.Responses.ResponseInput),
        { type: "function_call_output", call_id: "call_1", output: "a crane" },
      ],
    });
    expect(server.requests.at(-1)?.messages).toMatchObject([
      { role: "user", content: "hello" },
      { role: "assistant", content: "Hello.", toolCalls: [{ id: "call_1" }] },
      { role: "tool", toolCallId: "call_1" },
    ]);
  });

  it("streams events in order, and puts them together", async () => {
    server.next = {
      events: [
        { type: "reasoning", text: "h" },
        { type: "reasoning", text: "m" },
        { type: "ping" },
        { type: "text", text: "Hel" },
        { type: "text", text: "lo." },
        CALL,
        { ...CALL, id: "call_2", arguments: "" },
        { type: "text", text: "More." },
      ],
      finish: "tool_calls",
      usage: USAGE,
    };
    const stream = client.responses.stream({ model: "m", input: "hello", tools: [LOOK] });
    const events: { type: string; sequence_number: number }[] = [];
    for await (const event of stream) events.push(event);
    expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, index) => index));
    expect(events.map(({ type }) => type.replace("response.", ""))).toEqual([
      ...["created", "in_progress"],
      ...["output_item.added", "reasoning_summary_part.added"],
      ...["reasoning_summary_text.delta", "reasoning_summary_text.delta", "reasoning_summary_text.done"],
      ...["reasoning_summary_part.done", "output_item.done"],
      ...["output_item.added", "content_part.added", "output_text.delta", "output_text.delta"],
      ...["output_text.done", "content_part.done", "output_item.done"],
      ...[
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
      ],
      ...[
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
      ],
      ...["output_item.added", "content_part.added", "output_text.delta"],
      ...["output_text.done", "content_part.done", "output_item.done"],
      "completed",
    ]);
    const reply = await stream.finalResponse();
    expect(reply.output_text).toBe("Hello.More.");
    expect(reply).toMatchObject({
      status: "completed",
      usage: { total_tokens: 177 },
      hermes: { session_id: "s-1" },
    });
    expect(reply.output.map(({ type }) => type)).toEqual([
      "reasoning",
      "message",
      "function_call",
      "function_call",
      "message",
    ]);
  });

  it("sees that a reply is not whole", async () => {
    server.next = { events: [{ type: "text", text: "Hel" }], finish: "length" };
    const reply = await client.responses.stream({ model: "m", input: "hello" }).finalResponse();
    expect(reply).toMatchObject({
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
    });
  });

  it("throws a problem, also in the middle of a stream", async () => {
    server.next = { problem: { status: 429, code: "too-many", message: "Too many requests." } };
    const failure = await client.responses.create({ model: "m", input: "hello" }).catch((cause) => cause);
    expect(failure).toBeInstanceOf(OpenAI.RateLimitError);
    server.next = {
      events: [
        { type: "text", text: "Hel" },
        { type: "problem", problem: { status: 502, code: "model-failed", message: "The model broke off." } },
      ],
    };
    const stream = await client.responses.create({ model: "m", input: "hello", stream: true });
    let text = "";
    const read = async () => {
      for await (const event of stream) if (event.type === "response.output_text.delta") text += event.delta;
    };
    await expect(read()).rejects.toThrow("The model broke off.");
    expect(text).toBe("Hel");
  });
});

describe("the AI SDK", () => {
  const tools = {
    look: tool({ description: "Looks.", inputSchema: jsonSchema({ type: "object", properties: {} }) }),
  };

  it("does without usage", async () => {
    await using server = await serveWire(responsesWire, { events: [{ type: "text", text: "Hello." }] });
    const given = {
      model: createOpenAI({ apiKey: "k", baseURL: `${server.url}/v1` }).responses("gpt-5"),
      prompt: "hello",
      maxRetries: 0,
    };
    const stream = streamText(given);
    expect([(await generateText(given)).text, await stream.text]).toEqual(["Hello.", "Hello."]);
  });

  it("streams and generates, and goes on from a reply by its id", async () => {
    await using server = await serveWire(responsesWire, {
      events: [{ type: "reasoning", text: "hm" }, { type: "text", text: "Hello." }, CALL],
      finish: "tool_calls",
      usage: USAGE,
    });
    const model = createOpenAI({ apiKey: "k", baseURL: `${server.url}/v1` }).responses("gpt-5");
    const messages: ModelMessage[] = [{ role: "user", content: "hello" }];
    const given = { model, tools, messages, maxRetries: 0 };
    const stream = streamText(given);
    const parts = [];
    for await (const part of stream.fullStream) parts.push(part.type);
    expect(parts).not.toContain("error");
    for (const reply of [await generateText(given), stream]) {
      expect(await reply.text).toBe("Hello.");
      expect(await reply.reasoningText).toBe("hm");
      expect(await reply.toolCalls).toMatchObject([
        { toolCallId: "call_1", toolName: "look", input: { at: "sea" } },
      ]);
      expect(await reply.finishReason).toBe("tool-calls");
      expect(await reply.usage).toMatchObject({ inputTokens: 147, outputTokens: 30 });
    }
    const said = (await stream.response).messages;
    const result = { type: "text" as const, value: "a crane" };
    await generateText({
      ...given,
      messages: [
        ...messages,
        ...said,
        {
          role: "tool",
          content: [{ type: "tool-result", toolCallId: "call_1", toolName: "look", output: result }],
        },
      ],
    });
    const last = server.requests.at(-1);
    expect(last?.messages).toMatchObject([{ role: "tool", toolCallId: "call_1", content: "a crane" }]);
    expect(last?.ids.previousResponseId).toMatch(/^resp_hm[0-9a-f]{32}$/);
    expect(last?.unsupported).toEqual([]);
  });

  it("reports a problem in the middle of a stream once", async () => {
    await using server = await serveWire(responsesWire, {
      events: [
        { type: "text", text: "Hel" },
        { type: "problem", problem: { status: 502, code: "model-failed", message: "The model broke off." } },
      ],
    });
    const model = createOpenAI({ apiKey: "k", baseURL: `${server.url}/v1` }).responses("gpt-5");
    const errors: unknown[] = [];
    const onError = ({ error }: { error: unknown }) => void errors.push(error);
    const stream = streamText({ model, prompt: "hello", maxRetries: 0, onError });
    for await (const _ of stream.fullStream);
    expect(errors).toHaveLength(1);
    expect(String((errors[0] as Error).message)).toContain("The model broke off.");
  });
});
