// A user message that takes most of the window, then many rounds of large tool results: the older rounds have to make room.
import { jsonSchema, tool } from "ai";
import { describe, expect, it } from "vitest";
import { isSummaryRequest } from "../fakes/long-conversation.ts";
import { countingServer, type RefusalKind } from "../fakes/wires/counting.ts";
import type { RecordedRequest, Reply } from "../fakes/wires/script.ts";
import { agentHome } from "./agent-home.ts";
import { fillerText } from "./window-grid.ts";
import { expectWirePairs } from "./wire-pairs.ts";

type Case = {
  readonly engine: "compressor" | "lcm";
  readonly window: number;
  readonly rounds: number;
  /** Of the window, for the prompt, the tools and the large message. */
  readonly share: number;
  readonly refusal: RefusalKind;
  readonly hasUsage: boolean;
};

/** The server counts prose more densely than it is estimated. */
const DENSITY = 2.5;
const prose = (chars: number, seed: number): string => fillerText(4, chars, seed);

async function runRounds({ engine, window, rounds, share, refusal, hasUsage }: Case) {
  let left = 0;
  const sent: RecordedRequest[] = [];
  const answer = (request: RecordedRequest): Reply => {
    if (isSummaryRequest(request)) return { text: `## Goal\n${prose(300, request.index)}` };
    expectWirePairs("chat", request.messages);
    sent.push(request);
    left -= 1;
    if (left < 0) return { text: "Done." };
    const calls = [1, 2, 3, 4].map((seed) => ({ name: "read_log", arguments: { seed: left * 10 + seed } }));
    return { toolCalls: calls };
  };
  const server = countingServer({ window, density: DENSITY, refusal, hasUsage, answer });
  const { agent } = await agentHome(server.script, {
    config: { context: { engine }, model: { context_length: window }, skills: { enabled: false } },
    options: {
      toolsets: ["user", "results"],
      skipMemory: true,
      contextFiles: false,
      tools: {
        read_log: tool({
          description: "Reads a log.",
          inputSchema: jsonSchema<{ seed: number }>({ type: "object", properties: {} }),
          execute: ({ seed }) => prose(30_000, seed),
        }),
      },
    },
  });
  await agent.run("Hello.");
  const fixed = sent[0]?.raw.length ?? 0;
  left = 2;
  await agent.run("Read some logs.");
  left = rounds;
  const message = prose(Math.trunc(window * share * DENSITY) - fixed, 9).trimEnd();
  const result = await agent.run(message);
  return { agent, message, result, refused: server.refused.length, last: sent.at(-1) };
}

describe("a large message and many rounds behind it", () => {
  it.each<Case>([
    { engine: "compressor", window: 32_000, rounds: 9, share: 0.88, refusal: "openai", hasUsage: true },
    { engine: "lcm", window: 32_000, rounds: 8, share: 0.88, refusal: "openai", hasUsage: true },
    { engine: "compressor", window: 32_000, rounds: 10, share: 0.84, refusal: "mute", hasUsage: false },
    { engine: "lcm", window: 32_000, rounds: 10, share: 0.84, refusal: "mute", hasUsage: false },
    { engine: "compressor", window: 16_000, rounds: 6, share: 0.84, refusal: "mute", hasUsage: false },
  ])("$engine, $window tokens, $rounds rounds, $share, errors of kind $refusal", async (given) => {
    const { agent, message, result, last } = await runRounds(given);
    expect(result.error).toBeNull();
    expect(result.final_response).toBe("Done.");
    const wire = last?.messages ?? [];
    expect(wire.filter(({ role, content }) => role === "user" && content === message)).toHaveLength(1);
    expect(JSON.stringify(wire)).toMatch(/CONTEXT COMPACTION.* left out here/);
    // Of a cut result one note is left.
    for (const { role, content } of wire)
      if (role === "tool") expect(String(content).match(/read_result/g)?.length ?? 0).toBeLessThan(2);
    expect(agent.messages.at(-1)?.content).toBe("Done.");
  });
});
