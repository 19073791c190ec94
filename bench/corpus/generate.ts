// Generates a corpus from a seed. It imitates what full-text indexes are sensitive to: word frequencies of a natural language,
// rare tokens (paths, hashes, numbers), lengths with a long tail, and every tenth message in Chinese.
import { hex, pick, type Random, randomNumbers } from "../../packages/core/test/fakes/random.ts";
import type { CorpusMessage } from "./message.ts";
import { type TextWriter, textWriter } from "./text.ts";

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

// The generated messages of user, assistant and tools.

type Body = Omit<CorpusMessage, "s" | "ts">;

/** Endless turns: a question, some rounds of tool calls with their results, an answer. */
export function* conversation(text: TextWriter, random: Random): Generator<Body> {
  for (;;) {
    yield { role: "user", content: text.prose(lengthAround(LENGTHS.user, random)) };
    const rounds = Math.floor(random() ** 2 * 4);
    for (let round = 0; round < rounds; round += 1) {
      const calls = Array.from({ length: random() < 0.15 ? 2 : 1 }, () => toolCall(text, random));
      const remark = random() < 0.4 ? "" : text.prose(lengthAround(LENGTHS.remark, random));
      yield { role: "assistant", content: remark, tool_calls: calls, finish_reason: "tool_calls" };
      for (const {
        id,
        function: { name },
      } of calls) {
        const content = text.toolOutput(lengthAround(LENGTHS.toolOutput, random));
        yield { role: "tool", content, tool_name: name, tool_call_id: id };
      }
    }
    yield {
      role: "assistant",
      content: text.answer(lengthAround(LENGTHS.answer, random)),
      finish_reason: "stop",
    };
  }
}

/** Mean lengths in characters, chosen so that the mean over all messages is 533. */
const LENGTHS = { user: 276, remark: 159, toolOutput: 1062, answer: 658 } as const;
const LONGEST_MESSAGE = 9000;

/** Log-normal: many short ones and a few very long ones, as in real transcripts. */
function lengthAround(mean: number, random: Random): number {
  const sigma = 0.8;
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const length = Math.round(mean * Math.exp(sigma * normal - (sigma * sigma) / 2));
  return Math.min(LONGEST_MESSAGE, Math.max(4, length));
}

const TOOLS = [
  "terminal",
  "read_file",
  "search_files",
  "patch",
  "write_file",
  "web_search",
  "browser_navigate",
];

function toolCall(text: TextWriter, random: Random) {
  const name = pick(TOOLS, random);
  const args =
    name === "terminal"
      ? { command: text.command(), timeout: 60 }
      : name === "patch" || name === "write_file"
        ? { path: text.path(), content: text.code(80 + Math.floor(random() * 300)) }
        : { query: text.prose(20 + Math.floor(random() * 60)), path: text.path() };
  return {
    id: `call_${hex(random, 12)}`,
    type: "function",
    function: { name, arguments: JSON.stringify(args) },
  };
}
