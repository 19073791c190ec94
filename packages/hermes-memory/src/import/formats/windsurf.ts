// Windsurf: transcripts that the product writes when the hook post_cascade_response_with_transcript is set. Its own store is encrypted.
import { basename, join } from "node:path";
import { jsonLines } from "../kit/json-lines.ts";
import { recordOf, textOf, timeOf } from "../kit/values.ts";
import { filesBelow } from "../kit/walk.ts";
import type { TranscriptReader } from "../reader.ts";

/** Steps that hold conversation, with the fields that may hold the text. Other steps are counted by their type. */
const STEPS: Readonly<Record<string, { role: "user" | "assistant"; fields: readonly string[] }>> = {
  user_input: { role: "user", fields: ["user_response", "text", "content"] },
  planner_response: { role: "assistant", fields: ["response", "text", "content"] },
};

export const windsurf: TranscriptReader = {
  source: "windsurf",
  title: "Windsurf",
  evidence: "P",
  isExperimental: true,
  version: 1,
  roots: ({ home }) => [join(home, ".windsurf", "transcripts")],
  units: async function* (root, walking) {
    const file = (path: string): boolean => path.endsWith(".jsonl");
    for await (const path of filesBelow(root, { file, maxDepth: 1 }, walking)) yield { path };
  },
  recognises: ({ first }) => {
    const step = recordOf(first);
    const type = typeOf(step?.type);
    return type in STEPS && recordOf(step?.[type]) !== undefined;
  },
  read: async function* ({ path }, reading) {
    const nativeId = basename(path, ".jsonl");
    yield { kind: "session", facts: { nativeId } };
    let hasTimes = false;
    for await (const { line, value } of jsonLines(path, reading)) {
      const type = typeOf(value.type);
      const step = Object.hasOwn(STEPS, type) ? STEPS[type] : undefined;
      if (step === undefined) {
        reading.unknown(type === "" ? "step without type" : `step ${type}`);
        continue;
      }
      const inner = recordOf(value[type]) ?? value;
      const text = step.fields.map((field) => textOf(inner[field])).find((found) => found !== undefined);
      if (text === undefined) continue;
      const at = timeOf(value.timestamp) ?? timeOf(value.created_at);
      hasTimes ||= at !== undefined;
      yield { kind: "message", message: { role: step.role, text, at, line } };
    }
    if (!hasTimes) yield { kind: "session", facts: { nativeId, hasSyntheticTimes: true } };
  },
};

function typeOf(value: unknown): string {
  return (textOf(value) ?? "").toLowerCase();
}
