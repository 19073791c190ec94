// Mastra takes models of the AI SDK, so the middleware and the tools of `@hermes-memory/core/ai-sdk` work unchanged. The recipe: wrap the
// model in a function of the request, and leave Mastra's own `memory` out.
import assert from "node:assert/strict";
import { join } from "node:path";
import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { aiSdk } from "@hermes-memory/core/ai-sdk";
import { openMemory } from "@hermes-memory/core/memory";
import { Agent } from "@mastra/core/agent";
import type { MastraModelConfig } from "@mastra/core/llm";
import { RequestContext } from "@mastra/core/request-context";
import { wrapLanguageModel } from "ai";
import { MockLanguageModelV4, simulateReadableStream } from "ai/test";
import { folder } from "../kit.ts";

type Part =
  | { type: "text"; text: string }
  | { type: "tool-call"; toolCallId: string; toolName: string; input: string };

const replies: Part[][] = [];
const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const next = () => {
  const content = replies.shift() ?? [];
  const unified = content.some(({ type }) => type === "tool-call")
    ? ("tool-calls" as const)
    : ("stop" as const);
  return { content, finishReason: { unified, raw: unified }, usage };
};
const model = new MockLanguageModelV4({
  doGenerate: async () => ({ ...next(), warnings: [] }),
  doStream: async () => {
    const { content, ...end } = next();
    const chunks = content.flatMap((part): LanguageModelV4StreamPart[] =>
      part.type === "text"
        ? [
            { type: "text-start", id: "1" },
            { type: "text-delta", id: "1", delta: part.text },
            { type: "text-end", id: "1" },
          ]
        : [part],
    );
    const finish: LanguageModelV4StreamPart = { type: "finish", ...end };
    return { stream: simulateReadableStream({ chunks: [...chunks, finish] }) };
  },
});

await using memory = await openMemory({ home: join(folder, "home") });

type Chat = { user: string; chatId: string };
const remembering = ({ requestContext }: { requestContext: RequestContext }) => {
  const { user, chatId } = requestContext.get("chat") as Chat;
  return aiSdk(memory.user({ platform: "web", id: user }), { chatId });
};
const agent = new Agent({
  id: "potter",
  name: "potter",
  instructions: "You are a potter.",
  // The cast: the types of Mastra 1.71 know an older version of the same interface than `ai` 7.0.169.
  model: (call) =>
    wrapLanguageModel({ model, middleware: remembering(call).middleware }) as MastraModelConfig,
  tools: (call) => remembering(call).tools,
});
const inChat = (user: string, chatId: string) => {
  const requestContext = new RequestContext();
  requestContext.set("chat", { user, chatId });
  return { requestContext };
};

const input = JSON.stringify({ action: "add", target: "user", content: "Has a kiln" });
replies.push(
  [
    { type: "text", text: "One moment. " },
    { type: "tool-call", toolCallId: "k1", toolName: "memory", input },
  ],
  [{ type: "text", text: "Noted." }],
  [{ type: "text", text: "Yes, a kiln." }],
  [{ type: "text", text: "I do not know." }],
);
const ana = memory.user({ platform: "web", id: "ana" });
await ana.add("Prefers metric units", { target: "user" });

const first = await agent.generate("I have a kiln", inChat("ana", "kiln"));
assert.match(first.text, /Noted\./);
assert.deepEqual((await ana.list({ target: "user" })).map(({ text }) => text).sort(), [
  "Has a kiln",
  "Prefers metric units",
]);
const second = await agent.stream("Do I have a kiln?", inChat("ana", "kiln"));
let streamed = "";
for await (const piece of second.textStream) streamed += piece;
assert.equal(streamed, "Yes, a kiln.");
await agent.generate("Do I have a kiln?", inChat("bob", "kiln"));

const calls = [...model.doGenerateCalls, ...model.doStreamCalls];
const prompts = calls.map(({ prompt }) => prompt);
const find = (text: string, roles: string) =>
  prompts.find(
    (prompt) => JSON.stringify(prompt).includes(text) && prompt.map(({ role }) => role).join(" ") === roles,
  );
assert.ok(find("Prefers metric units", "system system user"), "memory in the first step");
assert.ok(find("Prefers metric units", "system system user assistant tool"), "memory in the second step");
assert.ok(
  find("I have a kiln", "system system user assistant tool assistant user"),
  "history in the second turn",
);
assert.equal(
  prompts.filter((prompt) => JSON.stringify(prompt).includes("metric")).length,
  3,
  "nothing of ana for bob",
);
assert.equal((await ana.chat("kiln"))?.messages, 6);
assert.equal((await memory.user({ platform: "web", id: "bob" }).chat("kiln"))?.messages, 2);
console.log(`${prompts.length} requests of two users`);
