// JSON-RPC over two streams, one message per line. The SDK's stdio transport is not used because it closes on a line that is too
// long, does not answer a request it cannot read, and cannot tell when all requests have been answered.
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type ByteLine,
  ByteLines,
  groupThousands,
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

/** The agent's limit for messages of a server; far longer than any request for these tools. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;
/** Parsed this deep to find the id for the error response. The request itself is refused from 100 levels on. */
const MAX_READ_DEPTH = 10_000;

export class LineTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: <T extends JSONRPCMessage>(message: T) => void;
  /** The input ended, or one of the streams failed. */
  readonly ended: Promise<void>;
  readonly #input: Readable;
  readonly #output: Writable;
  readonly #log: Log;
  readonly #unanswered = new Set<RequestId>();
  #lastWrite: Promise<void> = Promise.resolve();
  #wake: (() => void) | undefined;
  #end: () => void = () => {};
  readonly #lines = new ByteLines(MAX_LINE_BYTES);
  #dropped = 0;

  constructor(input: Readable, output: Writable, log: Log) {
    this.#input = input;
    this.#output = output;
    this.#log = log;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  get droppedLines(): number {
    return this.#dropped;
  }

  async start(): Promise<void> {
    this.#input.on("data", this.#onData).once("end", this.#onEnd).once("error", this.#onEnd);
    this.#output.once("error", this.#onEnd); // the client has closed its end
  }

  stopReading(): void {
    this.#input.off("data", this.#onData).off("end", this.#onEnd).pause();
  }

  /** Resolves to true when all requests are answered and the answers written, to false after `timeoutMs`. */
  async drained(timeoutMs: number): Promise<boolean> {
    const timer = new AbortController();
    const late = sleep(timeoutMs, false, { signal: timer.signal }).catch(() => false);
    const isDrained = await Promise.race([this.#allAnswered(), late]);
    timer.abort();
    return isDrained;
  }

  send(message: JSONRPCMessage): Promise<void> {
    this.#lastWrite = new Promise((resolve) => {
      this.#output.write(`${JSON.stringify(message)}\n`, () => resolve()); // the stream's `error` event ends the server
    });
    if ("id" in message && message.id !== undefined && !("method" in message)) this.#settle(message.id);
    return this.#lastWrite;
  }

  async close(): Promise<void> {
    this.stopReading();
    this.onclose?.();
  }

  readonly #onData = (chunk: Uint8Array): void => {
    for (const line of this.#lines.push(chunk)) this.#read(line);
  };

  readonly #onEnd = (): void => {
    const last = this.#lines.end();
    if (last !== undefined) this.#read(last);
    this.#end();
  };

  #read(line: ByteLine): void {
    if (line.kind === "too_long") {
      const limit = `This request has ${groupThousands(line.length)} bytes; at most ${groupThousands(MAX_LINE_BYTES)} are taken.`;
      this.#refuse(idAtAnEnd(line), line.length, limit);
      return;
    }
    const text = decode(line.bytes);
    if (text?.trim() === "") return;
    const value =
      text === undefined ? undefined : outsideJsonOr(text, undefined, { maxDepth: MAX_READ_DEPTH });
    const problem = outsideJsonProblem(value);
    const message = problem ? undefined : JSONRPCMessageSchema.safeParse(withUsableArguments(value));
    if (message?.success) this.#receive(message.data);
    else
      this.#refuse(
        isRecord(value) ? value.id : undefined,
        line.bytes.length,
        problem ? `This request ${problem.message}.` : "This is not a JSON-RPC 2.0 request.",
      );
  }

  #receive(message: JSONRPCMessage): void {
    if ("method" in message) {
      if ("id" in message) this.#unanswered.add(message.id);
      // A cancelled request gets no answer.
      else if (message.method === "notifications/cancelled") this.#forget(message.params?.requestId);
    }
    this.onmessage?.(message);
  }

  /** Logs a line that is no message and, when its id can be read, answers with an error. */
  #refuse(id: unknown, bytes: number, why: string): void {
    this.#dropped += 1;
    this.#log.warn("A line that is no JSON-RPC message was dropped", { bytes, why }); // without the text, which may hold secrets
    const known = RequestIdSchema.safeParse(id);
    if (!known.success) return;
    const error = { code: ErrorCode.InvalidRequest, message: why };
    void this.send({ jsonrpc: "2.0", id: known.data, error });
  }

  #forget(id: unknown): void {
    const known = RequestIdSchema.safeParse(id);
    if (known.success) this.#settle(known.data);
  }

  #settle(id: RequestId): void {
    this.#unanswered.delete(id);
    if (this.#unanswered.size === 0) this.#wake?.();
  }

  async #allAnswered(): Promise<true> {
    if (this.#unanswered.size > 0) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    await this.#lastWrite;
    return true;
  }
}

/** Some clients send null or a text in place of the arguments. Without them the tool itself says what is missing; the SDK cannot. */
function withUsableArguments(value: unknown): unknown {
  if (!isRecord(value) || value.method !== "tools/call" || !isRecord(value.params)) return value;
  const { arguments: given, ...params } = value.params;
  return given === undefined || isRecord(given) ? value : { ...value, params };
}

/** The id of a request too long to parse. Clients write it first, after the version, or last: there it cannot be part of an argument. */
function idAtAnEnd({ head, tail }: ByteLine & { readonly kind: "too_long" }): unknown {
  const first = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(-?\d+|"[^"\\]*")\s*,/.exec(
    head.toString("latin1"),
  );
  const last = /,\s*"id"\s*:\s*(-?\d+|"[^"\\]*")\s*\}\s*$/.exec(tail.toString("latin1"));
  const found = first?.[1] ?? last?.[1];
  return found === undefined ? undefined : outsideJsonOr(found, undefined);
}

function decode(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    return undefined; // invalid UTF-8 must not become an entry full of replacement characters
  }
}
