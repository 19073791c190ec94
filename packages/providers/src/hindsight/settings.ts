// Settings of Hindsight: `<home>/hindsight/config.json`, else `~/.hindsight/config.json` of older installations. A variable of the
// environment fills a key that the file does not have.
import { homedir } from "node:os";
import { join } from "node:path";
import { isAbsent, outsideJsonOr, pyStrip } from "@hermes-memory/core/internal/lib";
import { readSettings, readText } from "@hermes-memory/core/internal/providers";
import { fieldsOf } from "../kit/networked/answers.ts";
import {
  COMMON,
  choice,
  type Environment,
  flag,
  integer,
  MODE,
  type Place,
  type SettingsTable,
  setting,
  settingsTable,
  text,
  type Values,
  type ValuesOf,
} from "../kit/networked/settings.ts";
import { type EmbeddedSettings, findProgram } from "./daemon.ts";

export const SETTINGS_FILE = join("hindsight", "config.json");

export type ObservationScopes = string | readonly (readonly string[])[];

const CLOUD_URL = "https://api.hindsight.vectorize.io";
const EXTERNAL_URL = "http://localhost:8888";

const DEFAULT_PREAMBLE = [
  "# Hindsight Memory (persistent cross-session context)",
  "- Use these memories for questions about the user and about earlier sessions.",
  "- Call no tool to look up what is already listed here.",
].join("\n");

// The last of the choices must work without anything else: the tests of the contract save it.
export const DEPLOYMENTS = ["cloud", "local_embedded", "local_external"] as const;
export type Deployment = (typeof DEPLOYMENTS)[number];
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

const embeddedOnly = { when: { mode: "local_embedded" } } as const;
const deployment = choice("mode", DEPLOYMENTS, {
  description: "Where Hindsight runs: its cloud, a daemon that this program starts, or a server of yours",
  env: "HINDSIGHT_MODE",
});
const million = { min: 1, max: 1_000_000 };
const whole = (key: string, range: Parameters<typeof integer>[1], description: string, env_var?: string) =>
  integer(key, range, { description, ...(env_var === undefined ? {} : { env_var }) });
const tags = (key: string, description: string, env?: string) =>
  setting(key, { description, ...(env === undefined ? {} : { env }) }, parseTags);

