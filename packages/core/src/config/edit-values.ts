// Reads, changes and checks single values of config.yaml. A change is made on a copy of the content and validated before the
// text is edited. Loads the YAML library, so `load.ts` imports this file on demand.
import { isDeepStrictEqual } from "node:util";
import { parseDocument } from "yaml";
import { err, isRecord, ok, type Result, updateTextFile } from "../lib/index.ts";
import { type ConfigIssue, type FindingKind, OFF_WORDS, ON_WORDS, shown } from "./key-kinds.ts";
import {
  type ConfigKey,
  findConfigKey,
  isKnownSection,
  isPattern,
  RENAMED_KEYS,
  shortFormOf,
} from "./keys.ts";
import {
  type ConfigError,
  configError,
  configPath,
  findingText,
  givenAt,
  pathInFile,
  type RawConfig,
  readConfig,
  readConfigText,
  unknownKey,
  unreadable,
  valueAt,
} from "./read.ts";
import {
  type ParsedConfig,
  parseConfigText,
  spliceRemoval,
  spliceValue,
  toIssue,
  YAML_OPTIONS,
} from "./yaml-file.ts";

export type ConfigValue =
  | {
      readonly source: "file";
      readonly key: string;
      readonly value: unknown;
      /** The key in the file, if it differs: an old name, or the short form of a section. */
      readonly from?: string;
      /** The warning of `config check`, without the key. */
      readonly remark?: string;
      /** The value is not used; the default is, if there is one. */
      readonly isIgnored?: true;
    }
  | { readonly source: "default"; readonly key: string; readonly value: unknown }
  | { readonly source: "unset"; readonly key: string };

export type ConfigChange = {
  /** The file. */
  readonly path: string;
  readonly key: string;
  /** Absent after `unset`. */
  readonly value?: unknown;
  /** Absent when the key was not set before. */
  readonly previous?: unknown;
  readonly changed: boolean;
  /** A remark for the user, such as that this program does not read the key. */
  readonly note?: string;
  /** A known key with a similar name. */
  readonly suggestion?: string;
};

export type UnknownKey = { readonly key: string; readonly line?: number; readonly suggestion?: string };

export type ConfigCheck = {
  readonly path: string;
  readonly exists: boolean;
  /** The file cannot be used until these are fixed. */
  readonly errors: readonly ConfigIssue[];
  /** The file works, but probably not as intended. */
  readonly warnings: readonly ConfigIssue[];
  readonly unknownKeys: readonly UnknownKey[];
};

/** Findings for which `set` writes the value and prints a remark. */
const REMARKED: readonly FindingKind[] = ["doubtful", "passed-over"];

export type CheckOptions = { readonly isThreatId?: (id: string) => boolean };

export function getValue(home: string, dottedKey: string): Result<ConfigValue, ConfigError> {
  const file = configPath(home);
  const path = splitKey(dottedKey, file);
  if (!path.ok) return path;
  const text = readConfigText(home);
  if (!text.ok) return text;
  const parsed = parseConfigText(text.value ?? "", file);
  if (!parsed.ok) return parsed;
  const { raw } = parsed.value;
  const { value, at } = givenAt(raw, path.value);
  const from = at.join(".");
  const known = findConfigKey(path.value);
  if (value != null) {
    const finding = readConfig(raw).findings.find(
      (each) => each.kind !== "refused" && each.path.join(".") === dottedKey,
    );
    return ok({
      source: "file",
      key: dottedKey,
      value,
      from: from === dottedKey ? undefined : from,
      remark: finding === undefined ? undefined : findingText(finding, raw),
      isIgnored: finding?.kind === "ignored" || finding?.kind === "passed-over" ? true : undefined,
    });
  }
  if (known?.default !== undefined) return ok({ source: "default", key: dottedKey, value: known.default });
  return ok({ source: "unset", key: dottedKey });
}

