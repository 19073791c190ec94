// One message of a corpus (a line of JSONL), and its text.

import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { describeCause, errnoCode, HermesError } from "@hermes-memory/core/internal/lib";
import { z } from "zod";

export type CorpusMessage = z.infer<typeof corpusMessage>;

const corpusMessage = z.object({
  s: z.string().min(1),
  role: z.string().min(1),
  content: z.union([z.string(), z.null(), z.array(z.unknown()), z.record(z.string(), z.unknown())]),
  ts: z.number(),
  tool_calls: z.array(z.unknown()).nullish(),
  tool_name: z.string().nullish(),
  tool_call_id: z.string().nullish(),
  finish_reason: z.string().nullish(),
});

/** Content, tool calls and tool name. The size of the database is compared with this. */
export function textBytesOf(message: CorpusMessage): number {
  const calls = message.tool_calls ? Buffer.byteLength(JSON.stringify(message.tool_calls)) : 0;
  return Buffer.byteLength(contentText(message) ?? "") + calls + Buffer.byteLength(message.tool_name ?? "");
}

export function contentText({ content }: CorpusMessage): string | null {
  return content === null || typeof content === "string" ? content : JSON.stringify(content);
}

// A corpus from JSONL files. Nothing is kept in memory.

/** One message per line; blank lines are skipped. For an invalid line it throws an error with file and line number. */
export async function* readCorpus(files: readonly string[]): AsyncGenerator<CorpusMessage> {
  for (const file of files) {
    const lines = createInterface({ input: createReadStream(file, "utf8"), crlfDelay: Infinity });
    let number = 0;
    try {
      for await (const line of lines) {
        number += 1;
        if (line.trim() !== "") yield parseLine(line, `${file}:${number}`);
      }
    } catch (cause) {
      if (errnoCode(cause) === undefined || cause instanceof HermesError) throw cause;
      throw new HermesError("unreadable-corpus", `Cannot read ${file}: ${describeCause(cause)}.`, { cause });
    }
  }
}

function parseLine(line: string, place: string): CorpusMessage {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (cause) {
    throw new HermesError("bad-corpus-line", `${place} is not JSON.`, { hint: LINE_HINT, cause });
  }
  const parsed = corpusMessage.safeParse(value);
  if (parsed.success) return parsed.data;
  const wrong = parsed.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`).join("; ");
  throw new HermesError("bad-corpus-line", `${place} is not a message (${wrong}).`, { hint: LINE_HINT });
}

const LINE_HINT =
  "Every line of a corpus is one JSON object with at least s, role, content and ts (seconds).";

// The source of a session, which is not part of a corpus.

/** Derived from the id, so that every run over the same corpus gets the same sources. */
export function sourceOf(sessionId: string): string {
  if (sessionId.startsWith("cron_")) return "cron";
  let hash = 0;
  for (let i = 0; i < sessionId.length; i += 1)
    hash = Math.imul(hash ^ sessionId.charCodeAt(i), 0x01000193) >>> 0;
  return SOURCES[(hash >>> 8) % SOURCES.length] ?? "cli";
}

/** One in seven is a subagent or a tool. Cron runs are recognised by their ids. */
const SOURCES = [
  ...["cli", "cli", "cli", "cli", "cli", "cli", "cli", "tui", "tui", "acp"],
  ...["telegram", "telegram", "telegram", "telegram", "discord", "discord", "slack", "whatsapp"],
  ...["subagent", "subagent", "tool"],
];
