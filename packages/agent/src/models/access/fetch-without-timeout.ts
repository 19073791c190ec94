// A `fetch` without a timeout. Node's own gives up when a server sends nothing for five minutes, and a model on this machine may
// take longer before its first token. For model calls to this machine only: it follows no redirects, decompresses nothing, and
// takes only text as a body.
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { Readable } from "node:stream";

export const fetchWithoutTimeout: typeof fetch = async (input, init = {}) => {
  const url = new URL(input instanceof Request ? input.url : input);
  const { method = "GET", body, signal } = init;
  if (body !== undefined && body !== null && typeof body !== "string")
    throw new TypeError("Only text can be sent to a model server on this machine.");
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const send = url.protocol === "https:" ? httpsRequest : httpRequest;
  const call = send(url, { method, headers: Object.fromEntries(new Headers(init.headers)), agent: false });
  // Also while the answer is read: aborting closes the socket of the stream.
  const abort = (): void => void call.destroy(asError(signal?.reason));
  signal?.addEventListener("abort", abort, { once: true });
  call.once("close", () => signal?.removeEventListener("abort", abort));
  call.once("response", (answer) => {
    try {
      resolve(toResponse(answer));
    } catch (cause) {
      call.destroy(asError(cause)); // a status or header that no `Response` can have
    }
  });
  // As `fetch` does: reject with the signal's reason, or with a TypeError that has the socket's error as its cause.
  call.on("error", (cause) =>
    reject(signal?.aborted ? signal.reason : new TypeError("fetch failed", { cause })),
  );
  call.end(body ?? undefined);
  return promise;
};

/** Statuses for which `Response` accepts no body. */
const WITHOUT_BODY = [204, 205, 304];

function toResponse(answer: IncomingMessage): Response {
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(answer.headersDistinct))
    for (const value of values) headers.append(name, value);
  const { statusCode: status = 0, statusMessage: statusText = "" } = answer;
  if (!WITHOUT_BODY.includes(status))
    return new Response(Readable.toWeb(answer) as ReadableStream<Uint8Array>, {
      status,
      statusText,
      headers,
    });
  answer.resume();
  return new Response(null, { status, statusText, headers });
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new DOMException("This operation was aborted", "AbortError");
}
