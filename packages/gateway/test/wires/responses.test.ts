import { describe, expect, it } from "vitest";
import { responsesWire } from "../../src/wires/responses.ts";
import { attempt } from "../attempt.ts";
import { requestOf } from "./wire-server.ts";

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
