// POST { chatId, text }: the reply as a stream. The exchange is stored when the reply is complete. GET: the chats.
import { streamText } from "ai";
import { after } from "next/server";
import { memoryOf } from "../../../lib/memory";
import { model } from "../../../lib/model";

export async function GET(request: Request) {
  const me = await memoryOf(request.headers);
  return Response.json(await me.chats());
}

export async function POST(request: Request) {
  const { chatId, text } = await request.json();
  const me = await memoryOf(request.headers);
  const context = await me.context(chatId, { query: text });
  const result = streamText({ model, ...context.request });
  after(() => me.remember(chatId, text, result));
  return result.toTextStreamResponse();
}
