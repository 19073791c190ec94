// Hides secrets in config values before they are printed, also in the settings of other programs that share the file.
import { redactSecrets } from "@hermes-memory/core/internal/security";

const HIDDEN = "[hidden]";

/** A value under a secret name is replaced as a whole; a secret inside a text is cut out of it. */
export function presentable(path: readonly string[], value: unknown): unknown {
  // A single argument may be the value of the flag before it, which this call does not see.
  const isArgument = path[0] === "mcp_servers" && path[2] === "args" && path.length === 4;
  return isArgument && !isFlag(value) ? HIDDEN : shown(path, value);
}

function shown(path: readonly string[], value: unknown): unknown {
  if (value === undefined || value === null || value === "") return value;
  if (isSecret(path, value)) return HIDDEN;
  if (Array.isArray(value)) return value.map((item, index) => shownItem(path, value, item, index));
  if (typeof value === "object")
    return Object.fromEntries(
      Object.entries(value).map(([name, held]) => [name, shown([...path, name], held)]),
    );
  // Addresses and arguments may contain a key.
  return typeof value === "string" ? withoutParameters(redactSecrets(value)) : value;
}

/** `--token` and its value may be two items of a list. */
function shownItem(path: readonly string[], list: readonly unknown[], item: unknown, index: number): unknown {
  const before = list[index - 1];
  const isFlagValue = typeof before === "string" && isSecretFlag(before) && !isFlag(item);
  return isFlagValue ? HIDDEN : shown([...path, String(index)], item);
}

function isFlag(item: unknown): boolean {
  return typeof item === "string" && /^--?[A-Za-z][\w-]*$/.test(item) && item.length < 24;
}

function isSecretFlag(item: string): boolean {
  return (
    (/^--?[A-Za-z]/.test(item) && isSecretName(item.replace(/^-+/, ""))) ||
    /^(?:-u|--user|-H|--header)$/.test(item)
  );
}

const PARAMETER =
  /([?&;#](?:[\w.-]*(?:key|token|secret|signature|credential|password|passwd|pwd)|sig|auth|pass|pw|code|jwt|sas|hmac)=)[^&;#\s"'<>]+/gi;

/** Parameters in the query string of an address whose names say that they grant access. */
function withoutParameters(text: string): string {
  return text.replace(PARAMETER, "$1***");
}

const SECRET_NAME =
  /(?:key|token|secret|password|passwd|passphrase|passcode|pwd|credential|authorization|cookie|passwort|kennwort|contrase(?:ñ|n)a|mot[-_ ]?de[-_ ]?passe|senha|密码|密碼|パスワード|пароль)s?$/iu;
/** Matches `SMTP_PASS`, `smtpPass` and `pass`, but not `bypass`. */
const PASS = /(?:^|[^A-Za-z])pass$/i;
const CAMEL_PASS = /[a-z0-9]Pass$/;

function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name) || PASS.test(name) || CAMEL_PASS.test(name);
}

function isSecret(path: readonly string[], value: unknown): boolean {
  if (path.some((name) => isSecretName(name) && !isAmount(name, value)) && typeof value !== "boolean")
    return true;
  // Names below `env` and `headers` are chosen by other programs, so every value there is hidden; also one where a section belongs.
  const isPassedOn = path[0] === "mcp_servers" && (path[2] === "env" || path[2] === "headers");
  return isPassedOn && (path.length > 3 || typeof value !== "object" || Array.isArray(value));
}

/** `max_output_tokens: 4096` is a number of tokens, not a secret. */
function isAmount(name: string, value: unknown): boolean {
  return (
    /tokens$/i.test(name) && (typeof value === "number" || /^[0-9][0-9_,.]{0,11}[kKmM]?$/.test(String(value)))
  );
}
