// A very long conversation that was never compacted before.

import { expect, it } from "vitest";
import { answering } from "../../../testing/context-engine/summarisers.ts";
import { asMessage } from "../messages.ts";
import { Conversation } from "./conversation.ts";

const MESSAGES = 20_000;
/** Generous: a busy machine with two cores is several times slower than an idle one. */
const LIMIT_MS = 20_000;

it("twenty thousand messages are compacted, covered and found in reasonable time", async () => {
  const talk = await Conversation.begin({ contextLength: 200_000, summarizer: answering("a short note") });
  await using _store = talk.store;
  const words = "harbour crane copper lantern ledger willow anchor quarry thistle beacon".split(" ");
  const text = (at: number) =>
    Array.from({ length: 60 }, (_, word) => words[(at * 7 + word * 3) % 10]).join(" ");
  await talk.say(
    Array.from({ length: MESSAGES }, (_, at) =>
      asMessage({
        role: at % 2 === 0 ? "user" : "assistant",
        content: `${at === 100 ? "heronloft " : ""}${at} ${text(at)}`,
      }),
    ),
  );
  const start = performance.now();
  const outcome = await talk.compact();
  const compacted = performance.now() - start;
  expect(outcome.kind).toBe("compacted");
  expect(outcome.tokensBefore).toBeGreaterThan(1_000_000);
  expect(outcome.tokensAfter).toBeLessThan(60_000);
  expect(compacted).toBeLessThan(LIMIT_MS);

  await talk.expectWhole();
  const found = await talk.tool("lcm_grep", { query: "heronloft" });
  expect(found).toMatchObject({
    count: 1,
    results: [{ store_id: 101, covered_by: expect.stringContaining("lcm_") }],
  });
  await talk.say(
    Array.from({ length: 400 }, (_, at) =>
      asMessage({ role: at % 2 ? "assistant" : "user", content: text(at) }),
    ),
  );
  const second = performance.now();
  await talk.compact();
  expect(performance.now() - second).toBeLessThan(LIMIT_MS / 2);
  await talk.expectWhole();
}, 120_000);
