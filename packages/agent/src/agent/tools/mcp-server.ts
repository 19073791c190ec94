// One MCP server: connected, asked, connected again once when it has died, and closed.
import type { ListToolsResult, MCPClient } from "@ai-sdk/mcp";
import type { McpServerConfig } from "@hermes-memory/core/config";
import type { Logger } from "@hermes-memory/core/lib/logger";
import { describeForeign } from "@hermes-memory/core/providers";
import { createRedactor } from "@hermes-memory/core/security";
import { VERSION } from "@hermes-memory/core/version";
import { serverEnvironment } from "./mcp-environment.ts";
import { boundedFetch } from "./mcp-limits.ts";
import { StdioTransport } from "./mcp-stdio.ts";

export type McpServerDeps = {
  readonly log: Logger;
  readonly env: Readonly<Record<string, string | undefined>>;
};

export type OfferedTool = ListToolsResult["tools"][number];

/** A server pages its list; nobody has this many pages, or tools. */
const MAX_PAGES = 50;
const MAX_TOOLS = 10_000;

export class McpServer {
  readonly name: string;
  readonly #config: McpServerConfig;
  readonly #deps: McpServerDeps;
  readonly #redact: (text: string) => string;
  readonly #closing = new AbortController();
  #client: MCPClient | undefined;
  #stdio: StdioTransport | undefined;
  /** Over HTTP nobody tells us that a server has gone; calls find out. */
  #isLost = false;
  /** Since the last call that worked. */
  #hasReconnected = false;
  #reconnecting: Promise<void> | undefined;

  constructor(config: McpServerConfig, deps: McpServerDeps) {
    this.name = config.name;
    this.#config = config;
    this.#deps = deps;
    this.#redact = createRedactor(secretsOf(config));
  }

  /** Rejects when the server cannot be reached in time. */
  async connect(signal?: AbortSignal): Promise<void> {
    const { createMCPClient } = await import("@ai-sdk/mcp");
    const { command, args, env, url = "", headers, cwd, connectTimeout } = this.#config;
    const stdio =
      command === undefined
        ? undefined
        : new StdioTransport({ command, args, cwd, env: serverEnvironment(this.#deps.env, env) });
    this.#stdio = stdio;
    const stop = this.#closing.signal;
    try {
      this.#client = await createMCPClient({
        transport: stdio ?? { type: "http", url, headers: { ...headers }, fetch: boundedFetch(fetch) },
        clientName: "hermes-memory",
        version: VERSION,
        initializationOptions: {
          timeout: connectTimeout * 1000,
          signal: signal === undefined ? stop : AbortSignal.any([signal, stop]),
        },
        // Notifications among others; nothing that concerns a call.
        onUncaughtError: (cause) =>
          this.#deps.log.debug("mcp", { server: this.name, said: this.describe(cause) }),
      });
      this.#isLost = false;
    } catch (cause) {
      await stdio?.close();
      throw cause;
    }
  }

  async listTools(): Promise<readonly OfferedTool[]> {
    const tools: OfferedTool[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const answer = await this.#client?.listTools({
        options: { timeout: this.#config.connectTimeout * 1000 },
        ...(cursor === undefined ? {} : { params: { cursor } }),
      });
      for (const tool of answer?.tools ?? []) tools.push(tool);
      cursor = answer?.nextCursor;
      if (cursor === undefined) return tools;
      if (tools.length > MAX_TOOLS) break;
    }
    throw new Error(`its list of tools has more than ${MAX_PAGES} pages or ${MAX_TOOLS} tools`);
  }

  /** Rejects when the server did not answer. A call that may have reached it is never sent a second time. */
  async call(name: string, args: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<unknown> {
    if (this.#isGone) await this.#reconnect();
    try {
      const options = { signal, timeout: this.#config.timeout * 1000 };
      const answer = await this.#client?.callTool({ name, arguments: { ...args }, options });
      this.#hasReconnected = false;
      return answer;
    } catch (cause) {
      this.#isLost = isLoss(cause);
      // We ended it for what it said, so starting it once more is no sign that it does not work.
      if (this.#stdio?.breach !== undefined) this.#hasReconnected = false;
      throw cause;
    }
  }

  /** Harmless when done twice. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#reconnecting?.catch(() => undefined); // a child that is just being started must not stay behind
    await this.#client?.close().catch(() => undefined); // what does not answer any more is closed enough
    await this.#stdio?.close();
  }

  /** One line without secrets; of a program that has ended, with what it said last. */
  describe(cause: unknown): string {
    const breach = this.#stdio?.breach;
    if (breach !== undefined) return breach;
    const why = this.#redact(describeForeign(cause));
    const words = this.#stdio?.hasEnded === true ? this.#redact(this.#stdio.lastWords).trim() : "";
    return words === "" ? why : `${why} (it said: ${describeForeign(words)})`;
  }

  get #isGone(): boolean {
    return this.#stdio?.hasEnded ?? this.#isLost;
  }

  /** Calls that come together wait for the same attempt. */
  async #reconnect(): Promise<void> {
    if (this.#closing.signal.aborted) throw new Error("its connection was closed");
    if (this.#reconnecting === undefined && this.#hasReconnected)
      throw new Error("it has gone, and connecting again did not help");
    this.#hasReconnected = true;
    this.#reconnecting ??= this.#connectAnew().finally(() => {
      this.#reconnecting = undefined;
    });
    await this.#reconnecting;
  }

  async #connectAnew(): Promise<void> {
    await this.#client?.close().catch(() => undefined);
    await this.#stdio?.close(); // whoever still holds the dead one's pipes
    await this.connect();
  }
}

/** A refused connection, or a session the server does not know any more. */
function isLoss(cause: unknown): boolean {
  const status =
    typeof cause === "object" && cause !== null && "statusCode" in cause ? cause.statusCode : undefined;
  return status === 404 || (cause instanceof TypeError && cause.message === "fetch failed");
}

const SECRET_NAME = /key|token|secret|password|auth/i;

/** Values that must not be repeated, whatever a server or a library says about them. */
function secretsOf({ env, headers, args, url }: McpServerConfig): readonly string[] {
  const given = args.flatMap((arg, place) => {
    const [name = "", ...value] = arg.split("=");
    if (value.length > 0) return SECRET_NAME.test(name) ? [value.join("=")] : [];
    return SECRET_NAME.test(args[place - 1] ?? "") ? [arg] : [];
  });
  const asked = url === undefined ? [] : [...new URL(url).searchParams.values()];
  const sent = Object.values(headers).flatMap((header) => [header, ...header.split(" ")]); // `Bearer abc`
  return [...Object.values(env), ...sent, ...given, ...asked];
}
