// The connection to one MCP server: connect over stdio or HTTP, list tools, call them, reconnect once when the server has died,
// close. Also the limits for what a server may send and the environment that a started server gets.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import type { JSONRPCMessage, ListToolsResult, MCPClient, MCPTransport } from "@ai-sdk/mcp";
import type { McpServerConfig } from "@hermes-memory/core/internal/config";
import {
  ByteLines,
  groupThousands,
  isRecord,
  outsideJsonOr,
  parseOutsideJson,
} from "@hermes-memory/core/internal/lib";
import type { Logger } from "@hermes-memory/core/internal/logger";
import { describeForeign } from "@hermes-memory/core/internal/providers";
import { createRedactor } from "@hermes-memory/core/internal/security";
import { VERSION } from "@hermes-memory/core/internal/version";

type McpServerDeps = {
  readonly log: Logger;
  readonly env: Readonly<Record<string, string | undefined>>;
};

export type OfferedTool = ListToolsResult["tools"][number];

/** Limits for the paged list of tools; no real server has this many. */
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
  /** Over HTTP only a failing call shows that the server has gone. */
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
  async connect(): Promise<void> {
    const { createMCPClient } = await import("@ai-sdk/mcp");
    const { command, args, env, url = "", headers, cwd, connectTimeout } = this.#config;
    const stdio =
      command === undefined
        ? undefined
        : new StdioTransport({ command, args, cwd, env: serverEnvironment(this.#deps.env, env) });
    this.#stdio = stdio;
    try {
      this.#client = await createMCPClient({
        transport: stdio ?? { type: "http", url, headers: { ...headers }, fetch: boundedFetch(fetch) },
        clientName: "hermes-memory",
        version: VERSION,
        initializationOptions: {
          timeout: connectTimeout * 1000,
          signal: this.#closing.signal,
        },
        // Errors outside of a call, for example in notifications.
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
        params: cursor === undefined ? undefined : { cursor },
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
      // We killed the server because it broke a limit, so restarting it does not count as its one reconnection.
      if (this.#stdio?.breach !== undefined) this.#hasReconnected = false;
      throw cause;
    }
  }

  /** May be called more than once. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#reconnecting?.catch(() => undefined); // or a child that is just being started would be left running
    await this.#client?.close().catch(() => undefined); // a server that no longer answers needs no goodbye
    await this.#stdio?.close();
  }

  /** One line without secrets; for a program that has ended, with the end of its log. */
  describe(cause: unknown): string {
    const breach = this.#stdio?.breach;
    if (breach !== undefined) return breach;
    const why = this.#redact(describeForeign(cause));
    const words = this.#stdio?.hasEnded === true ? this.#redact(this.#stdio.logEnd).trim() : "";
    return words === "" ? why : `${why} (it said: ${describeForeign(words)})`;
  }

  get #isGone(): boolean {
    return this.#stdio?.hasEnded ?? this.#isLost;
  }

  /** Calls made at the same time wait for the same attempt. */
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
    await this.#stdio?.close(); // a process that the dead server started may still hold its pipes
    await this.connect();
  }
}

/** True for a refused connection, and for a session that the server no longer knows. */
function isLoss(cause: unknown): boolean {
  const status =
    typeof cause === "object" && cause !== null && "statusCode" in cause ? cause.statusCode : undefined;
  return status === 404 || (cause instanceof TypeError && cause.message === "fetch failed");
}

const SECRET_NAME = /key|token|secret|password|auth/i;

/** Values to mask in everything that a server or a library says. */
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

// Over stdio: the server is a child process, and each line is one message. Used instead of the AI SDK's own transport, which
// passes on more of our environment, writes the server's log to the user's terminal and does not wait for the child's end.

type StdioServer = {
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment of the child. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
};

const STDERR_CHARS = 2_000;
/** On close, wait this long after closing the child's input, then this long after SIGTERM; then SIGKILL. */
const CLOSE_TIMEOUT_MS = { inputEnd: 500, sigterm: 2_000 };

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

class StdioTransport implements MCPTransport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #server: StdioServer;
  #child: Child | undefined;
  #ended: Promise<unknown> = Promise.resolve();
  readonly #lines = new ByteLines(MCP_MESSAGE.maxBytes);
  #breach: string | undefined;
  #stderr = "";

  constructor(server: StdioServer) {
    this.#server = server;
  }

  /** True also when a process that the server started still holds its output. */
  get hasEnded(): boolean {
    const child = this.#child;
    return child !== undefined && (child.exitCode !== null || child.signalCode !== null);
  }

  /** The end of what the child wrote to stderr, for saying why it does not work. */
  get logEnd(): string {
    return this.#stderr;
  }

  /** The limit that the server broke, when we killed it for that. */
  get breach(): string | undefined {
    return this.#breach;
  }

  async start(): Promise<void> {
    const { command, args, env, cwd } = this.#server;
    // In its own process group: Ctrl-C for the agent does not reach the server, and killing the group also ends what the server started.
    const child = spawn(command, args, {
      env,
      stdio: ["pipe", "pipe", "pipe"],
      detached: process.platform !== "win32",
      windowsHide: true,
      cwd,
    });
    this.#child = child;
    this.#ended = new Promise((resolve) => child.once("close", resolve).once("error", resolve));
    void this.#ended.then(() => this.onclose?.());
    child.on("error", (error) => this.onerror?.(error));
    child.stdin.on("error", (error) => this.onerror?.(error)); // the child has closed its input
    child.stdout.on("data", (chunk: Buffer) => this.#read(chunk));
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-STDERR_CHARS);
    });
    await once(child, "spawn"); // rejects when there is no such program
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const child = this.#child;
    if (child === undefined || this.hasEnded || !child.stdin.writable)
      throw new Error("the server has ended");
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    child.stdin.write(`${JSON.stringify(message)}\n`, (error) => (error ? reject(error) : resolve()));
    return promise;
  }

  /** Resolves when the child is gone. */
  async close(): Promise<void> {
    const child = this.#child;
    if (child?.pid === undefined) return;
    child.stdin.end();
    if (!(await this.#endsWithin(CLOSE_TIMEOUT_MS.inputEnd))) kill(child.pid, "SIGTERM");
    if (!(await this.#endsWithin(CLOSE_TIMEOUT_MS.sigterm))) kill(child.pid, "SIGKILL");
    child.stdout.destroy(); // a grandchild that left the process group may still hold it
    child.stderr.destroy();
    await this.#ended;
  }

  async #endsWithin(ms: number): Promise<boolean> {
    const { promise: late, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(resolve, ms, false);
    const isEnded = await Promise.race([this.#ended.then(() => true), late]);
    clearTimeout(timer);
    return isEnded;
  }

  #read(chunk: Buffer): void {
    if (this.#breach !== undefined) return; // the child is being killed
    let isTooLong = false;
    for (const line of this.#lines.push(chunk)) {
      if (line.kind === "line") this.#receive(line.bytes.toString("utf8"));
      else isTooLong = true;
    }
    // The id of the request may be at the end of the line, which may never come, so the call must not wait for it.
    if (isTooLong || this.#lines.isTooLong) this.#breakOff(messageTooLarge());
  }

  #receive(line: string): void {
    if (line.trim() === "") return;
    const parsed = parseOutsideJson(line, MCP_MESSAGE);
    if (!parsed.ok) {
      if (parsed.error.kind === "no_json") this.onerror?.(new Error(`a line of it ${parsed.error.message}`));
      else this.#breakOff(`it sent a message that ${parsed.error.message}`);
      return;
    }
    try {
      this.onmessage?.(parsed.value as JSONRPCMessage); // the MCP client checks its fields
    } catch (cause) {
      // The client threw: the answer belongs to a request that is no longer waiting.
      this.onerror?.(cause instanceof Error ? cause : new Error(String(cause)));
    }
  }

  #breakOff(why: string): void {
    this.#breach ??= why;
    this.onerror?.(new Error(why));
    this.#child?.stdout.destroy();
    if (this.#child?.pid !== undefined) kill(this.#child.pid, "SIGKILL");
  }
}

/** Signals the whole process group; on Windows, which has none, the process. */
function kill(pid: number, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(process.platform === "win32" ? pid : -pid, signal);
  } catch {
    // it has ended already
  }
}

// Limits for what a server sends, over either transport. Documented in docs/agent.md.

/**
 * For one message: a line over stdio, a body or one event of a stream over HTTP. `maxDepth` exceeds the limit for a tool's
 * schema, so that one tool that is too deep does not cost the other tools of the list.
 */
export const MCP_MESSAGE = {
  maxBytes: 8 * 1024 * 1024,
  maxChars: 8 * 1024 * 1024,
  maxDepth: 10_000,
} as const;

/** For everything that a server sends for one request over HTTP, notifications before the answer included. */
const MOST_REQUEST_BYTES = 64 * 1024 * 1024;

/** Completes the sentence "The MCP server did not answer: ...". */
function messageTooLarge(): string {
  return `it sent a message of more than ${groupThousands(MCP_MESSAGE.maxBytes)} bytes, and no more is taken`;
}

/** A `fetch` whose responses fail as soon as they exceed the limits. */
function boundedFetch(send: typeof fetch): typeof fetch {
  return async (input, init) => {
    const response = await send(input, init);
    if (response.body === null) return response;
    const isStream = response.headers.get("content-type")?.includes("text/event-stream") === true;
    const id = requestId(init?.body);
    let allBytes = 0;
    let messageBytes = 0;
    let lineEnd = "";
    const breachOf = (chunk: Uint8Array): string | undefined => {
      allBytes += chunk.length;
      messageBytes += chunk.length;
      if (isStream) {
        // Each event ends with a blank line, so the last one in the chunk begins behind it.
        const text = lineEnd + Buffer.from(chunk).toString("latin1");
        const [end] = [...text.matchAll(/\n\r?\n/g)].slice(-1);
        if (end !== undefined) messageBytes = text.length - end.index - end[0].length;
        lineEnd = text.slice(-2);
      }
      if (messageBytes > MCP_MESSAGE.maxBytes) return messageTooLarge();
      // A stream that answers no request stays open as long as the connection, so its total size has no limit.
      if (id === undefined || allBytes <= MOST_REQUEST_BYTES) return undefined;
      return `it sent more than ${groupThousands(MOST_REQUEST_BYTES)} bytes for one request, and no more is taken`;
    };
    const bounded = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        const breach = breachOf(chunk);
        if (breach === undefined) return controller.enqueue(chunk);
        if (id === undefined || !isStream) throw new Error(breach);
        // If the stream just broke, the client would leave the request waiting for its timeout; so we answer it with an error.
        controller.enqueue(new TextEncoder().encode(refusalEvent(id, breach)));
        controller.terminate();
      },
    });
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(bounded), { status, statusText, headers });
  };
}

