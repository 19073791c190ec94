// A benchmark as it is run: a real process, with a folder of the test's own for what it writes in passing.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished } from "vitest";
import { tempDirectory } from "../../packages/core/test/fakes/temp-directory.ts";

const MAIN = fileURLToPath(new URL("../../bench/main.ts", import.meta.url));

export async function runBench(args: readonly string[]) {
  const temporary = join(tempDirectory(), "temporary");
  mkdirSync(temporary);
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { ...process.env, TMPDIR: temporary, TEMP: temporary, TMP: temporary },
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL")); // a test that ran out of time leaves no process behind
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { stdout, stderr, code: child.exitCode, temporary };
}

export type Figures = Readonly<Record<string, unknown>>;

export function onlyLine(stdout: string): Figures {
  const lines = stdout.split("\n");
  expect(lines).toEqual([expect.any(String), ""]);
  return JSON.parse(lines[0] ?? "") as Figures;
}
