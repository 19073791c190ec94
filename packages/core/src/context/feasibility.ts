// Whether the models at hand can do what is asked of them. Nothing here ends a session that runs: the summary model gives way
// to the main one, or compaction starts earlier.
import { groupThousands } from "../lib/index.ts";
import type { Notice } from "./outcome.ts";

export type SummaryQuestion = {
  readonly mainModel: string;
  readonly mainWindow: number;
  readonly thresholdTokens: number;
  /** Undefined: nobody to write summaries. */
  readonly summary?: { readonly model: string; readonly window: number } | undefined;
};

export type SummaryFeasibility =
  | { readonly kind: "fine" }
  | { readonly kind: "no_model"; readonly notice: Notice }
  /** The summary model takes too little; the main model writes the summaries. */
  | { readonly kind: "use_main"; readonly notice: Notice }
  /** Compaction has to start when the turns still fit the summary model. */
  | {
      readonly kind: "lower_threshold";
      readonly thresholdTokens: number;
      /** Share of the main window. */
      readonly threshold: number;
      readonly notice: Notice;
    };

/** A model with less than this writes poor summaries of long work. */
const LEAST_SUMMARY_WINDOW = 64_000;
const CAUSE = "summary-model-window";

/** Asked once, before the first compaction. */
export function summaryFeasibility(question: SummaryQuestion): SummaryFeasibility {
  const { mainModel, mainWindow, thresholdTokens, summary } = question;
  if (summary === undefined) {
    const text =
      "No model is configured for summaries. Long conversations are compacted without one, which keeps less. " +
      "Set auxiliary.compression.model, or model.default.";
    return { kind: "no_model", notice: { cause: "no-summary-model", text } };
  }
  const { model, window } = summary;
  if (window >= thresholdTokens) return { kind: "fine" };
  const sizes = `takes ${groupThousands(window)} tokens, and compaction starts at ${groupThousands(thresholdTokens)}`;
  if (window < LEAST_SUMMARY_WINDOW && window < mainWindow) {
    const text =
      `The summary model '${model}' ${sizes}; it needs at least ${groupThousands(LEAST_SUMMARY_WINDOW)}. ` +
      `'${mainModel}' writes the summaries instead. Set auxiliary.compression.model to a model that takes more.`;
    return { kind: "use_main", notice: { cause: CAUSE, text } };
  }
  const text =
    `The summary model '${model}' ${sizes}: auto-lowered compression threshold to ${groupThousands(window)}. ` +
    "Set auxiliary.compression.model to a model that takes more, or compression.threshold to a smaller share.";
  const threshold = mainWindow > 0 ? window / mainWindow : 0;
  return { kind: "lower_threshold", thresholdTokens: window, threshold, notice: { cause: CAUSE, text } };
}

export type WindowFit =
  | { readonly kind: "fits"; readonly notice?: Notice }
  | { readonly kind: "too_small"; readonly message: string };

/** Below this an agent has little room left beside its prompt and its tools. */
const COMFORTABLE_WINDOW = 64_000;
/** What a first exchange needs. */
const LEAST_ROOM = 4_000;

/** A small window works; one that cannot even hold the prompt does not. */
export function windowFit(
  model: string,
  window: number,
  { promptTokens, toolTokens }: { readonly promptTokens: number; readonly toolTokens: number },
): WindowFit {
  const needed = promptTokens + toolTokens + LEAST_ROOM;
  const size = `'${model}' takes ${groupThousands(window)} tokens`;
  if (window < needed) {
    const message =
      `${size}, but the system prompt, the tools and a first exchange need ${groupThousands(needed)}. ` +
      "Use a model that takes more, serve it with a larger window, or switch toolsets off. " +
      "If the figure is wrong, set model.context_length.";
    return { kind: "too_small", message };
  }
  if (window >= COMFORTABLE_WINDOW) return { kind: "fits" };
  const text = `${size}, so the conversation will be compacted often. From ${groupThousands(COMFORTABLE_WINDOW)} on there is room to work.`;
  return { kind: "fits", notice: { cause: "small-window", text } };
}
