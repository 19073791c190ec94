// Which server is meant: from what flags, environment and config say, the more specific one first. An address or a provider that
// stands further down never mixes with one further up that means somebody else.
import type { CustomProvider } from "@hermes-memory/core/config";
import { err, ok, type Result } from "@hermes-memory/core/lib";
import type { ModelChoiceError } from "../choice-types.ts";
import { parseBaseUrl } from "../context-window/base-url.ts";
import { isSameAddress } from "./address.ts";
import { ambiguous, badAddress, noAddress, noKey, unknownProvider } from "./errors.ts";
import { vendorOf, withProviderInFront } from "./model-name.ts";
import { findProvider, PROVIDERS, type Provider, providerAt } from "./providers.ts";

/** What one place says; "" for what it leaves open. */
export type Level = { readonly model: string; readonly provider: string; readonly baseUrl: string };

export type Endpoint = {
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

export type Surroundings = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly own: readonly CustomProvider[];
};

type Who = Pick<Endpoint, "name" | "provider" | "entry">;

export function decideEndpoint(
  levels: readonly Level[],
  around: Surroundings,
): Result<Endpoint, ModelChoiceError> {
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
export function keyVariable(provider: Provider, env: Surroundings["env"]): string | undefined {
  return provider.envVars.find((name) => text(env[name]) !== "");
}

export function text(value: string | undefined): string {
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
