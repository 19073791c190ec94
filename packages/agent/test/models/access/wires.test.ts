// One request over each wire, with the vendors' real SDKs and real sockets.
import type { ToolDefinition } from "@hermes-memory/core/internal/tools";
import { describe, expect, it } from "vitest";

import { type ChatRow, chatRow, message } from "../../messages.ts";
import { ASKED, ear, failureOf, KEY, KINDS, replyOf, wireModel } from "./over-http.ts";

const TOOL: ToolDefinition = {
  name: "measure",
  description: "Measures a thing.",
  parameters: { type: "object", properties: { thing: { type: "string" } }, required: ["thing"] },
};

const USAGE = { input: 100, output: 20, cacheRead: 40, reasoning: 5 };

/** The messages after the system prompt, as one text. */
function sent(messages: readonly unknown[]): string {
  return JSON.stringify(messages);
}

describe.each(KINDS)("a model on the %s wire", (kind) => {
  it("streams text and reasoning and says what it used", async () => {
    const { wire, model } = await wireModel(kind, [
      {
        text: "Forty metres, ünïcode 🏗 too.",
        reasoning: "It has ten floors.",
        usage: USAGE,
        splitBytes: true,
      },
    ]);
    const heard = ear();
    const reply = await replyOf(model, { ...ASKED, onDelta: heard.onDelta });
    expect(reply.message).toMatchObject({ role: "assistant", content: "Forty metres, ünïcode 🏗 too." });
    expect(reply.message.vendor?.reasoning).toBe("It has ten floors.");
    expect(heard.text()).toBe(reply.message.content);
    expect(heard.reasoning()).toBe("It has ten floors.");
    expect(reply).toMatchObject({ finishReason: "stop", usage: { ...USAGE, cacheWrite: 0 } });
    expect(wire.systemOf(0)).toBe("Be brief.");
    expect(sent(wire.wireMessages(0))).toContain("How high is the crane?");
  });

  it("sends back what it got, thoughts and calls included, and the second request begins with the first", async () => {
    const { wire, model } = await wireModel(kind, [
      {
        text: "I look.",
        reasoning: "Measure it.",
        signature: "c2lnbmVk",
        toolCalls: [{ name: "measure", arguments: { thing: "crane" } }],
      },
      { text: "Forty metres." },
      { text: "As I said." },
    ]);
    const first = await replyOf(model, { ...ASKED, tools: [TOOL] });
    expect(first.finishReason).toBe("tool_calls");
    const [call] = first.message.toolCalls;
    expect(call).toMatchObject({ name: "measure", arguments: expect.any(String) });
    expect(call?.vendor?.call_id).toBe(call?.id);
    const result = message({ role: "tool", tool_call_id: call?.id, name: "measure", content: "40 m" });
    const messages = [...ASKED.messages, first.message, result];
    const second = await replyOf(model, { messages, tools: [TOOL] });
    const later = message({ role: "user", content: "Sure?" });
    await replyOf(model, { messages: [...messages, second.message, later], tools: [TOOL] });

    expect(sent(wire.wireMessages(1))).toContain("40 m");
    expect(sent(wire.wireMessages(1))).toContain("I look.");
    if (kind !== "chat") expect(sent(wire.wireMessages(1))).toContain("c2lnbmVk");
    for (const n of [1, 2]) {
      const before = wire.wireMessages(n - 1);
      expect(wire.wireMessages(n).slice(0, before.length)).toEqual(before);
      expect(wire.systemOf(n)).toBe(wire.systemOf(0));
    }
  });

  it("asks with the same bytes for the same messages, also when they went through storage", async () => {
    const { wire, model } = await wireModel(kind, [
      {
        text: "Done.",
        reasoning: "Hm.",
        toolCalls: [{ name: "measure", arguments: '{"b": 1,  "a":[2]}', id: "call_1" }],
      },
      { text: "One." },
      { text: "Two." },
    ]);
    const { message: said } = await replyOf(model, { ...ASKED, tools: [TOOL] });
    const id = said.toolCalls[0]?.id;
    expect(id).toBe("call_1");
    const messages = [
      ...ASKED.messages,
      said,
      message({ role: "tool", tool_call_id: id, name: "measure", content: "" }),
    ];
    await replyOf(model, { messages, tools: [TOOL] });
    const stored = JSON.parse(JSON.stringify(messages.map(chatRow))).map(({ name: _, ...rest }: ChatRow) =>
      message(rest),
    );
    await replyOf(model, { messages: stored, tools: [TOOL] });
    expect(wire.requests[2]?.raw).toBe(wire.requests[1]?.raw);
  });

  it("replaces arguments that are no JSON object when it sends them back", async () => {
    const { wire, model } = await wireModel(kind, [{ text: "ok" }]);
    const call = {
      id: "call_1",
      type: "function",
      function: { name: "measure", arguments: '{"thing": "cra' },
    };
    const messages = [
      ...ASKED.messages,
      message({ role: "assistant", content: null, tool_calls: [call] }),
      message({ role: "tool", tool_call_id: "call_1", content: "no such thing" }),
    ];
    await replyOf(model, { messages, tools: [TOOL] });
    expect(wire.requests[0]?.raw).not.toContain("cra\\");
    expect(wire.requests[0]?.raw).toMatch(/"(?:arguments":"\{\}"|input":\{\}|args":\{\})/);
  });

  it("says when a reply was cut at its limit or by a filter", async () => {
    const { model } = await wireModel(kind, [
      { text: "Forty", finish: "length" },
      { text: "For", finish: "content_filter" },
      { text: "", finish: "content_filter" },
    ]);
    expect(await replyOf(model, { ...ASKED, maxOutputTokens: 5 })).toMatchObject({ finishReason: "length" });
    expect(await replyOf(model)).toMatchObject({ finishReason: "content_filter" });
    // Google refuses the request with status 200; the others stop their reply.
    if (kind === "google")
      expect(await failureOf(model)).toMatchObject({ kind: "content_policy", isRetryable: false });
    else expect(await replyOf(model)).toMatchObject({ finishReason: "content_filter" });
  });

  it("sends the key in the header and nowhere else", async () => {
    const { wire, model } = await wireModel(kind, [{ text: "ok" }]);
    await replyOf(model);
    const request = wire.requests[0];
    expect(JSON.stringify(request?.headers)).toContain(KEY);
    expect(request?.raw).not.toContain(KEY);
    expect(request?.path).not.toContain(KEY);
  });
});
