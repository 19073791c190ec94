import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  ContextCompressor,
  type ContextCompressorOptions,
} from "../../../src/context/compressor/compressor.ts";
import { HANDOFF_END, withoutHandoff } from "../../../src/context/compressor/handoff.ts";
import { isUsersOwn } from "../../../src/context/compressor/plan.ts";
import { type Message, withMeta } from "../../../src/message/index.ts";
import { alternating, frozen } from "../../../testing/context-engine/lists.ts";
import {
  answering,
  factsIn,
  failing,
  modelThat,
  remembering,
} from "../../../testing/context-engine/summarisers.ts";
import { histories } from "../histories.ts";
import { asMessage } from "../messages.ts";
import { expectNoNewRuns, expectPairs } from "../valid-list.ts";

const KEY = "sk-ant-api03-AAAABBBBCCCCDDDD1234";
const UNAVAILABLE = "Summary generation was unavailable";

function compressorWith(options: Partial<ContextCompressorOptions>): ContextCompressor {
  return new ContextCompressor({ contextLength: 200_000, summarizer: failing(), ...options });
}
const numbered = (messages: readonly Message[]): readonly Message[] =>
  messages.map((message, index) => withMeta(message, { rowId: 100 + index }));
const causes = ({ notices }: { notices: readonly { cause: string }[] }): string[] =>
  notices.map(({ cause }) => cause);

afterEach(() => {
  vi.useRealTimers();
});

describe("without a summary", () => {
  it.each<[string, unknown, string]>([
    ["an error", new Error("500 broken"), "failed"],
    ["a broken connection", new TypeError("fetch failed"), "connection"],
    ["a thrown text", "oh no", "failed"],
    ["a thrown nothing", undefined, "failed"],
    ["no provider", new Error("no auxiliary LLM provider configured"), "no_model"],
  ])("after %s the turns are condensed without a model, and that is said", async (_, cause, kind) => {
    const compressor = compressorWith({ summarizer: failing(cause) });
    const outcome = await compressor.compress(numbered(alternating(60, 4000)));
    expect(outcome).toMatchObject({ kind: "compacted", method: "local", failure: { kind } });
    expect(outcome.leftOut).toEqual([
      { count: 28, reason: "summary_failed", firstRowId: 103, lastRowId: 130 },
    ]);
    expect(causes(outcome)).toEqual([`summary_failed:${kind}`]);
    const handoff = String(outcome.messages[outcome.summaryIndex ?? -1]?.content);
    expect(handoff).toContain(UNAVAILABLE);
    expect(handoff).toContain("28 messages (rows 103 to 130)");
    expect([...(handoff.split(`\n\n${HANDOFF_END}`)[0] ?? "")].length).toBeLessThanOrEqual(8_000);
    expect(compressor.compressionCount).toBe(1);
  });

  it("works without any model", async () => {
    const outcome = await compressorWith({ summarizer: undefined }).compress(alternating(60, 4000));
    expect(outcome).toMatchObject({ method: "local", failure: { kind: "no_model" } });
  });

  it("everything stays when that is wanted", async () => {
    const compressor = compressorWith({ abortOnSummaryFailure: true });
    const messages = alternating(60, 4000);
    const outcome = await compressor.compress(messages);
    expect(outcome).toMatchObject({
      kind: "aborted",
      reason: "summary_failed",
      leftOut: [],
      failure: { kind: "failed" },
    });
    expect(outcome.messages).toBe(messages);
    expect(causes(outcome)).toEqual(["summary_aborted:failed"]);
    expect(compressor.compressionCount).toBe(0);
    expect(compressor.shouldCompress(150_000)).toBe(true);
  });
});

