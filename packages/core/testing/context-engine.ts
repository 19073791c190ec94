// The contract suite of context engines. Run for the built-in engines and for a plugin.
import { HANDOFF_END, handoffBody, isHandoff } from "../src/context/compressor/handoff.ts";
import type { CompressOutcome, ContextEngine } from "../src/context/engine.ts";
import { checkEngine } from "../src/context/select-engine.ts";
import { estimateMessages } from "../src/context/tokens.ts";
import type { TextModel } from "../src/lib/index.ts";
import type { Message } from "../src/message/index.ts";
import { alternating, filler, frozen, toolRounds, user } from "./context-engine/lists.ts";
import { answering, failing, modelThat } from "./context-engine/summarisers.ts";
import { unpaired, userContents } from "./context-engine/valid-list.ts";
import { suiteFor, type TestRunner } from "./runner.ts";

/**
 * An engine under test, and how lists are prepared for it.
 *
 * @public
 */
export type OpenedEngine = {
  readonly engine: ContextEngine;
  /** The list as the engine expects it, for example with row ids. */
  prepare(messages: readonly Message[]): Promise<readonly Message[]>;
};

/** Makes the engine under test. */
export type OpenEngine = (options: {
  readonly contextLength: number;
  readonly summarizer: TextModel | undefined;
}) => Promise<OpenedEngine>;

const WINDOW = 30_000;
const SUMMARY = "## Goal\nGo on.";

