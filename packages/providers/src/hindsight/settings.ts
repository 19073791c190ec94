// Settings of Hindsight: `<home>/hindsight/config.json`, else `~/.hindsight/config.json` of older installations. A variable of the
// environment fills a key that the file does not have. Reading uses the default for an unusable value and reports it as a remark.
import { homedir } from "node:os";
import { join } from "node:path";
import { isAbsent, isRecord, outsideJsonOr, pyStrip } from "@hermes-memory/core/internal/lib";
import type { ConfigField } from "@hermes-memory/core/internal/providers";
import { readBoolean, readNumber, readSettings, readText } from "@hermes-memory/core/internal/providers";
import type { CommonSettings, Environment, Place } from "../kit/networked/service.ts";
import { COMMON_FIELDS, MODE_FIELD, readCommon, saveValues } from "../kit/networked/settings.ts";
import { type EmbeddedSettings, findProgram } from "./daemon.ts";

export const SETTINGS_FILE = join("hindsight", "config.json");

export type Deployment = "cloud" | "local_external" | "local_embedded";
type Budget = "low" | "mid" | "high";
export type ObservationScopes = string | readonly (readonly string[])[];

export type HindsightSettings = CommonSettings & {
  readonly deployment: Deployment;
  readonly apiKey: string;
  /** As configured; "" when it is not. */
  readonly apiUrl: string;
  readonly timeoutMs: number;
  readonly bankId: string;
  readonly bankTemplate: string;
  readonly bankMission: string;
  readonly retainMission: string;
  readonly budget: Budget;
  readonly recallMethod: "recall" | "reflect";
  readonly recallMaxTokens: number;
  /** Longest query of a recall before a turn, in characters; 0: not cut. */
  readonly recallMaxInputChars: number;
  readonly preamble: string;
  readonly recallTags: readonly string[];
  readonly recallTagsMatch: string;
  /** Undefined: all types. */
  readonly recallTypes: readonly string[] | undefined;
  readonly isRecalling: boolean;
  readonly isRetaining: boolean;
  readonly retainEvery: number;
  readonly isAsync: boolean;
  readonly retainContext: string;
  readonly retainTags: readonly string[];
  readonly observationScopes: ObservationScopes | undefined;
  readonly retainSource: string;
  readonly userPrefix: string;
  readonly assistantPrefix: string;
  readonly isRetainingToolCalls: boolean;
  readonly embedded: EmbeddedSettings;
};

const CLOUD_URL = "https://api.hindsight.vectorize.io";
const EXTERNAL_URL = "http://localhost:8888";

const DEFAULT_CONTEXT = "conversation between Hermes Agent and the User";
const DEFAULT_PREAMBLE = [
  "# Hindsight Memory (persistent cross-session context)",
  "- Use these memories for questions about the user and about earlier sessions.",
  "- Call no tool to look up what is already listed here.",
].join("\n");

// The last of the choices must work without anything else: the tests of the contract save it.
const DEPLOYMENTS: readonly Deployment[] = ["cloud", "local_embedded", "local_external"];
const BUDGETS: readonly Budget[] = ["low", "mid", "high"];
const METHODS = ["recall", "reflect"] as const;
const TAGS_MATCHES = ["any", "all", "any_strict", "all_strict", "exact"];
export const FACT_TYPES = ["world", "experience", "observation"];
const SCOPE_WORDS = ["per_tag", "combined", "all_combinations", "shared"];

/** The model that setup offers for each vendor. */
const LLM_MODELS: Readonly<Record<string, string>> = {
  openai: "gpt-4o-mini",
  anthropic: "claude-haiku-4-5",
  gemini: "gemini-2.5-flash",
  groq: "openai/gpt-oss-120b",
  openrouter: "qwen/qwen3.5-9b",
  minimax: "MiniMax-M2.7",
  ollama: "gemma3:12b",
  lmstudio: "local-model",
  openai_compatible: "your-model-name",
};

const NUMBERS = {
  timeout: { standard: 120, min: 1, max: 3600 },
  idle_timeout: { standard: 300, min: 0, max: 10_000_000 },
  recall_max_tokens: { standard: 4096, min: 1, max: 1_000_000 },
  recall_max_input_chars: { standard: 800, min: 0, max: 1_000_000 },
  retain_every_n_turns: { standard: 1, min: 1, max: 1000 },
} as const;

// ---- Reading ----

type Values = Readonly<Record<string, unknown>>;

