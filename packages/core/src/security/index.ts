// What keeps dangerous text out of prompts and secrets out of memory and logs.
export { sanitizeContext } from "./recall-fence.ts";
export { createRedactor, redactSecrets } from "./redaction.ts";
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
export {
  isThreatId,
  scanThreats,
  THREAT_IDS,
  type ThreatFinding,
  type ThreatScope,
  threatMessage,
} from "./threats/scan.ts";
export { fenceUntrusted, untrustedSourceOf } from "./untrusted.ts";
