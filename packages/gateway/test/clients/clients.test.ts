// The official clients against the gateway, each in both modes: text, streaming, usage, and the session in a header.
import { generateText, streamText } from "ai";
import { describe, expect, it } from "vitest";
import { all, clientHome, MODES } from "./client-home.ts";

const REPLY = { text: "The kiln is in room 4.", usage: { input: 90, output: 9, cacheRead: 30 } };

describe.each(MODES)("in %s mode", (mode) => {
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
