// Settings of OpenViking. The connection comes from the environment alone, as in the Python edition; what is about this program (mode,
// users, mirroring, length of recall, uploads) is in `<home>/openviking.json`. Setup saves all answers there, to offer them again.
import { sha256 } from "@hermes-memory/core/internal/lib";
import { safeId } from "../kit/networked/identity.ts";
import { UPLOAD_ROOTS } from "../kit/networked/local-files.ts";
import {
  COMMON,
  flag,
  MODE,
  type SettingsTable,
  settingsTable,
  text,
  type ValuesOf,
} from "../kit/networked/settings.ts";

export const SETTINGS_FILE = "openviking.json";
export const DEFAULT_ENDPOINT = "http://127.0.0.1:1933";
const DEFAULT_TENANT = "default";

const ROWS = {
  /** As configured; "" when it is not. */
  endpoint: text(
    "endpoint",
    {
      description: "URL of the OpenViking server",
      required: true,
      default: DEFAULT_ENDPOINT,
      env_var: "OPENVIKING_ENDPOINT",
      isEnvOnly: true,
    },
    "",
  ),
  apiKey: text("api_key", {
    description: "API key (empty for a local server without authentication)",
    secret: true,
    env_var: "OPENVIKING_API_KEY",
    isEnvOnly: true,
  }),
  account: text("account", {
    description: "Tenant account",
    default: DEFAULT_TENANT,
    env_var: "OPENVIKING_ACCOUNT",
    isEnvOnly: true,
  }),
  user: text("user", {
    description: "Tenant user; {user} in it stands for the user of a gateway",
    default: DEFAULT_TENANT,
    env_var: "OPENVIKING_USER",
    isEnvOnly: true,
  }),
  /** The agent of a 0.3 server, the peer of a 0.4 server. */
  agent: text("agent", {
    description: "Name of this agent at the server",
    default: "hermes",
    env_var: "OPENVIKING_AGENT",
    isEnvOnly: true,
  }),
  isPeerMemory: flag("peer_memories", false, {
    description: "Servers from 0.4 on: keep memories in the folder of this agent instead of the user's own",
    env_var: "OPENVIKING_PEER_MEMORIES",
    isEnvOnly: true,
  }),
  mode: MODE,
  ...COMMON,
  uploadRoots: UPLOAD_ROOTS,
};

export type VikingSettings = ValuesOf<typeof ROWS> & {
  /** Account or user are not the defaults, which setup writes too: their headers are sent also beside a key. */
  readonly isTenantSet: boolean;
};

const TABLE = settingsTable(SETTINGS_FILE, ROWS, { wins: "env" });

export const VIKING_SETTINGS: SettingsTable<VikingSettings> = {
  ...TABLE,
  read: (place) => {
    const settings = TABLE.read(place);
    const { account, user } = settings;
    return { ...settings, isTenantSet: account !== DEFAULT_TENANT || user !== DEFAULT_TENANT };
  },
};

export function missingFor({ endpoint }: VikingSettings): string | undefined {
  if (endpoint !== "") return undefined;
  return `OPENVIKING_ENDPOINT is not set. Run 'hermes memory setup openviking', or set it to the URL of the server (usually ${DEFAULT_ENDPOINT}).`;
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