/** Other names of a key in the file, and its variable. */
export const SOURCES: Readonly<Record<string, { readonly also?: readonly string[]; readonly env?: string }>> =
  {
    mode: { env: "HINDSIGHT_MODE" },
    api_key: { also: ["apiKey"], env: "HINDSIGHT_API_KEY" },
    api_url: { env: "HINDSIGHT_API_URL" },
    timeout: { env: "HINDSIGHT_TIMEOUT" },
    idle_timeout: { env: "HINDSIGHT_IDLE_TIMEOUT" },
    bank_id: { env: "HINDSIGHT_BANK_ID" },
    recall_budget: { also: ["budget"], env: "HINDSIGHT_BUDGET" },
    recall_prefetch_method: { also: ["prefetch_method"] },
    retain_tags: { env: "HINDSIGHT_RETAIN_TAGS" },
    observation_scopes: { env: "HINDSIGHT_RETAIN_OBSERVATION_SCOPES" },
    retain_source: { env: "HINDSIGHT_RETAIN_SOURCE" },
    retain_user_prefix: { env: "HINDSIGHT_RETAIN_USER_PREFIX" },
    retain_assistant_prefix: { env: "HINDSIGHT_RETAIN_ASSISTANT_PREFIX" },
    llm_api_key: { also: ["llmApiKey"], env: "HINDSIGHT_LLM_API_KEY" },
    llm_base_url: { env: "HINDSIGHT_API_LLM_BASE_URL" },
  };

export function readHindsightSettings({ home, env }: Place): HindsightSettings {
  return parseSettings(savedValues(home, env).values, env).settings;
}

/** Sentences about a file that cannot be read and values that are not used. */
export function settingsRemarks({ home, env }: Place): readonly string[] {
  const { values, problem } = savedValues(home, env);
  return [...(problem === undefined ? [] : [problem]), ...parseSettings(values, env).remarks];
}

/** The saved answers by key of the fields, lists as comma-separated texts; without secrets. */
export function savedAnswers({ home, env }: Place): Values {
  const { values } = savedValues(home, env);
  const answers = FIELDS.filter(({ secret }) => secret !== true).map(({ key }) => {
    const value = fileValue(values, key);
    return [key, Array.isArray(value) ? value.join(",") : value] as const;
  });
  return Object.fromEntries(answers.filter(([, value]) => !isAbsent(value)));
}

export function saveHindsightSettings(values: Readonly<Record<string, string>>, home: string): void {
  saveValues(values, FIELDS, { home, fileName: SETTINGS_FILE });
}

/** The first of the two files that can be read is the whole file part. */
export function savedValues(
  home: string,
  env: Environment,
): { readonly values: Values; readonly problem?: string } {
  const own = readSettings(home, SETTINGS_FILE);
  if (own.problem !== undefined || Object.keys(own.values).length > 0) return own;
  return readSettings(join(userHomeOf(env), ".hindsight"), "config.json");
}

function userHomeOf(env: Environment): string {
  return env.HOME || env.USERPROFILE || homedir();
}

function fileValue(values: Values, key: string): unknown {
  const hermes = isRecord(values.banks) && isRecord(values.banks.hermes) ? values.banks.hermes : {};
  const nested: Values = { bank_id: hermes.bankId, recall_budget: hermes.budget };
  const found = [key, ...(SOURCES[key]?.also ?? [])].map((name) => values[name]);
  return [...found, nested[key]].find((value) => !isAbsent(value));
}

