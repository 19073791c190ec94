// The model: a real one if OPENAI_API_KEY is set, otherwise one that repeats what it was sent, so that the example runs without an account.
import { openai } from "@ai-sdk/openai";
import { simulateReadableStream } from "ai";
import { MockLanguageModelV4 } from "ai/test";

export const model = process.env.OPENAI_API_KEY ? openai("gpt-5-mini") : parrot();

function parrot() {
  const count = { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 };
  const usage = { inputTokens: count, outputTokens: { total: 0, text: 0, reasoning: 0 } };
  const finishReason = { unified: "stop", raw: "stop" } as const;
  const reply = (prompt: readonly { role: string; content: unknown }[]) => {
    const said = prompt.filter(({ role }) => role === "user").length;
    return `Message ${said} of this chat. I was told: ${JSON.stringify(prompt)}`;
  };
  return new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => ({
      content: [{ type: "text", text: reply(prompt) }],
      finishReason,
      usage,
      warnings: [],
    }),
    doStream: async ({ prompt }) => ({
      stream: simulateReadableStream({
        chunks: [
          { type: "stream-start", warnings: [] },
          { type: "text-start", id: "1" },
          { type: "text-delta", id: "1", delta: reply(prompt) },
          { type: "text-end", id: "1" },
          { type: "finish", finishReason, usage },
        ],
      }),
    }),
  });
}