describe("a model that failed", () => {
  it("is not asked for a while, with one notice, unless force is set", async () => {
    let now = 0;
    const summarizer = failing();
    const compressor = compressorWith({ summarizer, monotonicMs: () => now });
    expect(causes(await compressor.compress(alternating(60, 4000)))).toEqual(["summary_failed:failed"]);
    const resting = await compressor.compress(alternating(60, 4000));
    expect(resting.failure?.kind).toBe("cooldown");
    expect(causes(resting)).toEqual(["summary_failed:cooldown"]);
    expect((await compressor.compress(alternating(60, 4000))).notices).toEqual([]);
    expect(summarizer.prompts).toHaveLength(1);
    const forced = await compressor.compress(alternating(60, 4000), { force: true });
    expect(forced.failure?.kind).toBe("failed");
    expect(forced.notices).toEqual([]); // shown before
    expect(summarizer.prompts).toHaveLength(2);
    now = 61_000;
    await compressor.compress(alternating(60, 4000));
    expect(summarizer.prompts).toHaveLength(3);
  });

  it("is replaced when its window is too small for the job", async () => {
    const small = answering("## Goal\nsmall");
    const outcome = await compressorWith({
      summarizer: small,
      summaryContextLength: 1_000,
      fallbackSummarizer: answering("## Goal\nlarge"),
    }).compress(alternating(60, 4000));
    expect(outcome.summary).toBe("## Goal\nlarge");
    expect(small.prompts).toEqual([]);
  });

  it("half-way keeps what it had written, and only the rest is condensed", async () => {
    const summarizer = modelThat((prompt, call) => {
      if (call > 1) throw new Error("gone");
      return `## Goal\n${factsIn(prompt).join("\n")}`;
    });
    const turns = numbered(alternating(60, 3900)).map((turn, index) => ({
      ...turn,
      content: `fact-t${index} ${turn.content}`,
    }));
    const outcome = await compressorWith({ summarizer, summaryContextLength: 20_000 }).compress(turns);
    const read = factsIn(summarizer.prompts[0] ?? "").filter((fact) => outcome.summary?.includes(fact));
    expect(read.length).toBeGreaterThan(5);
    expect(outcome.leftOut[0]?.firstRowId).toBeGreaterThan(103);
    expect(outcome.leftOut[0]).toMatchObject({
      reason: "summary_failed",
      lastRowId: 99 + (outcome.summarised?.to ?? 0),
    });
    expect(outcome.summary).toContain(UNAVAILABLE);
  });
});

describe("stopping", () => {
  it("rejects with the caller's reason and changes nothing", async () => {
    const stop = new AbortController();
    const started = Promise.withResolvers<void>();
    const summarizer = modelThat(() => {
      started.resolve();
      return new Promise(() => undefined);
    });
    const compressor = compressorWith({ summarizer });
    const messages = frozen(alternating(60, 4000));
    const compaction = compressor.compress(messages, { signal: stop.signal });
    await started.promise;
    stop.abort(new Error("the user left"));
    await expect(compaction).rejects.toThrow("the user left");
    expect(compressor.compressionCount).toBe(0);
    await expect(compressor.compress(messages, { signal: stop.signal })).rejects.toThrow("the user left");
    expect(summarizer.prompts).toHaveLength(1);
  });
});

describe("secrets", () => {
  const leaky = [
    ...alternating(4, 60),
    asMessage({ role: "user", content: `my key is ${KEY}` }),
    asMessage({
      role: "assistant",
      content: [{ type: "text", text: KEY }],
      tool_calls: [{ id: "s", function: { name: "t", arguments: `{"k":"${KEY}"}` } }],
    }),
    asMessage({ role: "tool", tool_call_id: "s", content: `export ANTHROPIC_API_KEY=${KEY}` }),
    ...alternating(60, 4000),
    asMessage({ role: "user", content: `again ${KEY}` }),
  ];

  it("are neither in the request nor in the summary, with and without a model", async () => {
    const summarizer = modelThat((prompt) => `## Goal\n${prompt} ${KEY}`);
    const options = { focusTopic: KEY, providerText: `key ${KEY}` };
    const outcome = await compressorWith({ summarizer }).compress(leaky, options);
    expect(summarizer.prompts[0]).not.toContain("AAAABBBB");
    expect(outcome.summary).not.toContain("AAAABBBB");
    const local = await compressorWith({}).compress(leaky);
    expect(local.summary).not.toContain("AAAABBBB");
  });
});

describe("any history and a model that comes and goes", () => {
  it("stays valid, keeps the newest user message and every planted fact, over several compactions", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(histories({ maxLength: 25 }), fc.boolean()), { minLength: 2, maxLength: 4 }),
        async (rounds) => {
          let isDown = false;
          const good = remembering();
          const summarizer = modelThat((prompt) => {
            if (isDown) throw new Error("gone");
            return good.complete({ prompt });
          });
          const compressor = compressorWith({ summarizer, contextLength: 400_000 });
          let messages: readonly Message[] = [
            asMessage({ role: "user", content: "fact-start", _row_id: -1 }),
          ];
          for (const [round, [history, fails]] of rounds.entries()) {
            isDown = fails;
            const renumbered = history.map((message) =>
              withMeta(message, { rowId: 1_000 * (round + 1) + Number(message.meta.rowId) }),
            );
            const before = frozen([...messages, ...renumbered]);
            const outcome = await compressor.compress(before, { force: true });
            expectPairs(outcome.messages);
            expectNoNewRuns(before, outcome.messages);
            const newest = before.findLast(isUsersOwn);
            const kept = outcome.messages.find(({ meta }) => meta.rowId === newest?.meta.rowId);
            expect(kept && withoutHandoff(kept)?.content).toEqual(newest && withoutHandoff(newest)?.content);
            expect(JSON.stringify(outcome.messages)).toContain("fact-start");
            if (outcome.method === "local") expect(outcome.summary).toContain(UNAVAILABLE);
            messages = outcome.messages;
          }
        },
      ),
      { numRuns: 60 },
    );
  });
});
