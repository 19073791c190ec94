// What has to change in the `model` section so that it names another model. Pure.

import type { ModelIdentity } from "@hermes-memory/agent/models";
import type { ModelConfig } from "@hermes-memory/core/config";

/** What somebody asked for; what is absent stays, as long as it is about the same server. */
export type WantedModel = {
  readonly model: string;
  readonly provider?: string | undefined;
  readonly baseUrl?: string | undefined;
  readonly apiMode?: string | undefined;
  readonly contextLength?: number | undefined;
  /** Of a server of the user's own, which no variable belongs to. */
  readonly apiKey?: string | undefined;
};

type ModelKey = "default" | "provider" | "base_url" | "api_key" | "api_mode" | "context_length";

export type SettingsPlan = {
  /** All of it goes before anything is set, and a new key is set last: no key ever stands beside another server's address. */
  readonly unset: readonly ModelKey[];
  readonly set: readonly (readonly [key: ModelKey, value: string | number])[];
};

/** True when what is set now (address, key, protocol, window) is not about the server that is wanted. */
export function isOtherServer(
  current: ModelConfig,
  before: ModelIdentity | undefined,
  wanted: Pick<WantedModel, "provider" | "baseUrl">,
  after: ModelIdentity,
): boolean {
  if (wanted.provider === undefined && wanted.baseUrl === undefined) return false;
  if (before === undefined) return current.provider !== "" || current.baseUrl !== "";
  if (wanted.baseUrl !== undefined) return plainAddress(before.baseUrl) !== plainAddress(after.baseUrl);
  return before.provider !== after.provider;
}

/** The section as it is meant to be. */
export function plannedModel(current: ModelConfig, wanted: WantedModel, isOther: boolean): ModelConfig {
  const { contextLength: oldLength, ...rest } = current;
  const kept = isOther ? { ...rest, provider: "", baseUrl: "", apiKey: "", apiMode: "" } : rest;
  const isSameModel = !isOther && current.default === wanted.model;
  const contextLength = wanted.contextLength ?? (isSameModel ? oldLength : undefined);
  return {
    ...kept,
    default: wanted.model,
    provider: wanted.provider ?? kept.provider,
    baseUrl: wanted.baseUrl ?? kept.baseUrl,
    apiMode: wanted.apiMode ?? kept.apiMode,
    apiKey: wanted.apiKey ?? kept.apiKey,
    ...(contextLength === undefined ? {} : { contextLength }),
  };
}

/** `hasLength`: config.yaml has a `context_length`, also one that does not count. */
export function settingsPlan(
  current: ModelConfig,
  planned: ModelConfig,
  { hasLength }: { readonly hasLength: boolean },
): SettingsPlan {
  const texts = [
    ["base_url", current.baseUrl, planned.baseUrl],
    ["api_mode", current.apiMode, planned.apiMode],
    ["provider", current.provider, planned.provider],
    ["default", current.default, planned.default],
  ] as const;
  const isKeyOther = planned.apiKey !== current.apiKey;
  const { contextLength } = planned;
  const isLengthNew = contextLength !== undefined && contextLength !== current.contextLength;
  return {
    unset: [
      ...(isKeyOther && current.apiKey !== "" ? (["api_key"] as const) : []),
      ...texts.flatMap(([key, was, will]) => (was !== "" && will === "" ? [key] : [])),
      ...(contextLength === undefined && hasLength ? (["context_length"] as const) : []),
    ],
    set: [
      ...texts.flatMap(([key, was, will]) => (will !== "" && was !== will ? [[key, will] as const] : [])),
      ...(isLengthNew ? ([["context_length", contextLength]] as const) : []),
      ...(isKeyOther && planned.apiKey !== "" ? ([["api_key", planned.apiKey]] as const) : []),
    ],
  };
}

/** Two ways to write one address are one address. */
function plainAddress(text: string): string {
  return text.trim().replace(/\/+$/, "").toLowerCase();
}
