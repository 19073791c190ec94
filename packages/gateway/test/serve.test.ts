// The life of the server: port, slow clients, draining, config as it is now.
import { chmodSync, writeFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { openMemory } from "@hermes-memory/core/internal/memory";
import { describe, expect, it, onTestFinished } from "vitest";
import { tempDirectory } from "../../core/test/fakes/temp-directory.ts";
import { route, runningGateway, type TestGateway } from "./running-gateway.ts";

/** Occupies a port whose successor is free. */
async function takenPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as { port: number }).port;
}

/** Sends these bytes, and resolves with what came back when the connection is closed. */
function bytes({ port }: Pick<TestGateway, "port">, text: string, drip?: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(text));
    const timer = drip === undefined ? undefined : setInterval(() => socket.write(drip), 40);
    let answer = "";
    socket.on("data", (chunk) => (answer += chunk.toString("latin1")));
    socket.on("error", () => {});
    socket.on("close", () => {
      clearInterval(timer);
      resolve(answer);
    });
  });
}

/** A route that streams until it is released, and stores what happened to it. */
function endless() {
  const events: string[] = [];
  let finish = (): void => {};
  const stream = route("/test/stream", async ({ signal }) => {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(Buffer.from("begun\n"));
        finish = () => {
          controller.enqueue(Buffer.from("ended\n"));
          controller.close();
        };
        signal.addEventListener("abort", () => {
          events.push("aborted");
          controller.enqueue(Buffer.from("stored\n"));
          controller.close();
        });
      },
    });
    return new Response(body);
  });
  return { stream, events, finish: () => finish() };
}

describe("the port", () => {
  it("is the next free one when it is taken", async () => {
    const port = await takenPort();
    const gateway = await runningGateway({ port });
    expect(gateway.port).toBeGreaterThan(port);
    expect(gateway.port).toBeLessThan(port + 20);
    expect(gateway.portTaken).toBe(port);
    expect((await gateway.call("/healthz")).status).toBe(200);
  });

  it("is refused with the reason when the address is not this machine's", async () => {
    await expect(runningGateway({ host: "192.0.2.1" })).rejects.toMatchObject({
      code: "gateway-cannot-listen",
      message: expect.stringContaining("192.0.2.1"),
    });
  });
});

describe("readiness", () => {
  it("says what is wrong without naming files", async () => {
    const { call, home } = await runningGateway();
    expect(await (await call("/readyz")).json()).toEqual({
      status: "ok",
      checks: { server: "ok", home: "ok", database: "ok", config: "ok" },
    });
    writeFileSync(join(home, "state.db"), "this is no database".repeat(100));
    writeFileSync(join(home, "config.yaml"), "gateway:\n  port: many\n");
    await expect.poll(async () => (await call("/readyz")).status, { timeout: 4_000 }).toBe(503);
    const text = await (await call("/readyz")).text();
    expect(JSON.parse(text)).toMatchObject({
      status: "unavailable",
      checks: { database: "the session database cannot be opened", config: "config.yaml has a mistake" },
    });
    expect(text).not.toContain(home);
    expect((await call("/healthz")).status).toBe(200);
  });

  it.skipIf(process.getuid?.() === 0)("notices a home that cannot be written", async () => {
    const { call, home } = await runningGateway();
    chmodSync(home, 0o500);
    onTestFinished(() => chmodSync(home, 0o700));
    expect(await (await call("/readyz")).json()).toMatchObject({
      checks: { home: "the home cannot be written" },
    });
  });
});

describe("settings", () => {
  it("are those of config.yaml and .env as they are now; a mistake leaves them as they were", async () => {
    const { gateway, home, logged } = await runningGateway({ config: "gateway:\n  mode: agent\n" });
    const file = join(home, "config.yaml");
    writeFileSync(file, "gateway:\n  mode: proxy\n");
    expect((await gateway.config()).gateway.mode).toBe("proxy");
    writeFileSync(file, "gateway:\n  mode: nonsense\n");
    expect((await gateway.config()).gateway.mode).toBe("proxy");
    expect((await gateway.config()).gateway.mode).toBe("proxy");
    expect(logged.filter(({ message }) => message.includes("config.yaml has a mistake"))).toHaveLength(1);
    expect(gateway.env.SOME_KEY).toBeUndefined();
    writeFileSync(join(home, ".env"), "SOME_KEY=abc\n");
    expect(gateway.env.SOME_KEY).toBe("abc");
  });

  it("stop the start when they cannot be used at all", async () => {
    await expect(runningGateway({ config: "gateway:\n  port: many\n" })).rejects.toMatchObject({
      code: "config",
    });
  });
});

