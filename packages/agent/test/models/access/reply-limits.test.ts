// Replies without an end, over real sockets: how much of them is read, and the failure.
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { pipeline } from "node:stream/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { replyLimit } from "../../../src/models/access/stream.ts";
import { type ModelRequest, openModel } from "../../../src/models/index.ts";
import { ASKED, chosenFor, ear, failureOf, replyOf, wireModel } from "./over-http.ts";

const LIMITED: ModelRequest = { ...ASKED, maxReplyChars: 50_000 };
const MB = 1024 * 1024;

/** A server that sends what `pieces` yields, at most 60 MB; `sent` counts what it could send. */
async function endless(pieces: () => Iterable<string>, status = 200) {
  const counts = { sent: 0 };
  function* bounded(): Iterable<string> {
    for (const piece of pieces()) {
      if (counts.sent > 60 * MB) return;
      counts.sent += piece.length;
      yield piece;
    }
  }
  const http = createServer(async (request, response: ServerResponse) => {
    for await (const _ of request);
    response.writeHead(status, { "content-type": "text/event-stream" });
    await pipeline(bounded(), response).catch(() => undefined); // the client closed the connection
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  });
  const { port } = http.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/v1`, counts };
}

function* repeated(piece: string): Iterable<string> {
  for (;;) yield piece;
}

function* event(head: string, inside: string): Iterable<string> {
  yield head;
  yield* repeated(inside);
}

function delta(value: object): string {
  return `data: ${JSON.stringify({ choices: [{ index: 0, delta: value, finish_reason: null }] })}\n\n`;
}

const call = (fields: object): string => delta({ tool_calls: [{ index: 0, ...fields }] });

function* numbered(piece: (n: number) => string): Iterable<string> {
  for (let n = 0; ; n += 1) yield piece(n);
}

function calls(args: string, name = "todo"): Iterable<string> {
  return numbered((index) => call({ index, id: `c${index}`, function: { name, arguments: args } }));
}

function padded(chars: number): string {
  return `data: ${JSON.stringify({ choices: [{ index: 0, delta: {} }], pad: "x".repeat(chars) })}\n\n`;
}

describe("a reply without an end", () => {
  it.each([
    ["text", () => repeated(delta({ content: "a word and ".repeat(20) }))],
    ["reasoning", () => repeated(delta({ reasoning_content: "a thought ".repeat(20) }))],
    [
      "arguments of a call",
      () =>
        event(
          call({ id: "c", function: { name: "todo", arguments: "" } }),
          call({ function: { arguments: "x".repeat(200) } }),
        ),
    ],
    [
      "encrypted thoughts",
      () => repeated(delta({ reasoning_details: [{ type: "reasoning.encrypted", data: "x".repeat(200) }] })),
    ],
  ])("of %s is ended at the limit, and the rest is never read", async (_what, pieces) => {
    const { url, counts } = await endless(pieces);
    const heard = ear();
    const failure = await failureOf(await openModel(chosenFor("chat", url)), {
      ...LIMITED,
      onDelta: heard.onDelta,
    });
    expect(failure).toMatchObject({
      kind: "reply_too_long",
      isRetryable: false,
      partialText: heard.text(),
      message: expect.stringContaining("stopped at 50,000 characters"),
    });
    expect(heard.text().length).toBeLessThanOrEqual(50_000);
    expect(counts.sent).toBeLessThan(20 * MB); // socket buffers included
  });

  it.each([
    ["calls without arguments", "50,000 characters", () => calls("")],
    ["calls with empty arguments", "50,000 characters", () => calls("{}")],
    ["calls with long names", "50,000 characters", () => calls("", "n".repeat(500))],
    [
      "arguments of a call without a name",
      "bytes",
      () => repeated(call({ id: "c", function: { arguments: "x".repeat(200) } })),
    ],
    ["one event", "bytes", () => event('data: {"choices":[{"delta":{"content":"', "word ".repeat(1_000))],
    [
      "calls of one number with new ids",
      "bytes",
      () => numbered((n) => call({ id: `c${n}`, function: { name: "todo", arguments: "" } })),
    ],
    [
      "one long name",
      "bytes",
      () => repeated(call({ id: "c", function: { name: "n".repeat(2_000), arguments: "" } })),
    ],
    ["events without content", "bytes", () => repeated(padded(4_000))],
    ["comments", "bytes", () => repeated(`: ${"x".repeat(5_000)}\n\n`)],
  ])("of %s is ended, too", async (_what, limit, pieces) => {
    const { url, counts } = await endless(pieces);
    const failure = await failureOf(await openModel(chosenFor("chat", url)), LIMITED);
    expect(failure).toMatchObject({ kind: "reply_too_long", isRetryable: false });
    expect(failure.message).toMatch(new RegExp(`stopped at .*${limit}`));
    expect(counts.sent).toBeLessThan(30 * MB);
  });

  it("is one of any length below the limit", async () => {
    const text = "word ".repeat(9_999);
    const { model } = await wireModel("chat", [{ text, reasoning: "", chunkChars: 2_000 }]);
    expect((await replyOf(model, LIMITED)).message.content).toBe(text);
  });
});

it("a request without a limit allows 8,000,000 characters", () => {
  expect(replyLimit(ASKED)).toBe(8_000_000);
  expect(replyLimit(LIMITED)).toBe(50_000);
});

it("a reply with more than 1,000 calls is ended", async () => {
  const { url } = await endless(() => calls(""));
  expect(await failureOf(await openModel(chosenFor("chat", url)))).toMatchObject({
    kind: "reply_too_long",
    message: expect.stringContaining("stopped at 1,000 tool calls"),
  });
});

it("an error whose body does not end is read as far as it is worth", async () => {
  const { url, counts } = await endless(() => event("The harbour is closed. ", "x".repeat(64 * 1024)), 503);
  const failure = await failureOf(await openModel(chosenFor("chat", url)));
  expect(failure).toMatchObject({ kind: "server", status: 503 });
  expect(failure.message).toContain("The harbour is closed.");
  expect(counts.sent).toBeLessThan(20 * MB);
});
