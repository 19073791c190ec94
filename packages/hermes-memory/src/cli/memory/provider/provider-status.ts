// The external provider in `hermes memory status`, and the list of `hermes memory providers`. Code of a user's plugin does not run
// here: the result of its last run is shown instead.
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { envFilePath, readEnvFile, useEnvFile } from "@hermes-memory/core/internal/config";
import { isRecord } from "@hermes-memory/core/internal/lib";
import type { Home } from "@hermes-memory/core/internal/memory";
import {
  type Availability,
  backupPathsOf,
  checkAvailability,
  currentSettings,
  type FoundProvider,
  fieldsOf,
  findProviders,
  ifReadable,
  isProviderName,
  loadProvider,
  type MemoryProvider,
  type ProviderHealth,
  pluginsDirectory,
  readProviderHealth,
  variableOf,
} from "@hermes-memory/core/internal/providers";
import { redactSecrets } from "@hermes-memory/core/internal/security";
import { unreadableOutboxes } from "@hermes-memory/providers/internal";
import type { CommandBody, CommandContext, Paint } from "../../command.ts";
import { printable } from "../../printing.ts";
import { render } from "../../render.ts";
import { activeName, hintOf, providerSection, type Settings } from "./find-provider.ts";
import { hasItems, type LaneJson, lanesIn } from "./outbox-state.ts";

/** `checked_at` is absent when the provider was checked by this command. */
type KnownAvailability = {
  readonly available: boolean;
  readonly reason?: string;
  readonly checked_at?: string;
  readonly checked_by?: "setup" | "test" | "activation";
};

type Variable = {
  readonly key: string;
  readonly variable: string;
  readonly is_set: boolean;
  /** Of one that is set and is no secret. */
  readonly value?: string;
  readonly required: boolean;
  readonly url?: string;
};

type ActiveProvider = {
  readonly name: string;
  readonly installed: boolean;
  readonly source?: FoundProvider["source"];
  readonly directory?: string;
  readonly problem?: string;
  readonly settings: Settings;
  readonly availability: KnownAvailability | null;
  /**
   * For an unavailable bundled provider, every variable that setup knows; for an available one, those that are set to something else than
   * its settings say. For a user's plugin, those that its `plugin.yaml` requires or that it asked for when it was last run.
   */
  readonly variables?: readonly Variable[];
  readonly health: ProviderHealth | null;
  /** What a backup of this memory needs; null when the provider does not tell or its code is not run here. */
  readonly backup_paths: readonly string[] | null;
};

type Checked = Pick<ActiveProvider, "availability" | "variables"> & {
  readonly reported?: Settings;
  readonly backupPaths?: readonly string[];
};

type ListedProvider = {
  readonly name: string;
  readonly source: FoundProvider["source"];
  readonly description: string;
  readonly active: boolean;
  readonly directory?: string;
  readonly problem?: string;
};

type ProviderStatus = {
  readonly active: ActiveProvider | null;
  readonly providers: readonly (ListedProvider & { readonly hint: string })[];
  readonly warnings: readonly string[];
  readonly pluginsDirectory: string;
  readonly outbox: readonly LaneJson[];
  readonly outboxTroubles: ReturnType<typeof unreadableOutboxes>;
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
  return {
    active,
    providers: rows,
    warnings,
    pluginsDirectory: pluginsDirectory(home),
    outbox: ifReadable(() => lanesIn(home, name)),
    outboxTroubles: unreadableOutboxes(home),
  };
}

async function describeActive(
  memory: Home,
  name: string,
  found: FoundProvider | undefined,
): Promise<ActiveProvider> {
  const { home } = memory;
  const health = readProviderHealth(home, name) ?? null;
  const { source, directory, problem } = found ?? {};
  const checked: Checked =
    source === "bundled"
      ? await checkBundled(home, name)
      : { availability: health?.availability ?? null, variables: requiredVariables(home, found, health) };
  return {
    name,
    installed: found !== undefined,
    source,
    directory,
    problem,
    settings: await settingsOf(memory, name, checked.reported),
    availability: checked.availability,
    variables: checked.variables?.length ? checked.variables : undefined,
    health,
    backup_paths: checked.backupPaths ?? null,
  };
}

