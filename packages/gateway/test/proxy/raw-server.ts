// A model server that records the bytes it gets and answers with the bytes it is told.
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export type RawRequest = {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
};

export type RawServer = {
  /** With `/v1`. */
  readonly url: string;
  readonly requests: readonly RawRequest[];
  /** Connections that the client closed before the answer was complete. */
  readonly abandoned: () => number;
};

export async function rawServer(
  answer: (response: ServerResponse, request: RawRequest, index: number) => void | Promise<void>,
): Promise<RawServer> {
  const requests: RawRequest[] = [];
  let abandoned = 0;
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString("utf8");
    const request = { path: incoming.url ?? "", headers: incoming.headers, body };
    requests.push(request);
    response.once("close", () => {
      if (!response.writableEnded) abandoned += 1;
    });
    await answer(response, request, requests.length - 1);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/v1`, requests, abandoned: () => abandoned };
}

export function json(
  response: ServerResponse,
  body: unknown,
  status = 200,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(typeof body === "string" ? body : JSON.stringify(body));
}
