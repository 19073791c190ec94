// Servers in the format of the Python original: `mcp_servers`, whose tools the agent may use, and `custom_providers`, which serve
// models. Entries that cannot be used are left out with a remark. A remark about an MCP server never repeats a value: environment,
// headers, addresses and arguments may hold secrets.
import { isRecord } from "../lib/index.ts";
import {
  type ConfigIssue,
  countOf,
  flag,
  type Kind,
  key,
  type Note,
  number,
  readNode,
  type SectionValue,
  section,
  text,
} from "./key-kinds.ts";

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

// ---- One MCP server ----

/** Numbers and booleans in the list become texts. */
const TEXTS: Kind<readonly string[]> = {
  name: "list",
  must: () => "must be a list of texts",
  allowed: () => "list of texts",
  parse: (value, _rules, wrong, note) => {
    if (!Array.isArray(value)) return wrong();
    const texts = value.filter(isScalar).map(String);
    if (texts.length < value.length) note("remark", "must hold texts only; the rest is ignored");
    return texts;
  },
};

const VALUES: Kind<Readonly<Record<string, string>>> = {
  name: "section",
  must: () => "must be a section of names and texts",
  allowed: () => "names and texts",
  parse: (value, _rules, wrong, note) => {
    if (!isRecord(value)) return wrong();
    const given = Object.entries(value).filter(([, held]) => held !== undefined && held !== null);
    for (const [name, held] of given) if (!isScalar(held)) note("remark", "must be text", [name]);
    return Object.fromEntries(
      given.flatMap(([name, held]) => (isScalar(held) ? [[name, String(held)]] : [])),
    );
  },
};

const trimmed = () => text("", "", { isTrimmed: true });
const seconds = (standard: number) =>
  number(standard, { above: 0, must: `must be a number of seconds above 0; ${standard} counts` }, "");

const SERVER = section({
  url: trimmed(),
  command: trimmed(),
  cwd: trimmed(),
  args: key(TEXTS, [], ""),
  env: key(VALUES, {}, ""),
  headers: key(VALUES, {}, ""),
  enabled: flag(true, "", { hasDigits: true }),
  timeout: seconds(120),
  connect_timeout: seconds(30),
  tools: section({
    include: key(TEXTS, undefined, ""),
    exclude: key(TEXTS, [], ""),
  }),
});

type Remark = (keys: readonly string[], message: string) => undefined;

function toServer(name: string, entry: unknown, remark: Remark): McpServerConfig | undefined {
  if (!isRecord(entry))
    return remark([], "must be a section with a command or a url; the server is left out");
  // All of it is read even if the server is left out: `config set` may be writing the entry key by key, and refuses wrong values.
  const { url, command, cwd, tools, ...rest } = readNode(SERVER, entry, (_kind, message, at = []) =>
    remark(at, message.includes(";") ? message : `${message}; it is ignored`),
  ) as SectionValue<(typeof SERVER)["fields"]>;
  const shared = { name, ...rest, cwd: cwd || undefined, tools: tools ?? { exclude: [] } };
  // `url` wins over `command`, as in the Python original.
  if (url !== "") {
    if (!/^https?:\/\//i.test(url) || !URL.canParse(url))
      return remark(
        ["url"],
        "must be an address that begins with http:// or https://; the server is left out",
      );
    if (command !== "") remark(["command"], "is ignored, because the server has a url");
    return { ...shared, url };
  }
  if (command !== "") return { ...shared, command };
  return remark([], "has neither a command nor a url that can be used; the server is left out");
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

function asText(value: unknown): string {
  return typeof value === "string" ? value.trim() : "";
}
