// The middleware without an SDK: each step of a turn gets the same additions, and what was said is stored before the answer is given.
import { expect, it } from "vitest";
import { memoryMiddleware } from "../../src/adapters/ai-sdk-middleware.ts";
import { ana } from "../fakes/opened-memory.ts";

const text = (role: string, said: string) => ({ role, content: [{ type: "text", text: said }] });
const model = { specificationVersion: "v4", doGenerate: async () => ({ content: [] }) };
const call = { type: "tool-call", toolCallId: "k", toolName: "look", input: "{}" };
const result = {
  role: "tool",
  content: [
    { type: "tool-result", toolCallId: "k", toolName: "look", output: { type: "text", value: "42" } },
  ],
};

it("adds memory and history to a turn once, and stores each step before its answer is given", async () => {
  const me = await ana();
  await me.add("Likes tea", { target: "user" });
  await me.remember("c", "earlier", "indeed");
  const middleware = memoryMiddleware(me, { chatId: "c" });
  const answer = async (prompt: { role: string; content: unknown }[], content: { type: string }[]) => {
    const params = await middleware.transformParams({ params: { prompt }, model });
    await middleware.wrapGenerate({ doGenerate: async () => ({ content }), params });
    return params.prompt;
  };
  const first = await answer([text("user", "look it up")], [call]);
  expect(first.map(({ role }) => role)).toEqual(["system", "user", "assistant", "user"]);
  expect(JSON.stringify(first[0])).toContain("Likes tea");
  expect((await me.transcript("c"))?.messages).toHaveLength(4);
  await me.add("Likes coffee", { target: "user" });
  const steps = [
    text("user", "look it up"),
    { role: "assistant", content: [{ ...call, input: {} }] },
    result,
  ];
  const second = await answer(steps, [{ type: "text", text: "It is 42." } as { type: string }]);
  expect(second.slice(0, first.length)).toEqual(first);
  expect((await me.transcript("c"))?.messages.map(({ role }) => role)).toEqual([
    "user",
    "assistant",
    "user",
    "assistant",
    "tool",
    "assistant",
  ]);
});
