// The endpoint for `useChat` of the AI SDK, which posts its whole list. GET ?id=...: what the chat has, for its `messages`.
import { aiSdk } from "@hermes-memory/core/ai-sdk";
import { convertToModelMessages, isStepCount, streamText, wrapLanguageModel } from "ai";
import { memoryOf } from "../../../lib/memory";
import { model } from "../../../lib/model";

export async function GET(request: Request) {
  const me = await memoryOf(request.headers);
  const chatId = new URL(request.url).searchParams.get("id") ?? "";
  return Response.json(await aiSdk(me, { chatId }).uiMessages());
}

export async function POST(request: Request) {
  const { id, messages } = await request.json();
  const me = await memoryOf(request.headers);
  // The list is the whole chat: an answer that is made again, or a changed question, replaces the old one.
  const { middleware, tools } = aiSdk(me, { chatId: id, follow: true });
  const result = streamText({
    model: wrapLanguageModel({ model, middleware }),
    messages: await convertToModelMessages(messages),
    tools,
    stopWhen: isStepCount(8),
  });
  result.consumeStream(); // the reply is stored also if the browser goes away
  return result.toUIMessageStreamResponse();
}
