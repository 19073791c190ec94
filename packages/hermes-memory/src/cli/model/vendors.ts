// The providers there are, as the commands show them, and whether a key is there.

import { knownProviders } from "@hermes-memory/agent/models";
import type { HermesConfig } from "@hermes-memory/core/config";
import type { Environment } from "./resolution.ts";

export type Vendor = {
  readonly name: string;
  readonly label: string;
  readonly isLocal: boolean;
  /** "" for the vendor's own. */
  readonly baseUrl: string;
  /** Where its key may be, the usual place first. None: it needs no key, or has it in config.yaml. */
  readonly variables: readonly string[];
  /** Some of its models, when we know any. */
  readonly models: readonly string[];
  /** From `custom_providers` in config.yaml. */
  readonly isOwn: boolean;
  readonly hasOwnKey: boolean;
};

/** Those that come along, then those of config.yaml. */
export function allVendors(config: HermesConfig): Vendor[] {
  const known = knownProviders().map(
    ({ name, label, envVars, isLocal, defaultBaseUrl, models = [] }): Vendor => ({
      name,
      label,
      isLocal,
      baseUrl: defaultBaseUrl,
      variables: envVars,
      models,
      isOwn: false,
      hasOwnKey: false,
    }),
  );
  const own = config.models.customProviders
    .filter(({ name, baseUrl }) => name !== "" && baseUrl !== "")
    .map(
      ({ name, baseUrl, apiKey, models }): Vendor => ({
        name: `custom:${name}`,
        label: name,
        isLocal: false,
        baseUrl,
        variables: [],
        models: Object.keys(models),
        isOwn: true,
        hasOwnKey: apiKey !== "",
      }),
    );
  return [...known, ...own];
}

/** The variable its key is in; undefined when there is none. */
export function keyVariable({ variables }: Vendor, env: Environment): string | undefined {
  return variables.find((name) => (env[name] ?? "").trim() !== "");
}
