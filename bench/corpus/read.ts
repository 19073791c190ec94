// A corpus from JSONL files. Nothing is kept in memory.
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { describeCause, errnoCode, HermesError } from "@hermes-memory/core/internal/lib";
import { type CorpusMessage, corpusMessage } from "./message.ts";

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