describe("slow and greedy clients", () => {
  const limits = { headersMs: 200, requestMs: 400, bodyMs: 250, checkEveryMs: 50 };

  it("that drip headers are cut off", async () => {
    const gateway = await runningGateway({ limits });
    const answer = await bytes(gateway, "GET /healthz HTTP/1.1\r\n", "x-a: b\r\n");
    expect(answer).toMatch(/^(HTTP\/1.1 408 |$)/);
    expect((await gateway.call("/healthz")).status).toBe(200);
  });

  it("that drip a body get 408 in the shape of the route", async () => {
    const echo = route("/test/echo", async (request) => Response.json(await request.json()));
    const gateway = await runningGateway({ limits, routes: [echo] });
    const head = `POST /test/echo HTTP/1.1\r\nHost: 127.0.0.1:${gateway.port}\r\nX-Api-Key: ${gateway.localToken}\r\nContent-Length: 100000\r\n\r\n{`;
    const answer = await bytes(gateway, head, " ");
    expect(answer).toMatch(/^HTTP\/1.1 408 /);
    expect(answer).toContain("body-too-slow");
  });

  it("that do not read their reply are cut off", async () => {
    let isCancelled = false;
    const flood = route("/test/flood", async () => {
      const body = new ReadableStream<Uint8Array>({
        pull: (controller) => controller.enqueue(new Uint8Array(65_536)),
        cancel: () => {
          isCancelled = true;
        },
      });
      return new Response(body);
    });
    const gateway = await runningGateway({ limits: { stalledMs: 200 }, routes: [flood] });
    const socket = connect(gateway.port, "127.0.0.1");
    socket.on("error", () => {});
    socket.pause();
    socket.write(
      `POST /${gateway.localToken}/test/flood HTTP/1.1\r\nHost: 127.0.0.1:${gateway.port}\r\nContent-Length: 0\r\n\r\n`,
    );
    await expect.poll(() => isCancelled, { timeout: 5_000 }).toBe(true);
    socket.destroy();
  });

  it("that are too many are not accepted, and counted", async () => {
    const gateway = await runningGateway({ limits: { maxConnections: 2 } });
    const held = [0, 1].map(() => connect(gateway.port, "127.0.0.1"));
    onTestFinished(() => held.forEach((socket) => void socket.destroy()));
    await Promise.all(held.map((socket) => new Promise((resolve) => socket.once("connect", resolve))));
    expect(await bytes(gateway, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")).toBe("");
    held[0]?.destroy();
    await expect
      .poll(async () => (await gateway.call("/metrics").catch(() => undefined))?.text(), { timeout: 3_000 })
      .toContain('hermes_connections_refused_total{reason="too-many"}');
  });
});

describe("stopping", () => {
  it("lets a running reply finish, and refuses new requests on kept connections", async () => {
    const { stream, events, finish } = endless();
    const gateway = await runningGateway({ routes: [stream] });
    const answer = await gateway.call("/test/stream", { method: "POST" });
    const reader = answer.body?.getReader();
    await reader?.read();
    // A connection on which a request waits for its body is kept.
    const kept = connect(gateway.port, "127.0.0.1");
    let told = "";
    kept.on("data", (chunk) => (told += chunk.toString()));
    kept.write(`GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:${gateway.port}\r\n`);
    await new Promise((resolve) => setTimeout(resolve, 50));
    const closed = gateway.close();
    kept.write("\r\n");
    await expect.poll(() => told).toContain("200 OK");
    const late = connect(gateway.port, "127.0.0.1");
    await new Promise<void>((resolve) => late.once("error", () => resolve()).once("close", () => resolve()));
    finish();
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe("ended\n");
    expect((await reader?.read())?.done).toBe(true);
    await closed;
    expect(events).toEqual([]);
    await expect(gateway.call("/healthz")).rejects.toThrow();
  });

  it("answers 503 to a request that arrives while it stops", async () => {
    const { stream, finish } = endless();
    const gateway = await runningGateway({ routes: [stream] });
    const answer = await gateway.call("/test/stream", { method: "POST" });
    const half = httpRequest({ port: gateway.port, host: "127.0.0.1", path: "/metrics", method: "GET" });
    const socket = await new Promise<import("node:net").Socket>((resolve) => half.once("socket", resolve));
    await new Promise<void>((resolve) => socket.once("connect", resolve));
    socket.write(`GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:${gateway.port}\r\n`);
    await new Promise((resolve) => setTimeout(resolve, 50));
    const closed = gateway.close();
    let told = "";
    socket.on("data", (chunk: Buffer) => (told += chunk.toString()));
    half.on("error", () => {});
    socket.write("\r\n");
    await expect.poll(() => told).toMatch(/^HTTP\/1.1 503 /);
    expect(told).toMatch(/connection: close/i);
    finish();
    await answer.text();
    await closed;
  });

  it("stops a reply that does not come to an end, after giving it time to store what it has", async () => {
    const { stream, events } = endless();
    const gateway = await runningGateway({ routes: [stream], limits: { drainMs: 100 } });
    const answer = await gateway.call("/test/stream", { method: "POST" });
    const text = answer.text();
    await gateway.close();
    expect(events).toEqual(["aborted"]);
    expect(await text).toBe("begun\nstored\n");
  });

  it("ends subscriptions at once", async () => {
    const { stream, events } = endless();
    const gateway = await runningGateway({ routes: [{ ...stream, method: "GET" }] });
    const answer = await gateway.call("/test/stream");
    const startedAt = performance.now();
    await gateway.close();
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    expect(events).toEqual(["aborted"]);
    await answer.text();
  });

  it("closes the homes, so that the next server goes on with what was stored", async () => {
    const home = tempDirectory();
    const first = await runningGateway({ home });
    const note = (text: string) => [{ role: "user" as const, content: text }];
    await first.gateway.memory(undefined).owner.remember("chat-1", note("the crane is blue"));
    const { gateway } = first;
    await first.close();
    await first.close();
    await expect(gateway.memory(undefined).owner.remember("chat-1", note("late"))).rejects.toMatchObject({
      code: "memory-closed",
    });
    const second = await runningGateway({ home });
    await second.gateway.memory(undefined).owner.remember("chat-1", note("and tall"));
    await second.close();
    await using memory = await openMemory({ home });
    const messages = (await memory.owner.transcript("chat-1", { format: "hermes" }))?.messages ?? [];
    expect(messages.map(({ content }) => content)).toEqual(["the crane is blue", "and tall"]);
  });
});
