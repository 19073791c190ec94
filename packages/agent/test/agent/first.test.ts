import { describe, expect, it } from "vitest";
import type { WireKind } from "../fakes/wires/script.ts";
import { agentHome, streamedText } from "./agent-home.ts";

const KINDS: readonly WireKind[] = ["chat", "responses", "anthropic", "google"];

describe.each(KINDS)("a session over the %s wire", (kind) => {
  it("sends the same system prompt twice, and the second request begins with the first one's messages", async () => {
    const { agent, wire, events } = await agentHome(
      [
        { text: "Hello there.", reasoning: "thinking about it" },
        {
          toolCalls: [{ name: "todo", arguments: { todos: [{ id: "1", content: "x", status: "pending" }] } }],
          text: "Let me note it.",
        },
        { text: "Done." },
        { text: "Bye." },
      ],
      { kind },
    );
    const first = await agent.run("hi");
    expect(first).toMatchObject({ final_response: "Hello there.", completed: true, error: null });
    expect(streamedText(events)).toBe("Hello there.");
    const second = await agent.run("note something");
    expect(second).toMatchObject({ final_response: "Done.", api_calls: 2 });
    await agent.run("bye");
    for (let n = 1; n < 4; n += 1) {
      expect(wire.systemOf(n)).toBe(wire.systemOf(0));
      const before = wire.wireMessages(n - 1);
      expect(wire.wireMessages(n).slice(0, before.length)).toEqual(before);
    }
  });
});