export function setValue(home: string, dottedKey: string, text: string): Result<ConfigChange, ConfigError> {
  const file = configPath(home);
  const path = splitKey(dottedKey, file);
  if (!path.ok) return path;
  if (isPattern(path.value))
    return invalid(file, dottedKey, "is a pattern, where * stands for a name; write the name");
  const known = findConfigKey(path.value);
  const value = parseValue(text, known, mayHoldSecret(path.value));
  if (!value.ok) return err(configError("invalid", file, [{ key: dottedKey, message: value.error }]));

  return change(home, path.value, (current, parsed) => {
    const wanted = withValue(parsed.raw, path.value, value.value);
    if (typeof wanted === "string")
      return invalid(file, wanted, "is not a section, so it cannot hold other keys");
    const refused = newIssues(parsed.raw, wanted, dottedKey);
    if (refused.length > 0) return err(configError("invalid", file, refused));
    // A section in its short form is rewritten as a section, unless the value stays the same.
    const parts = path.value.map((_part, i) => path.value.slice(0, i));
    const at = parts.find((above) => typeof valueAt(parsed.raw, above) === "string") ?? path.value;
    const isSame = at !== path.value && isDeepStrictEqual(valueAt(wanted, at), sectionAt(parsed.raw, at));
    const next = isSame ? current : spliceValue(current, parsed, { path: at, wanted });
    if (next === undefined) return invalid(file, dottedKey, "cannot be set in this file; edit it by hand");
    const unknown = unknownKey(path.value, value.value);
    const note = unknown === undefined ? valueNote(path.value, wanted) : unknownNote(dottedKey);
    return ok({ text: next, value: value.value, note, ...unknown });
  });
}

export function unsetValue(home: string, dottedKey: string): Result<ConfigChange, ConfigError> {
  const file = configPath(home);
  const path = splitKey(dottedKey, file);
  if (!path.ok) return path;
  return change(home, path.value, (current, parsed) => {
    const at = pathInFile(parsed.raw, path.value);
    if (!hasKey(parsed.raw, at)) return ok({ text: current, value: undefined });
    const next = spliceRemoval(current, parsed, { path: at, wanted: withoutValue(parsed.raw, at) });
    if (next === undefined)
      return invalid(file, dottedKey, "cannot be removed automatically; edit the file by hand");
    return ok({ text: next, value: undefined });
  });
}

/** Lists errors, warnings and unknown keys. Changes nothing. */
export function checkValues(home: string, options: CheckOptions): ConfigCheck {
  const path = configPath(home);
  const nothing: ConfigCheck = { path, exists: true, errors: [], warnings: [], unknownKeys: [] };
  const text = readConfigText(home);
  if (!text.ok) return { ...nothing, errors: text.error.issues };
  if (text.value === undefined) return { ...nothing, exists: false };
  const parsed = parseConfigText(text.value, path);
  if (!parsed.ok) return { ...nothing, errors: parsed.error.issues };
  const { findings } = readConfig(parsed.value.raw);
  const issues = (wanted: FindingKind) =>
    findings.filter(({ kind }) => kind === wanted).map((finding) => toIssue(finding, parsed.value));
  return {
    ...nothing,
    errors: issues("refused"),
    warnings: [
      ...issues("doubtful"),
      ...issues("passed-over"),
      ...issues("old-name"),
      ...scanWarnings(parsed.value, options),
      ...issues("ignored"),
      ...issues("remark"),
    ],
    unknownKeys: unknownKeys(parsed.value, parsed.value.raw, []),
  };
}

type Edited = { readonly text: string } & Pick<ConfigChange, "value" | "note" | "suggestion">;
type Edit = (text: string, parsed: ParsedConfig) => Result<Edited, ConfigError>;

