// The list of models as the vendors' clients read it, and the estimate for `count_tokens`.
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import { loadConfig } from "@hermes-memory/core/internal/config";
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import OpenAI from "openai";
import { afterEach, describe, expect, it } from "vitest";
import { tempDirectory } from "../../core/test/fakes/temp-directory.ts";
import { estimatedTokens } from "../src/allowance.ts";
import { modelsRoutes } from "../src/models-route.ts";
import type { Gateway, RouteRequest } from "../src/types.ts";
import { messagesWire } from "../src/wires/messages.ts";
import { requestOf } from "./wires/wire-server.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0)) await clean();
});

/** The routes on a real server, for a home with this config.yaml. */
async function serve(yaml: string, env: Record<string, string> = {}) {
  const home = tempDirectory();
  writeFileSync(join(home, "config.yaml"), yaml);
  const gateway = {
    env,
    config: async () => {
      const loaded = await loadConfig(home);
      if (!loaded.ok) throw new Error(loaded.error.message);
      return loaded.value;
    },
  } as unknown as Gateway;
  const app = new Hono();
  for (const { method, path, handle } of modelsRoutes)
    app.on(method, path, ({ req }) =>
      handle(
        {
          headers: req.raw.headers,
          params: req.param(),
          caller: { kind: "local" },
        } as unknown as RouteRequest,
        gateway,
      ),
    );
  // `Response` stays the one of Node, also for the tests that run after these.
  const server = createServer(getRequestListener(app.fetch, { overrideGlobalObjects: false }));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(
    () => server.closeAllConnections(),
    () => new Promise((resolve) => server.close(resolve)),
  );
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    openai: new OpenAI({ apiKey: "k", baseURL: `${url}/v1`, maxRetries: 0 }),
    anthropic: new Anthropic({ apiKey: "k", baseURL: url, maxRetries: 0 }),
  };
}

const CONFIG = `
model:
  default: deepseek/deepseek-chat
  provider: openrouter
  api_key: secret-key
  context_length: 64000
`;

const GARAGE = `
model:
  default: llama-70b
  provider: garage
custom_providers:
  - name: garage
    base_url: http://127.0.0.1:9/v1
    models:
      llama-70b: { context_length: 8192 }
      qwen/qwen-30b: { context_length: 4096 }
`;

describe("the list of models", () => {
  it("has the configured model first, and models that a name alone leads to", async () => {
    const { openai, anthropic } = await serve(CONFIG, { ANTHROPIC_API_KEY: "k" });
    const listed = (await openai.models.list()).data;
    const ids = listed.map(({ id }) => id);
    expect(listed[0]).toMatchObject({
      id: "deepseek/deepseek-chat",
      object: "model",
      owned_by: "openrouter",
      context_length: 64000,
    });
    expect(ids.filter((id) => id.startsWith("anthropic:claude"))).not.toEqual([]);
    expect(JSON.stringify(listed)).not.toContain("secret");
    const theirs = [];
    for await (const { id, type } of anthropic.models.list()) theirs.push([id, type]);
    expect(theirs).toEqual(ids.map((id) => [id, "model"]));
    expect(await openai.models.retrieve("deepseek/deepseek-chat")).toMatchObject({
      id: "deepseek/deepseek-chat",
    });
    expect(await anthropic.models.retrieve("deepseek/deepseek-chat")).toMatchObject({ type: "model" });
  });

  it("has the models of the user's own server", async () => {
    const { openai } = await serve(GARAGE);
    expect((await openai.models.list()).data).toMatchObject([
      { id: "llama-70b", owned_by: "custom:garage" },
      { id: "qwen/qwen-30b", owned_by: "custom:garage", context_length: 4096 },
    ]);
  });

  it("is empty without a model, and there for each mode", async () => {
    const { openai, url } = await serve("");
    expect((await openai.models.list()).data).toEqual([]);
    for (const prefix of ["agent", "proxy"])
      expect((await fetch(`${url}/${prefix}/v1/models`)).status).toBe(200);
  });

  it("refuses an unknown model in the shape of the caller's vendor", async () => {
    const { openai, anthropic } = await serve(CONFIG);
    await expect(openai.models.retrieve("nothing")).rejects.toThrow(OpenAI.NotFoundError);
    const failure = await anthropic.models.retrieve("nothing").catch((cause) => cause);
    expect(failure).toBeInstanceOf(Anthropic.NotFoundError);
    expect(failure.type).toBe("not_found_error");
  });

  it("stands beside the capabilities that clients of Hermes Agent read", async () => {
    const { url } = await serve(CONFIG);
    expect(await (await fetch(`${url}/v1/capabilities`)).json()).toMatchObject({
      object: "hermes.api_server.capabilities",
      platform: "hermes-agent",
      model: "deepseek/deepseek-chat",
      auth: { type: "bearer", required: false },
      features: { chat_completions: true, session_continuity_header: "X-Hermes-Session-Id" },
      endpoints: { chat_completions: { method: "POST", path: "/v1/chat/completions" } },
    });
  });
});

describe("the estimate of tokens", () => {
  const read = (body: object) =>
    requestOf(messagesWire, { model: "m", messages: [{ role: "user", content: "hi" }], ...body });

  it("grows with system, tools and messages", () => {
    const least = estimatedTokens(read({}));
    expect(least).toBeGreaterThan(0);
    for (const body of [
      { system: "Be kind. ".repeat(50) },
      {
        tools: [{ name: "look", description: "Looks around. ".repeat(50), input_schema: { type: "object" } }],
      },
      { messages: [{ role: "user", content: "hello ".repeat(500) }] },
    ])
      expect(estimatedTokens(read(body))).toBeGreaterThan(least + 100);
  });

  it("counts pages of a file instead of its base64 text", () => {
    const source = { type: "base64", media_type: "application/pdf", data: "A".repeat(300_000) };
    const tokens = estimatedTokens(
      read({ messages: [{ role: "user", content: [{ type: "document", source }] }] }),
    );
    expect(tokens).toBeGreaterThan(5_000);
    expect(tokens).toBeLessThan(20_000);
  });
});
