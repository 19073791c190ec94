// The vendors' rule for a conversation: every call has exactly one result directly after it, and every result has its call.
import { expect } from "vitest";
import type { WireKind, WireMessage } from "../fakes/wires/script.ts";

export function expectWirePairs(kind: WireKind, messages: readonly WireMessage[]): void {
  const steps = messages.map((message) => (kind === "anthropic" ? anthropicStep : chatStep)(message));
  let open: string[] = [];
  for (const { calls, results } of steps) {
    for (const id of results) {
      expect(open, `a result for ${id} without its call`).toContain(id);
      open = open.filter((waiting) => waiting !== id);
    }
    if (results.length === 0) expect(open, "calls without a result").toEqual([]);
    open = [...open, ...calls];
  }
  expect(open, "calls without a result").toEqual([]);
  const ids = steps.flatMap(({ calls }) => calls);
  expect(new Set(ids).size, "a call is there twice").toBe(ids.length);
  expect(messages[0]?.role).toBe("user");
}

type Pairing = { readonly calls: readonly string[]; readonly results: readonly string[] };

function chatStep({ tool_calls: calls, tool_call_id: id }: WireMessage): Pairing {
  const made = Array.isArray(calls) ? (calls as { readonly id: string }[]) : [];
  return { calls: made.map((call) => call.id), results: typeof id === "string" ? [id] : [] };
}

function anthropicStep({ content }: WireMessage): Pairing {
  const parts = Array.isArray(content) ? (content as Readonly<Record<string, unknown>>[]) : [];
  return {
    calls: parts.filter(({ type }) => type === "tool_use").map(({ id }) => String(id)),
    results: parts.filter(({ type }) => type === "tool_result").map(({ tool_use_id }) => String(tool_use_id)),
  };
}
