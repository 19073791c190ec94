// Which process holds a lease or a lock in a shared file, and whether that process has ended. A holder is a text that contains
// a process id, in our format or in Hermes Agent's. A process id has no meaning on another machine or in another container, so a
// process counts as ended only when this system can tell.
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { threadId } from "node:worker_threads";
import { errnoCode, randomHex } from "./basics.ts";

/** Holders of the agents that are open in this thread, shared with other copies of this package in the process. */
const LIVE = Symbol.for("hermes-memory.live-lease-holders");
const shared = globalThis as { [LIVE]?: Set<string> };
const liveHolders: Set<string> = shared[LIVE] ?? new Set();
shared[LIVE] = liveHolders;

/** Counts as alive until `forgetHolder`. Hermes Agent looks for `pid=<number>:` in the text. */
export function newHolder(): string {
  const holder = `pid=${process.pid}:host=${hostname()}${namespace()}:nonce=${THREAD}${randomHex(4)}`;
  liveHolders.add(holder);
  return holder;
}

/** To be called when the holder's agent is closed. */
export function forgetHolder(holder: string): void {
  liveHolders.delete(holder);
}

/** The pid namespace of this process. Only Linux reports it; empty elsewhere. */
let known: string | undefined;
function namespace(): string {
  try {
    known ??= `/${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    known = "";
  }
  return known;
}

/** Part of the holder, because each thread knows only its own agents. */
const THREAD = threadId === 0 ? "" : `${threadId}_`;

/** True when the holder's process is known to have ended. A process on another or an unknown machine may be alive. */
export function isDeadHere(holder: string): boolean {
  const { pid, host, thread } = partsOf(holder);
  if (pid === undefined) return false;
  // Holders of Hermes Agent name no machine: with pid namespaces, the process may be in a container. Its lease expires.
  if (host === undefined) return namespace() === "" && isProcessGone(pid);
  if (!isHere(host)) return false;
  // In a container, a restarted program often has the same pid as before.
  if (pid === process.pid && thread !== undefined) return thread === THREAD && !liveHolders.has(holder);
  return isProcessGone(pid);
}

/** True when the holder's process is known to run on this machine. */
export function isAliveHere(holder: string): boolean {
  const { host } = partsOf(holder);
  return host !== undefined && isHere(host) && !isDeadHere(holder);
}

/** For messages: `process 4711`, `process 4711 on elsewhere`, or the unchanged text. */
export function describeHolder(holder: string): string {
  const { pid, host } = partsOf(holder);
  if (pid === undefined) return holder;
  return host === undefined || isHere(host) ? `process ${pid}` : `process ${pid} on ${host}`;
}

function isProcessGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return isZombie(pid);
  } catch (cause) {
    return errnoCode(cause) === "ESRCH"; // EPERM: alive, owned by another user
  }
}

/** A host without a namespace comes from a system that has none. */
function isHere(host: string): boolean {
  return host === hostname() || host === `${hostname()}${namespace()}`;
}

/** Killed, but its parent has not collected it yet. Only Linux reports it. */
function isZombie(pid: number): boolean {
  try {
    return /^\d+ \(.*\) Z /s.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

type HolderParts = { readonly pid?: number; readonly host?: string; readonly thread?: string };

function partsOf(holder: string): HolderParts {
  const own = /^pid=(\d+):host=(.*):nonce=(\d+_)?\w+$/.exec(holder);
  if (own !== null) return { pid: Number(own[1]), host: own[2] ?? "", thread: own[3] ?? "" };
  const pid = /(?:^|[^A-Za-z])pid=(\d{1,10})(?!\d)/.exec(holder)?.[1];
  const host = /(?:^|[^A-Za-z])host=([^:]*)/.exec(holder)?.[1];
  return { pid: pid === undefined ? undefined : Number(pid), host };
}
