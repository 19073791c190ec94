// Runs one program: no shell, no input, bounded in time and output, in a separate process group, so that the processes it started can be
// killed together with it.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { Socket } from "node:net";
import type { Readable } from "node:stream";
import { describeCause, errnoCode } from "../../lib/index.ts";

export type ChildRun = {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly timeoutMs: number;
  /** Between SIGTERM and SIGKILL at the time limit. Default 0: SIGKILL at once. */
  readonly graceMs?: number;
  /** Most bytes kept of stdout and of stderr. */
  readonly outputBytes: number;
  /** When both together have more bytes, kill the program (default); or ignore the rest of each stream. */
  readonly onOverflow?: "kill" | "ignore";
  /** Kills the program when aborted. */
  readonly signal?: AbortSignal;
  /** The caller does not wait for it, so it does not keep this process alive. */
  readonly isBackground?: boolean;
};

export type ChildEnd =
  | {
      readonly kind: "exited";
      /** Undefined when a signal ended it. */
      readonly code: number | undefined;
      readonly killedBy?: string;
      readonly stdout: string;
      readonly stderr: string;
    }
  | { readonly kind: "timed-out"; readonly stderr: string }
  | { readonly kind: "flooded" | "aborted" }
  | { readonly kind: "not-started"; readonly code: string | undefined; readonly message: string };

type Child = ChildProcessByStdio<null, Readable, Readable>;
type Output = { readonly chunks: Buffer[]; bytes: number };
type StopReason = "timed-out" | "flooded" | "aborted";

/** After the program's end a process that left its group may keep the pipes open; its output is not waited for any longer than this. */
const PIPE_GRACE_MS = 500;
const hasGroups = process.platform !== "win32";

/** Never rejects. */
export async function runChild(run: ChildRun): Promise<ChildEnd> {
  if (run.signal?.aborted === true) return { kind: "aborted" };
  try {
    const child = spawn(run.command, run.args, {
      cwd: run.cwd,
      env: run.env,
      stdio: ["ignore", "pipe", "pipe"],
      detached: hasGroups,
      windowsHide: true,
    });
    if (run.isBackground === true) unref(child);
    else killWithThisProcess(child);
    return await ended(child, run);
  } catch (cause) {
    return notStarted(cause); // for example, a NUL character in an argument
  }
}

function ended(child: Child, run: ChildRun): Promise<ChildEnd> {
  const { timeoutMs, graceMs = 0, outputBytes, onOverflow = "kill", signal, isBackground } = run;
  return new Promise((resolve) => {
    const stdout: Output = { chunks: [], bytes: 0 };
    const stderr: Output = { chunks: [], bytes: 0 };
    let stopped: StopReason | undefined;
    let exit: { readonly code: number | undefined; readonly killedBy: string | undefined } | undefined;
    const timers: NodeJS.Timeout[] = [];

    later(timeoutMs, () => stop("timed-out"));
    signal?.addEventListener("abort", onAbort, { once: true });
    child.stdout.on("data", (chunk: Buffer) => collect(stdout, chunk));
    child.stderr.on("data", (chunk: Buffer) => collect(stderr, chunk));
    child.on("error", (cause) => {
      if (child.pid === undefined) finish(notStarted(cause)); // other errors are about signals that could not be sent
    });
    child.on("exit", (code, killedBy) => {
      exit = { code: code ?? undefined, killedBy: killedBy ?? undefined };
      if (stopped === undefined) later(PIPE_GRACE_MS, settle);
      else {
        signalGroup(child, "SIGKILL"); // its children may have ignored SIGTERM
        settle();
      }
    });
    child.on("close", settle);

    function collect(output: Output, chunk: Buffer): void {
      const head = chunk.subarray(0, outputBytes - output.bytes);
      if (head.length > 0) output.chunks.push(head);
      output.bytes += head.length;
      const isTooMuch = head.length < chunk.length || stdout.bytes + stderr.bytes > outputBytes;
      if (isTooMuch && onOverflow === "kill") stop("flooded");
    }

    function onAbort(): void {
      stop("aborted");
    }

    function stop(reason: StopReason): void {
      if (stopped !== undefined || exit !== undefined) return;
      stopped = reason;
      if (graceMs > 0) signalGroup(child, "SIGTERM");
      else signalGroup(child, "SIGKILL");
      later(graceMs, () => signalGroup(child, "SIGKILL"));
      later(graceMs + PIPE_GRACE_MS, settle);
    }

    function settle(): void {
      if (stopped === "timed-out") finish({ kind: stopped, stderr: textOf(stderr) });
      else if (stopped !== undefined) finish({ kind: stopped });
      else if (exit !== undefined)
        finish({ kind: "exited", ...exit, stdout: textOf(stdout), stderr: textOf(stderr) });
    }

    function finish(end: ChildEnd): void {
      for (const timer of timers) clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      toKill.delete(child);
      child.stdout.destroy();
      child.stderr.destroy();
      resolve(end);
    }

    function later(ms: number, action: () => void): void {
      const timer = setTimeout(action, ms);
      if (isBackground === true) timer.unref();
      timers.push(timer);
    }
  });
}

function signalGroup(child: Child, name: "SIGTERM" | "SIGKILL"): void {
  try {
    if (hasGroups && child.pid !== undefined) process.kill(-child.pid, name);
    else child.kill(name);
  } catch {
    child.kill(name); // the group is gone, or may not be signalled; the child itself may still run
  }
}

/** Children to kill when this process exits: a separate group does not receive Ctrl-C, and their time limit ends with this process. */
const toKill = new Set<Child>();
let isListening = false;

function killWithThisProcess(child: Child): void {
  toKill.add(child);
  if (isListening) return;
  isListening = true;
  process.once("exit", () => {
    for (const each of toKill) signalGroup(each, "SIGKILL");
  });
}

function unref(child: Child): void {
  child.unref();
  for (const pipe of [child.stdout, child.stderr]) if (pipe instanceof Socket) pipe.unref();
}

function notStarted(cause: unknown): ChildEnd {
  return { kind: "not-started", code: errnoCode(cause), message: describeCause(cause) };
}

function textOf({ chunks }: Output): string {
  return Buffer.concat(chunks).toString("utf8");
}
