// An MCP server as a child of ours, spoken to in lines. In place of the AI SDK's own transport because that one hands on more
// of our environment, writes the server's log into the user's terminal and does not wait for the child's end.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import type { JSONRPCMessage, MCPTransport } from "@ai-sdk/mcp";

export type StdioServer = {
  readonly command: string;
  readonly args: readonly string[];
  /** All of it. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
};

/** Far beyond any answer worth having; what is longer would only fill memory. */
const MAX_LINE_CHARS = 32 * 1024 * 1024;
const STDERR_CHARS = 2_000;
/** For leaving by itself when its input ends, and then for leaving when it is told to. */
const PATIENCE_MS = { close: 500, terminate: 2_000 };

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

export class StdioTransport implements MCPTransport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #server: StdioServer;
  #child: Child | undefined;
  #ended: Promise<unknown> = Promise.resolve();
  #line = "";
  #stderr = "";

  constructor(server: StdioServer) {
    this.#server = server;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Also when something it started still holds its output. */
  get hasEnded(): boolean {
    const child = this.#child;
    return child !== undefined && (child.exitCode !== null || child.signalCode !== null);
  }

  /** The last words of its log, for saying why it does not work. */
  get lastWords(): string {
    return this.#stderr;
  }

  async start(): Promise<void> {
    const { command, args, env, cwd } = this.#server;
    // A group of its own: a Ctrl-C for the agent is none for its servers, and what they start ends with them.
    const child = spawn(command, args, {
      env,
      stdio: ["pipe", "pipe", "pipe"],
      detached: process.platform !== "win32",
      windowsHide: true,
      ...(cwd === undefined ? {} : { cwd }),
    });
    this.#child = child;
    this.#ended = new Promise((resolve) => child.once("close", resolve).once("error", resolve));
    void this.#ended.then(() => this.onclose?.());
    child.on("error", (error) => this.onerror?.(error));
    child.stdin.on("error", (error) => this.onerror?.(error)); // it reads no more
    child.stdout.setEncoding("utf8").on("data", (text: string) => this.#read(text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-STDERR_CHARS);
    });
    await once(child, "spawn"); // rejects with the error when there is no such program
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
    if (!(await this.#endsWithin(PATIENCE_MS.close))) kill(child.pid, "SIGTERM");
    if (!(await this.#endsWithin(PATIENCE_MS.terminate))) kill(child.pid, "SIGKILL");
    child.stdout.destroy(); // a grandchild that left the group may still hold it
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

  #read(text: string): void {
    const lines = (this.#line + text).split("\n");
    this.#line = lines.pop() ?? "";
    for (const line of lines) this.#receive(line);
    if (this.#line.length <= MAX_LINE_CHARS) return;
    this.#line = "";
    this.onerror?.(new Error("The server sent a line that is too long."));
    void this.close();
  }

  #receive(line: string): void {
    if (line.trim() === "") return;
    try {
      this.onmessage?.(JSON.parse(line) as JSONRPCMessage); // what it holds is checked by whoever asked for it
    } catch (cause) {
      // No JSON, or the answer to a request nobody waits for any more.
      this.onerror?.(cause instanceof Error ? cause : new Error(String(cause)));
    }
  }
}

/** The group, where there is one. */
function kill(pid: number, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(process.platform === "win32" ? pid : -pid, signal);
  } catch {
    // gone meanwhile
  }
}
