import { describe, expect, it } from "vitest";
import type { Reply } from "../fakes/wires/script.ts";
import { call, expectOneText, lookTool, messagesOf, seenTexts, storedLines, turnHome } from "./turns.ts";

const EMPTY: Reply = { text: "" };

describe("a reply without text", () => {
  it("after tools is nudged once; nothing of the nudge stays", async () => {
    const { tools } = lookTool();
    const home = await turnHome([call("look"), EMPTY, { text: "A ship." }, { text: "Next." }], {
      options: { tools },
    });
    await expectOneText(home, await home.agent.run("look"), "A ship.");
    const [, , answer, nudge] = messagesOf(home, 2).slice(-4);
    expect(answer).toBe("assistant: (empty)");
    expect(nudge).toMatch(/^user: .*tool results above/);
    await home.agent.run("next");
    expect(messagesOf(home, 3)).toEqual([
      "user: look",
      expect.stringMatching(/^assistant: /),
      "tool: seen",
      "assistant: A ship.",
      "user: next",
    ]);
  });
});

describe("text that came with housekeeping calls", () => {
  const noting = call("todo", { todos: [{ id: "1", content: "x", status: "pending" }] }, "All noted.");

  it("is the answer when the model says nothing more", async () => {
    const home = await turnHome([noting, EMPTY, { text: "Next." }]);
    const result = await home.agent.run("note it");
    expect(result).toMatchObject({
      exit: "fallback_prior_turn_content",
      turn_exit_reason: "fallback_prior_turn_content",
      final_response: "All noted.",
      completed: true,
    });
    expect(seenTexts(home.events)).toEqual(["All noted."]);
    expect(await storedLines(home.agent)).toHaveLength(3);
    expect(await home.agent.run("next")).toMatchObject({ final_response: "Next." });
  });

  it("is not the answer when another tool ran after it", async () => {
    const { tools } = lookTool();
    const home = await turnHome([noting, call("look"), EMPTY, { text: "Seen." }], { options: { tools } });
    expect(await home.agent.run("note it, look")).toMatchObject({ final_response: "Seen." });
  });
});

describe("a turn that has used all its calls", () => {
  it("ends with a summary, asked for without tools and stored with the request for it", async () => {
    const { tools } = lookTool();
    const home = await turnHome(
      [call("look"), call("look", { n: 2 }), { text: "Two looks." }, { text: "Next." }],
      {
        config: { agent: { max_turns: 2 } },
        options: { tools },
      },
    );
    const result = await home.agent.run("look around");
    expect(result).toMatchObject({
      exit: "max_iterations_reached",
      turn_exit_reason: "max_iterations_reached(2/2)",
      failed: false,
      completed: false,
      api_calls: 3,
    });
    await expectOneText(home, result, "Two looks.");
    expect(home.wire.requests[2]?.body.tool_choice).toBe("none");
    expect((await storedLines(home.agent)).at(-2)).toMatch(/^user: You have used all the steps/);
    expect(await home.agent.run("go on")).toMatchObject({ final_response: "Next.", completed: true });
  });

  it("and gets no summary has failed; what there was of it is kept", async () => {
    const { tools } = lookTool();
    const cut: Reply = { text: "Half a summary", failAfterChars: 4 };
    for (const last of [EMPTY, cut]) {
      const home = await turnHome([call("look"), last, { text: "Next." }], {
        options: { tools, maxTurns: 1 },
      });
      const result = await home.agent.run("look around");
      const text = last === cut ? "Half" : "";
      expect(result).toMatchObject({
        exit: "max_iterations_reached",
        final_response: text,
        failed: true,
        partial: text !== "",
      });
      if (text !== "") await expectOneText(home, result, text);
      expect(await home.agent.run("go on")).toMatchObject({ final_response: "Next." });
    }
  });

  it("in the middle of its reply keeps what the user has read, without a summary", async () => {
    const home = await turnHome([{ text: "Once upon", finish: "length" }], { options: { maxTurns: 1 } });
    const result = await home.agent.run("a tale");
    expect(result).toMatchObject({ exit: "max_iterations_reached", partial: true, failed: false });
    await expectOneText(home, result, "Once upon");
    expect(await storedLines(home.agent)).toHaveLength(2);
  });
});
