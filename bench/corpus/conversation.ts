// The generated messages of user, assistant and tools.
import { hex, pick, type Random } from "../../packages/core/test/fakes/random.ts";
import type { CorpusMessage } from "./message.ts";
import type { TextWriter } from "./text.ts";

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
