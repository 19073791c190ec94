// Peculiarities of servers with OpenAI's chat protocol: markers in the body, OpenRouter's details, reasoning in the text, calls
// without ids.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { applyPromptCaching } from "@hermes-memory/core/internal/context";
import { describe, expect, it, onTestFinished } from "vitest";
import { openModel } from "../../../src/models/index.ts";
import { sseServer } from "../../fakes/sse-server.ts";
import { chatRow, message } from "../../messages.ts";
import { ASKED, chosenFor, ear, failureOf, replyOf, wireModel } from "./over-http.ts";

const MARKER = { type: "ephemeral" };

function chunk(delta: object, finish: string | null = null): object {
  return { id: "c1", model: "served-model", choices: [{ index: 0, delta, finish_reason: finish }] };
}

const END = chunk({}, "stop");

describe("cache markers", () => {
  it("are put into the finished body of a chat request", async () => {
    const { wire, model } = await wireModel("chat", [{ text: "ok" }]);
    await replyOf(model, { ...ASKED, markBody: (body) => applyPromptCaching(body) });
    const text = (content: string) => [{ type: "text", text: content, cache_control: MARKER }];
    expect(wire.requests[0]?.body.messages).toEqual([
      { role: "system", content: text("Be brief.") },
      { role: "user", content: text("How high is the crane?") },
    ]);
    expect(wire.wireMessages(0)).toMatchObject([{ role: "user", content: "How high is the crane?" }]);
  });
});

it("keeps nothing at OpenAI, and asks for reasoning it can send again where the model reasons", async () => {
  const { wire, model } = await wireModel("responses", [{ text: "ok" }]);
  await replyOf(model);
  expect(wire.requests[0]?.body).toMatchObject({ store: false, include: ["reasoning.encrypted_content"] });
  const plain = await wireModel("responses", [{ text: "ok" }], { chosen: { model: "gpt-4.1" } });
  await replyOf(plain.model);
  expect(plain.wire.requests[0]?.body).toMatchObject({ store: false });
  expect(plain.wire.requests[0]?.body).not.toHaveProperty("include");
});

describe("OpenRouter", () => {
  const pieces = [
    { type: "reasoning.text", text: "It has ", format: "anthropic-claude-v1", index: 0 },
    { type: "reasoning.text", text: "ten floors.", format: "anthropic-claude-v1", index: 0 },
    { type: "reasoning.text", signature: "c2ln", format: "anthropic-claude-v1", index: 0 },
    { type: "reasoning.encrypted", data: "b3BhcXVl", id: "rs_1", format: "openai-responses-v1", index: 1 },
  ];
  const details = [
    {
      type: "reasoning.text",
      text: "It has ten floors.",
      format: "anthropic-claude-v1",
      index: 0,
      signature: "c2ln",
    },
    pieces[3],
  ];
  const usage = {
    prompt_tokens: 100,
    completion_tokens: 9,
    prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 },
  };
  const script = [
    ...pieces.map((entry) =>
      chunk({ reasoning: "text" in entry ? entry.text : "", reasoning_details: [entry] }),
    ),
    chunk({ content: "Forty metres." }),
    END,
    { id: "c1", model: "served-model", choices: [], usage },
  ];

  it("gets its reasoning details back as it sent them, and tells cache writes", async () => {
    const server = await sseServer([script, script]);
    const chosen = chosenFor("chat", server.url, {
      provider: "openrouter",
      model: "anthropic/claude-sonnet-4.5",
    });
    const model = await openModel(chosen);
    const first = await replyOf(model);
    expect(chatRow(first.message)).toEqual({
      role: "assistant",
      content: "Forty metres.",
      reasoning: "It has ten floors.",
      reasoning_details: details,
    });
    expect(first.usage).toEqual({ input: 10, cacheRead: 60, cacheWrite: 30, output: 9, reasoning: 0 });
    expect(first.model).toBe("served-model");
    await replyOf(model, {
      messages: [...ASKED.messages, first.message, message({ role: "user", content: "Sure?" })],
    });
    const [, second] = server.bodies as { messages: unknown[]; usage: unknown }[];
    expect(second?.messages[2]).toEqual({
      role: "assistant",
      content: "Forty metres.",
      reasoning_details: details,
    });
    expect(second?.usage).toEqual({ include: true });
  });
});