function change(home: string, path: readonly string[], edit: Edit): Result<ConfigChange, ConfigError> {
  const file = configPath(home);
  return updateTextFile<ConfigChange, ConfigError>(file, {
    unreadable,
    change: (before) => {
      const parsed = parseConfigText(before ?? "", file);
      if (!parsed.ok) return parsed;
      const previous = valueAt(parsed.value.raw, pathInFile(parsed.value.raw, path));
      const edited = edit(before ?? "", parsed.value);
      if (!edited.ok) return edited;
      const { text, value, ...remarks } = edited.value;
      const outcome: ConfigChange = {
        path: file,
        key: path.join("."),
        value,
        previous,
        changed: text !== (before ?? ""),
        ...remarks,
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
  if (text.trim() === "") return ok(""); // '' in a shell means the empty text, not YAML's null
  const document = parseDocument(text, YAML_OPTIONS);
  if (document.errors.length > 0)
    return err(`cannot take ${isHidden ? "this" : shown(text)}: it is not a YAML value; put it in quotes`);
  const value: unknown = document.toJS();
  const isOtherType = known?.kind === "text" && typeof value !== "string";
  return ok(isOtherType ? text.trim() : value);
}

/** True for keys whose value must not appear in an error message. */
function mayHoldSecret(path: readonly string[]): boolean {
  return path[0] === "mcp_servers" || /(key|token|secret|password)$/i.test(path.at(-1) ?? "");
}

/**
 * Errors that the change would introduce, including values that would be ignored. Errors that the file already has do not
 * count, so that a user can repair one after the other.
 */
function newIssues(before: RawConfig, wanted: RawConfig, dottedKey: string): ConfigIssue[] {
  const known = new Set(
    readConfig(before).findings.flatMap(({ kind, path }) => (kind === "refused" ? [path.join(".")] : [])),
  );
  return readConfig(wanted).findings.flatMap((finding): ConfigIssue[] => {
    const key = finding.path.join(".");
    const isAbout = key === dottedKey || key.startsWith(`${dottedKey}.`);
    if (finding.kind === "refused" ? !isAbout && known.has(key) : !isAbout) return [];
    if (REMARKED.includes(finding.kind) || finding.kind === "old-name") return [];
    const kind = finding.kind === "ignored" ? "refused" : finding.kind;
    return [{ key, message: findingText({ ...finding, kind }, wanted) }];
  });
}

/** A copy with the value set, or the dotted path of a scalar found where a section is needed. */
function withValue(raw: RawConfig, path: readonly string[], value: unknown): RawConfig | string {
  const copy: Record<string, unknown> = structuredClone({ ...raw });
  let holder = copy;
  for (const [i, part] of path.slice(0, -1).entries()) {
    const next = sectionAt(copy, path.slice(0, i + 1)) ?? {};
    if (!isRecord(next)) return path.slice(0, i + 1).join(".");
    define(holder, part, next);
    holder = next as Record<string, unknown>; // part of the copy
  }
  define(holder, path.at(-1) ?? "", value);
  return copy;
}

/** The value at the path; a section in its short form is expanded. */
function sectionAt(raw: RawConfig, path: readonly string[]): unknown {
  const value = valueAt(raw, path);
  const short = shortFormOf(path);
  return typeof value === "string" && short !== undefined ? { [short]: value } : value;
}

/** Copies without the key: an emptied section may be written as an empty mapping or, in block style, as null. */
function withoutValue(raw: RawConfig, path: readonly string[]): RawConfig[] {
  const copy: Record<string, unknown> = structuredClone({ ...raw });
  const above = path.slice(0, -1);
  const holder = valueAt(copy, above);
  if (!isRecord(holder)) return [copy];
  delete (holder as Record<string, unknown>)[path.at(-1) ?? ""];
  if (above.length === 0 || Object.keys(holder).length > 0) return [copy];
  const emptied = withValue(copy, above, null);
  return typeof emptied === "string" ? [copy] : [copy, emptied];
}

function hasKey(raw: RawConfig, path: readonly string[]): boolean {
  const holder = valueAt(raw, path.slice(0, -1));
  return isRecord(holder) && Object.hasOwn(holder, path.at(-1) ?? "");
}

/** Assigning to `__proto__` would change the prototype instead of adding a key. */
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

/** A note if the value is doubtful or the key is an old name. */
function valueNote(path: readonly string[], raw: RawConfig): string | undefined {
  const name = path.join(".");
  const doubtful = readConfig(raw).findings.find(
    (each) => REMARKED.includes(each.kind) && each.path.join(".") === name,
  );
  if (doubtful !== undefined) return `${name} ${findingText(doubtful, raw)}.`;
  const old = RENAMED_KEYS.find((each) => each.path.join(".") === name);
  if (old === undefined) return undefined;
  const to = old.to.join(".");
  const value = old.take(valueAt(raw, path), valueAt(raw, old.to));
  const effect =
    value === undefined
      ? `has no effect: ${to} counts`
      : `counts as ${to}: ${shown(value)} until that is set`;
  return `${name} is the old name of ${to} and ${effect}. Set ${to} instead.`;
}

function scanWarnings(parsed: ParsedConfig, options: CheckOptions): ConfigIssue[] {
  const path = ["memory", "scan_allow"];
  const ids = valueAt(parsed.raw, path);
  const isThreatId = options.isThreatId;
  if (isThreatId === undefined || !Array.isArray(ids)) return [];
  return ids
    .filter((id) => typeof id === "string" && !isThreatId(id))
    .map((id) => {
      const text = `names ${shown(id)}, which is not the id of a threat pattern`;
      return toIssue({ kind: "remark", path, text }, parsed);
    });
}

function unknownKeys(
  parsed: ParsedConfig,
  section: Readonly<Record<string, unknown>>,
  above: readonly string[],
): UnknownKey[] {
  return Object.entries(section).flatMap(([name, value]): UnknownKey[] => {
    const path = [...above, name];
    const unknown = unknownKey(path, value);
    if (unknown === undefined)
      return isKnownSection(path) && isRecord(value) ? unknownKeys(parsed, value, path) : [];
    const line = parsed.lineOf(path);
    return [{ key: path.join("."), line, ...unknown }];
  });
}
