// One child process: no shell, no input, its output kept up to a limit, and at the time limit it ends with all its children.
import { type ChildProcess, spawn } from "node:child_process";
import { describeCause, errnoCode } from "../../lib/index.ts";

export type CommandRules = {
  readonly timeoutMs: number;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Ends the process when the user stops waiting. */
  readonly signal?: AbortSignal;
};

export type CommandOutcome =
  | { readonly kind: "exited"; readonly code: number; readonly stdout: string; readonly stderr: string }
  | { readonly kind: "killed"; readonly by: string; readonly stderr: string }
  | { readonly kind: "timed-out"; readonly stderr: string }
  | { readonly kind: "stopped" }
  /** There is no such program. */
  | { readonly kind: "missing" }
  | { readonly kind: "failed"; readonly reason: string };

const KEPT_CHARS = 64 * 1024;
/** Between the polite request and the end, and between the end and no longer waiting for its output. */
const GRACE_MS = 2_000;

export async function runCommand(
  command: string,
  args: readonly string[],
  { timeoutMs, cwd, env, signal }: CommandRules,
): Promise<CommandOutcome> {
  if (signal?.aborted) return { kind: "stopped" };
  let child: ChildProcess;
  try {
    child = spawn(command, args, {
      stdio: ["ignore", "pipe", "pipe"],
      detached: process.platform !== "win32", // its own process group, so that one signal reaches its children too
      windowsHide: true,
      ...(cwd === undefined ? {} : { cwd }),
      ...(env === undefined ? {} : { env }),
    });
  } catch (cause) {
    return { kind: "failed", reason: describeCause(cause) }; // such as a NUL in an argument
  }
  const stdout = collect(child.stdout);
  const stderr = collect(child.stderr);
  return await new Promise((resolve) => {
    let why: "timed-out" | "stopped" | undefined;
    let giveUp: NodeJS.Timeout | undefined;
    const end = (reason: "timed-out" | "stopped"): void => {
      if (why !== undefined) return;
      why = reason;
      signalGroup(child, "SIGTERM");
      giveUp = setTimeout(() => {
        signalGroup(child, "SIGKILL");
        // A grandchild in a group of its own may hold the pipes open; its output is nothing to wait for.
        giveUp = setTimeout(() => done(outcomeOf(null, null)), GRACE_MS);
      }, GRACE_MS);
    };
    const timer = setTimeout(end, timeoutMs, "timed-out");
    const onAbort = (): void => end("stopped");
    const onExit = (): void => signalGroup(child, "SIGKILL"); // nothing outlives the program that started it
    const outcomeOf = (code: number | null, by: NodeJS.Signals | null): CommandOutcome => {
      if (why === "stopped") return { kind: "stopped" };
      if (why === "timed-out") return { kind: "timed-out", stderr: stderr.text() };
      if (code === null) return { kind: "killed", by: by ?? "a signal", stderr: stderr.text() };
      return { kind: "exited", code, stdout: stdout.text(), stderr: stderr.text() };
    };
    const done = (outcome: CommandOutcome): void => {
      clearTimeout(timer);
      clearTimeout(giveUp);
      signal?.removeEventListener("abort", onAbort);
      process.off("exit", onExit);
      child.stdout?.destroy();
      child.stderr?.destroy();
      resolve(outcome);
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    process.on("exit", onExit);
    child.on("error", (cause) => done(startFailure(cause)));
    child.on("close", (code, by) => done(outcomeOf(code, by)));
  });
}

function startFailure(cause: unknown): CommandOutcome {
  if (errnoCode(cause) === "ENOENT") return { kind: "missing" };
  return { kind: "failed", reason: describeCause(cause) };
}

function signalGroup(child: ChildProcess, name: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    if (process.platform === "win32") child.kill(name);
    else process.kill(-child.pid, name);
  } catch {
    // already gone
  }
}

/** The beginning of a stream. The rest is read and dropped, so that the writer never waits. */
function collect(stream: ChildProcess["stdout"]): { text: () => string } {
  let kept = "";
  stream?.setEncoding("utf8").on("data", (chunk: string) => {
    if (kept.length < KEPT_CHARS) kept = (kept + chunk).slice(0, KEPT_CHARS);
  });
  return { text: () => kept };
}
