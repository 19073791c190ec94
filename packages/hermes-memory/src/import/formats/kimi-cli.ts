// The two logs of Kimi CLI: wire.jsonl with events and times, context.jsonl with the messages as the model sees them.
import { type Json, jsonText, listOf, numberOf, recordOf, textOf } from "../kit/values.ts";
import type { Reading } from "../reader.ts";
import { contentOf } from "./kimi-content.ts";
import type { Signal } from "./kimi-turns.ts";

/** Known events without anything to keep. A subagent has a log of its own, which repeats `SubagentEvent`. */
const SILENT: ReadonlySet<string> = new Set([
  "ApprovalRequest",
  "ApprovalRequestResolved",
  "ApprovalResponse",
  "CompactionEnd",
  "HookResolved",
  "HookTriggered",
  "MCPLoadingBegin",
  "MCPLoadingEnd",
  "Notification",
  "PlanDisplay",
  "QuestionRequest",
  "SubagentEvent",
  "ToolCallPart",
  "ToolCallRequest",
]);

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
    case "ContentPart": {
      const { text, reasoning } = contentOf([payload], reading.unknown);
      if (text !== "") return [{ kind: "text", text }];
      return reasoning === "" ? [] : [{ kind: "thought", text: reasoning }];
    }
    case "ToolCall":
      return [callOf(payload)];
    case "ToolResult": {
      const returned = recordOf(payload.return_value) ?? recordOf(payload.result);
      const output = contentOf(returned?.output, reading.unknown).text;
      const text = output === "" ? (textOf(returned?.message) ?? "") : output;
      return [{ kind: "result", callId: textOf(payload.tool_call_id) ?? "", text }];
    }
    case "StatusUpdate": {
      const usage = recordOf(payload.token_usage);
      if (usage === undefined) return [];
      return [
        {
          kind: "usage",
          usage: {
            inputTokens: numberOf(usage.input_other),
            outputTokens: numberOf(usage.output),
            cacheReadTokens: numberOf(usage.input_cache_read),
            cacheWriteTokens: numberOf(usage.input_cache_creation),
          },
        },
      ];
    }
    default:
      if (!SILENT.has(type)) reading.unknown(`event ${type || "without type"}`);
      return [];
  }
}

/** Roles that begin with an underscore are control records. */
export function contextSignals(value: Json, reading: Reading): readonly Signal[] {
  const role = textOf(value.role) ?? "";
  const { text, reasoning } = contentOf(value.content, reading.unknown);
  if (role === "user") return [{ kind: "user", text }];
  if (role === "tool") return [{ kind: "result", callId: textOf(value.tool_call_id) ?? "", text }];
  if (role === "assistant")
    return [
      { kind: "begin" },
      ...(text === "" ? [] : [{ kind: "text", text } as const]),
      ...(reasoning === "" ? [] : [{ kind: "thought", text: reasoning } as const]),
      ...listOf(value.tool_calls).map((call) => callOf(recordOf(call) ?? {})),
      { kind: "end" },
    ];
  if (!role.startsWith("_") && role !== "system") reading.unknown(`role ${role || "missing"}`);
  return [];
}

function callOf(call: Json): Signal {
  const made = recordOf(call.function);
  const name = textOf(made?.name) ?? "unknown";
  return { kind: "call", call: { id: textOf(call.id) ?? "", name, arguments: jsonText(made?.arguments) } };
}
