// Your own loop, without any SDK: requests to an OpenAI-compatible server with fetch, tool calls, and a compaction when the chat gets long.
import { type OpenAiMessage, openMemory, type TextModel } from "@hermes-memory/core";
import { modelServer } from "./model-server.ts";

const { baseUrl, apiKey, model } = await modelServer();
const contextLength = 16_000; // small, so that this example gets to a compaction

await using memory = await openMemory({ home: process.env.HERMES_HOME ?? "./data" });
const me = memory.owner;

const tools = {
  note: {
    description: "Keeps a fact about the user for later conversations.",
    parameters: { type: "object", properties: { fact: { type: "string" } }, required: ["fact"] },
    run: async ({ fact }: { fact: string }) => `Noted as ${(await me.add(fact, { target: "user" })).id}.`,
  },
};

async function complete(messages: readonly unknown[], withTools: boolean): Promise<OpenAiMessage> {
  const functions = Object.entries(tools).map(([name, { description, parameters }]) => ({
    type: "function",
    function: { name, description, parameters },
  }));
  const response = await fetch(`${baseUrl}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({ model, messages, ...(withTools && { tools: functions }) }),
  });
  if (!response.ok) throw new Error(`The model answered ${response.status}: ${await response.text()}`);
  const { choices } = (await response.json()) as { choices: [{ message: OpenAiMessage }] };
  return choices[0].message;
}

/** For compactions: one request, one text. */
const textModel: TextModel = {
  complete: async ({ system, prompt }) => {
    const messages = [
      ...(system ? [{ role: "system", content: system }] : []),
      { role: "user", content: prompt },
    ];
    return String((await complete(messages, false)).content);
  },
};

async function turn(chatId: string, text: string): Promise<string> {
  const { request } = await me.context(chatId, { query: text, format: "openai", maxTokens: contextLength });
  const messages: OpenAiMessage[] = [{ role: "system", content: request.system }, ...request.messages];
  const added: OpenAiMessage[] = [{ role: "user", content: text }];
  for (;;) {
    const reply = await complete(messages, true);
    messages.push(reply);
    added.push(reply);
    if (!reply.tool_calls?.length) break;
    for (const { id, function: call } of reply.tool_calls) {
      const tool = tools[call.name as keyof typeof tools];
      const content = tool ? await tool.run(JSON.parse(call.arguments)) : `There is no tool ${call.name}.`;
      const result = { role: "tool", tool_call_id: id, content };
      messages.push(result);
      added.push(result);
    }
  }
  await me.remember(chatId, added);
  const { kind, tokensBefore, tokensAfter } = await me.compact(chatId, { model: textModel, contextLength });
  if (kind === "compacted") console.log(`(compacted from ${tokensBefore} to ${tokensAfter} tokens)`);
  return String(added.at(-1)?.content);
}

console.log(await turn("kiln", "Please note that my kiln is called Vesuvius."));
for (let day = 1; day <= 12; day += 1)
  await turn("kiln", `The log of day ${day}: ${"heated slowly, held, cooled. ".repeat(150)}`);
console.log(await turn("kiln", "Which kiln is this about?"));
console.log(
  "entries:",
  (await me.list()).map(({ text }) => text),
);
process.exit();
