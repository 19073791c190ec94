// The same agent behind HTTP: the endpoint that `useChat` of the AI SDK talks to. One agent per request; the chat is in the memory.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { pipeline, Readable } from "node:stream";
import { text as readText } from "node:stream/consumers";
import type { ReadableStream } from "node:stream/web";
import { lastUserInput } from "@hermes-memory/agent";
import { HermesError, openMemory } from "@hermes-memory/core";
import { openWeatherAgent } from "./weather-agent.ts";

const memory = await openMemory({ home: process.env.HERMES_HOME ?? "./data" });

const server = createServer((request, response) => {
  answer(request, response).catch((cause: unknown) => {
    if (!response.headersSent) response.writeHead(400);
    response.end(cause instanceof HermesError ? cause.code : "bad request");
  });
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== "POST") return void response.writeHead(405).end();
  const { id, messages } = JSON.parse(await readText(request)); // what `useChat` posts
  const user = memory.user({ platform: "web", id: String(request.headers["x-user"] ?? "") });
  const agent = await openWeatherAgent(user, id);
  const { status, headers, body } = agent.toUIMessageStreamResponse(lastUserInput(messages), {
    closeWhenDone: true,
    onError: ({ code }) =>
      code === "session-busy" ? "The last message is still being answered." : "It failed.",
  });
  response.writeHead(status, Object.fromEntries(headers));
  pipeline(Readable.fromWeb(body as ReadableStream), response, () => {}); // a client that leaves interrupts the turn
}
server.listen(Number(process.env.PORT ?? 3000), () => console.log("listening on", server.address()));
process.once("SIGTERM", () => server.close(() => void memory.close()));
