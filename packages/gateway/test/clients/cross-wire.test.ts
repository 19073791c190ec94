// A client of one vendor and a model of another: translated in both directions, and what would be lost is refused by name.
import Anthropic from "@anthropic-ai/sdk";
import { generateText, isStepCount, tool } from "ai";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { badKey, overflow, rateLimited } from "../../../agent/test/fakes/wires/script.ts";
import { clientHome, MODEL, MODES } from "./client-home.ts";

const USAGE = { input: 90, output: 9, cacheRead: 30 };
const HELLO = "Where is the kiln?";

const PAIRS = [
  ["anthropic", "chat"],
  ["responses", "anthropic"],
  ["anthropic", "responses"],
  ["chat", "anthropic"],
  ["responses", "chat"],
  ["chat", "responses"],
] as const;

describe.each(MODES)("in %s mode", (mode) => {
  // The agent has one way for all: two of the six pairs are enough.
  it.each(mode === "agent" ? PAIRS.slice(0, 2) : PAIRS)(
    "a client of %s talks to a model of %s, with tools and memory",
    async (from, to) => {
      const home = await clientHome(to, ({ raw }) =>
        raw.includes("room 4 is locked")
          ? { text: "Room 4, and it is locked.", usage: USAGE }
          : { text: "I look.", toolCalls: [{ name: "look_up", arguments: { room: 4 } }] },
      );
      await home.owner.add("The kiln is in room 4.");
      const provider = home.ai({ mode, headers: { "x-openwebui-chat-id": "c" } })[from];
      const done = await generateText({
        model: provider,
        system: "Be short.",
        prompt: HELLO,
        maxRetries: 0,
        maxOutputTokens: 500,
        stopWhen: isStepCount(3),
        tools: {
          look_up: tool({
            inputSchema: z.object({ room: z.number() }),
            execute: async ({ room }) => `room ${room} is locked`,
          }),
        },
      });
      expect(done.text).toBe("Room 4, and it is locked.");
      expect(done.usage.inputTokens).toBeGreaterThanOrEqual(120);
      expect(home.asked).toHaveLength(2);
      for (const { system } of home.asked) {
        expect(system).toContain("Be short.");
        expect(system).toContain("The kiln is in room 4.");
      }
      expect(home.asked[1]?.system).toBe(home.asked[0]?.system);
      expect(await home.lines("open-webui-c")).toEqual([
        `user: ${HELLO}`,
        "assistant: I look. +look_up",
        "tool: room 4 is locked",
        "assistant: Room 4, and it is locked.",
      ]);
    },
  );

  it("streams come in the client's protocol", async () => {
    const step = { text: "In room 4, behind the door.", usage: USAGE };
    const toChat = await clientHome("chat", () => step);
    const message = await toChat
      .anthropic({ mode })
      .messages.stream({ model: MODEL, max_tokens: 100, messages: [{ role: "user", content: HELLO }] })
      .finalMessage();
    expect(message.content).toMatchObject([{ type: "text", text: step.text }]);
    expect(message.usage).toMatchObject({ input_tokens: 90, output_tokens: 9, cache_read_input_tokens: 30 });
    const toAnthropic = await clientHome("anthropic", () => step);
    const openai = toAnthropic.openai({ mode });
    const completion = await openai.chat.completions
      .stream({
        model: MODEL,
        messages: [{ role: "user", content: HELLO }],
        stream_options: { include_usage: true },
      })
      .finalChatCompletion();
    expect(completion.choices[0]?.message.content).toBe(step.text);
    expect(completion.usage?.prompt_tokens).toBe(120);
    const response = await openai.responses.stream({ model: MODEL, input: HELLO }).finalResponse();
    expect(response.output_text).toBe(step.text);
    const next = await openai.responses.create({
      model: MODEL,
      input: "And the clay?",
      previous_response_id: response.id,
    });
    expect(next.output_text).toBe(step.text);
    expect(toAnthropic.asked[2]?.messages.map(({ content }) => content)).toEqual([
      HELLO,
      step.text,
      "And the clay?",
    ]);
  });

  it("a response that nobody here knows is not found, also by the owner", async () => {
    const home = await clientHome("anthropic", []);
    const ask = (more: object): Promise<unknown> =>
      home.openai({ mode }).responses.create({ model: MODEL, input: "And?", stream: false, ...more });
    await expect(ask({ previous_response_id: "resp_unknown" })).rejects.toMatchObject({
      status: 404,
      code: "previous_response_not_found",
    });
  });

  it("what would be lost is refused, and nothing is stored or asked", async () => {
    const [toChat, toAnthropic] = [await clientHome("chat", []), await clientHome("anthropic", [])];
    const messages = [{ role: "user" as const, content: HELLO }];
    const anthropic = toChat.anthropic({ mode, maxRetries: 2 });
    const openai = toAnthropic.openai({ mode, maxRetries: 2 });
    const web = [{ type: "web_search_20250305" as const, name: "web_search" as const }];
    const lost: readonly [Promise<unknown>, string][] = [
      [anthropic.messages.create({ model: MODEL, max_tokens: 9, messages, tools: web }), "tools"],
      [openai.chat.completions.create({ model: MODEL, messages, n: 2 }), "n"],
      [openai.responses.create({ model: MODEL, input: HELLO, background: true }), "background"],
    ];
    for (const [asked, name] of lost) {
      const cause = (await asked.catch((error: unknown) => error)) as Error & { readonly status?: number };
      expect(cause.status, name).toBe(400);
      expect(cause.message).toContain(name);
    }
    for (const home of [toChat, toAnthropic]) {
      expect(home.server.requests).toEqual([]);
      expect(await home.sessions()).toEqual([]);
    }
  });

  it("failures of the model are exceptions of the client's own vendor", async () => {
    const messages = [{ role: "user" as const, content: HELLO }];
    const caught = (work: Promise<unknown>) => work.catch((cause: unknown) => cause);
    const failed = async (step: Parameters<typeof clientHome>[1]) => {
      const [toChat, toAnthropic] = [await clientHome("chat", step), await clientHome("anthropic", step)];
      const { completions } = toAnthropic.openai({ mode }).chat;
      return [
        await caught(toChat.anthropic({ mode }).messages.create({ model: MODEL, max_tokens: 9, messages })),
        await caught(completions.create({ model: MODEL, messages })),
      ];
    };
    const [limitedA, limitedO] = await failed(() => rateLimited(7));
    expect(limitedA).toBeInstanceOf(Anthropic.RateLimitError);
    expect((limitedA as InstanceType<typeof Anthropic.APIError>).headers?.get("retry-after")).toBe("7");
    expect(limitedO).toBeInstanceOf(OpenAI.RateLimitError);
    const [longA, longO] = await failed(() => overflow(1000));
    expect(longA).toBeInstanceOf(Anthropic.BadRequestError);
    expect((longA as Error).message).toContain("prompt is too long");
    expect(longO).toMatchObject({ status: 400, code: "context_length_exceeded" });
    const [keyA, keyO] = await failed(() => badKey());
    for (const cause of [keyA, keyO]) {
      expect(cause).toMatchObject({ status: 502 });
      expect((cause as InstanceType<typeof OpenAI.APIError>).headers?.get("x-should-retry")).toBe("false");
    }
  });
});
