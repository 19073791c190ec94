// For the vendors' prompt caches: a request of a session begins with the unchanged bytes of the request before.
import { describe, expect, it } from "vitest";
import type { RecordedRequest, Step, WireKind } from "../fakes/wires/script.ts";
import { agentHome } from "./agent-home.ts";

const KINDS: readonly WireKind[] = ["chat", "responses", "anthropic", "google"];
const IMAGE = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } };

const SCRIPT: readonly Step[] = [
  { text: "Hello there, 世界 👩‍👩‍👧.", reasoning: "a greeting\nin two lines", signature: "sig-1" },
  {
    text: "Let me look in two places.",
    reasoning: "both at once",
    signature: "sig-2",
    toolCalls: [
      { name: "session_search", arguments: { query: "größe", limit: 1 } },
      { name: "session_search", arguments: '{ "limit": 2,  "query": "尺寸" }' },
    ],
  },
  {
    reasoning: "and note it",
    toolCalls: [{ name: "memory", arguments: { action: "add", target: "memory", content: "Likes blue." } }],
  },
  {
    toolCalls: [{ name: "todo", arguments: { todos: [{ id: "1", content: "x", status: "pending" }] } }],
  },
  { text: "  Noted.\n\n", reasoning: "done" },
  { text: "A blue square." },
  { text: "Bye." },
];

/** The bytes of one member of the body, as they came. */
function rawMember(request: RecordedRequest, name: string): string {
  const text = JSON.stringify(request.body[name]);
  expect(request.raw).toContain(`"${name}":${text}`);
  return text;
}

const MEMBERS = {
  chat: { messages: "messages", system: undefined },
  responses: { messages: "input", system: undefined },
  anthropic: { messages: "messages", system: "system" },
  google: { messages: "contents", system: "systemInstruction" },
} as const;

describe.each(KINDS)("a session without a memory provider over the %s wire", (kind) => {
  it("sends the same bytes again and only adds to them, with tools, parallel calls, signatures and pictures", async () => {
    const { agent, wire } = await agentHome(SCRIPT, { kind });
    await agent.run("  hi, 你好 \n");
    await agent.run("look it up and note it");
    await agent.run([{ type: "text", text: "what is this?" }, IMAGE]);
    const last = await agent.run("bye");
    expect(last).toMatchObject({ final_response: "Bye.", error: null });
    expect(wire.requests).toHaveLength(SCRIPT.length);

    const { messages, system } = MEMBERS[kind];
    const [first, ...others] = wire.requests;
    if (first === undefined) throw new Error("no request");
    expect(first.system).toBe(agent.systemPrompt);
    let before = first;
    for (const request of others) {
      expect(request.system).toBe(first.system);
      expect(rawMember(request, "tools")).toBe(rawMember(first, "tools"));
      if (system !== undefined) expect(rawMember(request, system)).toBe(rawMember(first, system));
      expect(request.messages.length).toBeGreaterThan(before.messages.length);
      expect(request.messages.slice(0, before.messages.length)).toEqual(before.messages);
      // Cache markers move on with the conversation; where there are none, every byte stays.
      if (kind !== "anthropic") {
        const sent = rawMember(before, messages).slice(0, -1);
        expect(rawMember(request, messages).startsWith(`${sent},`)).toBe(true);
      }
      before = request;
    }
  });

  it("shows the same tools when the steps of a turn are used up and none may be called", async () => {
    const step = { toolCalls: [{ name: "todo", arguments: {} }] };
    const { agent, wire } = await agentHome([step, { text: "Summed up." }], {
      kind,
      options: { maxTurns: 1 },
    });
    expect(await agent.run("go")).toMatchObject({
      exit: "max_iterations_reached",
      final_response: "Summed up.",
    });
    const [first, last] = wire.requests;
    if (first === undefined || last === undefined) throw new Error("two requests were expected");
    expect(rawMember(last, "tools")).toBe(rawMember(first, "tools"));
    expect(last.messages.slice(0, 1)).toEqual(first.messages);
  });
});
