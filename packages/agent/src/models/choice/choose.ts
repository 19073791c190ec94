// Which model is used: flags, then environment, then config. Pure. A key only ever goes to the endpoint it was given for.
import type { HermesConfig } from "@hermes-memory/core/config";
import { err, ok, type Result } from "@hermes-memory/core/lib";
import type { ApiMode } from "../chat.ts";
import type { ChosenModel, ModelChoiceError, ModelSelection } from "../choice-types.ts";
import { parseBaseUrl } from "../context-window/base-url.ts";
import { apiModeAt, isNearby, isSameAddress, parseApiMode } from "./address.ts";
import {
  decideEndpoint,
  type Endpoint,
  keyVariable,
  type Level,
  type Surroundings,
  text,
} from "./endpoint.ts";
import { noKey, noModel, unknownApiMode } from "./errors.ts";
import { vendorOf, withProviderInFront } from "./model-name.ts";
import { providerAt } from "./providers.ts";

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
