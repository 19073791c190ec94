// Credentials in the OpenClaw folder: which of them Hermes can use, and how to keep all of them out of reports and archives.
import { isRecord } from "@hermes-memory/core/internal/lib";
import { createRedactor } from "@hermes-memory/core/internal/security";
import { type Json, recordOf, textOf } from "../kit/values.ts";
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

/** Keys of model providers. The first place that has a variable wins. */
export function providerKeys(source: OpenClawSource): FoundKeys {
  const unresolved: { name: string; reason: string }[] = [];
  const resolve = (name: string, value: unknown): string | undefined => {
    const found = resolvedSecret(value, source);
    if (found !== undefined && "reason" in found) unresolved.push({ name, reason: found.reason });
    return found !== undefined && "value" in found ? found.value : undefined;
  };
  const servers = new Map<string, string>();
  const places = [
    fromProviders(source, resolve, servers),
    fromSpeech(source.config, resolve),
    new Map([...source.env].filter(([name]) => isProviderKey(name))),
    fromConfigEnv(source.config),
    fromProfiles(source, resolve),
  ];
  const values = new Map<string, string>();
  for (const place of places)
    for (const [name, value] of place) if (!values.has(name) && value !== "") values.set(name, value);
  return { values, servers, unresolved };
}

type Resolve = (name: string, value: unknown) => string | undefined;

function fromProviders(
  { config, profiles }: OpenClawSource,
  resolve: Resolve,
  servers: Map<string, string>,
): Map<string, string> {
  const found = new Map<string, string>();
  for (const [name, entry] of Object.entries(recordOf(recordOf(config.models)?.providers) ?? {})) {
    const provider = recordOf(entry);
    const target = provider && variableOfProvider(name, provider);
    const profile = profiles.find(([, each]) => each.provider === name && keyOf(each) !== undefined)?.[1];
    const given = provider?.apiKey ?? (profile && keyOf(profile));
    const value = given === undefined ? undefined : resolve(name, given);
    if (value !== undefined) servers.set(name, value);
    if (target !== undefined && value !== undefined) found.set(target, value);
  }
  return found;
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

function fromSpeech(config: Json, resolve: Resolve): Map<string, string> {
  const tts = recordOf(recordOf(config.messages)?.tts);
  const found = new Map<string, string>();
  const places = [
    ["elevenlabs", "ELEVENLABS_API_KEY"],
    ["openai", "VOICE_TOOLS_OPENAI_KEY"],
  ] as const;
  for (const [name, variable] of places) {
    const given = recordOf(tts?.[name])?.apiKey;
    const value = given === undefined ? undefined : resolve(`tts.${name}`, given);
    if (value !== undefined) found.set(variable, value);
  }
  return found;
}

function fromConfigEnv(config: Json): Map<string, string> {
  const env = configEnv(config);
  return new Map([...env].filter(([name, value]) => isProviderKey(name) && !/^\$\{/.test(value)));
}

/** The variables of `env` and of `env.vars`; the former win. */
function configEnv(config: Json): Map<string, string> {
  const env = recordOf(config.env) ?? {};
  const texts = (record: Json): [string, string][] =>
    Object.entries(record).flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : []));
  return new Map([...texts(recordOf(env.vars) ?? {}), ...texts(env)]);
}

function fromProfiles({ profiles }: OpenClawSource, resolve: Resolve): Map<string, string> {
  const found = new Map<string, string>();
  for (const [name, profile] of profiles) {
    const variable = variableOfProfile(name.toLowerCase());
    const given = keyOf(profile);
    const value = variable === undefined || given === undefined ? undefined : resolve(name, given);
    if (variable !== undefined && value !== undefined && !found.has(variable)) found.set(variable, value);
  }
  return found;
}

function keyOf({ key, keyRef, apiKey }: Json): unknown {
  return key ?? keyRef ?? apiKey;
}

function variableOfProfile(name: string): string | undefined {
  const vendor = name.replace(/^google\b/, "gemini");
  return PROVIDER_KEYS.find((key) => vendor.includes(key.slice(0, key.indexOf("_")).toLowerCase()));
}

