// Cache markers in requests: where the vendor wants them, at most as many as it takes.
import { afterEach, describe, expect, it, vi } from "vitest";
import type { RecordedRequest } from "../fakes/wires/script.ts";
import { agentHome } from "./agent-home.ts";

afterEach(() => {
  vi.unstubAllGlobals();
});

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
});
