// Amp: one JSON file per thread. The threads live on Amp's server, so a file may hold only part of one.
import { basename, join } from "node:path";
import { blocksOf } from "../kit/blocks.ts";
import { wholeJson } from "../kit/json-array.ts";
import { type Json, numberOf, recordOf, recordsOf, textOf, timeOf } from "../kit/values.ts";
import { pathOfUri, vscodeUserFolders } from "../kit/vscode-user.ts";
import { filesBelow } from "../kit/walk.ts";
import type {
  Place,
  Reading,
  SessionFacts,
  TranscriptEvent,
  TranscriptMessage,
  TranscriptReader,
  Unit,
  Usage,
} from "../reader.ts";

export const amp: TranscriptReader = {
  source: "amp",
  title: "Amp",
  evidence: "P",
  isExperimental: true,
  version: 1,
  roots,
  async *units(root, walking) {
    const wanted = {
      file: (path: string) => path === root || /^T-.+\.json$/.test(basename(path)),
      maxDepth: 3,
    };
    for await (const path of filesBelow(root, wanted, walking)) yield { path };
  },
  recognises: ({ first }) => {
    const thread = recordOf(first);
    return /^T-/.test(textOf(thread?.id) ?? "") && Array.isArray(thread?.messages);
  },
  read,
};

function roots(place: Place): string[] {
  const data = textOf(place.env.XDG_DATA_HOME) ?? join(place.home, ".local", "share");
  return [
    join(data, "amp", "threads"),
    ...vscodeUserFolders(place).map((user) => join(user, "globalStorage", "sourcegraph.amp", "threads3")),
  ];
}

async function* read(unit: Unit, reading: Reading): AsyncGenerator<TranscriptEvent> {
  const thread = recordOf(await wholeJson(unit.path, reading));
  if (thread === undefined || !Array.isArray(thread.messages)) {
    reading.unknown("file without messages");
    return;
  }
  const messages = [...messagesOf(thread.messages, reading)];
  yield {
    kind: "session",
    facts: {
      ...factsOf(thread, basename(unit.path, ".json")),
      ...(messages.some(({ at }) => at !== undefined) ? {} : { hasSyntheticTimes: true as const }),
    },
  };
  for (const message of messages) yield { kind: "message", message };
}

function factsOf(thread: Json, name: string): SessionFacts {
  const trees = recordsOf(recordOf(recordOf(thread.env)?.initial)?.trees);
  const parent = recordsOf(thread.relationships).find(
    ({ role, type }) => role === "parent" || type === "parent",
  );
  const parentId = textOf(parent?.threadID) ?? textOf(parent?.threadId);
  return {
    nativeId: textOf(thread.id) ?? name,
    title: textOf(thread.title),
    cwd: pathOfUri(trees[0]?.uri),
    startedAt: timeOf(thread.created),
    ...(parentId === undefined ? {} : { parent: parentId, visibility: "subagent" as const }),
  };
}

function* messagesOf(list: readonly unknown[], reading: Reading): Generator<TranscriptMessage> {
  const toolNames = new Map<string, string>();
  for (const [index, value] of list.entries()) {
    const message = recordOf(value);
    if (message === undefined) {
      reading.malformed(index + 1, "not a JSON object");
      continue;
    }
    const { role } = message;
    if (role !== "user" && role !== "assistant") {
      reading.unknown(`role ${String(role)}`);
      continue;
    }
    // Its text would change under the same id.
    if (recordOf(message.state)?.type === "streaming") continue;
    const content = Array.isArray(message.content) ? message.content.map(inAnthropicForm) : message.content;
    const blocks = blocksOf(content, reading.unknown);
    for (const call of blocks.toolCalls) toolNames.set(call.id, call.name);
    const number = numberOf(message.messageId);
    const id = number === undefined ? undefined : `m${number}`;
    const usage = recordOf(message.usage);
    const at = timeOf(recordOf(message.meta)?.sentAt) ?? timeOf(usage?.timestamp);
    const line = index + 1;
    for (const { callId, text } of blocks.toolResults)
      yield {
        id: id && `${id}:${callId}`,
        role: "tool",
        text,
        at,
        line,
        toolCallId: callId,
        toolName: toolNames.get(callId),
      };
    if (role === "user" && blocks.text === "" && blocks.toolResults.length > 0) continue;
    yield {
      id,
      role,
      text: blocks.text,
      at,
      line,
      toolCalls: blocks.toolCalls.length === 0 ? undefined : blocks.toolCalls,
      reasoning: reading.options.includeReasoning ? blocks.reasoning : undefined,
      finishReason: textOf(recordOf(message.state)?.stopReason),
      model: textOf(usage?.model),
      usage: usageOf(usage),
    };
  }
}

/** Amp's results name their call `toolUseID` and keep the outcome under `run`. */
function inAnthropicForm(value: unknown): unknown {
  const block = recordOf(value);
  const run = recordOf(block?.run);
  if (block?.type !== "tool_result") return value;
  if (run === undefined) return { ...block, tool_use_id: block.tool_use_id ?? block.toolUseID };
  const failure = recordOf(run.error)?.message;
  const result = run.result ?? failure ?? textOf(run.status) ?? "";
  return {
    type: "tool_result",
    tool_use_id: block.toolUseID ?? block.tool_use_id,
    content: typeof result === "string" ? result : JSON.stringify(result),
    is_error: failure !== undefined,
  };
}

function usageOf(usage: Json | undefined): Usage | undefined {
  return (
    usage && {
      inputTokens: numberOf(usage.inputTokens),
      outputTokens: numberOf(usage.outputTokens),
      cacheReadTokens: numberOf(usage.cacheReadInputTokens),
      cacheWriteTokens: numberOf(usage.cacheCreationInputTokens),
    }
  );
}
