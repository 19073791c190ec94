// Items of the OpenAI Agents SDK in the store. The real package is tried in test/consumers.
import { expect, it } from "vitest";
import { openAiAgents } from "../../src/adapters/openai-agents.ts";
import { ana } from "../fakes/opened-memory.ts";

const user = (content: unknown) => ({ type: "message", role: "user", content });
const said = (text: string) => ({
  type: "message",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text }],
});
const call = (callId: string) => ({
  type: "function_call",
  callId,
  name: "look",
  arguments: "{}",
  status: "completed",
});
const result = (callId: string) => ({
  type: "function_call_result",
  callId,
  name: "look",
  status: "completed",
  output: "seen",
});

it("keeps every item that is added, also one that was there before", async () => {
  const { session } = openAiAgents(await ana(), { chatId: "c" });
  const turn = [user("look"), call("a"), call("b"), result("a"), result("b"), said("Seen.")];
  await session.addItems(turn);
  await Promise.all([session.addItems([user("hi")]), session.addItems([user("hi")])]);
  await session.addItems([]);
  expect(await session.getItems()).toEqual([...turn, user("hi"), user("hi")]);
});

it("takes back one item of a reply with several, and goes on from there", async () => {
  const { session } = openAiAgents(await ana(), { chatId: "c" });
  await session.addItems([user("look"), said("Both."), call("a"), call("b")]);
  expect(await session.popItem()).toEqual(call("b"));
  await session.addItems([result("a"), said("One.")]);
  expect(await session.getItems()).toEqual([
    user("look"),
    said("Both."),
    call("a"),
    result("a"),
    said("One."),
  ]);
});

it("gives a chat of another program as items", async () => {
  const me = await ana();
  const image = "data:image/png;base64,iVBORw0KGgo=";
  await me.remember("c", [
    {
      role: "user",
      content: [
        { type: "text", text: "What?" },
        { type: "image", image },
      ],
    },
    { role: "assistant", content: [{ type: "tool-call", toolCallId: "a", toolName: "look", input: {} }] },
    {
      role: "tool",
      content: [
        { type: "tool-result", toolCallId: "a", toolName: "look", output: { type: "text", value: "seen" } },
      ],
    },
    { role: "assistant", content: "Seen." },
  ]);
  expect(await openAiAgents(me, { chatId: "c" }).session.getItems()).toEqual([
    user([
      { type: "input_text", text: "What?" },
      { type: "input_image", image },
    ]),
    call("a"),
    result("a"),
    said("Seen."),
  ]);
});

it("adds the memory and the recall to the instructions, and runs the tools", async () => {
  const me = await ana();
  await me.remember("old", "My parrot is called Quito", "Noted.");
  const { callModelInputFilter, tools } = openAiAgents(me, { chatId: "c" });
  const [tool] = tools;
  const input = JSON.stringify({ action: "add", target: "user", content: "Has a parrot" });
  expect(await tool?.invoke({}, input, { toolCall: { callId: "k" } })).toContain('"success":true');
  expect(await tool?.invoke({}, "no json")).toContain('"success":false');
  const modelData = { instructions: "Be brief.", input: [user("What is my parrot called?")] };
  const { instructions = "", input: sent } = await callModelInputFilter({ modelData });
  expect(instructions).toMatch(/^Be brief\.\n\n[\s\S]*Has a parrot[\s\S]*Quito/);
  expect(sent).toBe(modelData.input);
});