function resolvedSecret(value: unknown, { env, config }: OpenClawSource): Resolved {
  const variable = (name: string): Resolved => {
    const found = env.get(name) ?? configEnv(config).get(name);
    return found
      ? { value: found }
      : { reason: `its variable ${name} is not set in OpenClaw's .env or config` };
  };
  if (typeof value === "string") {
    const reference = /^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$/.exec(value.trim())?.[1];
    if (reference !== undefined) return variable(reference);
    // OpenClaw also writes the bare name of a variable.
    const named = env.get(value.trim()) ?? configEnv(config).get(value.trim());
    if (named) return { value: named };
    return value.trim() === "" ? undefined : { value };
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
const SECRET_PARTS =
  /accesstoken|apikey|authorization|bearertoken|clientsecret|cookie|credential|passphrase|passwd|password|privatekey|refreshtoken|secret/;
/** The last word of names such as `GITHUB_PAT` and `nickserv.pass`. Whole words, because `compat` and `bypass` end the same way. */
const SECRET_WORD = /(?:^|[^A-Za-z0-9])(?:pass|PASS|pat|PAT|pwd|PWD)$|(?:^|[^A-Z])(?:Pass|Pat|Pwd)$/;
/** These end in `key` and name something. */
const PLAIN_KEY = /(?:session|public|primary|idempotency)key$/;
/** Settings whose values may all be secret, because their names are free: variables of a server, headers of a request. */
const FREE_NAMES = /^(?:env|environment|headers)$/i;
/** Among those: switches, numbers, paths, and addresses without a user and a query. */
const PLAIN_VALUE = /^(?:true|false|\d{1,6}|[~/.]\S*|https?:\/\/[^\s@?]+)$/i;
const OPTION = /^--?([A-Za-z][\w-]*)(?:=(.+))?$/s;
const QUERY_VALUE = /([?&]([\w.-]{1,64})=)([^&\s"'<>#]+)/g;
const TOKEN_SPANS =
  /\bBearer\s+[A-Za-z0-9._~+/=-]{8,}|\bsk-[A-Za-z0-9_-]{8,}|\bgh[pousr]_[A-Za-z0-9]{16,}|\bxox[abprs]-[A-Za-z0-9-]{8,}|\bxapp-[A-Za-z0-9-]{8,}|\bAIza[A-Za-z0-9_-]{12,}|\b\d{6,}:[A-Za-z0-9_-]{20,}/g;
/** Shorter values, such as `main` or `8080`, and long ones without a digit may be ordinary words. */
const SECRET_VALUE_CHARS = 8;
const LONG_SECRET_CHARS = 24;

/** Replaces credentials in texts and in JSON. */
export type Redactor = {
  /** The same text where there is none. */
  text(text: string): string;
  /** A copy in which the values of secret keys are replaced; booleans, numbers and counts stay. */
  json(value: unknown): unknown;
  /** True when the text holds a value that OpenClaw keeps as a secret. */
  holdsKnownSecret(text: string): boolean;
};

export function redactorFor(source: OpenClawSource | undefined): Redactor {
  const known = source === undefined ? [] : knownSecrets(source);
  const masked = createRedactor(known);
  const text = (given: string): string => {
    const plain = given
      .replace(TOKEN_SPANS, REDACTED)
      .replace(QUERY_VALUE, (whole, before: string, name: string) =>
        isSecretKey(name) ? before + REDACTED : whole,
      );
    const safe = masked(plain);
    return known.reduce((rest, secret) => rest.replaceAll(secret, REDACTED), safe);
  };
  const json = (value: unknown, isSecret = false): unknown => {
    if (typeof value === "string") return isSecret && value !== "" ? REDACTED : text(value);
    if (Array.isArray(value))
      return value.map((each, at) => {
        const option = optionAt(value, at);
        return option === undefined ? json(each, isSecret) : option.before + REDACTED;
      });
    if (!isRecord(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => {
        const isHidden = isSecret || isSecretKey(key);
        return [text(key), FREE_NAMES.test(key) && !isHidden ? freelyNamed(each) : json(each, isHidden)];
      }),
    );
  };
  const freelyNamed = (value: unknown): unknown => {
    if (!isRecord(value)) return json(value);
    const isPlain = (each: unknown): boolean => typeof each !== "string" || PLAIN_VALUE.test(each);
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [text(key), json(each, isSecretKey(key) || !isPlain(each))]),
    );
  };
  return {
    text,
    json: (value) => json(value),
    holdsKnownSecret: (given) => known.some((secret) => given.includes(secret)),
  };
}

function isSecretKey(key: string): boolean {
  const plain = key.toLowerCase().replace(/[^a-z0-9]/g, "");
  if (SECRET_PARTS.test(plain) || SECRET_WORD.test(key)) return true;
  return /(?:token|key)$/.test(plain) ? !PLAIN_KEY.test(plain) : plain === "auth";
}

/** A secret among the arguments of a program, `--token VALUE` or `--token=VALUE`: the value, and what stands before it in its place. */
function optionAt(
  list: readonly unknown[],
  at: number,
): { readonly before: string; readonly value: string } | undefined {
  const own = list[at];
  if (typeof own !== "string") return undefined;
  const [, name = "", value] = OPTION.exec(own) ?? [];
  if (value !== undefined)
    return isSecretKey(name) ? { before: own.slice(0, -value.length), value } : undefined;
  const [, previous = "", given] = OPTION.exec(String(list[at - 1] ?? "")) ?? [];
  const isValue = isSecretKey(previous) && given === undefined && !own.startsWith("-");
  return isValue ? { before: "", value: own } : undefined;
}

/** Values that OpenClaw keeps under a secret name, in `.env`, the config and the profiles of its agents. */
function knownSecrets(source: OpenClawSource): string[] {
  const found = new Set<string>();
  const add = (value: unknown): void => {
    if (typeof value === "string" && looksSecret(value)) found.add(value);
  };
  const collect = (value: unknown, isSecret: boolean): void => {
    if (typeof value === "string" && isSecret) add(value);
    else if (Array.isArray(value))
      for (const [at, each] of value.entries()) {
        add(optionAt(value, at)?.value);
        collect(each, isSecret);
      }
    else if (isRecord(value)) {
      // In `{source: "env", id: "NAME"}` the id is the name of a variable.
      const isReference = typeof value.source === "string" && typeof value.id === "string";
      for (const [key, each] of Object.entries(value))
        collect(each, (isSecret && !isReference) || isSecretKey(key) || key.toLowerCase() === "headers");
    }
  };
  for (const [name, value] of source.env)
    if (/KEY|TOKEN|SECRET|PASS|AUTH|COOKIE/i.test(name) || isSecretKey(name)) add(value);
  for (const [name, value] of configEnv(source.config))
    if (isProviderKey(name) || isSecretKey(name)) add(value);
  collect(source.config, false);
  for (const [, profile] of source.profiles)
    for (const field of ["key", "apiKey", "token", "access", "refresh"]) add(profile[field]);
  return [...found].sort((a, b) => b.length - a.length);
}

function looksSecret(value: string): boolean {
  if (/\s|^[~/.]|^https?:|^\$\{/.test(value)) return false; // a text, a path, an address, the name of a variable
  return value.length >= LONG_SECRET_CHARS || (value.length >= SECRET_VALUE_CHARS && /\d/.test(value));
}
