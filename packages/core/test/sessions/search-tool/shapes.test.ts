import { describe, expect, it, vi } from "vitest";
import { HermesError } from "../../../src/lib/index.ts";
import type { MessageRow } from "../../../src/sessions/index.ts";
import { explain, toToolMessage, when } from "../../../src/sessions/search-tool/answer-parts.ts";

const ROW: MessageRow = {
  id: 4,
  session_id: "s",
  role: "assistant",
  content: null,
  tool_call_id: null,
  tool_calls: null,
  tool_name: null,
  timestamp: 12.5,
  token_count: null,
  finish_reason: "stop",
  reasoning: "thoughts stay out",
  reasoning_content: null,
  reasoning_details: null,
  codex_reasoning_items: null,
  codex_message_items: null,
  platform_message_id: null,
  observed: 0,
  active: 1,
};

describe("when", () => {
  it.each([
    [1_700_000_000, "November 14, 2023 at 10:13 PM"],
    ["1700000000", "November 14, 2023 at 10:13 PM"],
    [1_767_225_600, "January 01, 2026 at 12:00 AM"],
    [1_767_268_800, "January 01, 2026 at 12:00 PM"],
    [0, "January 01, 1970 at 12:00 AM"],
    [null, "unknown"],
    [undefined, "unknown"],
    ["last week", "last week"],
    ["", ""],
    [1e300, "1e+300"],
  ])("%j is %s in UTC", (value, expected) => {
    vi.stubEnv("TZ", "UTC");
    expect(when(value)).toBe(expected);
    vi.unstubAllEnvs();
  });

  it("is local time", () => {
    vi.stubEnv("TZ", "Asia/Tokyo");
    expect(when(1_700_000_000)).toBe("November 15, 2023 at 07:13 AM");
    vi.unstubAllEnvs();
  });
});

describe("a message in an answer", () => {
  it("has four fields, content even when it is null", () => {
    expect(toToolMessage(ROW)).toEqual({ id: 4, role: "assistant", content: null, timestamp: 12.5 });
  });

  it("adds what belongs to tools when there is any, and marks the anchor", () => {
    const calls = [{ id: "c", function: { name: "ls" } }];
    expect(toToolMessage({ ...ROW, tool_calls: calls, tool_name: "ls", tool_call_id: "c" }, 4)).toEqual({
      id: 4,
      role: "assistant",
      content: null,
      timestamp: 12.5,
      tool_name: "ls",
      tool_calls: calls,
      tool_call_id: "c",
      anchor: true,
    });
    expect(toToolMessage({ ...ROW, tool_calls: [], tool_name: "", tool_call_id: "" }, 5)).toEqual(
      toToolMessage(ROW),
    );
  });
});

it("an error is explained with what to do, where that is known", () => {
  expect(explain(new HermesError("x", "It is locked.", { hint: "Close it." }))).toBe(
    "It is locked. Close it.",
  );
  expect(explain(new Error("plain"))).toBe("plain");
  expect(explain("text")).toBe("text");
});
