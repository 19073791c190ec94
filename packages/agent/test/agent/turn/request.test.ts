import type { ContextMessage } from "@hermes-memory/core/context";
import { openSessionStore } from "@hermes-memory/core/sessions";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { newPath } from "../../../../core/test/fakes/session-index.ts";
import { type AgentMessage, newMessage } from "../../../src/agent/message.ts";
import { fromRow, toRow } from "../../../src/agent/rows.ts";
import { requestMessages } from "../../../src/agent/turn/request.ts";

const BLOCK = "<memory-context>\nlikes tea\n</memory-context>";

function request(messages: readonly AgentMessage[], given: { recall?: string; user?: AgentMessage } = {}) {
  return requestMessages({
    system: "You are a test.",
    messages,
    userMessageId: given.user?._id ?? "",
    recall: given.recall ?? "",
    hookContext: "",
  });
}

function list(...messages: readonly ContextMessage[]): readonly AgentMessage[] {
  return messages.map((message, index) => newMessage(message, 1000 + index));
}

function call(id: string, args: string, name = "memory"): ContextMessage {
  return {
    role: "assistant",
    content: "",
    tool_calls: [{ id, type: "function", function: { name, arguments: args } }],
  };
}

describe("the request copy", () => {
  it("puts recall behind the message of this turn and nowhere else", () => {
    const messages = list(
      { role: "user", content: "one" },
      { role: "assistant", content: "first" },
      { role: "user", content: "two" },
    );
    const sent = request(messages, { recall: BLOCK, user: messages[2] as AgentMessage });
    expect(sent.map(({ content }) => content)).toEqual([
      "You are a test.",
      "one",
      "first",
      `two\n\n${BLOCK}`,
    ]);
    expect(messages[2]?.content).toBe("two");
  });

  it("finds the message of this turn by what it is, also when it is followed by others or was merged", () => {
    const messages = list(
      { role: "user", content: "left without an answer" },
      { role: "user", content: "now" },
      call("c1", "{}"),
      { role: "tool", content: "done", tool_call_id: "c1" },
    );
    const sent = request(messages, { recall: BLOCK, user: messages[1] as AgentMessage });
    expect(sent[1]?.content).toBe(`left without an answer\n\nnow\n\n${BLOCK}`);
  });

  it("adds recall to a list of parts as a part of its own", () => {
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };
    const messages = list({ role: "user", content: [{ type: "text", text: "look" }, image] });
    const sent = request(messages, { recall: BLOCK, user: messages[0] as AgentMessage });
    expect(sent[1]?.content).toEqual([{ type: "text", text: "look" }, image, { type: "text", text: BLOCK }]);
  });

  it("spells arguments in one way, so that a prefix keeps its bytes", () => {
    const one = request(list({ role: "user", content: "x" }, call("c1", '{ "b": 1,\n "a": {"d":2,"c":3} }')));
    const other = request(list({ role: "user", content: "x" }, call("c1", '{"a":{"c":3,"d":2},"b":1}')));
    expect(JSON.stringify(one)).toBe(JSON.stringify(other));
    expect(JSON.stringify(one)).toContain('{\\"a\\":{\\"c\\":3,\\"d\\":2},\\"b\\":1}');
  });

  it("replaces arguments that are no JSON and says so in front of the result", () => {
    const sent = request(
      list({ role: "user", content: "x" }, call("c1", "{oops"), {
        role: "tool",
        content: "r",
        tool_call_id: "c1",
      }),
    );
    expect(JSON.stringify(sent[2])).toContain('"arguments":"{}"');
    expect(String(sent[3]?.content)).toMatch(/^\[The arguments of this call could not be read.*\]\nr$/s);
  });

  it("answers calls that have no result, and drops results that have no call", () => {
    const sent = request(
      list(
        { role: "tool", content: "lost", tool_call_id: "gone" },
        { role: "user", content: "x" },
        call("c1", "{}"),
      ),
    );
    expect(sent.map(({ role }) => role)).toEqual(["system", "user", "assistant", "tool"]);
    expect(sent[3]?.tool_call_id).toBe("c1");
  });

  it("leaves out unknown roles, thoughts without an answer and keys of ours", () => {
    const sent = request(
      list(
        { role: "session_meta", content: "x" },
        { role: "user", content: " hello \n", _row_id: 7, message_id: "m" },
        { role: "assistant", content: "", reasoning: "hm" },
        { role: "user", content: "again" },
      ),
    );
    expect(sent).toEqual([
      { role: "system", content: "You are a test." },
      { role: "user", content: "hello\n\nagain" },
    ]);
  });

  it("keeps ephemeral instructions and prefill out of the list, in the request", () => {
    const messages = list({ role: "user", content: "hi" });
    const sent = requestMessages({
      system: "S",
      ephemeral: " only now ",
      prefill: [{ role: "user", content: "example" }],
      messages,
      userMessageId: "",
      recall: "",
      hookContext: "",
    });
    expect(sent[0]).toEqual({ role: "system", content: "S\n\nonly now" });
    expect(sent[1]).toEqual({ role: "user", content: "example" });
  });
});

