// Runs the command line in the home of a test: in a child process, or in this process with a fake terminal and user.
import { spawn } from "node:child_process";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { NODE_COMPILE_CACHE } from "../../../core/test/fakes/compile-cache.ts";
import { type AskOptions, Cancelled, type Choice } from "../../src/cli/command.ts";
import { runCommandLine } from "../../src/cli/program.ts";
import { painter } from "../../src/cli/terminal.ts";

export type RunOptions = {
  readonly home: string;
  /** Standard input; empty by default. */
  readonly input?: string | Uint8Array;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
};

export type RunOutcome = { readonly stdout: string; readonly stderr: string; readonly code: number };

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

export function runHermes(args: readonly string[], options: RunOptions): Promise<RunOutcome> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [MAIN, ...args], {
      env: { ...plainEnvironment(), HERMES_HOME: options.home, ...options.env },
      cwd: options.cwd,
      stdio: "pipe",
    });
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => stdout.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => stderr.push(chunk));
    child.stdin.on("error", () => {}); // a command that reads no input may end before all of it is written
    child.stdin.end(options.input ?? "");
    child.on("error", reject);
    child.on("close", (code, signal) =>
      resolve({
        stdout: Buffer.concat(stdout).toString("utf8"),
        stderr: Buffer.concat(stderr).toString("utf8"),
        code: code ?? (signal === null ? 1 : 128),
      }),
    );
  });
}

/** The parsed output of a command that must succeed. */
export async function runJson(args: readonly string[], options: RunOptions): Promise<unknown> {
  const { stdout, stderr, code } = await runHermes([...args, "--json"], options);
  if (code !== 0) throw new Error(`hermes ${args.join(" ")} ended with ${code}: ${stdout}${stderr}`);
  return JSON.parse(stdout);
}

/** The same without a process. */
export async function jsonHere(args: readonly string[], options: RunOptions): Promise<unknown> {
  const { stdout, stderr, code } = await runHere([...args, "--json"], options);
  if (code !== 0) throw new Error(`hermes ${args.join(" ")} ended with ${code}: ${stdout}${stderr}`);
  return JSON.parse(stdout);
}

export type PlayedOptions = RunOptions & {
  /** The user's answers to yes/no questions. Without `answers` and `typed` there is no terminal. */
  readonly answers?: readonly boolean[];
  /** The lines that the user types at prompts. After the last one the user leaves. */
  readonly typed?: readonly string[];
  /** Lists can be drawn; `typed` has the beginnings of the labels to choose. */
  readonly canDraw?: boolean;
  /** Ctrl-C is pressed before the interruptible work starts. */
  readonly isInterrupted?: boolean;
  /** Columns of the terminal that stderr is. */
  readonly noteColumns?: number;
};

/** Runs the command line in this process with a fake terminal, and returns the questions too. */
export async function runHere(
  args: readonly string[],
  options: PlayedOptions,
): Promise<RunOutcome & { readonly questions: readonly string[] }> {
  const env: Record<string, string> = { HERMES_HOME: options.home, ...options.env };
  const answers = [...(options.answers ?? [])];
  const typed = [...(options.typed ?? [])];
  const questions: string[] = [];
  let stdout = "";
  let stderr = "";
  const terminal = {
    env,
    isInteractive: options.answers !== undefined || options.typed !== undefined,
    isOutTerminal: false,
    paint: painter(false),
    noteColumns: options.noteColumns,
    canDraw: options.canDraw ?? false,
    drained: async () => {},
    inputChunks: () => Readable.from([Buffer.from(options.input ?? "")]),
    untilInterrupted: <T>(work: (signal: AbortSignal) => Promise<T>) =>
      work(options.isInterrupted ? AbortSignal.abort() : new AbortController().signal),
    out: (text: string) => {
      stdout += text;
    },
    note: (text: string) => {
      stderr += text;
    },
    readInput: async () => String(options.input ?? ""),
    ask: async (question: string, { standard = "", problem }: AskOptions = {}) => {
      for (;;) {
        questions.push(question);
        const answer = typed.shift();
        if (answer === undefined) throw new Cancelled("end");
        const text = answer.trim() || standard;
        const refusal = problem?.(text);
        if (refusal === undefined) return text;
        stderr += `${refusal}\n`;
      }
    },
    choose: async ({ title, labels, preselected }: Choice) => {
      questions.push(title);
      const answer = typed.shift();
      if (answer === undefined) throw new Cancelled("end");
      return answer === "" ? preselected : labels.findIndex((label) => label.startsWith(answer));
    },
    endWithoutWaiting: () => {},
    confirm: async (question: string) => {
      questions.push(question);
      return answers.shift() ?? false;
    },
  };
  const system = { env, platform: process.platform, userHome: options.home };
  const code = await runCommandLine(args, terminal, system);
  return { stdout, stderr, code, questions };
}

/** Without variables of the developer or the test runner that would change a command. */
function plainEnvironment(): Record<string, string> {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(HERMES_|NODE_|VITEST|FORCE_COLOR|NO_COLOR)/.test(name),
  );
  return { ...(Object.fromEntries(kept) as Record<string, string>), NODE_COMPILE_CACHE };
}
