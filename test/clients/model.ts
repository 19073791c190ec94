// A scripted model on loopback, in the four protocols that clients speak, and a recorder that stands between a client and the gateway.
// The last prompt of the user steers the model: `[[tool NAME {json}]]` calls a tool (a `*` in NAME stands for any letters), and after its
// result `[[say TEXT]]` is the reply.
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from "node:zlib";

// biome-ignore lint/suspicious/noExplicitAny: bodies of four protocols, read by field names
export type Json = any;
export type Recorded = { readonly path: string; readonly body: Json };
type Wire = "chat" | "responses" | "messages" | "google";
type Answer = { readonly text: string } | { readonly tool: Json; readonly args: string };

export class Scripted implements AsyncDisposable {
  readonly bodies: Recorded[] = [];
  url = "";
  readonly #server: Server;

  constructor(answer: (incoming: IncomingMessage, response: ServerResponse, raw: Buffer) => void) {
    this.#server = createServer((incoming, response) => {
      const parts: Buffer[] = [];
      incoming.on("data", (part) => parts.push(part));
      incoming.on("end", () => {
        const raw = Buffer.concat(parts);
        const path = incoming.url?.split("?")[0] ?? "";
        if (incoming.method === "POST") this.bodies.push({ path, body: parsed(unpacked(incoming, raw)) });
        answer(incoming, response, raw);
      });
    });
  }

  async listen(): Promise<this> {
    await new Promise<void>((done) => this.#server.listen(0, "127.0.0.1", done));
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }
}

