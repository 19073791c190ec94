// The OpenAI Agents SDK with our session, filter and tools: two runs with a tool call, a stream, and items that come back unchanged.
import assert from "node:assert/strict";
import { join } from "node:path";
import { openMemory } from "@hermes-memory/core/memory";
import { openAiAgents, openAiAgentsSession } from "@hermes-memory/core/openai-agents";
import {
  Agent,
  type AgentInputItem,
  type AgentOutputItem,
  type Model,
  type ModelRequest,
  type ModelResponse,
  run,
  type Session,
  type StreamEvent,
  setTracingDisabled,
  Usage,
} from "@openai/agents";
import { folder } from "../kit.ts";

setTracingDisabled(true);

class ScriptedModel implements Model {
  readonly requests: ModelRequest[] = [];
  readonly #replies: AgentOutputItem[][];

  constructor(replies: AgentOutputItem[][]) {
    this.#replies = replies;
  }

  async getResponse(request: ModelRequest): Promise<ModelResponse> {
    this.requests.push(request);
    return { usage: new Usage(), output: this.#replies.shift() ?? [] };
  }

  async *getStreamedResponse(request: ModelRequest): AsyncIterable<StreamEvent> {
    const { output } = await this.getResponse(request);
    yield { type: "response_started" };
    const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
    yield { type: "response_done", response: { id: "r1", usage, output: output as never } };
  }
}

const said = (text: string): AgentOutputItem => ({
  type: "message",
  role: "assistant",
  status: "completed",
  id: `msg_${text.length}`,
  content: [{ type: "output_text", text, providerData: { annotations: [] } }],
});

await using memory = await openMemory({ home: join(folder, "home") });
const me = memory.user({ platform: "web", id: "ana" });
await me.add("Prefers metric units", { target: "user" });

const model = new ScriptedModel([
  [
    {
      type: "reasoning",
      id: "rs_1",
      content: [{ type: "input_text", text: "A fact." }],
      providerData: { a: 1 },
    },
    {
      type: "function_call",
      callId: "k1",
      id: "fc_1",
      name: "memory",
      arguments: '{"action":"add","target":"user","content":"Has a kiln"}',
      status: "completed",
    },
  ],
  [said("Noted.")],
  [said("Yes, a kiln.")],
  [said("Streamed.")],
]);

const { session, tools, callModelInputFilter } = openAiAgents(me, { chatId: "kiln" });
const typed: Session = session;
const agent = new Agent({ name: "potter", instructions: "You are a potter.", model, tools });
const first = await run(agent, "I have a kiln", { session: typed, callModelInputFilter });
assert.equal(first.finalOutput, "Noted.");
assert.deepEqual((await me.list({ target: "user" })).map(({ text }) => text).sort(), [
  "Has a kiln",
  "Prefers metric units",
]);

const second = await run(agent, "Do I have a kiln?", { session, callModelInputFilter });
assert.equal(second.finalOutput, "Yes, a kiln.");
const [step1, step2, turn2] = model.requests;
assert.match(step1?.systemInstructions ?? "", /^You are a potter\.[\s\S]*Prefers metric units/);
assert.equal(step2?.systemInstructions, step1?.systemInstructions, "the same bytes in every step");
const sent = (turn2?.input ?? []) as AgentInputItem[];
assert.equal(
  sent.map((item) => item.type ?? "message").join(" "),
  "message reasoning function_call function_call_result message message",
);

const stream = await run(agent, "Again", { session, callModelInputFilter, stream: true });
for await (const _ of stream);
await stream.completed;

// What was stored is what the SDK would have kept by itself.
const items = await session.getItems();
assert.equal(items.length, 9);
assert.deepEqual(items[1], {
  type: "reasoning",
  id: "rs_1",
  content: [{ type: "input_text", text: "A fact." }],
  providerData: { a: 1 },
});
assert.deepEqual(items[4], said("Noted."));
assert.equal((await me.chat("kiln"))?.messages, items.length - 1, "reasoning and call are one message");
assert.deepEqual(await session.getItems(1), [said("Streamed.")]);

// The newest item, and only that.
assert.deepEqual(await session.popItem(), said("Streamed."));
assert.deepEqual(await session.getItems(), items.slice(0, -1));
for (let left = items.length - 2; left >= 0; left -= 1) {
  assert.deepEqual(await session.popItem(), items[left], `item ${left}`);
  assert.deepEqual(await session.getItems(), items.slice(0, left));
}
assert.equal(await session.popItem(), undefined);

// Items of every common kind, the same text twice, and a second person with the same id.
const other = openAiAgentsSession(memory.user({ platform: "web", id: "bob" }), { chatId: "kiln" });
const list: AgentInputItem[] = [
  { type: "message", role: "user", content: "ok" },
  { type: "message", role: "user", content: "ok" },
  {
    type: "message",
    role: "user",
    content: [
      { type: "input_text", text: "What is this?" },
      { type: "input_image", image: "data:image/png;base64,iVBORw0KGgo=" },
      { type: "input_file", file: { id: "file_1" } },
    ],
  },
  { type: "hosted_tool_call", id: "ws_1", name: "web_search_call", status: "completed", arguments: "{}" },
  {
    type: "function_call",
    callId: "a",
    name: "one",
    arguments: "{}",
    status: "completed",
    providerData: { x: [1] },
  },
  { type: "function_call", callId: "b", name: "two", arguments: "not json", status: "completed" },
  {
    type: "function_call_result",
    callId: "a",
    name: "one",
    status: "completed",
    output: { type: "text", text: "1" },
  },
  {
    type: "function_call_result",
    callId: "b",
    name: "two",
    status: "completed",
    output: [{ type: "input_text", text: "2" }],
  },
  said("Two pots."),
];
await other.addItems(list);
assert.deepEqual(await other.getItems(), list);
assert.deepEqual(await other.getItems(2), list.slice(-2));
assert.deepEqual(await other.getItems(0), []);
await other.addItems([{ type: "message", role: "user", content: "ok" }]);
assert.equal((await other.getItems()).length, list.length + 1);
await other.clearSession();
assert.deepEqual(await other.getItems(), []);
assert.equal(await other.getSessionId(), "kiln");
console.log(`${model.requests.length} requests, ${items.length + list.length} items came back unchanged`);
