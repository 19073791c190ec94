// The memory settings of an ordinary config.yaml, without a YAML library. `undefined` means "load it properly": this
// reader either says exactly what the full loader would say, or nothing.
import {
  DEFAULT_MEMORY_CONFIG,
  MAX_LOCK_TIMEOUT_SECONDS,
  MAX_PREFETCH_TIMEOUT_SECONDS,
  type MemoryConfig,
  WHOLE_NUMBERS,
  type WholeNumberBounds,
} from "./memory-config.ts";
import { isPlainWord, type PlainValue, readPlainYaml } from "./plain-yaml.ts";

class Unclear extends Error {}

export function quickReadMemoryConfig(text: string): MemoryConfig | undefined {
  const document = readPlainYaml(text);
  if (document === undefined) return undefined;
  if (document.kind === "null") return DEFAULT_MEMORY_CONFIG;
  if (document.kind !== "map") return undefined;
  const section = document.entries.get("memory");
  if (section === undefined || section.kind === "null") return DEFAULT_MEMORY_CONFIG;
  if (section.kind !== "map") return undefined;
  try {
    return readSection(section.entries);
  } catch (cause) {
    if (cause instanceof Unclear) return undefined;
    throw cause;
  }
}

function readSection(section: ReadonlyMap<string, PlainValue>): MemoryConfig {
  if (section.has("write_mode")) throw new Unclear(); // an older file: the full loader knows what it meant
  const standard = DEFAULT_MEMORY_CONFIG;

  function read<T>(key: string, fallback: T, parse: (value: PlainValue) => T): T {
    const value = section.get(key);
    return value === undefined ? fallback : parse(value);
  }
  function number(key: keyof typeof WHOLE_NUMBERS, fallback: number): number {
    return read(key, fallback, (value) => wholeNumber(value, WHOLE_NUMBERS[key]));
  }

  return {
    memoryEnabled: read("memory_enabled", standard.memoryEnabled, boolean),
    userProfileEnabled: read("user_profile_enabled", standard.userProfileEnabled, boolean),
    memoryCharLimit: number("memory_char_limit", standard.memoryCharLimit),
    userCharLimit: number("user_char_limit", standard.userCharLimit),
    writeApproval: read("write_approval", standard.writeApproval, boolean),
    provider: read("provider", standard.provider, string),
    nudgeInterval: number("nudge_interval", standard.nudgeInterval),
    overflow: read("overflow", standard.overflow, overflow),
    scanAllow: read("scan_allow", standard.scanAllow, strings),
    allowSecrets: read("allow_secrets", standard.allowSecrets, boolean),
    historyMaxBytes: number("history_max_bytes", standard.historyMaxBytes),
    historyKeep: number("history_keep", standard.historyKeep),
    lockTimeoutSeconds: read("lock_timeout_seconds", standard.lockTimeoutSeconds, (value) =>
      wholeNumber(value, { min: 1, max: MAX_LOCK_TIMEOUT_SECONDS }),
    ),
    recallMaxChars: number("recall_max_chars", standard.recallMaxChars),
    prefetchTimeoutS: read("prefetch_timeout_s", standard.prefetchTimeoutS, (value) =>
      wholeNumber(value, { min: 0, max: MAX_PREFETCH_TIMEOUT_SECONDS }),
    ),
    prefetchMaxAgeTurns: number("prefetch_max_age_turns", standard.prefetchMaxAgeTurns),
    mirrorRemove: read("mirror_remove", standard.mirrorRemove, boolean),
    refreshOnResume: read("refresh_on_resume", standard.refreshOnResume, boolean),
  };
}

function boolean(value: PlainValue): boolean {
  if (value.kind !== "plain" || (value.text !== "true" && value.text !== "false")) throw new Unclear();
  return value.text === "true";
}

function wholeNumber(value: PlainValue, bounds: WholeNumberBounds): number {
  // Nine digits at most and no leading zero: the same number in every YAML version.
  if (value.kind !== "plain" || !/^(0|[1-9][0-9]{0,8})$/.test(value.text)) throw new Unclear();
  const number = Number(value.text);
  if (number < bounds.min || number > bounds.max) throw new Unclear();
  return number;
}

function string(value: PlainValue): string {
  if (value.kind === "quoted") return value.text;
  if (value.kind !== "plain" || !isPlainWord(value.text)) throw new Unclear();
  return value.text;
}

function overflow(value: PlainValue): "refuse" | "archive" {
  const word = string(value);
  if (word !== "refuse" && word !== "archive") throw new Unclear();
  return word;
}

function strings(value: PlainValue): string[] {
  if (value.kind !== "list") throw new Unclear();
  return value.items.map(string);
}
