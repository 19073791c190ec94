// Messages of LangChain in the store, with stand-ins for the two functions that a program passes in. The real packages are tried in
// test/consumers.
import { expect, it } from "vitest";
import { langChain } from "../../src/adapters/langchain.ts";
import { ana } from "../fakes/opened-memory.ts";

type Like = { readonly role?: string; readonly type?: string; readonly content: unknown };
const functions = {
  coerceMessageLikeToMessage: (like: Like) => like,
  tool: (run: (args: unknown) => Promise<string>, { name }: { name: string }) => ({ name, run }),
};

it("sends history and the state's own messages, in one system message with theirs", async () => {
  const me = await ana();
  const { prompt, postModelHook } = langChain(me, {
    chatId: "c",
    identity: "You are a potter.",
    ...functions,
  });
  const call = { id: "k", name: "look", args: { at: 1 } };
  const turn = [
    { type: "human", id: "m1", content: "Look" },
    {
      type: "ai",
      id: "m2",
      content: [
        { type: "text", text: "I look." },
        { type: "tool_use", id: "k" },
      ],
      tool_calls: [call],
    },
    { type: "tool", id: "m3", content: "seen", tool_call_id: "k", name: "look" },
    { type: "ai", id: "m4", content: "Seen." },
  ];
  await postModelHook({ messages: turn.slice(0, 2) });
  await postModelHook({ messages: turn });
  const question = { type: "human", id: "m5", content: "Sure?" };
  const sent = await prompt({ messages: [{ type: "system", content: "Be brief." }, question] });
  expect(sent).toEqual([
    { role: "system", content: "You are a potter.\n\nBe brief." },
    { role: "user", content: "Look", id: "m1" },
    {
      role: "assistant",
      id: "m2",
      content: [{ type: "text", text: "I look." }],
      tool_calls: [{ ...call, type: "tool_call" }],
    },
    { role: "tool", content: "seen", tool_call_id: "k", name: "look", id: "m3" },
    { role: "assistant", content: "Seen.", id: "m4" },
    question,
  ]);
});

it("goes on after a result that comes without its question", async () => {
  const me = await ana();
  const { prompt, postModelHook } = langChain(me, { chatId: "c", ...functions });
  await postModelHook({
    messages: [
      { type: "human", content: "Look" },
      { type: "ai", content: "", tool_calls: [{ id: "k", name: "look", args: {} }] },
    ],
  });
  const sent = await prompt({
    messages: [{ type: "tool", content: "seen", tool_call_id: "k", name: "look" }],
  });
  expect(sent.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
});

it("makes tools with the program's function", async () => {
  const { tools } = langChain(await ana(), { chatId: "c", tools: ["memory"], ...functions });
  expect(tools.map(({ name }) => name)).toEqual(["memory"]);
  expect(await tools[0]?.run({ action: "add", target: "user", content: "Has a kiln" })).toContain(
    '"success":true',
  );
});
