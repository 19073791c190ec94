// Section `plugins.hermes-memory-store` of config.yaml, which the Python original reads too. When reading, an unusable value is replaced by
// the default; when setup saves, it is refused.
import { homedir } from "node:os";
import { join, parse, resolve } from "node:path";
import { getConfigValue } from "@hermes-memory/core/internal/config";
import { userScopeName } from "@hermes-memory/core/internal/home";
import { HermesError, isRecord } from "@hermes-memory/core/internal/lib";
import type { ConfigField } from "@hermes-memory/core/internal/providers";
import { checkAnswer, readBoolean, readNumber, readText } from "@hermes-memory/core/internal/providers";
import { PROVIDER_MODES, type ProviderMode, parseMode } from "../kit/provider-mode.ts";

export const SECTION = "plugins.hermes-memory-store";

/** `structural` measures what the queries are named after; `reference` gives the numbers of the Python original. */
export type Scoring = "structural" | "reference";
/** `safe` searches again with the words alone when a query as FTS5 syntax finds nothing. */
type QuerySyntax = "safe" | "raw";

export type HolographicSettings = {
  readonly dbPath: string;
  readonly defaultTrust: number;
  readonly minTrust: number;
  readonly dim: number;
  readonly vectorWeight: number;
  /** 0: age is ignored. */
  readonly halfLifeDays: number;
  readonly autoExtract: boolean;
  readonly scoring: Scoring;
  readonly querySyntax: QuerySyntax;
  readonly mode: ProviderMode;
  /** Most characters added to one turn. */
  readonly maxChars: number;
};

const DEFAULT_DB_PATH = "$HERMES_HOME/memory_store.db";
const DIM = { standard: 1024, min: 16, max: 16_384 };
const SHARE = { min: 0, max: 1 };
const DAYS = { min: 0, max: 36_500 };
const CHARS = { min: 0, max: 1_000_000 };
/** Far more than five facts of ordinary length, but less than five of the longest allowed. */
const MAX_CHARS = 4000;

/** The section as config.yaml has it. `problem`: why config.yaml cannot be read. */
export async function readSection(
  home: string,
): Promise<{ readonly values: unknown; readonly problem?: string }> {
  const section = await getConfigValue(home, SECTION);
  if (!section.ok) return { values: undefined, problem: section.error.message };
  return { values: section.value.source === "unset" ? undefined : section.value.value };
}

export function readSettings(section: unknown, home: string): HolographicSettings {
  const values = isRecord(section) ? section : {};
  return {
    dbPath: expandPath(readText(values.db_path, DEFAULT_DB_PATH), home),
    defaultTrust: readNumber(values.default_trust, 0.5, SHARE),
    minTrust: readNumber(values.min_trust_threshold, 0.3, SHARE),
    dim: Math.trunc(readNumber(values.hrr_dim, DIM.standard, DIM)),
    vectorWeight: readNumber(values.hrr_weight, 0.3, SHARE),
    halfLifeDays: Math.trunc(readNumber(values.temporal_decay_half_life, 0, DAYS)),
    autoExtract: readBoolean(values.auto_extract, false),
    scoring: readText(values.scoring, "").toLowerCase() === "reference" ? "reference" : "structural",
    querySyntax: readText(values.fts_query, "").toLowerCase() === "raw" ? "raw" : "safe",
    mode: parseMode(values.mode),
    maxChars: Math.trunc(readNumber(values.max_chars, MAX_CHARS, CHARS)),
  };
}

function bounded(type: "number" | "integer", { min, max }: { readonly min: number; readonly max: number }) {
  return { type, minimum: min, maximum: max };
}

export const CONFIG_FIELDS: readonly ConfigField[] = [
  { key: "db_path", description: "Where the fact database is kept", default: DEFAULT_DB_PATH },
  {
    key: "auto_extract",
    description: "Pick facts out of what the user wrote when a session ends",
    type: "boolean",
    default: "false",
    choices: ["true", "false"],
  },
  {
    key: "default_trust",
    description: "Trust of a new fact, 0 to 1",
    default: "0.5",
    ...bounded("number", SHARE),
  },
  {
    key: "hrr_dim",
    description: "Length of the fact vectors",
    default: String(DIM.standard),
    ...bounded("integer", DIM),
  },
  {
    key: "scoring",
    description: "How probe, reason and contradict measure; reference copies the Python edition",
    default: "structural",
    choices: ["structural", "reference"],
  },
  {
    key: "mode",
    description: "Recall and tools (hybrid), recall only (context), or tools only (tools)",
    default: "hybrid",
    choices: PROVIDER_MODES,
  },
];

/** Settings that setup does not ask for. */
const FURTHER_FIELDS: readonly ConfigField[] = [
  { key: "min_trust_threshold", ...bounded("number", SHARE) },
  { key: "hrr_weight", ...bounded("number", SHARE) },
  { key: "temporal_decay_half_life", ...bounded("integer", DAYS) },
  { key: "fts_query", choices: ["safe", "raw"] },
  { key: "max_chars", ...bounded("integer", CHARS) },
];

const FIELDS = new Map([...CONFIG_FIELDS, ...FURTHER_FIELDS].map((field) => [field.key, field]));

/** The values of the section, without unknown keys. Setup knows only `true` and `false`, so `yes` and `on` become true. */
export function knownSettings(section: unknown): Readonly<Record<string, unknown>> {
  const known = Object.entries(isRecord(section) ? section : {}).filter(([key]) => FIELDS.has(key));
  const isFlag = (key: string) => FIELDS.get(key)?.type === "boolean";
  return Object.fromEntries(
    known.map(([key, value]) => [key, isFlag(key) ? readBoolean(value, false) : value]),
  );
}

/** A value as YAML. Numbers and booleans are written without quotes, because the Python original takes the text "false" for true. */
export function toYaml(key: string, value: string): string {
  const field = FIELDS.get(key);
  if (field === undefined) throw refusal(key, `is not a setting; there are ${[...FIELDS.keys()].join(", ")}`);
  const checked = checkAnswer({ ...field, required: true }, value);
  if (!checked.ok) throw refusal(key, checked.error);
  return key === "db_path" ? JSON.stringify(checked.value) : checked.value;
}

/**
 * The database of one user of several, beside the owner's. The Python original has one database for all users, and so shows each user the
 * facts of others.
 */
export function forUser(
  settings: HolographicSettings,
  platform: string,
  userId: string,
): HolographicSettings {
  const { dir, name, ext } = parse(settings.dbPath);
  return { ...settings, dbPath: join(dir, `${name}.${userScopeName(platform, userId)}${ext}`) };
}

function refusal(key: string, reason: string): HermesError {
  return new HermesError("bad-setting", `${SECTION}.${key} ${reason}. Nothing was saved.`);
}

function expandPath(text: string, home: string): string {
  const path = text.replace(/\$HERMES_HOME|\$\{HERMES_HOME\}/g, () => home);
  return resolve(path === "~" || path.startsWith("~/") ? join(homedir(), path.slice(1)) : path);
}
