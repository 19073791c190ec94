// Models for work beside the conversation: summaries, titles, recaps of searches. Where config names none, or one that cannot be
// used, the model of the conversation does the work.
import { summaryFeasibility } from "@hermes-memory/core/internal/context";
import type { TextModel } from "@hermes-memory/core/internal/lib";
import {
  type AuxiliaryTask,
  auxiliaryModel,
  type MainModel,
  resolveContextWindow,
  TokenCalibration,
  toTextModel,
} from "../../models/index.ts";
import { type ModelInUse, observedBy } from "../model-in-use.ts";
import type { AgentParts } from "../parts.ts";

export type SideModels = {
  readonly title: TextModel;
  readonly sessionSearch: TextModel;
  readonly summaries: SummaryModels;
};

/** As both built-in context engines take them. */
export type SummaryModels = {
  readonly summarizer: TextModel;
  readonly fallbackSummarizer?: TextModel;
  readonly summaryContextLength: number;
  readonly summaryTokenFactor?: () => number;
  readonly summaryTimeoutMs: number;
};

type SideModelInput = Pick<AgentParts, "home" | "config" | "env" | "log" | "warn">;

const TITLE_TEMPERATURE = 0.3;
/** Summaries and recaps repeat facts. */
const RECAP_TEMPERATURE = 0.1;

export async function openSideModels(model: ModelInUse, input: SideModelInput): Promise<SideModels> {
  const { titleGeneration, sessionSearch, compression } = input.config.auxiliary;
  const title = await configured(model, "title_generation", titleGeneration, input);
  const search = await configured(model, "session_search", sessionSearch, input);
  const summaries = await configured(model, "compression", compression, input);
  return {
    title:
      title === undefined
        ? model.asTextModel(TITLE_TEMPERATURE)
        : toTextModel(title.model, { temperature: TITLE_TEMPERATURE }),
    sessionSearch:
      search === undefined
        ? model.asTextModel(RECAP_TEMPERATURE)
        : toTextModel(search.model, { temperature: RECAP_TEMPERATURE }),
    summaries: await summaryModels(model, summaries, input),
  };
}

/** Undefined for the model of the conversation, also when the configured one cannot be used: that is a warning. */
async function configured(
  { main }: ModelInUse,
  name: string,
  task: AuxiliaryTask,
  { config, env, log, warn }: SideModelInput,
): Promise<MainModel | undefined> {
  const found = await auxiliaryModel(task, main, { config, env, log });
  if (found.ok) return found.value.model === main.model ? undefined : found.value;
  warn(`auxiliary.${name} is not used: ${found.error.message} The conversation's model does the work.`);
  return undefined;
}

/** A summary model with a window smaller than a conversation may be is not used. */
async function summaryModels(
  main: ModelInUse,
  separate: MainModel | undefined,
  { home, config, warn }: SideModelInput,
): Promise<SummaryModels> {
  const summaryTimeoutMs = config.auxiliary.compression.timeout * 1000;
  const mainWindow = main.window.tokens;
  const own = {
    summarizer: main.asTextModel(RECAP_TEMPERATURE),
    summaryContextLength: mainWindow,
    summaryTimeoutMs,
  };
  if (separate === undefined) return own;
  const { model, provider, baseUrl } = separate.model.identity;
  const apiKey = separate.chosen?.apiKey ?? "";
  const window =
    config.auxiliary.compression.contextLength ??
    (await resolveContextWindow({ model, provider, baseUrl, apiKey }, { home, config })).tokens;
  const mainModel = main.identity.model;
  const fit = summaryFeasibility({
    mainModel,
    mainWindow,
    thresholdTokens: Math.trunc(mainWindow * config.compression.threshold),
    summary: { model, window },
  });
  // Compacting earlier for the sake of a small summary model would cost every conversation room; the main model has it already.
  if (fit.kind !== "fine") {
    warn(
      `The summary model '${model}' takes less than a conversation may hold before it is compacted, so '${mainModel}' writes the summaries. Set auxiliary.compression.model to one that takes more.`,
    );
    return own;
  }
  const calibration = TokenCalibration.open(home, separate.model.identity);
  return {
    summarizer: toTextModel(separate.model, { temperature: RECAP_TEMPERATURE, ...observedBy(calibration) }),
    fallbackSummarizer: own.summarizer,
    summaryContextLength: window,
    summaryTokenFactor: () => calibration.factor,
    summaryTimeoutMs,
  };
}
