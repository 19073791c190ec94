import { chmodSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { AgentEvent } from "@hermes-memory/agent/internal/agent";
import { systemClock } from "@hermes-memory/core/internal/lib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { historyEntry, openHistory, parseHistory } from "../../src/cli/chat/history-file.ts";
import { eventJson, jsonLine, sessionJson } from "../../src/cli/chat/plain-chat.ts";
import { SafeText, safe, Transcript } from "../../src/cli/chat/transcript.ts";
import { turnResult } from "./chat-fakes.ts";

function told(events: readonly AgentEvent[], showReasoning = false): string {
  const transcript = new Transcript({ showReasoning });
  return events
    .flatMap((event) => transcript.render(event))
    .map(({ text }) => text)
    .join("");
}

const START: AgentEvent = { type: "turn-start", sessionId: "s", turn: 1 };
const text = (said: string): AgentEvent => ({ type: "text-delta", text: said });
const toolStart = (callId: string, name = "memory"): AgentEvent => ({
  type: "tool-start",
  callId,
  name,
  preview: "add: likes tea",
  input: { content: "likes tea" },
});
const toolEnd = (callId: string, name = "memory", isError = false): AgentEvent => ({
  type: "tool-end",
  callId,
  name,
  output: "",
  isError,
  durationMs: 12,
  resultChars: 5,
});
const end = (changes = {}): AgentEvent => ({ type: "turn-end", result: turnResult(changes) });

describe("events as text", () => {
  it("shows an answer while it arrives and ends its line", () => {
    expect(told([START, text("Hello"), text(" there."), end({ final_response: "Hello there." })])).toBe(
      "Hello there.\n",
    );
  });

  it("shows reasoning only with showReasoning", () => {
    const events: AgentEvent[] = [START, { type: "reasoning-delta", text: "Hm." }, text("Yes."), end()];
    expect(told(events)).toBe("Yes.\n");
    expect(told(events, true)).toBe("Hm.\nYes.\n");
  });

  it("says that the streamed text is void when another attempt begins", () => {
    const events: AgentEvent[] = [START, text("Wro"), { type: "text-discard" }, text("Right."), end()];
    expect(told(events)).toMatch(/^Wro\n\(.*void.*\)\nRight\.\n$/);
  });

  it("does not take the words for an interrupted turn for an answer", () => {
    const result = {
      interrupted: true,
      final_response: "Operation interrupted: waiting for model response (2s elapsed).",
    };
    expect(told([START, text("Half"), end(result)])).toBe("Half\nInterrupted.\n");
  });

  it("lets nothing through that a terminal obeys, however it is cut", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.constantFrom("\u001b[2J", "\r\n", "\r", "\n", "a", "😀", "\u009b31m", "\u202e", "\t", "\u0007"),
        ),
        fc.infiniteStream(fc.integer({ min: 1, max: 3 })),
        (parts, sizes) => {
          const whole = parts.join("");
          const stream = new SafeText();
          let shown = "";
          for (let at = 0; at < whole.length; ) {
            const size = sizes.next().value ?? 1;
            shown += stream.feed(whole.slice(at, at + size));
            at += size;
          }
          shown += stream.flush();
          expect(shown).toBe(safe(whole));
          expect(shown).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/);
        },
      ),
    );
  });
});

describe("events as JSON", () => {
  it("has snake case keys and the event's own name", () => {
    expect(eventJson(toolEnd("call_1"))).toEqual({
      type: "tool-end",
      output: "",
      call_id: "call_1",
      name: "memory",
      is_error: false,
      duration_ms: 12,
      result_chars: 5,
    });
    const input = { note: "use ghp_a1B2c3D4a1B2c3D4a1B2c3D4a1B2c3D4" };
    expect(eventJson({ ...toolStart("call_1"), input } as AgentEvent)).toMatchObject({
      input: { note: "use ghp_***" },
    });
    const long = eventJson({ ...toolEnd("call_1"), output: { text: "x".repeat(5_000) } } as AgentEvent);
    expect(long.output).toBe(`{"text":"${"x".repeat(3_991)}`);
    expect(long.output_left_out_chars).toBe(1_011);
    const usage = { input: 1, cacheRead: 2, cacheWrite: 3, output: 4, reasoning: 5 };
    expect(
      eventJson({ type: "usage", usage, promptTokens: 6, contextLength: 7, costUsd: null }),
    ).toMatchObject({ usage: { cache_read: 2, cache_write: 3 }, prompt_tokens: 6, cost_usd: null });
  });

  it("ends a turn with its result, the messages as a number", () => {
    const { result } = eventJson(end({ final_response: "x" })) as { result?: object };
    expect(result).toMatchObject({ final_response: "x", exit: "text_response", message_count: 0 });
    expect(result).not.toHaveProperty("messages");
  });

  it("is one line without control characters, and parses to the same value", () => {
    const event = eventJson(text("a\n\u001b[2J\u009b\u202e\u2028\u007f"));
    const line = jsonLine(event);
    expect(line).toMatch(/^[\x20-\x7e]+\n$/);
    expect(JSON.parse(line)).toEqual(event);
  });

  it("begins with the session", () => {
    const facts = {
      sessionId: "s",
      model: { model: "m", provider: "p", apiMode: "responses", baseUrl: "" },
      window: { tokens: 5, source: "table", isProvisional: false },
      caching: { enabled: false, ttl: "5m" },
      resumed: { title: "t", messages: 3 },
    } as const;
    expect(sessionJson(facts, ["careful"])).toMatchObject({
      type: "session",
      session_id: "s",
      resumed: true,
      title: "t",
      messages: 3,
      context_window: { tokens: 5, source: "table" },
      warnings: ["careful"],
    });
  });
});

describe("the input history", () => {
  it("reads back stored entries, also of several lines, in the format of Hermes Agent", () => {
    fc.assert(
      fc.property(fc.array(fc.string().map((each) => each.replaceAll("\r", ""))), (texts) => {
        const file = texts.map((each) => historyEntry(each, new Date(0))).join("");
        expect(parseHistory(file)).toEqual(texts);
      }),
    );
    expect(historyEntry("a\n# b", new Date(2026, 0, 2, 3, 4, 5, 6))).toBe(
      "\n# 2026-01-02 03:04:05.006000\n+a\n+# b\n",
    );
  });

  it("is private, also when it was not", () => {
    const home = tempDirectory();
    openHistory(home, { clock: systemClock }).append("hello");
    const path = join(home, ".hermes_history");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    chmodSync(path, 0o644);
    expect(openHistory(home, { clock: systemClock }).entries).toEqual(["hello"]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it("keeps the newest entries when there are too many", () => {
    const home = tempDirectory();
    const options = { clock: systemClock, maxEntries: 4 };
    const history = openHistory(home, options);
    for (let i = 0; i < 9; i += 1) history.append(`entry ${i}\nline two`);
    expect(openHistory(home, options).entries).toEqual([5, 6, 7, 8].map((i) => `entry ${i}\nline two`));
    const all = openHistory(home, { clock: systemClock, maxEntries: 100 });
    expect(all.entries).toHaveLength(4);
    expect(statSync(join(home, ".hermes_history")).mode & 0o777).toBe(0o600);
  });

  it("is left alone when it cannot be read", () => {
    const home = tempDirectory();
    mkdirSync(join(home, ".hermes_history"));
    const history = openHistory(home, { clock: systemClock });
    expect(history.trouble).toContain("cannot be read");
    history.append("x");
    expect(readdirSync(join(home, ".hermes_history"))).toEqual([]);
  });
});