const text = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 30 }),
  fc.string({ unit: "binary", maxLength: 12 }),
  fc.constantFrom(
    "",
    "  padded \n",
    "a\u0000b",
    "\ud800 half",
    BLOCK,
    `before\n${BLOCK}\nafter`,
    "\u0085x\ufeff",
  ),
);
const args = fc.oneof(
  fc
    .dictionary(fc.string({ maxLength: 5 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 })
    .map((value) => JSON.stringify(value)),
  fc.constantFrom("", "{", "not json", "[1,2]", '{"k":"\\ud800"}', '{"__proto__":1}'),
);
const content = fc.oneof(
  text,
  fc.array(fc.record({ type: fc.constant("text"), text }), { minLength: 1, maxLength: 3 }),
);

const round = fc.oneof(
  fc.record({ user: content, answer: text }).map(({ user, answer }): ContextMessage[] => [
    { role: "user", content: user },
    { role: "assistant", content: answer, finish_reason: "stop" },
  ]),
  fc
    .record({
      user: text,
      calls: fc.array(args, { minLength: 1, maxLength: 3 }),
      results: fc.array(text, { maxLength: 3 }),
      thought: text,
    })
    .map(({ user, calls, results, thought }): ContextMessage[] => [
      { role: "user", content: user },
      {
        role: "assistant",
        content: "",
        finish_reason: "tool_calls",
        reasoning: thought,
        reasoning_content: thought,
        reasoning_details: [{ type: "thinking", thinking: thought, signature: "sig" }],
        tool_calls: calls.map((given, index) => ({
          id: `call_${index}`,
          call_id: `call_${index}`,
          type: "function",
          function: { name: "memory", arguments: given },
          extra_content: { google: { thought_signature: "s" } },
        })),
      },
      ...results.map(
        (result, index): ContextMessage => ({
          role: "tool",
          content: result,
          tool_call_id: `call_${index}`,
          tool_name: "memory",
        }),
      ),
    ]),
);

describe("what a provider refused to read", () => {
  const refusedTurn = (content: string): ContextMessage => ({
    role: "user",
    content,
    finish_reason: "content_policy",
  });

  it("is not in the request, and the sides still take turns", () => {
    const messages = list(
      refusedTurn("no one"),
      { role: "user", content: "one" },
      { role: "assistant", content: "first" },
      refusedTurn("no two"),
      refusedTurn("no three"),
      { role: "user", content: "two" },
    );
    expect(request(messages).map(({ content }) => content)).toEqual([
      "You are a test.",
      "one",
      "first",
      "two",
    ]);
  });

  it("leaves calls paired: the name of the tool and a note for its result", () => {
    const refusedCall = {
      ...call("c1", '{"path":"no"}'),
      content: "no",
      reasoning: "no",
      finish_reason: "content_policy",
    };
    const result = { role: "tool", content: "no", tool_call_id: "c1", finish_reason: "content_policy" };
    const sent = request(list({ role: "user", content: "x" }, refusedCall, result));
    expect(JSON.stringify(sent)).not.toMatch(/"no"|no\\"/);
    expect(sent.slice(2)).toMatchObject([
      {
        role: "assistant",
        content: "",
        tool_calls: [{ id: "c1", function: { name: "memory", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "c1", content: expect.stringContaining("Left out") },
    ]);
  });
});

describe("a history read back from the database", () => {
  it("gives the request it gave while it was live", async () => {
    await using store = await openSessionStore({ path: newPath() });
    let sessions = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(round, { minLength: 1, maxLength: 6 }),
        fc.array(fc.nat(20), { maxLength: 3 }),
        async (rounds, refused) => {
          sessions += 1;
          const id = `s${sessions}`;
          await store.createSession(id);
          const live = list(
            ...rounds
              .flat()
              .map((message, at) =>
                refused.includes(at) ? { ...message, finish_reason: "content_policy" } : message,
              ),
          );
          await store.appendMany(id, live.map(toRow));
          const reloaded = (await store.getMessages(id))
            .map(fromRow)
            .filter((message) => message !== undefined);
          expect(JSON.stringify(request(reloaded))).toBe(JSON.stringify(request(live)));
        },
      ),
      { numRuns: 150 },
    );
  });
});
