// DeepSeek Harness: a folder per session with a journal of events, mostly compressed in many small frames.
import { basename, dirname, join } from "node:path";
import { blocksOf } from "../kit/blocks.ts";
import { jsonLines } from "../kit/json-lines.ts";
import { type Json, joined, jsonText, listOf, numberOf, recordOf, textOf, timeOf } from "../kit/values.ts";
import { filesBelow } from "../kit/walk.ts";
import type { Reading, SessionFacts, ToolCall, TranscriptMessage, TranscriptReader } from "../reader.ts";

const JOURNAL = /^session(?:\.v(\d+))?\.jsonl(?:\.zstd?)?$/;
/** Known, and nothing to keep: steps, pieces of answers that follow as a whole, settings. */
const SKIPPED =
  /^(?:turn|step|tool\/call|request|model|sandbox|approval|permission|hook|command|todo|compaction|system)(?:\/|$)|chunks?$|^session\/(?:title-llm-request|end-seed)$/;

export const deepseek: TranscriptReader = {
  source: "deepseek",
  title: "DeepSeek Harness",
  evidence: "P",
  version: 1,
  roots: ({ home, env }) => [join(env.DSH_HOME || join(home, ".dsh"), "sessions")],
  units: async function* (root, walking) {
    const file = (path: string): boolean => path === root || JOURNAL.test(basename(path));
    let best: string | undefined;
    for await (const path of filesBelow(root, { file }, walking)) {
      if (best !== undefined && dirname(best) !== dirname(path)) yield { path: best };
      best = best !== undefined && dirname(best) === dirname(path) ? newerOf(best, path) : path;
    }
    if (best !== undefined) yield { path: best };
  },
  recognises: ({ path, first }) => {
    const header = recordOf(first);
    const isHeader = header?.type === "session" && numberOf(header.createdAt) !== undefined;
    return isHeader || (first === undefined && JOURNAL.test(basename(path)));
  },
  read: async function* ({ path }, reading) {
    let nativeId: string | undefined;
    const toolNames = new Map<string, string>();
    for await (const { value, line } of jsonLines(path, reading)) {
      if (value.type === "session" || nativeId === undefined) {
        const facts = headerFacts(value, path);
        nativeId ??= facts.nativeId;
        yield { kind: "session", facts: { ...facts, nativeId } };
        if (value.type === "session") continue;
      }
      const data = recordOf(value.data) ?? {};
      if (value.type === "session/title") {
        yield { kind: "session", facts: { nativeId, title: textOf(data.title) } };
        continue;
      }
      const message = messageOf(value, data, toolNames, reading);
      if (message !== undefined) yield { kind: "message", message: { ...message, line } };
    }
  },
};

/** A folder keeps the journals of earlier versions, and may hold a plain one beside the compressed one. */
function newerOf(one: string, other: string): string {
  const rank = (path: string): number =>
    Number(JOURNAL.exec(basename(path))?.[1] ?? 0) * 2 + (path.endsWith(".jsonl") ? 1 : 0);
  return rank(other) > rank(one) ? other : one;
}

function headerFacts(record: Json, path: string): SessionFacts {
  const header = record.type === "session" ? record : {};
  const depth = numberOf(header.delegationDepth) ?? 0;
  return {
    nativeId: textOf(header.id) ?? basename(dirname(path)),
    cwd: textOf(header.cwd),
    startedAt: timeOf(header.createdAt) ?? timeOf(header.time),
    ...(depth > 0 && { visibility: "subagent" }),
  };
}

function messageOf(
  event: Json,
  data: Json,
  toolNames: Map<string, string>,
  reading: Reading,
): TranscriptMessage | undefined {
  const type = textOf(event.type) ?? "";
  const message = type === "user/message" ? data : (recordOf(data.message) ?? {});
  const source = recordOf(message.source);
  const seq = numberOf(event.seq);
  const common = {
    id: textOf(message.id) ?? (seq === undefined ? undefined : `s${seq}`),
    at: timeOf(event.time),
  };
  if (type === "user/message") {
    // Plugins write messages in the user's name.
    if (source?.kind !== "user") return undefined;
    return { ...common, role: "user", text: contentOf(message.content, reading).text };
  }
  if (type === "assistant/message") {
    const { text, toolCalls, reasoning } = contentOf(message.content, reading);
    for (const call of toolCalls) toolNames.set(call.id, call.name);
    const usage = recordOf(data.usage);
    return {
      ...common,
      role: "assistant",
      text,
      model: textOf(source?.model),
      ...(toolCalls.length > 0 && { toolCalls }),
      ...(reading.options.includeReasoning && reasoning !== "" && { reasoning }),
      ...(usage && {
        usage: {
          inputTokens: numberOf(usage.inputTokens),
          outputTokens: numberOf(usage.outputTokens),
          cacheReadTokens: numberOf(usage.cacheReadTokens),
        },
      }),
    };
  }
  if (type === "tool/result") {
    const block = recordOf(listOf(message.content)[0]);
    const toolCallId = textOf(source?.callId) ?? textOf(block?.callId);
    const { text } = contentOf(message.content, reading);
    return { ...common, role: "tool", text, toolCallId, toolName: toolCallId && toolNames.get(toolCallId) };
  }
  if (!SKIPPED.test(type)) reading.unknown(type === "" ? "record without type" : type);
  return undefined;
}

type Content = { readonly text: string; readonly reasoning: string; readonly toolCalls: readonly ToolCall[] };

function contentOf(content: unknown, reading: Reading): Content {
  const texts: string[] = [];
  const thoughts: string[] = [];
  const toolCalls: ToolCall[] = [];
  for (const item of listOf(content)) {
    const block = recordOf(item);
    if (block?.type === "tool-call")
      toolCalls.push({
        id: textOf(block.id) ?? "",
        name: textOf(block.name) ?? "unknown",
        arguments: jsonText(block.arguments),
      });
    else if (block?.type === "tool-result") texts.push(contentOf(block.content, reading).text);
    else if (block?.type === "reasoning") thoughts.push(textOf(block.text) ?? "");
    else texts.push(blocksOf([item], reading.unknown).text);
  }
  return { text: joined(texts), reasoning: joined(thoughts), toolCalls };
}