async function checkBundled(home: string, name: string): Promise<Checked> {
  const loaded = await loadProvider(home, name);
  if (!loaded.ok) return { availability: { available: false, reason: loaded.error.message } };
  const { provider } = loaded.value;
  const reported = await currentSettings(provider, home);
  const backupPaths = await backupPathsOf(loaded.value, home);
  const availability = await checkAvailability(provider);
  const all = variablesOf(home, name, provider);
  const variables = availability.available
    ? all.filter(
        ({ is_set, key, value }) => is_set && (value === undefined || value !== asText(reported[key])),
      )
    : all;
  return { availability, reported, backupPaths, variables };
}

/** From `plugin.yaml`, and from the plugin's last run: a status does not run its code. */
function requiredVariables(
  home: string,
  found: FoundProvider | undefined,
  health: ProviderHealth | null,
): Variable[] {
  const named = found?.manifest.requiresEnv ?? [];
  const told = (health?.availability?.variables ?? []).filter(
    (variable) => !named.some(({ name }) => name === variable),
  );
  return [...named, ...told.map((name) => ({ name, url: "" }))].map(({ name, url }) => ({
    key: name,
    variable: name,
    is_set: isSet(home, name),
    required: true,
    url: url === "" ? undefined : url,
  }));
}

function variablesOf(home: string, name: string, provider: MemoryProvider): Variable[] {
  return fieldsOf(provider).fields.flatMap((field): Variable[] => {
    const variable = variableOf(name, field);
    if (variable === undefined) return [];
    const { key, url, required, secret } = field;
    const is_set = isSet(home, variable);
    const value =
      is_set && secret !== true && !SECRET_WORD.test(key) ? variableValue(home, variable) : undefined;
    return [{ key, variable, is_set, value, required: required === true, url }];
  });
}

function isSet(home: string, variable: string): boolean {
  return variableValue(home, variable) !== "";
}

/** "" when it is not set. */
function variableValue(home: string, variable: string): string {
  const file = readEnvFile(envFilePath(home));
  return process.env[variable] || (file.ok ? (file.value.values.get(variable) ?? "") : "");
}

// The same facts for a person: counters that are zero and users for whom nothing waits are left out.

export function statusLines(status: ProviderStatus, paint: Paint): string[] {
  const { active, providers, pluginsDirectory: plugins, outbox } = status;
  const told = {
    remedy: active === null ? undefined : remedyOf(active, plugins),
    provider_status:
      active === null ? undefined : { ...active, name: undefined, health: toldHealth(active, outbox) },
    outbox: outbox.filter(
      (lane) => (lane.active && lane.user === null) || hasItems(lane) || lane.refused > 0,
    ),
    outbox_problems: status.outboxTroubles,
    providers: providers.map((each) => ({ ...listedLine(each), about: each.problem ?? each.hint })),
  };
  return [`${"provider".padEnd(15)} ${printable(active?.name ?? "none")}`, ...render(told, paint)];
}

function listedLine({ name, source, active }: ListedProvider): object {
  return { name, source, active };
}

function remedyOf(
  { installed, name, availability, problem }: ActiveProvider,
  plugins: string,
): string | undefined {
  if (!installed) {
    const place = isProviderName(name)
      ? `Put it into ${join(plugins, name)}, or`
      : "No provider can have this name;";
    return `${place} choose another with 'hermes memory setup'.`;
  }
  if (problem !== undefined || availability?.available === true) return undefined;
  return "'hermes memory test' checks whether it is available.";
}

