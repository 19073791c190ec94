// Plans what goes into config.yaml and .env: the model, agent defaults, session reset, own model servers, and keys.
import { isDeepStrictEqual } from "node:util";
import { configPath, envFilePath, readEnvFile } from "@hermes-memory/core/internal/config";
import { isRecord } from "@hermes-memory/core/internal/lib";
import { type Json, listOf, numberOf, recordOf, textOf } from "../transcripts/kit/values.ts";
import { type PlanContext, type PlannedItem, planned } from "./plan-context.ts";
import { ENV_ALLOWLIST, type FoundKeys, isKnownServer, providerKeys, telegramToken } from "./secrets.ts";

type Setting = { readonly key: string; readonly value: unknown };

// ---- config.yaml ----

export function planModel(context: PlanContext): PlannedItem[] {
  const defaults = agentDefaults(context);
  const model = textOf(defaults.model) ?? textOf(recordOf(defaults.model)?.primary);
  const value = model && modelOfAlias(model, recordOf(defaults.models) ?? {});
  return planSettings(context, "model-config", given([["model.default", value]]));
}

/** `models` has the API's ids as keys, and the alias as a text or as `{alias}`. */
function modelOfAlias(name: string, models: Json): string {
  const found = Object.entries(models).find(
    ([, entry]) => (textOf(recordOf(entry)?.alias) ?? textOf(entry)) === name,
  );
  return Object.hasOwn(models, name) ? name : (found?.[0] ?? name);
}

const SECONDS_PER_TURN = 10;
const MOST_TURNS = 200;
const EFFORT: Readonly<Record<string, string>> = {
  always: "high",
  high: "high",
  xhigh: "high",
  auto: "medium",
  medium: "medium",
  adaptive: "medium",
  off: "low",
  low: "low",
  none: "low",
  minimal: "low",
};

export function planAgentDefaults(context: PlanContext): PlannedItem[] {
  const defaults = agentDefaults(context);
  const compaction = recordOf(defaults.compaction) ?? {};
  const delay = recordOf(defaults.humanDelay) ?? {};
  const docker = recordOf(recordOf(defaults.sandbox)?.docker);
  const timeout = numberOf(defaults.timeoutSeconds);
  const turns =
    timeout === undefined ? undefined : Math.min(MOST_TURNS, Math.floor(timeout / SECONDS_PER_TURN));
  const mode = textOf(compaction.mode);
  const settings = given([
    ["agent.max_turns", turns !== undefined && turns > 0 ? turns : undefined],
    ["agent.verbose", defaults.verboseDefault],
    ["agent.reasoning_effort", EFFORT[textOf(defaults.thinkingDefault) ?? ""]],
    ["compression.enabled", mode === undefined ? undefined : mode !== "off"],
    ["auxiliary.compression.model", textOf(compaction.model)],
    ["human_delay.mode", textOf(delay.mode)],
    ["human_delay.min_ms", numberOf(delay.minMs)],
    ["human_delay.max_ms", numberOf(delay.maxMs)],
    ["timezone", textOf(defaults.userTimezone)],
    ["terminal.backend", docker === undefined ? undefined : "docker"],
    ["terminal.docker_image", textOf(docker?.image)],
  ]);
  return planSettings(context, "agent-config", settings);
}

export function planSessionConfig(context: PlanContext): PlannedItem[] {
  const session = recordOf(context.source.config.session) ?? {};
  const reset = recordOf(session.reset);
  const settings =
    reset === undefined
      ? given([["session_reset.mode", triggersMode(listOf(session.resetTriggers))]])
      : given([
          ["session_reset.mode", textOf(reset.mode) ?? "none"],
          ["session_reset.at_hour", numberOf(reset.atHour)],
          ["session_reset.idle_minutes", numberOf(reset.idleMinutes)],
        ]);
  return planSettings(context, "session-config", settings);
}

