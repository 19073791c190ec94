// A memory service on loopback, for tests. One subclass per provider speaks its wire; this class accepts requests, records them, and can
// fail, stall, drop, throttle and restart on demand. The state of a service is kept across `restart`, as a real server keeps its database.
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";

/** One request as the server saw it. */
export type SeenRequest = {
  readonly method: string;
  /** Raw, as it was sent: percent-encoding is kept. */
  readonly path: string;
  /** A key that is repeated has a list. */
  readonly query: Readonly<Record<string, string | readonly string[]>>;
  readonly headers: IncomingHttpHeaders;
  /** Parsed JSON; the parts of a multipart body; undefined without a body. */
  readonly body: unknown;
  readonly at: number;
};

/** One part of a multipart body. */
export type FormPart = {
  readonly name: string;
  readonly filename?: string;
  readonly contentType?: string;
  /** The bytes as text. */
  readonly value: string;
  /** An archive or an image cannot be read back from `value`. */
  readonly bytes: Uint8Array;
};

export type FakeReply = {
  readonly status: number;
  /** Sent as JSON. Absent: no body. */
  readonly body?: unknown;
  /** Sent as it is instead of `body`. */
  readonly raw?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
};

/** What happens to a request instead of, or around, the normal answer. */
type Trouble =
  /** The reply is sent and the request is not handled. */
  | { readonly kind: "reply"; readonly reply: FakeReply }
  /** Handled after the delay. */
  | { readonly kind: "delay"; readonly ms: number }
  /** The socket is destroyed; the request is not handled. */
  | { readonly kind: "drop" }
  /** The request is handled, then the socket is destroyed: the client cannot know that it was. */
  | { readonly kind: "drop-answer" }
  /** Handled, then half of the answer is sent and the socket destroyed. */
  | { readonly kind: "half-answer" }
  /** Never answered and not handled. */
  | { readonly kind: "hang" };

const ANSWER_LIMIT_BYTES = 128 * 2 ** 20;

export abstract class FakeServer {
  readonly requests: SeenRequest[] = [];
  #server: Server | undefined;
  #port = 0;
  readonly #troubles: Trouble[] = [];
  #always: Trouble | undefined;
  #token: string | undefined;

  /** Answers a request that was authorised and not troubled. */
  protected abstract handle(request: SeenRequest): FakeReply | Promise<FakeReply>;

  /** Whether these headers carry the token, in the way of this service. */
  protected abstract isAuthorised(headers: IncomingHttpHeaders, token: string, path: string): boolean;

  /** The reply of this service to a request without the right token. */
  protected abstract refusal(): FakeReply;

  /** Listens on loopback; without a port on a free one. */
  async start(port = 0): Promise<this> {
    const server = createServer((request, response) => void this.#answer(request, response));
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, "127.0.0.1", resolve);
    });
    this.#server = server;
    this.#port = (server.address() as AddressInfo).port;
    return this;
  }

  get isListening(): boolean {
    return this.#server !== undefined;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Refuses connections from now on. Open ones are cut in the middle of whatever they do. */
  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  }

  /** Stops and listens again on the same port, with the same state. */
  async restart(): Promise<void> {
    await this.stop();
    await this.start(this.#port);
  }

  // ---- Trouble: each call concerns the next requests that no earlier call concerns

  failNext(count: number, status: number, body?: unknown, headers?: Readonly<Record<string, string>>): void {
    this.replyNext(count, { status, body: body ?? { error: `status ${status}` }, headers });
  }

  replyNext(count: number, reply: FakeReply): void {
    this.#add(count, { kind: "reply", reply });
  }

  delayNext(ms: number, count = 1): void {
    this.#add(count, { kind: "delay", ms });
  }

  dropNext(count = 1): void {
    this.#add(count, { kind: "drop" });
  }

  dropAnswerNext(count = 1): void {
    this.#add(count, { kind: "drop-answer" });
  }

  /** Every request hangs, until `recover`. */
  hang(): void {
    this.#always = { kind: "hang" };
  }

  /** Every request gets this reply, until `recover`. */
  fail(status: number, body?: unknown, headers?: Readonly<Record<string, string>>): void {
    this.#always = { kind: "reply", reply: { status, body: body ?? { error: `status ${status}` }, headers } };
  }

  /** Every request gets half of its answer, until `recover`. */
  cutAnswers(): void {
    this.#always = { kind: "half-answer" };
  }

  /** Every request gets this text with status 200, until `recover`. */
  answerWithText(raw: string, contentType: string): void {
    const reply = { status: 200, raw, headers: { "content-type": contentType } };
    this.#always = { kind: "reply", reply };
  }

  /** Ends all trouble that was asked for. */
  recover(): void {
    this.#always = undefined;
    this.#troubles.length = 0;
  }

  /** From now on requests need this token; undefined: none is needed. */
  requireAuth(token: string | undefined): void {
    this.#token = token;
  }

  #add(count: number, trouble: Trouble): void {
    for (let each = 0; each < count; each += 1) this.#troubles.push(trouble);
  }

  async #answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    incoming.on("error", () => {}); // the client went away
    response.on("error", () => {});
    let request: SeenRequest;
    try {
      request = await readRequest(incoming);
    } catch (cause) {
      send(response, { status: 400, body: { error: `The body cannot be read: ${String(cause)}` } });
      return;
    }
    this.requests.push(request);
    const trouble = this.#troubles.shift() ?? this.#always;
    if (trouble?.kind === "hang") return;
    if (trouble?.kind === "drop") return void incoming.socket.destroy();
    if (trouble?.kind === "reply") return send(response, trouble.reply);
    if (trouble?.kind === "delay") await new Promise((resolve) => setTimeout(resolve, trouble.ms).unref());
    const reply = await this.#reply(request);
    if (trouble?.kind === "drop-answer") return void incoming.socket.destroy();
    send(response, reply, trouble?.kind === "half-answer");
  }

  async #reply(request: SeenRequest): Promise<FakeReply> {
    if (this.#token !== undefined && !this.isAuthorised(request.headers, this.#token, request.path))
      return this.refusal();
    try {
      return await this.handle(request);
    } catch (cause) {
      return {
        status: 500,
        body: { error: `The fake failed: ${cause instanceof Error ? cause.stack : cause}` },
      };
    }
  }
}

