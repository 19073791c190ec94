// A server that fails, sends nothing or closes the connection, and a caller that aborts.
import { getEventListeners } from "node:events";
import { describe, expect, it, onTestFinished } from "vitest";
import { openModel } from "../../../src/models/index.ts";
import { deadAddress, modelServer } from "../../fakes/model-server.ts";
import { sseServer } from "../../fakes/sse-server.ts";
import {
  badKey,
  badSignature,
  hangUp,
  modelNotFound,
  outOfCredit,
  overflow,
  payloadTooLarge,
  rateLimited,
  refused,
  serverError,
} from "../../fakes/wires/script.ts";
import { ASKED, chosenFor, ear, failureOf, KEY, KINDS, replyOf, wireModel } from "./over-http.ts";

/** Fails the test on an unhandled rejection. */
function noStrayRejections(): void {
  const stray: unknown[] = [];
  const note = (reason: unknown): void => void stray.push(reason);
  process.on("unhandledRejection", note);
  onTestFinished(async () => {
    await new Promise((resolve) => setImmediate(resolve));
    process.off("unhandledRejection", note);
    expect(stray).toEqual([]);
  });
}

describe.each(KINDS)("the %s wire", (kind) => {
  it("tells the kinds of refusal apart", async () => {
    const steps = [
      overflow(8192),
      rateLimited(7),
      serverError(),
      serverError(529),
      payloadTooLarge(),
      refused(),
      badKey(),
      outOfCredit(),
      modelNotFound(),
    ];
    const { model } = await wireModel(kind, steps);
    const failures = [];
    for (const _ of steps) failures.push(await failureOf(model));
    expect(failures.map((failure) => failure.kind)).toEqual([
      "overflow",
      "rate_limit",
      "server",
      "server",
      "payload_too_large",
      "content_policy",
      "auth",
      "billing",
      "not_found",
    ]);
    expect(failures[0]).toMatchObject({ limitTokens: 8192, isRetryable: false });
    expect(failures[1]).toMatchObject({ retryAfterMs: 7000, isRetryable: true, status: 429 });
    expect(failures[2]).toMatchObject({ isRetryable: true, partialText: "" });
    expect(failures[8]?.message).toContain(model.identity.model);
    for (const { message } of failures) {
      expect(message).not.toContain(KEY);
      expect(message).not.toContain("\n");
      expect(message).not.toContain("How high is the crane");
    }
  });

  it("knows a refused signature", async () => {
    const { model } = await wireModel(kind, [badSignature()]);
    expect(await failureOf(model)).toMatchObject({ kind: "bad_signature", isRetryable: false });
  });

  it("reports a stream that was cut with the text that had come", async () => {
    noStrayRejections();
    const { model } = await wireModel(kind, [
      { text: "Forty metres and more.", cutAfterChars: 12 },
      hangUp(),
    ]);
    const heard = ear();
    const cut = await failureOf(model, { ...ASKED, onDelta: heard.onDelta });
    expect(cut).toMatchObject({ kind: "connection", isRetryable: true });
    expect(cut.partialText).toBe(heard.text());
    expect("Forty metres and more.".startsWith(cut.partialText)).toBe(true);
    expect(cut.partialText).not.toBe("");
    expect(await failureOf(model)).toMatchObject({ kind: "connection", partialText: "", isRetryable: true });
  });

  it("reports an error in the middle of a stream with the text that had come", async () => {
    noStrayRejections();
    const { model } = await wireModel(kind, [{ text: "Forty metres and more.", failAfterChars: 12 }]);
    const failure = await failureOf(model);
    expect(failure).toMatchObject({ kind: "server", isRetryable: true, partialText: "Forty metres" });
  });

  it("gives up a stream that has gone silent, and hangs up", async () => {
    noStrayRejections();
    const { wire, model } = await wireModel(kind, [{ text: "Forty metres.", stallAfterChars: 5 }]);
    const failure = await failureOf(model, { ...ASKED, staleAfterMs: 150 });
    expect(failure).toMatchObject({ kind: "stalled", isRetryable: true, partialText: "Forty" });
    await wire.waitForAbort(0);
  });

  it("ends at once with the caller's reason and closes the socket", async () => {
    noStrayRejections();
    const { wire, model } = await wireModel(kind, [{ text: "Forty metres.", stallAfterChars: 5 }]);
    const stop = new AbortController();
    const reason = new Error("the user pressed Ctrl-C");
    const heard = Promise.withResolvers<void>();
    const call = model.stream({ ...ASKED, signal: stop.signal, onDelta: () => heard.resolve() });
    await heard.promise;
    stop.abort(reason);
    await expect(call).rejects.toBe(reason);
    await wire.waitForAbort(0);
    expect(getEventListeners(stop.signal, "abort")).toHaveLength(0);
  });

  it("does not ask when the signal is aborted already", async () => {
    const { wire, model } = await wireModel(kind, []);
    const reason = new Error("no");
    await expect(model.stream({ ...ASKED, signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(wire.requests).toHaveLength(0);
  });

  it("follows no redirect with the key", async () => {
    const elsewhere = await modelServer({});
    const target = new URL(`${elsewhere.url}/taken`);
    const paths = ["/v1/chat/completions", "/v1/responses", "/v1/messages"];
    const google = "/v1beta/models/gemini-3.1-pro-preview:streamGenerateContent";
    const server = await modelServer(Object.fromEntries([...paths, google].map((path) => [path, target])));
    const failure = await failureOf(await openModel(chosenFor(kind, server.url)));
    expect(failure).toMatchObject({ kind: "bad_request", status: 302, isRetryable: false });
    expect(failure.message).toContain("base_url");
    expect(elsewhere.asked).toHaveLength(0);
  });

  it("says that no server answers at a local address", async () => {
    const model = await openModel(chosenFor(kind, `${await deadAddress()}/v1`, { provider: "ollama" }));
    const failure = await failureOf(model);
    expect(failure).toMatchObject({ kind: "connection", isRetryable: true });
    expect(failure.message).toMatch(/does not seem to run/);
  });
});

describe("a stream that ends politely, but too early, is no success", () => {
  const created = { id: "resp_1", created_at: 1, model: "gpt-5.4", status: "in_progress" };
  const cases: Readonly<Record<string, readonly object[]>> = {
    chat: [{ choices: [{ index: 0, delta: { content: "Forty" }, finish_reason: null }] }],
    responses: [
      { type: "response.created", response: created },
      { type: "response.output_item.added", output_index: 0, item: { type: "message", id: "msg_1" } },
      { type: "response.output_text.delta", item_id: "msg_1", output_index: 0, delta: "Forty" },
    ],
    anthropic: [
      {
        type: "message_start",
        message: { id: "msg_1", model: "claude-x", usage: { input_tokens: 1, output_tokens: 0 } },
      },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Forty" } },
    ],
    google: [{ candidates: [{ content: { role: "model", parts: [{ text: "Forty" }] } }] }],
  };

  it.each(KINDS)("on the %s wire", async (kind) => {
    const { url } = await sseServer([cases[kind] ?? [], []], { end: "" });
    const model = await openModel(chosenFor(kind, url));
    expect(await failureOf(model)).toMatchObject({
      kind: "connection",
      partialText: "Forty",
      isRetryable: true,
    });
    expect(await failureOf(model)).toMatchObject({
      kind: "invalid_response",
      partialText: "",
      isRetryable: true,
    });
  });
});

it("hangs up on a server that stays on the line after its error", async () => {
  const error = {
    type: "error",
    sequence_number: 0,
    error: { type: "server_error", code: "server_error", message: "boom" },
  };
  const server = await sseServer([[error]], { staysOpen: true });
  const failure = await failureOf(await openModel(chosenFor("responses", server.url)));
  expect(failure).toMatchObject({ kind: "server" });
  await server.closed;
});

it("waits for no server that has said everything and stays on the line", async () => {
  const usage = { input_tokens: 1, output_tokens: 1 };
  const events = [
    { type: "message_start", message: { id: "msg_1", model: "claude-x", usage } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Forty" } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage },
    { type: "message_stop" },
  ];
  const server = await sseServer([events], { staysOpen: true });
  const reply = await replyOf(await openModel(chosenFor("anthropic", server.url)));
  expect(reply).toMatchObject({ finishReason: "stop", message: { content: "Forty" } });
  await server.closed;
});
