// Installs a scripted `brv` in a temporary directory, sets its behaviour and reads the calls it received.
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { pathToFileURL } from "node:url";
import { vi } from "vitest";
import { NODE_COMPILE_CACHE } from "../../../core/test/fakes/compile-cache.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";

/** See `brv/program.ts` for what each one does. */
export type BrvMode =
  | "normal"
  | "noisy"
  | "waiting"
  | "held"
  | "offline"
  | "lost"
  | "half"
  | "text"
  | "quiet"
  | "crash"
  | "hang"
  | "flood";

export type BrvPlan = {
  readonly mode?: BrvMode;
  /** Modes of single commands. */
  readonly modes?: Readonly<Record<string, BrvMode>>;
  /** A model provider is connected, unless this is false. */
  readonly isConnected?: boolean;
  readonly isLoggedIn?: boolean;
  /** The key that `login` accepts. */
  readonly apiKey?: string;
  /** The answer of `query`, instead of the notes it finds. */
  readonly answer?: string;
};

export type BrvCall = {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly path: string;
  readonly stdin: "closed" | "open";
  readonly pid: number;
  /** A process that it started in its own group (`hang`). */
  readonly childPid?: number;
};

export type StandIn = {
  /** The directory of the program. */
  readonly bin: string;
  /** An environment in which it is found first, with a separate user home. */
  readonly env: Readonly<Record<string, string>>;
  readonly userHome: string;
  plan(plan: BrvPlan): void;
  /** Releases calls in the mode `waiting`. */
  go(): void;
  calls(): readonly BrvCall[];
  /** Resolves when this many calls have begun. */
  called(times: number): Promise<readonly BrvCall[]>;
};

const program = pathToFileURL(join(import.meta.dirname, "brv", "program.ts")).href;

export function installBrv(plan: BrvPlan = {}, root = tempDirectory()): StandIn {
  const bin = join(root, "bin");
  mkdirSync(bin);
  placeBrv(bin, root);
  const standIn: StandIn = {
    bin,
    env: { PATH: [bin, process.env.PATH ?? ""].join(delimiter), HOME: root, NODE_COMPILE_CACHE },
    userHome: root,
    plan: (next) => writeFileSync(join(root, "plan.json"), JSON.stringify(next)),
    go: () => writeFileSync(join(root, "go"), ""),
    calls: () => readCalls(join(root, "calls.jsonl")),
    called: (times) =>
      vi.waitFor(
        () => {
          const calls = readCalls(join(root, "calls.jsonl"));
          if (calls.length < times) throw new Error(`brv was called ${calls.length} times, not ${times}`);
          return calls;
        },
        { timeout: 15_000, interval: 10 },
      ),
  };
  standIn.plan(plan);
  return standIn;
}

/** Another copy of the program with the same plan and the same list of calls. */
export function placeBrv(directory: string, root: string): string {
  const path = join(directory, "brv");
  mkdirSync(directory, { recursive: true });
  const script = `process.env.BRV_STAND_IN = ${JSON.stringify(root)};\nimport(${JSON.stringify(program)});\n`;
  writeFileSync(path, `#!${process.execPath}\n${script}`);
  chmodSync(path, 0o755);
  return path;
}

/** A zombie process counts as gone. */
export function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return true;
  }
  const stat = `/proc/${pid}/stat`;
  if (!existsSync("/proc/self/stat")) return false;
  try {
    return / [ZX] /.test(readFileSync(stat, "utf8").replace(/^.*\)/s, ""));
  } catch {
    return true;
  }
}

function readCalls(path: string): readonly BrvCall[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as BrvCall);
}
