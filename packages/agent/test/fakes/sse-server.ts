// Server-sent events on loopback, each answer written out: for what scripted wires (test/fakes/wires) do not say.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export type SseServer = {
  /** With `/v1`. */
  readonly url: string;
  /** Of the requests, parsed. */
  readonly bodies: readonly unknown[];
  /** Resolves when a connection was closed. */
  readonly closed: Promise<void>;
};

export type SseOptions = {
  /** The last answer never ends. */
  readonly staysOpen?: boolean;
  /** Behind the events of every answer. Default `data: [DONE]` and a blank line. */
  readonly end?: string;
};

/** One list of events per request, in order; whatever path is asked. */
export async function sseServer(
  answers: readonly (readonly object[])[],
  { staysOpen = false, end = "data: [DONE]\n\n" }: SseOptions = {},
): Promise<SseServer> {
  const bodies: unknown[] = [];
  const closed = Promise.withResolvers<void>();
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += String(piece);
    const events = answers[bodies.push(JSON.parse(body)) - 1];
    response.writeHead(events ? 200 : 500, { "content-type": "text/event-stream" });
    response.on("close", () => closed.resolve());
    for (const event of events ?? []) response.write(`data: ${JSON.stringify(event)}\n\n`);
    if (staysOpen && bodies.length === answers.length) return;
    response.end(events ? end : "No answer is left.");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/v1`, bodies, closed: closed.promise };
}
