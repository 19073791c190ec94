// JSON-RPC over two streams, a message per line. In place of the SDK's stdio transport because that one closes on a line
// that is too long, answers nothing to a request it cannot read, and cannot say when everything has been answered.
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
  ErrorCode,
  type JSONRPCMessage,
  JSONRPCMessageSchema,
  type RequestId,
  RequestIdSchema,
} from "@modelcontextprotocol/sdk/types.js";
import type { Log } from "./log.ts";

/** Far beyond any request of ours; what is longer would only fill memory. */
const MAX_LINE_BYTES = 32 * 1024 * 1024;
const NEWLINE = 0x0a;

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
  #pieces: Uint8Array[] = [];
  #pieceBytes = 0;
  #isTooLong = false;
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
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      this.#keep(chunk.subarray(from, at));
      this.#finishLine();
      from = at + 1;
    }
    this.#keep(chunk.subarray(from));
  };

  readonly #onEnd = (): void => {
    this.#finishLine(); // a last line may lack its end
    this.#end();
  };

  #keep(piece: Uint8Array): void {
    this.#pieceBytes += piece.length;
    if (this.#pieceBytes > MAX_LINE_BYTES) {
      this.#isTooLong = true;
      this.#pieces = [];
    } else if (piece.length > 0) this.#pieces.push(piece);
  }

  #finishLine(): void {
    const bytes = this.#pieceBytes;
    const line = this.#isTooLong ? undefined : decode(this.#pieces);
    this.#pieces = [];
    this.#pieceBytes = 0;
    this.#isTooLong = false;
    if (line?.trim() === "") return;
    const value = line === undefined ? undefined : withUsableArguments(parse(line));
    const message = JSONRPCMessageSchema.safeParse(value);
    if (message.success) this.#receive(message.data);
    else this.#refuse(value, bytes);
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
  #refuse(value: unknown, bytes: number): void {
    this.#dropped += 1;
    this.#log.warn("A line that is no JSON-RPC message was dropped", { bytes }); // never its text
    const known = RequestIdSchema.safeParse(isRecord(value) ? value.id : undefined);
    if (!known.success) return;
    const error = { code: ErrorCode.InvalidRequest, message: "This is not a JSON-RPC 2.0 request." };
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

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function decode(pieces: readonly Uint8Array[]): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(Buffer.concat(pieces));
  } catch {
    return undefined; // bytes that are no text must not become an entry full of question marks
  }
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
