// Which model the settings lead to, and how it is described. A model that only lacks its key can be shown and saved, but not called.
import {
  type ChosenModel,
  type ContextWindow,
  chooseModel,
  type ModelChoiceError,
  type ModelIdentity,
  type ModelSelection,
} from "@hermes-memory/agent/internal/models";
import { type HermesConfig, type ModelConfig, useEnvFile } from "@hermes-memory/core/internal/config";
import { type CachingPolicy, cachingPolicy } from "@hermes-memory/core/internal/context";
import { err, ok, type Result } from "@hermes-memory/core/internal/lib";
import { redactSecrets } from "@hermes-memory/core/internal/security";
import { type CommandContext, CommandFailure, type Terminal } from "../command.ts";
import { oneLine } from "../printing.ts";

export type Environment = Terminal["env"];

/** A model is chosen from config.yaml and the environment. */
export type ModelSources = {
  readonly home: string;
  readonly config: HermesConfig;
  /** The variables of the process, then those of the home's .env. */
  readonly env: Environment;
};

export type Resolved =
  | { readonly hasKey: true; readonly identity: ModelIdentity; readonly chosen: ChosenModel }
  | { readonly hasKey: false; readonly identity: ModelIdentity; readonly problem: ModelChoiceError };

/** Variables that choose a model and override config.yaml. */
export const CHOOSING_VARIABLES = ["HERMES_MODEL", "HERMES_INFERENCE_PROVIDER"] as const;
/** Replaces a missing key so that the rest can be resolved. It is never sent. */
const NO_KEY = "none";
const ADDRESS_CHARS = 100;

/** A broken config.yaml ends the command. */
export async function modelSources({
  memory,
  io,
}: Pick<CommandContext, "memory" | "io">): Promise<ModelSources> {
  const { home } = memory;
  const env: Record<string, string | undefined> = { ...io.env };
  useEnvFile(home, env);
  return { home, config: await memory.config(), env };
}

export function resolveModel(
  { env, config }: Pick<ModelSources, "env" | "config">,
  flags: ModelSelection = {},
): Result<Resolved, ModelChoiceError> {
  const chosen = chooseModel({ flags, env, config });
  if (chosen.ok) return ok({ hasKey: true, identity: identityOf(chosen.value), chosen: chosen.value });
  if (chosen.error.kind !== "no_key") return chosen;
  const keyless = chooseModel({ flags: { ...flags, apiKey: NO_KEY }, env, config });
  if (!keyless.ok) return err(chosen.error);
  return ok({ hasKey: false, identity: identityOf(keyless.value), problem: chosen.error });
}

/** The model that these settings in config.yaml lead to, ignoring the variables that override them. */
export function resolveSettings(
  { env, config }: Pick<ModelSources, "env" | "config">,
  model: ModelConfig,
): Result<Resolved, ModelChoiceError> {
  return resolveModel({ env: withoutChoice(env), config: { ...config, model } });
}

export function withoutChoice(env: Environment): Environment {
  const rest = Object.entries(env).filter(([name]) => !CHOOSING_VARIABLES.some((each) => each === name));
  return Object.fromEntries(rest);
}

/** For a command that changed config.yaml: variables may still override it. */
export function overridingNotes(env: Environment): string[] {
  const set = CHOOSING_VARIABLES.filter((name) => (env[name] ?? "").trim() !== "");
  if (set.length === 0) return [];
  return [
    `${set.join(" and ")} ${set.length === 1 ? "is set and overrides" : "are set and override"} config.yaml.`,
  ];
}

export function choiceFailure(
  { kind, message, hint }: ModelChoiceError,
  exitCode: 1 | 2 = 1,
): CommandFailure {
  return new CommandFailure(message, { exitCode, hint, details: { kind } });
}

// How a model is described

/** `claude-sonnet-5-5, by anthropic at https://...` */
export function modelText({ model, provider, baseUrl }: ModelIdentity): string {
  const address = baseUrl === "" ? "" : ` at ${addressText(baseUrl)}`;
  return `${oneLine(model, ADDRESS_CHARS)}, by ${oneLine(provider)}${address}`;
}

/** An address may carry a password. */
export function addressText(baseUrl: string): string {
  return oneLine(redactSecrets(baseUrl), ADDRESS_CHARS);
}

export function identityJson({ model, provider, baseUrl, apiMode }: ModelIdentity): object {
  const address = baseUrl === "" ? null : redactSecrets(baseUrl);
  return { model, provider, base_url: address, api_mode: apiMode };
}

export function windowJson({ tokens, source, server, isProvisional }: ContextWindow): object {
  return { tokens, source, server: server ?? null, provisional: isProvisional };
}

export function cachingJson(identity: ModelIdentity, ttl: string): object {
  const policy = cachingPolicy(identity);
  return { enabled: policy.enabled, layout: policy.enabled ? layoutOf(policy) : null, ttl };
}

function layoutOf(policy: Extract<CachingPolicy, { enabled: true }>): string {
  return policy.native ? "native" : "envelope";
}

function identityOf({ model, provider, apiMode, baseUrl }: ModelIdentity): ModelIdentity {
  return { model, provider, apiMode, baseUrl };
}
