// Streamed, returned, stored and synced text are the same, whatever the model writes and however it is split.
import { describe, expect, it } from "vitest";
import { recordingProvider } from "../../../core/test/fakes/providers.ts";
import type { Reply } from "../fakes/wires/script.ts";
import { type AgentHome, agentHome } from "./agent-home.ts";
import { call, expectOneText, lookTool, providerHome, seenTexts, storedLines, turnHome } from "./turns.ts";

const FENCE =
  "<memory-context>\n[System note: The following is recalled memory context.]\n\nlikes tea\n</memory-context>";

type Case = readonly [what: string, written: string, text: string];

const CASES: readonly Case[] = [
  ["a fence in the middle", `Before.\n${FENCE}\nAfter.`, "Before.\n\nAfter."],
  ["a fence at the beginning", `${FENCE}\n\nTea it is.`, "Tea it is."],
  ["a fence that is never closed", "Tea it is.\n<memory-context>\nlikes tea, and much more", "Tea it is."],
  ["a lone <", "a < b, and 2 <", "a < b, and 2 <"],
  ["a tag that is talked about", "Say <memory-context> twice.", "Say <memory-context> twice."],
  ["what only looks like a fence", "<memory-contents> and <memory", "<memory-contents> and <memory"],
  ["blanks around it", "\n\n  Tea.  \n", "Tea."],
  ["wide characters", "茶 🍵 über alles", "茶 🍵 über alles"],
];

describe.each(CASES)("a reply with %s", (_, written, text) => {
  it.each([1, 1_000])("is one text in pieces of %i", async (chunkChars) => {
    const notes = recordingProvider();
    const home = await providerHome(notes.provider, [{ text: written, chunkChars, splitBytes: true }]);
    await expectOneText(home, await home.agent.run("drink?"), text);
    await home.agent.close();
    expect(notes.argsOf("syncTurn").map(([, assistant]) => assistant)).toEqual([text]);
  });
});

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

  it("in pieces may have its fence in the second one", async () => {
    const pieces: readonly Reply[] = [{ text: "One, ", finish: "length" }, { text: `two.\n${FENCE}` }];
    const home = await turnHome(pieces);
    await expectOneText(home, await home.agent.run("count"), "One, two.");
  });

  it("of a model that does not stream is cleaned as well", async () => {
    const home: AgentHome = await agentHome([], { options: { model: wholeModel(`Tea.\n${FENCE}`) } });
    await expectOneText({ ...home, waits: [] }, await home.agent.run("drink?"), "Tea.");
  });
});

/** Tells nothing before the whole reply is there. */
function wholeModel(content: string): object {
  return {
    identity: { model: "whole", provider: "custom", apiMode: "chat_completions", baseUrl: "" },
    stream: async () => ({
      ok: true,
      value: {
        message: { role: "assistant", content },
        finishReason: "stop",
        usage: undefined,
        model: "whole",
      },
    }),
  };
}
