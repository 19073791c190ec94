// Credentials in the OpenClaw folder: which of them Hermes can use, and how to keep all of them out of reports and archives.
import {
  createRedactor,
  hideSettings,
  isSecretName,
  withoutParameters,
} from "@hermes-memory/core/internal/security";
import { type Json, recordOf, textOf } from "../transcripts/kit/values.ts";
import type { OpenClawSource } from "./discover.ts";

/** The only variables that are ever written to `.env`. */
const PROVIDER_KEYS = [
  "OPENROUTER_API_KEY",
  "OPENAI_API_KEY",
  "ANTHROPIC_API_KEY",
  "ELEVENLABS_API_KEY",
  "TELEGRAM_BOT_TOKEN",
  "DEEPSEEK_API_KEY",
  "GEMINI_API_KEY",
  "ZAI_API_KEY",
  "MINIMAX_API_KEY",
] as const;
export const ENV_ALLOWLIST: readonly string[] = [...PROVIDER_KEYS, "VOICE_TOOLS_OPENAI_KEY"].sort();

export type FoundKeys = {
  readonly values: ReadonlyMap<string, string>;
  /** Keys of servers in `models.providers`, by the server's name. They go into `custom_providers` with its address. */
  readonly servers?: ReadonlyMap<string, string>;
  /** Keys that are kept elsewhere, by the name of the provider, with the reason. Never a value. */
  readonly unresolved: readonly { readonly name: string; readonly reason: string }[];
};

type Resolved = { readonly value: string } | { readonly reason: string } | undefined;

/** `channels.telegram.botToken`: a plain text only. */
export function telegramToken({ config }: OpenClawSource): FoundKeys {
  const telegram = recordOf(recordOf(config.channels)?.telegram);
  const account = recordOf(recordOf(telegram?.accounts)?.default);
  const token = textOf(telegram?.botToken) ?? textOf(account?.botToken);
  const isUsable = token !== undefined && !/^\$\{/.test(token);
  return { values: new Map(isUsable ? [["TELEGRAM_BOT_TOKEN", token]] : []), unresolved: [] };
}

const SPEECH_KEYS = { elevenlabs: "ELEVENLABS_API_KEY", openai: "VOICE_TOOLS_OPENAI_KEY" };

/** Keys of model providers. The first place that has a variable wins. */
export function providerKeys({ config, profiles, env }: OpenClawSource): FoundKeys {
  const values = new Map<string, string>();
  const servers = new Map<string, string>();
  const unresolved: { name: string; reason: string }[] = [];
  const variables = new Map([...configEnv(config), ...env]);
  const resolve = (name: string, given: unknown): string | undefined => {
    const found = resolvedSecret(given, variables);
    if (found !== undefined && "reason" in found) unresolved.push({ name, reason: found.reason });
    return found !== undefined && "value" in found ? found.value : undefined;
  };
  const add = (variable: string | undefined, value: string | undefined): void => {
    if (variable !== undefined && value && !values.has(variable)) values.set(variable, value);
  };
  for (const [name, entry] of Object.entries(recordOf(recordOf(config.models)?.providers) ?? {})) {
    const provider = recordOf(entry);
    const profile = profiles.find(([, each]) => each.provider === name && keyOf(each) !== undefined)?.[1];
    const value = resolve(name, provider?.apiKey ?? (profile && keyOf(profile)));
    if (value !== undefined) servers.set(name, value);
    const variable = provider && variableOfProvider(name, provider);
    if (variable !== undefined && value) values.set(variable, value);
  }
  const tts = recordOf(recordOf(config.messages)?.tts);
  for (const [name, variable] of Object.entries(SPEECH_KEYS))
    add(variable, resolve(`tts.${name}`, recordOf(tts?.[name])?.apiKey));
  for (const [name, value] of env) if (isProviderKey(name)) add(name, value);
  for (const [name, value] of configEnv(config))
    if (isProviderKey(name) && !/^\$\{/.test(value)) add(name, value);
  for (const [name, profile] of profiles) {
    const variable = variableOfProfile(name.toLowerCase());
    if (variable !== undefined) add(variable, resolve(name, keyOf(profile)));
  }
  return { values, servers, unresolved };
}

/** Servers that Hermes knows itself. */
const KNOWN_SERVERS = ["openrouter", "openai", "anthropic", "deepseek", "google", "groq"];

export function isKnownServer(name: string): boolean {
  return KNOWN_SERVERS.includes(name.toLowerCase());
}

function variableOfProvider(name: string, { baseUrl, api }: Json): string | undefined {
  const host = /^https?:\/\/([^/:]+)/i.exec(textOf(baseUrl) ?? "")?.[1]?.toLowerCase() ?? "";
  if (/(?:^|\.)openrouter\.ai$/.test(host)) return "OPENROUTER_API_KEY";
  if (/(?:^|\.)openai\.com$/.test(host)) return "OPENAI_API_KEY";
  if (/(?:^|\.)anthropic\.com$/.test(host)) return "ANTHROPIC_API_KEY";
  // The key of an own server stays with its address: a vendor must not get it.
  if (host !== "" && !isKnownServer(name)) return undefined;
  if (api === "anthropic-messages") return "ANTHROPIC_API_KEY";
  if (name.toLowerCase() === "openrouter") return "OPENROUTER_API_KEY";
  return name.toLowerCase().includes("openai") ? "OPENAI_API_KEY" : undefined;
}

/** The variables of `env` and of `env.vars`; the former win. */
function configEnv(config: Json): Map<string, string> {
  const env = recordOf(config.env) ?? {};
  const texts = (record: Json): [string, string][] =>
    Object.entries(record).flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : []));
  return new Map([...texts(recordOf(env.vars) ?? {}), ...texts(env)]);
}

