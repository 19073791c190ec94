// The external provider in `hermes memory status`, and the list of `hermes memory providers`. Code of a user's plugin does not run
// here: the result of its last run is shown instead.
import { statSync } from "node:fs";
import { envFilePath, readEnvFile, useEnvFile } from "@hermes-memory/core/internal/config";
import {
  formatUsage,
  listBackups,
  MEMORY_TARGETS,
  type MemoryStore,
  type MemoryTarget,
  readPendingWrites,
  targetPaths,
} from "@hermes-memory/core/internal/curated";
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
  loadProvider,
  type MemoryProvider,
  type ProviderHealth,
  readProviderHealth,
  readSettings,
  variableOf,
} from "@hermes-memory/core/internal/providers";
import { redactSecrets } from "@hermes-memory/core/internal/security";
import { unreadableOutboxes } from "@hermes-memory/providers/internal";
import type { CommandBody, CommandContext } from "../../command.ts";
import { printable } from "../../printing.ts";
import { render } from "../../render.ts";
import { memoryDirectory, openStore, type PinView, stagedWritesOf, viewPins } from "../memory-command.ts";
import { lanesIn } from "./outbox.ts";
import { activeName, hintOf, providerSection, type Settings } from "./run-provider.ts";

type Variable = {
  readonly key: string;
  readonly variable: string;
  readonly is_set: boolean;
  /** Of one that is set and is no secret. */
  readonly value?: string;
  readonly required: boolean;
  readonly url?: string;
};

type Checked = {
  /** As recorded, `checked_at` says when; it is absent when this command checked the provider. */
  readonly availability: (Availability & { readonly checked_at?: string }) | null;
  /**
   * For an unavailable bundled provider, every variable that setup knows; for an available one, those that are set to something else than
   * its settings say. For a user's plugin, those that its `plugin.yaml` requires or that it asked for when it was last run.
   */
  readonly variables?: readonly Variable[];
  readonly reported?: Settings;
  readonly backupPaths?: readonly string[];
};

/** The fields of `hermes memory status` that are about external memory. */
async function providerStatus(context: CommandContext) {
  const { home } = context.memory;
  const name = await activeName(context);
  const { providers: all, warnings } = await findProviders(home);
  useEnvFile(home);
  const rows = [];
  for (const found of all) rows.push({ ...listed(found, name), hint: await hintOf(home, found) });
  const found = all.find((each) => each.name === name);
  const active = name === "" ? null : await describeActive(context.memory, name, found);
  context.io.endWithoutWaiting();
  return {
    provider: active?.name ?? null,
    provider_status: active,
    outbox: ifReadable(() => lanesIn(home, name)),
    outbox_problems: unreadableOutboxes(home),
    providers: rows,
    provider_warnings: warnings,
  };
}

export async function describeActive(memory: Home, name: string, found: FoundProvider | undefined) {
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
    /** What a backup of this memory needs; null when the provider does not tell or its code is not run here. */
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
  return [...named, ...told.map((name) => ({ name, url: "" }))].map(({ name, url }) => {
    const is_set = variableValue(home, name) !== "";
    return { key: name, variable: name, is_set, required: true, url: url || undefined };
  });
}

function variablesOf(home: string, name: string, provider: MemoryProvider): Variable[] {
  return fieldsOf(provider).fields.flatMap((field): Variable[] => {
    const variable = variableOf(name, field);
    if (variable === undefined) return [];
    const { key, url, required, secret } = field;
    const set = variableValue(home, variable);
    const is_set = set !== "";
    const value = is_set && secret !== true && !SECRET_WORD.test(key) ? set : undefined;
    return [{ key, variable, is_set, value, required: required === true, url }];
  });
}

/** "" when it is not set. */
function variableValue(home: string, variable: string): string {
  const file = readEnvFile(envFilePath(home));
  return process.env[variable] || (file.ok ? (file.value.values.get(variable) ?? "") : "");
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
  return presentable({ ...section, ...readSettings(memory.home, `${name}.json`).values, ...reported });
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

// `hermes memory providers`

export const providers: CommandBody = async (_input, context) => {
  const { home } = context.memory;
  const active = await activeName(context);
  const { providers: all, warnings } = await findProviders(home);
  useEnvFile(home);
  const rows = [];
  for (const found of all) rows.push({ ...listed(found, active), ...(await availabilityOf(home, found)) });
  const isKnown = active === "" || rows.some(({ name }) => name === active);
  context.io.endWithoutWaiting();
  return {
    json: { success: true, active: active === "" ? null : active, providers: rows, warnings },
    lines: render(
      rows.map(({ name, source, active: isActive, problem, available, reason, description }) => ({
        ...{ name, source, active: isActive },
        about: problem ?? (available === false ? `not available: ${reason}` : description),
      })),
      context.io.paint,
    ),
    notes: isKnown ? [] : [printable(`memory.provider is '${active}', which is not installed.`)],
  };
};

function listed({ name, source, manifest, directory, problem }: FoundProvider, active: string) {
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

// `hermes memory status` and `path`.

export const path: CommandBody = (input, context) => {
  const directory = memoryDirectory(input, context);
  return { json: { path: directory }, lines: [directory] };
};

export const status: CommandBody = async (input, context) => {
  const { writeApproval, overflow } = await context.memory.memoryConfig();
  const store = await openStore(input, context);
  const pins = viewPins(store);
  const { pendingDirectory } = stagedWritesOf(input, context);
  const { home, profile } = context.home;
  const curated = {
    home,
    profile,
    directory: store.dir,
    targets: Object.fromEntries(MEMORY_TARGETS.map((target) => [target, describe(store, target, pins)])),
    write_approval: writeApproval,
    pending: pendingDirectory === undefined ? null : readPendingWrites(pendingDirectory).records.length,
    overflow,
  };
  const external = await providerStatus(context);
  const providers = external.providers.map(({ name, source, active, problem, hint }) => {
    return { name, source, active, about: problem ?? hint };
  });
  const told = { ...external, provider: external.provider ?? "none", provider_warnings: [], providers };
  return {
    json: { ...curated, ...external },
    lines: render({ ...curated, ...told }, context.io.paint),
    notes: [...store.warnings, ...pins.notes, ...external.provider_warnings.map(printable)],
  };
};

function describe(store: MemoryStore, target: MemoryTarget, pins: PinView): object {
  const { used, limit, warning } = store.usage(target);
  const paths = targetPaths(store.dir, target);
  const entries = store.entries(target);
  const history = store.history({ target });
  return {
    enabled: store.isEnabled(target),
    entries: entries.length,
    usage: formatUsage({ used, limit }),
    used_chars: used,
    char_limit: limit,
    warning,
    file_bytes: sizeOf(paths.file),
    blocked: store.blockedEntries(target).length,
    pinned: entries.filter((entry) => pins.isPinned(target, entry)).length,
    archived: store.archived(target).length,
    backups: listBackups(paths.file).length,
    journal_bytes: sizeOf(paths.journal) ?? 0,
    changes: history.filter(({ status: state }) => state !== "refused").length,
    refusals: history.filter(({ status: state }) => state === "refused").length,
  };
}

function sizeOf(file: string): number | null {
  return statSync(file, { throwIfNoEntry: false })?.size ?? null;
}
