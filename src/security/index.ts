// What keeps dangerous text out of prompts and secrets out of logs.
export { sanitizeContext } from "./recall-fence.ts";
export { createRedactor, redactSecrets } from "./redaction.ts";
export {
  isThreatId,
  scanThreats,
  THREAT_IDS,
  type ThreatFinding,
  type ThreatScanOptions,
  type ThreatScope,
  threatMessage,
} from "./threats/scan.ts";
export { fenceUntrusted } from "./untrusted.ts";
