// Reading and changing single values of config.yaml. A change is made on a copy of the content first and validated;
// only then is the text touched. Loads zod and yaml, so `edit.ts` imports it when it is asked for something.
import { parseDocument } from "yaml";
import { err, ok, type Result } from "../lib/index.ts";
import { type ConfigError, type ConfigIssue, configError, shown } from "./config-error.ts";
import { configPath, readConfigText, unreadable } from "./config-file.ts";
import type { ConfigChange, ConfigValue } from "./edit-types.ts";
import {
  isRecord,
  type ParsedConfig,
  parseConfigText,
  type RawConfig,
  toHermesConfig,
  valueAt,
  YAML_OPTIONS,
} from "./full-read.ts";
import { type ConfigKey, findConfigKey, isKnownSection, isWithinKey } from "./keys.ts";
import { ignoredValues } from "./lenient-values.ts";
import { mcpServerRemarks } from "./mcp-servers.ts";
import { APPROVAL_WORDS } from "./memory-config.ts";
import { updateTextFile } from "./text-file.ts";
import { spliceRemoval, spliceValue } from "./yaml-splice.ts";

const OFF_WORDS = ["off", "false", "no", "0", "disable", "disabled"];
const ON_WORDS = [...APPROVAL_WORDS, "enable"];

export function getValue(home: string, dottedKey: string): Result<ConfigValue, ConfigError> {
  const file = configPath(home);
  const path = splitKey(dottedKey, file);
  if (!path.ok) return path;
  const text = readConfigText(home);
  if (!text.ok) return text;
  const parsed = parseConfigText(text.value ?? "", file);
  if (!parsed.ok) return parsed;
  const explicit = valueAt(parsed.value.raw, path.value);
  const known = findConfigKey(path.value);
  if (explicit != null) return ok({ source: "file", key: dottedKey, value: explicit });
  if (known?.default !== undefined) return ok({ source: "default", key: dottedKey, value: known.default });
  return ok({ source: "unset", key: dottedKey });
}

export function setValue(home: string, dottedKey: string, text: string): Result<ConfigChange, ConfigError> {
  const file = configPath(home);
  const path = splitKey(dottedKey, file);
  if (!path.ok) return path;
  const known = findConfigKey(path.value);
  const value = parseValue(text, known, mayHoldSecret(path.value));
  if (!value.ok) return err(configError("invalid", file, [{ key: dottedKey, message: value.error }]));

  return change(home, path.value, (current, parsed) => {
    const wanted = withValue(parsed.raw, path.value, value.value);
    if (typeof wanted === "string")
      return invalid(file, wanted, "is not a section, so it cannot hold other keys");
    const refused = newIssues(parsed, wanted, dottedKey);
    if (refused.length > 0) return err(configError("invalid", file, refused));
    const next = spliceValue(current, parsed, { path: path.value, value: value.value, wanted });
    if (next === undefined) return invalid(file, dottedKey, "cannot be set in this file; edit it by hand");
    const isKnown = known !== undefined || isKnownSection(path.value) || isWithinKey(path.value);
    return ok({ text: next, value: value.value, ...(isKnown ? {} : { note: unknownNote(dottedKey) }) });
  });
}

export function unsetValue(home: string, dottedKey: string): Result<ConfigChange, ConfigError> {
  const file = configPath(home);
  const path = splitKey(dottedKey, file);
  if (!path.ok) return path;
  return change(home, path.value, (current, parsed) => {
    if (!hasKey(parsed.raw, path.value)) return ok({ text: current, value: undefined });
    const next = spliceRemoval(current, parsed, {
      path: path.value,
      wanted: withoutValue(parsed.raw, path.value),
    });
    if (next === undefined)
      return invalid(file, dottedKey, "cannot be removed automatically; edit the file by hand");
    return ok({ text: next, value: undefined });
  });
}

type Edited = { readonly text: string; readonly value: unknown; readonly note?: string };
type Edit = (text: string, parsed: ParsedConfig) => Result<Edited, ConfigError>;

function change(home: string, path: readonly string[], edit: Edit): Result<ConfigChange, ConfigError> {
  const file = configPath(home);
  return updateTextFile<ConfigChange, ConfigError>(file, {
    unreadable,
    change: (before) => {
      const parsed = parseConfigText(before ?? "", file);
      if (!parsed.ok) return parsed;
      const previous = valueAt(parsed.value.raw, path);
      const edited = edit(before ?? "", parsed.value);
      if (!edited.ok) return edited;
      const { text, value, note } = edited.value;
      const outcome: ConfigChange = {
        path: file,
        key: path.join("."),
        ...(value === undefined ? {} : { value }),
        ...(previous === undefined ? {} : { previous }),
        changed: text !== (before ?? ""),
        ...(note === undefined ? {} : { note }),
      };
      return ok({ text, outcome });
    },
  });
}

