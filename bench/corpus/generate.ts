// Generates a corpus from a seed. It imitates what full-text indexes are sensitive to: word frequencies of a natural language,
// rare tokens (paths, hashes, numbers), lengths with a long tail, and every tenth message in Chinese.
import { hex, type Random, randomNumbers } from "../../packages/core/test/fakes/random.ts";
import { conversation } from "./conversation.ts";
import type { CorpusMessage } from "./message.ts";
import { textWriter } from "./text.ts";

/** With the same seed, a shorter corpus is the beginning of a longer one. Nothing is kept in memory. */
export function* generateCorpus(options: { messages: number; seed: number }): Generator<CorpusMessage> {
  const random = randomNumbers(options.seed);
  const text = textWriter(random);
  let left = options.messages;
  let now = FIRST_SECOND;
  while (left > 0) {
    now += 30 + Math.floor(random() * 3600);
    const length = Math.floor(SHORTEST_SESSION * ((LONGEST_SESSION + 1) / SHORTEST_SESSION) ** random());
    const s = sessionId(now, random);
    let written = 0;
    for (const message of conversation(text, random)) {
      if (written === length || left === 0) break;
      now += 1 + Math.floor(random() * 40);
      yield { s, ts: now, ...message };
      written += 1;
      left -= 1;
    }
  }
}

const SHORTEST_SESSION = 5;
const LONGEST_SESSION = 200;
const FIRST_SECOND = Date.UTC(2025, 0, 6) / 1000;
const CRON_SHARE = 0.06;

function sessionId(second: number, random: Random): string {
  const stamp = new Date(second * 1000).toISOString().slice(0, 19).replace(/[-:]/g, "").replace("T", "_");
  return random() < CRON_SHARE ? `cron_${hex(random, 4)}_${stamp}` : `${stamp}_${hex(random, 6)}`;
}
