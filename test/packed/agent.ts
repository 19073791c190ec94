// A user's program, with @hermes-memory/agent installed, that talks to a model of their own. Prints what it saw as JSON.
import {
  type AgentEvent,
  type AgentHooks,
  type ChatModel,
  createAgent,
  type TurnResult,
} from "@hermes-memory/agent";

const model: ChatModel = {
  identity: { model: "parrot", provider: "custom", apiMode: "chat_completions", baseUrl: "" },
  async stream({ messages, onDelta }) {
    const text = String(messages.at(-1)?.content).toUpperCase();
    onDelta?.({ kind: "text", text });
    return {
      ok: true,
      value: {
        message: { role: "assistant", content: text },
        finishReason: "stop",
        usage: undefined,
        model: undefined,
      },
    };
  },
};
const seen: AgentEvent["type"][] = [];
const hooks: AgentHooks = { preToolCall: ({ name }) => (name === "todo" ? { block: "no" } : undefined) };
const agent = await createAgent({
  home: process.argv[2] ?? "",
  model,
  hooks,
  onEvent: (event) => void seen.push(event.type),
});
const result: TurnResult = await agent.run("hello");
const found = await agent.store?.searchMessages("hello");
await agent.close();
console.log(JSON.stringify([result.final_response, agent.toolNames, seen, found?.length]));
