// Settings of the lossless engine.
import type { HermesConfig } from "../../config/index.ts";
import { withoutUndefined } from "../../lib/index.ts";

export type LcmSettings = {
  /** Share of the window at which compaction starts. */
  readonly threshold: number;
  /** Share of the threshold that the newest messages may take. */
  readonly freshTailRatio: number;
  /** Messages at the beginning that stay unchanged; a leading system message is not counted. */
  readonly protectFirstN: number;
  readonly protectLastN: number;
  /** Most tokens of messages that one leaf covers. */
  readonly leafTokens: number;
  /** Length of a summary. */
  readonly leafSummaryTokens: number;
  /** This many neighbours get a common summary above them. */
  readonly fanout: number;
  readonly maxDepth: number;
};

export const DEFAULT_LCM_SETTINGS: LcmSettings = Object.freeze({
  threshold: 0.5,
  freshTailRatio: 0.2,
  protectFirstN: 3,
  protectLastN: 20,
  leafTokens: 6_000,
  leafSummaryTokens: 600,
  fanout: 6,
  maxDepth: 8,
});

/** Smaller values would give more summaries than messages. */
const LEAST = { leafTokens: 200, leafSummaryTokens: 50, fanout: 2 };

/** For a server that counts `factor` tokens for each token we estimate. */
export function settingsInEstimates(settings: LcmSettings, factor: number): LcmSettings {
  const { leafTokens, leafSummaryTokens } = settings;
  return {
    ...settings,
    leafTokens: Math.max(LEAST.leafTokens, Math.trunc(leafTokens / factor)),
    leafSummaryTokens: Math.max(LEAST.leafSummaryTokens, Math.trunc(leafSummaryTokens / factor)),
  };
}

export function lcmSettings(given: Partial<LcmSettings>): LcmSettings {
  const settings = { ...DEFAULT_LCM_SETTINGS, ...withoutUndefined(given) };
  const fanout = Math.max(LEAST.fanout, settings.fanout);
  return { ...settingsInEstimates(settings, 1), fanout };
}

/** The settings of config.yaml. */
export function losslessSettings({
  compression,
  context,
}: Pick<HermesConfig, "compression" | "context">): Omit<LcmSettings, "protectFirstN" | "protectLastN"> {
  const { freshTailRatio = compression.targetRatio, ...rest } = context.lcm;
  return { threshold: compression.threshold, freshTailRatio, ...rest };
}
