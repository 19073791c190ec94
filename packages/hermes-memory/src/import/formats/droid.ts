// Droid (Factory): `sessions/<folder>/<id>.jsonl` with Anthropic blocks, and `<id>.settings.json` beside it.
import { readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { blocksOf } from "../kit/blocks.ts";
import { folderEncodedAs } from "../kit/encoded-folder.ts";
import { jsonLines } from "../kit/json-lines.ts";
import { type Json, jsonOf, listOf, numberOf, recordOf, textOf, timeOf } from "../kit/values.ts";
import { filesBelow } from "../kit/walk.ts";
import type {
  Place,
  Reading,
  Sample,
  SessionFacts,
  TranscriptEvent,
  TranscriptReader,
  Unit,
  Walking,
} from "../reader.ts";

const SUBAGENT_TITLE = "# Task Tool Invocation";
const SILENT_TYPES: ReadonlySet<string> = new Set([
  "todo_state",
  "compaction_state",
  "compaction",
  "session_end",
]);

export const droid: TranscriptReader = {
  source: "droid",
  title: "Droid",
  evidence: "P",
  isExperimental: true,
  version: 2,
  roots: ({ home, env }: Place) => [join(textOf(env.FACTORY_DIR) ?? join(home, ".factory"), "sessions")],
  units,
  recognises,
  read,
};

async function* units(root: string, walking: Walking): AsyncGenerator<Unit> {
  for await (const path of filesBelow(root, { file: (one) => one.endsWith(".jsonl") }, walking))
    yield { path, stamps: [path, settingsOf(path)] };
}

function recognises({ first }: Sample): boolean {
  const record = recordOf(first);
  return record?.type === "session_start" && textOf(record.id) !== undefined;
}

function settingsOf(path: string): string {
  return path.replace(/\.jsonl$/, ".settings.json");
}

async function* read(unit: Unit, reading: Reading): AsyncGenerator<TranscriptEvent> {
  const names = new Map<string, string>();
  const stem = basename(unit.path, ".jsonl");
  let nativeId: string | undefined;
  for await (const { line, value } of jsonLines(unit.path, reading)) {
    const type = textOf(value.type) ?? "";
    if (type === "session_start") {
      nativeId = textOf(value.id) ?? stem;
      const cwd = textOf(value.cwd) ?? (await folderOf(unit.path));
      yield { kind: "session", facts: { ...started(value, nativeId), cwd } };
      if (isInternal(value)) {
        yield { kind: "skip", reason: "internal session" };
        return;
      }
    } else if (type === "message") {
      if (nativeId === undefined) yield { kind: "session", facts: { nativeId: stem } };
      nativeId ??= stem;
      yield* messages(value, line, { reading, names });
    } else if (!SILENT_TYPES.has(type)) reading.unknown(type === "" ? "record without type" : type);
  }
  if (nativeId !== undefined) yield { kind: "session", facts: { nativeId, ...(await settings(unit.path)) } };
}

function started(record: Json, nativeId: string): SessionFacts {
  const title = textOf(record.title);
  const isSubagent = title?.startsWith(SUBAGENT_TITLE) === true;
  return {
    nativeId,
    title: textOf(record.sessionTitle) ?? title,
    visibility: isSubagent ? "subagent" : undefined,
  };
}

/** The folder above a session is named after the working directory, with `-` for every `/`. */
async function folderOf(path: string): Promise<string | undefined> {
  const name = basename(dirname(path));
  return name.startsWith("-") ? folderEncodedAs(name, { encoded: (folder) => folder }) : undefined;
}

/** Sessions that the product holds with itself work in its own folder. */
function isInternal(record: Json): boolean {
  return /(?:^|[\\/])\.factory[\\/]?$/.test(textOf(record.cwd) ?? "");
}

function* messages(
  record: Json,
  line: number,
  { reading, names }: { reading: Reading; names: Map<string, string> },
): Generator<TranscriptEvent> {
  const message = recordOf(record.message);
  if (message === undefined) {
    reading.malformed(line, "a message record without a message");
    return;
  }
  // Context for the model that the user never sees.
  if (record.visibility === "llm_only") return;
  const id = textOf(record.id);
  const at = timeOf(record.timestamp);
  const { text, reasoning, toolCalls, toolResults } = blocksOf(message.content, reading.unknown);
  for (const call of toolCalls) names.set(call.id, call.name);
  for (const result of toolResults)
    yield {
      kind: "message",
      message: {
        id: id === undefined ? undefined : `${id}:${result.callId}`,
        role: "tool",
        text: result.text,
        at,
        line,
        toolCallId: textOf(result.callId),
        toolName: names.get(result.callId),
      },
    };
  const role = textOf(message.role);
  if (role !== "user" && role !== "assistant" && role !== "system") {
    reading.unknown(`role ${role ?? "missing"}`);
    return;
  }
  if (role === "system" && !reading.options.includeSystem) return;
  const thoughts = reading.options.includeReasoning ? reasoning : undefined;
  if (text === "" && toolCalls.length === 0 && thoughts === undefined) return;
  yield {
    kind: "message",
    message: {
      id,
      role,
      text,
      at,
      line,
      toolCalls: toolCalls.length === 0 ? undefined : toolCalls,
      reasoning: thoughts,
    },
  };
}

async function settings(path: string): Promise<Partial<SessionFacts>> {
  // Missing settings cost only the model and the totals.
  const known = recordOf(jsonOf(await readFile(settingsOf(path), "utf8").catch(() => undefined)));
  const usage = recordOf(known?.tokenUsage);
  const callers = listOf(known?.tags).map((tag) => recordOf(recordOf(tag)?.metadata)?.callingSessionId);
  const parent = callers.map(textOf).find((caller) => caller !== undefined);
  return {
    model: textOf(known?.model),
    ...(parent === undefined ? {} : { parent, visibility: "subagent" }),
    ...(usage === undefined
      ? {}
      : {
          usage: {
            inputTokens: numberOf(usage.inputTokens),
            outputTokens: numberOf(usage.outputTokens),
            cacheReadTokens: numberOf(usage.cacheReadTokens),
            cacheWriteTokens: numberOf(usage.cacheCreationTokens),
            reasoningTokens: numberOf(usage.thinkingTokens),
          },
        }),
  };
}
