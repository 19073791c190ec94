// Two conversations in one home: the second has the memory of the first in its prompt and finds the rest by search. Then the first
// conversation is resumed.
//
// It needs a model that can call tools, named in the environment: a local one as below, or HERMES_MODEL and a vendor's key
// (ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY). In a checkout:
//   HERMES_INFERENCE_PROVIDER=ollama HERMES_MODEL=qwen3:8b node examples/agent-sessions.ts
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Agent, type AgentOptions, createAgent } from "hermes-memory";

const home = mkdtempSync(join(tmpdir(), "hermes-example-")); // a real agent uses the user's home: ~/.hermes

/** An agent as another process would make it: only the home is shared. */
function open(options: Partial<AgentOptions> = {}): Promise<Agent> {
  return createAgent({
    home,
    onEvent: (event) => {
      if (event.type === "tool-start") console.log(`  ${event.preview}`);
      if (event.type === "memory-write") console.log(`  (${event.action} in ${event.target})`);
    },
    ...options,
  });
}

async function say(agent: Agent, text: string): Promise<void> {
  console.log(`> ${text}`);
  const { final_response, error } = await agent.run(text);
  console.log(error ?? final_response);
}

function isInPrompt(agent: Agent): string {
  return agent.systemPrompt?.includes("Vesuvius") ? "knows" : "does not know";
}

let first: string;
{
  await using agent = await open();
  first = agent.sessionId;
  console.log("FIRST CONVERSATION");
  await say(agent, "Please remember for good that my kiln is called Vesuvius.");
  await say(agent, "Today I mixed a celadon glaze, two parts ash to one of clay. No need to remember that.");
  // A prompt stays unchanged for the whole conversation, so that the model's server can cache it.
  console.log(`its prompt ${isInPrompt(agent)} the kiln's name`);
  await agent.setTitle("Celadon");
}
{
  await using agent = await open();
  console.log("\nSECOND CONVERSATION");
  await say(agent, "What is my kiln called?"); // in its prompt
  console.log(`its prompt ${isInPrompt(agent)} the kiln's name`);
  await say(agent, "Which glaze did I mix the other day? Look it up."); // found with session_search
}
{
  // By id, by the beginning of one, or by title. `agent.resume("Celadon")` does the same in a running agent.
  await using agent = await open({ resume: "Celadon" });
  console.log(`\nTHE FIRST ONE AGAIN (${agent.sessionId === first}, ${agent.messages.length} messages)`);
  await say(agent, "And how many parts of ash was that?"); // the earlier messages are still in the conversation
  const { turns, memory } = await agent.status();
  console.log(`turn ${turns}; memory holds ${memory.memory?.used} of ${memory.memory?.limit} characters`);
}
rmSync(home, { recursive: true });
