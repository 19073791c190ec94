// The section `mcp_servers`: servers whose tools the agent may use, as other programs write them down. Whatever cannot be used
// is left out with a remark. No remark repeats a value: environment, headers, addresses and arguments may hold secrets.
import type { ConfigIssue } from "./config-error.ts";

export type McpServerConfig = {
  readonly name: string;
  /** A program to start, or else `url`: exactly one of the two is there. */
  readonly command?: string;
  readonly args: readonly string[];
  /** Beside the few variables every such program gets. Values are secrets. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly url?: string;
  /** Values are secrets. */
  readonly headers: Readonly<Record<string, string>>;
  readonly enabled: boolean;
  /** Seconds, for one call. */
  readonly timeout: number;
  /** Seconds, for starting or reaching the server. */
  readonly connectTimeout: number;
  /** `include` present: only these. `exclude`: not these. */
  readonly tools: { readonly include?: readonly string[]; readonly exclude: readonly string[] };
};

type McpRemark = {
  readonly path: readonly string[];
  /** Reads on after the key. */
  readonly message: string;
};

export type McpServers = {
  readonly servers: readonly McpServerConfig[];
  readonly remarks: readonly McpRemark[];
};

const SECTION = "mcp_servers";
const TIMEOUT_SECONDS = 120;
const CONNECT_TIMEOUT_SECONDS = 30;
const ON: readonly unknown[] = [true, 1, "1", "true", "yes", "on"];
const OFF: readonly unknown[] = [false, 0, "0", "false", "no", "off"];

export function readMcpServers(value: unknown): McpServers {
  const remarks: McpRemark[] = [];
  if (value === undefined || value === null) return { servers: [], remarks };
  if (!isRecord(value)) {
    const message = "must be a section with one section for each server; it is ignored";
    return { servers: [], remarks: [{ path: [SECTION], message }] };
  }
  const servers = Object.entries(value).flatMap(([name, entry]): McpServerConfig[] => {
    const remark: Remark = (keys, message) => remarks.push({ path: [SECTION, name, ...keys], message });
    const server = toServer(name, entry, remark);
    return server === undefined ? [] : [server];
  });
  return { servers, remarks };
}

/** What the section of a loaded config says in vain, for the user. */
export function mcpServerRemarks(config: {
  readonly raw: Readonly<Record<string, unknown>>;
}): readonly ConfigIssue[] {
  return readMcpServers(config.raw.mcp_servers).remarks.map(({ path, message }) => ({
    key: path.join("."),
    message,
  }));
}

type Entry = Readonly<Record<string, unknown>>;
type Remark = (keys: readonly string[], message: string) => void;

function toServer(name: string, entry: unknown, remark: Remark): McpServerConfig | undefined {
  if (!isRecord(entry)) {
    remark([], "must be a section with a command or a url; the server is left out");
    return undefined;
  }
  const reach = toReach(entry, remark);
  if (reach === undefined) return undefined;
  const cwd = toText(entry, "cwd", remark);
  return {
    name,
    ...reach,
    args: toTexts(entry.args, ["args"], remark) ?? [],
    env: toValues(entry, "env", remark),
    ...(cwd === undefined ? {} : { cwd }),
    headers: toValues(entry, "headers", remark),
    enabled: toSwitch(entry.enabled, remark),
    timeout: toSeconds(entry, "timeout", TIMEOUT_SECONDS, remark),
    connectTimeout: toSeconds(entry, "connect_timeout", CONNECT_TIMEOUT_SECONDS, remark),
    tools: toFilter(entry.tools, remark),
  };
}

/** An address counts before a command, as in the reference. */
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

/** Numbers and switches in a list are meant as they are written. */
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
  return { ...(include === undefined ? {} : { include }), exclude };
}

function isWebAddress(text: string): boolean {
  return /^https?:\/\//i.test(text) && URL.canParse(text);
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

function isRecord(value: unknown): value is Entry {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
