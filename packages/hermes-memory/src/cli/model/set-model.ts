// `hermes model set`: changes the model of new conversations. `hermes setup` plans and saves its change with the same functions.
import { chmodSync, statSync } from "node:fs";
import type { ModelIdentity } from "@hermes-memory/agent/internal/models";
import {
  type ConfigChange,
  type ConfigError,
  configPath,
  type ModelConfig,
  setConfigValue,
  unsetConfigValue,
} from "@hermes-memory/core/internal/config";
import { isRecord, type Result } from "@hermes-memory/core/internal/lib";
import {
  type CommandBody,
  type CommandContext,
  CommandFailure,
  type CommandInput,
  failureOf,
  unwrap,
} from "../command.ts";
import { confirmed } from "../confirm.ts";
import { printable } from "../printing.ts";
import {
  choiceFailure,
  identityJson,
  isSameAddress,
  type ModelSources,
  modelSources,
  modelText,
  overridingNotes,
  type Resolved,
  resolveSettings,
} from "./resolution.ts";

/** A setting that is absent keeps its value, unless the server changes. */
export type RequestedModel = {
  readonly model: string;
  readonly provider?: string | undefined;
  readonly baseUrl?: string | undefined;
  readonly apiMode?: string | undefined;
  readonly contextLength?: number | undefined;
  /** For a server that is no known vendor, and so has no variable for its key. */
  readonly apiKey?: string | undefined;
};

type ModelKey = "default" | "provider" | "base_url" | "api_key" | "api_mode" | "context_length";

type SettingsPlan = {
  /** Removed before anything is set, and a new key is set last, so that no key is ever saved beside another server's address. */
  readonly unset: readonly ModelKey[];
  readonly set: readonly (readonly [key: ModelKey, value: string | number])[];
};

export const set: CommandBody = async (input, context) => {
  const requested = { ...modelFlagsOf(input), model: (input.args.model ?? "").trim() };
  if (requested.model === "") throw new CommandFailure("The model's name is empty.", { exitCode: 2 });
  const sources = await modelSources(context);
  const change = planChange(sources, requested);
  if (change.losesKey) await confirmDroppedKey(input, context);
  const { plan, resolved } = change;
  const { identity, hasKey } = resolved;
  const { path, written, removed } = await saveSettings(sources.home, plan, sources.config.raw.model);
  const changed = written.length + removed.length > 0;
  return {
    json: { success: true, ...identityJson(identity), changed, written, removed, has_key: hasKey, path },
    lines: [`${changed ? "The model is now" : "It was already"} ${modelText(identity)}.`],
    notes: [
      ...(removed.length === 0
        ? []
        : [`Removed, because it was about another model: ${removed.join(", ")}.`]),
      ...(hasKey ? [] : [resolved.problem.message, resolved.problem.hint].map(printable)),
      ...elsewhereNotes(sources, requested, identity.provider),
      ...overridingNotes(sources.env),
      ...(changed ? ["A conversation that is running keeps its model. 'hermes model test' tries it."] : []),
    ],
  };
};

/** The flags that describe a model. A blank one counts as absent. */
export function modelFlagsOf({ flags }: Pick<CommandInput, "flags">): Omit<RequestedModel, "model"> {
  const length = flags["context-length"];
  return {
    provider: textFlag(flags.provider),
    baseUrl: textFlag(flags["base-url"]),
    apiMode: textFlag(flags["api-mode"]),
    contextLength: typeof length === "number" ? length : undefined,
  };
}

export function textFlag(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
}

/** A key that stayed in config.yaml would be sent to the new server. It is removed only when the user agrees. */
export async function confirmDroppedKey(
  input: Pick<CommandInput, "flags">,
  context: CommandContext,
): Promise<void> {
  const why =
    "model.api_key in config.yaml is the key of the server that was set before; it has to be removed. Keep a copy if you need it.";
  const json = { removes: ["model.api_key"] };
  const untouched = "Nothing was changed";
  await confirmed({ list: [why], question: "Remove it?", json, isShort: true, untouched }, input, context);
}

/** `model set claude-...` while another server is configured: the user may have meant the vendor of that model. */
function elsewhereNotes(sources: ModelSources, requested: RequestedModel, provider: string): string[] {
  if (requested.provider !== undefined || requested.baseUrl !== undefined) return [];
  const blank = {
    ...sources.config.model,
    default: requested.model,
    provider: "",
    baseUrl: "",
    apiKey: "",
    apiMode: "",
  };
  const alone = resolveSettings({ ...sources, env: {} }, blank); // the vendor of the name alone, without regard to keys
  if (!alone.ok || alone.value.identity.provider === provider) return [];
  const other = alone.value.identity.provider;
  return [printable(`It still runs at ${provider}. For ${other}, add --provider ${other}.`)];
}

