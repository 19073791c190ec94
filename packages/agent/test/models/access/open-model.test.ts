// Model objects of the AI SDK that a program passes in.
import { createAnthropic } from "@ai-sdk/anthropic";
import { describe, expect, it } from "vitest";
import { fromSdkModel } from "../../../src/models/index.ts";
import { startWire } from "../../fakes/wires/wire-in-test.ts";
import { messages } from "../../messages.ts";
import { ASKED, failureOf, replyOf } from "./over-http.ts";

const TOOL = { name: "measure", description: "Measures.", parameters: { type: "object", properties: {} } };

describe("a model object of the AI SDK", () => {
  it("works like one that we opened, signatures included", async () => {
    const steps = [
      {
        text: "I look.",
        reasoning: "Hm.",
        signature: "c2ln",
        toolCalls: [{ name: "measure", arguments: {} }],
      },
    ];
    const wire = await startWire("anthropic", [...steps, { text: "ok" }]);
    const model = await fromSdkModel(createAnthropic({ baseURL: wire.url, apiKey: "k" })("claude-x"));
    expect(model.identity).toEqual({
      model: "claude-x",
      provider: "anthropic",
      apiMode: "anthropic_messages",
      baseUrl: "",
    });
    const { message } = await replyOf(model, { ...ASKED, tools: [TOOL] });
    expect(message.vendor?.reasoning_details).toEqual([
      { type: "thinking", thinking: "Hm.", signature: "c2ln" },
    ]);
    const id = message.toolCalls[0]?.id;
    await replyOf(model, {
      messages: [
        ...ASKED.messages,
        message,
        ...messages({ role: "tool", tool_call_id: id, content: "40 m" }),
      ],
      tools: [TOOL],
    });
    expect(wire.requests[1]?.raw).toContain('"signature":"c2ln"');
    expect(wire.requests[1]?.raw).toContain('"input":{}');
  });

  it("that ignores the signal is left behind", async () => {
    const cancelled = Promise.withResolvers<void>();
    const stream = new ReadableStream({ cancel: () => cancelled.resolve() });
    const stubborn = {
      specificationVersion: "v4",
      provider: "mine",
      modelId: "m",
      doStream: async () => ({ stream }),
    };
    const model = await fromSdkModel(stubborn);
    expect(await failureOf(model, { ...ASKED, staleAfterMs: 30 })).toMatchObject({ kind: "stalled" });
    await cancelled.promise;
  });

  it("that throws has failed, not the caller", async () => {
    const broken = {
      specificationVersion: "v4",
      provider: "mine",
      modelId: "m",
      doStream: () => Promise.reject(new Error("out of order")),
    };
    expect((await failureOf(await fromSdkModel(broken))).message).toContain("out of order");
  });

  it.each([
    ["a name", "openai/gpt-x"],
    ["nothing", undefined],
    ["an object", {}],
    ["an old one", { specificationVersion: "v1", doStream() {} }],
  ])("is refused when it is %s", async (_, given) => {
    await expect(fromSdkModel(given)).rejects.toMatchObject({
      code: "bad-model",
      hint: expect.stringContaining("v4"),
    });
  });
});
