// Cache markers in requests: where the vendor wants them, at most as many as it takes.
import { afterEach, describe, expect, it, vi } from "vitest";
import type { RecordedRequest } from "../fakes/wires/script.ts";
import { agentHome } from "./agent-home.ts";

afterEach(() => {
  vi.unstubAllGlobals();
});

const CALL = { name: "todo", arguments: {} };

/** Paths of everything that carries a marker, in the order of the body, each with the marker. */
function markers(request: RecordedRequest | undefined): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  const walk = (value: unknown, path: string): void => {
    if (typeof value !== "object" || value === null) return;
    for (const [key, item] of Object.entries(value)) {
      if (key === "cache_control") found[path] = item;
      else walk(item, path === "" ? key : `${path}.${key}`);
    }
  };
  walk(request?.body ?? {}, "");
  return found;
}

const SHORT = { type: "ephemeral" };

describe("cache markers on the Anthropic wire", () => {
  it("stand on the system prompt and on the last three messages", async () => {
    const { agent, wire } = await agentHome([{ text: "One." }, { text: "Two." }, { text: "Three." }], {
      kind: "anthropic",
    });
    for (const text of ["a", "b", "c"]) await agent.run(text);
    expect(markers(wire.requests[0])).toEqual({ "system.0": SHORT, "messages.0.content.0": SHORT });
    expect(markers(wire.requests[1])).toEqual({
      "system.0": SHORT,
      "messages.0.content.0": SHORT,
      "messages.1.content.0": SHORT,
      "messages.2.content.0": SHORT,
    });
    expect(markers(wire.requests[2])).toEqual({
      "system.0": SHORT,
      "messages.2.content.0": SHORT,
      "messages.3.content.0": SHORT,
      "messages.4.content.0": SHORT,
    });
  });

  it("move on while everything else stays: markers aside the second request begins with the first", async () => {
    const { agent, wire } = await agentHome([{ toolCalls: [CALL] }, { text: "One." }, { text: "Two." }], {
      kind: "anthropic",
    });
    await agent.run("a");
    await agent.run("b");
    const bare = (n: number): string[] => {
      const messages = wire.requests[n]?.body.messages as readonly unknown[];
      return messages.map((message) =>
        JSON.stringify(message).replaceAll(',"cache_control":{"type":"ephemeral"}', ""),
      );
    };
    expect(bare(1).slice(0, 1)).toEqual(bare(0));
    expect(bare(2).slice(0, 3)).toEqual(bare(1));
    expect(bare(2).join("")).not.toContain("cache_control");
  });
});
