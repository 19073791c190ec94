import { type Agent, createAgent } from "@hermes-memory/agent";
import type { UserMemory } from "@hermes-memory/core";
import { tool } from "ai";
import * as z from "zod";
import { model } from "./model.ts";

const temperature = tool({
  description: "The temperature in a city, in degrees Celsius.",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => ({ city, degrees: city === "Lisbon" ? 21 : 12 }), // in a real program: a weather service
});

/** Context files, titles and background reviews are off unless you ask for them. */
export function openWeatherAgent(memory: UserMemory, chatId: string): Promise<Agent> {
  return createAgent({
    memory,
    chatId,
    model,
    identity: "You are a weather bot. You answer in one sentence.",
    tools: { temperature },
  });
}
