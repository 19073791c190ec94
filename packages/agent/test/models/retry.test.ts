import { err, ok } from "@hermes-memory/core/internal/lib";
import { describe, expect, it } from "vitest";
import {
  type ChatModel,
  callModel,
  type ModelFailure,
  type ModelReply,
  type Retry,
  retryWaitMs,
} from "../../src/models/index.ts";
import { message } from "../messages.ts";

const REPLY: ModelReply = {
  message: message({ role: "assistant", content: "ok" }),
  finishReason: "stop",
  usage: undefined,
  model: "m",
};

function failure(kind: ModelFailure["kind"], more: Partial<ModelFailure> = {}): ModelFailure {
  return { kind, message: kind, isRetryable: true, partialText: "", ...more };
}

/** Fails this many times, then answers. */
function scripted(...failures: readonly ModelFailure[]): ChatModel & { readonly calls: () => number } {
  let calls = 0;
  return {
    identity: { model: "m", provider: "custom", apiMode: "chat_completions", baseUrl: "" },
    calls: () => calls,
    async stream() {
      const next = failures[calls];
      calls += 1;
      return next ? err(next) : ok(REPLY);
    },
  };
}

const REQUEST = { messages: [] };

async function waits(model: ChatModel, attempts: number, random = 0) {
  const waited: number[] = [];
  const retries: Retry[] = [];
  const outcome = await callModel(model, REQUEST, {
    attempts,
    random: () => random,
    sleep: async (ms) => void waited.push(ms),
    onRetry: (retry) => retries.push(retry),
  });
  return { outcome, waited, retries };
}

describe("asking again", () => {
  it("is spread by up to a half", () => {
    expect(retryWaitMs(failure("server"), 1, 0.999)).toBeLessThanOrEqual(3000);
    expect(retryWaitMs(failure("server"), 1, 0.5)).toBe(2500);
  });

  it("gives a server that answers nonsense more time", async () => {
    const nonsense = failure("invalid_response");
    const { waited } = await waits(scripted(...Array.from({ length: 6 }, () => nonsense)), 7);
    expect(waited).toEqual([5, 10, 20, 40, 80, 120].map((seconds) => seconds * 1000));
  });

  it("waits as long as a server asks after too many requests, but not above two minutes", async () => {
    const model = scripted(
      failure("rate_limit", { retryAfterMs: 7000 }),
      failure("rate_limit", { retryAfterMs: 900_000 }),
    );
    expect((await waits(model, 3, 0.9)).waited).toEqual([7000, 120_000]);
    const other = scripted(failure("server", { retryAfterMs: 7000 }));
    expect((await waits(other, 2)).waited).toEqual([2000]);
  });

  it("ends with the last failure when no attempt is left", async () => {
    const model = scripted(failure("server"), failure("connection"), failure("stalled"));
    const { outcome } = await waits(model, 2);
    expect(outcome).toEqual(err(failure("connection")));
    expect(model.calls()).toBe(2);
  });

  it.each([
    ["nothing would change", failure("auth", { isRetryable: false })],
    ["text was told already", failure("connection", { partialText: "Forty" })],
  ])("does not happen when %s", async (_, problem) => {
    const model = scripted(problem);
    expect((await waits(model, 5)).outcome).toEqual(err(problem));
    expect(model.calls()).toBe(1);
  });

  it("stops waiting at once when the caller gives up", async () => {
    const stop = new AbortController();
    const reason = new Error("the user left");
    const model = scripted(failure("server"), failure("server"));
    const call = callModel(
      model,
      { ...REQUEST, signal: stop.signal },
      { attempts: 3, onRetry: () => stop.abort(reason) },
    );
    await expect(call).rejects.toBe(reason);
    expect(model.calls()).toBe(1);
  });
});

describe("the reply of a model object", () => {
  const answering = async (given: unknown) => {
    const model = { ...scripted(), stream: async () => ok({ ...REPLY, message: given }) };
    return callModel(model as ChatModel, REQUEST, { attempts: 1 });
  };

  it("may be a chat row", async () => {
    const call = { id: "c1", type: "function", function: { name: "look", arguments: "{}" } };
    expect(
      await answering({ role: "assistant", content: "ok", reasoning: "hm", tool_calls: [call] }),
    ).toMatchObject({
      ok: true,
      value: {
        message: {
          content: "ok",
          vendor: { reasoning: "hm" },
          toolCalls: [{ id: "c1", name: "look", arguments: "{}" }],
        },
      },
    });
  });

  it.each([undefined, "text", { content: "no role" }, { role: "user", content: "x" }])(
    "is a failure when it is %j",
    async (given) => {
      expect(await answering(given)).toMatchObject({
        ok: false,
        error: {
          kind: "invalid_response",
          isRetryable: false,
          message: expect.stringContaining("assistant"),
        },
      });
    },
  );
});