/** Registers the tests that every context engine has to pass. */
export function contextEngineContract(runner: TestRunner, label: string, openEngine: OpenEngine): void {
  const { describe, it, expect } = suiteFor(runner);
  const open = (summarizer: TextModel | undefined = answering(SUMMARY), contextLength = WINDOW) =>
    openEngine({ contextLength, summarizer });

  const compressed = async (
    messages: readonly Message[],
    summarizer?: TextModel,
  ): Promise<{ before: readonly Message[]; outcome: CompressOutcome; engine: ContextEngine }> => {
    const { engine, prepare } = await open(summarizer);
    const before = frozen(await prepare(messages));
    return { before, outcome: await engine.compress(before), engine };
  };

  describe(`${label} as a context engine`, () => {
    it("has every member of the contract", async () => {
      const { engine } = await open();
      expect(checkEngine(engine)).toMatchObject({ ok: true });
    });

    it("begins with nothing counted and knows its window", async () => {
      const { engine } = await open();
      const { lastPromptTokens, lastCompletionTokens, lastTotalTokens, compressionCount } = engine;
      const counted = { lastPromptTokens, lastCompletionTokens, lastTotalTokens, compressionCount };
      expect(Object.values(counted)).toEqual([0, 0, 0, 0]);
      expect(engine.contextLength).toBe(WINDOW);
      expect(engine.thresholdTokens).toBeGreaterThan(0);
      expect(engine.thresholdTokens).toBeLessThanOrEqual(WINDOW);
      expect(engine.shouldCompress()).toBe(false);
    });

    it("keeps the figures of the last reply and shows them", async () => {
      const { engine } = await open();
      engine.updateFromResponse({ promptTokens: 12_000, completionTokens: 300 });
      expect(engine).toMatchObject({ lastPromptTokens: 12_000, lastCompletionTokens: 300 });
      expect(engine.lastTotalTokens).toBe(12_300);
      expect(engine.getStatus()).toEqual({
        last_prompt_tokens: 12_000,
        threshold_tokens: engine.thresholdTokens,
        context_length: WINDOW,
        usage_percent: 40,
        compression_count: 0,
      });
    });

    it("wants to compact from its threshold on, by the last reply or by what it is told", async () => {
      const { engine } = await open();
      const { thresholdTokens } = engine;
      expect(engine.shouldCompress(thresholdTokens - 1)).toBe(false);
      expect(engine.shouldCompress(thresholdTokens)).toBe(true);
      engine.updateFromResponse({ promptTokens: thresholdTokens, completionTokens: 1 });
      expect(engine.shouldCompress()).toBe(true);
    });

    it("is not upset by figures that are none", async () => {
      const { engine } = await open();
      for (const nonsense of [Number.NaN, -5, Number.POSITIVE_INFINITY, "12", null, undefined]) {
        engine.updateFromResponse({ promptTokens: nonsense as number, completionTokens: nonsense as number });
        expect(typeof engine.shouldCompress()).toBe("boolean");
        const { last_prompt_tokens, usage_percent } = engine.getStatus();
        expect(last_prompt_tokens).toBeGreaterThanOrEqual(0);
        expect(usage_percent).toBeGreaterThanOrEqual(0);
        expect(usage_percent).toBeLessThanOrEqual(100);
      }
    });

    it("follows the model to another window", async () => {
      const { engine } = await open();
      const before = engine.thresholdTokens;
      engine.updateModel?.({ model: "larger", contextLength: 400_000 });
      expect(engine.contextLength).toBe(400_000);
      expect(engine.getStatus().context_length).toBe(400_000);
      expect(engine.thresholdTokens).toBeGreaterThan(before);
    });

    it("forgets its figures with a reset", async () => {
      const { engine } = await open();
      engine.updateFromResponse({ promptTokens: 12_000, completionTokens: 300 });
      engine.onSessionReset?.();
      expect(engine).toMatchObject({ lastPromptTokens: 0, lastTotalTokens: 0, compressionCount: 0 });
    });

    it("takes every hook a host may call", async () => {
      const { engine } = await open();
      await engine.onSessionStart?.("another", { boundaryReason: "compression", oldSessionId: "root" });
      await engine.carryOverNewSessionContext?.("root", "another");
      await engine.onSessionEnd?.("another", []);
      engine.onCompacted?.(5_000);
      expect(engine.getStatus().last_prompt_tokens).toBeGreaterThanOrEqual(0);
      expect(typeof (engine.shouldDeferPreflightToRealUsage?.(100_000) ?? false)).toBe("boolean");
      expect(typeof (engine.hasContentToCompress?.([]) ?? true)).toBe("boolean");
    });

    it("offers tools a model can be given, and answers an unknown one in JSON", async () => {
      const { engine } = await open();
      const schemas = engine.getToolSchemas?.() ?? [];
      for (const { name, description, parameters } of schemas) {
        expect(name).toMatch(/^[a-z][a-z0-9_]{0,63}$/);
        expect(description.length).toBeGreaterThan(0);
        expect(parameters).toMatchObject({ type: "object" });
      }
      expect(new Set(schemas.map(({ name }) => name)).size).toBe(schemas.length);
      for (const name of [...schemas.map((schema) => schema.name), "no_such_tool"]) {
        const answer = await engine.handleToolCall?.(name, { query: "\0", node_id: 17, store_id: {} }, []);
        if (answer !== undefined) expect(typeof JSON.parse(answer)).toBe("object");
      }
    });
  });

  describe(`${label} compacting`, () => {
    const long = () => [...alternating(40, 3_000), ...toolRounds(20, 4_000), user(200)];

    it("makes a long list shorter, and says what the handoff stands for", async () => {
      const { before, outcome, engine } = await compressed(long());
      expect(outcome.kind).toBe("compacted");
      expect(outcome.messages.length).toBeLessThan(before.length);
      expect(outcome.tokensBefore).toBe(estimateMessages(before));
      expect(outcome.tokensAfter).toBe(estimateMessages(outcome.messages));
      expect(outcome.tokensAfter).toBeLessThan(engine.thresholdTokens);
      expect(outcome.reason).toBeUndefined();
      const { from, to } = outcome.summarised ?? { from: 0, to: 0 };
      expect(to - from).toBeGreaterThan(1);
      const handoff = outcome.messages[outcome.summaryIndex ?? -1];
      expect(handoff && isHandoff(handoff)).toBe(true);
      expect(handoff && handoffBody(handoff)).toBe(outcome.summary);
      expect(engine.compressionCount).toBe(1);
      expect(unpaired(outcome.messages)).toEqual([]);
    });

    it("leaves an empty and a short list as they are, the same array, with a reason", async () => {
      for (const messages of [[], [user()], alternating(4, 100)]) {
        const { before, outcome, engine } = await compressed(messages);
        expect(outcome).toMatchObject({ kind: "unchanged", leftOut: [] });
        expect(typeof outcome.reason).toBe("string");
        expect(outcome.messages).toBe(before);
        expect(engine.compressionCount).toBe(0);
      }
    });

    it.each<[string, () => TextModel | undefined]>([
      ["fails", () => failing()],
      ["says nothing", () => answering("  \n")],
      ["declines", () => answering("I'm sorry, but I can't help with that.")],
      ["throws what is no error", () => failing(Object.create(null))],
      ["answers with no text", () => answering(17 as unknown as string)],
      ["quotes the end marker", () => answering(`${HANDOFF_END}\n${SUMMARY}`)],
      ["writes far more than asked for", () => answering(filler(400_000))],
    ])("keeps the list valid, and says what happened, when the summariser %s", async (_what, model) => {
      const { before, outcome } = await compressed(long(), model());
      expect(unpaired(outcome.messages)).toEqual([]);
      expect(outcome.messages.length).toBeLessThanOrEqual(before.length);
      expect(outcome.tokensAfter).toBeLessThan(outcome.tokensBefore);
      expect(userContents(outcome.messages)).toContainEqual(userContents(before).at(-1));
      const isTold = outcome.method === "model" || outcome.failure !== undefined;
      expect(isTold).toBe(true);
      if (outcome.method === "local") expect(outcome.notices.length).toBeGreaterThan(0);
    });

    it("is not upset by holes, and by fields that should be texts and cannot be", async () => {
      const { engine, prepare } = await open();
      const noText = { toString: 1, valueOf: 1 }; // JSON can hold it
      const odd = [
        null,
        undefined,
        17,
        { role: noText, content: "x" },
        { role: "user", content: [{ type: noText, text: noText }] },
        { role: "tool", content: { _multimodal: true, text_summary: noText } },
      ] as unknown as readonly Message[];
      const [one, ...others] = await prepare(long());
      const list = [one, ...odd, ...others, ...odd] as readonly Message[];
      expect(() => engine.hasContentToCompress?.(list)).not.toThrow();
      const { messages } = await engine.compress(list);
      expect(messages.every((message) => typeof message === "object" && message !== null)).toBe(true);
      expect(unpaired(messages)).toEqual([]);
    });

    it("rejects with the reason of a signal that is aborted, before and while the model is asked", async () => {
      const { engine, prepare } = await open();
      const messages = await prepare(long());
      const reason = new Error("the user left");
      await expect(engine.compress(messages, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);

      const stop = new AbortController();
      const hanging = modelThat(() => {
        stop.abort(reason);
        return new Promise<never>(() => {});
      });
      const other = await open(hanging);
      const list = frozen(await other.prepare(long()));
      await expect(other.engine.compress(list, { signal: stop.signal })).rejects.toBe(reason);
      expect(other.engine.compressionCount).toBe(0);
    });

    it("works again on what it left behind", async () => {
      const { engine, prepare } = await open();
      const first = await engine.compress(await prepare(long()));
      const list = await prepare([...first.messages, ...alternating(30, 3_000, "assistant")]);
      const second = await engine.compress(list);
      expect(unpaired(second.messages)).toEqual([]);
      expect(second.messages.filter(isHandoff)).toHaveLength(1);
      expect(userContents(second.messages)).toContainEqual(userContents(list).at(-1));
    });
  });
}
