// Why no model could be chosen, and what to do about it.
import type { CustomProvider } from "@hermes-memory/core/config";
import { redactSecrets } from "@hermes-memory/core/security";
import type { ModelChoiceError } from "../choice-types.ts";
import { API_MODE_WORDS } from "./address.ts";
import { PROVIDERS, type Provider } from "./providers.ts";

const KEYS = PROVIDERS.flatMap(({ envVars }) => envVars.slice(0, 1)).join(", ");
const SETUP = `Run 'hermes setup', or 'hermes model set <model>' with one of these variables set: ${KEYS}.`;

export function noModel(provider: string | undefined): ModelChoiceError {
  const message =
    provider === undefined
      ? "No model is configured."
      : `No model is named for ${provider}, and the configured one belongs to another provider.`;
  const hint = provider === undefined ? SETUP : `Name one: --model <name>, or 'hermes model set <name>'.`;
  return { kind: "no_model", message, hint };
}

/** `provider` undefined: it is not even clear whose model it is, and there is no key at all. */
export function noKey(provider: Provider | undefined, address = ""): ModelChoiceError {
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

export function ambiguous(model: string, providers: readonly Provider[]): ModelChoiceError {
  const names = providers.map(({ name }) => name).join(", ");
  return {
    kind: "unknown_provider",
    message: `The name '${model}' does not say who serves it, and there are keys for ${names}.`,
    hint: `Name the provider: --provider <name>, or 'hermes model set ${model} --provider <name>'.`,
  };
}

export function unknownProvider(name: string, own: readonly CustomProvider[]): ModelChoiceError {
  const known = [...PROVIDERS.map((provider) => provider.name), "custom", ...own.map((entry) => entry.name)];
  return {
    kind: "unknown_provider",
    message: `There is no provider called '${name}'.`,
    hint: `Known are ${known.filter((each) => each !== "").join(", ")}. Any other server: provider custom with its base_url.`,
  };
}

export function unknownApiMode(word: string): ModelChoiceError {
  return {
    kind: "unknown_provider",
    message: `There is no api_mode called '${word}'.`,
    hint: `Known are ${API_MODE_WORDS.join(", ")}. Without one, the provider's own is used.`,
  };
}

export function noAddress(name: string): ModelChoiceError {
  return {
    kind: "bad_address",
    message: `Provider ${name} needs an address, and none is set.`,
    hint: "Set model.base_url in config.yaml, such as http://127.0.0.1:8080/v1, or run 'hermes setup'.",
  };
}

export function badAddress(written: string): ModelChoiceError {
  return {
    kind: "bad_address",
    message: `'${redactSecrets(written)}' is no address of a model server.`,
    hint: "An address looks like http://127.0.0.1:11434/v1. Set it with --base-url or as model.base_url in config.yaml.",
  };
}
