import { describe, expect, it } from "vitest";
import { chatWire } from "../../src/wires/chat.ts";
import { attempt } from "../attempt.ts";
import { requestOf } from "./wire-server.ts";

const HELLO = [{ role: "user" as const, content: "hello" }];
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