function send(
  response: ServerResponse,
  { status, body, raw, headers = {} }: FakeReply,
  isHalf = false,
): void {
  const text = raw ?? (body === undefined ? "" : JSON.stringify(body));
  const bytes = typeof text === "string" ? Buffer.from(text) : Buffer.from(text);
  if (bytes.length > ANSWER_LIMIT_BYTES) throw new Error("No fake answer is that long.");
  const type = raw === undefined && body !== undefined ? { "content-type": "application/json" } : {};
  response.writeHead(status, { ...type, "content-length": String(bytes.length), ...headers });
  if (!isHalf) return void response.end(bytes);
  response.write(bytes.subarray(0, Math.floor(bytes.length / 2)));
  setTimeout(() => response.socket?.destroy(), 10);
}

async function readRequest(incoming: IncomingMessage): Promise<SeenRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const bytes = Buffer.concat(chunks);
  const target = new URL(incoming.url ?? "/", "http://fake");
  const query: Record<string, string | string[]> = {};
  for (const key of new Set(target.searchParams.keys())) {
    const values = target.searchParams.getAll(key);
    query[key] = values.length === 1 ? (values[0] ?? "") : values;
  }
  const [path = "/"] = (incoming.url ?? "/").split("?");
  return {
    method: incoming.method ?? "GET",
    path,
    query,
    headers: incoming.headers,
    body: parseBody(bytes, incoming.headers["content-type"] ?? ""),
    at: Date.now(),
  };
}

function parseBody(bytes: Buffer, contentType: string): unknown {
  if (bytes.length === 0) return undefined;
  const boundary = /^multipart\/form-data;.*boundary="?([^";]+)/i.exec(contentType)?.[1];
  if (boundary !== undefined) return { multipart: parseForm(bytes, boundary) };
  return JSON.parse(bytes.toString("utf8"));
}

function parseForm(bytes: Buffer, boundary: string): readonly FormPart[] {
  // latin1 keeps every byte as one character, so that the values can be cut out of the bytes.
  const parts = bytes.toString("latin1").split(`--${boundary}`).slice(1, -1);
  return parts.map((part) => {
    const gap = part.indexOf("\r\n\r\n");
    const head = Buffer.from(part.slice(0, gap), "latin1").toString("utf8");
    const value = Buffer.from(part.slice(gap + 4, -2), "latin1");
    const filename = /filename="([^"]*)"/i.exec(head)?.[1];
    const type = /content-type:\s*([^\r\n]+)/i.exec(head)?.[1];
    return {
      name: /[; ]name="([^"]*)"/i.exec(head)?.[1] ?? "",
      ...(filename === undefined ? {} : { filename }),
      ...(type === undefined ? {} : { contentType: type }),
      value: value.toString("utf8"),
      bytes: value,
    };
  });
}

// ---- Search, the same in every fake

/** Lower-case words of letters and digits. */
function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** Shared words of the query divided by the words of the query: 0 to 1. */
function overlap(query: string, text: string): number {
  const wanted = new Set(wordsOf(query));
  if (wanted.size === 0) return 0;
  const there = new Set(wordsOf(text));
  let shared = 0;
  for (const word of wanted) if (there.has(word)) shared += 1;
  return shared / wanted.size;
}

/** Those with a shared word, best first, equal ones in the order of the list. */
export function rank<T>(
  query: string,
  items: readonly T[],
  textOf: (item: T) => string,
): readonly { readonly item: T; readonly score: number }[] {
  return items
    .map((item) => ({ item, score: overlap(query, textOf(item)) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score);
}
