import type { CustomProvider, HermesConfig } from "@hermes-memory/core/config";
import { err, ok, type Result } from "@hermes-memory/core/lib";
import { redactSecrets } from "@hermes-memory/core/security";
import { isLoopback, parseBaseUrl } from "../base-url.ts";
import type { ApiMode, ModelIdentity } from "../chat.ts";
import {
  findProvider,
  PROVIDERS,
  type Provider,
  providerAt,
  vendorOf,
  withProviderInFront,
} from "./providers.ts";

// ----
// Why no model could be chosen, and what to do about it.

const KEYS = PROVIDERS.flatMap(({ envVars }) => envVars.slice(0, 1)).join(", ");
const SETUP = `Run 'hermes setup', or 'hermes model set <model>' with one of these variables set: ${KEYS}.`;

function noModel(provider: string | undefined): ModelChoiceError {
  const message =
    provider === undefined
      ? "No model is configured."
      : `No model is named for ${provider}, and the configured one belongs to another provider.`;
  const hint = provider === undefined ? SETUP : `Name one: --model <name>, or 'hermes model set <name>'.`;
  return { kind: "no_model", message, hint };
}

/** `provider` undefined: it is not even clear whose model it is, and there is no key at all. */
function noKey(provider: Provider | undefined, address = ""): ModelChoiceError {
  if (provider === undefined && address === "")
    return { kind: "no_key", message: "No key for any model provider was found.", hint: SETUP };
  if (provider === undefined || provider.envVars.length === 0) {
    const message = `No key for ${redactSecrets(address)} was found.`;
    return { kind: "no_key", message, hint: "Set model.api_key in config.yaml, or run 'hermes setup'." };
  }
  const variables = provider.envVars.join(" or ");
  return {
    kind: "no_key",
    message: `No key for ${provider.label} was found.`,
    hint: `Set ${variables}, run 'hermes setup', or choose another model with 'hermes model set <model>'.`,
  };
}

function ambiguous(model: string, providers: readonly Provider[]): ModelChoiceError {
  const names = providers.map(({ name }) => name).join(", ");
  return {
    kind: "unknown_provider",
    message: `The name '${model}' does not say who serves it, and there are keys for ${names}.`,
    hint: `Name the provider: --provider <name>, or 'hermes model set ${model} --provider <name>'.`,
  };
}

function unknownProvider(name: string, own: readonly CustomProvider[]): ModelChoiceError {
  const known = [...PROVIDERS.map((provider) => provider.name), "custom", ...own.map((entry) => entry.name)];
  return {
    kind: "unknown_provider",
    message: `There is no provider called '${name}'.`,
    hint: `Known are ${known.filter((each) => each !== "").join(", ")}. Any other server: provider custom with its base_url.`,
  };
}

function unknownApiMode(word: string): ModelChoiceError {
  return {
    kind: "unknown_provider",
    message: `There is no api_mode called '${word}'.`,
    hint: `Known are ${API_MODE_WORDS.join(", ")}. Without one, the provider's own is used.`,
  };
}

function noAddress(name: string): ModelChoiceError {
  return {
    kind: "bad_address",
    message: `Provider ${name} needs an address, and none is set.`,
    hint: "Set model.base_url in config.yaml, such as http://127.0.0.1:8080/v1, or run 'hermes setup'.",
  };
}

function badAddress(written: string): ModelChoiceError {
  return {
    kind: "bad_address",
    message: `'${redactSecrets(written)}' is no address of a model server.`,
    hint: "An address looks like http://127.0.0.1:11434/v1. Set it with --base-url or as model.base_url in config.yaml.",
  };
}

// ----
// Which model is meant, before anybody talks to it.

/** What a flag, an option or a slash command says. Whatever is absent or blank comes from the environment and config. */
export type ModelSelection = {
  readonly model?: string | undefined;
  readonly provider?: string | undefined;
  readonly baseUrl?: string | undefined;
  readonly apiKey?: string | undefined;
  readonly apiMode?: string | undefined;
};