function parseValue(text: string, known: ConfigKey | undefined, isHidden: boolean): Result<unknown, string> {
  const word = text.trim().toLowerCase();
  if (known?.kind === "boolean" || known?.kind === "approval") {
    if (ON_WORDS.includes(word)) return ok(true);
    if (OFF_WORDS.includes(word)) return ok(false);
    return err(`must be true or false, but is ${shown(text)}`);
  }
  if (text.trim() === "") return ok(""); // a shell's '' means the empty text, not YAML's null
  const document = parseDocument(text, YAML_OPTIONS);
  if (document.errors.length > 0)
    return err(`cannot take ${isHidden ? "this" : shown(text)}: it is not a YAML value; put it in quotes`);
  const value: unknown = document.toJS();
  const isOtherType = known?.kind === "text" && typeof value !== "string";
  return ok(isOtherType ? text.trim() : value);
}

/** An error about such a value must not repeat it. */
function mayHoldSecret(path: readonly string[]): boolean {
  return path[0] === "mcp_servers" || /(key|token|secret|password)$/i.test(path.at(-1) ?? "");
}

/** Mistakes the change would bring. Those that were there before do not stop someone from repairing another one. */
function newIssues(parsed: ParsedConfig, wanted: RawConfig, dottedKey: string): ConfigIssue[] {
  const before = toHermesConfig(parsed);
  const known = new Set(before.ok ? [] : before.error.map((issue) => issue.key));
  const after = toHermesConfig({ raw: wanted, lineOf: () => undefined });
  const isAbout = (key: string) => key === dottedKey || key.startsWith(`${dottedKey}.`);
  const refused = after.ok ? [] : after.error.filter(({ key }) => isAbout(key) || !known.has(key));
  const useless = ignoredValues(wanted).map(
    ({ path, allowed, found }): ConfigIssue => ({
      key: path.join("."),
      message: `${allowed}, but is ${found}`,
    }),
  );
  const inVain = [...useless, ...mcpServerRemarks({ raw: wanted })];
  return [...refused, ...inVain.filter(({ key }) => isAbout(key))];
}

/** A copy with the value set, or the dotted path of the scalar that stands where a section is needed. */
function withValue(raw: RawConfig, path: readonly string[], value: unknown): RawConfig | string {
  const copy: Record<string, unknown> = structuredClone({ ...raw });
  let holder = copy;
  for (const [i, part] of path.slice(0, -1).entries()) {
    const next = valueAt(holder, [part]) ?? {};
    if (!isRecord(next)) return path.slice(0, i + 1).join(".");
    define(holder, part, next);
    holder = next;
  }
  define(holder, path.at(-1) ?? "", value);
  return copy;
}

/** A copy without the key. An emptied section is an empty mapping or, in block style, no value: both will do. */
function withoutValue(raw: RawConfig, path: readonly string[]): RawConfig[] {
  const copy: Record<string, unknown> = structuredClone({ ...raw });
  const above = path.slice(0, -1);
  const holder = valueAt(copy, above);
  if (!isRecord(holder)) return [copy];
  delete holder[path.at(-1) ?? ""];
  if (above.length === 0 || Object.keys(holder).length > 0) return [copy];
  const emptied = withValue(copy, above, null);
  return typeof emptied === "string" ? [copy] : [copy, emptied];
}

function hasKey(raw: RawConfig, path: readonly string[]): boolean {
  const holder = valueAt(raw, path.slice(0, -1));
  return isRecord(holder) && Object.hasOwn(holder, path.at(-1) ?? "");
}

/** Plain assignment of `__proto__` would change the object instead of adding a key. */
function define(holder: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(holder, key, { value, writable: true, enumerable: true, configurable: true });
}

function splitKey(dottedKey: string, file: string): Result<readonly string[], ConfigError> {
  const path = dottedKey.split(".");
  const isUsable = path.every((part) => part !== "" && part.trim() === part && !/[\x00-\x1f]/.test(part));
  if (isUsable) return ok(path);
  return invalid(
    file,
    `'${dottedKey}'`,
    "is not a key; write it as names joined by dots, such as memory.provider",
  );
}

function invalid(file: string, key: string, message: string): { ok: false; error: ConfigError } {
  return err(configError("invalid", file, [{ key, message }]));
}

function unknownNote(key: string): string {
  return `${key} is not a key this program reads. It was stored for other programs; 'hermes config check' lists such keys.`;
}
