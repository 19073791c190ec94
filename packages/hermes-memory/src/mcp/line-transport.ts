// JSON-RPC over two streams, a message per line. In place of the SDK's stdio transport because that one closes on a line
// that is too long, answers nothing to a request it cannot read, and cannot say when everything has been answered.
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type ByteLine,
  ByteLines,
  groupThousands,
  isRecord,
  outsideJsonOr,
  outsideJsonProblem,
} from "@hermes-memory/core/lib";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
  ErrorCode,
  type JSONRPCMessage,
  JSONRPCMessageSchema,
  type RequestId,
  RequestIdSchema,
} from "@modelcontextprotocol/sdk/types.js";
import type { Log } from "./log.ts";

/** As much as the agent takes from a server; far beyond any request for these tools. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;
/** Read that deep to find out who asked. The request itself is refused from 100 levels on. */
const MAX_READ_DEPTH = 10_000;

export class LineTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: <T extends JSONRPCMessage>(message: T) => void;
  /** The client has said everything it will say. */
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
    this.#output.once("error", this.#onEnd); // nobody listens any more
  }

  stopReading(): void {
    this.#input.off("data", this.#onData).off("end", this.#onEnd).pause();
  }

  /** Resolves when all requests have been answered and the answers handed over; false when that takes too long. */
  async drained(timeoutMs: number): Promise<boolean> {
    const timer = new AbortController();
    const late = sleep(timeoutMs, false, { signal: timer.signal }).catch(() => false);
    const isDrained = await Promise.race([this.#allAnswered(), late]);
    timer.abort();
    return isDrained;
  }

  send(message: JSONRPCMessage): Promise<void> {
    this.#lastWrite = new Promise((resolve) => {
      this.#output.write(`${JSON.stringify(message)}\n`, () => resolve()); // a failed write ends the server by itself
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
      // The protocol answers no request that was taken back.
      else if (message.method === "notifications/cancelled") this.#forget(message.params?.requestId);
    }
    this.onmessage?.(message);
  }

  /** Whoever sent it waits for an answer, if it can be told who that was. */
  #refuse(id: unknown, bytes: number, why: string): void {
    this.#dropped += 1;
    this.#log.warn("A line that is no JSON-RPC message was dropped", { bytes, why }); // never its text
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

/** Some clients send null, or a text, where a tool gets no arguments. The tool can say what it misses; the SDK cannot. */
function withUsableArguments(value: unknown): unknown {
  if (!isRecord(value) || value.method !== "tools/call" || !isRecord(value.params)) return value;
  const { arguments: given, ...params } = value.params;
  return given === undefined || isRecord(given) ? value : { ...value, params };
}

/** The id of a request nobody read: clients write it first, behind the version, or last. There it cannot be part of an argument. */
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
    return undefined; // bytes that are no text must not become an entry full of question marks
  }
}
