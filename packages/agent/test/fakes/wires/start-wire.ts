// A model's server on loopback that speaks one wire and answers from a script. Needs no test runner:
// wire-in-test.ts stops it with its test.
import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { anthropicFormat } from "./anthropic.ts";
import { chatFormat } from "./chat.ts";
import {
  charsIn,
  isRecord,
  type Json,
  type ModelCall,
  type ReadyReply,
  type WireFormat,
  type WireOptions,
} from "./format.ts";
import { googleFormat } from "./google.ts";
import { responsesFormat } from "./responses.ts";
import {
  type Failure,
  isFailure,
  type RecordedRequest,
  type Reply,
  type Script,
  type ScriptedUsage,
  type Step,
  type WireKind,
  type WireMessage,
} from "./script.ts";
import { type Line, openLine, sendFailure, sendReply } from "./send.ts";

export type Wire = {
  readonly kind: WireKind;
  /** What the wire's SDK provider wants as `baseURL`. */
  readonly url: string;
  /** Model calls. */
  readonly requests: readonly RecordedRequest[];
  /** The script had no step left, or failed: what a test must not overlook. */
  readonly problems: readonly string[];
  /** Of one request, without the system prompt and cache markers; a list with one text is the text. */
  wireMessages(n: number): readonly WireMessage[];
  systemOf(n: number): string;
  /** Resolves when that request has arrived; rejects when the server is closed before. */
  waitForRequest(n: number): Promise<RecordedRequest>;
  /** Resolves when the client has given up that request before its answer was complete. */
  waitForAbort(n: number): Promise<void>;
  close(): Promise<void>;
};

const FORMATS: Readonly<Record<WireKind, WireFormat>> = {
  chat: chatFormat,
  responses: responsesFormat,
  anthropic: anthropicFormat,
  google: googleFormat,
};

export type StartOptions = WireOptions & { readonly onProblem?: (message: string) => void };

