// One opened home for the whole server, and the memory of the person who asks.
import { type Memory, openMemory, type UserMemory } from "@hermes-memory/core";

const server = globalThis as { memory?: Promise<Memory> }; // survives hot reloads in development

export async function memoryOf(headers: Headers): Promise<UserMemory> {
  server.memory ??= openMemory({ home: process.env.HERMES_HOME ?? "./data" });
  const id = headers.get("x-user") ?? ""; // in a real application: from your session. Without an id, `user` throws.
  return (await server.memory).user({ platform: "web", id });
}
