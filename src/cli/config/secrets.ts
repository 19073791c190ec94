// What is told of settings that hold secrets, which other programs that share the file have too.
import { redactSecrets } from "../../security/index.ts";

const HIDDEN = "[hidden]";

/** Of a value that nobody asked for by its name: no secrets in it. */
export function presentable(path: readonly string[], value: unknown): unknown {
  if (value === undefined || value === null || value === "") return value;
  if (isSecret(path, value)) return HIDDEN;
  if (Array.isArray(value)) return value.map((item, index) => presentable([...path, String(index)], item));
  if (typeof value === "object")
    return Object.fromEntries(
      Object.entries(value).map(([name, held]) => [name, presentable([...path, name], held)]),
    );
  // Addresses and arguments of servers can have a key in the middle.
  return typeof value === "string" && path[0] === "mcp_servers" ? redactSecrets(value) : value;
}

/** Of a value somebody asked for by its name: a key that was asked for is told, one that is part of more is not. What an MCP
 * server is handed is never told. */
export function askedFor(path: readonly string[], value: unknown): unknown {
  const isWhole = typeof value === "object" && value !== null;
  return isWhole || path[0] === "mcp_servers" ? presentable(path, value) : value;
}

function isSecret(path: readonly string[], value: unknown): boolean {
  if (/(key|token|secret|password)$/i.test(path.at(-1) ?? "")) return true;
  // The names in there are other programs' own, so every one counts; and so does what should have been a section of names.
  const isHandedOver = path[0] === "mcp_servers" && (path[2] === "env" || path[2] === "headers");
  return isHandedOver && (path.length > 3 || typeof value !== "object" || Array.isArray(value));
}
