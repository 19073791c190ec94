// What every list must be like after an engine has worked on it, whatever it was given.
import { expect } from "vitest";
import { repairPairs } from "../../src/context/compressor/pairs.ts";
import { answeredCall, type ContextMessage, toolCallsOf } from "../../src/context/message.ts";

/** Every call has its result right behind it, every result its call. */
export function expectPairs(messages: readonly ContextMessage[]): void {
  let open: string[] = [];
  for (const message of messages) {
    const answered = answeredCall(message);
    if (message.role === "tool") {
      const at = open.indexOf(answered ?? "");
      expect(at, `a result for ${answered} without its call`).toBeGreaterThanOrEqual(0);
      open.splice(at, 1);
      continue;
    }
    expect(open, "calls without a result").toEqual([]);
    open = toolCallsOf(message).map(({ id }) => id);
  }
  expect(open, "calls without a result").toEqual([]);
}

/** No two user or assistant messages in a row that were not neighbours before. Messages are told apart by their `_row_id`. */
export function expectNoNewRuns(before: readonly ContextMessage[], after: readonly ContextMessage[]): void {
  const neighbours = new Set(runs(repairPairs(before)));
  expect(runs(after).filter((run) => !neighbours.has(run))).toEqual([]);
}

function runs(messages: readonly ContextMessage[]): string[] {
  return messages.flatMap((message, index) => {
    const next = messages[index + 1];
    const isRun = next?.role === message.role && (message.role === "user" || message.role === "assistant");
    return isRun ? [`${message.role} ${message._row_id} ${next._row_id}`] : [];
  });
}
