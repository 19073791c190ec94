// Entries that do what a test says, and the call they are run in.
import { callFromOutside, type Tool, type ToolCallContext, type ToolPolicy } from "../../src/tools/index.ts";

/** Fields of the entry and of its policy side by side. */
export type ToolChanges = Partial<Omit<Tool, "policy"> & ToolPolicy>;

export function fakeTool(name: string, changes: ToolChanges = {}): Tool {
  const {
    description = `What ${name} does.`,
    schema = { type: "object", properties: { text: { type: "string" } } },
    owner = { kind: "own" },
    preview = () => `${name} was called`,
    run = async () => ({ text: `result of ${name}` }),
    name: given = name,
    ...policy
  } = changes;
  return {
    name: given,
    description,
    schema,
    owner,
    policy: { toolset: "test", effect: "write", ...policy },
    preview,
    run,
  };
}

export function callContext(changes: Partial<ToolCallContext> = {}): ToolCallContext {
  const { signal } = callFromOutside();
  return {
    callId: "call_1",
    taskId: "task",
    sessionId: "20260101_000000_abcdef",
    messages: [],
    signal,
    ...changes,
  };
}
