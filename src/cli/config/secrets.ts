// What is told of settings that hold secrets, which other programs that share the file have too.
import { redactSecrets } from "../../security/index.ts";

const HIDDEN = "[hidden]";

/** The value without secrets: those that their name gives away go whole, those inside of a text are cut out of it. */
export function presentable(path: readonly string[], value: unknown): unknown {
  if (value === undefined || value === null || value === "") return value;
  if (isSecret(path, value)) return HIDDEN;
  if (Array.isArray(value)) return value.map((item, index) => presentable([...path, String(index)], item));
  if (typeof value === "object")
    return Object.fromEntries(
      Object.entries(value).map(([name, held]) => [name, presentable([...path, name], held)]),
    );
  // Addresses and arguments can have a key in the middle.
  return typeof value === "string" ? redactSecrets(value) : value;
}

const SECRET_NAME = /(?:key|token|secret|password|passwd|passphrase|pwd|credentials?|authorization|cookie)$/i;

function isSecret(path: readonly string[], value: unknown): boolean {
  if (path.some((name) => SECRET_NAME.test(name)) && typeof value !== "boolean") return true;
  // The names in there are other programs' own, so every one counts; and so does what should have been a section of names.
  const isHandedOver = path[0] === "mcp_servers" && (path[2] === "env" || path[2] === "headers");
  return isHandedOver && (path.length > 3 || typeof value !== "object" || Array.isArray(value));
}
