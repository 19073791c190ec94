// Hides secrets in settings: by the name of a value, by the flag before an argument, in a query string, and by the formats of
// credentials.
import { isRecord } from "../lib/index.ts";
import { redactSecrets } from "./redaction.ts";

/** What differs between the settings of one program and of another. */
export type SettingsRules = {
  /** True for the path of a map whose names are free, such as an environment or headers: every value in it is hidden. */
  readonly isFreelyNamed: (path: readonly string[]) => boolean;
  /** What is shown instead of a value; `[hidden]` by default. */
  readonly hide?: (value: unknown, path: readonly string[]) => unknown;
  /** For texts that are shown; `redactSecrets` by default. */
  readonly redact?: (text: string) => string;
};

/** A copy of the value at this path, without secrets. */
export function hideSettings(path: readonly string[], value: unknown, rules: SettingsRules): unknown {
  if (value === undefined || value === null || value === "") return value;
  const { hide = () => "[hidden]", redact = redactSecrets } = rules;
  if (isHidden(path, value, rules)) return hide(value, path);
  if (Array.isArray(value)) {
    return value.map((item, index) => {
      const at = [...path, String(index)];
      const before: unknown = value[index - 1];
      if (typeof before === "string" && isSecretFlag(before) && !isFlag(item)) return hide(item, at);
      const [, flag = "", given] =
        (typeof item === "string" && /^(--?[A-Za-z][\w-]*)=(.+)$/s.exec(item)) || [];
      return isSecretFlag(flag) ? `${flag}=${String(hide(given, at))}` : hideSettings(at, item, rules);
    });
  }
  if (isRecord(value))
    return Object.fromEntries(
      Object.entries(value).map(([name, held]) => [redact(name), hideSettings([...path, name], held, rules)]),
    );
  // Addresses and arguments may contain a key.
  return typeof value === "string" ? withoutParameters(redact(value)) : value;
}

function isHidden(path: readonly string[], value: unknown, { isFreelyNamed }: SettingsRules): boolean {
  if (path.some((name) => isSecretName(name) && !isAmount(name, value)) && typeof value !== "boolean")
    return true;
  if (isFreelyNamed(path)) return !isRecord(value); // something else where a map belongs
  return path.some((_, depth) => isFreelyNamed(path.slice(0, depth)));
}

/** An argument such as `--token`, whose value may be the next item of the list. */
export function isFlag(item: unknown): boolean {
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

/** Without the parameters of addresses whose names say that they grant access. */
export function withoutParameters(text: string): string {
  return text.replace(PARAMETER, "$1***");
}

const SECRET_NAME =
  /(?:key|token|secret|password|passwd|passphrase|passcode|pwd|credential|authorization|cookie|passwort|kennwort|contrase(?:ñ|n)a|mot[-_ ]?de[-_ ]?passe|senha|密码|密碼|パスワード|пароль)s?$/iu;
/** Matches `SMTP_PASS`, `smtpPass`, `pass` and `GITHUB_PAT`, but not `bypass` and `compat`. */
const SHORT_NAME = /(?:^|[^A-Za-z])pa(?:ss|t)$/i;
const CAMEL_NAME = /[a-z0-9]Pa(?:ss|t)$/;

/** True for the name of a setting or variable whose value is a secret. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name) || SHORT_NAME.test(name) || CAMEL_NAME.test(name);
}

/** `max_output_tokens: 4096` is a number of tokens, not a secret. */
function isAmount(name: string, value: unknown): boolean {
  return (
    /tokens$/i.test(name) && (typeof value === "number" || /^[0-9][0-9_,.]{0,11}[kKmM]?$/.test(String(value)))
  );
}