export function parseSettings(
  values: Values,
  env: Environment,
): { readonly settings: HindsightSettings; readonly remarks: readonly string[] } {
  const remarks: string[] = [];
  const given = (key: string): unknown => {
    const variable = SOURCES[key]?.env;
    const inFile = fileValue(values, key);
    if (!isAbsent(inFile) || variable === undefined) return inFile;
    return env[variable] === "" ? undefined : env[variable];
  };
  const textOf = (key: string, standard = ""): string => readText(given(key), standard);
  const choiceOf = <T extends string>(key: string, choices: readonly T[], standard: T): T => {
    const word = textOf(key).toLowerCase();
    const choice = choices.find((each) => each === word);
    if (choice === undefined && word !== "")
      remarks.push(`${key} is not one of ${choices.join(", ")}. Hindsight uses ${standard}.`);
    return choice ?? standard;
  };
  const numberOf = (key: keyof typeof NUMBERS): number => {
    const value = given(key);
    const { standard, min, max } = NUMBERS[key];
    const number = readNumber(value, Number.NaN, { min, max });
    if (Number.isFinite(number)) return Math.trunc(number);
    if (!isAbsent(value)) remarks.push(`${key} is not a number. Hindsight uses ${standard}.`);
    return standard;
  };
  const isOn = (key: string, standard: boolean): boolean => readBoolean(given(key), standard);

  const word = textOf("mode").toLowerCase();
  const llmProvider = textOf("llm_provider", "openai").toLowerCase();
  const settings: HindsightSettings = {
    ...readCommon({ ...values, mode: given("memory_mode") }),
    deployment: word === "local" ? "local_embedded" : choiceOf("mode", DEPLOYMENTS, "cloud"),
    apiKey: textOf("api_key"),
    apiUrl: textOf("api_url"),
    timeoutMs: numberOf("timeout") * 1000,
    bankId: textOf("bank_id", "hermes"),
    bankTemplate: textOf("bank_id_template"),
    bankMission: textOf("bank_mission"),
    retainMission: textOf("bank_retain_mission"),
    budget: choiceOf("recall_budget", BUDGETS, "mid"),
    recallMethod: choiceOf("recall_prefetch_method", METHODS, "recall"),
    recallMaxTokens: numberOf("recall_max_tokens"),
    recallMaxInputChars: numberOf("recall_max_input_chars"),
    preamble: textOf("recall_prompt_preamble", DEFAULT_PREAMBLE),
    recallTags: parseTags(given("recall_tags")),
    recallTagsMatch: choiceOf("recall_tags_match", TAGS_MATCHES, "any"),
    recallTypes: parseTypes(values.recall_types, remarks),
    isRecalling: isOn("auto_recall", true),
    isRetaining: isOn("auto_retain", true),
    retainEvery: numberOf("retain_every_n_turns"),
    isAsync: isOn("retain_async", true),
    retainContext: textOf("retain_context", DEFAULT_CONTEXT),
    retainTags: parseTags(given("retain_tags")),
    observationScopes: parseScopes(given("observation_scopes"), remarks),
    retainSource: textOf("retain_source"),
    userPrefix: textOf("retain_user_prefix", "User"),
    assistantPrefix: textOf("retain_assistant_prefix", "Assistant"),
    isRetainingToolCalls: isOn("retain_tool_calls", false),
    embedded: {
      profile: textOf("profile", "hermes").replace(/[^A-Za-z0-9_-]+/g, "-"),
      llmProvider,
      llmModel: textOf("llm_model", LLM_MODELS[llmProvider] ?? ""),
      llmBaseUrl: textOf("llm_base_url"),
      llmApiKey: textOf("llm_api_key"),
      idleTimeoutS: numberOf("idle_timeout"),
      program: findProgram(env, textOf("embed_version", "latest")),
      userHome: userHomeOf(env),
    },
  };
  return { settings, remarks };
}

/** A list, a JSON list or a comma-separated text; trimmed, without duplicates, in order. */
export function parseTags(value: unknown): readonly string[] {
  const list = typeof value === "string" ? (listIn(value) ?? value.split(",")) : value;
  if (!Array.isArray(list)) return [];
  const tags = list.filter((tag) => typeof tag === "string" || typeof tag === "number").map(String);
  return [...new Set(tags.map(pyStrip))].filter((tag) => tag !== "");
}

function listIn(text: string): readonly unknown[] | undefined {
  if (!text.trim().startsWith("[")) return undefined;
  const value = outsideJsonOr(text, undefined);
  return Array.isArray(value) ? value : undefined;
}

/** An empty list is the default, an empty text is no filter. The server refuses a type that it does not know. */
function parseTypes(value: unknown, remarks: string[]): readonly string[] | undefined {
  const standard = ["observation"];
  if (typeof value === "string" && pyStrip(value) === "") return undefined;
  const asked = parseTags(value);
  const known = asked.filter((type) => FACT_TYPES.includes(type));
  if (known.length < asked.length)
    remarks.push(`recall_types knows ${FACT_TYPES.join(", ")}. Other types are not used.`);
  return known.length > 0 ? known : standard;
}

/** One of four words, a list of scopes, or a flat list that is one scope. */
function parseScopes(value: unknown, remarks: string[]): ObservationScopes | undefined {
  if (isAbsent(value)) return undefined;
  const word = typeof value === "string" ? pyStrip(value).toLowerCase() : "";
  if (SCOPE_WORDS.includes(word)) return word;
  const list = typeof value === "string" ? listIn(value) : value;
  if (Array.isArray(list) && list.length > 0) {
    if (list.every((each) => typeof each === "string")) return [parseTags(list)];
    const scopes = list.filter((each) => Array.isArray(each)).map(parseTags);
    if (scopes.length === list.length) return scopes;
  }
  remarks.push(`observation_scopes is not one of ${SCOPE_WORDS.join(", ")} and no list. It is not used.`);
  return undefined;
}

// ---- What follows from the settings ----

/** The server's address; the daemon's is known only to the daemon. */
export function baseUrlOf({ deployment, apiUrl }: HindsightSettings): string {
  if (apiUrl !== "") return apiUrl;
  return deployment === "cloud" ? CLOUD_URL : EXTERNAL_URL;
}