function keyOf({ key, keyRef, apiKey }: Json): unknown {
  return key ?? keyRef ?? apiKey;
}

function variableOfProfile(name: string): string | undefined {
  const vendor = name.replace(/^google\b/, "gemini");
  return PROVIDER_KEYS.find((key) => vendor.includes(key.slice(0, key.indexOf("_")).toLowerCase()));
}

function resolvedSecret(value: unknown, variables: ReadonlyMap<string, string>): Resolved {
  const variable = (name: string): Resolved => {
    const found = variables.get(name);
    return found
      ? { value: found }
      : { reason: `its variable ${name} is not set in OpenClaw's .env or config` };
  };
  if (typeof value === "string") {
    const reference = /^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$/.exec(value.trim())?.[1];
    if (reference !== undefined) return variable(reference);
    // OpenClaw also writes the bare name of a variable.
    return value.trim() === "" ? undefined : { value: variables.get(value.trim()) || value };
  }
  const reference = recordOf(value);
  if (reference === undefined) return undefined;
  const id = textOf(reference.id);
  if (reference.source === "env" && id !== undefined) return variable(id);
  const kind = ["file", "exec", "store"].find((each) => each === reference.source) ?? "unknown";
  return { reason: `its key comes from a source of kind '${kind}', which is not read` };
}

function isProviderKey(name: string): boolean {
  return PROVIDER_KEYS.some((key) => key === name);
}

// ---- Keeping secrets out of what is written and printed ----

const REDACTED = "[redacted]";
/** Everything below these names is hidden: names in it are free, or all of it is secret. */
const SECRET_SECTION =
  /^(?:auth|env|environment|headers|vars)$|accesstoken|apikey|authorization|bearertoken|clientsecret|cookie|credential|passphrase|passwd|password|privatekey|refreshtoken|secret/;
const VARIABLES = /^(?:env|environment|vars)$/i;

export type Redactor = ReturnType<typeof redactorFor>;

/** Replaces credentials in texts and in JSON. */
export function redactorFor(source: OpenClawSource) {
  const known = knownSecrets(source);
  const redact = createRedactor(known);
  return {
    /** The same text where there is none. */
    text: (given: string): string => withoutParameters(redact(given)),
    /** A copy of settings in which the values of secret names are replaced too. */
    json: (value: unknown): unknown =>
      hideSettings([], value, { isFreelyNamed, redact, hide: () => REDACTED }),
    /** True when the text holds a value that OpenClaw keeps as a secret. */
    holdsKnownSecret: (given: string): boolean => known.some((secret) => given.includes(secret)),
  };
}

function isFreelyNamed(path: readonly string[]): boolean {
  return SECRET_SECTION.test((path.at(-1) ?? "").toLowerCase().replace(/[^a-z0-9]/g, ""));
}

/** Values that OpenClaw keeps under a secret name, in `.env`, the config and the profiles of its agents. */
function knownSecrets({ env, config, profiles }: OpenClawSource): string[] {
  const found = new Set<string>();
  const add = (value: unknown): void => {
    if (typeof value === "string" && looksSecret(value)) found.add(value);
    else if (typeof value === "object" && value !== null) for (const each of Object.values(value)) add(each);
  };
  for (const [name, value] of env)
    if (/KEY|TOKEN|SECRET|PASS|AUTH|COOKIE/i.test(name) || isSecretName(name)) add(value);
  const hide = (value: unknown, path: readonly string[]): void => {
    // The name of a model, for example: hidden in a program's environment, and no secret elsewhere.
    const isPlain = path.some((name) => VARIABLES.test(name)) && !path.some(isSecretName);
    if (!isPlain) add(value);
  };
  hideSettings([], config, { isFreelyNamed, hide });
  for (const [, profile] of profiles)
    for (const field of ["key", "apiKey", "token", "access", "refresh"]) add(profile[field]);
  return [...found];
}

/** Shorter values, such as `main` or `8080`, and long ones without a digit may be ordinary words. */
const SECRET_VALUE_CHARS = 8;
const LONG_SECRET_CHARS = 24;
/** A text, a path, an address, the name of a variable. */
const PLAIN_VALUE = /\s|^[~/.]|^https?:|^\$\{|^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$/;

function looksSecret(value: string): boolean {
  if (PLAIN_VALUE.test(value)) return false;
  return value.length >= LONG_SECRET_CHARS || (value.length >= SECRET_VALUE_CHARS && /\d/.test(value));
}
