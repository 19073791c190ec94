// Settings of OpenViking. The connection comes from the environment alone, as in the Python edition; what is about this program (mode,
// users, mirroring, length of recall, uploads) is in `<home>/openviking.json`.
import { join } from "node:path";
import { sha256 } from "@hermes-memory/core/internal/lib";
import type { ConfigField } from "@hermes-memory/core/internal/providers";
import { readBoolean, readText } from "@hermes-memory/core/internal/providers";
import { safeId } from "../kit/networked/identity.ts";
import { readUploadRoots, UPLOAD_ROOTS_FIELD } from "../kit/networked/local-files.ts";
import type { CommonSettings, Environment, Place } from "../kit/networked/service.ts";
import {
  COMMON_FIELDS,
  fileRemarks,
  fileValues,
  MODE_FIELD,
  readCommon,
  saveValues,
} from "../kit/networked/settings.ts";

const FILE = "openviking.json";

export type VikingSettings = CommonSettings & {
  /** As configured; "" when it is not. Without trailing slashes. */
  readonly endpoint: string;
  /** "" without one. */
  readonly apiKey: string;
  readonly account: string;
  /** May hold `{user}`. */
  readonly user: string;
  /** Account or user are not the defaults, which setup writes too: their headers are sent also beside a key. */
  readonly isTenantSet: boolean;
  /** The agent of a 0.3 server, the peer of a 0.4 server. */
  readonly agent: string;
  /** On 0.4: memories go below the peer's folder instead of the user's own. */
  readonly isPeerMemory: boolean;
  /** Folders beside the working directory whose files `viking_add_resource` may upload. */
  readonly uploadRoots: readonly string[];
};

export const DEFAULT_ENDPOINT = "http://127.0.0.1:1933";
const DEFAULT_TENANT = "default";

const VARIABLES = {
  endpoint: "OPENVIKING_ENDPOINT",
  api_key: "OPENVIKING_API_KEY",
  account: "OPENVIKING_ACCOUNT",
  user: "OPENVIKING_USER",
  agent: "OPENVIKING_AGENT",
  peer_memories: "OPENVIKING_PEER_MEMORIES",
} as const;

export const FIELDS: readonly ConfigField[] = [
  {
    key: "endpoint",
    description: "URL of the OpenViking server",
    required: true,
    default: DEFAULT_ENDPOINT,
    env_var: VARIABLES.endpoint,
  },
  {
    key: "api_key",
    description: "API key (empty for a local server without authentication)",
    secret: true,
    env_var: VARIABLES.api_key,
  },
  { key: "account", description: "Tenant account", default: DEFAULT_TENANT, env_var: VARIABLES.account },
  {
    key: "user",
    description: "Tenant user; {user} in it stands for the user of a gateway",
    default: DEFAULT_TENANT,
    env_var: VARIABLES.user,
  },
  {
    key: "agent",
    description: "Name of this agent at the server",
    default: "hermes",
    env_var: VARIABLES.agent,
  },
  {
    key: "peer_memories",
    description: "Servers from 0.4 on: keep memories in the folder of this agent instead of the user's own",
    type: "boolean",
    choices: ["true", "false"],
    default: "false",
    env_var: VARIABLES.peer_memories,
  },
  MODE_FIELD,
  ...COMMON_FIELDS,
  UPLOAD_ROOTS_FIELD,
];

export function readVikingSettings(place: Place): VikingSettings {
  const { env } = place;
  const values = fileValues(place, FILE);
  const account = variable(env, "account") || DEFAULT_TENANT;
  const user = variable(env, "user") || DEFAULT_TENANT;
  return {
    ...readCommon(values),
    endpoint: variable(env, "endpoint").replace(/\/+$/, ""),
    apiKey: variable(env, "api_key"),
    account,
    user,
    isTenantSet: account !== DEFAULT_TENANT || user !== DEFAULT_TENANT,
    agent: variable(env, "agent") || "hermes",
    isPeerMemory: readBoolean(env[VARIABLES.peer_memories], false),
    uploadRoots: readUploadRoots(values.upload_roots),
  };
}

function variable(env: Environment, key: keyof typeof VARIABLES): string {
  return readText(env[VARIABLES[key]], "");
}

export function remarksOn(place: Place): readonly string[] {
  return fileRemarks(place, FILE);
}

/** All answers, so that setup offers them again; those with a variable take effect through `.env`, which setup writes itself. */
export function saveVikingSettings(values: Readonly<Record<string, string>>, home: string): void {
  saveValues(values, FIELDS, { home, fileName: FILE });
}

/** Setup itself looks into the environment for those with a variable. */
export function savedAnswers(place: Place): Readonly<Record<string, unknown>> {
  return fileValues(place, FILE);
}

export function missingFor({ endpoint }: VikingSettings): string | undefined {
  if (endpoint !== "") return undefined;
  return `${VARIABLES.endpoint} is not set. Run 'hermes memory setup openviking', or set it to the URL of the server (usually ${DEFAULT_ENDPOINT}).`;
}

export function settingsPath(home: string): string {
  return join(home, FILE);
}

// ---- Tenant users ----

/** Servers take letters, digits, `_` and `-` in ids; user ids are path segments of URIs. */
const USER_ID = { foreign: /[^A-Za-z0-9_-]/, replacement: "_", maxChars: 80 };

/**
 * The tenant user for a user of a gateway, or for the owner of the home (undefined). `{user}` in the setting is filled in; a setting
 * without it gets the user appended. No user gets the owner's id.
 */
export function tenantUser(setting: string, user: string | undefined): string {
  const owner = setting.replaceAll("{user}", DEFAULT_TENANT);
  if (user === undefined) return owner;
  const name = safeId(user, USER_ID);
  const own = setting.includes("{user}") ? setting.replaceAll("{user}", name) : `${setting}_${name}`;
  return own === owner ? `${own}_${sha256(user).slice(0, 12)}` : own;
}
