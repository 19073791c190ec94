// A server in agent mode as a process of its own that is killed (kill -9) in place of its nth write to the database. Asks for the weather
// as a client would, with one tool of its own, and says on stdout what it got.
//
//   node mode-process.ts HOME STEP   KILL_AT=n (0: not at all)
//
// STEP: `question` begins with the user's message, `results` with the results of the tool.
import { StatementSync } from "node:sqlite";
import { openMemory } from "@hermes-memory/core/internal/memory";
import { AgentMode } from "../../src/agent-mode/agent-mode.ts";
import type { Reply } from "../../src/wires/wire.ts";
import { gatewayFor, type Question, resulted, said, turnOf } from "./mode-turns.ts";

const [, , home = "", step = "question"] = process.argv;
const killAt = Number(process.env.KILL_AT ?? 0);
let writes = 0;
const { run } = StatementSync.prototype;
Reflect.set(StatementSync.prototype, "run", function (this: StatementSync, ...args: unknown[]) {
  writes += 1;
  if (writes === killAt) process.kill(process.pid, "SIGKILL");
  return Reflect.apply(run, this, args);
});

const tools = [
  { name: "weather", description: "The weather.", parameters: { type: "object", properties: {} } },
];
const memory = await openMemory({ home });
const gateway = gatewayFor(memory, { clock: { now: () => new Date() } });
const mode = new AgentMode(gateway, { agent: { titles: false, review: false } });

async function ask(question: Question): Promise<Reply> {
  const response = await mode.answer(turnOf(gateway, memory, { tools, ...question }));
  return (await response.json()) as Reply;
}

if (step === "question") {
  const { finish } = await ask({ messages: [said("user", "Weather?")], retryKey: "one" });
  process.stdout.write(`${finish}\n`);
}
const { text } = await ask({ messages: [resulted("call_w", "rain")], retryKey: "two" });
process.stdout.write(`${text}\n`);
await mode.close();
await memory.close();
process.stdout.write(`${writes}\n`);
