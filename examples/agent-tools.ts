// Your own tools and hooks: a kiln that the agent can read and set, and a rule about it that the model cannot bypass.
//
// It needs a model that can call tools, named in the environment: a local one as below, or HERMES_MODEL and a vendor's key
// (ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY). In a checkout:
//   HERMES_INFERENCE_PROVIDER=ollama HERMES_MODEL=qwen3:8b node examples/agent-tools.ts
// In your project, have `ai` and `zod` installed.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tool } from "ai";
import { type AgentEvent, type AgentHooks, createAgent } from "hermes-memory";
import * as z from "zod";

const kiln = { top: 905, bottom: 880, target: 900 };

// 1. Tools of the AI SDK. Arguments that do not match the schema never reach `execute`: the model gets an error and tries again.
const tools = {
  read_sensor: tool({
    description: "Reads one temperature sensor of the kiln, in degrees Celsius.",
    inputSchema: z.object({ sensor: z.enum(["top", "bottom"]) }),
    execute: async ({ sensor }) => ({ sensor, degrees: kiln[sensor] }),
  }),
  set_target: tool({
    description: "Sets the temperature the kiln heats up to, in degrees Celsius.",
    inputSchema: z.object({ degrees: z.number().int().positive() }),
    execute: async ({ degrees }) => {
      kiln.target = degrees;
      return { target: kiln.target };
    },
  }),
};

// 2. Hooks. The first one decides before a tool runs; for a blocked call, the model gets the reason as the tool's error.
const hooks: AgentHooks = {
  preToolCall: ({ name, args }) =>
    name === "set_target" && Number(args.degrees) > 1240
      ? { block: "This kiln must not go above 1240 degrees." }
      : undefined,
  // Once per turn, for the model alone: neither stored nor shown.
  preModelCall: () => `The kiln's door is closed and its target is ${kiln.target} degrees.`,
  turnEnd: ({ exit, api_calls, messages }) =>
    console.log(`turn over: ${exit}, ${api_calls} calls, ${messages.length} messages`),
};

function show(event: AgentEvent): void {
  if (event.type === "tool-start") console.log(`  ${event.name} ${event.preview}`);
  if (event.type === "tool-end" && event.isError) console.log(`  ${event.name} was refused or failed`);
}

const home = mkdtempSync(join(tmpdir(), "hermes-example-"));
{
  await using agent = await createAgent({
    home,
    tools,
    readOnlyTools: ["read_sensor"], // these change nothing, so several calls of one reply run at the same time
    toolsets: [], // none of the agent's built-in tools
    hooks,
    onEvent: show,
    instructions: "You look after a kiln. Use your tools; never guess a temperature.",
  });
  console.log("tools:", agent.toolNames.join(", "));
  for (const text of ["How hot is it, top and bottom?", "Go to 1300 degrees. If that is refused, to 1240."]) {
    console.log(`> ${text}`);
    const { final_response, error } = await agent.run(text);
    console.log(error ?? final_response);
  }
}
console.log("target:", kiln.target);
rmSync(home, { recursive: true });
