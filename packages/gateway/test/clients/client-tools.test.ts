// Tools of the client: handed back, answered by the client, and continued; two at once, and mixed with our own in one reply.
import type Anthropic from "@anthropic-ai/sdk";
import { generateText, isStepCount, streamText, tool } from "ai";
import type OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Step } from "../../../agent/test/fakes/wires/script.ts";
import { clientHome, MODEL, MODES } from "./client-home.ts";

const PARAMETERS = {
  type: "object" as const,
  properties: { city: { type: "string" } },
  required: ["city"],
};
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

function weatherOf(json: string): string {
  return `${(JSON.parse(json) as { city: string }).city}: 20 degrees`;
}

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

  it.each([isMixed])("are continued by the openai client on chat (stream: %s)", async (isStream) => {
    const home = await clientHome("chat", script);
    const client = home.openai({ mode, headers: { "x-openwebui-chat-id": "weather" } });
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: QUESTION }];
    const tools = [{ type: "function" as const, function: { name: "get_weather", parameters: PARAMETERS } }];
    const ask = async () => {
      const body = { model: MODEL, messages, tools };
      const done = isStream
        ? await client.chat.completions.stream(body).finalChatCompletion()
        : await client.chat.completions.create(body);
      const choice = done.choices[0];
      if (choice === undefined) throw new Error("no choice");
      messages.push(choice.message);
      return choice;
    };
    const first = await ask();
    expect(first.finish_reason).toBe("tool_calls");
    const calls = first.message.tool_calls ?? [];
    expect(calls).toHaveLength(2);
    for (const call of calls) {
      if (call.type !== "function") throw new Error("not a function");
      messages.push({ role: "tool", tool_call_id: call.id, content: weatherOf(call.function.arguments) });
    }
    expect((await ask()).message.content).toBe("Bonn is warmer.");
    await expectContinued(home, "open-webui-weather");
    messages.push({ role: "user", content: "Thank you!" });
    expect((await ask()).message.content).toBe("You are welcome.");
    expect((await home.lines("open-webui-weather")).slice(-2)).toEqual([
      "user: Thank you!",
      "assistant: You are welcome.",
    ]);
  });

  it.each([!isMixed])("are continued by the openai client on responses (stream: %s)", async (isStream) => {
    const home = await clientHome("responses", script);
    const client = home.openai({ mode, headers: { "x-openwebui-chat-id": "weather" } });
    const input: OpenAI.Responses.ResponseInput = [{ role: "user", content: QUESTION }];
    const tools = [{ type: "function" as const, name: "get_weather", parameters: PARAMETERS, strict: false }];
    const ask = async () => {
      const body = { model: MODEL, input, tools, store: false };
      const done = isStream
        ? await client.responses.stream(body).finalResponse()
        : await client.responses.create(body);
      input.push(...(done.output as OpenAI.Responses.ResponseInput));
      return done;
    };
    const calls = (await ask()).output.flatMap((item) => (item.type === "function_call" ? [item] : []));
    expect(calls.map(({ name }) => name)).toEqual(["get_weather", "get_weather"]);
    for (const call of calls)
      input.push({ type: "function_call_output", call_id: call.call_id, output: weatherOf(call.arguments) });
    expect((await ask()).output_text).toBe("Bonn is warmer.");
    await expectContinued(home, "open-webui-weather");
  });

  it.each([isMixed])("are continued by the anthropic client (stream: %s)", async (isStream) => {
    const home = await clientHome("anthropic", script);
    const client = home.anthropic({ mode, headers: { "x-openwebui-chat-id": "weather" } });
    const messages: Anthropic.MessageParam[] = [{ role: "user", content: QUESTION }];
    const tools = [{ name: "get_weather", input_schema: PARAMETERS }];
    const ask = async () => {
      const body = { model: MODEL, max_tokens: 500, messages, tools };
      const done = isStream
        ? await client.messages.stream(body).finalMessage()
        : await client.messages.create(body);
      messages.push({ role: "assistant", content: done.content });
      return done;
    };
    const first = await ask();
    expect(first.stop_reason).toBe("tool_use");
    const calls = first.content.filter((block) => block.type === "tool_use");
    expect(calls.map(({ input }) => input)).toEqual([{ city: "Bonn" }, { city: "Ulm" }]);
    messages.push({
      role: "user",
      content: calls.map(({ id, input }) => ({
        type: "tool_result",
        tool_use_id: id,
        content: weatherOf(JSON.stringify(input)),
      })),
    });
    expect((await ask()).content).toMatchObject([{ type: "text", text: "Bonn is warmer." }]);
    await expectContinued(home, "open-webui-weather");
  });

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
    const done = provider === "chat" ? streamText(options) : await generateText(options);
    expect(await done.text).toBe("Bonn is warmer.");
    expect(await done.steps).toHaveLength(2);
    // Nothing names the conversation but its messages.
    const sessions = await home.sessions();
    expect(sessions).toHaveLength(1);
    await expectContinued(home, sessions[0] ?? "");
  });
});
