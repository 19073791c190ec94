// The clients that `hermes mcp install` can set up, and their config files on disk.
import { isUtf8 } from "node:buffer";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import {
  describeCause,
  errnoCode,
  HermesError,
  resolveLinks,
  systemClock,
  writeFileAtomic,
} from "@hermes-memory/core/internal/lib";
import { SETTABLE_CLIENTS } from "../hook/protocols.ts";

export const DEFAULT_SERVER_NAME = "hermes-memory";

export type Environment = Readonly<Record<string, string | undefined>>;

/** The process a client starts. */
export type ServerLaunch = {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
};

export type Client = {
  readonly title: string;
  readonly format: "json" | "toml";
  readonly configPath: (env: Environment) => string;
  /** Whether an entry needs `type: stdio`. */
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
/** Those that `hermes mcp install` can give the server, hooks or both. */
export const INSTALL_CLIENTS: readonly string[] = [...new Set([...CLIENT_NAMES, ...SETTABLE_CLIENTS])];

export function findClient(
  name: unknown,
): { readonly name: ClientName; readonly client: Client } | undefined {
  const found = CLIENT_NAMES.find((each) => each === name);
  return found && { name: found, client: CLIENTS[found] };
}

export function userHome(env: Environment): string {
  return (process.platform === "win32" ? env.USERPROFILE : env.HOME) || homedir();
}

// The config file belongs to another program. It is read and replaced as a whole, after a backup.

/** Undefined when there is no such file. */
export function readClientConfig(path: string): string | undefined {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(path);
  } catch (cause) {
    if (errnoCode(cause) === "ENOENT") return undefined;
    const message = `Cannot read ${path}: ${describeCause(cause)}. Nothing was changed.`;
    throw new HermesError("client-config", message, { hint: "Check its owner and mode.", cause });
  }
  if (!isUtf8(bytes)) {
    const message = `${path} is not valid UTF-8 text. Nothing was changed.`;
    throw new HermesError("client-config", message, { hint: "Save it as UTF-8, then try again." });
  }
  return Buffer.from(bytes).toString("utf8");
}

/**
 * The mode, such as `444`, when the owner may not write the file. Replacing a file only needs a writable folder, so the caller has to
 * ask the user who protected it.
 */
export function protectedMode(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined || (stats.mode & 0o200) !== 0) return undefined;
  return (stats.mode & 0o777).toString(8).padStart(3, "0");
}

/** Deletes a file whose next text is undefined. Returns the path of the backup if there was a file. Follows links and keeps modes. */
export function replaceClientConfig(
  path: string,
  before: string | undefined,
  next: string | undefined,
): string | undefined {
  try {
    mkdirSync(dirname(resolveLinks(path)), { recursive: true, mode: 0o700 });
    const backup = before === undefined ? undefined : backUp(path, before);
    if (next === undefined) rmSync(path);
    else writeFileAtomic(path, next, { beforeReplace: () => refuseChanged(path, before) });
    return backup;
  } catch (cause) {
    if (cause instanceof HermesError) throw cause;
    const message = `Cannot write ${path}: ${describeCause(cause)}. Nothing was changed.`;
    throw new HermesError("client-config", message, { hint: "Check free space and permissions.", cause });
  }
}

/** A running client may have written to its file meanwhile; that must not be lost. */
function refuseChanged(path: string, before: string | undefined): void {
  if (readClientConfig(path) === before) return;
  const message = `${path} changed while it was being edited. Nothing was changed.`;
  const hint = "Close the program it belongs to, or just try again.";
  throw new HermesError("client-config", message, { hint });
}

/** Beside the path the user knows, not beside the target of a link: the file may hold keys, and the other folder may be shared. */
function backUp(path: string, text: string): string {
  let seconds = Math.floor(systemClock.now().getTime() / 1000);
  while (existsSync(`${path}.bak.${seconds}`)) seconds += 1;
  const backup = `${path}.bak.${seconds}`;
  writeFileAtomic(backup, text, { forceMode: 0o600 });
  return backup;
}
