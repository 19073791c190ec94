// Streamed, returned, stored and synced text are the same, whatever the model writes and however it is split.
import { describe, expect, it } from "vitest";
import { call, expectOneText, lookTool, seenTexts, storedLines, turnHome } from "./turns.ts";

const FENCE =
  "<memory-context>\n[System note: The following is recalled memory context.]\n\nlikes tea\n</memory-context>";

describe("a reply", () => {
  it.each(["chat", "responses", "anthropic", "google"] as const)(
    "with a fence leaves nothing of it in the database or the next request, on the %s wire",
    async (kind) => {
      const home = await turnHome([{ text: `Yes.\n${FENCE}` }, { text: "Next." }], { kind });
      await expectOneText(home, await home.agent.run("drink?"), "Yes.");
      await home.agent.run("next");
      expect(home.wire.requests[1]?.raw).not.toContain("likes tea");
      const rows = await home.agent.store?.getMessages(home.agent.sessionId);
      expect(JSON.stringify(rows)).not.toContain("likes tea");
    },
  );

  it.each([1, 4, 1_000])("with think tags in pieces of %i keeps the thought apart", async (chunkChars) => {
    const home = await turnHome([{ text: "<think>Tea or coffee?</think>\n\nTea.", chunkChars }]);
    const result = await home.agent.run("drink?");
    await expectOneText(home, result, "Tea.");
    expect(result.last_reasoning).toBe("Tea or coffee?");
  });

  it("beside tool calls is cleaned and stored too", async () => {
    const { tools } = lookTool();
    const home = await turnHome([call("look", {}, `Let me see.\n${FENCE}`), { text: "Seen." }], {
      options: { tools },
    });
    await home.agent.run("look");
    expect(seenTexts(home.events)).toEqual(["Let me see.", "Seen."]);
    expect((await storedLines(home.agent))[1]).toBe("assistant: Let me see.");
  });
});
