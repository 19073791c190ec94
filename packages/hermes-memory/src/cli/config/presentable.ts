// Hides secrets in config values before they are printed, also in the settings of other programs that share the file.
import { hideSettings, isFlag } from "@hermes-memory/core/internal/security";

/** A value under a secret name is replaced as a whole; a secret inside a text is cut out of it. */
export function presentable(path: readonly string[], value: unknown): unknown {
  const [section, , field] = path;
  // A single argument may be the value of the flag before it, which this call does not see.
  const isArgument = section === "mcp_servers" && field === "args" && path.length === 4;
  return isArgument && !isFlag(value) ? "[hidden]" : hideSettings(path, value, { isFreelyNamed });
}

function isFreelyNamed([section, , field, ...rest]: readonly string[]): boolean {
  return section === "mcp_servers" && (field === "env" || field === "headers") && rest.length === 0;
}
