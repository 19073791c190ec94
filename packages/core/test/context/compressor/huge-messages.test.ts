// A short list can be too large. Then fewer messages than usual are protected.

import { describe, expect, it } from "vitest";
import { ContextCompressor } from "../../../src/context/compressor/compressor.ts";
import type { Message } from "../../../src/message/index.ts";
import { alternating, assistant, system, toolGroup, user } from "../../../testing/context-engine/lists.ts";
import { answering } from "../../../testing/context-engine/summarisers.ts";
import { expectPairs } from "../valid-list.ts";

const compressor = () =>
  new ContextCompressor({ contextLength: 200_000, summarizer: answering("## Goal\nGo on.") });

describe("a few huge messages", () => {
  it.each<[string, Message[]]>([
    ["six turns", [...alternating(6, 160_000), user()]],
    ["with a system message", [system(), ...alternating(5, 160_000), user()]],
    ["a head that is too large alone", [...alternating(3, 280_000), ...alternating(6, 4000), user()]],
    ["thirty turns, of which eight would not fit", [...alternating(30, 80_000), user()]],
    [
      "huge results in the newest round",
      [user(), assistant(), user(), ...toolGroup(200_000, 250_000), user()],
    ],
  ])("%s are compacted until they fit", async (_name, messages) => {
    const engine = compressor();
    const outcome = await engine.compress(messages);
    expect(outcome.kind).toBe("compacted");
    expect(outcome.tokensAfter).toBeLessThan(0.85 * engine.contextLength);
    expect(outcome.messages.map(({ content }) => JSON.stringify(content)).join()).toContain(
      String(messages.at(-1)?.content),
    );
    expectPairs(outcome.messages);
  });

  it("leave the head alone where the tail alone can give way", async () => {
    const messages = [...alternating(3, 400), ...alternating(9, 80_000, "assistant"), user()];
    const outcome = await compressor().compress(messages);
    expect(outcome.messages.slice(0, 3)).toEqual(messages.slice(0, 3));
  });

  it("one that is larger than the window is named, and nothing is lost", async () => {
    const messages = [user(), assistant(), user(900_000)];
    const outcome = await compressor().compress(messages);
    expect(outcome).toMatchObject({ kind: "unchanged", reason: "message_too_large", messages });
    expect(outcome.notices).not.toEqual([]);
  });
});
