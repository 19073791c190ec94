// Chats with the AI SDK 5, 6 and 7: results of generateText and streamText are stored with all their steps, and what `context` gives
// is accepted by each version, in types and at run time.
import * as ai7 from "ai";
import { MockLanguageModelV4, simulateReadableStream } from "ai/test";
import * as ai5 from "ai5";
import { MockLanguageModelV2 } from "ai5/test";
import * as ai6 from "ai6";
import { MockLanguageModelV3 } from "ai6/test";
import { describe, expect, it } from "vitest";
import { type ChatMessage, openMemory } from "../../src/memory/index.ts";
import { textOf } from "../../src/message/index.ts";
import { ana } from "../fakes/opened-memory.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";

const SCHEMAS = [ai5.modelMessageSchema, ai6.modelMessageSchema, ai7.modelMessageSchema];
const SCHEMA = { type: "object", properties: { city: { type: "string" } } } as const;
const CALL = { type: "tool-call", toolCallId: "w1", toolName: "weather", input: '{"city":"Lyon"}' } as const;
const ANSWER = { type: "text", text: "It is sunny in Lyon." } as const;

/** The first reply calls a tool, the second answers. */
function replies(flat: boolean) {
  const usage = flat
    ? { inputTokens: 1, outputTokens: 1, totalTokens: 2 }
    : {
        inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: 1, text: 1, reasoning: 0 },
      };
  const reason = (unified: string) => (flat ? unified : { unified, raw: unified });
  let step = 0;
  const next = () => {
    step += 1;
    return step % 2 === 1
      ? { content: [CALL], finishReason: reason("tool-calls") }
      : { content: [ANSWER], finishReason: reason("stop") };
  };
  return {
    doGenerate: async () => ({ ...next(), usage, warnings: [], response: { id: `r${step}` } }) as never,
    doStream: async () => {
      const { content, finishReason } = next();
      const parts = content.flatMap((part): object[] =>
        part.type === "text"
          ? [
              { type: "text-start", id: "t" },
              { type: "text-delta", id: "t", delta: part.text },
              { type: "text-end", id: "t" },
            ]
          : [part],
      );
      const chunks = [
        { type: "stream-start", warnings: [] },
        { type: "response-metadata", id: `r${step}` },
        ...parts,
        { type: "finish", finishReason, usage },
      ];
      return { stream: simulateReadableStream({ chunks }) } as never;
    },
  };
}

// biome-ignore lint/suspicious/noExplicitAny: the versions have types of their own; those of the messages are checked below
type Any = any;

const RESULTS = [
  [5, ai5, MockLanguageModelV2],
  [6, ai6, MockLanguageModelV3],
  [7, ai7, MockLanguageModelV4],
].flatMap(([version, ai, Mock]: Any) =>
  ["generateText", "streamText"].map((how): [name: string, call: () => Promise<object>] => [
    `${how} of ${version}`,
    async () =>
      ai[how]({
        [version === 7 ? "instructions" : "system"]: "Be brief.",
        prompt: "weather?",
        model: new Mock(replies(version === 5)),
        tools: {
          weather: ai.tool({ inputSchema: ai.jsonSchema(SCHEMA), execute: async () => ({ sky: "sunny" }) }),
        },
        stopWhen: ai.stepCountIs(3),
      }),
  ]),
);

describe.each(RESULTS)("the result of %s", (_, call) => {
  it("is stored with its tool call and result, once, and comes back as messages that every version accepts", async () => {
    const me = await ana();
    const result = await call();
    const stored = await me.remember("c", "weather?", result);
    expect(stored.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
    expect(textOf(stored.messages.at(-1)?.content ?? "")).toBe("It is sunny in Lyon.");
    expect(await me.remember("c", "weather?", result)).toMatchObject({ stored: 0, known: 4 });
    // The same words of another response are another exchange.
    expect(await me.remember("c", "weather?", "It is sunny in Lyon.")).toMatchObject({ stored: 2 });

    const { messages } = await me.context("c", { query: "and tomorrow?" });
    for (const schema of SCHEMAS)
      for (const message of messages) expect(schema.safeParse(message).success).toBe(true);
    expect(messages.slice(1, 3)).toMatchObject([
      {
        role: "assistant",
        content: [{ type: "tool-call", toolCallId: "w1", toolName: "weather", input: { city: "Lyon" } }],
      },
      { role: "tool", content: [{ type: "tool-result", toolCallId: "w1", toolName: "weather" }] },
    ]);
  });
});

it("a stream that failed is refused, and nothing is stored", async () => {
  await using memory = await openMemory({ home: tempDirectory() });
  const failed = {
    response: Promise.reject(new Error("no output")),
    text: Promise.reject(new Error("none")),
  };
  failed.text.catch(() => undefined);
  await expect(memory.owner.remember("c", "ok", failed)).rejects.toMatchObject({ code: "no-reply" });
  expect(await memory.owner.chat("c")).toBeUndefined();
});

it("the type of messages fits every version", async () => {
  const me = await ana();
  const image =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
  await me.remember("c", [
    {
      role: "user",
      content: [
        { type: "text", text: "look" },
        { type: "image", image, mediaType: "image/png" },
      ],
    },
    {
      role: "assistant",
      content: [
        { type: "reasoning", text: "hm", providerOptions: { anthropic: { signature: "s" } } },
        { type: "text", text: "here" },
        { type: "file", data: image, mediaType: "image/png" },
        { type: "tool-call", toolCallId: "x", toolName: "web", input: { q: 1 }, providerExecuted: true },
        { type: "tool-result", toolCallId: "x", toolName: "web", output: { type: "text", value: "found" } },
        { type: "tool-call", toolCallId: "y", toolName: "shot", input: {} },
      ],
    },
    {
      role: "tool",
      content: [
        {
          type: "tool-result",
          toolCallId: "y",
          toolName: "shot",
          output: { type: "content", value: [{ type: "media", data: image, mediaType: "image/png" }] },
        },
      ],
    },
  ]);
  const { request } = await me.context("c", { query: "and?" });
  const messages: ChatMessage[] = request.messages;
  const five: ai5.ModelMessage[] = messages;
  const six: ai6.ModelMessage[] = messages;
  const seven: ai7.ModelMessage[] = messages;
  for (const list of [five, six, seven]) expect(list).toHaveLength(4);
  for (const schema of SCHEMAS)
    for (const message of messages) expect(schema.safeParse(message).error).toBeUndefined();
  expect(messages[0]?.content).toEqual([
    { type: "text", text: "look" },
    { type: "file", data: image, mediaType: "image/png" },
  ]);
  expect(JSON.stringify(messages[1])).toContain("[file: image/png]");
  expect(JSON.stringify(messages[2])).toContain("[file: image/png]");
  expect(await me.remember("c", request.messages)).toMatchObject({ stored: 1, known: 3 });
});
