import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type LocalHandoff, localHandoff } from "../../../src/context/summary/local-summary.ts";
import { SUMMARY_SECTIONS } from "../../../src/context/summary/summarise.ts";
import { type Message, newMessage } from "../../../src/message/index.ts";
import { redactSecrets } from "../../../src/security/index.ts";
import { histories } from "../histories.ts";
import { asMessage } from "../messages.ts";

const KEY = "sk-ant-api03-AAAABBBBCCCCDDDD1234";
const call = (name: string, given: object): Message =>
  newMessage({
    role: "assistant",
    content: null,
    toolCalls: [{ id: "c", name, arguments: JSON.stringify(given) }],
  });

function local(turns: readonly Message[], more: Partial<LocalHandoff> = {}): string {
  return localHandoff({
    turns,
    previousLimitTokens: 10_000,
    limitChars: 7_000,
    roomTokens: 250_000,
    failure: { kind: "timeout", message: "No summary within 120 s." },
    leftOut: { count: turns.length, reason: "summary_failed", firstRowId: 12, lastRowId: 40 },
    redact: redactSecrets,
    ...more,
  });
}

describe("a handoff without a model", () => {
  const turns: Message[] = [
    asMessage({ role: "user", content: "fix the login in src/auth/login.ts" }),
    call("read_file", { path: "src/auth/login.ts" }),
    asMessage({
      role: "tool",
      tool_call_id: "c",
      content: "[read_file] read src/auth/login.ts from line 1 (900 chars)",
    }),
    call("terminal", { command: "npm test", workdir: "/srv/app" }),
    asMessage({ role: "tool", tool_call_id: "c", content: "Error: expected 2 to be 3" }),
    asMessage({ role: "assistant", content: `The key is ${KEY}.` }),
    asMessage({ role: "user", content: "now the\nlogout" }),
  ];

  it("says what can be read off the turns, under the usual headings", () => {
    const text = local(turns);
    const headings = SUMMARY_SECTIONS.map(([heading]) => heading);
    expect(text.match(/^## .+$/gm)).toEqual(headings.toSpliced(-1, 0, "## Last Dropped Turns"));
    expect(text).toContain('User asked: "now the\\nlogout"');
    expect(text).toContain("1. Called tool(s): read_file");
    expect(text).toContain("## Blocked\n- Error: expected 2 to be 3");
    expect(text).toContain("- src/auth/login.ts\n- /srv/app");
    expect(text).toContain("- USER: now the logout");
    expect(text).not.toContain("AAAABBBB");
  });

  it("stays within its limit and still says so, whatever the turns are", () => {
    fc.assert(
      fc.property(
        histories({ maxLength: 25 }),
        fc.integer({ min: 1_500, max: 7_000 }),
        (history, limitChars) => {
          const text = local(history, { limitChars, stored: "searchable" });
          expect([...text].length).toBeLessThanOrEqual(limitChars);
          expect(text).toContain("Summary generation was unavailable");
          expect(text).toContain("session_search");
        },
      ),
      { numRuns: 60 },
    );
  });

  it("hides a secret in a previous summary too", () => {
    expect(local(turns, { previousSummary: `## Goal\n${KEY}` })).not.toContain("AAAABBBB");
  });
});
