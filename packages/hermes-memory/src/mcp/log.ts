// The server's log: a file in the home. stdout belongs to the protocol, and looking at a home must not make one.
import { existsSync } from "node:fs";
import { logPath } from "@hermes-memory/core/home";
import { createLogger, type Logger } from "@hermes-memory/core/lib/logger";
import { redactSecrets } from "@hermes-memory/core/security";

export type Log = Pick<Logger, "info" | "warn" | "error">;

export function openLog(home: string): Log {
  const logger = createLogger({ path: logPath(home), redact: redactSecrets });
  const whenThere =
    (level: "info" | "warn" | "error"): Log["info"] =>
    (message, fields) => {
      if (existsSync(home)) logger[level](message, fields);
    };
  return { info: whenThere("info"), warn: whenThere("warn"), error: whenThere("error") };
}