export async function startWire(kind: WireKind, script: Script, options: StartOptions = {}): Promise<Wire> {
  const format = FORMATS[kind];
  const requests: RecordedRequest[] = [];
  const problems: string[] = [];
  const arrivals = new Signals();
  const aborts = new Signals();
  const serverTag = randomBytes(4).toString("hex");

  const nextStep = async (request: RecordedRequest): Promise<Step> => {
    try {
      const step = typeof script === "function" ? await script(request) : script[request.index];
      if (step !== undefined) return step;
      return problem(`The script has no step left for request ${request.index}.`);
    } catch (cause) {
      return problem(`The script failed at request ${request.index}: ${String(cause)}`);
    }
  };
  const problem = (message: string): Failure => {
    problems.push(message);
    options.onProblem?.(message);
    return { status: 500, kind: "server_error", message };
  };

  const answer = async (line: Line, call: ModelCall, request: RecordedRequest): Promise<void> => {
    const step = await nextStep(request);
    if (isFailure(step)) return sendFailure(line, format, step, call.model);
    const tag = `${serverTag}${request.index}`;
    await sendReply(line, format, readyReply(step, { format, call, request, tag }), call.isStream);
  };

  const serve = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { raw, isComplete } = await readBody(incoming);
    if (!isComplete) return;
    const { pathname } = new URL(incoming.url ?? "/", "http://loopback");
    const path = pathname.startsWith(format.basePath) ? pathname.slice(format.basePath.length) : undefined;
    const body = parseBody(raw);
    const call = incoming.method === "POST" && path !== undefined ? format.call(path, body) : undefined;
    if (call === undefined) {
      const isList = incoming.method === "GET" && path === "/models";
      const { models = ["fake-model"], contextLength } = options;
      const list = isList ? format.modelList(models, contextLength) : undefined;
      response.writeHead(isList ? 200 : 404, { "content-type": "application/json" });
      response.end(JSON.stringify(list ?? format.failure({ status: 404 }, pathname).body));
      return;
    }
    const index = requests.length;
    const { messages, system, tools } = format;
    const view = { messages: messages(body), system: system(body), tools: tools(body) };
    const request = { index, path: incoming.url ?? "", headers: incoming.headers, body, raw, ...view };
    requests.push(request);
    arrivals.reach(index);
    await answer(
      openLine(response, () => aborts.reach(index)),
      call,
      request,
    );
  };

  const server = createServer((incoming, response) => {
    serve(incoming, response).catch((cause: unknown) => {
      problem(`The fake server failed: ${String(cause)}`);
      response.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;

  const at = (n: number): RecordedRequest => {
    const request = requests.at(n);
    if (request === undefined) throw new Error(`There is no request ${n}; ${requests.length} have arrived.`);
    return request;
  };
  return {
    kind,
    url: `http://127.0.0.1:${port}${format.basePath}`,
    requests,
    problems,
    wireMessages: (n) => at(n).messages,
    systemOf: (n) => at(n).system,
    waitForRequest: (n) => quietly(arrivals.wait(n).then(() => at(n))),
    waitForAbort: (n) => quietly(aborts.wait(n)),
    async close() {
      for (const signals of [arrivals, aborts]) signals.end();
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Whoever no longer waits when the server is closed need not hear of it. */
function quietly<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

async function readBody(incoming: IncomingMessage): Promise<{ raw: string; isComplete: boolean }> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
  } catch {
    return { raw: "", isComplete: false }; // the client went away in the middle of its question
  }
  return { raw: Buffer.concat(chunks).toString("utf8"), isComplete: true };
}

function parseBody(raw: string): Json {
  try {
    const body: unknown = JSON.parse(raw);
    return isRecord(body) ? body : {};
  } catch {
    return {};
  }
}

type ReplyContext = {
  readonly format: WireFormat;
  readonly call: ModelCall;
  readonly request: RecordedRequest;
  readonly tag: string;
};

/** Fills in what a scripted reply leaves open: ids, finish reason, signature, usage. */
function readyReply(reply: Reply, context: ReplyContext): ReadyReply {
  const { format, call, request, tag } = context;
  const toolCalls = (reply.toolCalls ?? []).map(({ name, arguments: given, id }, index) => ({
    name,
    arguments: typeof given === "string" ? given : JSON.stringify(given),
    id: id ?? `${format.callIdPrefix}${tag}x${index}`,
  }));
  const { text = "", reasoning = "" } = reply;
  const written = [reasoning, text, ...toolCalls.map((toolCall) => toolCall.arguments)];
  return {
    ...reply,
    text,
    reasoning,
    signature: reply.signature ?? Buffer.from(`signature of ${tag}`).toString("base64"),
    toolCalls,
    finish: reply.finish ?? (toolCalls.length > 0 ? "tool_calls" : "stop"),
    usage: reply.usage === null ? null : complete(reply.usage ?? estimate(request.raw, written)),
    model: call.model,
    tag,
    createdAtSeconds: Math.floor(Date.now() / 1000),
    request: request.body,
  };
}

function complete(usage: ScriptedUsage): Required<ScriptedUsage> {
  return { cacheRead: 0, cacheWrite: 0, reasoning: 0, ...usage };
}

/** Close enough for an agent that watches how full its window is. */
function estimate(raw: string, written: readonly string[]): ScriptedUsage {
  const tokens = (texts: readonly string[]): number =>
    Math.ceil(texts.reduce((sum, text) => sum + charsIn(text), 0) / 4);
  return { input: tokens([raw]), output: tokens(written), reasoning: tokens(written.slice(0, 1)) };
}

// Things that happen once each, by number, and those who wait for them.

type Waiting = { readonly resolve: () => void; readonly reject: (cause: Error) => void };

class Signals {
  readonly #reached = new Set<number>();
  readonly #waiting = new Map<number, Waiting[]>();
  #isOver = false;

  reach(n: number): void {
    this.#reached.add(n);
    for (const { resolve } of this.#waiting.get(n) ?? []) resolve();
    this.#waiting.delete(n);
  }

  async wait(n: number): Promise<void> {
    if (!Number.isInteger(n) || n < 0) throw new Error(`Waiting is for requests from 0 on, not for ${n}.`);
    if (this.#reached.has(n)) return;
    if (this.#isOver) throw closedBefore(n);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.set(n, [...(this.#waiting.get(n) ?? []), { resolve, reject }]);
    await promise;
  }

  end(): void {
    this.#isOver = true;
    for (const [n, waiting] of this.#waiting) for (const { reject } of waiting) reject(closedBefore(n));
    this.#waiting.clear();
  }
}

function closedBefore(n: number): Error {
  return new Error(`The server was closed before that happened to request ${n}.`);
}
