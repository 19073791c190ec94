// Which model the settings come to, also where only its key is missing: that one can be shown and saved, but not asked.

import {
  type ChosenModel,
  chooseModel,
  type ModelChoiceError,
  type ModelIdentity,
  type ModelSelection,
} from "@hermes-memory/agent/models";
import type { ModelConfig } from "@hermes-memory/core/config";
import { err, ok, type Result } from "@hermes-memory/core/lib";
import { redactSecrets } from "@hermes-memory/core/security";
import { CommandFailure } from "../command.ts";
import { oneLine } from "../printing.ts";
import { type Surroundings, withoutChoice } from "./surroundings.ts";

export type Resolved =
  | { readonly hasKey: true; readonly identity: ModelIdentity; readonly chosen: ChosenModel }
  | { readonly hasKey: false; readonly identity: ModelIdentity; readonly problem: ModelChoiceError };

/** Stands for the key that is missing while everything else is found out. It is sent nowhere. */
const NO_KEY = "none";
const ADDRESS_CHARS = 100;

export function resolveModel(
  { env, config }: Pick<Surroundings, "env" | "config">,
  flags: ModelSelection = {},
): Result<Resolved, ModelChoiceError> {
  const chosen = chooseModel({ flags, env, config });
  if (chosen.ok) return ok({ hasKey: true, identity: identityOf(chosen.value), chosen: chosen.value });
  if (chosen.error.kind !== "no_key") return chosen;
  const keyless = chooseModel({ flags: { ...flags, apiKey: NO_KEY }, env, config });
  if (!keyless.ok) return err(chosen.error);
  return ok({ hasKey: false, identity: identityOf(keyless.value), problem: chosen.error });
}

/** What these settings would come to in config.yaml, whatever variables choose at the moment. */
export function resolveSettings(
  { env, config }: Pick<Surroundings, "env" | "config">,
  model: ModelConfig,
): Result<Resolved, ModelChoiceError> {
  return resolveModel({ env: withoutChoice(env), config: { ...config, model } });
}

/** The model with its key, or the end of the command. */
export function chosenOrFail(around: Surroundings, flags: ModelSelection = {}): ChosenModel {
  const chosen = chooseModel({ flags, env: around.env, config: around.config });
  if (chosen.ok) return chosen.value;
  throw choiceFailure(chosen.error);
}

export function choiceFailure(
  { kind, message, hint }: ModelChoiceError,
  exitCode: 1 | 2 = 1,
): CommandFailure {
  return new CommandFailure(message, { exitCode, hint, details: { kind } });
}

/** `claude-sonnet-5-5, by anthropic at https://...`, for people. */
export function modelText({ model, provider, baseUrl }: ModelIdentity): string {
  const place = baseUrl === "" ? "" : ` at ${addressText(baseUrl)}`;
  return `${oneLine(model, ADDRESS_CHARS)}, by ${oneLine(provider)}${place}`;
}

/** An address may carry a password. */
export function addressText(baseUrl: string): string {
  return oneLine(redactSecrets(baseUrl), ADDRESS_CHARS);
}

export function identityJson({ model, provider, baseUrl, apiMode }: ModelIdentity): object {
  const address = baseUrl === "" ? null : redactSecrets(baseUrl);
  return { model, provider, base_url: address, api_mode: apiMode };
}

function identityOf({ model, provider, apiMode, baseUrl }: ModelIdentity): ModelIdentity {
  return { model, provider, apiMode, baseUrl };
}
