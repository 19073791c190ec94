// A chat backend for many users: each has chats and entries of their own in one home. Replies are sent as server-sent events.
//
//   POST   /chats/:id   { "text": "..." }    the reply: `data: {"text": "..."}` per piece, then `event: done`
//   GET    /chats                            the user's chats
//   GET    /chats/:id                        what was said in one of them
//   POST   /entries     { "text": "..." }    one more thing to remember about the user
//   GET    /entries
//   DELETE /me                               everything of this user
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text as readText } from "node:stream/consumers";
import { HermesError, openMemory, type UserMemory } from "@hermes-memory/core";
import { streamText } from "ai";
import { model } from "./model.ts";

const memory = await openMemory({ home: process.env.HERMES_HOME ?? "./data" });

const server = createServer((request, response) => {
  answer(request, response).catch((error: unknown) => {
    const known = error instanceof HermesError;
    if (!known) console.error(error);
    const body = known
      ? { code: error.code, message: error.message, hint: error.hint }
      : { code: "internal" };
    if (response.headersSent) response.end(`event: error\ndata: ${JSON.stringify(body)}\n\n`);
    else json(response, known ? 400 : 500, body);
  });
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  // In a real server the user comes from the login. Without an id, `user` throws: nobody gets another person's memory.
  const me = memory.user({ platform: "web", id: String(request.headers["x-user"] ?? "") });
  const [, resource, id] = (request.url ?? "").split("/").map(decodeURIComponent);
  const body = request.method === "POST" ? JSON.parse(await readText(request)) : {};
  switch (`${request.method} ${resource}`) {
    case "POST chats":
      return reply(me, id ?? "", body.text, response);
    case "GET chats": {
      const found = id ? await me.transcript(id) : await me.chats();
      return found ? json(response, 200, found) : json(response, 404, { code: "no-such-chat" });
    }
    case "POST entries":
      return json(response, 200, await me.add(body.text, { target: "user" }));
    case "GET entries":
      return json(response, 200, await me.list());
    case "DELETE me":
      return json(response, 200, await me.erase());
    default:
      return json(response, 404, { code: "not-found" });
  }
}

async function reply(me: UserMemory, chatId: string, text: string, response: ServerResponse): Promise<void> {
  const context = await me.context(chatId, { query: text, identity: "You are a friendly assistant." });
  const result = streamText({ model, ...context.request });
  response.writeHead(200, { "content-type": "text/event-stream" });
  for await (const piece of result.textStream) response.write(`data: ${JSON.stringify({ text: piece })}\n\n`);
  await me.remember(chatId, text, result); // before `done`: what the client has seen to the end is stored
  response.end("event: done\ndata: {}\n\n");
}

function json(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
}

server.listen(Number(process.env.PORT ?? 3000), () => console.log("listening on", server.address()));
process.once("SIGTERM", () => server.close(() => void memory.close()));