function triggersMode(triggers: readonly unknown[]): string | undefined {
  const known = ["daily", "idle"].filter((mode) => triggers.includes(mode));
  return known.length === 2 ? "both" : known[0];
}

export function planProviders(context: PlanContext): PlannedItem[] {
  const kind = "full-providers";
  const { source, deps, request } = context;
  const providers = Object.entries(recordOf(recordOf(source.config.models)?.providers) ?? {});
  const keys = request.withSecrets ? providerKeys(source).servers : undefined;
  const own = providers.flatMap(([name, entry]) => {
    const base = textOf(recordOf(entry)?.baseUrl);
    if (base === undefined || isKnownServer(name)) return [];
    const isAnthropic = textOf(recordOf(entry)?.api)?.includes("anthropic") ?? false;
    const mode = isAnthropic ? "anthropic_messages" : "chat_completions";
    const models = modelsOf(listOf(recordOf(entry)?.models));
    return [{ name, base_url: base, api_key: keys?.get(name) ?? "", api_mode: mode, ...models }];
  });
  const present = listOf(deps.config.raw.custom_providers).filter(isRecord);
  const compared = own.map((entry) => {
    const there = present.find(({ name }) => name === entry.name);
    const isConflict = there !== undefined && there.base_url !== entry.base_url;
    // A server that an earlier run without --migrate-secrets added gets its key now.
    const isWithoutKey = entry.api_key !== "" && (textOf(there?.api_key) ?? "") === "";
    return { entry, isConflict, isNew: there === undefined || (!isConflict && isWithoutKey) };
  });
  const conflicting = compared.filter(({ isConflict }) => isConflict).map(({ entry }) => entry.name);
  const added = compared
    .filter(({ isConflict, isNew }) => isNew || (isConflict && request.isOverwriting))
    .map(({ entry }) => entry);
  const where = { source: source.configPath, destination: configPath(request.home) };
  if (own.length === 0) return [planned(kind, "skipped", "No own model servers in the OpenClaw config")];
  if (own.some(({ base_url: url }) => context.redactor.text(url) !== url))
    return [planned(kind, "skipped", "A server's address holds a credential; add it by hand", where)];
  const names = added.map(({ name }) => name);
  const details = {
    added: names,
    keys_of: added.filter(({ api_key: key }) => key !== "").map(({ name }) => name),
    conflicting: request.isOverwriting ? [] : conflicting,
  };
  if (added.length === 0 && conflicting.length > 0)
    return [planned(kind, "conflict", "Servers of these names have other addresses", { ...where, details })];
  if (added.length === 0)
    return [planned(kind, "skipped", "All servers are already there", { ...where, details })];
  const value = [...present.filter(({ name }) => !names.includes(String(name))), ...added];
  const operation = { action: "set-config" as const, changes: [{ key: "custom_providers", value }] };
  return [planned(kind, "migrated", "Would add servers", { ...where, details, operation })];
}

/** The windows of its models, as `custom_providers` has them. */
function modelsOf(list: readonly unknown[]): { readonly models?: Json } {
  const models = list.flatMap((entry) => {
    const id = textOf(recordOf(entry)?.id);
    const window = numberOf(recordOf(entry)?.contextWindow);
    return id === undefined ? [] : [[id, window === undefined ? {} : { context_length: window }] as const];
  });
  return models.length === 0 ? {} : { models: Object.fromEntries(models) };
}

function agentDefaults({ source }: PlanContext): Json {
  return recordOf(recordOf(source.config.agents)?.defaults) ?? {};
}

function given(pairs: readonly (readonly [string, unknown])[]): Setting[] {
  return pairs.flatMap(([key, value]) => (value === undefined || value === null ? [] : [{ key, value }]));
}

