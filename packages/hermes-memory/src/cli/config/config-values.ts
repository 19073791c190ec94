// `hermes config`: get, set, unset, path and check.
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import {
  CONFIG_KEYS,
  type ConfigIssue,
  checkConfig,
  configPath,
  findConfigKey,
  getConfigValue,
  type HermesConfig,
  isKnownSection,
  setConfigValue,
  type UnknownKey,
  unknownKey,
  unsetConfigValue,
} from "@hermes-memory/core/internal/config";
import { isRecord } from "@hermes-memory/core/internal/lib";
import { ifUsable } from "@hermes-memory/core/internal/memory";
import { hideSettings, isFindingId, isFlag } from "@hermes-memory/core/internal/security";
import { Document, isScalar } from "yaml";
import {
  type CommandBody,
  type CommandContext,
  CommandFailure,
  type CommandOutcome,
  failureOf,
  unwrap,
} from "../command.ts";
import { counted } from "../printing.ts";

const CHECK = "'hermes config check' lists every mistake.";
const HIDDEN_NOTE = "Secrets are hidden; --reveal prints them.";

type Show = (path: readonly string[], value: unknown) => unknown;

/** Hides secrets unless --reveal is given, and notes when it hid one. */
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
  // A value where a section belongs, such as `mcp_servers: 5`, is shown as it is.
  const isOther = key !== undefined && settings.length === 0 && at(config.raw, key.split(".")) != null;
  return isOther ? getValue(key, isRevealed, context) : section(settings, isRevealed, context);
};

/** False also for `database` and `plugins`, which this program does not read: they are shown as the file has them. */
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
  const effective = given?.isIgnored ? findConfigKey(path)?.default : (setting?.value ?? found.value);
  const { show, notes } = showing(isRevealed);
  const value = show(path, effective) ?? null;
  // The value in the file may be read as another one: `yes` as true, a misspelt `treu` as the default.
  const isOther = JSON.stringify(effective) !== JSON.stringify(found.value);
  const written = isOther ? show(path, found.value) : undefined;
  const source = given?.isIgnored ? (effective === undefined ? "unset" : "default") : found.source;
  return {
    json: {
      key,
      value,
      source,
      from: given?.from,
      in_file: written,
    },
    lines: effective === undefined ? [] : [typeof value === "string" ? value : scalar(value)],
    notes: [
      ...(found.source === "default" ? ["This is the default; config.yaml does not set it."] : []),
      ...(given?.from === undefined ? [] : [otherName(key, given.from)]),
      ...(given?.remark === undefined ? [] : [`${key} ${given.remark}.`]),
      ...(isOther && given?.remark === undefined
        ? [`config.yaml has ${scalar(written)}, which counts as ${scalar(value)}.`]
        : []),
      ...(unknown?.suggestion === undefined ? [] : [unreadKeyText({ key, ...unknown })]),
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
  { home }: CommandContext,
): CommandOutcome {
  const { show, notes } = showing(isRevealed);
  const settings = effective.map((setting) => ({ ...setting, value: show(setting.path, setting.value) }));
  const document = toDocument(settings);
  return {
    json: {
      path: resolve(configPath(home.home)),
      config: document.toJS() as unknown,
      set: settings.filter(({ isDefault }) => !isDefault).map(({ key }) => key),
      not_in_hermes: settings.filter(({ isOurs }) => isOurs).map(({ key }) => key),
    },
    lines: settings.length === 0 ? [] : document.toString({ lineWidth: 0 }).trimEnd().split("\n"),
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
      message: changed ? `${key} is now ${scalar(value)}${before}.` : `${key} was ${scalar(value)} already.`,
      key,
      value: value ?? null,
      previous: previous ?? null,
      changed,
      path: resolve(change.path),
      note,
      suggestion,
    },
  };
};

export const unset: CommandBody = async ({ args }, { home }) => {
  const change = unwrap(await unsetConfigValue(home.home, args.key ?? ""));
  const { key, changed } = change;
  const previous = presentable(key.split("."), change.previous) ?? null;
  const standard = findConfigKey(key.split("."))?.default;
  const rest = standard === undefined ? "" : ` The default is ${scalar(standard)}.`;
  return {
    json: {
      success: true,
      message: `${key} ${changed ? "is no longer" : "was not"} set.${rest}`,
      key,
      previous,
      changed,
      path: resolve(change.path),
    },
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
    details: { kind: "unknown-key", key, suggestion },
  });
}

