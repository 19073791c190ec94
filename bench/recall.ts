// How much of what answers a question is found by asking it as it is: LoCoMo conversations, each in its own database.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HermesError } from "../src/lib/index.ts";
import { openSessionStore } from "../src/sessions/index.ts";
import { ask } from "./recall/ask.ts";
import { fillStore } from "./recall/fill.ts";
import { readLocomo } from "./recall/locomo.ts";
import { recallAt } from "./recall/share.ts";
import { quantile, round } from "./statistics.ts";
import { progress } from "./store/progress.ts";

export async function run(
  _flags: Readonly<Record<string, string>>,
  _lists: Readonly<Record<string, readonly string[]>>,
  words: readonly string[],
): Promise<Record<string, unknown>> {
  const [file, ...more] = words;
  if (file === undefined || more.length > 0)
    throw new HermesError("usage", "The recall benchmark takes one file.", {
      hint: "Name a LoCoMo file: npm run -s bench -- recall locomo10.json",
    });
  const conversations = readLocomo(file);
  const root = mkdtempSync(join(tmpdir(), "hermes-bench-"));
  try {
    const outcomes = [];
    for (const [at, conversation] of conversations.entries()) {
      await using store = await openSessionStore({ path: join(root, `${at}.db`) });
      outcomes.push(...(await ask(store, conversation, await fillStore(store, conversation))));
      progress(`${at + 1} of ${conversations.length} conversations, ${outcomes.length} questions`);
    }
    if (outcomes.length === 0)
      throw new HermesError("usage", `No question of ${file} names a turn as its evidence.`);
    const ms = outcomes.flatMap((outcome) => outcome.ms);
    return {
      bench: "recall",
      questions: outcomes.length,
      session_recall: recallAt(
        [1, 3, 5, 10],
        outcomes.map((outcome) => outcome.sessions),
      ),
      message_recall: recallAt(
        [5, 10, 20],
        outcomes.map((outcome) => outcome.messages),
      ),
      ms: { p50: round(quantile(ms, 0.5), 3), p95: round(quantile(ms, 0.95), 3) },
    };
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}
