// Properties of the compressor over random histories. The window is small, so that most of them are compacted.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ContextCompressor } from "../../../src/context/compressor/compressor.ts";
import { handoffBody, isHandoff, withoutHandoff } from "../../../src/context/compressor/handoff.ts";
import { isUsersOwn } from "../../../src/context/compressor/plan.ts";
import type { CompressOutcome } from "../../../src/context/engine.ts";
import { repairPairs } from "../../../src/context/list-repair.ts";
import type { Message } from "../../../src/message/index.ts";
import { frozen } from "../../../testing/context-engine/lists.ts";
import { histories, tagOf } from "../histories.ts";
import { expectNoNewRuns, expectPairs } from "../valid-list.ts";

const WINDOW = 30_000;
const RUNS = 80;

type Run = {
  readonly messages: readonly Message[];
  readonly outcome: CompressOutcome;
  readonly prompts: readonly string[];
};

describe("a compaction of any history", () => {
  it("keeps every call with its result and every result with its call", async () => {
    await always(({ outcome }) => expectPairs(outcome.messages));
  });

  it("puts no two messages of one role in a row that were not neighbours before", async () => {
    await always(({ messages, outcome }) => expectNoNewRuns(messages, outcome.messages));
  });

  it("is never longer than the history, repaired where it was broken", async () => {
    await always(({ messages, outcome }) => {
      expect(outcome.messages.length).toBeLessThanOrEqual(
        Math.max(messages.length, repairPairs(messages).length),
      );
    });
  });

  it("contains the newest user message word for word", async () => {
    await always(({ messages, outcome }) => {
      const newest = messages.findLast(isUsersOwn);
      if (newest === undefined) return;
      const own = withoutHandoff(newest)?.content;
      const kept = outcome.messages.find(({ meta }) => meta.rowId === newest.meta.rowId);
      expect(kept?.role).toBe("user");
      expect(kept && withoutHandoff(kept)?.content).toEqual(own);
    });
  });

  it("leaves head and tail as they are", async () => {
    await always(({ messages, outcome }) => {
      const { summarised } = outcome;
      if (summarised === undefined) return;
      const staying = messages.filter((_, index) => index < summarised.from || index >= summarised.to);
      const rows = new Map(outcome.messages.map((message) => [message.meta.rowId, message]));
      for (const message of staying) {
        const kept = rows.get(message.meta.rowId);
        // Results may be pruned or have no call; a handoff in front of the tail's first message is replaced.
        if (message.role === "tool" || isHandoff(message)) continue;
        expect(kept?.role).toBe(message.role);
        if (kept && !isHandoff(kept) && message.role !== "system" && !hasImage(message))
          expect(withoutCalls(kept)).toEqual(withoutCalls(message));
      }
      const order = outcome.messages.flatMap(({ meta, role }) =>
        meta.rowId && role !== "tool" ? [meta.rowId] : [],
      );
      const kept = new Set(staying.map(({ meta }) => meta.rowId));
      expect(order.filter((row) => kept.has(row))).toEqual(
        order.filter((row) => kept.has(row)).toSorted((one, other) => one - other),
      );
    });
  });

  it("drops no text: it is in the list or went into the summary", async () => {
    await always(({ messages, outcome, prompts }) => {
      const everywhere = JSON.stringify(outcome.messages) + prompts.join("\n");
      for (const message of messages) {
        const tag = tagOf(Number(message.meta.rowId));
        const isSaid = message.role !== "tool" && JSON.stringify(message.content ?? "").includes(tag);
        if (isSaid) expect(everywhere, `row ${tag}`).toContain(tag);
      }
    });
  });

  it("has one handoff where the outcome says, and every earlier one before the tail lives on in the request", async () => {
    await always(({ messages, outcome, prompts }) => {
      if (outcome.kind !== "compacted") return;
      const handoff = outcome.messages[outcome.summaryIndex ?? -1];
      expect(handoff && handoffBody(handoff)).toBe("## Goal\nGo on.");
      const { from, to } = outcome.summarised ?? { from: 0, to: 0 };
      for (const message of messages.slice(from, to)) {
        const body = handoffBody(message);
        if (body) expect(prompts[0]).toContain(body);
      }
    });
  });

  it("costs no more tokens than before, but for the frame of the handoff around a small window", async () => {
    const frame = 450;
    await always(({ messages, outcome }) => {
      const stubs = Math.max(0, repairPairs(messages).length - messages.length);
      expect(outcome.tokensAfter).toBeLessThanOrEqual(outcome.tokensBefore + frame + 30 * stubs);
    });
  });

  it("gives back the same array when it changes nothing", async () => {
    await always(({ messages, outcome }) => {
      if (outcome.kind === "unchanged") expect(outcome.messages).toBe(messages);
      else if (outcome.kind === "pruned") expect(outcome.messages).not.toBe(messages);
    });
  });
});

/** Runs the compressor on frozen histories. */
async function always(check: (run: Run) => void): Promise<void> {
  let compacted = 0;
  await fc.assert(
    fc.asyncProperty(histories(), async (history) => {
      const messages = frozen(history);
      const prompts: string[] = [];
      const complete = async ({ prompt }: { prompt: string }) => {
        prompts.push(prompt);
        return "## Goal\nGo on.";
      };
      const compressor = new ContextCompressor({ contextLength: WINDOW, summarizer: { complete } });
      const outcome = await compressor.compress(messages);
      if (outcome.kind === "compacted") compacted += 1;
      check({ messages, outcome, prompts });
    }),
    { numRuns: RUNS },
  );
  expect(compacted).toBeGreaterThan(RUNS / 3); // with only short lists the test would check nothing
}

function hasImage({ content }: Message): boolean {
  return JSON.stringify(content ?? "").includes("image");
}

function withoutCalls(message: Message): object {
  return { ...message, toolCalls: [] };
}
