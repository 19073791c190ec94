// From what somebody wants to what is written: the same for `model set` and `setup`.

import type { ModelChoiceError } from "@hermes-memory/agent/models";
import type { ModelConfig } from "@hermes-memory/core/config";
import { err, ok, type Result } from "@hermes-memory/core/lib";
import type { ModelSources } from "./resolution.ts";
import { type Resolved, resolveSettings } from "./resolution.ts";
import {
  isOtherServer,
  plannedModel,
  type SettingsPlan,
  settingsPlan,
  type WantedModel,
} from "./settings-plan.ts";

export type ModelChange = {
  readonly plan: SettingsPlan;
  /** What the settings come to once they are written. */
  readonly resolved: Resolved;
  /** A key of another server is in config.yaml and has to go. */
  readonly losesKey: boolean;
};

/** Writes nothing. */
export function planChange(
  sources: ModelSources,
  wanted: WantedModel,
): Result<ModelChange, ModelChoiceError> {
  const { config } = sources;
  const current = config.model;
  // Without a model there would be no telling which server the settings are about.
  const present = resolveSettings(sources, { ...current, default: current.default || wanted.model });
  const before = present.ok ? present.value.identity : undefined;
  const alone = resolveSettings(sources, plannedModel(current, wanted, true));
  const isOther = alone.ok && isOtherServer(current, before, wanted, alone.value.identity);
  const planned = plannedModel(current, wanted, isOther);
  const resolved = resolveSettings(sources, planned);
  if (!resolved.ok) return err(resolved.error);
  const plan = settingsPlan(current, pinned(planned, resolved.value), {
    hasLength: hasLength(config.raw.model),
  });
  const losesKey = plan.unset.includes("api_key") && wanted.apiKey === undefined;
  return ok({ plan, resolved: resolved.value, losesKey });
}

/** A provider that was worked out is written down: tomorrow's environment could lead elsewhere. */
function pinned(planned: ModelConfig, { identity }: Resolved): ModelConfig {
  const isOpen = planned.provider === "" || planned.provider.toLowerCase() === "auto";
  return isOpen ? { ...planned, default: identity.model, provider: identity.provider } : planned;
}

function hasLength(section: unknown): boolean {
  return typeof section === "object" && section !== null && "context_length" in section;
}
