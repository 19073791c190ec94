// A chat server on loopback that answers from a script. It takes the place of a model and of nothing else: requests reach it
// over a real socket, and what it reports as cached is what the requests really have in common.
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { PrefixCache, tokensOf } from "./prefix-cache.ts";
import { parseRequest, type ScriptedReply, streamed, type WireRequest, whole } from "./wire.ts";

export type Script = (request: WireRequest) => ScriptedReply;

export type ServedRequest = WireRequest & { readonly promptTokens: number; readonly cachedTokens: number };

export type ScriptedServer = AsyncDisposable & {
  /** For `model.base_url`. */
  readonly url: string;
  /** In the order in which they came in. */
  readonly requests: readonly ServedRequest[];
};

/** Far more than any window holds. */
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
        () => response.destroy(), // the client has left
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

/** Undefined when it is too long. */
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