/** Passes everything on to `target` unchanged, and keeps the bodies: what the client itself sent. */
export function recorder(target: string): Promise<Scripted> {
  return new Scripted((incoming, response, raw) => {
    const { method, headers } = incoming;
    const onward = request(
      target + incoming.url,
      { method, headers: { ...headers, host: new URL(target).host } },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    onward.on("error", () => response.destroy());
    response.on("close", () => onward.destroy());
    onward.end(raw);
  }).listen();
}

export function scriptedModel(): Promise<Scripted> {
  return new Scripted((incoming, response, raw) => {
    const path = incoming.url?.split("?")[0] ?? "";
    const body = parsed(unpacked(incoming, raw));
    const wire = wireOf(path);
    const tokens = Math.ceil(raw.length / 4);
    if (wire !== undefined) return reply(wire, response, body, answerTo(body), tokens, /stream/i.test(path));
    if (/count_?tokens$/i.test(path)) return json(response, { input_tokens: tokens, totalTokens: tokens });
    const model = { id: "fake-model", object: "model", created: 1, owned_by: "test" };
    if (/models$/.test(path)) return json(response, { object: "list", data: [model], models: [] });
    json(response, {}, incoming.method === "GET" ? 404 : 200);
  }).listen();
}

function wireOf(path: string): Wire | undefined {
  if (path.endsWith("/chat/completions")) return "chat";
  if (path.endsWith("/responses")) return "responses";
  if (path.endsWith("/messages")) return "messages";
  return /:(stream)?generateContent$/i.test(path) ? "google" : undefined;
}

function unpacked({ headers }: IncomingMessage, raw: Buffer): string {
  const unpack = { gzip: gunzipSync, br: brotliDecompressSync, zstd: zstdDecompressSync }[
    String(headers["content-encoding"])
  ];
  return (unpack ? unpack(raw) : raw).toString();
}

/** Not, if the client quoted the prompt and escaped what is in it. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

/** The list of a body, whatever its protocol calls it. */
export function itemsOf(body: Json): readonly Json[] {
  const items = body.messages ?? body.input ?? body.contents ?? [];
  return Array.isArray(items) ? items : [{ role: "user", content: items }];
}

/** Tools with their names; Codex groups them in namespaces, and sends some as an item of the input. */
export function toolsOf(body: Json): readonly Json[] {
  const more = itemsOf(body).flatMap((item) => (item.type === "additional_tools" ? item.tools : []));
  const flat = (tools: readonly Json[], namespace?: string): Json[] =>
    tools.flatMap((tool) => {
      if (tool.functionDeclarations) return flat(tool.functionDeclarations);
      if (tool.tools) return flat(tool.tools, tool.name);
      return [{ ...(tool.function ?? tool), ...(namespace ? { namespace } : {}) }];
    });
  return flat([...(body.tools ?? []), ...more]);
}

/** The last user text with a step in it, and how many tool results came after it. */
function lastPrompt(body: Json): { readonly text: string; readonly results: number } {
  let text = "";
  let results = 0;
  for (const item of itemsOf(body)) {
    const parts: Json[] = [item.content ?? item.parts ?? []].flat();
    const said = parts.map((part) => (typeof part === "string" ? part : (part.text ?? ""))).join("\n");
    if (item.role === "user" && /\[\[(say|tool) /.test(said)) [text, results] = [said, 0];
    const inParts = parts.filter((part) => part.type === "tool_result" || part.functionResponse).length;
    results += inParts + (item.role === "tool" || /_output$/.test(item.type ?? "") ? 1 : 0);
  }
  // A recall may quote an earlier prompt: the user's own one is the last.
  return { text: text.replaceAll(/<memory-context>[\s\S]*?<\/memory-context>/g, ""), results };
}

function answerTo(body: Json): Answer {
  const { text, results } = lastPrompt(body);
  const format = JSON.stringify(
    body.response_format ?? body.text?.format ?? body.output_config ?? body.generationConfig ?? "",
  );
  if (/json_schema|responseJsonSchema|responseSchema/.test(format)) return { text: '{"title":"Auxiliary"}' };
  const tools = toolsOf(body);
  if (tools.length === 0) return { text: "Auxiliary" };
  const steps = [...text.matchAll(/\[\[tool (\S+) (\{.*?\})\]\]/gs)];
  const [, name = "", args = "{}"] = steps[results] ?? [];
  if (name !== "") {
    const pattern = new RegExp(`^${name.replaceAll("*", ".*")}$`);
    const tool = tools.find(
      (each) => pattern.test(`${each.namespace ?? ""}${each.name}`) || pattern.test(each.name),
    );
    if (tool) return { tool, args: isJson(args) ? args : JSON.parse(`"${args}"`) };
    return { text: `NO TOOL ${name} among ${tools.map((each) => each.name).join(" ")}` };
  }
  // Begins with a word that no prompt has: a client that prints the prompt has not printed the reply.
  return { text: `Scripted: ${/\[\[say (.*?)\]\]/s.exec(text)?.[1] ?? "nothing"}` };
}

let ids = 0;
const nextId = (prefix: string): string => `${prefix}_test${String(++ids).padStart(6, "0")}`;

function reply(
  wire: Wire,
  response: ServerResponse,
  body: Json,
  answer: Answer,
  tokens: number,
  streams: boolean,
): void {
  const make = { chat, responses, messages, google }[wire];
  const { whole, events } = make(body, answer, tokens);
  if (!body.stream && !streams) {
    json(response, whole);
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const event of events) {
    if (event.type && wire !== "chat") response.write(`event: ${event.type}\n`);
    response.write(`data: ${JSON.stringify(event)}\n\n`);
  }
  response.end(wire === "chat" ? "data: [DONE]\n\n" : "");
}

function json(response: ServerResponse, value: Json, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
}

type Reply = { readonly whole: Json; readonly events: readonly Json[] };

function chat(body: Json, answer: Answer, tokens: number): Reply {
  const isTool = "tool" in answer;
  const call = isTool && {
    id: nextId("call"),
    type: "function",
    function: { name: answer.tool.name, arguments: answer.args },
  };
  const message = isTool ? { content: null, tool_calls: [call] } : { content: answer.text };
  const finish_reason = isTool ? "tool_calls" : "stop";
  const base = { id: nextId("chatcmpl"), created: Math.floor(Date.now() / 1000), model: body.model };
  const usage = { prompt_tokens: tokens, completion_tokens: 5, total_tokens: tokens + 5 };
  const chunk = (delta: Json, end: string | null = null): Json => ({
    ...base,
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, finish_reason: end }],
  });
  const delta = isTool ? { tool_calls: [{ index: 0, ...(call as object) }] } : { content: answer.text };
  return {
    whole: {
      ...base,
      object: "chat.completion",
      choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason }],
      usage,
    },
    events: [
      chunk({ role: "assistant", content: "" }),
      chunk(delta),
      chunk({}, finish_reason),
      { ...base, object: "chat.completion.chunk", choices: [], usage },
    ],
  };
}