export type ChosenModel = ModelIdentity & {
  /** "" where none is needed. */
  readonly apiKey: string;
  /** For people: `ANTHROPIC_API_KEY`, `config`, `flag`, `none needed`. Never the key. */
  readonly keySource: string;
};

export type ModelChoiceError = {
  readonly kind: "no_model" | "no_key" | "unknown_provider" | "bad_address";
  readonly message: string;
  readonly hint: string;
};

// ----
// Which model is used: flags, then environment, then config. Pure. A key only ever goes to the endpoint it was given for.

export type ChoiceSources = {
  readonly flags?: ModelSelection | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly config: Pick<HermesConfig, "model" | "models">;
};

export function chooseModel(sources: ChoiceSources): Result<ChosenModel, ModelChoiceError> {
  const { flags = {}, env, config } = sources;
  const around: Surroundings = { env, own: config.models.customProviders };
  const configured = level(config.model.default, config.model.provider, config.model.baseUrl);
  const levels = [
    level(flags.model, flags.provider, flags.baseUrl),
    level(env.HERMES_MODEL, env.HERMES_INFERENCE_PROVIDER, ""),
    configured,
  ];
  // Without a name there is nothing to guess a provider from; the name is what is missing then.
  const isOpen = levels.every(
    ({ model, provider, baseUrl }) => model === "" && provider === "" && baseUrl === "",
  );
  if (isOpen && text(env.OPENAI_BASE_URL) === "") return err(noModel(undefined));
  const decided = decideEndpoint(levels, around);
  if (!decided.ok) return decided;
  const endpoint = decided.value;

  const model = modelFor(endpoint, levels);
  if (model === undefined)
    return err(noModel(levels.some((each) => each.model !== "") ? endpoint.name : undefined));
  const isConfigured = isEndpointOf(configured, endpoint, around);
  const word =
    text(flags.apiMode) || (isConfigured ? text(config.model.apiMode) : "") || text(endpoint.entry?.apiMode);
  const apiMode = word === "" ? usualApiMode(endpoint) : parseApiMode(word);
  if (apiMode === undefined) return err(unknownApiMode(word));
  const key = keyFor(endpoint, {
    flag: text(flags.apiKey),
    config: isConfigured ? text(config.model.apiKey) : "",
    env,
  });
  if (key === undefined) return err(noKey(endpoint.provider, endpoint.baseUrl));
  return ok({ model, provider: endpoint.name, apiMode, baseUrl: endpoint.baseUrl, ...key });
}

function level(model: string | undefined, provider: string | undefined, baseUrl: string | undefined): Level {
  const named = text(provider);
  return {
    model: text(model),
    provider: named.toLowerCase() === "auto" ? "" : named,
    baseUrl: text(baseUrl),
  };
}

/** Undefined when the only name there is belongs to somebody else. */
function modelFor(endpoint: Endpoint, levels: readonly Level[]): string | undefined {
  if (endpoint.model !== undefined) return endpoint.model;
  const index = levels.findIndex(({ model }) => model !== "");
  const found = levels[index];
  const only = Object.keys(endpoint.entry?.models ?? {});
  if (!found) return only.length === 1 ? only[0] : undefined;
  const front = withProviderInFront(found.model);
  if (index > endpoint.level) {
    const home =
      (found.provider === "" ? undefined : found.provider) ??
      (front?.provider ?? vendorOf(found.model))?.name;
    const isElsewhere = home !== undefined && !isSameName(home, endpoint);
    if (isElsewhere) return only.length === 1 ? only[0] : undefined;
  }
  // `anthropic/claude-...` with provider anthropic; at a gateway the same is a name of its own.
  const isRepeated =
    front !== undefined && front.provider === endpoint.provider && endpoint.name !== "openrouter";
  return isRepeated ? front.model : found.model;
}

