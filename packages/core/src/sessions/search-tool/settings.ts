// The settings of the tool, gathered from two sections of config.yaml.
import type { HermesConfig, SummarizeMode } from "../../config/index.ts";

export type SessionSearchSettings = {
  readonly summarize: SummarizeMode;
  /** For all summaries of one call together. */
  readonly summaryTimeoutSeconds: number;
  /** For one call of the model. */
  readonly modelTimeoutSeconds: number;
  readonly maxConcurrency: number;
  readonly crossProfile: boolean;
  /** 0: messages are not cut one by one. */
  readonly maxMessageChars: number;
  readonly maxResultChars: number;
};

export const DEFAULT_SESSION_SEARCH_SETTINGS: SessionSearchSettings = Object.freeze({
  summarize: "off",
  summaryTimeoutSeconds: 90,
  modelTimeoutSeconds: 30,
  maxConcurrency: 3,
  crossProfile: true,
  maxMessageChars: 0,
  maxResultChars: 60_000,
});

export function sessionSearchSettings(
  config: Pick<HermesConfig, "sessionSearch" | "auxiliary">,
): SessionSearchSettings {
  const { summarize, summaryTimeout, crossProfile, maxMessageChars, maxResultChars } = config.sessionSearch;
  const { timeout, maxConcurrency } = config.auxiliary.sessionSearch;
  return {
    summarize,
    summaryTimeoutSeconds: summaryTimeout,
    modelTimeoutSeconds: timeout,
    maxConcurrency,
    crossProfile,
    maxMessageChars,
    maxResultChars,
  };
}
