// The external provider in `hermes memory status`, and the list of `hermes memory providers`. Code of a user's plugin does not run
// here: the result of its last run is shown instead.
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { envFilePath, readEnvFile, useEnvFile } from "@hermes-memory/core/internal/config";
import { groupThousands, isRecord } from "@hermes-memory/core/internal/lib";
import type { Home } from "@hermes-memory/core/internal/memory";
import {
  type Availability,
  backupPathsOf,
  checkAvailability,
  currentSettings,
  type FoundProvider,
  fieldsOf,
  findProviders,
  type HookCounts,
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
import { counted, localTime, oneLine, printable } from "../../printing.ts";
import { activeName, hintOf, providerSection, type Settings } from "./find-provider.ts";
import { activeLaneLines, type LaneJson, lanesIn, otherLaneLines, troubleOf } from "./outbox-state.ts";

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

// The status as lines. Control characters in a plugin's text are escaped.

const TEXT_CHARS = 700;

export function statusLines(status: ProviderStatus, paint: Paint): string[] {
  const { active, providers } = status;
  const width = Math.max(...providers.map(({ name }) => name.length));
  return [
    row("provider", active === null ? "none" : shown(active.name)),
    ...(active === null ? [] : activeLines(active, status, paint)),
    ...otherLaneLines(status.outbox, row, paint),
    ...status.outboxTroubles.map(({ problem, remedy }) =>
      row("outbox", `${paint("yellow", printable(problem))} ${printable(remedy)}`),
    ),
    "",
    paint("bold", "Providers"),
    ...providers.map((provider) => {
      const { hint, problem } = provider;
      return listLine(provider, width, problem === undefined ? shown(hint) : paint("yellow", shown(problem)));
    }),
  ];
}

function activeLines(
  active: ActiveProvider,
  { pluginsDirectory: plugins, outbox }: Pick<ProviderStatus, "pluginsDirectory" | "outbox">,
  paint: Paint,
): string[] {
  const settings = Object.entries(active.settings);
  const lanes = outbox.filter((lane) => lane.active);
  const connection = currentConnection(active.health, lanes);
  const isTold = (message: string): boolean =>
    [connection?.message, ...lanes.map(troubleOf)].some((told) => saysTheSame(told, message));
  return [
    row("  installed", installedText(active, plugins, paint)),
    ...(active.installed && active.problem === undefined
      ? [row("  available", availabilityText(active.availability, paint))]
      : []),
    ...(active.variables ?? []).map((variable) => row("  variable", variableText(variable, paint))),
    ...settings.map(([key, value]) => row("  setting", `${shown(key)}: ${shown(asText(value))}`)),
    ...(connection === undefined ? [] : [row("  connection", connectionText(connection, paint))]),
    ...activeLaneLines(outbox, row, paint),
    ...(active.health === null ? [] : healthLines(active.health, paint, isTold)),
  ];
}

/** Undefined when a lane tells the same error, or when something was delivered after a check that failed. */
function currentConnection(
  health: ProviderHealth | null,
  lanes: readonly LaneJson[],
): ProviderHealth["connection"] {
  const connection = health?.connection;
  if (connection === undefined || connection.ok) return connection;
  const isOver = lanes.some(({ last_delivery_at }) => (last_delivery_at ?? "") > connection.checked_at);
  const isTold = lanes.some((lane) => saysTheSame(troubleOf(lane), connection.message));
  return isOver || isTold ? undefined : connection;
}

/** The same error has other words before it when another call met it. */
function saysTheSame(one: string | undefined, other: string): boolean {
  if (one === undefined) return false;
  const [a, b] = [one, other].map((text) =>
    text
      .replace(/^.*?failed: /s, "")
      .replace(/ [A-Z]+ \/\S* /, " ") // the request that met it
      .replace(/[.\s]+$/, ""),
  );
  return a !== undefined && b !== undefined && a !== "" && b !== "" && (a.includes(b) || b.includes(a));
}

function connectionText(
  { ok: isReached, message, checked_at }: NonNullable<ProviderHealth["connection"]>,
  paint: Paint,
): string {
  const when = ` (${localTime(checked_at)}; 'hermes doctor --network' checks it again)`;
  return `${isReached ? shown(message) : `${paint("red", "failed:")} ${shown(message)}`}${when}`;
}

function installedText(
  { source, directory, problem, installed: isThere, name }: ActiveProvider,
  plugins: string,
  paint: Paint,
): string {
  if (!isThere) {
    const place = isProviderName(name)
      ? `put it into ${join(plugins, name)}, or`
      : "no provider can have this name;";
    const remedy = `${place} choose another with 'hermes memory setup'`;
    return `${paint("red", "no:")} ${printable(remedy)}`;
  }
  if (problem !== undefined) return paint("red", shown(problem));
  return source === "bundled" ? "yes, bundled" : `yes, in ${printable(directory ?? plugins)}`;
}

function availabilityText(known: KnownAvailability | null, paint: Paint): string {
  if (known === null) return "not checked yet; 'hermes memory test' checks it";
  const { available, reason, checked_at, checked_by } = known;
  const when =
    checked_at === undefined
      ? ""
      : ` (${localTime(checked_at)}, by ${checked_by}; 'hermes memory test' checks it again)`;
  if (available) return `yes${when}`;
  return `${paint("red", "no:")} ${shown(reason ?? "it gives no reason")}${when}`;
}

function variableText({ variable, is_set, value, required, url }: Variable, paint: Paint): string {
  if (is_set)
    return value === undefined ? `${variable} is set` : `${variable} is ${shown(redactSecrets(value))}`;
  return `${variable} ${required ? paint("yellow", "is not set") : "is not set (optional)"}${url === undefined ? "" : `, see ${shown(url)}`}`;
}

function healthLines(health: ProviderHealth, paint: Paint, isTold: (message: string) => boolean): string[] {
  const { texts, dropped_tasks, stray_errors, last_error } = health;
  const changed = [
    ...(texts.cut > 0 ? [`${texts.cut} cut to the limit`] : []),
    ...(texts.unfenced > 0 ? [`${texts.unfenced} with fences of their own`] : []),
    ...(texts.blocked > 0 ? [counted(texts.blocked, "paragraph kept out", "paragraphs kept out")] : []),
  ];
  const dropped = counted(dropped_tasks, "background task");
  const stray = `${counted(stray_errors, "error")} in work that was not awaited`;
  const hooks = Object.entries(health.hooks).filter(([, counts]) => counts.calls + counts.skipped > 0);
  return [
    ...(hooks.length > 0 ? [row("  counted", `since ${localTime(health.since)}`)] : []),
    ...hooks.map(([hook, counts]) => row("  calls", `${shown(hook)} ${callsText(counts, paint)}`)),
    ...(changed.length > 0 ? [row("  texts", paint("yellow", changed.join(", ")))] : []),
    ...(dropped_tasks > 0 ? [row("  dropped", paint("yellow", dropped))] : []),
    ...(stray_errors > 0 ? [row("  stray", paint("yellow", stray))] : []),
    ...(last_error === undefined || isTold(last_error.message)
      ? []
      : [row("  last error", errorText(last_error))]),
  ];
}

function errorText({ at, hook, message }: NonNullable<ProviderHealth["last_error"]>): string {
  return `${localTime(at)}  ${shown(hook)}: ${shown(message)}`;
}

function callsText(
  { calls, failures, timeouts, skipped, total_ms, max_ms }: HookCounts,
  paint: Paint,
): string {
  const bad = [
    ...(failures > 0 ? [`${failures} failed`] : []),
    ...(timeouts > 0 ? [`${timeouts} timed out`] : []),
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
  ];
  const times =
    calls > 0 ? `, ${Math.round(total_ms / calls)} ms on average, ${Math.round(max_ms)} ms at most` : "";
  return `${groupThousands(calls)}${times}${bad.length > 0 ? `, ${paint("red", bad.join(", "))}` : ""}`;
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

function shown(text: string): string {
  return oneLine(text, TEXT_CHARS);
}

function row(name: string, value: string): string {
  return `${name.padEnd(15)} ${value}`;
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
    lines: listLines(rows, context.io.paint),
    notes: [
      ...warnings.map((warning) => `warning: ${printable(warning)}`),
      ...(isKnown ? [] : [printable(`memory.provider is '${active}', which is not installed.`)]),
    ],
  };
};

function listed(
  { name, source, manifest, directory, problem }: FoundProvider,
  active: string,
): ListedProvider {
  return { name, source, description: manifest.description, active: name === active, directory, problem };
}

function listLines(rows: readonly (ListedProvider & Partial<Availability>)[], paint: Paint): string[] {
  const width = Math.max(...rows.map(({ name }) => name.length));
  return rows.map((row) => {
    const { description, problem, available, reason } = row;
    const trouble =
      problem ?? (available === false ? `not available: ${reason ?? "no reason given"}` : undefined);
    const about =
      trouble === undefined ? oneLine(description, 100) : paint("yellow", oneLine(trouble, TEXT_CHARS));
    return listLine(row, width, about);
  });
}

function listLine({ active, name, source }: ListedProvider, width: number, about: string): string {
  return `${active ? "*" : " "} ${name.padEnd(width)}  ${source.padEnd(7)}  ${about}`.trimEnd();
}

/** For bundled providers only: checking a user's plugin would run its code. */
async function availabilityOf(home: string, { name, source }: FoundProvider): Promise<Partial<Availability>> {
  if (source !== "bundled") return {};
  const loaded = await loadProvider(home, name);
  return loaded.ok
    ? checkAvailability(loaded.value.provider)
    : { available: false, reason: loaded.error.message };
}
