// The clients we can set up: where each keeps its servers, in which format, and what it wants to know about one.
import { homedir } from "node:os";
import { join } from "node:path";

export const DEFAULT_SERVER_NAME = "hermes-memory";

export type Environment = Readonly<Record<string, string | undefined>>;

/** What a client starts. */
export type ServerLaunch = {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
};

export type Client = {
  readonly title: string;
  readonly format: "json" | "toml";
  readonly configPath: (env: Environment) => string;
  /** Whether an entry says that it is a local process. */
  readonly namesTransport: boolean;
  readonly afterwards: string;
};

const CLIENTS = {
  "claude-code": {
    title: "Claude Code",
    format: "json",
    configPath: (env) => join(env.CLAUDE_CONFIG_DIR || userHome(env), ".claude.json"),
    namesTransport: true,
    afterwards: "Start Claude Code anew; '/mcp' lists its servers.",
  },
  codex: {
    title: "Codex",
    format: "toml",
    configPath: (env) => join(env.CODEX_HOME || join(userHome(env), ".codex"), "config.toml"),
    namesTransport: false,
    afterwards: "Start Codex anew; '/mcp' lists its servers.",
  },
  cursor: {
    title: "Cursor",
    format: "json",
    configPath: (env) => join(userHome(env), ".cursor", "mcp.json"),
    namesTransport: true,
    afterwards: "Cursor asks before it uses a new server; Settings > MCP lists them.",
  },
} as const satisfies Record<string, Client>;

export type ClientName = keyof typeof CLIENTS;
export const CLIENT_NAMES = Object.keys(CLIENTS) as readonly ClientName[];

export function findClient(
  name: unknown,
): { readonly name: ClientName; readonly client: Client } | undefined {
  const found = CLIENT_NAMES.find((each) => each === name);
  return found && { name: found, client: CLIENTS[found] };
}

export function userHome(env: Environment): string {
  return (process.platform === "win32" ? env.USERPROFILE : env.HOME) || homedir();
}