// From the requested model to the keys that are written

/**
 * Writes nothing. Ends the command when no server fits the request. `resolved` is what the settings lead to once they are written;
 * `losesKey`: the key of another server is in config.yaml and must be removed.
 */
export function planChange(sources: ModelSources, requested: RequestedModel) {
  const { config } = sources;
  const current = config.model;
  // Without a model name no server is resolved, so the requested name stands in.
  const present = resolveSettings(sources, { ...current, default: current.default || requested.model });
  const before = present.ok ? present.value.identity : undefined;
  const alone = resolveSettings(sources, plannedModel(current, requested, true));
  const isOther = alone.ok && isOtherServer(current, before, requested, alone.value.identity);
  const planned = plannedModel(current, requested, isOther);
  const resolved = unwrap(resolveSettings(sources, planned), (error) => choiceFailure(error, 2));
  const plan = settingsPlan(current, pinned(planned, resolved), {
    hasLength: isRecord(config.raw.model) && "context_length" in config.raw.model,
  });
  return { plan, resolved, losesKey: plan.unset.includes("api_key") && requested.apiKey === undefined };
}

/** A provider that was derived is written too: with other variables, the same name could lead to another one. */
function pinned(planned: ModelConfig, { identity }: Resolved): ModelConfig {
  const isOpen = planned.provider === "" || planned.provider.toLowerCase() === "auto";
  return isOpen ? { ...planned, default: identity.model, provider: identity.provider } : planned;
}

/** True when the current address, key, protocol and window belong to another server than the requested one. */
export function isOtherServer(
  current: ModelConfig,
  before: ModelIdentity | undefined,
  requested: Pick<RequestedModel, "provider" | "baseUrl">,
  after: ModelIdentity,
): boolean {
  if (requested.provider === undefined && requested.baseUrl === undefined) return false;
  if (before === undefined) return current.provider !== "" || current.baseUrl !== "";
  if (requested.baseUrl !== undefined) return !isSameAddress(before.baseUrl, after.baseUrl);
  return before.provider !== after.provider;
}

/** The `model` section after the change. */
export function plannedModel(current: ModelConfig, requested: RequestedModel, isOther: boolean): ModelConfig {
  const { contextLength: oldLength, ...rest } = current;
  const kept = isOther ? { ...rest, provider: "", baseUrl: "", apiKey: "", apiMode: "" } : rest;
  const isSameModel = !isOther && current.default === requested.model;
  const contextLength = requested.contextLength ?? (isSameModel ? oldLength : undefined);
  return {
    ...kept,
    default: requested.model,
    provider: requested.provider ?? kept.provider,
    baseUrl: requested.baseUrl ?? kept.baseUrl,
    apiMode: requested.apiMode ?? kept.apiMode,
    apiKey: requested.apiKey ?? kept.apiKey,
    contextLength,
  };
}

/** `hasLength`: config.yaml has a `context_length`, valid or not. */
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

const PRIVATE = 0o600;

/** Writes config.yaml key by key, so that comments stay. `raw` is the `model` key in the file: a section, or a name alone. */
export async function saveSettings(home: string, plan: SettingsPlan, raw: unknown) {
  const path = configPath(home);
  const done = (change: Result<ConfigChange, ConfigError>): ConfigChange =>
    unwrap(change, (error) => failureOf(error, "'hermes config check' lists every mistake."));
  if (typeof raw === "string" && plan.set.length > 0)
    done(await setConfigValue(home, "model", JSON.stringify({ default: raw })));
  for (const key of plan.unset) done(await unsetConfigValue(home, `model.${key}`));
  for (const [key, value] of plan.set) {
    if (key === "api_key") keepPrivate(path);
    done(await setConfigValue(home, `model.${key}`, JSON.stringify(value)));
  }
  return {
    path,
    written: plan.set.map(([key]) => `model.${key}`),
    removed: plan.unset.map((key) => `model.${key}`),
  };
}

/** Before a key is written. A new file is made with this mode. */
function keepPrivate(path: string): void {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats && (stats.mode & 0o077) !== 0) chmodSync(path, PRIVATE);
}
