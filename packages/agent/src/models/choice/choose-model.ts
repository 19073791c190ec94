// Which model is used: flags, then environment, then config. Pure. A key is sent only to the endpoint it was given for.
import type { CustomProvider, HermesConfig } from "@hermes-memory/core/internal/config";
import { err, ok, type Result } from "@hermes-memory/core/internal/lib";
import { redactSecrets } from "@hermes-memory/core/internal/security";
import { isLoopback, parseBaseUrl, safeAddress } from "../base-url.ts";
import type { ApiMode, ModelIdentity } from "../chat.ts";
import {
  findProvider,
  PROVIDERS,
  type Provider,
  providerAt,
  vendorOf,
  withProviderInFront,
} from "./providers.ts";

/** From flags, options or a slash command. Absent and blank fields come from the environment and config. */
export type ModelSelection = {
  readonly model?: string | undefined;
  readonly provider?: string | undefined;
  readonly baseUrl?: string | undefined;
  readonly apiKey?: string | undefined;
  readonly apiMode?: string | undefined;
};

/** A model with its address and key, for `openModel`. */
export type ChosenModel = ModelIdentity & {
  /** "" when none is needed. */
  readonly apiKey: string;
  /** To show to users: `ANTHROPIC_API_KEY`, `config`, `flag`, `none needed`. Never the key. */
  readonly keySource: string;
};

/** Why no model could be chosen. */
export type ModelChoiceError = {
  readonly kind: "no_model" | "no_key" | "unknown_provider" | "bad_address";
  readonly message: string;
  readonly hint: string;
};

/** Where `chooseModel` looks, the first wins: flags, environment, config. */
export type ChoiceSources = {
  readonly flags?: ModelSelection | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly config: Pick<HermesConfig, "model" | "models">;
};

/** The values from flags, environment or config; "" for a field that is not set. */
type Level = { readonly model: string; readonly provider: string; readonly baseUrl: string };

type Sources = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly own: readonly CustomProvider[];
};

type Endpoint = {
  /** Becomes `ModelIdentity.provider`. */
  readonly name: string;
  /** Undefined for a server that the user configured. */
  readonly provider: Provider | undefined;
  readonly entry: CustomProvider | undefined;
  /** "" for the vendor's own address. */
  readonly baseUrl: string;
  /** The address comes from OPENAI_BASE_URL, so OPENAI_API_KEY belongs to it. */
  readonly isOpenAiEnv: boolean;
  /** The model's name without its provider prefix, when that prefix chose the provider. */
  readonly model: string | undefined;
  /** Index of the level that decided. Lower levels may be about another endpoint. */
  readonly level: number;
};