export function missingFor({ deployment, apiKey, apiUrl, embedded }: HindsightSettings): string | undefined {
  if (deployment === "cloud" && apiKey === "" && apiUrl === "")
    return "Hindsight has no API key. Set HINDSIGHT_API_KEY with 'hermes memory setup hindsight', or HINDSIGHT_API_URL for a server of your own.";
  if (deployment === "local_embedded" && embedded.program === undefined)
    return "Neither hindsight-embed nor uvx is on the PATH. Install one of them, or choose another mode with 'hermes memory setup hindsight'.";
  return undefined;
}

// ---- The questions of setup ----

const integer = (key: keyof typeof NUMBERS, description: string): ConfigField => ({
  key,
  description,
  type: "integer",
  minimum: NUMBERS[key].min,
  maximum: NUMBERS[key].max,
  default: String(NUMBERS[key].standard),
  env_var: SOURCES[key]?.env,
});

const flag = (key: string, description: string, standard: boolean): ConfigField => ({
  key,
  description,
  type: "boolean",
  choices: ["false", "true"],
  default: String(standard),
});

const embeddedOnly = { when: { mode: "local_embedded" } } as const;

export const FIELDS: readonly ConfigField[] = [
  {
    key: "mode",
    description: "Where Hindsight runs: its cloud, a daemon that this program starts, or a server of yours",
    choices: DEPLOYMENTS,
    default: "cloud",
  },
  {
    key: "api_key",
    description: "API key of the server",
    secret: true,
    env_var: "HINDSIGHT_API_KEY",
    url: "https://ui.hindsight.vectorize.io",
  },
  { key: "api_url", description: `Address of the server; without one ${CLOUD_URL} or ${EXTERNAL_URL}` },
  {
    key: "llm_provider",
    description: "Whose language model the daemon uses",
    choices: Object.keys(LLM_MODELS),
    default: "openai",
    ...embeddedOnly,
  },
  {
    key: "llm_model",
    description: "The model",
    default_from: { field: "llm_provider", map: LLM_MODELS },
    ...embeddedOnly,
  },
  { key: "llm_base_url", description: "Address of the model's API; empty for the vendor's", ...embeddedOnly },
  {
    key: "llm_api_key",
    description: "API key of the model",
    secret: true,
    env_var: "HINDSIGHT_LLM_API_KEY",
    ...embeddedOnly,
  },
  { key: "profile", description: "Name of the daemon's profile", default: "hermes", ...embeddedOnly },
  {
    key: "embed_version",
    description: "Version of hindsight-embed for uvx",
    default: "latest",
    ...embeddedOnly,
  },
  { ...integer("idle_timeout", "Seconds until an idle daemon stops; 0: never"), ...embeddedOnly },
  { key: "bank_id", description: "The memory bank", default: "hermes" },
  {
    key: "bank_id_template",
    description: "Bank by {profile}, {workspace}, {platform}, {user}, {session}; empty: bank_id",
  },
  { key: "bank_mission", description: "What the bank is for: guides reflect; empty: not set" },
  { key: "bank_retain_mission", description: "What the server should extract; empty: not set" },
  { ...MODE_FIELD, key: "memory_mode" },
  { key: "recall_budget", description: "How thoroughly to search", choices: BUDGETS, default: "mid" },
  {
    key: "recall_prefetch_method",
    description: "Recall before a turn: stored facts (recall) or an answer of the server's model (reflect)",
    choices: METHODS,
    default: "recall",
  },
  integer("recall_max_tokens", "Most tokens of one recall"),
  integer("recall_max_input_chars", "Longest query of a recall before a turn, in characters; 0: not cut"),
  { key: "recall_types", description: "Fact types to recall, comma-separated", default: "observation" },
  { key: "recall_tags", description: "Recall only what has these tags, comma-separated" },
  { key: "recall_tags_match", description: "How tags must match", choices: TAGS_MATCHES, default: "any" },
  { key: "recall_prompt_preamble", description: "Text above recalled memories; empty: the built-in one" },
  flag("auto_recall", "Recall before each turn", true),
  flag("auto_retain", "Store finished turns", true),
  integer("retain_every_n_turns", "Turns that are stored together"),
  flag("retain_async", "Let the server extract in the background", true),
  { key: "retain_context", description: "What the server is told about the turns", default: DEFAULT_CONTEXT },
  { key: "retain_tags", description: "Tags of everything that is stored, comma-separated" },
  {
    key: "observation_scopes",
    description: `Scopes of observations: ${SCOPE_WORDS.join(", ")} or a JSON list`,
  },
  { key: "retain_source", description: "Source in the metadata" },
  { key: "retain_user_prefix", description: "Word before the user's texts", default: "User" },
  { key: "retain_assistant_prefix", description: "Word before the answers", default: "Assistant" },
  flag("retain_tool_calls", "Store tool calls and their results with the turn", false),
  integer("timeout", "Seconds that a request may take"),
  ...COMMON_FIELDS,
];
