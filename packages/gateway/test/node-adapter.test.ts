import { createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { App } from "../src/app.ts";
import { nodeListener } from "../src/node-adapter.ts";

/** What broke off replies. */
let causes: unknown[] = [];
beforeEach(() => {
  causes = [];
});

async function serving(app: App): Promise<string> {
  const limits = { stalledMs: 120_000, lingerMs: 500 };
  const onBroken = (cause: unknown): void => void causes.push(cause);
  const server = createServer(nodeListener(app, { ...limits, onBroken }));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe("the adapter to Node's server", () => {
  it("hands over method, target, headers in their order, and the body", async () => {
    let seen: unknown;
    const url = await serving(async (request, { rawHeaders, target, remoteAddress }) => {
      seen = { method: request.method, url: request.url, target, remoteAddress, body: await request.text() };
      return new Response(
        rawHeaders.filter((_text, at) => /^x-/i.test(rawHeaders[at - (at % 2)] ?? "")).join(),
      );
    });
    const answer = await new Promise<string>((resolve) => {
      const sent = httpRequest(
        `${url}/a?b=1`,
        { method: "PUT", headers: { "X-One": ["1", "2"] } },
        (response) => {
          response.setEncoding("utf8").on("data", resolve);
        },
      );
      sent.end("body");
    });
    expect(answer).toBe("X-One,1,X-One,2");
    expect(seen).toEqual({
      method: "PUT",
      url: `${url}/a?b=1`,
      target: "/a?b=1",
      remoteAddress: "127.0.0.1",
      body: "body",
    });
  });

  it("never puts a strange Host into the URL", async () => {
    const url = await serving(async (request) => new Response(request.url));
    const ask = (host: string) =>
      new Promise<string>((resolve) => {
        const sent = httpRequest(`${url}/x`, { headers: { host } }, (response) => {
          response.setEncoding("utf8").on("data", resolve);
        });
        sent.end();
      });
    expect(await ask("user:pw@evil.example/path?")).toBe("http://localhost/x");
    expect(await ask("[::1]:80")).toBe("http://[::1]/x");
  });

  it("cuts a reply off when its stream breaks, and tells the client nothing of the reason", async () => {
    const url = await serving(async () => {
      let pulls = 0;
      const body = new ReadableStream<Uint8Array>({
        pull(controller) {
          pulls += 1;
          if (pulls === 1) controller.enqueue(Buffer.from("begun"));
          else controller.error(new Error("secret reason"));
        },
      });
      return new Response(body);
    });
    const answer = await fetch(url);
    const broken = await answer.text().catch((cause: Error) => cause);
    expect(broken).toBeInstanceOf(Error);
    expect(String(broken)).not.toContain("secret");
    expect(causes).toEqual([expect.objectContaining({ message: "secret reason" })]);
  });

  it("answers 500 when a stream breaks before its first byte", async () => {
    const url = await serving(
      async () =>
        new Response(new ReadableStream({ start: (stream) => stream.error(new Error("secret reason")) }), {
          headers: { "content-type": "text/event-stream", "x-request-id": "r-1" },
        }),
    );
    const answer = await fetch(url);
    expect([answer.status, answer.headers.get("x-request-id")]).toEqual([500, "r-1"]);
    expect(await answer.json()).toEqual({
      error: { code: "internal", message: "The reply could not be made." },
    });
    expect(causes).toHaveLength(1);
  });

  it("cancels a stream when the client leaves, and aborts the signal", async () => {
    const events: string[] = [];
    const url = await serving(async (request, info) => {
      request.signal.addEventListener("abort", () => events.push("aborted"));
      info.onClosed?.((isComplete) => events.push(`closed ${isComplete}`));
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(Buffer.from("begun")),
        cancel: () => void events.push("cancelled"),
      });
      return new Response(body);
    });
    const leaving = new AbortController();
    const answer = await fetch(url, { signal: leaving.signal });
    await answer.body?.getReader().read();
    leaving.abort();
    await expect.poll(() => [...events].sort()).toEqual(["aborted", "cancelled", "closed false"]);
  });
});
