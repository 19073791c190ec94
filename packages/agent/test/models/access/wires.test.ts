// One request over each wire, with the vendors' real SDKs and real sockets.
import type { ToolDefinition } from "@hermes-memory/core/internal/tools";
import { describe, expect, it } from "vitest";

import { message } from "../../messages.ts";
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
