// Models for small tasks.

import { HermesError } from "@hermes-memory/core/internal/lib";
import { describe, expect, it } from "vitest";
import {
  type AuxiliaryTask,
  auxiliaryModel,
  type MainModel,
  openModel,
  toTextModel,
} from "../../src/models/index.ts";
import { overflow } from "../fakes/wires/script.ts";
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
