// Who holds a lease or a lock in the shared file, and whether that process is gone. A holder is a text; ours and the original's name
// a process in it. Numbers of processes mean nothing on another machine or in another container, so a process counts as gone only
// where that can be told.
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { threadId } from "node:worker_threads";
import { errnoCode, randomHex } from "../lib/index.ts";

/** Those of this thread's agents that are open: also of another copy of this package in the process. */
const LIVE = Symbol.for("hermes-memory.live-lease-holders");
const shared = globalThis as { [LIVE]?: Set<string> };
const liveHolders: Set<string> = shared[LIVE] ?? new Set();
shared[LIVE] = liveHolders;

/** Counts as alive until `forgetHolder`. The original looks for `pid=<number>:` in it. */
export function newHolder(): string {
  const holder = `pid=${process.pid}:host=${hostname()}${NAMESPACE}:nonce=${THREAD}${randomHex(4)}`;
  liveHolders.add(holder);
  return holder;
}

/** Its agent is closed. */
export function forgetHolder(holder: string): void {
  liveHolders.delete(holder);
}

/** Of this process's numbers, in a form that can be compared. Only Linux tells. */
const NAMESPACE = namespace();
/** The kernel's fixed number of the namespace that contains all others. */
const OUTERMOST = "/pid:[4026531836]";

function namespace(): string {
  try {
    return `/${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return "";
  }
}

/** What one thread knows of its agents says nothing about those of another. */
const THREAD = threadId === 0 ? "" : `${threadId}_`;

/** Known to be gone. A process of another machine, or of an unknown one, may well be alive. */
export function isDeadHere(holder: string): boolean {
  const { pid, host, thread } = partsOf(holder);
  if (pid === undefined) return false;
  if (host === undefined) return isStrangerDead(pid);
  if (!isHere(host)) return false;
  // In a container a program that is started again often has the number of the one before.
  if (pid === process.pid && thread !== undefined) return thread === THREAD && !liveHolders.has(holder);
  return isProcessGone(pid);
}

/** For messages: `process 4711`, `process 4711 on elsewhere`, or the text as it is. */
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
    return errnoCode(cause) === "ESRCH"; // EPERM: alive, of another user
  }
}

/**
 * The original's holders name no machine. Where containers have numbers of their own, a process may have this number in one of them:
 * from the outermost namespace all of them can be seen, from within one the others cannot.
 */
function isStrangerDead(pid: number): boolean {
  if (!isProcessGone(pid)) return false;
  if (NAMESPACE === "") return true; // a system without such namespaces
  return NAMESPACE === OUTERMOST && !isNumberInContainer(pid);
}

function isNumberInContainer(pid: number): boolean {
  try {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .some((name) => innerNumbers(statusOf(name)).includes(pid));
  } catch {
    return true; // cannot be told
  }
}

function statusOf(name: string): string {
  try {
    return readFileSync(`/proc/${name}/status`, "utf8");
  } catch {
    return ""; // has ended meanwhile
  }
}

/** The numbers of a process in the namespaces below ours, from `/proc/<pid>/status`. */
export function innerNumbers(status: string): number[] {
  const line = /^NSpid:\s*(.*)$/m.exec(status)?.[1] ?? "";
  return line.split(/\s+/).slice(1).map(Number);
}

/** Without a namespace: from a system that has none. */
function isHere(host: string): boolean {
  return host === hostname() || host === `${hostname()}${NAMESPACE}`;
}

/** Killed, and its parent has not looked yet. Only Linux tells. */
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
