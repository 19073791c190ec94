// The detached process behind the hooks: imports the waiting transcripts of one home, one after the other, and ends when none is left.
import { spawn } from "node:child_process";
import { statSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { DEFAULT_PROFILE, type HomeContext, type SelectedHome } from "@hermes-memory/core/internal/home";
import { BEAT_MS, CaptureQueue, type CaptureRequest } from "./capture-queue.ts";
import { findHookClient } from "./protocols.ts";
import { log, OWN_PROCESS } from "./run-hook.ts";
import { judgeTranscript, subagentsOf } from "./transcript-path.ts";

export type WorkerProcess = {
  readonly system: HomeContext;
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<unknown>;
  /** Runs `hermes` with these words and resolves to its exit code. */
  readonly hermes: (
    words: readonly string[],
    env: Readonly<Record<string, string>>,
  ) => Promise<number | null>;
};

/** A client may still be writing the last lines when it calls the hook. */
const QUIET_MS = 2000;
/** A transcript that never rests is imported anyway; the next event reads the rest. */
const LONGEST_REST_MS = 20_000;
const LOOK_MS = 500;
/** Another import of the same home may be running. */
const RETRIES_MS: readonly number[] = [5000, 30_000];

/** The exit code for a command line that cannot be understood. */
const USAGE = 2;

/** The caller has claimed the queue. */
export async function drainQueue(home: SelectedHome, worker: WorkerProcess): Promise<void> {
  const queue = new CaptureQueue(home.home);
  const beats = setInterval(() => queue.beat(), BEAT_MS);
  try {
    // A hook may add a request after the last look and before the release: it saw the marker and started nothing.
    do {
      for (let next = queue.next(); next; next = queue.next()) {
        await importOne(next.request, home, worker);
        next.done();
      }
      queue.tidy(worker.now());
      queue.release();
    } while (queue.next() && queue.claim(worker.now()));
  } finally {
    clearInterval(beats);
  }
}

async function importOne(request: CaptureRequest, home: SelectedHome, worker: WorkerProcess): Promise<void> {
  const found = findHookClient(request.client);
  if (found?.client.source === undefined) return;
  const { path } = request;
  if (path !== undefined) {
    await untilQuiet(path, worker);
    // Looked at again, because the file may have been replaced since the hook looked at it.
    if (judgeTranscript(path, found.client.roots(worker.system)) !== "usable") return;
  }
  const subagents = found.name === "claude-code" && path !== undefined ? subagentsOf(path) : undefined;
  const words = [
    ...(home.profile === DEFAULT_PROFILE ? ["--profile", DEFAULT_PROFILE] : []),
    ...["sessions", "import", "--from", found.client.source],
    ...(path === undefined ? [] : ["--path", path]),
    ...(subagents === undefined ? [] : ["--path", subagents]),
  ];
  for (const delay of [...RETRIES_MS, undefined]) {
    const code = await worker.hermes(words, { HERMES_HOME: home.home, [OWN_PROCESS]: "0" });
    if (code === 0) return;
    if (delay === undefined || code === USAGE) {
      await log(home, `A transcript of ${found.client.title} could not be imported`, {
        exit_code: code,
        session_file: path,
      });
      return;
    }
    await worker.sleep(delay);
  }
}

async function untilQuiet(path: string, { now, sleep: wait }: WorkerProcess): Promise<void> {
  const end = now() + LONGEST_REST_MS;
  while (now() < end) {
    const changedAt = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
    if (changedAt !== undefined && now() - changedAt >= QUIET_MS) return;
    await wait(LOOK_MS);
  }
}

/** `script`: the program that was started as `hermes`. */
export function systemWorker(system: HomeContext, script: string): WorkerProcess {
  return {
    system,
    now: Date.now,
    sleep,
    hermes: (words, env) =>
      new Promise((resolve) => {
        const child = spawn(process.execPath, [script, ...words], {
          env: { ...process.env, ...env },
          stdio: "ignore",
          windowsHide: true,
        });
        child.on("error", () => resolve(null));
        child.on("close", (code) => resolve(code));
      }),
  };
}
