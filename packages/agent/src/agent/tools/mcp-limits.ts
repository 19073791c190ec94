// How much an MCP server may say at once, over either transport. Documented in docs/agent.md.
import { groupThousands, isRecord, JsonNesting, outsideJsonOr } from "@hermes-memory/core/lib";

/**
 * Of one message: a line over stdio, a body or an event of a stream over HTTP. Deeper than any tool may be, so that a list in
 * which one tool is too deep still gives the others.
 */
export const MCP_MESSAGE = {
  maxBytes: 8 * 1024 * 1024,
  maxChars: 8 * 1024 * 1024,
  maxDepth: 10_000,
} as const;

/** Of all that a server sends for one request over HTTP: notifications before the answer. */
const MOST_REQUEST_BYTES = 64 * 1024 * 1024;

/** Reads on after "the server did not answer". */
export function messageTooLarge(): string {
  return `it sent a message of more than ${groupThousands(MCP_MESSAGE.maxBytes)} bytes, and no more is taken`;
}

/** A `fetch` whose answers end with an error as soon as they pass the limits. */
export function boundedFetch(send: typeof fetch): typeof fetch {
  return async (input, init) => {
    const response = await send(input, init);
    if (response.body === null) return response;
    const isStream = response.headers.get("content-type")?.includes("text/event-stream") === true;
    const id = requestId(init?.body);
    // The stream that answers no request stays open for as long as the connection does.
    const gauge = new MessageGauge(
      isStream,
      id === undefined ? Number.POSITIVE_INFINITY : MOST_REQUEST_BYTES,
    );
    const bounded = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        const breach = gauge.push(chunk);
        if (breach === undefined) return controller.enqueue(chunk);
        if (id === undefined || !isStream) throw new Error(breach);
        // The client only notes that a stream broke; the request behind it would wait for its timeout.
        controller.enqueue(new TextEncoder().encode(refusalEvent(id, breach)));
        controller.terminate();
      },
    });
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(bounded), { status, statusText, headers });
  };
}

/** Size and depth of the message that is being read. Each byte is looked at once. */
class MessageGauge {
  readonly #isStream: boolean;
  readonly #mostBytes: number;
  #allBytes = 0;
  #bytes = 0;
  #isLineStart = true;
  #nesting = new JsonNesting();

  /** `isStream`: of server-sent events, which end with a blank line. `mostBytes`: of all messages together. */
  constructor(isStream: boolean, mostBytes: number) {
    this.#isStream = isStream;
    this.#mostBytes = mostBytes;
  }

  /** What is wrong with it, once something is. */
  push(chunk: Uint8Array): string | undefined {
    this.#allBytes += chunk.length;
    if (this.#allBytes > this.#mostBytes)
      return `it sent more than ${groupThousands(this.#mostBytes)} bytes for one request, and no more is taken`;
    for (const byte of chunk) {
      this.#bytes += 1;
      this.#nesting.step(byte);
      if (this.#isStream) this.#noteLine(byte);
      if (this.#bytes > MCP_MESSAGE.maxBytes) return messageTooLarge();
      if (this.#nesting.depth > MCP_MESSAGE.maxDepth)
        return `it sent a message that is nested deeper than ${groupThousands(MCP_MESSAGE.maxDepth)} levels`;
    }
    return undefined;
  }

  #noteLine(byte: number): void {
    if (byte === CARRIAGE_RETURN) return; // of `\r\n`; one that ends a line alone only makes events look longer
    if (byte === NEWLINE && this.#isLineStart) {
      this.#bytes = 0;
      this.#nesting = new JsonNesting();
    }
    this.#isLineStart = byte === NEWLINE;
  }
}

const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;

function requestId(body: unknown): string | number | undefined {
  const message = typeof body === "string" ? outsideJsonOr(body, undefined, MCP_MESSAGE) : undefined;
  const id = isRecord(message) ? message.id : undefined;
  return typeof id === "string" || typeof id === "number" ? id : undefined;
}

/** Turns the event that has begun into one of a kind nobody listens to, and answers in place of the server. */
function refusalEvent(id: string | number, message: string): string {
  const answer = { jsonrpc: "2.0", id, error: { code: -32_000, message } };
  return `\nevent: too-large\n\ndata: ${JSON.stringify(answer)}\n\n`;
}