function isSameName(written: string, { name, provider }: Endpoint): boolean {
  const wanted = written.toLowerCase().replace(/^custom:/, "");
  const names = [name.toLowerCase().replace(/^custom:/, ""), ...(provider?.aliases ?? [])];
  return names.includes(wanted);
}

/** Whether config alone would lead to the same server: only then are its key and protocol meant for it. */
function isEndpointOf(configured: Level, endpoint: Endpoint, around: Surroundings): boolean {
  const env = { ...around.env, OPENAI_BASE_URL: undefined };
  const decided = decideEndpoint([configured], { ...around, env });
  if (!decided.ok) return false;
  return decided.value.name === endpoint.name && isSameAddress(decided.value.baseUrl, endpoint.baseUrl);
}

function usualApiMode({ provider, baseUrl }: Endpoint): ApiMode {
  const url = baseUrl === "" ? undefined : parseBaseUrl(baseUrl);
  if (provider === undefined) return url ? apiModeAt(url) : "chat_completions";
  const isVendors = url === undefined || providerAt(url) === provider;
  if (provider.name === "openai" && !isVendors) return "chat_completions"; // few servers but OpenAI's have the other
  if (provider.name === "google" && /\/openai\/*$/.test(url?.pathname ?? "")) return "chat_completions";
  return provider.apiMode;
}

type Keys = { readonly flag: string; readonly config: string; readonly env: Surroundings["env"] };

/** Undefined when one is needed and there is none. */
function keyFor(endpoint: Endpoint, keys: Keys): Pick<ChosenModel, "apiKey" | "keySource"> | undefined {
  const { provider, entry, baseUrl, isOpenAiEnv } = endpoint;
  if (keys.flag !== "") return { apiKey: keys.flag, keySource: "flag" };
  const url = baseUrl === "" ? undefined : parseBaseUrl(baseUrl);
  const isVendors = url === undefined || (provider !== undefined && providerAt(url) === provider);
  const fromConfig = keys.config === "" ? undefined : { apiKey: keys.config, keySource: "config" };
  if (fromConfig && !isVendors) return fromConfig; // given together with the address
  if (entry && text(entry.apiKey) !== "") return { apiKey: text(entry.apiKey), keySource: "config" };
  const variable = isOpenAiEnv ? "OPENAI_API_KEY" : provider && keyVariable(provider, keys.env);
  const found = variable === undefined ? "" : text(keys.env[variable]);
  if (variable !== undefined && found !== "") return { apiKey: found, keySource: variable };
  if (fromConfig) return fromConfig;
  const isKeyless = provider?.isLocal === true || (url !== undefined && isNearby(url));
  return isKeyless ? { apiKey: "", keySource: "none needed" } : undefined;
}

// ----
// Which server is meant: from what flags, environment and config say, the more specific one first. An address or a provider that
// stands further down never mixes with one further up that means somebody else.

/** What one place says; "" for what it leaves open. */
type Level = { readonly model: string; readonly provider: string; readonly baseUrl: string };

type Endpoint = {
  /** As `ModelIdentity.provider` has it. */
  readonly name: string;
  /** Undefined for an address of the user's own. */
  readonly provider: Provider | undefined;
  readonly entry: CustomProvider | undefined;
  /** "" for the vendor's own address. */
  readonly baseUrl: string;
  /** The address is OPENAI_BASE_URL's, so the key of that name belongs to it. */
  readonly isOpenAiEnv: boolean;
  /** The name without the provider in front of it, when that was what chose the provider. */
  readonly model: string | undefined;
  /** Index of the level that decided; what is said further down need not be about this endpoint. */
  readonly level: number;
};

type Surroundings = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly own: readonly CustomProvider[];
};

type Who = Pick<Endpoint, "name" | "provider" | "entry">;

function decideEndpoint(levels: readonly Level[], around: Surroundings): Result<Endpoint, ModelChoiceError> {
  const at = {
    model: levels.findIndex(({ model }) => model !== ""),
    provider: levels.findIndex(({ provider }) => provider !== ""),
    url: levels.findIndex(({ baseUrl }) => baseUrl !== ""),
  };
  const model = levels[at.model]?.model ?? "";
  const isFirst = (one: number, other: number): boolean => one >= 0 && (other < 0 || one < other);

  const front = withProviderInFront(model);
  const named = at.provider < 0 ? undefined : lookUp(levels[at.provider]?.provider ?? "", around);
  if (front && isFirst(at.model, at.provider)) {
    // A gateway's names have slashes of their own: `anthropic/claude-...` at OpenRouter or behind a proxy.
    const isGateway = named?.ok === true && takesSlashes(named.value);
    const hasAddress = at.provider < 0 && at.url >= 0 && at.url <= at.model;
    const isRouted = at.provider < 0 && isOnlyRouted(front.provider, around);
    const isOwnName = front.separator === "/" && (isGateway || hasAddress || isRouted);
    if (!isOwnName) {
      const who = { name: front.provider.name, provider: front.provider, entry: undefined };
      return placed(who, at.model, { levels, around, model: front.model });
    }
  }
  if (isFirst(at.url, at.provider)) return atAddress(levels[at.url]?.baseUrl ?? "", at.url, around);
  if (named) return named.ok ? placed(named.value, at.provider, { levels, around }) : named;
  const openAi = text(around.env.OPENAI_BASE_URL);
  if (openAi !== "") {
    const found = atAddress(openAi, Math.max(at.model, 0), around);
    return found.ok ? ok({ ...found.value, isOpenAiEnv: true }) : found;
  }
  const guessed = guess(model, around);
  return guessed.ok ? placed(guessed.value, Math.max(at.model, 0), { levels, around }) : guessed;
}

/** The variable of a key that is there. */
function keyVariable(provider: Provider, env: Surroundings["env"]): string | undefined {
  return provider.envVars.find((name) => text(env[name]) !== "");
}

function text(value: string | undefined): string {
  return (value ?? "").trim();
}

/** By name: one of ours, one of config `custom_providers`, or `custom`. */
function lookUp(written: string, { own }: Surroundings): Result<Who, ModelChoiceError> {
  const name = written.toLowerCase();
  const isOwn = name.startsWith("custom:");
  const provider = isOwn ? undefined : findProvider(name);
  if (provider) return ok({ name: provider.name, provider, entry: undefined });
  if (name === "custom") return ok({ name, provider: undefined, entry: undefined });
  const wanted = isOwn ? name.slice("custom:".length).trim() : name;
  const entry = own.find((each) => each.name.toLowerCase() === wanted && wanted !== "");
  if (!entry) return err(unknownProvider(written, own));
  return ok({ name: `custom:${entry.name}`, provider: undefined, entry });
}

function atAddress(
  written: string,
  level: number,
  { own }: Surroundings,
): Result<Endpoint, ModelChoiceError> {
  const url = parseBaseUrl(written);
  if (!url) return err(badAddress(written));
  const baseUrl = url.href.replace(/\/+$/, "");
  const rest = { baseUrl, isOpenAiEnv: false, model: undefined, level };
  const entry = own.find((each) => each.name !== "" && isSameAddress(each.baseUrl, baseUrl));
  if (entry) return ok({ name: `custom:${entry.name}`, provider: undefined, entry, ...rest });
  const provider = providerAt(url);
  return ok({ name: provider?.name ?? "custom", provider, entry: undefined, ...rest });
}

type Placing = { readonly levels: readonly Level[]; readonly around: Surroundings; readonly model?: string };

/** Adds the address: the one that was given for this provider, else its usual one. */
function placed(
  who: Who,
  level: number,
  { levels, around, model }: Placing,
): Result<Endpoint, ModelChoiceError> {
  const given = levels.find(
    (each, index) => each.baseUrl !== "" && (index <= level || isAbout(each, who, around)),
  );
  const openAi = ["openai", "custom"].includes(who.name) ? text(around.env.OPENAI_BASE_URL) : "";
  const written = given?.baseUrl ?? (who.entry ? who.entry.baseUrl : openAi);
  const isOpenAiEnv = given === undefined && written !== "" && written === openAi;
  if (written === "" && who.provider === undefined) return err(noAddress(who.name));
  const url = written === "" ? undefined : parseBaseUrl(written);
  if (written !== "" && !url) return err(badAddress(written));
  const baseUrl = url?.href.replace(/\/+$/, "") ?? who.provider?.baseUrl ?? "";
  return ok({ ...who, baseUrl, isOpenAiEnv, model, level });
}

/** Whether an address further down was given for this provider. */
function isAbout({ provider, model, baseUrl }: Level, who: Who, around: Surroundings): boolean {
  if (provider === "") return who.name === "custom" && withProviderInFront(model)?.separator !== ":";
  const named = lookUp(provider, around);
  return named.ok && named.value.name === who.name && baseUrl !== "";
}

function guess(model: string, { env }: Surroundings): Result<Who, ModelChoiceError> {
  const withKey = PROVIDERS.filter((provider) => keyVariable(provider, env) !== undefined);
  const router = withKey.find(({ name }) => name === "openrouter");
  const vendor = vendorOf(model) ?? (model.includes("/") ? router : undefined);
  const provider = vendor ?? (withKey.length === 1 ? withKey[0] : undefined);
  if (provider) return ok({ name: provider.name, provider, entry: undefined });
  return err(withKey.length === 0 ? noKey(undefined) : ambiguous(model, withKey));
}

/** There is a key for OpenRouter, which has everybody's models under such names, and none for the vendor itself. */
function isOnlyRouted(vendor: Provider, { env }: Surroundings): boolean {
  if (vendor.isLocal || keyVariable(vendor, env) !== undefined) return false;
  const router = findProvider("openrouter");
  return router !== undefined && keyVariable(router, env) !== undefined;
}

function takesSlashes({ provider }: Who): boolean {
  return provider === undefined || provider.name === "openrouter" || provider.isLocal;
}

// ----
// Addresses of model servers: which protocol they want, and whether they ask for a key.

const API_MODES: Readonly<Record<string, ApiMode>> = {
  anthropic_messages: "anthropic_messages",
  chat_completions: "chat_completions",
  responses: "responses",
  codex_responses: "responses",
  google: "google",
};

const API_MODE_WORDS: readonly string[] = Object.keys(API_MODES);

function parseApiMode(word: string): ApiMode | undefined {
  const key = word.trim().toLowerCase();
  return Object.hasOwn(API_MODES, key) ? API_MODES[key] : undefined;
}

/** Of an address nobody says more about. Some vendors have the protocol of Anthropic or OpenAI under a path of that name. */
function apiModeAt(address: URL): ApiMode {
  return /\/anthropic(?:\/v\d+)?\/*$/.test(address.pathname) ? "anthropic_messages" : "chat_completions";
}

function isSameAddress(one: string, other: string): boolean {
  return comparable(one) === comparable(other);
}

/** This machine or a private network, where servers rarely want a key. */
function isNearby(address: URL): boolean {
  if (isLoopback(address)) return true;
  const host = address.hostname.toLowerCase();
  if (host.startsWith("[")) return /^\[(?:f[cd][0-9a-f]{2}|fe80):/.test(host);
  if (
    /^(?:10|192\.168|169\.254|172\.(?:1[6-9]|2\d|3[01])|100\.(?:6[4-9]|[789]\d|1[01]\d|12[0-7]))\./.test(host)
  )
    return /^[\d.]+$/.test(host);
  return !host.includes(".") || /\.(?:local|lan|internal|home\.arpa)$/.test(host);
}

function comparable(text: string): string {
  const url = parseBaseUrl(text);
  const address = url === undefined ? text.trim() : `${url.origin}${url.pathname}`;
  return address.replace(/\/+$/, "");
}