const ROWS = {
  /** `local` is the older name of `local_embedded`. */
  deployment: {
    ...deployment,
    read: (value: unknown, remark: (problem: string) => void): Deployment =>
      deployment.read(isOldName(value) ? "local_embedded" : value, remark),
  },
  apiKey: text("api_key", {
    description: "API key of the server",
    also: ["apiKey"],
    secret: true,
    env_var: "HINDSIGHT_API_KEY",
    url: "https://ui.hindsight.vectorize.io",
  }),
  /** As configured; "" when it is not. */
  apiUrl: text("api_url", {
    description: `Address of the server; without one ${CLOUD_URL} or ${EXTERNAL_URL}`,
    env: "HINDSIGHT_API_URL",
  }),
  /** Also one that is not offered. */
  llmProvider: setting(
    "llm_provider",
    {
      description: "Whose language model the daemon uses",
      choices: Object.keys(LLM_MODELS),
      default: "openai",
      ...embeddedOnly,
    },
    (value) => readText(value, "openai").toLowerCase(),
  ),
  llmModel: text("llm_model", {
    description: "The model",
    default_from: { field: "llm_provider", map: LLM_MODELS },
    ...embeddedOnly,
  }),
  llmBaseUrl: text("llm_base_url", {
    description: "Address of the model's API; empty for the vendor's",
    env: "HINDSIGHT_API_LLM_BASE_URL",
    ...embeddedOnly,
  }),
  llmApiKey: text("llm_api_key", {
    description: "API key of the model",
    also: ["llmApiKey"],
    secret: true,
    env_var: "HINDSIGHT_LLM_API_KEY",
    ...embeddedOnly,
  }),
  profile: text("profile", {
    description: "Name of the daemon's profile",
    default: "hermes",
    ...embeddedOnly,
  }),
  embedVersion: text("embed_version", {
    description: "Version of hindsight-embed for uvx",
    default: "latest",
    ...embeddedOnly,
  }),
  idleTimeoutS: integer(
    "idle_timeout",
    { standard: 300, min: 0, max: 10_000_000 },
    {
      description: "Seconds until an idle daemon stops; 0: never",
      env_var: "HINDSIGHT_IDLE_TIMEOUT",
      ...embeddedOnly,
    },
  ),
  bankId: text("bank_id", {
    description: "The memory bank",
    also: ["banks.hermes.bankId"],
    env: "HINDSIGHT_BANK_ID",
    default: "hermes",
  }),
  bankTemplate: text("bank_id_template", {
    description: "Bank by {profile}, {workspace}, {platform}, {user}, {session}; empty: bank_id",
  }),
  bankMission: text("bank_mission", {
    description: "What the bank is for: guides reflect; empty: not set",
  }),
  retainMission: text("bank_retain_mission", {
    description: "What the server should extract; empty: not set",
  }),
  mode: { ...MODE, key: "memory_mode", field: { ...MODE.field, key: "memory_mode" } },
  budget: choice(
    "recall_budget",
    ["low", "mid", "high"],
    {
      description: "How thoroughly to search",
      also: ["budget", "banks.hermes.budget"],
      env: "HINDSIGHT_BUDGET",
    },
    "mid",
  ),
  recallMethod: choice("recall_prefetch_method", ["recall", "reflect"], {
    description: "Recall before a turn: stored facts (recall) or an answer of the server's model (reflect)",
    also: ["prefetch_method"],
  }),
  recallMaxTokens: whole("recall_max_tokens", { standard: 4096, ...million }, "Most tokens of one recall"),
  /** 0: not cut. */
  recallMaxInputChars: whole(
    "recall_max_input_chars",
    { standard: 800, min: 0, max: 1_000_000 },
    "Longest query of a recall before a turn, in characters; 0: not cut",
  ),
  /** Undefined: all types. An empty list is the default, an empty text is no filter. The server refuses a type that it does not know. */
  recallTypes: setting(
    "recall_types",
    {
      description: "Fact types to recall, comma-separated",
      default: "observation",
      keepsEmpty: true,
    },
    (value, remark): readonly string[] | undefined => {
      if (typeof value === "string" && pyStrip(value) === "") return undefined;
      const asked = parseTags(value);
      const known = asked.filter((type) => FACT_TYPES.includes(type));
      if (known.length < asked.length)
        remark(`'recall_types' knows ${FACT_TYPES.join(", ")}; other types are not used.`);
      return known.length > 0 ? known : ["observation"];
    },
  ),
  recallTags: tags("recall_tags", "Recall only what has these tags, comma-separated"),
  recallTagsMatch: choice("recall_tags_match", ["any", "all", "any_strict", "all_strict", "exact"], {
    description: "How tags must match",
  }),
  preamble: text(
    "recall_prompt_preamble",
    { description: "Text above recalled memories; empty: the built-in one" },
    DEFAULT_PREAMBLE,
  ),
  isRecalling: flag("auto_recall", true, { description: "Recall before each turn" }),
  isRetaining: flag("auto_retain", true, { description: "Store finished turns" }),
  retainEvery: whole(
    "retain_every_n_turns",
    { standard: 1, min: 1, max: 1000 },
    "Turns that are stored together",
  ),
  isAsync: flag("retain_async", true, { description: "Let the server extract in the background" }),
  retainContext: text("retain_context", {
    description: "What the server is told about the turns",
    default: "conversation between Hermes Agent and the User",
  }),
  retainTags: tags(
    "retain_tags",
    "Tags of everything that is stored, comma-separated",
    "HINDSIGHT_RETAIN_TAGS",
  ),
  observationScopes: setting(
    "observation_scopes",
    {
      description: `Scopes of observations: ${SCOPE_WORDS.join(", ")} or a JSON list`,
      env: "HINDSIGHT_RETAIN_OBSERVATION_SCOPES",
    },
    parseScopes,
  ),
  retainSource: text("retain_source", {
    description: "Source in the metadata",
    env: "HINDSIGHT_RETAIN_SOURCE",
  }),
  userPrefix: text("retain_user_prefix", {
    description: "Word before the user's texts",
    env: "HINDSIGHT_RETAIN_USER_PREFIX",
    default: "User",
  }),
  assistantPrefix: text("retain_assistant_prefix", {
    description: "Word before the answers",
    env: "HINDSIGHT_RETAIN_ASSISTANT_PREFIX",
    default: "Assistant",
  }),
  isRetainingToolCalls: flag("retain_tool_calls", false, {
    description: "Store tool calls and their results with the turn",
  }),
  timeoutS: whole(
    "timeout",
    { standard: 120, min: 1, max: 3600 },
    "Seconds that a request may take",
    "HINDSIGHT_TIMEOUT",
  ),
  ...COMMON,
};

