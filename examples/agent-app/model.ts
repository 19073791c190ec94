// The model: a real one if OPENAI_API_KEY is set, otherwise one that knows when to call the tool, so that the example runs without an account.
import { openai } from "@ai-sdk/openai";
import { simulateReadableStream } from "ai";
import { MockLanguageModelV4 } from "ai/test";

type Prompt = readonly { readonly role: string; readonly content: unknown }[];

const count = { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 };
const usage = { inputTokens: count, outputTokens: { total: 0, text: 0, reasoning: 0 } };

const scripted = new MockLanguageModelV4({
  modelId: "scripted",
  doStream: async ({ prompt }) => {
    const isCall = prompt.at(-1)?.role === "user" && /How warm/.test(textOf(prompt.at(-1)));
    const input = JSON.stringify({ city: "Lisbon" });
    return {
      stream: simulateReadableStream({
        chunks: [
          { type: "stream-start", warnings: [] },
          ...(isCall
            ? [
                {
                  type: "tool-call" as const,
                  toolCallId: `call-${prompt.length}`,
                  toolName: "temperature",
                  input,
                },
              ]
            : [
                { type: "text-start" as const, id: "1" },
                { type: "text-delta" as const, id: "1", delta: answer(prompt) },
                { type: "text-end" as const, id: "1" },
              ]),
          {
            type: "finish",
            finishReason: { unified: isCall ? "tool-calls" : "stop", raw: undefined },
            usage,
          },
        ],
      }),
    };
  },
});

function answer(prompt: Prompt): string {
  if (prompt.at(-1)?.role === "tool")
    return `It is ${/\d+/.exec(textOf(prompt.at(-1)).split("degrees")[1] ?? "")} degrees.`;
  const asked = prompt.filter(({ role }) => role === "user").map((message) => textOf(message));
  return `Before that you asked ${asked.length - 1} time(s): ${asked.slice(0, -1).join(" ")}`;
}

function textOf(message: Prompt[number] | undefined): string {
  const { content } = message ?? {};
  if (!Array.isArray(content)) return String(content);
  return content.map((part) => (part.type === "text" ? part.text : JSON.stringify(part))).join(" ");
}

export const model = process.env.OPENAI_API_KEY ? openai("gpt-5-mini") : scripted;