/** Settings that are equal are left alone, other values conflict. */
function planSettings(
  { request, deps, source }: PlanContext,
  kind: string,
  settings: readonly Setting[],
): PlannedItem[] {
  if (settings.length === 0) return [planned(kind, "skipped", "The OpenClaw config has none of it")];
  const present = (key: string): unknown => valueAt(deps.config.raw, key.split("."));
  const { changes, details, status } = compared(settings, present, request);
  const reason = {
    migrated: "Would set these keys",
    conflict: "config.yaml already has different values",
    skipped: "All settings are already there",
  }[status];
  const operation = changes.length > 0 ? { action: "set-config" as const, changes } : undefined;
  const where = { source: source.configPath, destination: configPath(request.home) };
  return [planned(kind, status, reason, { ...where, details, operation })];
}

/** What a run sets, and what conflicts with a value that is there. */
function compared<T>(
  settings: readonly { readonly key: string; readonly value: T }[],
  present: (key: string) => unknown,
  { isOverwriting }: PlanContext["request"],
) {
  const differing = settings.filter(({ key, value }) => !isDeepStrictEqual(present(key), value));
  const conflicts = differing.filter(({ key }) => (present(key) ?? "") !== "");
  const changes = isOverwriting ? differing : differing.filter((each) => !conflicts.includes(each));
  const details = {
    added_keys: changes.map(({ key }) => key).sort(),
    conflicting_keys: isOverwriting ? [] : conflicts.map(({ key }) => key).sort(),
  };
  const status: "migrated" | "conflict" | "skipped" =
    changes.length > 0 ? "migrated" : conflicts.length > 0 ? "conflict" : "skipped";
  return { changes, details, status };
}

/** `model: name` is short for `model.default`. */
function valueAt(raw: Readonly<Record<string, unknown>>, path: readonly string[]): unknown {
  let value: unknown = raw;
  for (const [index, part] of path.entries()) {
    if (typeof value === "string" && index === path.length - 1 && part === "default") return value;
    if (!isRecord(value)) return undefined;
    value = value[part];
  }
  return value;
}

// ---- .env ----

export function planSecretSettings(context: PlanContext): PlannedItem[] {
  return planKeys(context, "secret-settings", telegramToken(context.source), ["TELEGRAM_BOT_TOKEN"]);
}

export function planProviderKeys(context: PlanContext): PlannedItem[] {
  return planKeys(context, "provider-keys", providerKeys(context.source), ENV_ALLOWLIST);
}

function planKeys(
  { request, source }: PlanContext,
  kind: string,
  { values, servers = new Map(), unresolved }: FoundKeys,
  targets: readonly string[],
): PlannedItem[] {
  const destination = envFilePath(request.home);
  const where = { source: source.root, destination };
  const ofServers = [...servers.keys()].filter((name) => !isKnownServer(name));
  if (!request.withSecrets) {
    const found = values.size + ofServers.length;
    const details = { supported_targets: targets, keys_found: found };
    const reason = found > 0 ? "Pass --migrate-secrets to import keys" : "No keys found";
    return [planned(kind, "skipped", reason, { ...where, details })];
  }
  const elsewhere = unresolved.map(({ name, reason }) =>
    planned(kind, "skipped", `The key of '${name}' is not imported: ${reason}`, {
      source: source.configPath,
    }),
  );
  const file = readEnvFile(destination);
  if (!file.ok) return [planned(kind, "error", file.error.message, where), ...elsewhere];
  const usable = [...values].flatMap(([key, value]) => (ENV_ALLOWLIST.includes(key) ? [{ key, value }] : []));
  const { changes, details, status } = compared(usable, (key) => file.value.values.get(key), request);
  const none =
    ofServers.length === 0 ? "No keys found" : "The keys of own model servers are in custom_providers";
  const reason = {
    migrated: "Would set these variables",
    conflict: "Destination .env already has different values",
    skipped: usable.length === 0 ? none : "All env values already present",
  }[status];
  const added = new Map(changes.map(({ key, value }) => [key, value]));
  const operation = changes.length > 0 ? { action: "set-env" as const, values: added } : undefined;
  return [planned(kind, status, reason, { ...where, details, operation }), ...elsewhere];
}
