// The promises of a compaction, over lists of every shape that may come from a store.

import fc from "fast-check";
import { expect, it } from "vitest";
import { isHandoff } from "../../../src/context/compressor/handoff.ts";
import { repairPairs } from "../../../src/context/list-repair.ts";
import { withMeta } from "../../../src/message/index.ts";
import { openSessionStore } from "../../../src/sessions/index.ts";
import { frozen } from "../../../testing/context-engine/lists.ts";
import { modelThat } from "../../../testing/context-engine/summarisers.ts";
import { newPath } from "../../fakes/session-index.ts";
import { histories } from "../histories.ts";
import { Conversation, SMALL } from "./conversation.ts";

const RUNS = 25;

it("any history, compacted and compacted again, stays valid for a model and loses no message", async () => {
  await using store = await openSessionStore({ path: newPath() });
  let number = 0;
  let compactions = 0;
  const isModelUp = fc.boolean();
  const property = fc.asyncProperty(histories(), histories(), isModelUp, async (first, second, isUp) => {
    number += 1;
    const summarizer = modelThat((prompt) => (isUp ? `about ${prompt.length}` : ""));
    const talk = await Conversation.begin({ ...SMALL, summarizer }, { store, id: `history ${number}` });
    for (const list of [first, second]) {
      await talk.say(list.map((message) => withMeta(message, { rowId: undefined })));
      const before = frozen(talk.live);
      talk.live = before;
      const outcome = await talk.compact();
      const most = Math.max(before.length, repairPairs(before).length);
      expect(outcome.messages.length).toBeLessThanOrEqual(most);
      if (outcome.kind !== "compacted") continue;
      compactions += 1;
      expect(outcome.messages.filter(({ meta }) => meta.isHandoff).some(isHandoff)).toBe(true);
      await talk.expectWhole();
    }
    await talk.expectReadable();
  });
  await fc.assert(property, { numRuns: RUNS });
  expect(compactions).toBeGreaterThan(RUNS / 3);
}, 60_000);
