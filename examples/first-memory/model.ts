// The model: a real one if OPENAI_API_KEY is set, otherwise one that repeats what it was sent, so that the example runs without an account.
import { openai } from "@ai-sdk/openai";
import { MockLanguageModelV4 } from "ai/test";

const count = { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 };
const usage = { inputTokens: count, outputTokens: { total: 0, text: 0, reasoning: 0 } };

const parrot = new MockLanguageModelV4({
  doGenerate: async ({ prompt }) => {
    const said = prompt.flatMap(({ role, content }) =>
      role === "user" ? content.flatMap((part) => (part.type === "text" ? [part.text] : [])) : [],
    );
    const text = `So far you said: ${said.join(" / ")}`;
    return {
      content: [{ type: "text", text }],
      finishReason: { unified: "stop", raw: "stop" },
      usage,
      warnings: [],
    };
  },
});

export const model = process.env.OPENAI_API_KEY ? openai("gpt-5-mini") : parrot;
