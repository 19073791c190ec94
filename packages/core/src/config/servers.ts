// Servers in the format of the Python original: `mcp_servers`, whose tools the agent may use, and `custom_providers`, which serve
// models. Entries that cannot be used are left out with a remark. A remark about an MCP server never repeats a value: environment,
// headers, addresses and arguments may hold secrets.
import { isRecord } from "../lib/index.ts";
import { type ConfigIssue, countOf, type Kind, type Note } from "./key-kinds.ts";

export type McpServerConfig = {
  readonly name: string;
  /** The program to start. Exactly one of `command` and `url` is set. */
  readonly command?: string;
  readonly args: readonly string[];
  /** In addition to the few variables that every server process gets. Values are secrets. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly url?: string;
  /** Values are secrets. */
  readonly headers: Readonly<Record<string, string>>;
  readonly enabled: boolean;
  /** Seconds for one call. */
  readonly timeout: number;
  /** Seconds for starting or connecting to the server. */
  readonly connectTimeout: number;
  /** With `include` only these tools are offered; without those in `exclude`. */
  readonly tools: { readonly include?: readonly string[]; readonly exclude: readonly string[] };
};

/** A model server that the user runs or configured. */
export type CustomProvider = {
  readonly name: string;
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly apiMode: string;
  readonly models: Readonly<Record<string, { readonly contextLength?: number }>>;
};

const CONTEXT_LENGTH = "must be a whole number above 0, such as 256000";
const TIMEOUT_SECONDS = 120;
const CONNECT_TIMEOUT_SECONDS = 30;
const ON: readonly unknown[] = [true, 1, "1", "true", "yes", "on"];
const OFF: readonly unknown[] = [false, 0, "0", "false", "no", "off"];

export const MCP_SERVERS: Kind<readonly McpServerConfig[]> = {
  name: "section",
  must: () => "must be a section with one section for each server",
  allowed: () => "section, see [MCP servers](#mcp-servers)",
  parse: (value, _rules, _wrong, note) => readMcpServers(value, note),
};

export const CUSTOM_PROVIDERS: Kind<readonly CustomProvider[]> = {
  name: "list",
  must: () => "must be a list of providers",
  allowed: () => "list of sections with `name`, `base_url`, `api_key`, `api_mode`, `models`",
  parse: (value, _rules, wrong, note) => (Array.isArray(value) ? readCustomProviders(value, note) : wrong()),
};

function readMcpServers(value: unknown, note: Note): readonly McpServerConfig[] {
  if (!isRecord(value)) {
    note("remark", "must be a section with one section for each server; it is ignored");
    return [];
  }
  return Object.entries(value).flatMap(([name, entry]): McpServerConfig[] => {
    const server = toServer(name, entry, (keys, message) => note("remark", message, [name, ...keys]));
    return server === undefined ? [] : [server];
  });
}

/** Remarks for the user about entries of `mcp_servers` that are ignored. */
export function mcpServerRemarks(config: {
  readonly raw: Readonly<Record<string, unknown>>;
}): readonly ConfigIssue[] {
  const remarks: ConfigIssue[] = [];
  readMcpServers(config.raw.mcp_servers ?? {}, (_kind, message, at = []) => {
    remarks.push({ key: ["mcp_servers", ...at].join("."), message });
    return undefined;
  });
  return remarks;
}

function readCustomProviders(value: readonly unknown[], note: Note): readonly CustomProvider[] {
  return value.flatMap((entry: unknown, index): CustomProvider[] => {
    if (!isRecord(entry)) return [];
    const models = Object.entries(isRecord(entry.models) ? entry.models : {});
    return [
      {
        name: asText(entry.name),
        baseUrl: asText(entry.base_url),
        apiKey: asText(entry.api_key),
        apiMode: asText(entry.api_mode),
        models: Object.fromEntries(
          models.map(([model, about]) => {
            const given =
              isRecord(about) && Object.hasOwn(about, "context_length") ? about.context_length : null;
            const contextLength = countOf(given);
            if (contextLength !== undefined) return [model, { contextLength }];
            const path = [String(index), "models", model, "context_length"];
            if (given !== undefined && given !== null) note("ignored", CONTEXT_LENGTH, path);
            return [model, {}];
          }),
        ),
      },
    ];
  });
}

