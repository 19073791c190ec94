// Where the model is: OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL, or else a small server in this process that speaks the same
// protocol and knows three answers, so that the example runs without an account.
import { createServer } from "node:http";
import { text as readText } from "node:stream/consumers";

type Model = { readonly baseUrl: string; readonly apiKey: string; readonly model: string };

export async function modelServer(): Promise<Model> {
  const { OPENAI_BASE_URL, OPENAI_API_KEY, OPENAI_MODEL = "gpt-5-mini" } = process.env;
  if (OPENAI_API_KEY || OPENAI_BASE_URL)
    return {
      baseUrl: OPENAI_BASE_URL ?? "https://api.openai.com/v1",
      apiKey: OPENAI_API_KEY ?? "",
      model: OPENAI_MODEL,
    };
  const server = createServer(async (request, response) => {
    const { messages, tools } = JSON.parse(await readText(request));
    const message = { role: "assistant", ...reply(messages, tools !== undefined) };
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ choices: [{ message, finish_reason: "stop" }] }));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  server.unref();
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  return { baseUrl: `http://127.0.0.1:${port}/v1`, apiKey: "none", model: "scripted" };
}

function reply(messages: readonly { role: string; content: string }[], hasTools: boolean): object {
  const last = messages.at(-1);
  if (!hasTools) return { content: "## Goal\nKeep the log of the kiln Vesuvius." };
  const fact = /note that (.*)\./.exec(last?.role === "user" ? last.content : "")?.[1];
  if (fact) {
    const call = { name: "note", arguments: JSON.stringify({ fact: `The user says: ${fact}` }) };
    return {
      content: null,
      tool_calls: [{ id: `call_${messages.length}`, type: "function", function: call }],
    };
  }
  if (last?.role === "tool") return { content: last.content };
  const name = /Vesuvius/.test(JSON.stringify(messages)) ? "Vesuvius" : "I do not know";
  return { content: last?.content.includes("Which kiln") ? name : "Understood." };
}
