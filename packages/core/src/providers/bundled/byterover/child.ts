// Runs one program to its end, or to ours: bounded in time and output, without input, in a process group of its own, so
// that whatever it started can be ended with it.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { Socket } from "node:net";
import type { Readable } from "node:stream";
import { describeCause, errnoCode } from "../../../lib/index.ts";

export type ChildRun = {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Of stdout and stderr together; more than that ends the program. */
  readonly outputBytes: number;
  readonly signal?: AbortSignal;
  /** Nobody waits for it: it does not keep our process alive. */
  readonly isBackground?: boolean;
};

export type ChildEnd =
  | {
      readonly kind: "exited";
      /** Undefined when a signal ended it. */
      readonly code: number | undefined;
      readonly stdout: string;
      readonly stderr: string;
    }
  | { readonly kind: "timed-out" | "flooded" | "aborted" }
  | { readonly kind: "not-started"; readonly code: string | undefined; readonly message: string };

type Child = ChildProcessByStdio<null, Readable, Readable>;
type Stop = "timed-out" | "flooded" | "aborted";

/** After the program's end its pipes may stay open in a process that left the group; nobody waits for that one. */
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
    if (run.isBackground === true) letGo(child);
    else endWithUs(child);
    return await ended(child, run);
  } catch (cause) {
    return notStarted(cause);
  }
}

function ended(child: Child, { timeoutMs, outputBytes, signal, isBackground }: ChildRun): Promise<ChildEnd> {
  return new Promise((resolve) => {
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    let bytes = 0;
    let stopped: Stop | undefined;
    let exit: { readonly code: number | undefined } | undefined;
    const timers: NodeJS.Timeout[] = [];

    later(timeoutMs, () => stop("timed-out"));
    signal?.addEventListener("abort", onAbort, { once: true });
    child.stdout.on("data", (chunk: Buffer) => collect(stdout, chunk));
    child.stderr.on("data", (chunk: Buffer) => collect(stderr, chunk));
    child.on("error", (cause) => {
      if (child.pid === undefined) finish(notStarted(cause)); // others are about signals that could not be sent
    });
    child.on("exit", (code) => {
      exit = { code: code ?? undefined };
      if (stopped === undefined) later(PIPE_GRACE_MS, settle);
      else settle();
    });
    child.on("close", settle);

    function collect(into: Buffer[], chunk: Buffer): void {
      bytes += chunk.length;
      if (bytes > outputBytes) stop("flooded");
      else into.push(chunk);
    }

    function onAbort(): void {
      stop("aborted");
    }

    function stop(why: Stop): void {
      if (stopped !== undefined || exit !== undefined) return;
      stopped = why;
      killGroup(child);
      later(PIPE_GRACE_MS, settle);
    }

    function settle(): void {
      if (stopped !== undefined) finish({ kind: stopped });
      else if (exit !== undefined)
        finish({ kind: "exited", code: exit.code, stdout: textOf(stdout), stderr: textOf(stderr) });
    }

    function finish(end: ChildEnd): void {
      for (const timer of timers) clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      awaited.delete(child);
      child.stdout.destroy();
      child.stderr.destroy();
      resolve(end);
    }

    function later(ms: number, what: () => void): void {
      const timer = setTimeout(what, ms);
      if (isBackground === true) timer.unref();
      timers.push(timer);
    }
  });
}

/** Without mercy: brv keeps its state in a daemon of its own, so there is nothing it would have to put in order. */
function killGroup(child: Child): void {
  try {
    if (hasGroups && child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    else child.kill("SIGKILL");
  } catch {
    child.kill("SIGKILL"); // the group is gone already, or not ours; the child itself may still be there
  }
}

/** Children somebody waits for: a group of its own hears no Ctrl-C, and with us goes who would end it in time. */
const awaited = new Set<Child>();
let isListening = false;

function endWithUs(child: Child): void {
  awaited.add(child);
  if (isListening) return;
  isListening = true;
  process.once("exit", () => {
    for (const each of awaited) killGroup(each);
  });
}

function letGo(child: Child): void {
  child.unref();
  for (const pipe of [child.stdout, child.stderr]) if (pipe instanceof Socket) pipe.unref();
}

function notStarted(cause: unknown): ChildEnd {
  return { kind: "not-started", code: errnoCode(cause), message: describeCause(cause) };
}

function textOf(chunks: readonly Buffer[]): string {
  return Buffer.concat(chunks).toString("utf8");
}
