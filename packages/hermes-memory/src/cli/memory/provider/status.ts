// The external memory in `hermes memory status`: what is known without starting it. Of a user's plugin nothing is run; what
// was found out when it last ran is shown instead.
import { envFilePath, readEnvFile, useEnvFile } from "@hermes-memory/core/config";
import type { Memory } from "@hermes-memory/core/memory";
import {
  checkAvailability,
  currentSettings,
  type FoundProvider,
  fieldsOf,
  findProviders,
  loadProvider,
  type MemoryProvider,
  type ProviderHealth,
  pluginsDirectory,
  readProviderHealth,
  variableOf,
} from "@hermes-memory/core/providers";
import type { CommandContext } from "../../command.ts";
import { type ListedProvider, listed } from "./list.ts";
import { type Settings, settingsOf } from "./settings.ts";
import { hintOf } from "./setup-choice.ts";
import { activeName } from "./wanted.ts";

/** `checked_at` is absent when it was checked just now; the whole is null when it never was. */
export type KnownAvailability = {
  readonly available: boolean;
  readonly reason?: string;
  readonly checked_at?: string;
  readonly checked_by?: "setup" | "test" | "activation";
};

export type Variable = {
  readonly key: string;
  readonly variable: string;
  readonly is_set: boolean;
  readonly required: boolean;
  readonly url?: string;
};

export type ActiveProvider = {
  readonly name: string;
  readonly installed: boolean;
  readonly source?: FoundProvider["source"];
  readonly directory?: string;
  readonly problem?: string;
  readonly settings: Settings;
  readonly availability: KnownAvailability | null;
  /** Of a bundled provider that is not available: every variable it reads. Of a user's plugin: those its `plugin.yaml` requires. */
  readonly variables?: readonly Variable[];
  readonly health: ProviderHealth | null;
};

export type ProviderStatus = {
  readonly active: ActiveProvider | null;
  readonly providers: readonly (ListedProvider & { readonly hint: string })[];
  readonly warnings: readonly string[];
  readonly pluginsDirectory: string;
};

export async function providerStatus(context: CommandContext): Promise<ProviderStatus> {
  const { home } = context.memory;
  const name = await activeName(context);
  const { providers: all, warnings } = await findProviders(home);
  useEnvFile(home);
  const rows: (ListedProvider & { hint: string })[] = [];
  for (const found of all) rows.push({ ...listed(found, name), hint: await hintOf(home, found) });
  const found = all.find((each) => each.name === name);
  const active = name === "" ? null : await describeActive(context.memory, name, found);
  context.io.endWithoutWaiting();
  return { active, providers: rows, warnings, pluginsDirectory: pluginsDirectory(home) };
}

async function describeActive(
  memory: Memory,
  name: string,
  found: FoundProvider | undefined,
): Promise<ActiveProvider> {
  const { home } = memory;
  const health = readProviderHealth(home, name) ?? null;
  const { source, directory, problem } = found ?? {};
  const { told, ...checked } =
    source === "bundled"
      ? await checkBundled(home, name)
      : { availability: health?.availability ?? null, ...namedVariables(home, found) };
  return {
    name,
    installed: found !== undefined,
    ...(source === undefined ? {} : { source }),
    ...(directory === undefined ? {} : { directory }),
    ...(problem === undefined ? {} : { problem }),
    settings: await settingsOf(memory, name, told),
    ...checked,
    health,
  };
}

async function checkBundled(home: string, name: string): Promise<Checked> {
  const loaded = await loadProvider(home, name);
  if (!loaded.ok) return { availability: { available: false, reason: loaded.error.message } };
  const { provider } = loaded.value;
  const told = await currentSettings(provider, home);
  const availability = await checkAvailability(provider);
  if (availability.available) return { availability, told };
  return { availability, told, variables: variablesOf(home, name, provider) };
}

type Checked = Pick<ActiveProvider, "availability" | "variables"> & { readonly told?: Settings };

/** Read from `plugin.yaml`: the plugin's code is not run for a status. */
function namedVariables(home: string, found: FoundProvider | undefined): Pick<Checked, "variables"> {
  const required = found?.manifest.requiresEnv ?? [];
  if (required.length === 0) return {};
  const isSet = variableLookup(home);
  return {
    variables: required.map(({ name, url }) => ({
      key: name,
      variable: name,
      is_set: isSet(name),
      required: true,
      ...(url === "" ? {} : { url }),
    })),
  };
}

function variableLookup(home: string): (variable: string) => boolean {
  const file = readEnvFile(envFilePath(home));
  return (variable) => Boolean(process.env[variable] || (file.ok && file.value.values.get(variable)));
}

function variablesOf(home: string, name: string, provider: MemoryProvider): Variable[] {
  const isSet = variableLookup(home);
  return fieldsOf(provider).fields.flatMap((field): Variable[] => {
    const variable = variableOf(name, field);
    if (variable === undefined) return [];
    const { key, url } = field;
    return [
      {
        key,
        variable,
        is_set: isSet(variable),
        required: field.required === true,
        ...(url === undefined ? {} : { url }),
      },
    ];
  });
}
