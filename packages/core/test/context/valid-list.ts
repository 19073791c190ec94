// What every list must be like after an engine has worked on it, whatever it was given.
import { expect } from "vitest";
import { repairPairs } from "../../src/context/compressor/pairs.ts";
import type { ContextMessage } from "../../src/context/message.ts";
import { unpaired } from "../../testing/context-engine/valid-list.ts";

/** Every call has its result right behind it, every result its call. */
export function expectPairs(messages: readonly ContextMessage[]): void {
  expect(unpaired(messages)).toEqual([]);
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
