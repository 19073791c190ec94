// `hermes serve` as a process of its own, killed when the test is over.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";
import { NODE_COMPILE_CACHE } from "../../../core/test/fakes/compile-cache.ts";

const CLI = join(import.meta.dirname, "../../src/cli/main.ts");

export type Server = {
  /** With the local token, for clients that set no header. */
  readonly url: string;
  readonly child: ChildProcess;
  readonly exit: Promise<unknown[]>;
};

/** `flags`: for Node. */
export async function serve(home: string, flags: readonly string[] = []): Promise<Server> {
  const env = { ...process.env, HOME: home, HERMES_HOME: home, NODE_COMPILE_CACHE };
  const child = spawn(process.execPath, [...flags, CLI, "serve", "--json"], {
    env,
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const problems: string[] = [];
  child.stderr?.on("data", (chunk: Buffer) => problems.push(chunk.toString()));
  const exit = once(child, "exit");
  if (child.stdout === null) throw new Error("The server has no output.");
  const lines = createInterface({ input: child.stdout });
  const ended = exit.then(() => Promise.reject(new Error(`The server ended: ${problems.join("")}`)));
  ended.catch(() => {});
  const [line] = (await Promise.race([once(lines, "line"), ended])) as [string];
  const { url } = JSON.parse(line) as { url: string };
  const token = readFileSync(join(home, "gateway", "local-token"), "utf8").trim();
  return { url: `${url}/${token}`, child, exit };
}
