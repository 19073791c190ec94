// Properties of every list an engine returns, whatever it was given.
import { expect } from "vitest";
import { repairPairs } from "../../src/context/list-repair.ts";
import type { Message } from "../../src/message/index.ts";
import { unpaired } from "../../testing/context-engine/valid-list.ts";

/** Every call is followed by its result, every result preceded by its call. */
export function expectPairs(messages: readonly Message[]): void {
  expect(unpaired(messages)).toEqual([]);
}

/** No two user or assistant messages in a row that were not neighbours before. Messages are identified by their rows. */
export function expectNoNewRuns(before: readonly Message[], after: readonly Message[]): void {
  const neighbours = new Set(runs(repairPairs(before)));
  expect(runs(after).filter((run) => !neighbours.has(run))).toEqual([]);
}

function runs(messages: readonly Message[]): string[] {
  return messages.flatMap((message, index) => {
    const next = messages[index + 1];
    const isRun = next?.role === message.role && (message.role === "user" || message.role === "assistant");
    return isRun ? [`${message.role} ${message.meta.rowId} ${next.meta.rowId}`] : [];
  });
}
