// Between Node's HTTP server and the app, which speaks `Request` and `Response`. Own code instead of @hono/node-server, which prints to
// the console and sends the text of an exception to the client when a stream fails.
import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import type { App } from "./app.ts";
import { TOKEN_PREFIX } from "./identity.ts";

type AdapterOptions = AdapterLimits & {
  /** A reply ended before it was complete, and not because the client left. */
  readonly onBroken: (cause: unknown) => void;
};

export type AdapterLimits = {
  /** A client that does not read its reply for so long is disconnected. */
  readonly stalledMs: number;
  /** After a reply, the rest of a body that nobody read is thrown away for so long; then the connection is closed. */
  readonly lingerMs: number;
};

const BODILESS = new Set(["GET", "HEAD"]);
/** A host name or address, with a port. What else a Host header may be is refused by the guard; it never gets into a URL. */
const PLAIN_HOST = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i;

export function nodeListener(
  app: App,
  { stalledMs, lingerMs, onBroken }: AdapterOptions,
): (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void> {
  return async (incoming, outgoing) => {
    const left = new AbortController();
    outgoing.once("close", () => {
      if (!outgoing.writableFinished) left.abort(new DOMException("The client disconnected.", "AbortError"));
    });
    outgoing.once("finish", () => discardRest(incoming, lingerMs));
    const pathToken = takePathToken(incoming);
    try {
      const response = await app(toRequest(incoming, left.signal), {
        rawHeaders: incoming.rawHeaders,
        remoteAddress: incoming.socket.remoteAddress,
        target: incoming.url ?? "",
        pathToken,
        onClosed: (listener) => {
          if (outgoing.destroyed) listener(outgoing.writableFinished);
          else outgoing.once("close", () => listener(outgoing.writableFinished));
        },
      });
      await send(response, outgoing, stalledMs);
    } catch (cause) {
      // The app renders its own failures, so this is a stream that broke.
      if (!outgoing.destroyed) onBroken(cause);
      if (!outgoing.headersSent && !outgoing.destroyed) sendFailure(outgoing);
      // What was written so far is sent; without the end of the body, the client knows that it is not all.
      else if (outgoing.socket) outgoing.socket.destroySoon();
      else outgoing.destroy();
    }
  };
}

const PATH_TOKEN = new RegExp(`^/(${TOKEN_PREFIX}[^/?]*)/?`);

/** For clients in which only the base URL can be changed: `/hm_.../v1/models`. Nothing behind this line sees it in an address. */
function takePathToken(incoming: IncomingMessage): string | undefined {
  const [whole = "", token] = PATH_TOKEN.exec(incoming.url ?? "") ?? [];
  if (token !== undefined) incoming.url = `/${incoming.url?.slice(whole.length)}`;
  return token;
}

function toRequest(incoming: IncomingMessage, signal: AbortSignal): Request {
  const headers = new Headers();
  const { rawHeaders, method = "GET", url = "" } = incoming;
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    headers.append(rawHeaders[at] as string, rawHeaders[at + 1] as string);
  // Targets that are no path are refused by the app, which gets the original.
  const target = url.startsWith("/") ? url : "/";
  const { host = "" } = incoming.headers;
  // A plain host may still be none: port 99999, or 256.0.0.1.
  const isUsable = PLAIN_HOST.test(host) && URL.canParse(`http://${host}${target}`);
  const address = `http://${isUsable ? host : "localhost"}${target}`;
  // `Request` refuses these; no route takes them, so any method without a route will do.
  const isRefused = /^(?:CONNECT|TRACE|TRACK)$/i.test(method);
  const init = { method: isRefused ? "OPTIONS" : method, headers, signal };
  if (BODILESS.has(method)) return new Request(address, init);
  const body = Readable.toWeb(incoming) as ReadableStream<Uint8Array>;
  return new Request(address, { ...init, body, duplex: "half" } as RequestInit);
}

async function send(response: Response, outgoing: ServerResponse, stalledMs: number): Promise<void> {
  if (outgoing.destroyed) {
    await response.body?.cancel();
    return;
  }
  outgoing.statusCode = response.status;
  for (const [name, value] of response.headers) outgoing.setHeader(name, value); // no cookies: the app removes them
  if (response.body === null) {
    outgoing.end();
    return;
  }
  const reader = response.body.getReader();
  const cancel = (): void => void reader.cancel().catch(() => undefined);
  outgoing.once("close", cancel);
  try {
    // A short reply is one packet, with its length. A stream may have nothing to say for a while, so its headers go first.
    let next = reader.read();
    const first = await now(next);
    if (first === undefined) outgoing.flushHeaders();
    else if (!first.done) {
      next = reader.read();
      // If it fails, the first piece is still sent; the loop below meets the failure.
      if ((await now(next).catch(() => undefined))?.done) {
        outgoing.end(first.value);
        return;
      }
      if (!outgoing.write(first.value)) await drained(outgoing, stalledMs);
    }
    for (let piece = await next; !piece.done; piece = await reader.read()) {
      if (!outgoing.write(piece.value)) await drained(outgoing, stalledMs);
      if (outgoing.destroyed) return;
    }
    outgoing.end();
  } finally {
    outgoing.off("close", cancel);
  }
}

/** For a stream that broke before its first byte. */
function sendFailure(outgoing: ServerResponse): void {
  for (const name of outgoing.getHeaderNames()) if (!name.startsWith("x-")) outgoing.removeHeader(name);
  outgoing.statusCode = 500;
  outgoing.setHeader("content-type", "application/json");
  outgoing.end(JSON.stringify({ error: { code: "internal", message: "The reply could not be made." } }));
}

/** Undefined if it is not there before the next turn of the event loop. */
function now<Value>(value: Promise<Value>): Promise<Value | undefined> {
  return Promise.race([value, new Promise<undefined>((resolve) => setImmediate(resolve, undefined))]);
}

function drained(outgoing: ServerResponse, stalledMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => outgoing.destroy(), stalledMs);
    const end = (): void => {
      clearTimeout(timer);
      outgoing.off("drain", end).off("close", end);
      resolve();
    };
    outgoing.once("drain", end).once("close", end);
  });
}

/** Closing at once would make the client's system throw away a reply that it has not read yet. */
function discardRest(incoming: IncomingMessage, lingerMs: number): void {
  if (incoming.complete || incoming.destroyed) return;
  const { socket } = incoming;
  const timer = setTimeout(() => socket.destroy(), lingerMs).unref();
  incoming.once("end", () => clearTimeout(timer));
  incoming.on("error", () => undefined); // the connection is gone
  incoming.resume();
}
