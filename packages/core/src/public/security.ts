// Keeps dangerous text out of prompts, and secrets out of memory and logs.
export {
  fenceUntrusted,
  type GateFinding,
  type GateOptions,
  gateMessage,
  redactSecrets,
  sanitizeContext,
  scanThreats,
  secondGate,
  THREAT_IDS,
  type ThreatFinding,
  type ThreatScope,
} from "../security/index.ts";
