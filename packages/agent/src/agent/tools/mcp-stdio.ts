// An MCP server as a child of ours, spoken to in lines. In place of the AI SDK's own transport because that one hands on more
// of our environment, writes the server's log into the user's terminal and does not wait for the child's end.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import type { JSONRPCMessage, MCPTransport } from "@ai-sdk/mcp";
import { ByteLines, parseOutsideJson } from "@hermes-memory/core/lib";
import { MCP_MESSAGE, messageTooLarge } from "./mcp-limits.ts";

export type StdioServer = {
  readonly command: string;
  readonly args: readonly string[];
  /** All of it. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
};

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
  readonly #lines = new ByteLines(MCP_MESSAGE.maxBytes);
  #breach: string | undefined;
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

  /** Why we ended it ourselves: the limit that it did not keep to. */
  get breach(): string | undefined {
    return this.#breach;
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
    child.stdout.on("data", (chunk: Buffer) => this.#read(chunk));
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

  #read(chunk: Buffer): void {
    if (this.#breach !== undefined) return; // it is being ended
    let isTooLong = false;
    for (const line of this.#lines.push(chunk)) {
      if (line.kind === "line") this.#receive(line.bytes.toString("utf8"));
      else isTooLong = true;
    }
    // Whose answer it is may stand at its end, which may never come: nobody is left waiting for that.
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
      this.onmessage?.(parsed.value as JSONRPCMessage); // what it holds is checked by whoever asked for it
    } catch (cause) {
      // The answer to a request nobody waits for any more.
      this.onerror?.(cause instanceof Error ? cause : new Error(String(cause)));
    }
  }

  #breakOff(why: string): void {
    this.#breach ??= why;
    this.onerror?.(new Error(why));
    this.#child?.stdout.destroy(); // nothing more of it is read
    if (this.#child?.pid !== undefined) kill(this.#child.pid, "SIGKILL");
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
