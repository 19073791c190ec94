// Google Antigravity: the plain log of each conversation in its brain folder. Its other stores are encrypted or protobuf.
import { basename, dirname, join } from "node:path";
import { jsonLines } from "../kit/json-lines.ts";
import { jsonText, listOf, recordOf, textOf, timeOf } from "../kit/values.ts";
import { filesBelow } from "../kit/walk.ts";
import type { Reading, ToolCall, TranscriptReader } from "../reader.ts";

const LOG = /[\\/]brain[\\/]([^\\/]+)[\\/]\.system_generated[\\/]logs[\\/]transcript\.jsonl$/;

export const antigravity: TranscriptReader = {
  source: "antigravity",
  title: "Antigravity",
  evidence: "P",
  version: 1,
  roots: ({ home }) => [join(home, ".gemini")],
  units: async function* (root, walking) {
    const file = (path: string): boolean => path === root || LOG.test(path);
    for await (const path of filesBelow(root, { file, folder: mayHoldLogs, maxDepth: 6 }, walking))
      yield { path };
  },
  recognises: ({ first }) => {
    const step = recordOf(first);
    return (
      step !== undefined &&
      ("step_index" in step || "created_at" in step) &&
      /^(?:USER_EXPLICIT|MODEL|SYSTEM)$/.test(`${step.source}`)
    );
  },
  read: async function* ({ path }, reading) {
    const nativeId = LOG.exec(path)?.[1] ?? basename(path, ".jsonl");
    yield { kind: "session", facts: { nativeId } };
    const seen = new Set<string>();
    // Results carry no id of their call; they follow in the order of the calls.
    let waiting: ToolCall[] = [];
    for await (const { line, value } of jsonLines(path, reading)) {
      const source = textOf(value.source) ?? "";
      const type = textOf(value.type) ?? "";
      const step = `s${value.step_index ?? `l${line}`}`;
      const id = seen.has(step) ? undefined : step;
      seen.add(step);
      const text = textOf(value.content) ?? textOf(recordOf(value.content)?.text) ?? "";
      const common = { id, text, line, at: timeOf(value.created_at) };
      if (source === "USER_EXPLICIT") yield { kind: "message", message: { ...common, role: "user" } };
      else if (source === "MODEL" && (type === "PLANNER_RESPONSE" || type === "")) {
        waiting = callsOf(value.tool_calls, step);
        const reasoning = thinkingOf(value.thinking, reading);
        if (text === "" && waiting.length === 0 && reasoning === undefined) continue;
        const toolCalls = waiting.length > 0 ? [...waiting] : undefined;
        yield { kind: "message", message: { ...common, role: "assistant", reasoning, toolCalls } };
      } else if (source === "MODEL") {
        const call = waiting.shift();
        const toolName = call?.name ?? type.toLowerCase();
        yield { kind: "message", message: { ...common, role: "tool", toolCallId: call?.id, toolName } };
      } else if (source !== "SYSTEM") reading.unknown(`source ${source || "missing"}`);
    }
  },
};

/** Below ~/.gemini only antigravity*\/brain/<conversation>/.system_generated/logs. */
function mayHoldLogs(path: string): boolean {
  const name = basename(path);
  const parent = basename(dirname(path));
  if (parent === ".gemini") return name.startsWith("antigravity");
  if (parent.startsWith("antigravity")) return name === "brain";
  if (basename(dirname(dirname(path))) === "brain") return name === ".system_generated";
  return parent !== ".system_generated" || name === "logs";
}

function callsOf(value: unknown, step: string): ToolCall[] {
  return listOf(value).flatMap((item, index) => {
    const call = recordOf(item);
    const name = textOf(call?.name);
    return name === undefined ? [] : [{ id: `${step}-${index}`, name, arguments: jsonText(call?.args) }];
  });
}

function thinkingOf(value: unknown, { options }: Reading): string | undefined {
  return options.includeReasoning ? textOf(value) : undefined;
}
