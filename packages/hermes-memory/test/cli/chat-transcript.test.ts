import { chmodSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { AgentEvent } from "@hermes-memory/agent/internal/agent";
import { systemClock } from "@hermes-memory/core/internal/lib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { historyEntry, openHistory, parseHistory } from "../../src/cli/chat/history-file.ts";
import { eventJson, jsonLine, sessionJson } from "../../src/cli/chat/plain-chat.ts";
import { SafeText, safe, startLines, statusLine, Transcript } from "../../src/cli/chat/transcript.ts";
import { agentStatus, turnResult } from "./chat-fakes.ts";

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

  it("says how much a memory provider recalled", () => {
    const recall = (count: number, glyph: string): AgentEvent => ({
      type: "recall",
      label: "Notes",
      count,
      glyph,
    });
    expect(told([START, recall(3, "*"), recall(1, "")])).toBe(
      "* Notes \u2014 recalled 3 memories\nNotes \u2014 recalled 1 memory\n",
    );
  });

  it("prints an answer that was never streamed", () => {
    expect(told([START, end({ final_response: "Whole." })])).toBe("Whole.\n");
  });

  it("gives every tool one line when nothing comes between its beginning and its end", () => {
    const events = [START, text("Let me note that."), toolStart("1"), toolEnd("1"), text("Done."), end()];
    expect(told(events)).toBe("Let me note that.\n  memory  add: likes tea  done in 12 ms\nDone.\n");
  });

  it("names the tool again when several run at once", () => {
    const events = [toolStart("1", "a"), toolStart("2", "b"), toolEnd("1", "a", true), toolEnd("2", "b")];
    expect(told(events)).toBe(
      "  a  add: likes tea\n  b  add: likes tea\n  a  failed in 12 ms\n  b  done in 12 ms\n",
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

  it("tells of retries, compactions and notices on lines of their own", () => {
    const events: AgentEvent[] = [
      text("So far"),
      { type: "retry", attempt: 1, of: 3, waitMs: 2500, reason: "429: slow\ndown" },
      { type: "compaction-start", sessionId: "a", messages: 40, tokens: 12_000 },
      {
        type: "compaction-end",
        kind: "compacted",
        oldSessionId: "a",
        sessionId: "b",
        messagesBefore: 40,
        messagesAfter: 1,
        tokensBefore: 12_000,
        tokensAfter: 3000,
      },
      { type: "notice", level: "warn", cause: "x", text: "Small window." },
    ];
    expect(told(events).split("\n")).toEqual([
      "So far",
      "Retry 1 of 3 in 2.5 s: 429: slow⏎down",
      "Compacting the conversation: 40 messages, about 12,000 tokens.",
      "Compacted: 40 to 1 message, about 12,000 to 3,000 tokens. The session goes on as b.",
      "Small window.",
      "",
    ]);
  });

  it("says why a turn failed and what to do", () => {
    const failure = { failed: true, error: "The key was refused.", hint: "Set ANTHROPIC_API_KEY." };
    expect(told([START, end({ ...failure, final_response: "The key was refused." })])).toBe(
      "error: The key was refused.\nSet ANTHROPIC_API_KEY.\n",
    );
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

describe("the start line and the status line", () => {
  const facts = {
    sessionId: "20260101_090000_aaaaaa",
    model: { model: "qwen3:8b", provider: "ollama", apiMode: "chat_completions", baseUrl: "" },
    window: { tokens: 32_768, source: "server", server: "Ollama", isProvisional: false },
    caching: { enabled: true, ttl: "1h" },
    resumed: undefined,
  } as const;

  it("say model, window with its source, caching with its ttl, and the session", () => {
    expect(startLines(facts)).toEqual([
      "qwen3:8b (ollama) · context 32,768 tokens (told by the Ollama server) · prompt caching on, ttl 1h",
      "session 20260101_090000_aaaaaa",
    ]);
    const off = { ...facts, caching: { enabled: false, ttl: "5m" } } as const;
    expect(startLines(off)[0]).toContain("prompt caching off");
  });

  it("name a resumed session and its size", () => {
    const [, session] = startLines({ ...facts, resumed: { title: "Harbour\u001b crane", messages: 12 } });
    expect(session).toBe("session 20260101_090000_aaaaaa, resumed: 'Harbour\\x1b crane', 12 messages");
  });

  it("shows usage, and cost and savings only when they are known", () => {
    expect(statusLine(agentStatus())).toBe("context 1,234/20,000 (6%) · memory 45%");
    const rich = agentStatus({ cost_usd: 0.01234, savings: { hitRate: 0.834, saved: 1.5 } });
    expect(statusLine(rich)).toBe(
      "context 1,234/20,000 (6%) · memory 45% · $0.0123 · cache saved $1.50, 83% read from it",
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