function requestId(body: unknown): string | number | undefined {
  const message = typeof body === "string" ? outsideJsonOr(body, undefined, MCP_MESSAGE) : undefined;
  const id = isRecord(message) ? message.id : undefined;
  return typeof id === "string" || typeof id === "number" ? id : undefined;
}

/** Ends the unfinished event under a name that no client listens for, then answers the request with an error. */
function refusalEvent(id: string | number, message: string): string {
  const answer = { jsonrpc: "2.0", id, error: { code: -32_000, message } };
  return `\nevent: too-large\n\ndata: ${JSON.stringify(answer)}\n\n`;
}

// The environment of a server that we start: where things are, and none of the API keys in ours

const PASSED_ON = ["PATH", "HOME", "LANG", "TERM", "TMPDIR", "USER"];
/** Programs do not start on Windows without these. */
const PASSED_ON_WINDOWS =
  "APPDATA COMSPEC HOMEDRIVE HOMEPATH LOCALAPPDATA PATHEXT PROGRAMDATA PROGRAMFILES SYSTEMDRIVE SYSTEMROOT TEMP TMP USERNAME USERPROFILE".split(
    " ",
  );

/** Variables from config override ours. */
function serverEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  configured: Readonly<Record<string, string>>,
): Record<string, string> {
  const isWindows = process.platform === "win32";
  const names = isWindows ? [...PASSED_ON, ...PASSED_ON_WINDOWS] : PASSED_ON;
  const kept = Object.entries(env).flatMap(([name, value]): [string, string][] =>
    value !== undefined && names.includes(isWindows ? name.toUpperCase() : name) ? [[name, value]] : [],
  );
  return { ...Object.fromEntries(kept), ...configured };
}
