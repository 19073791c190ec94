// get, set, unset, path.
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import {
  CONFIG_KEYS,
  configPath,
  findConfigKey,
  getConfigValue,
  isKnownSection,
  setConfigValue,
  unknownKey,
  unsetConfigValue,
} from "@hermes-memory/core/config";
import { ifUsable } from "@hermes-memory/core/memory";
import {
  type CommandBody,
  type CommandContext,
  CommandFailure,
  type CommandOutcome,
  failureOf,
  unwrap,
} from "../command.ts";
import { unread } from "./check.ts";
import { presentable } from "./secrets.ts";
import { at, effectiveSettings, type Setting, scalar, toNested, yamlLines } from "./settings.ts";

const CHECK = "Look at every mistake with 'hermes config check'.";

const HIDDEN_NOTE = "Secrets are hidden; --reveal prints them.";

type Show = (path: readonly string[], value: unknown) => unknown;

/** As it may be shown; the same for everybody who did not ask for secrets. */
function showing(isRevealed: boolean): { readonly show: Show; readonly notes: () => string[] } {
  let isAnyHidden = false;
  const show: Show = (path, value) => {
    if (isRevealed) return value;
    const shown = presentable(path, value);
    isAnyHidden ||= JSON.stringify(shown) !== JSON.stringify(value);
    return shown;
  };
  return { show, notes: () => (isAnyHidden ? [HIDDEN_NOTE] : []) };
}

export const get: CommandBody = async ({ args, flags }, context) => {
  const { key } = args;
  const isRevealed = flags.reveal === true;
  if (key !== undefined && !holdsSettings(key.split("."))) return getValue(key, isRevealed, context);
  const config = await context.memory.config();
  const all = effectiveSettings(config);
  const settings = all.filter((each) => key === undefined || each.key.startsWith(`${key}.`));
  // `mcp_servers: 5` says nothing to us, and is shown all the same.
  const isOther = key !== undefined && settings.length === 0 && at(config.raw, key.split(".")) != null;
  return isOther ? getValue(key, isRevealed, context) : section(settings, isRevealed, context);
};

/** False for `database` and `plugins` too, which nothing here reads: they are shown as the file has them. */
function holdsSettings(path: readonly string[]): boolean {
  const isRead = CONFIG_KEYS.some(({ key, kind }) => kind !== "unused" && key.split(".")[0] === path[0]);
  return isRead && isKnownSection(path);
}

async function getValue(key: string, isRevealed: boolean, context: CommandContext): Promise<CommandOutcome> {
  const found = unwrap(await getConfigValue(context.home.home, key), (error) => failureOf(error, CHECK));
  const unknown = unknownKey(key.split("."), found.source === "unset" ? undefined : found.value);
  if (found.source === "unset") {
    if (unknown !== undefined) throw notAKey(key, unknown.suggestion);
    return { json: { key, value: null, source: "unset" }, lines: [], notes: [`${key} is not set.`] };
  }
  const path = key.split(".");
  const config = await ifUsable(context.memory.config());
  const setting = config && effectiveSettings(config).find((each) => each.key === key);
  const given = found.source === "file" ? found : undefined;
  const counted = given?.isIgnored ? findConfigKey(path)?.default : (setting?.value ?? found.value);
  const { show, notes } = showing(isRevealed);
  const value = show(path, counted) ?? null;
  // A word in the file can mean something else than it says: `yes`, or a misspelt `treu`.
  const isOther = JSON.stringify(counted) !== JSON.stringify(found.value);
  const written = isOther ? show(path, found.value) : undefined;
  const source = given?.isIgnored ? (counted === undefined ? "unset" : "default") : found.source;
  return {
    json: {
      key,
      value,
      source,
      ...(given?.from === undefined ? {} : { from: given.from }),
      ...(isOther ? { in_file: written } : {}),
    },
    lines: counted === undefined ? [] : [typeof value === "string" ? value : scalar(value)],
    notes: [
      ...(found.source === "default" ? ["This is the default; config.yaml does not set it."] : []),
      ...(given?.from === undefined ? [] : [otherName(key, given.from)]),
      ...(given?.remark === undefined ? [] : [`${key} ${given.remark}.`]),
      ...(isOther && given?.remark === undefined
        ? [`config.yaml has ${scalar(written)}, which counts as ${scalar(value)}.`]
        : []),
      ...(unknown?.suggestion === undefined ? [] : [unread({ key, ...unknown })]),
      ...notes(),
    ],
  };
}

function otherName(key: string, from: string): string {
  const isShort = key.startsWith(`${from}.`);
  return `It is set by ${from}, ${isShort ? `which is short for ${key}` : `the old name of ${key}`}.`;
}

function section(
  effective: readonly Setting[],
  isRevealed: boolean,
  { home, io }: CommandContext,
): CommandOutcome {
  const { show, notes } = showing(isRevealed);
  const settings = effective.map((setting) => ({ ...setting, value: show(setting.path, setting.value) }));
  return {
    json: {
      path: resolve(configPath(home.home)),
      config: toNested(settings),
      set: settings.filter(({ isDefault }) => !isDefault).map(({ key }) => key),
      not_in_hermes: settings.filter(({ isOurs }) => isOurs).map(({ key }) => key),
    },
    lines: yamlLines(settings, io.paint),
    notes: notes(),
  };
}

export const set: CommandBody = async ({ args }, { home }) => {
  const change = unwrap(await setConfigValue(home.home, args.key ?? "", args.value ?? ""));
  const { key, changed, note, suggestion } = change;
  const value = presentable(key.split("."), change.value);
  const previous = presentable(key.split("."), change.previous);
  const before = previous === undefined ? "" : ` (before: ${scalar(previous)})`;
  return {
    json: {
      success: true,
      key,
      value: value ?? null,
      previous: previous ?? null,
      changed,
      path: resolve(change.path),
      ...(note === undefined ? {} : { note }),
      ...(suggestion === undefined ? {} : { suggestion }),
    },
    lines: [changed ? `${key} is now ${scalar(value)}${before}.` : `${key} was ${scalar(value)} already.`],
    notes: [
      ...(note === undefined ? [] : [note]),
      ...(suggestion === undefined ? [] : [`Did you mean '${suggestion}'?`]),
    ],
  };
};

export const unset: CommandBody = async ({ args }, { home }) => {
  const change = unwrap(await unsetConfigValue(home.home, args.key ?? ""));
  const { key, changed } = change;
  const previous = presentable(key.split("."), change.previous) ?? null;
  const standard = findConfigKey(key.split("."))?.default;
  const rest = standard === undefined ? "" : ` The default is ${scalar(standard)}.`;
  return {
    json: { success: true, key, previous, changed, path: resolve(change.path) },
    lines: [changed ? `${key} is no longer set.${rest}` : `${key} was not set.${rest}`],
  };
};

export const path: CommandBody = (_input, { home }) => {
  const file = resolve(configPath(home.home));
  const exists = existsSync(file);
  return {
    json: { path: file, exists },
    lines: [file],
    notes: exists ? [] : ["The file does not exist; the defaults apply."],
  };
};

function notAKey(key: string, suggestion: string | undefined): CommandFailure {
  return new CommandFailure(`'${key}' is not set, and it is not a key this program reads.`, {
    hint:
      suggestion === undefined ? "List the keys with 'hermes config get'." : `Did you mean '${suggestion}'?`,
    details: { kind: "unknown-key", key, ...(suggestion === undefined ? {} : { suggestion }) },
  });
}
