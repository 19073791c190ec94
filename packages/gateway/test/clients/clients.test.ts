// The official clients against the gateway, each in both modes: text, streaming, usage, and the session in a header.
import { generateText, streamText } from "ai";
import { describe, expect, it } from "vitest";
import { all, clientHome, MODEL, MODES } from "./client-home.ts";

const REPLY = { text: "The kiln is in room 4.", usage: { input: 90, output: 9, cacheRead: 30 } };

describe.each(MODES)("in %s mode", (mode) => {
  it("the openai client reads chat completions, whole and streamed", async () => {
    const home = await clientHome("chat", [REPLY, REPLY]);
    const client = home.openai({ mode });
    const messages = [{ role: "user" as const, content: "Where is the kiln?" }];
    const { data, response } = await client.chat.completions
      .create({ model: MODEL, messages })
      .withResponse();
    expect(data.choices[0]?.message.content).toBe(REPLY.text);
    expect(data.choices[0]?.finish_reason).toBe("stop");
    expect(data.usage).toMatchObject({
      prompt_tokens: 120,
      completion_tokens: 9,
      total_tokens: 129,
      prompt_tokens_details: { cached_tokens: 30 },
    });
    const session = response.headers.get("x-hermes-session-id") ?? "";
    expect(await home.lines(session)).toEqual(["user: Where is the kiln?", `assistant: ${REPLY.text}`]);

    const stream = client.chat.completions.stream({
      model: MODEL,
      messages,
      stream_options: { include_usage: true },
    });
    const pieces = (await all(stream)).flatMap(({ choices }) => choices[0]?.delta.content ?? []);
    expect(pieces.length).toBeGreaterThan(2);
    expect(pieces.join("")).toBe(REPLY.text);
    expect((await stream.finalChatCompletion()).usage?.prompt_tokens_details?.cached_tokens).toBe(30);
    expect(await home.sessions()).toHaveLength(2);
  });

  it("the openai client reads responses, whole and streamed", async () => {
    const home = await clientHome("responses", [REPLY, REPLY]);
    const client = home.openai({ mode });
    const { data, response } = await client.responses
      .create({ model: MODEL, input: "Where is the kiln?" })
      .withResponse();
    expect(data.output_text).toBe(REPLY.text);
    expect(data.status).toBe("completed");
    expect(data.usage).toMatchObject({
      input_tokens: 120,
      output_tokens: 9,
      input_tokens_details: { cached_tokens: 30 },
    });
    const session = response.headers.get("x-hermes-session-id") ?? "";
    expect(await home.lines(session)).toEqual(["user: Where is the kiln?", `assistant: ${REPLY.text}`]);

    const stream = client.responses.stream({ model: MODEL, input: "Where is the kiln?" });
    const events = await all(stream);
    expect(events.map(({ sequence_number: n }) => n)).toEqual(events.map((_, index) => index));
    const pieces = events.flatMap((event) =>
      event.type === "response.output_text.delta" ? [event.delta] : [],
    );
    expect(pieces.join("")).toBe(REPLY.text);
    expect((await stream.finalResponse()).output_text).toBe(REPLY.text);
  });

  it("the anthropic client reads messages, whole and streamed", async () => {
    const home = await clientHome("anthropic", [REPLY, REPLY]);
    const client = home.anthropic({ mode });
    const body = {
      model: MODEL,
      max_tokens: 100,
      messages: [{ role: "user" as const, content: "Where is the kiln?" }],
    };
    const { data, response } = await client.messages.create(body).withResponse();
    expect(data.content).toMatchObject([{ type: "text", text: REPLY.text }]);
    expect(data.stop_reason).toBe("end_turn");
    expect(data.usage).toMatchObject({ input_tokens: 90, output_tokens: 9, cache_read_input_tokens: 30 });
    const session = response.headers.get("x-hermes-session-id") ?? "";
    expect(await home.lines(session)).toEqual(["user: Where is the kiln?", `assistant: ${REPLY.text}`]);

    const stream = client.messages.stream(body);
    const pieces: string[] = [];
    stream.on("text", (text) => pieces.push(text));
    const message = await stream.finalMessage();
    expect(pieces.join("")).toBe(REPLY.text);
    expect(message.usage).toMatchObject({ input_tokens: 90, output_tokens: 9, cache_read_input_tokens: 30 });
  });

  it.each([
    ["responses", "responses"],
    ["chat", "chat"],
    ["compatible", "chat"],
    ["anthropic", "anthropic"],
  ] as const)("the AI SDK reads %s, whole and streamed", async (provider, kind) => {
    const home = await clientHome(kind, [REPLY, REPLY]);
    const model = home.ai({ mode })[provider];
    const whole = await generateText({ model, prompt: "Where is the kiln?", maxRetries: 0 });
    expect(whole.text).toBe(REPLY.text);
    expect(whole.finishReason).toBe("stop");
    expect(whole.usage).toMatchObject({ inputTokens: 120, outputTokens: 9 });
    expect(whole.usage.inputTokenDetails.cacheReadTokens).toBe(30);
    const session = whole.response.headers?.["x-hermes-session-id"] ?? "";
    expect(await home.lines(session)).toEqual(["user: Where is the kiln?", `assistant: ${REPLY.text}`]);
    const streamed = streamText({ model, prompt: "Where is the kiln?", maxRetries: 0 });
    const pieces = await all(streamed.textStream);
    expect(pieces.length).toBeGreaterThan(1);
    expect(pieces.join("")).toBe(REPLY.text);
    expect((await streamed.usage).inputTokens).toBe(120);
    expect(await streamed.finishReason).toBe("stop");
  });
});
