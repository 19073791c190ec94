// Our compressor against golden vectors of the Python original, which are outside the repository. `differs` names deliberate
// improvements; these are asserted instead.
import { describe, expect, it } from "vitest";
import { ContextCompressor } from "../../src/context/compressor/compressor.ts";
import { COMPACTION_NOTE } from "../../src/context/compressor/handoff.ts";
import { findBoundaries, findHeadEnd, windowToSummarise } from "../../src/context/compressor/plan.ts";
import {
  oneLiner,
  pruneToolResults,
  shrinkArguments,
  stripOldMedia,
} from "../../src/context/compressor/prune.ts";
import { repairPairs } from "../../src/context/list-repair.ts";
import {
  type CompressorSettings,
  DEFAULT_SETTINGS,
  deriveBudgets,
  WatchedEngine,
} from "../../src/context/trigger.ts";
import {
  type Message,
  type OpenAiMessage,
  readRow,
  renderContent,
  toOpenAi,
  toolCallsOf,
} from "../../src/message/index.ts";
import {
  type CompactMessage,
  type CompactText,
  expandArguments,
  expandMessage,
  expandText,
  roleLetters,
} from "./compact-messages.ts";
import { readVectors } from "./vectors.ts";

class Engine extends WatchedEngine {
  saveNothing = () => this.noteAttempt("nothing", 1, 1);
}

type Config = {
  readonly context_length?: number;
  readonly threshold?: number;
  readonly target_ratio?: number;
  readonly protect_first_n?: number;
  readonly protect_last_n?: number;
  readonly abort_on_summary_failure?: boolean;
  readonly current_tokens?: number;
};

type Named = { readonly id: string; readonly title: string; readonly differs?: string | null };

type CompressCase = Named & {
  readonly kind: "compress";
  readonly config: Config;
  readonly messages: readonly CompactMessage[];
  readonly summary_fails: boolean;
  readonly held_summary?: string;
  readonly expect: {
    readonly threshold_tokens: number;
    readonly tail_token_budget: number;
    readonly max_summary_tokens: number;
    readonly pruned_count: number;
    readonly pruned: readonly { readonly index: number; readonly content: unknown }[];
    readonly args_shortened: readonly { readonly index: number; readonly arguments: readonly string[] }[];
    readonly too_short: boolean;
    readonly head_end: number;
    readonly tail_start: number;
    readonly compress: ExpectedResult;
  };
};

type ExpectedResult = {
  readonly out_len: number;
  readonly compression_count: number;
  readonly summarised?: readonly [number, number];
  readonly previous_summary?: string | null;
  readonly summary_index?: number;
  readonly summary_role?: string;
  readonly merged_into_tail?: boolean;
  readonly roles: string;
  readonly source_indices: readonly (number | null)[];
  readonly stub_results: readonly string[];
  readonly fallback_used: boolean;
  readonly dropped_count: number;
  readonly aborted: boolean;
  readonly system_note_added?: boolean;
};

type PairsCase = Named & {
  readonly kind: "pairs";
  readonly messages: readonly CompactMessage[];
  readonly output: readonly {
    readonly role: string;
    readonly calls?: readonly string[];
    readonly tool_call_id?: string;
    readonly content?: string;
  }[];
};
type MediaCase = Named & {
  readonly kind: "media";
  readonly messages: readonly CompactMessage[];
  readonly contents: readonly unknown[];
};
type LineCase = Named & {
  readonly kind: "one_liner";
  readonly tool: string;
  readonly args: string;
  readonly content: CompactText;
  readonly output: string;
};
type ArgumentsCase = Named &
  CompactText & {
    readonly kind: "args";
    readonly head: string;
    readonly tail: string;
    readonly output: string;
  };
type Expected = { readonly expect?: Readonly<Record<string, unknown>> };
type Step = Expected &
  (
    | { readonly op: "should_compress"; readonly tokens?: number }
    | {
        readonly op: "usage";
        readonly usage: { prompt_tokens: number; completion_tokens: number; total_tokens?: number };
      }
    | { readonly op: "ineffective"; readonly count: number }
    | { readonly op: "defer" | "after_compaction"; readonly rough: number }
    | { readonly op: "update_model"; readonly context_length: number }
    | { readonly op: "reset" }
  );
type TriggerCase = Named & {
  readonly kind: "trigger";
  readonly config: Config;
  readonly initial: Readonly<Record<string, number>>;
  readonly steps: readonly Step[];
};
type Vector = CompressCase | PairsCase | MediaCase | LineCase | ArgumentsCase | TriggerCase;

const vectors = readVectors<Vector>("compressor.jsonl");
const of = <Kind extends Vector["kind"]>(kind: Kind) =>
  (vectors ?? []).filter((vector): vector is Extract<Vector, { kind: Kind }> => vector.kind === kind);

