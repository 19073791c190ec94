// LangGraph with our memory: `createReactAgent` with a checkpointer and without, and a graph with a node of its own.
import assert from "node:assert/strict";
import { join } from "node:path";
import { langChain } from "@hermes-memory/core/langchain";
import { openMemory } from "@hermes-memory/core/memory";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import {
  AIMessage,
  type BaseMessage,
  coerceMessageLikeToMessage,
  HumanMessage,
} from "@langchain/core/messages";
import type { ChatResult } from "@langchain/core/outputs";
import { tool } from "@langchain/core/tools";
import { END, MemorySaver, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { folder } from "../kit.ts";

class ScriptedModel extends BaseChatModel {
  readonly requests: BaseMessage[][] = [];
  bound: unknown[] = [];
  readonly #replies: AIMessage[];

  constructor(replies: (AIMessage | string)[]) {
    super({});
    this.#replies = replies.map((reply) => (typeof reply === "string" ? new AIMessage(reply) : reply));
  }

  override _llmType(): string {
    return "scripted";
  }

  override bindTools(tools: unknown[]): this {
    this.bound = tools;
    return this;
  }

  override async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    this.requests.push(messages);
    const message = this.#replies.shift() ?? new AIMessage("?");
    return { generations: [{ text: message.text, message }] };
  }
}

const shown = (messages: BaseMessage[] = []) =>
  messages
    .filter((message) => message.type !== "system")
    .map((message) => `${message.type}: ${message.text}`.trim());

await using memory = await openMemory({ home: join(folder, "home") });
const me = memory.user({ platform: "web", id: "ana" });
await me.add("Prefers metric units", { target: "user" });
const remembering = (chatId: string) =>
  langChain(me, { chatId, tool, coerceMessageLikeToMessage, identity: "You are a potter." });

// A loop with a tool; the state has the new message only.
const call = {
  id: "k1",
  name: "memory",
  args: { action: "add", target: "user", content: "Has a kiln" },
  type: "tool_call" as const,
};
const llm = new ScriptedModel([
  new AIMessage({ content: "One moment.", tool_calls: [call] }),
  "Noted.",
  "Yes.",
]);
for (const text of ["I have a kiln", "Do I?"]) {
  const { prompt, postModelHook, tools } = remembering("kiln");
  const agent = createReactAgent({ llm, tools, prompt, postModelHook });
  await agent.invoke({ messages: [new HumanMessage(text)] });
}
assert.equal(llm.bound.length, 2);
assert.deepEqual((await me.list({ target: "user" })).map(({ text }) => text).sort(), [
  "Has a kiln",
  "Prefers metric units",
]);
const [step1 = [], step2 = [], turn2 = []] = llm.requests;
assert.match(step1[0]?.text ?? "", /^You are a potter\.[\s\S]*Prefers metric units/);
assert.equal(step2[0]?.text, step1[0]?.text, "the same bytes in every step");
assert.deepEqual(shown(step2).slice(0, 2), ["human: I have a kiln", "ai: One moment."]);
assert.deepEqual(
  shown(turn2).filter((line) => !line.startsWith("tool")),
  ["human: I have a kiln", "ai: One moment.", "ai: Noted.", "human: Do I?"],
);
assert.deepEqual(
  turn2.flatMap((message) => (message instanceof AIMessage ? (message.tool_calls ?? []) : [])),
  [call],
);
assert.equal((await me.chat("kiln"))?.messages, 6);

// With a checkpointer the state is the whole conversation: nothing is stored or sent twice.
const again = new ScriptedModel(["one", "two", "two"]);
const { prompt, postModelHook, tools } = remembering("checkpointed");
const checkpointed = createReactAgent({
  llm: again,
  tools,
  prompt,
  postModelHook,
  checkpointer: new MemorySaver(),
});
for (const text of ["1?", "2?", "2?"])
  await checkpointed.invoke({ messages: [new HumanMessage(text)] }, { configurable: { thread_id: "t" } });
assert.deepEqual(shown(again.requests[2]), ["human: 1?", "ai: one", "human: 2?", "ai: two", "human: 2?"]);
assert.equal((await me.chat("checkpointed"))?.messages, 6);

// A node of one's own, and recall of the first chat.
const own = new ScriptedModel(["At home."]);
const node = remembering("own");
const graph = new StateGraph(MessagesAnnotation)
  .addNode("model", async (state) => {
    const reply = await own.invoke(await node.prompt(state));
    await node.postModelHook({ messages: [...state.messages, reply] });
    return { messages: [reply] };
  })
  .addEdge(START, "model")
  .addEdge("model", END)
  .compile();
await graph.invoke({ messages: [new HumanMessage("Where is my kiln?")] });
assert.match(shown(own.requests[0]).join("\n"), /Where is my kiln\?[\s\S]*I have a kiln/);
const { messages } = await me.context("own", { recall: false });
assert.deepEqual(
  messages.map(({ content }) => content),
  ["Where is my kiln?", "At home."],
);
console.log(`${llm.requests.length + again.requests.length + own.requests.length} requests in 3 graphs`);
