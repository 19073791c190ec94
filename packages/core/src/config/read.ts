// Turns the parsed content of config.yaml into settings, using the table of keys, and collects findings about the values.
// Loads no YAML library, because `hermes memory show` has to start about as fast as node itself.
import { join } from "node:path";
import { err, isRecord, type ReadFailure, type Result, readTextFile } from "../lib/index.ts";
import { type ConfigIssue, type FindingKind, type Note, readNode, shown } from "./key-kinds.ts";
import {
  CONFIG_KEYS,
  findConfigKey,
  type HermesConfig,
  isKnownSection,
  KEYS,
  type MemoryConfig,
  RENAMED_KEYS,
  shortFormOf,
} from "./keys.ts";

export type RawConfig = Readonly<Record<string, unknown>>;

export type Finding = {
  readonly kind: FindingKind;
  readonly path: readonly string[];
  /** A predicate to print after the key. */
  readonly text: string;
};

type Reading<T> = { readonly config: T; readonly findings: readonly Finding[] };

/** The config is usable if no finding is `refused`. */
export function readConfig(raw: RawConfig): Reading<HermesConfig> {
  const findings: Finding[] = [];
  const values = readNode(KEYS, withOldNames(raw, findings), noteTo(findings, []));
  const { customProviders, models, ...rest } = values as Omit<HermesConfig, "raw"> &
    Pick<HermesConfig["models"], "customProviders">;
  return { config: { ...rest, models: { ...models, customProviders }, raw }, findings };
}

/** Reads the `memory:` section only. */
export function readMemoryConfig(raw: RawConfig): Reading<MemoryConfig> {
  const findings: Finding[] = [];
  const { memory } = withOldNames(Object.hasOwn(raw, "memory") ? { memory: raw.memory } : {}, findings);
  const config = readNode(KEYS.fields.memory, memory, noteTo(findings, ["memory"]));
  return { config: config as MemoryConfig, findings };
}

export const DEFAULT_MEMORY_CONFIG: MemoryConfig = Object.freeze(readMemoryConfig({}).config);

/** The sentence about a value in `hermes config check` and in errors. */
export function findingText({ kind, path, text }: Finding, raw: RawConfig): string {
  const found = shown(valueAt(raw, path));
  switch (kind) {
    case "refused":
      return `${text}, but is ${found}`;
    case "ignored":
    case "passed-over":
      return `${text}; ${found} is ignored`;
    case "doubtful":
    case "remark":
    case "old-name":
      return text;
  }
}

/** The value at a path of own keys, or undefined. */
export function valueAt(raw: unknown, path: readonly PropertyKey[]): unknown {
  let current = raw;
  for (const part of path) {
    if (typeof current !== "object" || current === null || !Object.hasOwn(current, part)) return undefined;
    current = (current as Record<PropertyKey, unknown>)[part];
  }
  return current;
}

/** The value that the file has for a key, and its path: the key itself, the short form of its section, or an old name. */
export function givenAt(
  raw: RawConfig,
  path: readonly string[],
): { readonly value: unknown; readonly at: readonly string[] } {
  for (const { path: at, to, take } of RENAMED_KEYS) {
    const old = to.join(".") === path.join(".") ? valueAt(raw, at) : undefined;
    const value = old == null ? undefined : take(old, valueAt(raw, to));
    if (value !== undefined) return { value, at };
  }
  const at = pathInFile(raw, path);
  return { value: valueAt(raw, at), at };
}

/** The path itself, or that of its section where the file has the short form for this key: `model` for `model.default`. */
export function pathInFile(raw: RawConfig, path: readonly string[]): readonly string[] {
  const above = path.slice(0, -1);
  return typeof valueAt(raw, above) === "string" && shortFormOf(above) === path.at(-1) ? above : path;
}

function noteTo(findings: Finding[], above: readonly string[]): Note {
  return (kind, text, at = []) => {
    findings.push({ kind, path: [...above, ...at], text });
    return undefined;
  };
}

/** A copy in which values set under old names are moved to the new names, unless the new name is set. */
function withOldNames(raw: RawConfig, findings: Finding[]): RawConfig {
  let current = raw;
  for (const { path, to, take } of RENAMED_KEYS) {
    const old = valueAt(raw, path);
    if (old === undefined || old === null) continue;
    const text = `is the old name of ${to.join(".")}; set that one instead and remove this`;
    findings.push({ kind: "old-name", path, text });
    const value = take(old, valueAt(raw, to));
    if (value !== undefined) current = withValue(current, to, value);
  }
  return current;
}

/** Does not replace a scalar where a section is expected: the check refuses it later. */
function withValue(holder: RawConfig, path: readonly string[], value: unknown): RawConfig {
  const [name = "", ...rest] = path;
  if (rest.length === 0) return { ...holder, [name]: value };
  const below = valueAt(holder, [name]) ?? {};
  return isRecord(below) ? { ...holder, [name]: withValue(below, rest, value) } : holder;
}

