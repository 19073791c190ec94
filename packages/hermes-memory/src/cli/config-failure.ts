// A config.yaml that cannot be used ends the command.
import type { ConfigError } from "@hermes-memory/core/config";
import { CommandFailure } from "./command.ts";

export function failConfig(error: ConfigError): never {
  throw new CommandFailure(error.message, {
    hint: `The file is ${error.path}; 'hermes config check' lists everything that is wrong with it.`,
    details: { kind: error.kind, issues: error.issues },
  });
}
