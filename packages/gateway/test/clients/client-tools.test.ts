import { generateText, isStepCount, streamText, tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Step } from "../../../agent/test/fakes/wires/script.ts";
import { clientHome, MODES } from "./client-home.ts";

const QUESTION = "Compare the weather of Bonn and Ulm.";

/** Two calls of the client's tool, around one of ours. */
const MIXED: Step = {
  text: "Let me look.",
  toolCalls: [
    { name: "get_weather", arguments: { city: "Bonn" } },
    { name: "memory", arguments: { action: "add", target: "memory", content: "Compares Bonn and Ulm." } },
    { name: "get_weather", arguments: { city: "Ulm" } },
  ],
};
const BOTH: Step = {
  toolCalls: [
    { name: "get_weather", arguments: { city: "Bonn" } },
    { name: "get_weather", arguments: { city: "Ulm" } },
  ],
};
const ANSWER: Step = { text: "Bonn is warmer." };

const CASES = MODES.flatMap((mode) => [
  { mode, isMixed: false },
  { mode, isMixed: true },
]);

describe.each(CASES)("calls of the client's tools in $mode mode (mixed: $isMixed)", ({ mode, isMixed }) => {
  const script = [isMixed ? MIXED : BOTH, ANSWER, { text: "You are welcome." }];

  /** What the model gets back: every call with its result, in order. */
  async function expectContinued(home: Awaited<ReturnType<typeof clientHome>>, session: string) {
    expect(home.asked).toHaveLength(2);
    const raw = home.asked[1]?.raw ?? "";
    for (const city of ["Bonn", "Ulm"]) expect(raw.split(`${city}: 20 degrees`)).toHaveLength(2);
    expect(raw.indexOf("Bonn: 20")).toBeLessThan(raw.indexOf("Ulm: 20"));
    const calls = isMixed ? " +get_weather +memory +get_weather" : " +get_weather +get_weather";
    const lines = await home.lines(session);
    expect(lines[0]).toBe(`user: ${QUESTION}`);
    expect(lines[1]).toBe(`assistant: ${isMixed ? "Let me look." : ""}${calls}`);
    expect(lines.slice(2, -1).toSorted()).toEqual(
      [
        "tool: Bonn: 20 degrees",
        "tool: Ulm: 20 degrees",
        ...(isMixed ? [lines.find((line) => /^tool: .*success/.test(line)) ?? "no result of ours"] : []),
      ].toSorted(),
    );
    expect(lines.at(-1)).toBe("assistant: Bonn is warmer.");
    const entries = (await home.owner.list()).map(({ text }) => text);
    expect(entries).toEqual(isMixed ? ["Compares Bonn and Ulm."] : []);
  }

  const PROVIDERS = [
    ["responses", "responses"],
    ["chat", "chat"],
    ["compatible", "chat"],
    ["anthropic", "anthropic"],
  ] as const;

  it.each(PROVIDERS)("are run by the AI SDK's own loop (%s)", async (provider, kind) => {
    const home = await clientHome(kind, script);
    const model = home.ai({ mode })[provider];
    const options = {
      model,
      prompt: QUESTION,
      maxRetries: 0,
      maxOutputTokens: 500,
      stopWhen: isStepCount(4),
      tools: {
        get_weather: tool({
          inputSchema: z.object({ city: z.string() }),
          execute: async ({ city }) => `${city}: 20 degrees`,
        }),
      },
    };
    const done = isMixed ? streamText(options) : await generateText(options);
    expect(await done.text).toBe("Bonn is warmer.");
    expect(await done.steps).toHaveLength(2);
    // Nothing names the conversation but its messages.
    const sessions = await home.sessions();
    expect(sessions).toHaveLength(1);
    await expectContinued(home, sessions[0] ?? "");
  });
});
