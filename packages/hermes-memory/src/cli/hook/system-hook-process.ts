// Connects a hook with the process it runs in, and starts the worker.
import { spawn } from "node:child_process";
import { DEFAULT_PROFILE, type SelectedHome, systemHomeContext } from "@hermes-memory/core/internal/home";
import { type HookProcess, OWN_PROCESS } from "./run-hook.ts";

/** Instead of client and event: work on the queue. */
export const WORKER = "--worker";

export function systemHookProcess(): HookProcess {
  return { system: systemHomeContext(), input: process.stdin, now: Date.now, startWorker };
}

/** No shell, and nothing of the client's input is among the words. */
function startWorker({ home, profile }: SelectedHome): void {
  const place = ["--home", home, ...(profile === DEFAULT_PROFILE ? ["--profile", DEFAULT_PROFILE] : [])];
  const child = spawn(process.execPath, [process.argv[1] ?? "", "hook", ...place, WORKER], {
    detached: true,
    stdio: "ignore",
    windowsHide: true,
    env: { ...process.env, [OWN_PROCESS]: "0" },
  });
  child.on("error", () => {}); // the marker gets old, and a later hook tries again
  child.unref();
}
