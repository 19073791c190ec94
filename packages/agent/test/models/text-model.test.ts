// Models for small tasks.

import { HermesError } from "@hermes-memory/core/internal/lib";
import { MockLanguageModelV4 } from "ai/test";
import { MockLanguageModelV2 } from "ai5/test";
import { MockLanguageModelV3 } from "ai6/test";
import { describe, expect, it } from "vitest";
import { fromSdkModel, openModel } from "../../src/models/index.ts";
import {
  type AuxiliaryTask,
  auxiliaryModel,
  type MainModel,
  toTextModel,
} from "../../src/models/text-model.ts";
import { overflow, serverError } from "../fakes/wires/script.ts";
import { startWire } from "../fakes/wires/wire-in-test.ts";
import { chosenFor, wireModel } from "./access/over-http.ts";

describe("a text model", () => {
  it("answers with the text alone", async () => {
    const { wire, model } = await wireModel("anthropic", [{ text: "Cranes", reasoning: "Hm." }]);
    const text = await toTextModel(model, { temperature: 0.3 }).complete({
      system: "Name it.",
      prompt: "A crane is high.",
      maxOutputTokens: 20,
    });
    expect(text).toBe("Cranes");
    expect(wire.systemOf(0)).toBe("Name it.");
    expect(wire.requests[0]?.body).toMatchObject({ max_tokens: 20, temperature: 0.3 });
  });

  it("leaves out a fence of memory, as titles and summaries must", async () => {
    const said = "Sure: <memory-context>\n- a secret\n</memory-context>\nCranes";
    const { model } = await wireModel("anthropic", [{ text: said }]);
    const asked = { system: "Name it.", prompt: "A crane is high.", maxOutputTokens: 20 };
    expect(await toTextModel(model).complete(asked)).toBe("Sure: \nCranes");
  });

  it("fails with an error that says which kind it was", async () => {
    const { model } = await wireModel("chat", [overflow(4096)]);
    const failed = await toTextModel(model)
      .complete({ prompt: "x" })
      .catch((cause: unknown) => cause);
    expect(failed).toBeInstanceOf(HermesError);
    expect(failed).toMatchObject({ code: "model-failed", cause: { kind: "overflow", limitTokens: 4096 } });
  });

  it("has a deadline, and tells it from the caller's own end", async () => {
    const { wire, model } = await wireModel("chat", [
      { text: "late", pauseBefore: "forever" },
      { text: "late", pauseBefore: "forever" },
    ]);
    const late = await toTextModel(model, { timeoutMs: 60 })
      .complete({ prompt: "x" })
      .catch((cause: unknown) => cause);
    expect(late).toMatchObject({ code: "model-failed", cause: { kind: "stalled", code: "ETIMEDOUT" } });
    const stop = new AbortController();
    const call = toTextModel(model, { timeoutMs: 60_000 }).complete({ prompt: "x", signal: stop.signal });
    await wire.waitForRequest(1);
    const reason = new Error("enough");
    stop.abort(reason);
    await expect(call).rejects.toBe(reason);
  });

  it("leaves the temperature out for a model that rejects it, and does not try again later", async () => {
    const message = "Unsupported value: 'temperature' does not support 0.1 with this model.";
    const error = { message, type: "invalid_request_error", param: "temperature", code: "unsupported_value" };
    const rejected = { status: 400, body: { error } };
    const { wire, model } = await wireModel("chat", [rejected, { text: "one" }, { text: "two" }]);
    const text = toTextModel(model, { temperature: 0.1 });
    expect(await text.complete({ prompt: "x" })).toBe("one");
    expect(await text.complete({ prompt: "y" })).toBe("two");
    expect(wire.requests.map(({ body }) => body.temperature)).toEqual([0.1, undefined, undefined]);
  });

  it("asks once, unless told otherwise", async () => {
    const { wire, model } = await wireModel("chat", [serverError()]);
    await expect(toTextModel(model).complete({ prompt: "x" })).rejects.toMatchObject({
      code: "model-failed",
    });
    expect(wire.requests).toHaveLength(1);
  });
});

