// Settings of the tool, from two sections of config.yaml.
import type { HermesConfig, SummarizeMode } from "../../config/index.ts";

/** Limits of the tool `session_search`. */
export type SessionSearchSettings = {
  readonly summarize: SummarizeMode;
  /** Limit for all summaries of one call together. */
  readonly summaryTimeoutSeconds: number;
  /** Limit for one model request. */
  readonly modelTimeoutSeconds: number;
  readonly maxConcurrency: number;
  readonly crossProfile: boolean;
  /** 0: single messages are not cut. */
  readonly maxMessageChars: number;
  readonly maxResultChars: number;
};

/** Sessions in one answer, unless the call says otherwise. The tool's schema names both. */
export const DEFAULT_RESULTS = 3;
export const MAX_RESULTS = 10;

export const DEFAULT_SESSION_SEARCH_SETTINGS: SessionSearchSettings = Object.freeze({
  summarize: "off",
  summaryTimeoutSeconds: 90,
  modelTimeoutSeconds: 30,
  maxConcurrency: 3,
  crossProfile: true,
  maxMessageChars: 0,
  maxResultChars: 60_000,
});

/** Reads the limits of `session_search` from config. */
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
