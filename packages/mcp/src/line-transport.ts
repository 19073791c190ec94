// JSON-RPC over two streams, one message per line. The SDK's stdio transport is not used because it does not notice the end of the
// input or a closed output, stores bytes that are no UTF-8 as other characters, closes on a line that is too long, and does not answer
// a request it cannot read. With it, the last writes of a client that ends would be lost.
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type ByteLine,
  ByteLines,
  isRecord,
  outsideJsonOr,
  outsideJsonProblem,
} from "@hermes-memory/core/internal/lib";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
  ErrorCode,
  type JSONRPCMessage,
  JSONRPCMessageSchema,
  type RequestId,
  RequestIdSchema,
} from "@modelcontextprotocol/sdk/types.js";
import type { Log } from "./request-context.ts";

/** Read this far to find the id for the error response. The request itself is refused from 8 MiB and 100 levels on. */
const READ = { maxChars: 64 * 1024 * 1024, maxDepth: 10_000 };

export class LineTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: <T extends JSONRPCMessage>(message: T) => void;
  readonly #input: Readable;
  readonly #output: Writable;
  readonly #log: Log;
  readonly #lines = new ByteLines(READ.maxChars);
  readonly #unanswered = new Map<RequestId, PromiseWithResolvers<void>>();
  readonly #ended = Promise.withResolvers<void>();
  #lastWrite: Promise<void> = Promise.resolve();

  constructor(input: Readable, output: Writable, log: Log) {
    this.#input = input;
    this.#output = output;
    this.#log = log;
  }

  /** The input ended, or one of the streams failed. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  async start(): Promise<void> {
    this.#input.on("data", this.#onData).once("end", this.#onEnd).once("error", this.#onEnd);
    this.#output.on("error", this.#onEnd); // the client has closed its end
  }

  stopReading(): void {
    this.#input.off("data", this.#onData).off("end", this.#onEnd).pause();
  }

  /** Resolves to true when all requests are answered and the answers written, to false after `timeoutMs`. */
  async drained(timeoutMs: number): Promise<boolean> {
    const timer = new AbortController();
    const late = sleep(timeoutMs, false, { signal: timer.signal }).catch(() => false);
    const answered = Promise.all([...this.#unanswered.values()].map(({ promise }) => promise));
    const isDrained = await Promise.race([answered.then(() => this.#lastWrite).then(() => true), late]);
    timer.abort();
    return isDrained;
  }

  send(message: JSONRPCMessage): Promise<void> {
    const written = Promise.withResolvers<void>();
    this.#lastWrite = written.promise;
    this.#output.write(`${JSON.stringify(message)}\n`, () => written.resolve()); // `ended` tells of a failure
    if ("id" in message && !("method" in message)) this.#settle(message.id);
    return written.promise;
  }

  async close(): Promise<void> {
    this.stopReading();
    this.onclose?.();
  }

  /** Texts come from streams of a program that uses the library; a pipe gives bytes. */
  readonly #onData = (chunk: Uint8Array | string): void => {
    for (const line of this.#lines.push(typeof chunk === "string" ? Buffer.from(chunk) : chunk)) this.#read(line);
  };

  readonly #onEnd = (): void => {
    const last = this.#lines.end();
    if (last !== undefined) this.#read(last);
    this.#ended.resolve();
  };

  #read(line: ByteLine): void {
    const text = line.kind === "line" ? decode(line.bytes) : undefined;
    if (text?.trim() === "") return;
    const value = text === undefined ? undefined : outsideJsonOr(text, undefined, READ);
    const problem = outsideJsonProblem(value);
    const parsed = problem ? undefined : JSONRPCMessageSchema.safeParse(withUsableArguments(value));
    if (!parsed?.success) {
      const why = problem ? `This request ${problem.message}.` : "This is not a JSON-RPC 2.0 request.";
      this.#refuse(isRecord(value) ? value.id : undefined, why);
      return;
    }
    const message = parsed.data;
    if ("method" in message && "id" in message) this.#unanswered.set(message.id, Promise.withResolvers());
    else if ("method" in message && message.method === "notifications/cancelled")
      this.#settle(message.params?.requestId); // it gets no answer
    this.onmessage?.(message);
  }

  /** Logs a line that is no message and, when its id can be read, answers with an error. */
  #refuse(id: unknown, why: string): void {
    this.#log.warn("A line that is no JSON-RPC message was dropped", { why }); // without the text, which may hold secrets
    const known = RequestIdSchema.safeParse(id);
    const error = { code: ErrorCode.InvalidRequest, message: why };
    if (known.success) void this.send({ jsonrpc: "2.0", id: known.data, error });
  }

  #settle(id: unknown): void {
    const known = RequestIdSchema.safeParse(id);
    if (!known.success) return;
    this.#unanswered.get(known.data)?.resolve();
    this.#unanswered.delete(known.data);
  }
}

/** Some clients send null or a text in place of the arguments. Without them the tool itself says what is missing; the SDK cannot. */
function withUsableArguments(value: unknown): unknown {
  if (!isRecord(value) || value.method !== "tools/call" || !isRecord(value.params)) return value;
  const { arguments: given, ...params } = value.params;
  return given === undefined || isRecord(given) ? value : { ...value, params };
}

function decode(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    return undefined; // invalid UTF-8 must not become an entry full of replacement characters
  }
}