describe("thoughts of a chat server", () => {
  it("are taken out of the text, whatever the pieces", async () => {
    const text = "<think>\nTen floors.\n</think>\n\nForty metres.";
    const { model } = await wireModel("chat", [{ text, chunkChars: 1 }]);
    const heard = ear();
    const reply = await replyOf(model, { ...ASKED, onDelta: heard.onDelta });
    expect(chatRow(reply.message)).toEqual({
      role: "assistant",
      content: "Forty metres.",
      reasoning: "Ten floors.",
    });
    expect(heard.text()).toBe("Forty metres.");
    expect(heard.reasoning()).toContain("Ten floors.");
  });
});

describe("odd chat servers", () => {
  it("that give no ids to calls get the same ones each time", async () => {
    const call = { index: 0, function: { name: "measure", arguments: '{"thing":"crane"}' } };
    const script = [chunk({ tool_calls: [call] }), END];
    const server = await sseServer([script, script]);
    const model = await openModel(chosenFor("chat", server.url));
    const [first, second] = [await replyOf(model), await replyOf(model)];
    expect(first.finishReason).toBe("tool_calls");
    expect(chatRow(first.message).tool_calls).toEqual([
      {
        id: expect.stringMatching(/^call_[0-9a-f]{12}$/),
        call_id: first.message.toolCalls[0]?.id,
        type: "function",
        function: { name: "measure", arguments: '{"thing":"crane"}' },
      },
    ]);
    expect(chatRow(second.message)).toEqual(chatRow(first.message));
  });

  it("that stop without a reason and without `[DONE]` have given no answer", async () => {
    const server = await sseServer([[chunk({ content: "Forty" })], []], { end: "" });
    const model = await openModel(chosenFor("chat", server.url));
    expect(await failureOf(model)).toMatchObject({ kind: "connection", partialText: "Forty" });
    expect(await failureOf(model)).toMatchObject({ kind: "invalid_response", partialText: "" });
  });

  it.each(["data: [DONE]\n\n", "data: [DONE]"])(
    "that keep the connection open behind %j have answered",
    async (end) => {
      const closed = Promise.withResolvers<void>();
      const http = createServer((_request, response) => {
        response.on("close", closed.resolve);
        response.writeHead(200, { "content-type": "text/event-stream" });
        for (const event of [chunk({ content: "Forty" }), END])
          response.write(`data: ${JSON.stringify(event)}\n\n`);
        response.write(end);
      });
      await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
      onTestFinished(() => void http.close());
      const { port } = http.address() as AddressInfo;
      const reply = await replyOf(await openModel(chosenFor("chat", `http://127.0.0.1:${port}/v1`)));
      expect(reply).toMatchObject({ finishReason: "stop", message: { content: "Forty" } });
      await closed.promise;
    },
  );

  describe.each(["custom", "openai"])("that end with `[DONE]` and no reason (%s)", (provider) => {
    const call = { index: 0, id: "call_1", type: "function", function: { name: "todo", arguments: "{}" } };
    const opened = async (events: readonly object[], end?: string) => {
      const { url } = await sseServer([events], { end });
      return openModel(chosenFor("chat", url, { provider }));
    };

    it.each(["data: [DONE]\n\n", "data:[DONE]\r\n\r\n", "data: [DONE]"])(
      "have answered when there is text (%j)",
      async (end) => {
        const reply = await replyOf(await opened([chunk({ content: "Forty" })], end));
        expect(reply).toMatchObject({ finishReason: "stop", message: { content: "Forty" } });
      },
    );

    it("have called a tool when there is a call", async () => {
      const reply = await replyOf(await opened([chunk({ tool_calls: [call] })]));
      expect(reply).toMatchObject({
        finishReason: "tool_calls",
        message: { toolCalls: [{ id: "call_1", name: "todo", arguments: "{}" }] },
      });
    });

    it("have given no answer when there is neither", async () => {
      for (const events of [[], [chunk({ content: " \n" })], [chunk({ reasoning_content: "Hm." })]])
        expect(await failureOf(await opened(events))).toMatchObject({ isRetryable: true });
    });
  });
});
