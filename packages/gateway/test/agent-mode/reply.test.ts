// What a client reads of a turn, and the status of what went wrong.
import type { AgentEvent, TurnResult } from "@hermes-memory/agent/internal/agent";
import { describe, expect, it } from "vitest";
import { endOf, problemOf, ReplySoFar } from "../../src/agent-mode/reply.ts";
import type { ReplyEvent } from "../../src/wires/wire.ts";

const DONE = {
  exit: "text_response",
  final_response: "Done.",
  client_tool_calls: [],
  failed: false,
  partial: false,
  interrupted: false,
  error: null,
  hint: null,
  error_kind: null,
  retry_after_seconds: null,
  session_id: "s1",
} as unknown as TurnResult;

const text = (delta: string): AgentEvent => ({ type: "text-delta", text: delta });
const TOOL = { type: "tool-start", callId: "c", name: "memory", preview: "", input: {} } as const;

describe("the reply so far", () => {
  it("separates the texts of replies between which tools ran, or one was dropped", () => {
    const sent: ReplyEvent[] = [];
    const reply = new ReplySoFar((event) => sent.push(event));
    for (const event of [
      TOOL,
      text("One"),
      text("."),
      TOOL,
      text("Two."),
      { type: "text-discard" } as const,
      text("Three."),
    ])
      reply.listen(event);
    expect(reply.text).toBe("One.\n\nTwo.\n\nThree.");
    expect(sent.map((event) => (event.type === "text" ? event.text : "")).join("")).toBe(reply.text);
  });

  it("adds up what the calls used, and tells each notice once", () => {
    const reply = new ReplySoFar();
    const usage = { input: 5, output: 2, cacheRead: 1, cacheWrite: 0, reasoning: 0 };
    const used: AgentEvent = { type: "usage", usage, promptTokens: 6, contextLength: 100, costUsd: null };
    const notice: AgentEvent = { type: "notice", level: "warn", cause: "full", text: "Memory is full." };
    for (const event of [used, used, notice, notice]) reply.listen(event);
    expect(reply.usage).toMatchObject({ input: 10, output: 4, cacheRead: 2 });
    expect(reply.metadata("s2")).toEqual({ sessionId: "s2", notices: ["Memory is full."] });
  });
});

describe("the end of a turn", () => {
  it.each([
    [{}, "stop"],
    [{ exit: "client_tool_calls" }, "tool_calls"],
    [{ exit: "truncated_response", partial: true }, "length"],
    [{ exit: "max_iterations_reached" }, "length"],
    [{ exit: "interrupted_by_user", interrupted: true }, "interrupted"],
  ] as const)("%j is told as %s", (changes, finish) => {
    expect(endOf({ ...DONE, ...changes }).finish).toBe(finish);
  });

  it.each([
    ["session_gone", null, 404, "session-gone"],
    ["no_open_calls", null, 400, "no-open-calls"],
    ["context_overflow", null, 400, "context-too-long"],
    ["empty_response_exhausted", null, 502, "model-failed"],
    ["model_error", "auth", 502, "model-auth"],
    ["model_error", "billing", 502, "model-billing"],
    ["model_error", "rate_limit", 429, "model-rate-limit"],
    ["model_error", "content_policy", 400, "content-policy"],
    ["model_error", "stalled", 504, "model-timeout"],
    ["model_error", "server", 502, "model-failed"],
    ["model_error", null, 500, "turn-failed"],
  ] as const)("%s (%s) is %i %s", (exit, error_kind, status, code) => {
    const failed = {
      ...DONE,
      exit,
      error_kind,
      failed: true,
      final_response: "",
      error: "Why.",
      hint: "What.",
    };
    expect(problemOf(failed)).toMatchObject({ status, code, message: "Why.", hint: "What." });
  });

  it("in a session that another process works on says when to send the request again, not a command of the chat", () => {
    const busy = { exit: "session_busy", failed: true, final_response: "", error: "Why." } as const;
    expect(problemOf({ ...DONE, ...busy, hint: "Begin another session with /new." })).toEqual({
      status: 409,
      code: "session-busy",
      message: "Why.",
      hint: expect.stringMatching(/^Send the request again when/),
      retryAfterSeconds: 5,
    });
  });
});