type Entry = Readonly<Record<string, unknown>>;
type Remark = (keys: readonly string[], message: string) => void;

function toServer(name: string, entry: unknown, remark: Remark): McpServerConfig | undefined {
  if (!isRecord(entry)) {
    remark([], "must be a section with a command or a url; the server is left out");
    return undefined;
  }
  const reach = toReach(entry, remark);
  const cwd = toText(entry, "cwd", remark);
  // Checked even if the server is left out: `config set` may be writing the entry key by key, and refuses wrong values.
  const rest = {
    args: toTexts(entry.args, ["args"], remark) ?? [],
    env: toValues(entry, "env", remark),
    cwd,
    headers: toValues(entry, "headers", remark),
    enabled: toSwitch(entry.enabled, remark),
    timeout: toSeconds(entry, "timeout", TIMEOUT_SECONDS, remark),
    connectTimeout: toSeconds(entry, "connect_timeout", CONNECT_TIMEOUT_SECONDS, remark),
    tools: toFilter(entry.tools, remark),
  };
  return reach && { name, ...reach, ...rest };
}

/** `url` wins over `command`, as in the Python original. */
function toReach(entry: Entry, remark: Remark): { url: string } | { command: string } | undefined {
  const url = toText(entry, "url", remark);
  const command = toText(entry, "command", remark);
  if (url !== undefined) {
    if (!isWebAddress(url)) {
      remark(["url"], "must be an address that begins with http:// or https://; the server is left out");
      return undefined;
    }
    if (command !== undefined) remark(["command"], "is ignored, because the server has a url");
    return { url };
  }
  if (command !== undefined) return { command };
  remark([], "has neither a command nor a url that can be used; the server is left out");
  return undefined;
}

function toText(entry: Entry, key: string, remark: Remark): string | undefined {
  const value = entry[key];
  if (value === undefined || value === null) return undefined;
  if (typeof value === "string") return value.trim() || undefined;
  remark([key], "must be text; it is ignored");
  return undefined;
}

/** Numbers and booleans in the list become texts. */
function toTexts(value: unknown, path: readonly string[], remark: Remark): readonly string[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value)) {
    remark(path, "must be a list of texts; it is ignored");
    return undefined;
  }
  const texts = value.filter(isScalar).map(String);
  if (texts.length < value.length) remark(path, "must hold texts only; the rest is ignored");
  return texts;
}

function toValues(entry: Entry, key: string, remark: Remark): Readonly<Record<string, string>> {
  const value = entry[key];
  if (value === undefined || value === null) return {};
  if (!isRecord(value)) {
    remark([key], "must be a section of names and texts; it is ignored");
    return {};
  }
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, text]): [string, string][] => {
      if (text === undefined || text === null) return [];
      if (isScalar(text)) return [[name, String(text)]];
      remark([key, name], "must be text; it is ignored");
      return [];
    }),
  );
}

function toSwitch(value: unknown, remark: Remark): boolean {
  const word = typeof value === "string" ? value.trim().toLowerCase() : value;
  if (OFF.includes(word)) return false;
  if (word !== undefined && word !== null && !ON.includes(word))
    remark(["enabled"], "must be true or false; it counts as true");
  return true;
}

function toSeconds(entry: Entry, key: string, standard: number, remark: Remark): number {
  const value = entry[key];
  if (value === undefined || value === null) return standard;
  if (typeof value === "number" && Number.isFinite(value) && value > 0) return value;
  remark([key], `must be a number of seconds above 0; ${standard} counts`);
  return standard;
}

function toFilter(value: unknown, remark: Remark): McpServerConfig["tools"] {
  if (value === undefined || value === null) return { exclude: [] };
  if (!isRecord(value)) {
    remark(["tools"], "must be a section with include or exclude; it is ignored");
    return { exclude: [] };
  }
  const include = toTexts(value.include, ["tools", "include"], remark);
  const exclude = toTexts(value.exclude, ["tools", "exclude"], remark) ?? [];
  return { include, exclude };
}

function isWebAddress(text: string): boolean {
  return /^https?:\/\//i.test(text) && URL.canParse(text);
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

function asText(value: unknown): string {
  return typeof value === "string" ? value.trim() : "";
}
