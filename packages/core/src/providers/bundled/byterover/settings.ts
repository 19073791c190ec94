// `<home>/byterover.json`: what it may hold, how it is read (forgiving) and what setup accepts (strict). Pure.
import { err, ok, type Result } from "../../../lib/index.ts";
import type { ConfigField } from "../../contract.ts";
import { PROVIDER_MODES, type ProviderMode, parseMode } from "../../kit/mode.ts";
import { readNumber, readText } from "../../kit/values.ts";

export const SETTINGS_FILE = "byterover.json";
export const API_KEY_FIELD = "api_key";
export const API_KEY_VARIABLE = "BRV_API_KEY";

type PrefetchCommand = "search" | "query";

export type ByteroverSettings = {
  readonly mode: ProviderMode;
  /** Of what is added to one turn. */
  readonly maxChars: number;
  readonly prefetchCommand: PrefetchCommand;
  /** Hits of one search. */
  readonly searchLimit: number;
  /** Of `brv_query`, in seconds. */
  readonly queryTimeoutSeconds: number;
};

const PREFETCH_COMMANDS: readonly PrefetchCommand[] = ["search", "query"];
const NUMBERS = {
  // Room for five hits: an excerpt of brv has up to 800 characters.
  max_chars: { standard: 5_000, min: 0, max: 100_000 },
  search_limit: { standard: 5, min: 1, max: 50 },
  // At most what a tool call has, less the time brv needs to start and to report.
  query_timeout: { standard: 10, min: 10, max: 110 },
} as const;

export function readByteroverSettings(values: Readonly<Record<string, unknown>>): ByteroverSettings {
  const whole = (key: keyof typeof NUMBERS): number =>
    Math.trunc(readNumber(values[key], NUMBERS[key].standard, NUMBERS[key]));
  return {
    mode: parseMode(values.mode),
    maxChars: whole("max_chars"),
    prefetchCommand:
      readText(values.prefetch_command, "search").toLowerCase() === "query" ? "query" : "search",
    searchLimit: whole("search_limit"),
    queryTimeoutSeconds: whole("query_timeout"),
  };
}

export const CONFIG_FIELDS: readonly ConfigField[] = [
  {
    key: API_KEY_FIELD,
    description: "ByteRover API key, only for sync with the cloud; empty for local use",
    secret: true,
    env_var: API_KEY_VARIABLE,
    url: "https://app.byterover.dev",
  },
  {
    key: "mode",
    description: "Recall and tools (hybrid), recall only (context), or tools only (tools)",
    default: "hybrid",
    choices: PROVIDER_MODES,
  },
  {
    key: "prefetch_command",
    description: "Recall by word search (search: no model needed) or by a model's answer (query: slower)",
    default: "search",
    choices: PREFETCH_COMMANDS,
  },
  numberField("search_limit", "Hits of one search"),
  numberField("max_chars", "Most characters added to one turn"),
  numberField("query_timeout", "Seconds brv_query may take"),
];

/** A setting as it is kept, or what is wrong with it. Reads on after the key: `must be ...`. */
export function checkSetting(key: string, text: string): Result<string | number, string> {
  const answer = text.trim();
  const range = Object.hasOwn(NUMBERS, key) ? NUMBERS[key as keyof typeof NUMBERS] : undefined;
  if (range !== undefined) {
    const number = answer === "" ? Number.NaN : Number(answer);
    const fits = Number.isInteger(number) && number >= range.min && number <= range.max;
    return fits ? ok(number) : err(`must be a whole number from ${range.min} to ${range.max}`);
  }
  const choices = CONFIG_FIELDS.find((field) => field.key === key)?.choices;
  if (choices === undefined) return err("is no setting of ByteRover");
  const choice = choices.find((word) => word === answer.toLowerCase());
  return choice === undefined ? err(`must be one of ${choices.join(", ")}`) : ok(choice);
}

function numberField(key: keyof typeof NUMBERS, what: string): ConfigField {
  const { standard, min, max } = NUMBERS[key];
  return { key, description: `${what}, ${min} to ${max}`, default: String(standard) };
}