describe.skipIf(vectors === undefined)("compressor vectors", () => {
  it.each(of("one_liner"))("$id: $tool", ({ tool, args, content, output }) => {
    expect(oneLiner(tool, args, expandText(content))).toBe(output);
  });

  it.each(of("args"))("$id: $title", (vector) => {
    expect(shrinkArguments(expandArguments(vector))).toBe(vector.output);
  });

  it.each(of("media"))("$id: $title", ({ messages, contents }) => {
    const stripped = stripOldMedia(messages.map((each) => readRow(expandMessage(each))));
    expect(stripped.map(({ content }) => renderContent(content))).toEqual(contents);
  });

  it.each(of("pairs"))("$id: $title", ({ messages, output }) => {
    const repaired = repairPairs(messages.map((each) => readRow(expandMessage(each)))).map((each) =>
      toOpenAi(each),
    );
    expect(repaired).toHaveLength(output.length);
    for (const [index, { role, calls, tool_call_id, content }] of output.entries()) {
      const message = repaired[index];
      expect(message?.role).toBe(role);
      expect(message?.tool_call_id).toBe(tool_call_id);
      expect(message?.tool_calls?.map(({ id }) => id)).toEqual(calls);
      if (content !== undefined) expect(message?.content).toBe(content);
    }
  });

  it.each(of("trigger"))("$id: $title", ({ config, initial, steps, differs }) => {
    let settings = settingsOf(config);
    const budgets = () => deriveBudgets(settings);
    const figures = () => ({
      threshold_tokens: budgets().thresholdTokens,
      tail_token_budget: budgets().tailTokens,
      max_summary_tokens: budgets().maxSummaryTokens,
    });
    const engine = new Engine(settings);
    if (differs === "threshold_cap") {
      // Ours leaves room for the reply: 0.85 of 64,000.
      expect(figures()).toEqual({ ...initial, threshold_tokens: 54_400, tail_token_budget: 10_880 });
    } else expect(figures()).toEqual(initial);

    for (const step of steps) {
      switch (step.op) {
        case "should_compress": {
          const isAbove = engine.shouldCompress(step.tokens);
          const isCapped = differs === "threshold_cap" && (step.tokens ?? 0) >= 54_400;
          expect(isAbove).toBe(isCapped || step.expect?.result);
          break;
        }
        case "usage": {
          const {
            prompt_tokens: promptTokens,
            completion_tokens: completionTokens,
            total_tokens,
          } = step.usage;
          const total = total_tokens === undefined ? {} : { totalTokens: total_tokens };
          const usage = { promptTokens, completionTokens, ...total };
          engine.updateFromResponse(usage);
          expect({
            last_prompt_tokens: engine.lastPromptTokens,
            last_completion_tokens: engine.lastCompletionTokens,
            last_total_tokens: engine.lastTotalTokens,
          }).toEqual(step.expect);
          break;
        }
        case "defer":
          expect(engine.shouldDeferPreflightToRealUsage(step.rough)).toBe(step.expect?.result);
          break;
        case "after_compaction":
          engine.onCompacted(step.rough);
          break;
        case "update_model":
          settings = { ...settings, contextLength: step.context_length };
          engine.updateModel({ model: "m", contextLength: step.context_length });
          expect(figures()).toEqual(step.expect);
          break;
        case "ineffective":
          for (let at = 0; at < step.count; at += 1) engine.saveNothing();
          break;
        case "reset":
          engine.onSessionReset();
          break;
        default:
          step satisfies never;
      }
    }
  });

  it.each(of("compress"))("$id: $title: budgets, pruning, boundaries", (vector) => {
    const messages = vector.messages.map((each) => readRow(expandMessage(each)));
    const expected = vector.expect;
    const settings = settingsOf(vector.config);
    const budgets = deriveBudgets(settings);
    expect(budgets.thresholdTokens).toBe(expected.threshold_tokens);
    expect(budgets.tailTokens).toBe(expected.tail_token_budget);
    expect(budgets.maxSummaryTokens).toBe(expected.max_summary_tokens);

    // Pruning does not touch the head.
    const headEnd = findHeadEnd(messages, settings.protectFirstN);
    const pruned = pruneToolResults(messages, { ...budgets, ...settings, headEnd });
    const results = expected.pruned.filter(({ index }) => index >= headEnd);
    expect(pruned.results).toBe(vector.differs === "head_exempt" ? 0 : expected.pruned_count);
    expect(changed(messages, pruned.messages, "content")).toEqual(
      results.map(({ index, content }) => [index, content]),
    );
    const calls = expected.args_shortened.filter(({ index }) => index >= headEnd);
    expect(
      changed(messages, pruned.messages, "toolCalls").map(([index]) => [
        index,
        toolCallsOf(pruned.messages[index] as Message).map((call) => call.arguments),
      ]),
    ).toEqual(calls.map(({ index, arguments: given }) => [index, given]));
    if (expected.too_short) return;

    const boundaries = findBoundaries(pruned.messages, settings, budgets);
    expect(boundaries.headEnd).toBe(expected.head_end);
    if (vector.differs === "user_anchor_may_not_block") {
      expect(boundaries.keptUser).toBe(5);
      expect(boundaries.tailStart).toBeGreaterThan(expected.tail_start + 50);
    } else {
      expect(boundaries.tailStart).toBe(expected.tail_start);
      expect(boundaries.keptUser).toBeUndefined();
    }
    const window = windowToSummarise(pruned.messages, boundaries);
    expect(window.previousSummary ?? null).toBe(expected.compress.previous_summary);
    // Ours also reads text in front of an old handoff, which the original drops.
    const from = expected.compress.summarised?.[0] ?? 0;
    const wanted = pruned.messages.slice(from, boundaries.tailStart);
    expect(window.turns.slice(-wanted.length)).toEqual(wanted);
  });

  it.each(of("compress"))("$id: $title: the whole call", async (vector) => {
    const messages = vector.messages.map(expandMessage) as readonly OpenAiMessage[];
    const before = structuredClone(messages);
    const expected = vector.expect.compress;
    const { abort_on_summary_failure: abortOnSummaryFailure, current_tokens: currentTokens = 1_000_000 } =
      vector.config;
    let body = vector.held_summary ?? "SUMMARY BODY";
    let asked = "";
    const compressor = new ContextCompressor({
      ...settingsOf(vector.config),
      abortOnSummaryFailure,
      summarizer: {
        complete: async ({ prompt }) => {
          asked = prompt;
          if (vector.summary_fails) throw new Error("the model is gone");
          return body;
        },
      },
    });
    if (vector.held_summary !== undefined) {
      await compressor.compress(messages); // of another session
      compressor.onSessionReset();
      body = "SUMMARY BODY";
    }
    const outcome = await compressor.compress(messages, { currentTokens });
    expect(messages).toEqual(before);
    const previous = expected.previous_summary ?? null;
    if (previous !== null) expect(asked).toContain(`PREVIOUS SUMMARY:\n${previous}\n`);
    else expect(asked).not.toContain("PREVIOUS SUMMARY");
    expect(compressor.compressionCount).toBe(expected.compression_count);
    expect(outcome.kind === "aborted").toBe(expected.aborted);
    expect(outcome.method === "local").toBe(expected.fallback_used);
    expect(outcome.leftOut[0]?.count ?? 0).toBe(expected.dropped_count);
    if (vector.differs === "user_anchor_may_not_block") {
      expect(outcome.messages.length).toBeLessThan(expected.out_len / 2);
      expect(outcome.messages).toContainEqual(messages[5]);
      return;
    }
    expect(outcome.messages).toHaveLength(expected.out_len);
    expect(roleLetters(outcome.messages)).toBe(expected.roles);
    if (expected.summary_index === undefined) {
      expect(outcome.messages).toBe(messages);
      return;
    }
    expect(outcome.summaryIndex).toBe(expected.summary_index);
    const handoff = outcome.messages[expected.summary_index];
    expect(handoff?.role).toBe(expected.summary_role);
    expect(outcome.messages.filter((message) => message._compressed_summary === true)).toEqual([handoff]);
    const text = String(handoff?.content);
    expect(text).toContain(
      vector.summary_fails ? "Summary generation was unavailable" : "\nSUMMARY BODY\n\n",
    );
    expect(JSON.stringify(outcome.messages[0]).includes(COMPACTION_NOTE)).toBe(
      expected.system_note_added ?? false,
    );
    for (const [index, source] of expected.source_indices.entries()) {
      const message = outcome.messages[index];
      const given = source === null ? undefined : messages[source];
      if (index === expected.summary_index) {
        expect(expected.merged_into_tail).toBe(given !== undefined);
        if (given) expect(text.endsWith(String(given.content ?? ""))).toBe(true);
      } else if (given && index > 0 && given.role !== "tool") expect(message).toEqual(given);
      else if (given?.role === "tool") expect(message?.tool_call_id).toBe(given.tool_call_id);
    }
  });
});

function settingsOf(config: Config): CompressorSettings {
  return {
    ...DEFAULT_SETTINGS,
    contextLength: config.context_length ?? 200_000,
    threshold: config.threshold ?? DEFAULT_SETTINGS.threshold,
    targetRatio: config.target_ratio ?? DEFAULT_SETTINGS.targetRatio,
    protectFirstN: config.protect_first_n ?? DEFAULT_SETTINGS.protectFirstN,
    protectLastN: config.protect_last_n ?? DEFAULT_SETTINGS.protectLastN,
  };
}

function changed(
  before: readonly Message[],
  after: readonly Message[],
  key: "content" | "toolCalls",
): [number, unknown][] {
  expect(after).toHaveLength(before.length);
  const fieldOf = (message: Message | undefined): unknown =>
    key === "content" ? message?.content : message && "toolCalls" in message && message.toolCalls;
  return after.flatMap((message, index): [number, unknown][] => {
    if (fieldOf(message) === fieldOf(before[index])) return [];
    return [[index, key === "content" ? renderContent(message.content) : fieldOf(message)]];
  });
}
