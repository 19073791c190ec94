// Mistral Vibe: a folder per session with messages.jsonl and meta.json.
import { basename, dirname, join } from "node:path";
import { errnoCode } from "@hermes-memory/core/internal/lib";
import { chatMessage } from "../kit/chat-message.ts";
import { wholeJson } from "../kit/json-array.ts";
import { jsonLines } from "../kit/json-lines.ts";
import { type Json, numberOf, recordOf, textOf, timeOf } from "../kit/values.ts";
import { filesBelow } from "../kit/walk.ts";
import type { Reading, TranscriptReader } from "../reader.ts";

export const vibe: TranscriptReader = {
  source: "vibe",
  title: "Mistral Vibe",
  evidence: "P",
  version: 1,
  roots: ({ home, env }) => [join(textOf(env.VIBE_HOME) ?? join(home, ".vibe"), "logs", "session")],
  units: async function* (root, walking) {
    const file = (path: string): boolean => path === root || basename(path) === "messages.jsonl";
    for await (const path of filesBelow(root, { file, maxDepth: 2 }, walking))
      yield { path, stamps: [path, join(dirname(path), "meta.json")] };
  },
  recognises: ({ path, first }) =>
    basename(path) === "messages.jsonl" &&
    basename(dirname(path)).startsWith("session_") &&
    textOf(recordOf(first)?.role) !== undefined,
  read: async function* ({ path }, reading) {
    const meta = await metaBeside(path, reading);
    const stats = recordOf(meta.stats);
    const parent = textOf(meta.parent_session_id);
    yield {
      kind: "session",
      facts: {
        nativeId: textOf(meta.session_id) ?? basename(dirname(path)),
        title: textOf(meta.title),
        cwd: textOf(recordOf(meta.environment)?.working_directory) ?? textOf(meta.working_dir),
        model: textOf(meta.model) ?? textOf(recordOf(meta.config)?.active_model),
        gitBranch: textOf(meta.git_branch),
        startedAt: timeOf(meta.start_time),
        hasSyntheticTimes: true,
        // The file does not say why the earlier session ended, so the two stay apart.
        continues: parent === undefined ? undefined : { how: "fork", session: parent },
        usage:
          stats === undefined
            ? undefined
            : {
                inputTokens: numberOf(stats.session_prompt_tokens),
                outputTokens: numberOf(stats.session_completion_tokens),
                cacheReadTokens: numberOf(stats.session_cached_tokens),
              },
      },
    };
    const names = new Map<string, string>();
    for await (const { line, value } of jsonLines(path, reading)) {
      if (value.injected === true) continue; // context that the program added under the user's name
      const message = chatMessage(value, reading);
      if (message === undefined) continue;
      for (const { id, name } of message.toolCalls ?? []) names.set(id, name);
      const toolName = message.toolName ?? names.get(message.toolCallId ?? "");
      yield { kind: "message", message: { ...message, toolName, id: textOf(value.message_id), line } };
    }
  },
};

/** Throws if the file is being written: without it the session would get another id. */
async function metaBeside(path: string, reading: Reading): Promise<Json> {
  try {
    return recordOf(await wholeJson(join(dirname(path), "meta.json"), reading)) ?? {};
  } catch (cause) {
    if (errnoCode(cause) === "ENOENT") return {};
    throw cause;
  }
}
