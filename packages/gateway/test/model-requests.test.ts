// Model requests through the whole server: what log, figures and spans say about them, and how a stop treats them.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { accessLogPath } from "../src/access-log.ts";
import { runningGateway } from "./running-gateway.ts";

/** A chat server whose reply ends when it is released. */
async function model(): Promise<{ readonly config: string; release(): void; readonly asked: Promise<void> }> {
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let noteAsked = (): void => {};
  const asked = new Promise<void>((resolve) => {
    noteAsked = resolve;
  });
  const chunk = (delta: object, rest: object = {}) =>
    `data: ${JSON.stringify({ id: "c1", object: "chat.completion.chunk", created: 1, model: "scripted", choices: [{ index: 0, delta, finish_reason: null, ...rest }] })}\n\n`;
  const server = createServer(async (request, response) => {
    for await (const _ of request); // all of it
    if (request.method === "GET") return void response.end('{"object":"list","data":[]}');
    noteAsked();
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(chunk({ role: "assistant", content: "The crane " }));
    await released;
    response.write(chunk({ content: "is blue." }));
    response.write(chunk({}, { finish_reason: "stop" }));
    response.write(
      `data: ${JSON.stringify({ id: "c1", object: "chat.completion.chunk", created: 1, model: "scripted", choices: [], usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } })}\n\n`,
    );
    response.end("data: [DONE]\n\n");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const config = `model:\n  default: scripted\n  provider: custom\n  base_url: http://127.0.0.1:${port}/v1\n  api_key: none\n  context_length: 100000\n`;
  return { config, release, asked };
}

const BODY = JSON.stringify({
  model: "scripted",
  stream: true,
  stream_options: { include_usage: true },
  messages: [{ role: "user", content: "Which colour is the crane?" }],
});
const POST = { method: "POST", headers: { "content-type": "application/json" }, body: BODY };

describe.each(["agent", "proxy"])("a request in %s mode", (mode) => {
  it("is in the access log and the figures with mode, model and tokens, and without its text", async () => {
    const { config, release } = await model();
    release();
    const gateway = await runningGateway({ config });
    const answer = await gateway.call(`/${mode}/v1/chat/completions`, POST);
    expect(await answer.text()).toContain("is blue.");
    const figures = await (await gateway.call("/metrics")).text();
    expect(figures).toContain('hermes_tokens_total{kind="input"} 10\n');
    expect(figures).toContain('hermes_tokens_total{kind="output"} 5\n');
    await gateway.close();
    const log = readFileSync(accessLogPath(gateway.home), "utf8");
    expect(JSON.parse(log.split("\n")[0] ?? "")).toMatchObject({
      route: `/${mode}/v1/chat/completions`,
      status: 200,
      mode,
      model: "scripted",
      stream: true,
    });
    expect(log + figures + JSON.stringify(gateway.logged)).not.toContain("crane");
  });

  it("is finished when the server stops, and stored", async () => {
    const { config, release, asked } = await model();
    const gateway = await runningGateway({ config });
    const answer = await gateway.call(`/${mode}/v1/chat/completions`, {
      ...POST,
      headers: { ...POST.headers, "x-hermes-session-id": "kitchen" },
    });
    await asked;
    const closed = gateway.close();
    await expect.poll(() => gateway.gateway.isStopping).toBe(true);
    release();
    const text = await answer.text();
    expect(text).toContain("is blue.");
    expect(text.trimEnd()).toMatch(/data: \[DONE\]$/);
    await closed;
    const next = await runningGateway({ home: gateway.home });
    const stored = await next.gateway.memory(undefined).owner.transcript("kitchen", { format: "openai" });
    expect(stored?.messages.map(({ content }) => content)).toEqual([
      "Which colour is the crane?",
      "The crane is blue.",
    ]);
  });
});
