// Settings of the built-in engines as config.yaml has them.
import type { HermesConfig } from "../config/index.ts";
import type { CompressorSettings } from "./trigger.ts";

export type LosslessSettings = {
  readonly threshold: number;
  readonly freshTailRatio: number;
  readonly leafTokens: number;
  readonly leafSummaryTokens: number;
  readonly fanout: number;
  readonly maxDepth: number;
};

export function compressorSettings(
  { compression }: Pick<HermesConfig, "compression">,
  contextLength: number,
): CompressorSettings {
  const { threshold, targetRatio, protectFirstN, protectLastN, abortOnSummaryFailure } = compression;
  return { contextLength, threshold, targetRatio, protectFirstN, protectLastN, abortOnSummaryFailure };
}

export function losslessSettings({
  compression,
  context,
}: Pick<HermesConfig, "compression" | "context">): LosslessSettings {
  const { freshTailRatio = compression.targetRatio, ...rest } = context.lcm;
  return { threshold: compression.threshold, freshTailRatio, ...rest };
}