describe("the model of a task", () => {
  const UNSET: AuxiliaryTask = { provider: "auto", model: "", baseUrl: "", apiKey: "" };
  const config = {
    model: { default: "", provider: "", baseUrl: "", apiKey: "", apiMode: "", probeRemote: false },
    models: { prices: {}, customProviders: [] },
  };
  const sources = { env: {}, config };

  async function mainAt(url: string): Promise<MainModel> {
    const chosen = chosenFor("chat", url);
    return { model: await openModel(chosen), chosen };
  }

  async function forTask(task: Partial<AuxiliaryTask>, main: MainModel, env = {}) {
    return auxiliaryModel({ ...UNSET, ...task }, main, { ...sources, env });
  }

  it("is the main one when config names no other", async () => {
    const main = await mainAt("http://127.0.0.1:9/v1");
    expect(await forTask({}, main)).toEqual({ ok: true, value: main });
  });

  it("is another one of the main model's server when only a name is given", async () => {
    const main = await mainAt("http://127.0.0.1:9/v1");
    const found = await forTask({ model: "small" }, main);
    expect(found).toMatchObject({ ok: true, value: { chosen: { ...main.chosen, model: "small" } } });
  });

  it("is the main one, or one of its server, for the provider 'main', whatever the name looks like", async () => {
    const main = await mainAt("http://127.0.0.1:9/v1");
    expect(await forTask({ provider: "main" }, main)).toEqual({ ok: true, value: main });
    expect(await forTask({ provider: " Main ", model: "claude-x" }, main)).toMatchObject({
      ok: true,
      value: { chosen: { ...main.chosen, model: "claude-x" } },
    });
  });

  it("is another vendor's when the name says so, with that vendor's key", async () => {
    const main = await mainAt("http://127.0.0.1:9/v1");
    const env = { ANTHROPIC_API_KEY: "other-key" };
    const found = await forTask({ model: "anthropic:claude-x" }, main, env);
    expect(found).toMatchObject({
      ok: true,
      value: { chosen: { provider: "anthropic", apiKey: "other-key" } },
    });
    expect(await forTask({ model: "claude-x" }, main)).toMatchObject({
      ok: false,
      error: { kind: "no_key" },
    });
  });

  it("may be one of the Nous Portal", async () => {
    const main = await mainAt("http://127.0.0.1:9/v1");
    const found = await forTask({ provider: "nous", model: "Hermes-4-70B" }, main, {
      NOUS_API_KEY: "nous-key",
    });
    expect(found).toMatchObject({
      ok: true,
      value: { chosen: { provider: "nous", model: "Hermes-4-70B", apiKey: "nous-key" } },
    });
    expect(await forTask({ provider: "nous", model: "Hermes-4-70B" }, main)).toMatchObject({
      ok: false,
      error: { kind: "no_key", message: "No key for Nous Portal was found." },
    });
  });

  it("may have another address, and does not get the main model's key", async () => {
    const wire = await startWire("chat", [{ text: "ok" }]);
    const main = await mainAt("http://127.0.0.1:9/v1");
    const found = await forTask({ model: "small", baseUrl: wire.url, extraBody: { top_k: 3 } }, main);
    if (!found.ok) throw new Error(found.error.message);
    await toTextModel(found.value.model).complete({ prompt: "x" });
    expect(wire.requests[0]?.body).toMatchObject({ model: "small", top_k: 3 });
    expect(wire.requests[0]?.headers).not.toHaveProperty("authorization");
  });
});

describe("a model object of the AI SDK", () => {
  /** As a vendor's package of that version streams it. */
  function streamOf(usage: object, finishReason: unknown) {
    return {
      stream: new ReadableStream({
        start(controller) {
          controller.enqueue({ type: "stream-start", warnings: [] });
          controller.enqueue({ type: "text-start", id: "1" });
          controller.enqueue({ type: "text-delta", id: "1", delta: "A ship." });
          controller.enqueue({ type: "text-end", id: "1" });
          controller.enqueue({ type: "finish", usage, finishReason });
          controller.close();
        },
      }),
    };
  }
  const tokens = { inputTokens: { total: 3 }, outputTokens: { total: 2 } };
  const stop = { unified: "stop", raw: "stop" };
  const models: readonly (readonly [number, () => object])[] = [
    [
      5,
      () =>
        new MockLanguageModelV2({
          doStream: async () =>
            streamOf({ inputTokens: 3, outputTokens: 2, totalTokens: 5 }, "stop") as never,
        }),
    ],
    [6, () => new MockLanguageModelV3({ doStream: async () => streamOf(tokens, stop) as never })],
    [7, () => new MockLanguageModelV4({ doStream: async () => streamOf(tokens, stop) as never })],
  ];

  it.each(models)("of version %i becomes a text model in one line", async (_version, made) => {
    const model = toTextModel(await fromSdkModel(made()));
    expect(await model.complete({ prompt: "What is at sea?" })).toBe("A ship.");
  });
});
