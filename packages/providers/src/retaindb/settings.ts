// Settings of RetainDB: key, address and project in the environment, the rest in `<home>/retaindb.json`. Setup also writes address and
// project to that file; a variable wins over it.
import { basename } from "node:path";
import { readText } from "@hermes-memory/core/internal/providers";
import { UPLOAD_ROOTS } from "../kit/networked/local-files.ts";
import {
  COMMON,
  integer,
  MODE,
  type SettingsTable,
  setting,
  settingsTable,
  text,
  type ValuesOf,
} from "../kit/networked/settings.ts";

export const SETTINGS_FILE = "retaindb.json";
const CLOUD_URL = "https://api.retaindb.com";

const ROWS = {
  apiKey: setting(
    "api_key",
    {
      description: "API key of RetainDB",
      secret: true,
      required: true,
      env_var: "RETAINDB_API_KEY",
      isEnvOnly: true,
      url: "https://www.retaindb.com",
    },
    (value) => readText(value, "").replace(/^bearer\s+/i, ""),
  ),
  baseUrl: setting(
    "base_url",
    { description: "Address of the server", default: CLOUD_URL, env_var: "RETAINDB_BASE_URL" },
    (value) => readText(value, CLOUD_URL).replace(/\/+$/, ""),
  ),
  project: text("project", {
    description: "Project at RetainDB (empty: named after the profile)",
    env_var: "RETAINDB_PROJECT",
  }),
  mode: MODE,
  /** A question about the user is asked in every n-th recall of a session, because a language model answers it; 0: never. */
  dialecticCadence: integer(
    "dialectic_cadence",
    { standard: 1, min: 0, max: 100 },
    { description: "Ask RetainDB's language model about the user in every n-th recall (0: never)" },
  ),
  ...COMMON,
  uploadRoots: UPLOAD_ROOTS,
};

export type RetainDbSettings = ValuesOf<typeof ROWS>;

const TABLE = settingsTable(SETTINGS_FILE, ROWS, { wins: "env" });

export const RETAINDB_SETTINGS: SettingsTable<RetainDbSettings> = {
  ...TABLE,
  read: (place) => {
    const settings = TABLE.read(place);
    return { ...settings, project: settings.project || projectOf(place.home) };
  },
};

export function missing({ apiKey, baseUrl }: RetainDbSettings): string | undefined {
  if (apiKey === "")
    return "RetainDB has no API key. Set RETAINDB_API_KEY, or run 'hermes memory setup retaindb'.";
  if (!/^https?:$/.test(URL.parse(baseUrl)?.protocol ?? ""))
    return "RETAINDB_BASE_URL is not an http or https address. Correct it, or run 'hermes memory setup retaindb'.";
  return undefined;
}

/** As in the Python edition: each profile has a project of its own, the default home has `default`. */
function projectOf(home: string): string {
  const name = basename(home);
  return name === "" || name === ".hermes" ? "default" : `hermes-${name}`;
}
