// Looks for what is wrong or probably mistaken in config.yaml, without changing anything.

import type { ConfigIssue } from "./config-error.ts";
import { shown } from "./config-error.ts";
import { configPath, readConfigText } from "./config-file.ts";
import type { CheckOptions, ConfigCheck, UnknownKey } from "./edit-types.ts";
import { isRecord, type ParsedConfig, parseConfigText, toHermesConfig, valueAt } from "./full-read.ts";
import { CONFIG_KEYS, findConfigKey, isKnownSection } from "./keys.ts";
import { ignoredValues } from "./lenient-values.ts";
import { readMcpServers } from "./mcp-servers.ts";
import { APPROVAL_WORDS } from "./memory-config.ts";
import { nearest } from "./nearest.ts";

const OLD_NAMES: Readonly<Record<string, string>> = {
  "memory.write_mode": "memory.write_approval",
  "compression.summary_provider": "auxiliary.compression.provider",
  "compression.summary_model": "auxiliary.compression.model",
  "compression.summary_base_url": "auxiliary.compression.base_url",
};

const OFF_WORDS = ["off", "false", "no", "0", "disable", "disabled", ""];

export function checkValues(home: string, options: CheckOptions): ConfigCheck {
  const path = configPath(home);
  const nothing: ConfigCheck = { path, exists: true, errors: [], warnings: [], unknownKeys: [] };
  const text = readConfigText(home);
  if (!text.ok) return { ...nothing, errors: text.error.issues };
  if (text.value === undefined) return { ...nothing, exists: false };
  const parsed = parseConfigText(text.value, path);
  if (!parsed.ok) return { ...nothing, errors: parsed.error.issues };
  const config = toHermesConfig(parsed.value);
  return {
    ...nothing,
    errors: config.ok ? [] : config.error,
    warnings: [
      ...approvalWarnings(parsed.value),
      ...oldNameWarnings(parsed.value),
      ...scanWarnings(parsed.value, options),
      ...ignoredWarnings(parsed.value),
      ...readMcpServers(parsed.value.raw.mcp_servers).remarks.map(({ path, message }) =>
        issue(parsed.value, path, message),
      ),
    ],
    unknownKeys: unknownKeys(parsed.value, parsed.value.raw, []),
  };
}

function approvalWarnings(parsed: ParsedConfig): ConfigIssue[] {
  const warnings: ConfigIssue[] = [];
  for (const section of ["memory", "skills"]) {
    const path = [section, "write_approval"];
    const value = valueAt(parsed.raw, path);
    const word = typeof value === "string" ? value.trim().toLowerCase() : undefined;
    const isClear = value == null || typeof value === "boolean" || isKnownWord(word);
    if (!isClear)
      warnings.push(issue(parsed, path, `should be true or false; ${shown(value)} counts as false`));
  }
  return warnings;
}

function ignoredWarnings(parsed: ParsedConfig): ConfigIssue[] {
  return ignoredValues(parsed.raw).map(({ path, allowed, found }) =>
    issue(parsed, path, `${allowed}; ${found} is ignored`),
  );
}

function oldNameWarnings(parsed: ParsedConfig): ConfigIssue[] {
  return Object.entries(OLD_NAMES).flatMap(([old, name]) => {
    const path = old.split(".");
    if (valueAt(parsed.raw, path) == null) return [];
    return [issue(parsed, path, `is the old name of ${name}; set that one instead and remove this`)];
  });
}

function isKnownWord(word: string | undefined): boolean {
  return word !== undefined && (APPROVAL_WORDS.includes(word) || OFF_WORDS.includes(word));
}

function scanWarnings(parsed: ParsedConfig, options: CheckOptions): ConfigIssue[] {
  const path = ["memory", "scan_allow"];
  const ids = valueAt(parsed.raw, path);
  const isThreatId = options.isThreatId;
  if (isThreatId === undefined || !Array.isArray(ids)) return [];
  return ids
    .filter((id) => typeof id === "string" && !isThreatId(id))
    .map((id) => issue(parsed, path, `names ${shown(id)}, which is not the id of a threat pattern`));
}

function unknownKeys(parsed: ParsedConfig, section: Record<string, unknown>, above: string[]): UnknownKey[] {
  return Object.entries(section).flatMap(([name, value]): UnknownKey[] => {
    const path = [...above, name];
    if (findConfigKey(path) !== undefined || Object.hasOwn(OLD_NAMES, path.join("."))) return [];
    if (isKnownSection(path)) return isRecord(value) ? unknownKeys(parsed, value, path) : [];
    const suggestion = suggest(path);
    // `memory.<provider>` holds the settings of that provider.
    if (suggestion === undefined && above[0] === "memory" && isRecord(value)) return [];
    const line = parsed.lineOf(path);
    return [
      {
        key: path.join("."),
        ...(line === undefined ? {} : { line }),
        ...(suggestion === undefined ? {} : { suggestion }),
      },
    ];
  });
}

/** A known key that is spelled nearly the same here, or exactly the same in another section. */
function suggest(path: readonly string[]): string | undefined {
  const name = path.at(-1) ?? "";
  const known = CONFIG_KEYS.map((entry) => entry.key.split("."));
  const elsewhere = known.find((parts) => !parts.includes("*") && parts.at(-1) === name);
  if (elsewhere !== undefined && name.includes("_")) return elsewhere.join(".");
  const siblings = known
    .filter((parts) => path.slice(0, -1).every((part, i) => parts[i] === part || parts[i] === "*"))
    .map((parts) => parts[path.length - 1] ?? "");
  const found = nearest(name, siblings);
  return found === undefined ? undefined : [...path.slice(0, -1), found].join(".");
}

function issue(parsed: ParsedConfig, path: readonly string[], message: string): ConfigIssue {
  const line = parsed.lineOf(path);
  return { key: path.join("."), message, ...(line === undefined ? {} : { line }) };
}
