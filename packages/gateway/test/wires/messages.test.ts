import { describe, expect, it } from "vitest";
import { messagesWire } from "../../src/wires/messages.ts";
import { attempt } from "../attempt.ts";
import { requestOf } from "./wire-server.ts";

const HELLO = [{ role: "user" as const, content: "hello" }];
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