function toldHealth({ health }: ActiveProvider, outbox: readonly LaneJson[]): object | undefined {
  if (health === null) return undefined;
  const { connection, hooks, texts, dropped_tasks, stray_errors, last_error, since } = health;
  // Something was delivered after a check that failed.
  const isOver = outbox.some(
    (lane) => lane.active && (lane.last_delivery_at ?? "") > (connection?.checked_at ?? ""),
  );
  const called = Object.entries(hooks).filter(([, { calls, skipped }]) => calls + skipped > 0);
  return {
    connection: isOver && connection?.ok === false ? undefined : connection,
    since,
    calls: called.map(([hook, { total_ms, max_ms, ...counts }]) => ({
      hook,
      ...counts,
      average_ms: counts.calls > 0 ? Math.round(total_ms / counts.calls) : 0,
      max_ms: Math.round(max_ms),
    })),
    texts: Object.fromEntries(Object.entries(texts).filter(([, count]) => count > 0)),
    dropped_tasks: dropped_tasks || undefined,
    stray_errors: stray_errors || undefined,
    last_error,
  };
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

// The provider's settings without secrets

const SECRET_NAME = /(key|token|secret|password|passwd|passphrase|credentials?|auth)$/i;
// Hides also `api_keys`, `auth_header` and `token_2`, but not a number such as `recall_max_tokens`.
const SECRET_WORD =
  /key(?!word)|token(?!iz)|secret|passw|passphrase|pwd|credential|auth(?!or)|authoriz|cookie|bearer/i;
const HIDDEN = "[hidden]";

/** `memory.<name>` of config.yaml, overridden by `<name>.json`, overridden by the provider's own report. */
async function settingsOf(memory: Home, name: string, reported: Settings = {}): Promise<Settings> {
  const section = await providerSection(memory, name);
  return presentable({ ...section, ...readJson(join(memory.home, `${name}.json`)), ...reported });
}

/** Hides secrets at any depth. */
function presentable(settings: Settings): Settings {
  return Object.fromEntries(
    Object.entries(settings).map(([key, value]) => [key, isSecret(key, value) ? HIDDEN : without(value)]),
  );
}

function isSecret(key: string, value: unknown): boolean {
  const isCount = typeof value === "number" || typeof value === "boolean";
  return (isCount ? SECRET_NAME : SECRET_WORD).test(key);
}

function without(value: unknown): unknown {
  if (typeof value === "string") return redactSecrets(value);
  if (Array.isArray(value)) return value.map(without);
  return isRecord(value) ? presentable(value) : value;
}

function readJson(path: string): Settings {
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8").replace(/^\ufeff/, ""));
    return isRecord(value) ? value : {};
  } catch {
    return {}; // missing, or in the provider's own format
  }
}

// `hermes memory providers`

export const providers: CommandBody = async (_input, context) => {
  const home = resolve(context.home.home);
  const active = await activeName(context);
  const { providers: all, warnings } = await findProviders(home);
  useEnvFile(home);
  const rows: (ListedProvider & Partial<Availability>)[] = [];
  for (const found of all) rows.push({ ...listed(found, active), ...(await availabilityOf(home, found)) });
  const isKnown = active === "" || rows.some(({ name }) => name === active);
  context.io.endWithoutWaiting();
  return {
    json: { success: true, active: active === "" ? null : active, providers: rows, warnings },
    lines: render(
      rows.map((row) => ({
        ...listedLine(row),
        about: row.problem ?? (row.available === false ? `not available: ${row.reason}` : row.description),
      })),
      context.io.paint,
    ),
    notes: isKnown ? [] : [printable(`memory.provider is '${active}', which is not installed.`)],
  };
};

function listed(
  { name, source, manifest, directory, problem }: FoundProvider,
  active: string,
): ListedProvider {
  return { name, source, description: manifest.description, active: name === active, directory, problem };
}

/** For bundled providers only: checking a user's plugin would run its code. */
async function availabilityOf(home: string, { name, source }: FoundProvider): Promise<Partial<Availability>> {
  if (source !== "bundled") return {};
  const loaded = await loadProvider(home, name);
  return loaded.ok
    ? checkAvailability(loaded.value.provider)
    : { available: false, reason: loaded.error.message };
}
