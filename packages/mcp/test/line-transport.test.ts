import { PassThrough } from "node:stream";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it } from "vitest";
import { LineTransport } from "../src/line-transport.ts";

async function started() {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const logged: string[] = [];
  const log = (message: string, fields?: object): void => {
    logged.push(`${message} ${JSON.stringify(fields)}`);
  };
  const transport = new LineTransport(input, output, { info: log, warn: log, error: log });
  const received: JSONRPCMessage[] = [];
  transport.onmessage = (message) => received.push(message);
  await transport.start();
  const say = (text: string): void => deliver(input, text);
  const answers = (): unknown[] =>
    String(output.read() ?? "")
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  return { transport, input, received, logged, say, answers };
}

function deliver(input: PassThrough, text: string): void {
  input.emit("data", Buffer.from(text)); // at once, without a turn of the event loop
}

const request = (id: number): string => `{"jsonrpc":"2.0","id":${id},"method":"ping"}\n`;

describe("messages on lines", () => {
  it("arrive whole, however the bytes are split", async () => {
    const { received, say } = await started();
    for (const character of request(1) + request(2)) say(character);
    expect(received).toMatchObject([{ id: 1 }, { id: 2 }]);
  });

  it("that are no JSON-RPC are answered when their id can be read, and logged without their text", async () => {
    const { received, logged, say, answers } = await started();
    say('my secret garden\n{"jsonrpc":"1.0","id":5,"method":"ping"}\n');
    expect(received).toEqual([]);
    expect(answers()).toMatchObject([{ id: 5, error: { code: -32600 } }]);
    expect(logged).toHaveLength(2);
    expect(logged.join()).not.toContain("garden");
  });

  it("keep the transport from draining until each request is answered or cancelled", async () => {
    const { transport, say } = await started();
    say(request(1) + request(2));
    expect(await transport.drained(1)).toBe(false);
    await transport.send({ jsonrpc: "2.0", id: 1, result: {} });
    expect(await transport.drained(1)).toBe(false);
    say('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}\n');
    expect(await transport.drained(1_000)).toBe(true);
  });

  it("may end without a line break", async () => {
    const { transport, input, received } = await started();
    input.end(request(7).trim());
    await transport.ended;
    expect(received).toMatchObject([{ id: 7 }]);
  });
});