function messages(body: Json, answer: Answer, tokens: number): Reply {
  const isTool = "tool" in answer;
  const block = isTool
    ? { type: "tool_use", id: nextId("toolu"), name: answer.tool.name, input: JSON.parse(answer.args) }
    : { type: "text", text: answer.text };
  const stop_reason = isTool ? "tool_use" : "end_turn";
  const usage = {
    input_tokens: tokens,
    output_tokens: 5,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
  };
  const message = {
    id: nextId("msg"),
    type: "message",
    role: "assistant",
    model: body.model,
    stop_sequence: null,
    usage,
  };
  const empty = isTool ? { ...block, input: {} } : { type: "text", text: "" };
  const delta = isTool
    ? { type: "input_json_delta", partial_json: answer.args }
    : { type: "text_delta", text: answer.text };
  return {
    whole: { ...message, content: [block], stop_reason },
    events: [
      { type: "message_start", message: { ...message, content: [], stop_reason: null } },
      { type: "content_block_start", index: 0, content_block: empty },
      { type: "content_block_delta", index: 0, delta },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 5 } },
      { type: "message_stop" },
    ],
  };
}

function responses(body: Json, answer: Answer, tokens: number): Reply {
  const status = "completed";
  let item: Json = { id: nextId("msg"), type: "message", status, role: "assistant", content: [] };
  const part = { type: "output_text", text: "text" in answer ? answer.text : "", annotations: [] };
  const start = item;
  if ("tool" in answer) {
    const { name, namespace, type } = answer.tool;
    const call = {
      id: nextId("fc"),
      status,
      call_id: nextId("call"),
      name,
      ...(namespace ? { namespace } : {}),
    };
    item =
      type === "custom"
        ? { ...call, type: "custom_tool_call", input: JSON.parse(answer.args).input ?? answer.args }
        : { ...call, type: "function_call", arguments: answer.args };
  } else item = { ...item, content: [part] };
  const usage = {
    input_tokens: tokens,
    output_tokens: 5,
    total_tokens: tokens + 5,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens_details: { reasoning_tokens: 0 },
  };
  const base = {
    id: nextId("resp"),
    object: "response",
    created_at: Math.floor(Date.now() / 1000),
    model: body.model,
  };
  const whole = {
    ...base,
    status,
    output: [item],
    usage,
    error: null,
    incomplete_details: null,
    metadata: {},
  };
  const at = { item_id: item.id, output_index: 0, content_index: 0 };
  const text = [
    { type: "response.content_part.added", ...at, part: { ...part, text: "" } },
    { type: "response.output_text.delta", ...at, delta: part.text },
    { type: "response.output_text.done", ...at, text: part.text },
    { type: "response.content_part.done", ...at, part },
  ];
  const events = [
    { type: "response.created", response: { ...base, status: "in_progress", output: [] } },
    { type: "response.output_item.added", output_index: 0, item: "tool" in answer ? item : start },
    ...("tool" in answer ? [] : text),
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response: whole },
  ];
  return { whole, events: events.map((event, sequence_number) => ({ ...event, sequence_number })) };
}

function google(_body: Json, answer: Answer, tokens: number): Reply {
  const part =
    "tool" in answer
      ? { functionCall: { name: answer.tool.name, args: JSON.parse(answer.args) } }
      : { text: answer.text };
  const whole = {
    candidates: [{ content: { role: "model", parts: [part] }, finishReason: "STOP", index: 0 }],
    usageMetadata: { promptTokenCount: tokens, candidatesTokenCount: 5, totalTokenCount: tokens + 5 },
    modelVersion: "gemini-2.5-pro",
    responseId: nextId("resp"),
  };
  return { whole, events: [whole] };
}
