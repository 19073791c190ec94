// The two logs of Kimi CLI: wire.jsonl with events and times, context.jsonl with the messages as the model sees them.
import { type Json, recordOf, recordsOf, textOf, toolCall, usageOf } from "../kit/values.ts";
import type { Reading } from "../reader.ts";
import { contentOf, contentSignals } from "./kimi-content.ts";
import type { Signal } from "./kimi-turns.ts";

/** Known events without anything to keep. A subagent has a log of its own, which repeats `SubagentEvent`. */
const SILENT: ReadonlySet<string> = new Set(
  `ApprovalRequest ApprovalRequestResolved ApprovalResponse CompactionEnd HookResolved HookTriggered MCPLoadingBegin
  MCPLoadingEnd Notification PlanDisplay QuestionRequest SubagentEvent ToolCallPart ToolCallRequest`.split(
    /\s+/,
  ),
);

export function cliSignals(value: Json, reading: Reading): readonly Signal[] {
  const message = recordOf(value.message);
  const payload = recordOf(message?.payload) ?? {};
  const type = textOf(message?.type) ?? "";
  switch (type) {
    case "TurnBegin":
    case "SteerInput":
      return [{ kind: "end" }, { kind: "user", text: contentOf(payload.user_input, reading.unknown).text }];
    case "StepBegin":
      return [{ kind: "begin" }];
    case "TurnEnd":
    case "StepInterrupted":
    case "CompactionBegin":
      return [{ kind: "end" }];
    case "ContentPart":
      return contentSignals(contentOf([payload], reading.unknown));
    case "ToolCall":
      return [callOf(payload)];
    case "ToolResult": {
      const returned = recordOf(payload.return_value) ?? recordOf(payload.result);
      const output = contentOf(returned?.output, reading.unknown).text;
      const text = output === "" ? (textOf(returned?.message) ?? "") : output;
      return [{ kind: "result", callId: textOf(payload.tool_call_id) ?? "", text }];
    }
    case "StatusUpdate": {
      const usage = usageOf(payload.token_usage, {
        inputTokens: "input_other",
        outputTokens: "output",
        cacheReadTokens: "input_cache_read",
        cacheWriteTokens: "input_cache_creation",
      });
      return usage === undefined ? [] : [{ kind: "usage", usage }];
    }
    default:
      if (!SILENT.has(type)) reading.unknown(`event ${type || "without type"}`);
      return [];
  }
}

/** Roles that begin with an underscore are control records. */
export function contextSignals(value: Json, reading: Reading): readonly Signal[] {
  const role = textOf(value.role) ?? "";
  const content = contentOf(value.content, reading.unknown);
  const { text } = content;
  if (role === "user") return [{ kind: "user", text }];
  if (role === "tool") return [{ kind: "result", callId: textOf(value.tool_call_id) ?? "", text }];
  if (role === "assistant")
    return [
      { kind: "begin" },
      ...contentSignals(content),
      ...recordsOf(value.tool_calls).map(callOf),
      { kind: "end" },
    ];
  if (!role.startsWith("_") && role !== "system") reading.unknown(`role ${role || "missing"}`);
  return [];
}

function callOf(call: Json): Signal {
  const made = recordOf(call.function);
  return { kind: "call", call: toolCall(call.id, made?.name, made?.arguments) };
}
