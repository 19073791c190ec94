// No message is ever lost: after any sequence of turns, compactions, crashes, resumes, branches and undone turns, with models
// that answer or fail, every message is in the list or covered by exactly one summary.
import { describe, expect, it } from "vitest";
import type { Message } from "../../../src/message/index.ts";
import { modelThat } from "../../../testing/context-engine/summarisers.ts";
import { asMessage } from "../messages.ts";
import { Conversation, SMALL } from "./conversation.ts";

const COMPACTIONS = 20;

/** A small generator that gives the same numbers for a seed on every machine. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

type Random = ReturnType<typeof randomFrom>;

function pick<T>(random: Random, choices: readonly T[]): T {
  return choices[Math.floor(random() * choices.length)] as T;
}

const WORDS = "harbour crane copper 灯塔 ledger willow\u0000 quarry thistle — beacon 🚢".split(" ");

function words(random: Random, most: number): string {
  return Array.from({ length: 1 + Math.floor(random() * most) }, () => pick(random, WORDS)).join(" ");
}

/** One or several messages that belong together, some of them malformed. */
function block(random: Random, number: number): Message[] {
  const said = () => words(random, 60);
  const calls = Array.from({ length: 1 + Math.floor(random() * 3) }, (_, at) => ({
    id: `call_${number}_${at}`,
    type: "function",
    function: { name: "read_file", arguments: JSON.stringify({ path: said() }) },
  }));
  const results = calls.map(({ id }) => ({
    role: "tool",
    tool_call_id: id,
    tool_name: "read_file",
    content: said(),
  }));
  const rows = pick<() => object[]>(random, [
    () => [
      { role: "user", content: said() },
      { role: "assistant", content: said() },
    ],
    () => [
      { role: "user", content: said() },
      { role: "assistant", content: said() },
    ],
    () => [{ role: "assistant", content: pick(random, [null, "", said()]), tool_calls: calls }, ...results],
    () => [{ role: "assistant", content: "", tool_calls: calls }, ...results.slice(1)],
    () => [
      {
        role: "user",
        content: [
          { type: "text", text: said() },
          { type: "image_url", image_url: { url: "x" } },
        ],
      },
    ],
    () => [{ role: "tool", content: said(), tool_call_id: "nobody" }],
    () => [{ role: pick(random, ["user", "assistant", "developer"]), content: pick(random, ["", null, []]) }],
    () => [{ role: "user", content: words(random, 2_500) }],
  ])();
  return rows.map((row) => asMessage(row));
}

describe("every message stays in the list or behind one summary", () => {
  it.each([1, 2, 3, 4, 5, 6])("through twenty compactions, seed %i", async (seed) => {
    const random = randomFrom(seed);
    let mood: "answers" | "fails" | "says nothing" = "answers";
    const summarizer = modelThat((prompt) => {
      if (mood === "fails") throw new Error("no model today");
      return mood === "says nothing" ? "" : `note ${prompt.length}: ${prompt.slice(-80)}`;
    });
    // Waiting times after a failure end at once, so that the next mood of the model takes effect.
    let time = 0;
    const monotonicMs = () => (time += 1_000_000);
    const talk = await Conversation.begin({ ...SMALL, summarizer, monotonicMs });
    await using _store = talk.store;
    let compactions = 0;
    for (let step = 0; compactions < COMPACTIONS; step += 1) {
      expect(step, "compactions come too rarely").toBeLessThan(400);
      for (let count = 0; count < 4 + random() * 12; count += 1)
        await talk.say(block(random, step * 100 + count));
      mood = pick(random, ["answers", "answers", "fails", "says nothing"] as const);
      const event = random();
      if (event < 0.1) await talk.engine.compress(talk.live); // the process dies before the rotation
      if (event < 0.25) await talk.resume();
      else if (event < 0.3) await talk.branch();
      else if (event < 0.4) {
        await talk.store.undoTurns(talk.sessionId, 1);
        await talk.resume();
      }
      const outcome = await talk.compact({ force: random() < 0.2 });
      if (outcome.kind !== "compacted") continue;
      compactions += 1;
      await talk.expectWhole();
    }
    expect(await talk.expectReadable()).toBeGreaterThan(3);
    await talk.resume();
    await talk.expectWhole();
  });
});
