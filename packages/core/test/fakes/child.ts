// A process of our own that talks in lines: what it says on stdout can be awaited, what it needs to know goes to stdin.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { onTestFinished } from "vitest";
import { NODE_COMPILE_CACHE } from "./compile-cache.ts";

export type Child = {
  readonly pid: number;
  /** The next line of stdout; undefined when the child has ended. */
  nextLine(): Promise<string | undefined>;
  /** All lines until the child ends; rejects when it fails. */
  rest(): Promise<string[]>;
  say(line: string): void;
  closeInput(): void;
  /** kill -9; resolves when the process is gone. */
  kill(): Promise<void>;
};

const fakes = import.meta.dirname;

/** Runs a script with this Node: its absolute path, or its name in this folder. */
export function startScript(
  script: string,
  args: readonly string[] = [],
  flags: readonly string[] = [],
): Child {
  return startChild(process.execPath, [...flags, resolve(fakes, script), ...args]);
}

export function startChild(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd = process.cwd(),
): Child {
  const child = spawn(command, args, {
    stdio: ["pipe", "pipe", "pipe"],
    cwd,
    env: { ...process.env, NODE_COMPILE_CACHE, ...env },
  });
  const ended = once(child, "close");
  const errors: string[] = [];
  child.stderr.setEncoding("utf8").on("data", (text: string) => errors.push(text));
  child.stdin.on("error", () => {}); // a killed child reads no more
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  onTestFinished(() => stop(child, ended));
  const nextLine = async (): Promise<string | undefined> => {
    const { value, done } = await lines.next();
    return done ? undefined : value;
  };
  return {
    pid: child.pid ?? -1,
    nextLine,
    async rest() {
      const all: string[] = [];
      for (let line = await nextLine(); line !== undefined; line = await nextLine()) all.push(line);
      await ended;
      if (child.exitCode !== 0)
        throw new Error(`child ended with ${child.exitCode ?? child.signalCode}: ${errors.join("")}`);
      return all;
    },
    say: (line) => child.stdin.write(`${line}\n`),
    closeInput: () => child.stdin.end(),
    kill: () => stop(child, ended),
  };
}

async function stop(
  child: ChildProcessByStdio<Writable, Readable, Readable>,
  ended: Promise<unknown>,
): Promise<void> {
  child.kill("SIGKILL");
  await ended;
}
