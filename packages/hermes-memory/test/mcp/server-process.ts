// The server as a process with lines in and out and an exit code, for input that a correct client never sends.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";
import { NODE_COMPILE_CACHE } from "../../../core/test/fakes/compile-cache.ts";
import { MAIN } from "./connect.ts";

export type Message = {
  readonly jsonrpc: string;
  readonly id?: number;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string };
};

export type ServerProcess = {
  say(line: string | Uint8Array): void;
  /** Sends a request and waits for its answer. */
  ask(method: string, params?: object): Promise<Message>;
  /** Sends a request and does not wait. */
  send(method: string, params?: object): Promise<Message>;
  closeInput(): void;
  closeOutput(): void;
  kill(signal: NodeJS.Signals): void;
  /** After its end: exit code and output. */
  readonly ended: Promise<{ code: number | null; lines: string[]; stderr: string }>;
};

export async function startServer(home: string): Promise<ServerProcess> {
  const child = spawn(process.execPath, [MAIN, "mcp"], {
    env: { PATH: process.env.PATH, HERMES_HOME: home, NODE_COMPILE_CACHE },
    stdio: "pipe",
  });
  const lines: string[] = [];
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  child.stdin.on("error", () => {});
  const waiting = new Map<number, (message: Message) => void>();
  createInterface({ input: child.stdout }).on("line", (line) => {
    lines.push(line);
    const message = JSON.parse(line) as Message; // a line that is no JSON fails the test
    waiting.get(message.id ?? -1)?.(message);
  });
  const closed = once(child, "close");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await closed;
  });
  let nextId = 1;
  const send = (method: string, params: object = {}): Promise<Message> => {
    const id = nextId;
    nextId += 1;
    const answer = new Promise<Message>((resolve) => waiting.set(id, resolve));
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    return answer;
  };
  const server: ServerProcess = {
    say: (line) => void child.stdin.write(line),
    ask: send,
    send,
    closeInput: () => void child.stdin.end(),
    closeOutput: () => void child.stdout.destroy(),
    kill: (signal) => void child.kill(signal),
    ended: closed.then(([code]) => ({ code: code as number | null, lines, stderr })),
  };
  await send("initialize", {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "bare", version: "1" },
  });
  server.say(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })}\n`);
  return server;
}

export function adding(content: string, target = "memory"): { name: string; arguments: object } {
  return { name: "memory", arguments: { action: "add", target, content } };
}

/** The JSON of a tool that answered. */
export function toolJson({ result }: Message): Record<string, unknown> {
  const [part] = (result?.content ?? []) as { text: string }[];
  return JSON.parse(part?.text ?? "null") as Record<string, unknown>;
}
