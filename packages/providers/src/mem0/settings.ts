// Settings of Mem0: `<home>/mem0.json` over the environment over defaults. Also who a memory belongs to at Mem0.
import { pyStrip, sha256, withoutUndefined } from "@hermes-memory/core/internal/lib";
import type { ConfigField } from "@hermes-memory/core/internal/providers";
import { readBoolean, readNumber, readText } from "@hermes-memory/core/internal/providers";
import { type IdRules, safeId } from "../kit/networked/identity.ts";
import type { CommonSettings, Place } from "../kit/networked/service.ts";
import {
  COMMON_FIELDS,
  fileRemarks,
  fileValues,
  MODE_FIELD,
  readCommon,
  saveValues,
} from "../kit/networked/settings.ts";

const SETTINGS_FILE = "mem0.json";
const CLOUD_URL = "https://api.mem0.ai";
const TIMEOUT_S = { standard: 30, min: 1, max: 300 };

/** `platform`: API v3 of the Mem0 Platform. `oss`: the server that people host themselves. */
type Mem0Edition = "platform" | "oss";
type ReadScope = "user" | "user_or_agent";

export type Mem0Settings = CommonSettings & {
  readonly apiKey: string;
  readonly userId: string;
  readonly agentId: string;
  /** Whether recall before a turn asks for reranking. */
  readonly isReranking: boolean;
  readonly edition: Mem0Edition;
  /** As configured; "" for the Mem0 Platform. */
  readonly host: string;
  readonly timeoutMs: number;
  readonly readScope: ReadScope;
};

const EDITIONS: readonly Mem0Edition[] = ["platform", "oss"];
const READ_SCOPES: readonly ReadScope[] = ["user", "user_or_agent"];

export const FIELDS: readonly ConfigField[] = [
  {
    key: "api",
    description: "Which Mem0: the Mem0 Platform, or a server that you host yourself (oss)",
    choices: EDITIONS,
    default: "platform",
  },
  {
    key: "host",
    description: "Address of the server; empty for the Mem0 Platform",
  },
  {
    key: "api_key",
    description: "Mem0 API key (any word for a server of yours that wants none)",
    secret: true,
    required: true,
    env_var: "MEM0_API_KEY",
    url: "https://app.mem0.ai",
  },
  { key: "user_id", description: "Id of the user at Mem0", default: "hermes-user" },
  { key: "agent_id", description: "Id of the agent at Mem0", default: "hermes" },
  {
    key: "rerank",
    description: "Rerank what is recalled before a turn (Mem0 Platform only)",
    type: "boolean",
    choices: ["true", "false"],
    default: "true",
  },
  {
    key: "read_scope",
    description: "Whose memories are found: those of the user, or also those of the agent",
    choices: READ_SCOPES,
    default: "user",
  },
  {
    key: "timeout",
    description: "Longest wait for one request, in seconds",
    type: "number",
    minimum: TIMEOUT_S.min,
    maximum: TIMEOUT_S.max,
    default: String(TIMEOUT_S.standard),
  },
  MODE_FIELD,
  ...COMMON_FIELDS,
];

/** The variable of a key that the file does not have. */
const VARIABLES = {
  api_key: "MEM0_API_KEY",
  user_id: "MEM0_USER_ID",
  agent_id: "MEM0_AGENT_ID",
  host: "MEM0_HOST",
} as const;

function valuesIn(place: Place): Readonly<Record<string, unknown>> {
  const variables = Object.entries(VARIABLES).map(([key, name]) => [key, place.env[name]] as const);
  return { ...Object.fromEntries(variables), ...fileValues(place, SETTINGS_FILE) };
}

export function readMem0Settings(place: Place): Mem0Settings {
  const values = valuesIn(place);
  return {
    ...readCommon(values),
    apiKey: readText(values.api_key, ""),
    userId: readText(values.user_id, "hermes-user"),
    agentId: readText(values.agent_id, "hermes"),
    isReranking: readBoolean(values.rerank, true),
    edition: oneOf(EDITIONS, values.api) ?? "platform",
    host: readText(values.host, ""),
    timeoutMs: readNumber(values.timeout, TIMEOUT_S.standard, TIMEOUT_S) * 1000,
    readScope: oneOf(READ_SCOPES, values.read_scope) ?? "user",
  };
}

