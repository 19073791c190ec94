// The server in this process, on streams of the test; the other tests start it as a process.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../core/test/fakes/temp-directory.ts";
import { serveMcp } from "../src/serve.ts";

const line = (id: number, method: string, params: object = {}): string =>
  `${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`;

const INITIALIZE = line(1, "initialize", {
  protocolVersion: "2025-06-18",
  capabilities: {},
  clientInfo: { name: "test", version: "1" },
});

function answersIn(output: PassThrough): Record<string, unknown>[] {
  return String(output.read() ?? "")
    .split("\n")
    .filter(Boolean)
    .map((text) => JSON.parse(text))
    .sort((one, other) => one.id - other.id);
}

describe("serve", () => {
  it("answers every request before it resolves, and creates no home for reading", async () => {
    const home = join(tempDirectory(), "none");
    const [input, output] = [new PassThrough(), new PassThrough()];
    input.end(INITIALIZE + line(2, "tools/list") + line(3, "prompts/list"));
    await serveMcp({ home, input, output });
    expect(answersIn(output)).toMatchObject([
      { id: 1, result: { serverInfo: { name: "hermes-memory" } } },
      { id: 2, result: { tools: expect.any(Array) } },
      { id: 3, result: { prompts: [{ name: "memory" }] } },
    ]);
    expect(existsSync(home)).toBe(false);
  });

  it("ends when its signal aborts, although the input stays open", async () => {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const stop = new AbortController();
    const served = serveMcp({ home: tempDirectory(), input, output, signal: stop.signal });
    input.write(INITIALIZE);
    stop.abort();
    await served;
    expect(input.destroyed).toBe(false);
  });
});
