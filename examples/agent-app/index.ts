// An agent with an identity, a tool and the memory of one user: the events of two turns, printed as they come.
import { openMemory } from "@hermes-memory/core";
import { openWeatherAgent } from "./weather-agent.ts";

await using memory = await openMemory({ home: process.env.HERMES_HOME ?? "./data" });
await using agent = await openWeatherAgent(memory.user({ platform: "cli", id: "ana" }), "terminal");

for (const text of ["How warm is it in Lisbon?", "And what did I ask before?"]) {
  console.log(`> ${text}`);
  for await (const event of agent.stream(text)) {
    if (event.type === "text-delta") process.stdout.write(event.text);
    if (event.type === "tool-end") console.log(`  ${event.name}: ${JSON.stringify(event.output)}`);
    if (event.type === "turn-end") console.log(event.result.error ?? "");
  }
}