export function settingsRemarks(place: Place): readonly string[] {
  const values = valuesIn(place);
  const unknown = (key: string, choices: readonly string[]): readonly string[] =>
    values[key] === undefined || oneOf(choices, values[key]) !== undefined
      ? []
      : [`'${key}' in ${SETTINGS_FILE} must be one of ${choices.join(", ")}; '${choices[0]}' is used.`];
  const { readScope, userScope } = readMem0Settings(place);
  return [
    ...fileRemarks(place, SETTINGS_FILE),
    ...unknown("api", EDITIONS),
    ...unknown("read_scope", READ_SCOPES),
    ...(readScope === "user_or_agent" && userScope === "id"
      ? [
          `'read_scope: user_or_agent' in ${SETTINGS_FILE} has no effect with 'user_scope: id', because all users then share the agent's memories.`,
        ]
      : []),
  ];
}

export function saveMem0Settings(values: Readonly<Record<string, string>>, home: string): void {
  saveValues(values, FIELDS, { home, fileName: SETTINGS_FILE });
}

/** Without the key. With the ids of the environment, which setup would replace by its defaults otherwise. */
export function savedAnswers(place: Place): Readonly<Record<string, unknown>> {
  const { MEM0_USER_ID: user_id, MEM0_AGENT_ID: agent_id } = place.env;
  return withoutUndefined({ user_id, agent_id, ...fileValues(place, SETTINGS_FILE), api_key: undefined });
}

export function missingSetting({ apiKey, edition, host }: Mem0Settings): string | undefined {
  if (host !== "" && !/^https?:$/.test(URL.parse(host)?.protocol ?? ""))
    return "The host of Mem0 is not an address that begins with http:// or https://. Correct it with 'hermes memory setup mem0'.";
  if (edition === "oss")
    return host === ""
      ? "A self-hosted Mem0 (api: oss) needs its address. Set host with 'hermes memory setup mem0', or MEM0_HOST."
      : undefined;
  return apiKey === ""
    ? "Mem0 needs an API key. Set it with 'hermes memory setup mem0', or MEM0_API_KEY."
    : undefined;
}

export function baseUrlOf({ host }: Mem0Settings): string {
  return host === "" ? CLOUD_URL : host;
}

/** A server that people host themselves takes an API key or a JWT. */
export function authHeaders({ apiKey, edition }: Mem0Settings): Readonly<Record<string, string>> {
  if (edition === "platform") return { authorization: `Token ${apiKey}` };
  if (apiKey === "") return {};
  const isJwt = /^eyJ[\w-]*\.[\w-]+\.[\w-]*$/.test(apiKey);
  return isJwt ? { authorization: `Bearer ${apiKey}` } : { "x-api-key": apiKey };
}

// ---- Whose a memory is ----

export type Owner = {
  readonly userId: string;
  readonly agentId: string;
  /** No other user's memories have this agent id. */
  readonly isAgentOwn: boolean;
};

/** Mem0 refuses blanks in ids; nothing is known about other characters, so phone numbers and addresses stay as they are. */
const ID_RULES: IdRules = { foreign: /[\s\p{C}]/u, replacement: "-", maxChars: 128 };

/** `user` as in `ConnectionContext`. No user of a gateway gets the owner's ids, whatever name they have chosen. */
export function ownerOf({ userId, agentId, userScope }: Mem0Settings, user: string | undefined): Owner {
  const isAgentOwn = userScope !== "id";
  if (user === undefined) return { userId, agentId, isAgentOwn };
  const id = safeId(user, ID_RULES);
  if (userScope === "id") {
    const own = id === userId ? `${id}-${sha256(user).slice(0, 12)}` : id;
    return { userId: own, agentId, isAgentOwn };
  }
  return { userId: `${userId}:${id}`, agentId: `${agentId}:${id}`, isAgentOwn };
}

function oneOf<T extends string>(choices: readonly T[], value: unknown): T | undefined {
  const word = typeof value === "string" ? pyStrip(value).toLowerCase() : value;
  return choices.find((choice) => choice === word);
}