/** Chooses model, vendor, address and key from flags, environment and config. */
export function chooseModel(given: ChoiceSources): Result<ChosenModel, ModelChoiceError> {
  const { flags = {}, env, config } = given;
  const sources: Sources = { env, own: config.models.customProviders };
  const configured = level(config.model.default, config.model.provider, config.model.baseUrl);
  const levels = [
    level(flags.model, flags.provider, flags.baseUrl),
    level(env.HERMES_MODEL, env.HERMES_INFERENCE_PROVIDER, ""),
    configured,
  ];
  // With nothing to guess a provider from, the message is about the missing model, not about a missing key.
  const isOpen = levels.every(
    ({ model, provider, baseUrl }) => model === "" && provider === "" && baseUrl === "",
  );
  if (isOpen && text(env.OPENAI_BASE_URL) === "") return err(noModel(undefined));
  const decided = decideEndpoint(levels, sources);
  if (!decided.ok) return decided;
  const endpoint = decided.value;

  const model = modelFor(endpoint, levels);
  if (model === undefined)
    return err(noModel(levels.some((each) => each.model !== "") ? endpoint.name : undefined));
  const isConfigured = isEndpointOf(configured, endpoint, sources);
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

/** Undefined when no model is named, or the only name belongs to another provider. */
function modelFor(endpoint: Endpoint, levels: readonly Level[]): string | undefined {
  if (endpoint.model !== undefined) return endpoint.model;
  const index = levels.findIndex(({ model }) => model !== "");
  const found = levels[index];
  const only = Object.keys(endpoint.entry?.models ?? {});
  if (!found) return only.length === 1 ? only[0] : undefined;
  const front = withProviderInFront(found.model);
  if (index > endpoint.level) {
    const home = found.provider || (front?.provider ?? vendorOf(found.model))?.name;
    if (home !== undefined && !isSameName(home, endpoint)) return only.length === 1 ? only[0] : undefined;
  }
  // `anthropic/claude-...` with provider anthropic: the prefix goes. At a gateway it is part of the model's name.
  const isRepeated =
    front !== undefined && front.provider === endpoint.provider && endpoint.name !== "openrouter";
  return isRepeated ? front.model : found.model;
}

function isSameName(written: string, { name, provider }: Endpoint): boolean {
  const wanted = written.toLowerCase().replace(/^custom:/, "");
  const names = [name.toLowerCase().replace(/^custom:/, ""), ...(provider?.aliases ?? [])];
  return names.includes(wanted);
}

/** Whether config alone would choose the same server: only then do config's key and protocol apply to it. */
function isEndpointOf(configured: Level, endpoint: Endpoint, sources: Sources): boolean {
  const env = { ...sources.env, OPENAI_BASE_URL: undefined };
  const decided = decideEndpoint([configured], { ...sources, env });
  if (!decided.ok) return false;
  return decided.value.name === endpoint.name && isSameAddress(decided.value.baseUrl, endpoint.baseUrl);
}

function usualApiMode({ provider, baseUrl }: Endpoint): ApiMode {
  const url = baseUrl === "" ? undefined : parseBaseUrl(baseUrl);
  if (provider === undefined) return url ? apiModeAt(url) : "chat_completions";
  const isVendors = url === undefined || providerAt(url) === provider;
  if (provider.name === "openai" && !isVendors) return "chat_completions"; // few other servers have the Responses API
  if (provider.name === "google" && /\/openai\/*$/.test(url?.pathname ?? "")) return "chat_completions";
  return provider.apiMode;
}

type Keys = { readonly flag: string; readonly config: string; readonly env: Sources["env"] };

/** Undefined when a key is needed and none is found. */
function keyFor(endpoint: Endpoint, keys: Keys): Pick<ChosenModel, "apiKey" | "keySource"> | undefined {
  const { provider, entry, baseUrl, isOpenAiEnv } = endpoint;
  if (keys.flag !== "") return { apiKey: keys.flag, keySource: "flag" };
  const url = baseUrl === "" ? undefined : parseBaseUrl(baseUrl);
  const isVendors = url === undefined || (provider !== undefined && providerAt(url) === provider);
  const fromConfig = keys.config === "" ? undefined : { apiKey: keys.config, keySource: "config" };
  if (fromConfig && !isVendors) return fromConfig; // config has this key together with this address
  if (entry && text(entry.apiKey) !== "") return { apiKey: text(entry.apiKey), keySource: "config" };
  const variable = isOpenAiEnv ? "OPENAI_API_KEY" : provider && keyVariable(provider, keys.env);
  const found = variable === undefined ? "" : text(keys.env[variable]);
  if (variable !== undefined && found !== "") return { apiKey: found, keySource: variable };
  if (fromConfig) return fromConfig;
  const isKeyless = provider?.isLocal === true || (url !== undefined && isNearby(url));
  return isKeyless ? { apiKey: "", keySource: "none needed" } : undefined;
}

// The endpoint: which server is meant. Flags come before the environment, the environment before config. An address or a
// provider of a lower level is used only together with the same provider of a higher level.

type Who = Pick<Endpoint, "name" | "provider" | "entry">;

function decideEndpoint(levels: readonly Level[], sources: Sources): Result<Endpoint, ModelChoiceError> {
  const at = {
    model: levels.findIndex(({ model }) => model !== ""),
    provider: levels.findIndex(({ provider }) => provider !== ""),
    url: levels.findIndex(({ baseUrl }) => baseUrl !== ""),
  };
  const model = levels[at.model]?.model ?? "";
  const isFirst = (one: number, other: number): boolean => one >= 0 && (other < 0 || one < other);

  const isAddressed = at.url >= 0 && at.url <= at.model;
  const front = withProviderInFront(model);
  const named = at.provider < 0 ? undefined : lookUp(levels[at.provider]?.provider ?? "", sources);
  if (front && isFirst(at.model, at.provider)) {
    // Names at a gateway contain slashes: `anthropic/claude-...` at OpenRouter or behind a proxy.
    const isGateway = named?.ok === true && takesSlashes(named.value);
    const hasAddress = at.provider < 0 && isAddressed;
    const isRouted = at.provider < 0 && isOnlyRouted(front.provider, sources);
    const isOwnName = front.separator === "/" && (isGateway || hasAddress || isRouted);
    if (!isOwnName) {
      const who = { name: front.provider.name, provider: front.provider, entry: undefined };
      return placed(who, at.model, { levels, sources, model: front.model });
    }
  }
  if (front === undefined && at.provider < 0 && !isAddressed) {
    // `desk/llama`: the model of a server in `custom_providers`.
    const entry = sources.own.find(({ name }) => name !== "" && startsWithName(model, name));
    const who = entry && { name: `custom:${entry.name}`, provider: undefined, entry };
    if (who) return placed(who, at.model, { levels, sources, model: model.slice(entry.name.length + 1) });
  }
  if (isFirst(at.url, at.provider)) return atAddress(levels[at.url]?.baseUrl ?? "", at.url, sources);
  if (named) return named.ok ? placed(named.value, at.provider, { levels, sources }) : named;
  const openAi = text(sources.env.OPENAI_BASE_URL);
  if (openAi !== "") {
    const found = atAddress(openAi, Math.max(at.model, 0), sources);
    return found.ok ? ok({ ...found.value, isOpenAiEnv: true }) : found;
  }
  const guessed = guess(model, sources);
  return guessed.ok ? placed(guessed.value, Math.max(at.model, 0), { levels, sources }) : guessed;
}

function startsWithName(model: string, name: string): boolean {
  return model.toLowerCase().startsWith(`${name.toLowerCase()}/`) && model.length > name.length + 1;
}

/** By name: a known provider, an entry of config `custom_providers`, or `custom`. */
function lookUp(written: string, { own }: Sources): Result<Who, ModelChoiceError> {
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

function atAddress(written: string, level: number, { own }: Sources): Result<Endpoint, ModelChoiceError> {
  const url = parseBaseUrl(written);
  if (!url) return err(badAddress(written));
  const baseUrl = url.href.replace(/\/+$/, "");
  const rest = { baseUrl, isOpenAiEnv: false, model: undefined, level };
  const entry = own.find((each) => each.name !== "" && isSameAddress(each.baseUrl, baseUrl));
  if (entry) return ok({ name: `custom:${entry.name}`, provider: undefined, entry, ...rest });
  const provider = providerAt(url);
  return ok({ name: provider?.name ?? "custom", provider, entry: undefined, ...rest });
}

type Placing = { readonly levels: readonly Level[]; readonly sources: Sources; readonly model?: string };

/** Adds the address: the one that was given for this provider, else its usual one. */
function placed(
  who: Who,
  level: number,
  { levels, sources, model }: Placing,
): Result<Endpoint, ModelChoiceError> {
  const given = levels.find(
    (each, index) => each.baseUrl !== "" && (index <= level || isAbout(each, who, sources)),
  );
  const openAi = ["openai", "custom"].includes(who.name) ? text(sources.env.OPENAI_BASE_URL) : "";
  const written = given?.baseUrl ?? (who.entry ? who.entry.baseUrl : openAi);
  const isOpenAiEnv = given === undefined && written !== "" && written === openAi;
  if (written === "" && who.provider === undefined) return err(noAddress(who.name));
  const url = written === "" ? undefined : parseBaseUrl(written);
  if (written !== "" && !url) return err(badAddress(written));
  const baseUrl = url?.href.replace(/\/+$/, "") ?? who.provider?.baseUrl ?? "";
  return ok({ ...who, baseUrl, isOpenAiEnv, model, level });
}

/** Whether the address of a lower level was given for this provider. */
function isAbout({ provider, model }: Level, who: Who, sources: Sources): boolean {
  if (provider === "") return who.name === "custom" && withProviderInFront(model)?.separator !== ":";
  const named = lookUp(provider, sources);
  return named.ok && named.value.name === who.name;
}

function guess(model: string, { env }: Sources): Result<Who, ModelChoiceError> {
  const withKey = PROVIDERS.filter((provider) => keyVariable(provider, env) !== undefined);
  const router = withKey.find(({ name }) => name === "openrouter");
  const vendor = vendorOf(model) ?? (model.includes("/") ? router : undefined);
  const provider = vendor ?? (withKey.length === 1 ? withKey[0] : undefined);
  if (provider) return ok({ name: provider.name, provider, entry: undefined });
  return err(withKey.length === 0 ? noKey(undefined) : ambiguous(model, withKey));
}

/** True when there is a key for OpenRouter, which serves all vendors' models under such names, but none for the vendor. */
function isOnlyRouted(vendor: Provider, { env }: Sources): boolean {
  if (vendor.isLocal || keyVariable(vendor, env) !== undefined) return false;
  const router = findProvider("openrouter");
  return router !== undefined && keyVariable(router, env) !== undefined;
}

function takesSlashes({ provider }: Who): boolean {
  return provider === undefined || provider.name === "openrouter" || provider.isLocal;
}

// Protocols and addresses

const API_MODES: Readonly<Record<string, ApiMode>> = {
  anthropic_messages: "anthropic_messages",
  chat_completions: "chat_completions",
  responses: "responses",
  codex_responses: "responses",
  google: "google",
};

function parseApiMode(word: string): ApiMode | undefined {
  const key = word.trim().toLowerCase();
  return Object.hasOwn(API_MODES, key) ? API_MODES[key] : undefined;
}

/** The likely protocol of an unknown server. Some vendors offer Anthropic's protocol under a path of that name. */
function apiModeAt(address: URL): ApiMode {
  return /\/anthropic(?:\/v\d+)?\/*$/.test(address.pathname) ? "anthropic_messages" : "chat_completions";
}

function isSameAddress(one: string, other: string): boolean {
  const comparable = (text: string): string => safeAddress(text) || text.trim().replace(/\/+$/, "");
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

/** The first of the provider's variables that is set. */
function keyVariable(provider: Provider, env: Sources["env"]): string | undefined {
  return provider.envVars.find((name) => text(env[name]) !== "");
}

function text(value: string | undefined): string {
  return (value ?? "").trim();
}

// Errors: why no model could be chosen, and what to do

const KEYS = PROVIDERS.flatMap(({ envVars }) => envVars.slice(0, 1)).join(", ");
const SETUP = `Run 'hermes setup', or 'hermes model set <model>' with one of these variables set: ${KEYS}.`;

function problem(kind: ModelChoiceError["kind"], message: string, hint: string): ModelChoiceError {
  return { kind, message, hint };
}

function noModel(provider: string | undefined): ModelChoiceError {
  if (provider === undefined) return problem("no_model", "No model is configured.", SETUP);
  const message = `No model is named for ${provider}, and the configured one belongs to another provider.`;
  return problem("no_model", message, "Name one: --model <name>, or 'hermes model set <name>'.");
}

/** `provider` undefined: it is unknown whose model it is, and there is no key at all. */
function noKey(provider: Provider | undefined, address = ""): ModelChoiceError {
  if (provider === undefined && address === "")
    return problem("no_key", "No key for any model provider was found.", SETUP);
  const isVendors = provider !== undefined && provider.envVars.length > 0;
  const message = `No key for ${isVendors ? provider.label : redactSecrets(address)} was found.`;
  const hint = isVendors
    ? `Set ${provider.envVars.join(" or ")}, run 'hermes setup', or choose another model with 'hermes model set <model>'.`
    : "Set model.api_key in config.yaml, or run 'hermes setup'.";
  return problem("no_key", message, hint);
}

function ambiguous(model: string, providers: readonly Provider[]): ModelChoiceError {
  const names = providers.map(({ name }) => name).join(", ");
  const message = `The name '${model}' does not say who serves it, and there are keys for ${names}.`;
  const hint = `Name the provider: --provider <name>, or 'hermes model set ${model} --provider <name>'.`;
  return problem("unknown_provider", message, hint);
}

function unknownProvider(name: string, own: readonly CustomProvider[]): ModelChoiceError {
  const known = [...PROVIDERS.map((provider) => provider.name), "custom", ...own.map((entry) => entry.name)];
  const hint = `Known are ${known.filter((each) => each !== "").join(", ")}. Any other server: provider custom with its base_url.`;
  return problem("unknown_provider", `There is no provider called '${name}'.`, hint);
}

function unknownApiMode(word: string): ModelChoiceError {
  const hint = `Known are ${Object.keys(API_MODES).join(", ")}. Without one, the provider's own is used.`;
  return problem("unknown_provider", `There is no api_mode called '${word}'.`, hint);
}

function noAddress(name: string): ModelChoiceError {
  const hint = "Set model.base_url in config.yaml, such as http://127.0.0.1:8080/v1, or run 'hermes setup'.";
  return problem("bad_address", `Provider ${name} needs an address, and none is set.`, hint);
}

function badAddress(written: string): ModelChoiceError {
  const hint =
    "An address looks like http://127.0.0.1:11434/v1. Set it with --base-url or as model.base_url in config.yaml.";
  return problem("bad_address", `'${redactSecrets(written)}' is not the address of a model server.`, hint);
}
