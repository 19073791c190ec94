// Settings of RetainDB: key, address and project in the environment, the rest in `<home>/retaindb.json`. Setup also writes address and
// project to that file; a variable wins over it.
import { basename } from "node:path";
import type { ConfigField } from "@hermes-memory/core/internal/providers";
import { readNumber, readText } from "@hermes-memory/core/internal/providers";
import { readUploadRoots, UPLOAD_ROOTS_FIELD } from "../kit/networked/local-files.ts";
import type { CommonSettings, Place } from "../kit/networked/service.ts";
import { COMMON_FIELDS, fileValues, MODE_FIELD, readCommon, saveValues } from "../kit/networked/settings.ts";

export const SETTINGS_FILE = "retaindb.json";
const CLOUD_URL = "https://api.retaindb.com";

export type RetainDbSettings = CommonSettings & {
  /** "" when there is none. */
  readonly apiKey: string;
  readonly baseUrl: string;
  readonly project: string;
  /** A question about the user is asked in every n-th recall of a session, because a language model answers it; 0: never. */
  readonly dialecticCadence: number;
  /** Folders beside the working directory whose files `retaindb_upload_file` may upload. */
  readonly uploadRoots: readonly string[];
};

export const FIELDS: readonly ConfigField[] = [
  {
    key: "api_key",
    description: "API key of RetainDB",
    secret: true,
    required: true,
    env_var: "RETAINDB_API_KEY",
    url: "https://www.retaindb.com",
  },
  {
    key: "base_url",
    description: "Address of the server",
    default: CLOUD_URL,
    env_var: "RETAINDB_BASE_URL",
  },
  {
    key: "project",
    description: "Project at RetainDB (empty: named after the profile)",
    env_var: "RETAINDB_PROJECT",
  },
  MODE_FIELD,
  {
    key: "dialectic_cadence",
    description: "Ask RetainDB's language model about the user in every n-th recall (0: never)",
    type: "integer",
    minimum: 0,
    maximum: 100,
    default: "1",
  },
  ...COMMON_FIELDS,
  UPLOAD_ROOTS_FIELD,
];

export function readSettings(place: Place): RetainDbSettings {
  const values = fileValues(place, SETTINGS_FILE);
  const { RETAINDB_API_KEY, RETAINDB_BASE_URL, RETAINDB_PROJECT } = place.env;
  return {
    ...readCommon(values),
    apiKey: readText(RETAINDB_API_KEY, "").replace(/^bearer\s+/i, ""),
    baseUrl: readText(RETAINDB_BASE_URL, readText(values.base_url, CLOUD_URL)).replace(/\/+$/, ""),
    project: readText(RETAINDB_PROJECT, readText(values.project, projectOf(place.home))),
    dialecticCadence: Math.floor(readNumber(values.dialectic_cadence, 1, { min: 0, max: 100 })),
    uploadRoots: readUploadRoots(values.upload_roots),
  };
}

export function missing({ apiKey, baseUrl }: RetainDbSettings): string | undefined {
  if (apiKey === "")
    return "RetainDB has no API key. Set RETAINDB_API_KEY, or run 'hermes memory setup retaindb'.";
  if (!/^https?:$/.test(URL.parse(baseUrl)?.protocol ?? ""))
    return "RETAINDB_BASE_URL is not an http or https address. Correct it, or run 'hermes memory setup retaindb'.";
  return undefined;
}

export function saveSettings(values: Readonly<Record<string, string>>, home: string): void {
  saveValues(values, FIELDS, { home, fileName: SETTINGS_FILE });
}

export function savedSettings(place: Place): Readonly<Record<string, unknown>> {
  const values = Object.entries(fileValues(place, SETTINGS_FILE));
  return Object.fromEntries(values.filter(([key]) => FIELDS.some((field) => field.key === key)));
}

/** As in the Python edition: each profile has a project of its own, the default home has `default`. */
function projectOf(home: string): string {
  const name = basename(home);
  return name === "" || name === ".hermes" ? "default" : `hermes-${name}`;
}
