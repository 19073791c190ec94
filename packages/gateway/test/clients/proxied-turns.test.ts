// Ten turns of the official clients in proxy mode, with recall from an earlier conversation and hidden rounds of our tools: what the model's
// server is sent is the same, byte for byte, up to the last message, so that its prefix cache works.
import type Anthropic from "@anthropic-ai/sdk";
import type OpenAI from "openai";
import { describe, expect, it } from "vitest";
import type { Step } from "../../../agent/test/fakes/wires/script.ts";
import { clientHome, MODEL } from "./client-home.ts";

const TURNS = 10;
const SUBJECTS = ["celadon", "tenmoku", "shino", "raku", "majolica"];

/** Every second turn searches before it answers; every third one calls a tool of the client in the same reply. */
function step({ raw }: { readonly raw: string }): Step {
  const turn = raw.split("Question ").length - 1;
  const hasSearched = raw.includes(`search-${turn}`);
  const hasRun = raw.includes(`run-${turn}`);
  const search = { id: `search-${turn}`, name: "session_search", arguments: { query: "glaze" } };
  const run = { id: `run-${turn}`, name: "get_time", arguments: { zone: `UTC+${turn}` } };
  if (turn % 6 === 0 && !hasRun) return { text: `Both (${turn}).`, toolCalls: [search, run] };
  if (turn % 2 === 0 && !hasSearched)
    return { reasoning: `Thinking of ${turn}.`, text: `Let me look (${turn}).`, toolCalls: [search] };
  if (turn % 3 === 0 && !hasRun) return { toolCalls: [run] };
  return { text: `Answer ${turn}`, reasoning: turn % 5 === 0 ? "Hm." : "" };
}

const question = (turn: number): string => `Question ${turn}: what of the ${SUBJECTS[turn % 5]} glaze?`;

