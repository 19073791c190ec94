// One combination of window, density and engine: a conversation with tool results of all sizes, on a server that counts tokens in
// its own way and refuses requests that do not fit.
import { jsonSchema, tool } from "ai";
import type { TurnResult } from "../../src/agent/index.ts";
import { isSummaryRequest } from "../fakes/long-conversation.ts";
import { countingServer, type RefusalKind } from "../fakes/wires/counting.ts";
import type { RecordedRequest, Reply } from "../fakes/wires/script.ts";
import { agentHome } from "./agent-home.ts";
import { expectWirePairs } from "./wire-pairs.ts";

export type Cell = {
  readonly window: number;
  /** Characters of one token, as the server counts. */
  readonly density: number;
  readonly engine: string;
  readonly home?: string;
  readonly turns: number;
  readonly refusal?: RefusalKind;
  readonly hasUsage?: boolean;
  /** `model.context_length`; the server's window when absent. */
  readonly believed?: number;
  readonly maxOutputTokens?: number;
  /** Tokens of the results of each turn, as shares of the window. */
  readonly results?: readonly (readonly number[])[];
};

export type Outcome = {
  readonly tried: number;
  readonly failures: readonly string[];
  readonly refused: number;
  readonly compactions: number;
  /** Tokens, as the server counts. */
  readonly largest: number;
  /** The list at the end. */
  readonly messages: TurnResult["messages"];
};

/** Small and large, one and several at once, one larger than the window, several rounds in a turn are made of them in turn. */
const RESULTS: readonly (readonly number[])[] = [
  [0.01],
  [0.05],
  [0.1, 0.1],
  [],
  [0.3],
  [0.02, 0.02, 0.02, 0.02],
  [0.6],
  [0.01],
  [1.5],
  [0.2, 0.3],
  [0.05],
  [0.15],
];
const ROUNDS = [1, 1, 2, 0, 1, 3, 1, 1, 1, 1, 6, 2];

export async function runCell(cell: Cell): Promise<Outcome> {
  const { window, density, engine, turns, refusal = "openai", hasUsage = true } = cell;
  const results = cell.results ?? RESULTS;
  const rounds = new Map<number, number>();
  const problems: string[] = [];
  const text = (tokens: number, seed: number): string =>
    fillerText(density, Math.ceil(tokens * density), seed);
  const answer = (request: RecordedRequest): Reply => {
    if (isSummaryRequest(request)) {
      const asked = Number(request.body.max_tokens ?? 400);
      return { text: `## Goal\n${text(Math.min(asked * 0.7, window * 0.04), request.index)}` };
    }
    expectWirePairs("chat", request.messages);
    const turn = turnOf(request);
    if (turn === undefined) {
      problems.push(`request ${request.index} has no user message of its turn`);
      return { text: "Nobody asked." };
    }
    const done = rounds.get(turn) ?? 0;
    const sizes = results[turn % results.length] ?? [];
    if (done >= (ROUNDS[turn % ROUNDS.length] ?? 1) || sizes.length === 0)
      return { text: `Answer ${turn}. ${text(window * 0.01, turn)}` };
    rounds.set(turn, done + 1);
    return {
      toolCalls: sizes.map((share, at) => ({
        name: "read_log",
        arguments: { tokens: Math.ceil(share * window), seed: turn * 100 + done * 10 + at },
      })),
    };
  };
  const server = countingServer({ window, density, refusal, hasUsage, answer });
  const home = await agentHome(server.script, {
    home: cell.home,
    config: {
      context: { engine },
      model: { context_length: cell.believed ?? window },
      agent: { max_output_tokens: cell.maxOutputTokens },
      skills: { enabled: false },
    },
    options: {
      toolsets: ["user", "context_engine"],
      skipMemory: true,
      contextFiles: false,
      tools: {
        read_log: tool({
          description: "Reads a log.",
          inputSchema: jsonSchema<{ tokens: number; seed: number }>({ type: "object", properties: {} }),
          execute: ({ tokens, seed }) => text(tokens, seed),
        }),
      },
    },
  });
  const failures: string[] = [];
  for (let turn = 1; turn <= turns; turn += 1) {
    const size = [0.01, 0.03, 0.002, 0.1, 0.01, 0.2][turn % 6] ?? 0.01;
    const result: TurnResult = await home.agent.run(`Turn ${turn}: ${text(window * size, turn)}`);
    if (result.failed || !result.final_response.startsWith(`Answer ${turn}.`))
      failures.push(`turn ${turn}: ${result.exit} ${result.error ?? result.final_response.slice(0, 80)}`);
  }
  return {
    tried: turns,
    failures: [...failures, ...problems],
    refused: server.refused.length,
    compactions: home.events.filter(({ type }) => type === "compaction-end").length,
    largest: server.largest(),
    messages: home.agent.messages,
  };
}

/** The newest user message that names a turn; a summary may quote older ones. */
function turnOf({ messages }: RecordedRequest): number | undefined {
  const user = messages.findLast(({ role }) => role === "user");
  const turn = [...String(user?.content ?? "").matchAll(/^Turn (\d+): /gm)].at(-1)?.[1];
  return turn === undefined ? undefined : Number(turn);
}

const WORDS = "harbour boat rope crane quiet morning water stone bridge letter window garden".split(" ");
const CHARACTERS = "港口今天早上很安静船只停在码头没有人说话水面平静如镜远处传来钟声";

/** Of a script that has about this density: Chinese, JSON, code, prose. */
function fillerText(density: number, chars: number, seed: number): string {
  let state = seed + 1;
  const next = (): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state;
  };
  const word = (): string => WORDS[next() % WORDS.length] ?? "";
  const piece = (): string => {
    if (density < 1.5) return CHARACTERS[next() % CHARACTERS.length] ?? "";
    if (density < 2.5)
      return `{"id":${next() % 10_000},"k":"${word()}","v":[${next() % 100},${next() % 100}]},`;
    if (density < 3.5) return `const ${word()}${next() % 100} = ${word()}(${next() % 100}, "${word()}"); `;
    return `${word()} ${word()} and the ${word()} of a ${word()}. `;
  };
  let text = "";
  while (text.length < chars) text += piece();
  return text.slice(0, chars);
}
