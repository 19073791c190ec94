// What a batch of tool calls needs in a test.
import { vi } from "vitest";
import type { BatchContext, ToolEvent } from "../../src/agent/tools/run-calls.ts";

export { callContext, fakeTool, type ToolChanges } from "../../../core/test/fakes/tools.ts";

export type TestBatch = BatchContext & {
  readonly events: ToolEvent[];
  readonly interrupt: () => void;
};

export function batchContext(home: string, changes: Partial<BatchContext> = {}): TestBatch {
  const events: ToolEvent[] = [];
  const controller = new AbortController();
  return {
    home,
    limits: { chars: 100_000, tokens: Number.POSITIVE_INFINITY, tokenFactor: 1 },
    taskId: "task",
    sessionId: () => "20260101_000000_abcdef",
    messages: () => [],
    signal: controller.signal,
    onEvent: vi.fn((event: ToolEvent) => void events.push(event)),
    ...changes,
    events,
    interrupt: () => controller.abort(new Error("interrupted")),
  };
}

export type Gate = { readonly opened: Promise<void>; readonly open: () => void };

/** Something a tool waits for until the test lets it go on. */
export function gate(): Gate {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}
