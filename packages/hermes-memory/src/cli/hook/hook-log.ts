// The log of the home for hooks and their worker, with secrets masked. Loaded when there is something to write.
import { existsSync } from "node:fs";
import { logPath } from "@hermes-memory/core/internal/home";
import { createLogger, type Logger } from "@hermes-memory/core/internal/logger";
import { redactSecrets } from "@hermes-memory/core/internal/security";

/** Undefined when there is no home: a log must not create one. */
export function openHookLog(home: string): Logger | undefined {
  return existsSync(home) ? createLogger({ path: logPath(home), redact: redactSecrets }) : undefined;
}