export type HindsightSettings = ValuesOf<typeof ROWS> & { readonly embedded: EmbeddedSettings };

const TABLE = settingsTable(SETTINGS_FILE, ROWS, {
  wins: "file",
  load: ({ home, env }) => {
    const { values, problem } = savedValues(home, env);
    const { bankId, budget } = fieldsOf(fieldsOf(values.banks).hermes);
    const nested = { "banks.hermes.bankId": bankId, "banks.hermes.budget": budget };
    return { values: { ...values, ...nested }, ...(problem === undefined ? {} : { problem }) };
  },
});

export const FIELDS = TABLE.fields;

export const HINDSIGHT_SETTINGS: SettingsTable<HindsightSettings> = {
  ...TABLE,
  read: (place) => {
    const settings = TABLE.read(place);
    return { ...settings, embedded: embeddedOf(settings, place) };
  },
};

function embeddedOf(settings: ValuesOf<typeof ROWS>, { env }: Place): EmbeddedSettings {
  const { llmProvider, llmModel, llmBaseUrl, llmApiKey, idleTimeoutS, profile, embedVersion } = settings;
  return {
    profile: profile.replace(/[^A-Za-z0-9_-]+/g, "-"),
    llmProvider,
    llmModel: llmModel || (LLM_MODELS[llmProvider] ?? ""),
    llmBaseUrl,
    llmApiKey,
    idleTimeoutS,
    program: findProgram(env, embedVersion),
    userHome: userHomeOf(env),
  };
}

function isOldName(value: unknown): boolean {
  return readText(value, "").toLowerCase() === "local";
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

/** A list, a JSON list or a comma-separated text; trimmed, without duplicates, in order. */
export function parseTags(value: unknown): readonly string[] {
  const list = typeof value === "string" ? (listIn(value) ?? value.split(",")) : value;
  if (!Array.isArray(list)) return [];
  const texts = list.filter((tag) => typeof tag === "string" || typeof tag === "number").map(String);
  return [...new Set(texts.map(pyStrip))].filter((tag) => tag !== "");
}

function listIn(given: string): readonly unknown[] | undefined {
  if (!given.trim().startsWith("[")) return undefined;
  const value = outsideJsonOr(given, undefined);
  return Array.isArray(value) ? value : undefined;
}

/** One of four words, a list of scopes, or a flat list that is one scope. */
function parseScopes(value: unknown, remark: (problem: string) => void): ObservationScopes | undefined {
  if (isAbsent(value)) return undefined;
  const word = typeof value === "string" ? pyStrip(value).toLowerCase() : "";
  if (SCOPE_WORDS.includes(word)) return word;
  const list = typeof value === "string" ? listIn(value) : value;
  if (Array.isArray(list) && list.length > 0) {
    if (list.every((each) => typeof each === "string")) return [parseTags(list)];
    const scopes = list.filter((each) => Array.isArray(each)).map(parseTags);
    if (scopes.length === list.length) return scopes;
  }
  remark(`'observation_scopes' is not one of ${SCOPE_WORDS.join(", ")} and no list; it is not used.`);
  return undefined;
}

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
