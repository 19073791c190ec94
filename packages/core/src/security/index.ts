// Keeps dangerous text out of prompts, and secrets out of memory and logs.
export { asksForClientSummary, isClientSummary, strippedUserText, summaryBodies } from "./client-text.ts";
export {
  defused,
  defusedResult,
  fenceUntrusted,
  RECALL_TAG,
  RECALL_TAGS,
  sanitizeContext,
  untrustedSourceOf,
  writeFence,
} from "./fences.ts";
export { createRedactor, masked, redactSecrets } from "./redaction.ts";
export {
  areSecretIds,
  disguisedThreats,
  findingIds,
  type GateFinding,
  type GateOptions,
  gateMessage,
  isFindingId,
  maskStoredSecrets,
  SECRET_THREAT_IDS,
  secondGate,
  withoutSecretsOf,
} from "./second-gate.ts";
export { hideSettings, isFlag, isSecretName, withoutParameters } from "./settings.ts";
export type { ThreatScope } from "./threats/patterns.ts";
export {
  isThreatId,
  scanThreats,
  THREAT_IDS,
  type ThreatFinding,
  threatMessage,
} from "./threats/threat-scan.ts";
