// A chat server on loopback that answers from a script, in the OpenAI chat format. Only the model is replaced: requests arrive over
// a real socket, and the cached tokens it reports are the prefix that a request really shares with an earlier one.
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { isRecord } from "@hermes-memory/core/internal/lib";
import { parseContent, parseToolCalls, textOf } from "@hermes-memory/core/internal/message";

export type WireMessage = {
  readonly role: string;
  readonly text: string;
  /** Names and arguments, of an assistant's message. */
  readonly calls: readonly { readonly name: string; readonly arguments: string }[];
};

export type WireRequest = {
  readonly model: string;
  readonly messages: readonly WireMessage[];
  readonly isStream: boolean;
  /** The text a prompt cache compares, in its order: tools, then messages. */
  readonly promptText: string;
};

export type ScriptedReply =
  | { readonly kind: "text"; readonly text: string }
  | {
      readonly kind: "call";
      readonly name: string;
      readonly arguments: Readonly<Record<string, string | number>>;
    };

type WireUsage = { readonly prompt: number; readonly cached: number; readonly completion: number };

export type Json = Readonly<Record<string, unknown>>;

type Script = (request: WireRequest) => ScriptedReply;

export type ServedRequest = WireRequest & { readonly promptTokens: number; readonly cachedTokens: number };

export type ScriptedServer = AsyncDisposable & {
  /** For `model.base_url`. */
  readonly url: string;
  /** In order of arrival. */
  readonly requests: readonly ServedRequest[];
};

/** Far longer than any context window. */
const MOST_BYTES = 16 * 1024 * 1024;

export async function startScriptedServer(
  script: Script,
  models: readonly string[],
): Promise<ScriptedServer> {
  const requests: ServedRequest[] = [];
  const cache = new PrefixCache();
  const serve = (body: string | undefined, response: ServerResponse): void => {
    const request = body === undefined ? undefined : parseRequest(body);
    if (request === undefined) {
      refuse(response, 400, "The body is no chat completion request, or far too long.");
      return;
    }
    const reply = script(request);
    const prompt = tokensOf(request.promptText);
    const cached = cache.take(request.promptText);
    requests.push({ ...request, promptTokens: prompt, cachedTokens: cached });
    const said = reply.kind === "text" ? reply.text : JSON.stringify(reply.arguments);
    const usage = { prompt, cached, completion: tokensOf(said) };
    const tag = `scripted${requests.length}`;
    if (request.isStream) sendEvents(response, streamed(reply, usage, tag));
    else sendJson(response, 200, whole(reply, usage, tag));
  };
  const list = models.map((id) => ({ id, object: "model", owned_by: "hermes demo" }));
  const server = createServer((request, response) => {
    const asked = `${request.method} ${(request.url ?? "").replace(/\?.*$/, "")}`;
    if (asked === "GET /v1/models") sendJson(response, 200, { object: "list", data: list });
    else if (asked !== "POST /v1/chat/completions") refuse(response, 404, `There is no ${asked} here.`);
    else
      bodyOf(request).then(
        (body) => serve(body, response),
        () => response.destroy(), // the client closed the connection
      );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Undefined when the body is longer than `MOST_BYTES`. */
async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function sendEvents(response: ServerResponse, events: readonly object[]): void {
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
  for (const event of events) response.write(`data: ${JSON.stringify(event)}\n\n`);
  response.end("data: [DONE]\n\n");
}

function refuse(response: ServerResponse, status: number, message: string): void {
  sendJson(response, status, { error: { message, type: "invalid_request_error" } });
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

// The OpenAI chat format, as far as this server needs it.

/** Undefined when the body is not a chat completion request. */
function parseRequest(body: string): WireRequest | undefined {
  const parsed = jsonIn(body);
  if (parsed === undefined || !Array.isArray(parsed.messages)) return undefined;
  const messages = parsed.messages.map(recordOf);
  return {
    model: String(parsed.model ?? ""),
    messages: messages.map(toMessage),
    isStream: parsed.stream === true,
    promptText: [parsed.tools ?? [], ...messages].map((part) => JSON.stringify(part)).join("\n"),
  };
}

/** The JSON object in a text, without the text around it. */
export function jsonIn(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1));
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The chunks of a stream, in order; the text comes word by word. */
function streamed(reply: ScriptedReply, usage: WireUsage, tag: string): readonly Json[] {
  const chunk = (delta: Json, finish: string | null = null): Json => ({
    ...head(tag, "chat.completion.chunk"),
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  const deltas =
    reply.kind === "text"
      ? (reply.text.match(/\S+\s*/g) ?? []).map((content) => ({ content }))
      : [{ tool_calls: [{ index: 0, ...toCall(reply, tag) }] }];
  return [
    chunk({ role: "assistant", content: "" }),
    ...deltas.map((delta) => chunk(delta)),
    chunk({}, finishOf(reply)),
    { ...head(tag, "chat.completion.chunk"), choices: [], usage: toUsage(usage) },
  ];
}

function whole(reply: ScriptedReply, usage: WireUsage, tag: string): Json {
  const message =
    reply.kind === "text"
      ? { role: "assistant", content: reply.text }
      : { role: "assistant", content: null, tool_calls: [toCall(reply, tag)] };
  return {
    ...head(tag, "chat.completion"),
    choices: [{ index: 0, message, finish_reason: finishOf(reply) }],
    usage: toUsage(usage),
  };
}

function toMessage(message: Json): WireMessage {
  return {
    role: String(message.role ?? ""),
    text: textOf(parseContent(message.content)),
    calls: parseToolCalls(message.tool_calls),
  };
}

function toCall({ name, arguments: args }: ScriptedReply & { kind: "call" }, tag: string): Json {
  return { id: `call_${tag}`, type: "function", function: { name, arguments: JSON.stringify(args) } };
}

function toUsage({ prompt, cached, completion }: WireUsage): Json {
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: cached },
  };
}

function head(tag: string, object: string): Json {
  return { id: `chatcmpl-${tag}`, object, created: Math.trunc(Date.now() / 1000), model: "scripted" };
}

function finishOf({ kind }: ScriptedReply): string {
  return kind === "text" ? "stop" : "tool_calls";
}

export function recordOf(value: unknown): Json {
  return isRecord(value) ? value : {};
}

// The prompt cache of a vendor: the leading part that a request shares with an earlier one, in blocks of 128 tokens once it has
// 1,024, which is how OpenAI counts. A prompt that changed near its beginning therefore gets nothing.

/** No tokenizer: four characters count as one token, here as in the agent's own estimates. */
const CHARS_PER_TOKEN = 4;
const LEAST_TOKENS = 1_024;
const BLOCK_TOKENS = 128;
/** A bound for a server that is left running. */
const MOST_PROMPTS = 100;

function tokensOf(text: string): number {
  return Math.ceil(text.length / CHARS_PER_TOKEN);
}

class PrefixCache {
  #seen: readonly string[] = [];

  /** The number of tokens of this prompt that are cached. Afterwards all of them are. */
  take(prompt: string): number {
    const shared = this.#seen.reduce((most, earlier) => Math.max(most, commonPrefix(earlier, prompt)), 0);
    this.#seen = [...this.#seen.slice(1 - MOST_PROMPTS), prompt];
    const tokens = Math.floor(shared / CHARS_PER_TOKEN);
    return tokens < LEAST_TOKENS ? 0 : tokens - (tokens % BLOCK_TOKENS);
  }
}

function commonPrefix(one: string, other: string): number {
  const end = Math.min(one.length, other.length);
  let at = 0;
  while (at < end && one.charCodeAt(at) === other.charCodeAt(at)) at += 1;
  return at;
}
