// The context engine of a session, with the model's window and somebody to write summaries.
import type { HermesConfig } from "@hermes-memory/core/config";
import {
  ContextCompressor,
  compressorSettings,
  LosslessEngine,
  losslessSettings,
  type SelectedEngine,
  selectEngine,
  summaryFeasibility,
} from "@hermes-memory/core/context";
import type { TextModel } from "@hermes-memory/core/lib";
import type { Logger } from "@hermes-memory/core/lib/logger";
import type { MemoryUser } from "@hermes-memory/core/memory";
import { type SessionStore, scopeOfUser } from "@hermes-memory/core/sessions";
import { type ContextWindow, type MainModel, resolveContextWindow } from "../../models/index.ts";
import { RESERVED_COMMANDS } from "../commands/index.ts";
import type { Auxiliaries } from "./auxiliaries.ts";

export type OpenedEngine = SelectedEngine & { readonly window: ContextWindow };

export type EngineInput = {
  readonly home: string;
  readonly config: HermesConfig;
  readonly main: MainModel;
  readonly auxiliaries: Auxiliaries;
  readonly store: SessionStore | undefined;
  readonly sessionId: string;
  readonly user: MemoryUser | undefined;
  /** Of the conversation's model of the moment. */
  readonly tokenFactor: () => number;
  readonly log: Logger;
  readonly warn: (text: string) => void;
};

export async function openEngine(input: EngineInput): Promise<OpenedEngine> {
  const { home, config, main, store, sessionId, user, tokenFactor, log } = input;
  const { model, provider, baseUrl } = main.model.identity;
  const window = await resolveContextWindow(
    { model, provider, baseUrl, apiKey: main.chosen?.apiKey ?? "" },
    { home, config },
  );
  const summaries = await summaryModels(input, window);
  const compressor = (): ContextCompressor =>
    new ContextCompressor({
      ...compressorSettings(config, window.tokens),
      ...summaries,
      tokenFactor,
      ...(config.timezone === "" ? {} : { timeZone: config.timezone }),
    });
  const selected = await selectEngine(config, {
    home,
    window: { model, contextLength: window.tokens, provider, baseUrl },
    builtIn: {
      compressor,
      lcm:
        store === undefined
          ? undefined
          : () =>
              new LosslessEngine({
                ...losslessSettings(config),
                ...summaries,
                tokenFactor,
                contextLength: window.tokens,
                store,
                sessionId,
                ...scopeOfUser(user),
              }),
    },
    summarizer: summaries.summarizer,
    reservedCommands: RESERVED_COMMANDS,
    onStray: (cause) => log.warn("The context engine left work behind that failed", { cause }),
  });
  if (selected.warning !== undefined) input.warn(selected.warning);
  for (const remark of selected.remarks) log.warn(remark);
  return { ...selected, window };
}

type SummaryModels = {
  readonly summarizer: TextModel;
  readonly fallbackSummarizer?: TextModel;
  readonly summaryContextLength: number;
  readonly summaryTokenFactor?: () => number;
  readonly summaryTimeoutMs: number;
};

/** A summary model that takes too little gives way to the main one. */
async function summaryModels(
  { home, config, main, auxiliaries, warn }: EngineInput,
  window: ContextWindow,
): Promise<SummaryModels> {
  const summaryTimeoutMs = config.auxiliary.compression.timeout * 1000;
  const own = { summarizer: auxiliaries.main, summaryContextLength: window.tokens, summaryTimeoutMs };
  const { compression } = auxiliaries;
  if (compression === undefined) return own;
  const { model, provider, baseUrl } = compression.identity;
  const configured = config.auxiliary.compression.contextLength;
  const tokens =
    configured ??
    (await resolveContextWindow({ model, provider, baseUrl, apiKey: compression.apiKey }, { home, config }))
      .tokens;
  const thresholdTokens = Math.trunc(window.tokens * config.compression.threshold);
  const fit = summaryFeasibility({
    mainModel: main.model.identity.model,
    mainWindow: window.tokens,
    thresholdTokens,
    summary: { model, window: tokens },
  });
  // Starting earlier for the sake of a small summary model would cost every conversation room; the main model has it already.
  if (fit.kind !== "fine") {
    warn(
      `The summary model '${model}' takes less than a conversation may hold before it is compacted, so '${main.model.identity.model}' writes the summaries. Set auxiliary.compression.model to one that takes more.`,
    );
    return own;
  }
  return {
    summarizer: compression.text,
    fallbackSummarizer: auxiliaries.main,
    summaryContextLength: tokens,
    summaryTokenFactor: () => compression.calibration.factor,
    summaryTimeoutMs,
  };
}
