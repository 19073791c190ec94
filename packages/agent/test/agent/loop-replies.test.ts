import { describe, expect, it } from "vitest";
import type { Reply } from "../fakes/wires/script.ts";
import { call, expectOneText, lookTool, messagesOf, seenTexts, storedLines, turnHome } from "./turns.ts";

const BAD = '{"place": }';

describe("tool calls with arguments that are no JSON", () => {
  it("are asked for twice more with the same request, and run when they are right", async () => {
    const { given, tools } = lookTool();
    const home = await turnHome(
      [call("look", BAD, "hm"), call("look", BAD), call("look", { place: "pier" }), { text: "Seen." }],
      { options: { tools } },
    );
    const result = await home.agent.run("look");
    expect(result).toMatchObject({ completed: true, api_calls: 4 });
    expect(given).toEqual([{ place: "pier" }]);
    const [first, second, third] = home.wire.requests;
    expect([second?.raw, third?.raw]).toEqual([first?.raw, first?.raw]);
    expect(seenTexts(home.events)).toEqual(["Seen."]);
    expect(await storedLines(home.agent)).toEqual([
      "user: look",
      "assistant: ",
      "tool: seen",
      "assistant: Seen.",
    ]);
  });

  it("get more room with every attempt where the user has set a limit", async () => {
    const cut: Reply = { ...call("todo", "{"), finish: "length" };
    const config = { agent: { max_output_tokens: 1000 } };
    const home = await turnHome([cut, cut, { text: "Done." }], { config });
    await home.agent.run("go");
    expect(home.wire.requests.map(({ body }) => body.max_tokens)).toEqual([1000, 8192, 12288]);
  });
});

describe("calls of tools that do not exist", () => {
  it("are answered, the sound ones beside them skipped; secrets in their arguments are masked", async () => {
    const { given, tools } = lookTool();
    const secret = `sk-proj-${"a1B2".repeat(12)}`;
    const both: Reply = {
      toolCalls: [
        { name: "zzz", arguments: { api_key: secret } },
        { name: "look", arguments: {} },
      ],
    };
    const home = await turnHome([both, { text: "Fine." }], { options: { tools } });
    await home.agent.run("look");
    expect(given).toEqual([]);
    const [unknown, skipped] = messagesOf(home, 1).slice(-2);
    expect(unknown).toMatch(
      /^tool: Tool 'zzz' does not exist\. Available tools: delegate_task, look, memory/,
    );
    expect(skipped).toMatch(/^tool: \[look was skipped/);
    const rows = await home.agent.store?.getMessages(home.agent.sessionId);
    expect(JSON.stringify(rows)).not.toContain(secret);
  });
});

describe("a reply in pieces", () => {
  it("is joined, streamed, returned and stored once, and the scaffolding is gone", async () => {
    const home = await turnHome([
      { text: "One, two, ", finish: "length" },
      { text: "three, ", finish: "length" },
      { text: "four." },
      { text: "Next." },
    ]);
    const result = await home.agent.run("count");
    expect(result).toMatchObject({ completed: true, turn_exit_reason: "text_response(finish_reason=stop)" });
    await expectOneText(home, result, "One, two, three, four.");
    expect(messagesOf(home, 2)).toEqual([
      "user: count",
      "assistant: One, two, three,",
      expect.stringContaining("cut off"),
    ]);
    await home.agent.run("next");
    expect(messagesOf(home, 3)).toEqual(["user: count", "assistant: One, two, three, four.", "user: next"]);
    expect(await storedLines(home.agent)).toHaveLength(4);
  });

  it("starts again from nothing when its end holds calls that cannot be read", async () => {
    const { tools } = lookTool();
    const home = await turnHome(
      [{ text: "I will ", finish: "length" }, call("look", BAD, "look"), { text: "No need." }],
      { options: { tools } },
    );
    const result = await home.agent.run("go");
    expect(messagesOf(home, 2)).toEqual(["user: go"]);
    await expectOneText(home, result, "No need.");
  });
});

describe("a stream that is cut off in the middle of a word", () => {
  it.each(["chat", "responses", "anthropic", "google"] as const)(
    "goes on where it stopped, on the %s wire",
    async (kind) => {
      const home = await turnHome(
        [{ text: "The crane is blue.", cutAfterChars: 8 }, { text: "e is blue." }],
        {
          kind,
        },
      );
      const result = await home.agent.run("colour?");
      expect(result).toMatchObject({ completed: true, api_calls: 2, error: null });
      await expectOneText(home, result, "The crane is blue.");
      expect(home.waits).toEqual([]);
    },
  );
});

describe("a turn with its own limit and temperature", () => {
  it("asks the model with them, and the next turn does not", async () => {
    const { agent, wire } = await turnHome([call("todo", {}), { text: "Done." }, { text: "Next." }]);
    await agent.run("go", { maxOutputTokens: 700, temperature: 0.2 });
    await agent.run("on");
    const seen = wire.requests.map(({ body }) => [body.max_tokens, body.temperature]);
    expect(seen).toEqual([
      [700, 0.2],
      [700, 0.2],
      [undefined, undefined],
    ]);
  });

  it("ends where the text reaches the limit", async () => {
    const { agent, wire } = await turnHome([{ text: "Once upon", finish: "length" }]);
    const result = await agent.run("tell", { maxOutputTokens: 2 });
    expect(result).toMatchObject({
      exit: "truncated_response",
      final_response: "Once upon",
      partial: true,
      failed: false,
      error: expect.stringContaining("2 tokens"),
    });
    expect(wire.requests).toHaveLength(1);
    expect(await storedLines(agent)).toEqual(["user: tell", "assistant: Once upon"]);
  });
});