export const check: CommandBody = async (_input, { home }) => {
  const found = await checkConfig(home.home, { isThreatId: isFindingId });
  const problems = found.errors.length + found.warnings.length;
  return {
    json: {
      ok: problems === 0,
      message: found.exists ? counted(problems, "problem") : "There is no file, so the defaults apply.",
      path: resolve(found.path),
      exists: found.exists,
      errors: found.errors,
      warnings: found.warnings,
      unknown_keys: found.unknownKeys,
    },
    exitCode: problems === 0 ? 0 : 1,
  };
};

export function issueText({ key, message, line }: ConfigIssue): string {
  return `${lineText(line)}${key === "" ? "" : `${key} `}${message}`;
}

export function unreadKeyText({ key, line, suggestion }: UnknownKey): string {
  const meant = suggestion === undefined ? "" : ` Did you mean '${suggestion}'?`;
  return `${lineText(line)}${key} is not a key this program reads.${meant}`;
}

function lineText(line: number | undefined): string {
  return line === undefined ? "" : `line ${line}: `;
}

// The settings that apply, under their names in config.yaml

type Setting = {
  readonly key: string;
  /** The key in parts: a model's name may contain dots. */
  readonly path: readonly string[];
  readonly value: unknown;
  readonly isDefault: boolean;
  /** Hermes Agent does not know the key. */
  readonly isOurs: boolean;
};

/** Every known key with its current value. A key without a default appears only when it is set. */
function effectiveSettings(config: HermesConfig): Setting[] {
  return CONFIG_KEYS.filter(({ kind }) => kind !== "unused").flatMap(
    ({ key, kind, default: standard, isOurs }): Setting[] => {
      const parts = key.split(".");
      const star = parts.indexOf("*");
      const names = star < 0 ? [""] : namesOf(config, parts.slice(0, star));
      return names.flatMap((name): Setting[] => {
        const path = parts.map((part) => (part === "*" ? name : part));
        const explicit = at(config.raw, path);
        const effective = at(
          config,
          path.map((part, index) => (index === star ? part : camel(part))),
        );
        // A section is shown as the file has it, with the file's own names.
        const value = kind === "section" && explicit != null ? explicit : effective;
        if (value === undefined) return [];
        // A key that is set under another name, such as the short form of `model`, is not at its default.
        const isDefault = explicit == null && JSON.stringify(value) === JSON.stringify(standard);
        return [{ key: path.join("."), path, value, isDefault, isOurs }];
      });
    },
  );
}

/** The names that `*` stands for. A section that the config object holds as a list has them only in the file. */
function namesOf(config: HermesConfig, path: readonly string[]): string[] {
  const held = at(config, path.map(camel));
  const named = Array.isArray(held) ? at(config.raw, path) : held;
  return isRecord(named) ? Object.keys(named) : [];
}

/** As YAML. Marked are defaults, and keys that Hermes Agent does not know. */
function toDocument(settings: readonly Setting[]): Document {
  const document = new Document({});
  for (const { path, value, isDefault, isOurs } of settings) {
    const node = document.createNode(value, { flow: true });
    // The Python program reads `on` without quotes as true.
    if (isScalar(node) && /^(on|off|yes|no|y|n)$/i.test(String(value))) node.type = "QUOTE_DOUBLE";
    const marks = [...(isDefault ? ["default"] : []), ...(isOurs ? ["not in Hermes"] : [])];
    if (marks.length > 0) node.comment = ` ${marks.join(", ")}`;
    document.setIn(path, node);
  }
  return document;
}

/** A single value on its own line: text without quotes, the rest in YAML's flow style. */
function scalar(value: unknown): string {
  return typeof value === "string" && value !== "" ? value : (JSON.stringify(value) ?? "null");
}

function camel(name: string): string {
  return name.replace(/_([a-z])/g, (_all, letter: string) => letter.toUpperCase());
}

function at(value: unknown, path: readonly string[]): unknown {
  let current = value;
  for (const part of path) {
    current = isRecord(current) && Object.hasOwn(current, part) ? current[part] : undefined;
  }
  return current;
}

// Hides secrets in config values before they are printed, also in the settings of other programs that share the file.

/** A value under a secret name is replaced as a whole; a secret inside a text is cut out of it. */
export function presentable(path: readonly string[], value: unknown): unknown {
  const [section, , field] = path;
  // A single argument may be the value of the flag before it, which this call does not see.
  const isArgument = section === "mcp_servers" && field === "args" && path.length === 4;
  return isArgument && !isFlag(value) ? "[hidden]" : hideSettings(path, value, { isFreelyNamed });
}

function isFreelyNamed([section, , field, ...rest]: readonly string[]): boolean {
  return section === "mcp_servers" && (field === "env" || field === "headers") && rest.length === 0;
}