describe("ten proxied turns", () => {
  async function opened(kind: "chat" | "responses" | "anthropic") {
    const home = await clientHome(kind, (request) =>
      request.raw.includes("Question ") ? step(request) : { text: "I see." },
    );
    await home.owner.add("Fires pots on Fridays.");
    for (const subject of SUBJECTS)
      await home
        .openai({ mode: "agent", headers: { "x-hermes-session-id": `about-${subject}` } })
        .chat.completions.create({
          model: MODEL,
          messages: [
            { role: "user", content: `The ${subject} glaze melts at ${1000 + subject.length} degrees.` },
          ],
        });
    const before = home.asked.length;
    return { home, requests: () => home.asked.slice(before) };
  }

  function expectSamePrefix({ home, requests }: Awaited<ReturnType<typeof opened>>): Promise<void> {
    const sent = requests();
    expect(sent.length).toBeGreaterThan(TURNS + 5);
    for (const [at, { raw, system, tools }] of sent.entries()) {
      const last = sent[at - 1]?.raw ?? "";
      const upTo = last.slice(0, last.lastIndexOf("]"));
      expect(raw.startsWith(upTo), `request ${at}`).toBe(true);
      expect(system).toContain("Fires pots on Fridays.");
      expect(tools).toEqual(["get_time", "memory", "session_search", "memory_history"]);
      expect(raw.split('"cache_control"').length - 1).toBeLessThanOrEqual(4);
    }
    const whole = sent.at(-1)?.raw ?? "";
    // Each question found the conversation about its glaze, once.
    expect(whole.split("<memory-context>").length - 1).toBe(TURNS);
    for (let turn = 2; turn <= TURNS; turn += 2) expect(whole.split(`"search-${turn}"`).length - 1).toBe(2); // the call and its result
    return home
      .sessions()
      .then((sessions) => expect(sessions).toHaveLength(SUBJECTS.length + 1)) as Promise<void>;
  }

  it("of the openai client on chat", async () => {
    const talk = await opened("chat");
    const client = talk.home.openai({ mode: "proxy" });
    const tools = [
      {
        type: "function" as const,
        function: {
          name: "get_time",
          parameters: { type: "object", properties: { zone: { type: "string" } } },
        },
      },
    ];
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "system", content: "Be short." }];
    for (let turn = 1; turn <= TURNS; turn += 1) {
      messages.push({ role: "user", content: question(turn) });
      for (;;) {
        const body = { tools, model: MODEL, messages };
        const done =
          turn % 2 === 0
            ? await client.chat.completions.create(body)
            : await client.chat.completions.stream(body).finalChatCompletion();
        const message = done.choices[0]?.message as OpenAI.ChatCompletionMessage;
        expect(JSON.stringify(message)).not.toContain("session_search");
        messages.push(message);
        const calls = message.tool_calls ?? [];
        for (const { id } of calls)
          messages.push({ role: "tool", tool_call_id: id, content: `It is ${turn}:00.` });
        if (calls.length === 0) break;
      }
    }
    await expectSamePrefix(talk);
  });

  it("of the openai client on responses", async () => {
    const talk = await opened("responses");
    const client = talk.home.openai({ mode: "proxy" });
    const tools = [
      {
        type: "function" as const,
        name: "get_time",
        parameters: { type: "object", properties: { zone: { type: "string" } } },
        strict: false,
      },
    ];
    const input: OpenAI.Responses.ResponseInput = [];
    for (let turn = 1; turn <= TURNS; turn += 1) {
      input.push({ role: "user", content: question(turn) });
      for (;;) {
        const body = {
          tools,
          model: MODEL,
          instructions: "Be short.",
          store: false,
          include: ["reasoning.encrypted_content" as const],
          input,
        };
        const done =
          turn % 2 === 0
            ? await client.responses.create(body)
            : await client.responses.stream(body).finalResponse();
        const { output } = JSON.parse(JSON.stringify(done)) as { output: OpenAI.Responses.ResponseInput };
        expect(JSON.stringify(output)).not.toContain("session_search");
        // The client's helper for structured outputs adds this field to a streamed item.
        input.push(...output.map((item) => stripped(item)));
        const calls = done.output.flatMap((item) => (item.type === "function_call" ? [item] : []));
        for (const { call_id } of calls)
          input.push({ type: "function_call_output", call_id, output: `It is ${turn}:00.` });
        if (calls.length === 0) break;
      }
    }
    await expectSamePrefix(talk);
  });

  it("of the anthropic client", async () => {
    const talk = await opened("anthropic");
    const client = talk.home.anthropic({ mode: "proxy" });
    const tools = [{ name: "get_time", input_schema: { type: "object" as const } }];
    const messages: Anthropic.MessageParam[] = [];
    for (let turn = 1; turn <= TURNS; turn += 1) {
      messages.push({ role: "user", content: question(turn) });
      for (;;) {
        const body = {
          tools,
          model: MODEL,
          max_tokens: 4000,
          thinking: { type: "enabled" as const, budget_tokens: 2000 },
          system: [
            { type: "text" as const, text: "Be short.", cache_control: { type: "ephemeral" as const } },
          ],
          messages,
        };
        const done =
          turn % 2 === 0
            ? await client.messages.create(body)
            : await client.messages.stream(body).finalMessage();
        expect(JSON.stringify(done)).not.toContain("session_search");
        messages.push({ role: "assistant", content: done.content });
        const calls = done.content.flatMap((block) => (block.type === "tool_use" ? [block] : []));
        if (calls.length === 0) break;
        messages.push({
          role: "user",
          content: calls.map(({ id }) => ({
            type: "tool_result" as const,
            tool_use_id: id,
            content: `It is ${turn}:00.`,
          })),
        });
      }
    }
    await expectSamePrefix(talk);
  });
});

function stripped<T>(item: T): T {
  return JSON.parse(
    JSON.stringify(item, (key, value) => (key.startsWith("parsed") ? undefined : value)),
  ) as T;
}