// Errors name the key's path, the value found and what is allowed, so that the user can repair the file.

/** Why config.yaml cannot be used, with a line for each mistake. */
export type ConfigError = {
  readonly kind: "unreadable" | "syntax" | "invalid";
  readonly path: string;
  readonly issues: readonly ConfigIssue[];
  /** All issues, as sentences. */
  readonly message: string;
};

export function configPath(home: string): string {
  return join(home, "config.yaml");
}

/** Undefined when the file does not exist. */
export function readConfigText(home: string): Result<string | undefined, ConfigError> {
  const text = readTextFile(configPath(home));
  return text.ok ? text : err(unreadable(text.error));
}

export function unreadable(failure: ReadFailure): ConfigError {
  const message = `cannot be read: ${failure.reason} (${failure.path})`;
  return configError("unreadable", failure.path, [{ key: "", message }]);
}

export function configError(
  kind: ConfigError["kind"],
  path: string,
  issues: readonly ConfigIssue[],
): ConfigError {
  const sentences = issues.map((issue) => sentence(kind, issue)).join(" ");
  return { kind, path, issues, message: `config.yaml: ${sentences}` };
}

function sentence(kind: ConfigError["kind"], issue: ConfigIssue): string {
  const where = kind === "syntax" && issue.line !== undefined ? `line ${issue.line}: ` : "";
  const what = issue.key === "" ? issue.message : `${issue.key} ${issue.message}`;
  return `${where}${what}${/[.!?]$/.test(what) ? "" : "."}`;
}

// ---- Suggestions for mistyped words, and keys that this program does not know ----

/** The closest candidate within a third of the word's length (at least one, at most three edits), or undefined. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const allowed = Math.min(3, Math.max(1, Math.floor(word.length / 3)));
  let best: { candidate: string; distance: number } | undefined;
  for (const candidate of candidates) {
    if (candidate === word || Math.abs(candidate.length - word.length) > allowed) continue;
    const distance = editDistance(word, candidate);
    if (distance <= allowed && (best === undefined || distance < best.distance))
      best = { candidate, distance };
  }
  return best?.candidate;
}

type Unknown = { readonly suggestion?: string };

/** Undefined when this program reads or accepts the key or a section above it. Used by `config get`, `set` and `check`. */
export function unknownKey(path: readonly string[], value: unknown): Unknown | undefined {
  for (let length = 1; length <= path.length; length += 1) {
    const part = path.slice(0, length);
    const suggestion = suggest(part);
    const known = findConfigKey(part);
    // `hygiene_*` is accepted, but `hygiene_thresold` is a typing mistake for a key we read.
    const isPrefixOnly = known !== undefined && /[^.]\*$/.test(known.key);
    if (known !== undefined && !(isPrefixOnly && suggestion !== undefined)) return undefined;
    if (isKnownSection(part)) continue;
    const isHolder = length < path.length || isRecord(value);
    // `memory.<provider>` holds the settings of that provider.
    if (suggestion === undefined && length === 2 && path[0] === "memory" && isHolder) return undefined;
    const meant = suggest(path) ?? suggestion;
    return meant === undefined ? {} : { suggestion: meant };
  }
  return undefined;
}

/** A known key with nearly the same spelling, or one that we read with the same name in another section. */
function suggest(path: readonly string[]): string | undefined {
  const name = path.at(-1) ?? "";
  let rows = CONFIG_KEYS.map(({ key, kind }) => ({ parts: key.split("."), kind }));
  const elsewhere = rows.find(
    ({ parts, kind }) => kind !== "unused" && !parts.includes("*") && parts.at(-1) === name,
  );
  // A common name such as `enabled` in a section that may belong to another program is no reason for a suggestion.
  if (elsewhere !== undefined && (name.includes("_") || path.length === 1)) return elsewhere.parts.join(".");
  const meant: string[] = [];
  for (const [depth, part] of path.entries()) {
    const names = rows.flatMap(({ parts: { [depth]: each = "*" } }) => (each.endsWith("*") ? [] : [each]));
    const right = names.includes(part) ? part : nearest(part, names);
    rows = rows.filter(({ parts, kind }) =>
      depth < parts.length ? parts[depth] === (right ?? "*") : kind === "section",
    );
    if (rows.length === 0) return undefined;
    meant.push(right ?? part);
  }
  return meant.every((part, depth) => part === path[depth]) ? undefined : meant.join(".");
}

/** Insertions, deletions, replacements and swaps of neighbouring letters, each counted as one. */
function editDistance(one: string, other: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: other.length + 1 }, (_, i) => i);
  for (let i = 1; i <= one.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const replaced = (previous[j - 1] ?? 0) + (one[i - 1] === other[j - 1] ? 0 : 1);
      let cost = Math.min(replaced, (previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1);
      const isSwap = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      if (isSwap) cost = Math.min(cost, (beforePrevious[j - 2] ?? 0) + 1);
      row.push(cost);
    }
    beforePrevious = previous;
    previous = row;
  }
  return previous[other.length] ?? 0;
}
