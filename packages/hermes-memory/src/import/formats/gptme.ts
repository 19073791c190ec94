// gptme: a folder per conversation with conversation.jsonl, one message per line.
import { readlink } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { chatMessage } from "../kit/chat-message.ts";
import { jsonLines } from "../kit/json-lines.ts";
import { type Json, joined, listOf, numberOf, recordOf, textOf, timeOf } from "../kit/values.ts";
import { filesBelow } from "../kit/walk.ts";
import type { TranscriptReader, Usage } from "../reader.ts";

export const gptme: TranscriptReader = {
  source: "gptme",
  title: "gptme",
  evidence: "P",
  version: 1,
  roots: ({ home, env }) => [
    textOf(env.GPTME_LOGS_HOME) ??
      join(textOf(env.XDG_DATA_HOME) ?? join(home, ".local", "share"), "gptme", "logs"),
  ],
  units: async function* (root, walking) {
    const file = (path: string): boolean => path === root || basename(path) === "conversation.jsonl";
    // `workspace` is a link to the project; `branches` repeat the conversation up to where they part.
    const folder = (path: string): boolean => !["workspace", "branches"].includes(basename(path));
    for await (const path of filesBelow(root, { file, folder, maxDepth: 2 }, walking)) yield { path };
  },
  recognises: ({ path, first }) => {
    const message = recordOf(first);
    return (
      basename(path) === "conversation.jsonl" &&
      textOf(message?.role) !== undefined &&
      "timestamp" in (message ?? {})
    );
  },
  read: async function* ({ path }, reading) {
    const folder = dirname(path);
    yield { kind: "session", facts: { nativeId: basename(folder), cwd: await workspaceOf(folder) } };
    for await (const { line, value } of jsonLines(path, reading)) {
      const message = value.hide === true ? undefined : chatMessage(value, reading);
      if (message === undefined) continue;
      const files = listOf(value.files).flatMap((file) =>
        textOf(file) ? [`[file: ${basename(`${file}`)}]`] : [],
      );
      const metadata = recordOf(value.metadata);
      yield {
        kind: "message",
        message: {
          ...message,
          text: joined([message.text, ...files]),
          at: timeOf(value.timestamp),
          line,
          model: textOf(metadata?.model),
          usage: usageOf(recordOf(metadata?.usage)),
        },
      };
    }
  },
};

/** The folder that the link beside the conversation points to. */
async function workspaceOf(folder: string): Promise<string | undefined> {
  try {
    return resolve(folder, await readlink(join(folder, "workspace")));
  } catch {
    return undefined; // older conversations have no link, and a real folder belongs to gptme itself
  }
}

function usageOf(usage: Json | undefined): Usage | undefined {
  if (usage === undefined) return undefined;
  return {
    inputTokens: numberOf(usage.input_tokens),
    outputTokens: numberOf(usage.output_tokens),
    cacheReadTokens: numberOf(usage.cache_read_tokens),
    cacheWriteTokens: numberOf(usage.cache_creation_tokens),
  };
}
