// The list of models as the vendors' clients read it, and the estimate for `count_tokens`.
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { estimatedTokens } from "../src/allowance.ts";
import { messagesWire } from "../src/wires/messages.ts";
import { runningGateway } from "./running-gateway.ts";

async function serve(config: string, env: Record<string, string> = {}) {
  const { url, localToken = "", call } = await runningGateway({ config, env });
  const openai = new OpenAI({ apiKey: localToken, baseURL: `${url}/v1`, maxRetries: 0 });
  return { call, openai, anthropic: new Anthropic({ apiKey: localToken, baseURL: url, maxRetries: 0 }) };
}

const ID = "deepseek/deepseek-chat";
const MODEL = { default: ID, provider: "openrouter", api_key: "secret-key", context_length: 64000 };
const GARAGE = {
  name: "garage",
  base_url: "http://127.0.0.1:9/v1",
  models: { "llama-70b": { context_length: 8192 }, "qwen/qwen-30b": { context_length: 4096 } },
};

describe("the list of models", () => {
  it("has the configured model first, and models that a name alone leads to", async () => {
    const { call, openai, anthropic } = await serve(JSON.stringify({ model: MODEL }), {
      ANTHROPIC_API_KEY: "k",
    });
    const listed = (await openai.models.list()).data;
    const ids = listed.map(({ id }) => id);
    const first = { id: ID, object: "model", owned_by: "openrouter", context_length: 64000 };
    expect(listed[0]).toMatchObject(first);
    expect(ids.filter((id) => id.startsWith("anthropic:claude"))).not.toEqual([]);
    expect(JSON.stringify(listed)).not.toContain("secret");
    const theirs = [];
    for await (const { id, type } of anthropic.models.list()) theirs.push([id, type]);
    expect(theirs).toEqual(ids.map((id) => [id, "model"]));
    expect(await (await call(`/v1/models/${ID}`)).json()).toMatchObject({ id: ID });
    const other = ids.find((id) => !id.includes("/")) ?? "";
    expect(await openai.models.retrieve(other)).toMatchObject({ id: other });
    expect(await anthropic.models.retrieve(other)).toMatchObject({ type: "model" });
    await expect(openai.models.retrieve("nothing")).rejects.toThrow(OpenAI.NotFoundError);
    const failure = await anthropic.models.retrieve("nothing").catch((cause) => cause);
    expect(failure).toBeInstanceOf(Anthropic.NotFoundError);
    expect(failure.type).toBe("not_found_error");
  });

  it("has the models of the user's own server; it is empty without a model, and there for each mode", async () => {
    const model = { default: "llama-70b", provider: "garage" };
    const { openai } = await serve(JSON.stringify({ model, custom_providers: [GARAGE] }));
    expect((await openai.models.list()).data).toMatchObject([
      { id: "llama-70b", owned_by: "custom:garage" },
      { id: "qwen/qwen-30b", owned_by: "custom:garage", context_length: 4096 },
    ]);
    const without = await serve("");
    expect((await without.openai.models.list()).data).toEqual([]);
    for (const prefix of ["agent", "proxy"])
      expect((await without.call(`/${prefix}/v1/models`)).status).toBe(200);
  });

  it("stands beside the capabilities that clients of Hermes Agent read", async () => {
    const { call } = await serve(JSON.stringify({ model: MODEL }));
    const capabilities = await (await call("/v1/capabilities")).json();
    expect(capabilities).toMatchObject({
      object: "hermes.api_server.capabilities",
      platform: "hermes-agent",
      model: ID,
      features: { chat_completions: true, session_continuity_header: "X-Hermes-Session-Id" },
    });
    type Endpoint = { readonly method: string; readonly path: string };
    for (const { method, path } of Object.values((capabilities as { endpoints: Endpoint[] }).endpoints))
      expect([404, 405], path).not.toContain((await call(path, { method })).status);
  });
});

it("the estimate of tokens grows with system, tools and messages, and counts pages of a file", () => {
  const tokensOf = (body: object): number => {
    const usual = { model: "m", messages: [{ role: "user", content: "hi" }] };
    return estimatedTokens(messagesWire.parse({ ...usual, ...body }));
  };
  const look = { name: "look", description: "Looks around. ".repeat(50), input_schema: { type: "object" } };
  for (const body of [
    { system: "Be kind. ".repeat(50) },
    { tools: [look] },
    { messages: [{ role: "user", content: "hello ".repeat(500) }] },
  ])
    expect(tokensOf(body)).toBeGreaterThan(tokensOf({}) + 100);
  const source = { type: "base64", media_type: "application/pdf", data: "A".repeat(300_000) };
  const tokens = tokensOf({ messages: [{ role: "user", content: [{ type: "document", source }] }] });
  expect(tokens).toBeGreaterThan(5_000);
  expect(tokens).toBeLessThan(20_000);
});
