// Reads the two published sets of questions about past conversations into one form: databases with their questions.
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { describeCause, HermesError } from "@hermes-memory/core/internal/lib";
import { isLocomo, locomoDatabases } from "./locomo.ts";
import { isLongMemEval, longMemEvalDatabases } from "./long-mem-eval.ts";
import type { QuestionSet } from "./question-types.ts";

/** Plain or gzip; a JSON array, or one JSON object per line. */
export function readQuestionSet(file: string): QuestionSet {
  const content = parse(file);
  if (isLocomo(content)) return { name: "locomo", databases: locomoDatabases(file, content) };
  if (isLongMemEval(content)) return { name: "longmemeval", databases: longMemEvalDatabases(file, content) };
  throw new HermesError("bad-recall-file", `${file} is neither a LoCoMo nor a LongMemEval file.`, {
    hint: "A LoCoMo file is a JSON array of objects with `conversation` and `qa`; objects of LongMemEval have `haystack_sessions`.",
  });
}

function parse(file: string): readonly unknown[] {
  try {
    const bytes = readFileSync(file);
    const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b;
    const text = (isGzip ? gunzipSync(bytes) : bytes).toString("utf8");
    if (!text.trimStart().startsWith("{")) return [JSON.parse(text)].flat();
    return text.split("\n").flatMap((line) => (line.trim() === "" ? [] : [JSON.parse(line)]));
  } catch (cause) {
    throw new HermesError("bad-recall-file", `Cannot read ${file}: ${describeCause(cause)}.`, { cause });
  }
}
