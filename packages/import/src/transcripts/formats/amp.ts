// Amp: one JSON file per thread. The threads live on Amp's server, so a file may hold only part of one.
import { basename, join } from "node:path";
import { type Draft, format } from "../declare.ts";
import { blocksOf } from "../kit/blocks.ts";
import { wholeJson } from "../kit/json-array.ts";
import { usageOf } from "../kit/parts.ts";
import { dataFolder } from "../kit/places.ts";
import { type Json, numbered, numberOf, recordOf, recordsOf, textOf, timeOf } from "../kit/values.ts";
import { pathOfUri, vscodeUserFolders } from "../kit/vscode-user.ts";
import { unitsOf } from "../kit/walk.ts";
import type { Reading } from "../reader.ts";

export const amp = format({
  source: "amp",
  title: "Amp",
  evidence: "P",
  isExperimental: true,
  keepsEmpty: true,
  roots: (place) => [
    join(dataFolder(place), "amp", "threads"),
    ...vscodeUserFolders(place).map((user) => join(user, "globalStorage", "sourcegraph.amp", "threads3")),
  ],
  units: unitsOf((path) => /^T-.+\.json$/.test(basename(path)), { maxDepth: 3 }),
  recognises: ({ first: { id, messages } }) => /^T-/.test(String(id)) && Array.isArray(messages),
  async *read({ path }, reading) {
    const thread = recordOf(await wholeJson(path, reading));
    if (!Array.isArray(thread?.messages)) return reading.unknown("file without messages");
    const messages = [...messagesOf(thread.messages, reading)];
    const trees = recordsOf(recordOf(recordOf(thread.env)?.initial)?.trees);
    const parent = recordsOf(thread.relationships).find(
      ({ role, type }) => role === "parent" || type === "parent",
    );
    yield {
      nativeId: textOf(thread.id) ?? basename(path, ".json"),
      title: textOf(thread.title),
      cwd: pathOfUri(trees[0]?.uri),
      startedAt: timeOf(thread.created),
      parent: textOf(parent?.threadID) ?? textOf(parent?.threadId),
      hasSyntheticTimes: messages.some(({ at }) => at !== undefined) ? undefined : true,
    };
    yield* messages;
  },
});

function* messagesOf(list: readonly unknown[], reading: Reading): Generator<Draft> {
  for (const { line, value } of numbered(list, reading)) {
    const state = recordOf(value.state);
    if (state?.type === "streaming") continue; // its text would change under the same id
    const number = numberOf(value.messageId);
    const usage = recordOf(value.usage);
    yield {
      id: number === undefined ? undefined : `m${number}`,
      role: value.role,
      ...blocksOf(value.content, reading.unknown, inAnthropicForm),
      at: timeOf(recordOf(value.meta)?.sentAt) ?? timeOf(usage?.timestamp),
      line,
      finishReason: textOf(state?.stopReason),
      model: textOf(usage?.model),
      usage: usageOf(usage, [
        "inputTokens",
        "outputTokens",
        "cacheReadInputTokens",
        "cacheCreationInputTokens",
      ]),
    };
  }
}

/** Amp's results name their call `toolUseID` and keep the outcome under `run`. */
function inAnthropicForm(block: Json): Json {
  const run = recordOf(block.run);
  if (block.type !== "tool_result") return block;
  if (run === undefined) return { ...block, tool_use_id: block.tool_use_id ?? block.toolUseID };
  const result = run.result ?? recordOf(run.error)?.message ?? textOf(run.status) ?? "";
  const content = typeof result === "string" ? result : JSON.stringify(result);
  return { type: "tool_result", tool_use_id: block.toolUseID ?? block.tool_use_id, content };
}
