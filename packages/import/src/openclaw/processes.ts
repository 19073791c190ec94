// Whether OpenClaw or a Hermes gateway runs: both would compete with each other for a bot's connection.
import { execFile } from "node:child_process";
import { basename, join } from "node:path";
import { readTextFile } from "@hermes-memory/core/internal/lib";
import { jsonOf, recordOf } from "../transcripts/kit/values.ts";

/** Runs a program; undefined when it cannot be started, fails or takes too long. For tests. */
type RunProgram = (
  command: string,
  args: readonly string[],
  timeoutMs: number,
) => Promise<string | undefined>;

export type ProcessDeps = {
  readonly platform: string;
  /** Our own process: it and those that started it do not count. */
  readonly pid: number;
  readonly run: RunProgram;
};

type Running = { readonly pid: number; readonly parent: number; readonly words: readonly string[] };

const LIST = ["ps", ["-A", "-o", "pid=,ppid=,args="], 3000] as const;
/** The path of a program may have blanks on Windows: its name, and the arguments without it. */
const WINDOWS_LIST = [
  "powershell",
  [
    "-NoProfile",
    "-Command",
    `Get-CimInstance Win32_Process | ForEach-Object { $_.ProcessId, $_.ParentProcessId, $_.Name, ($_.CommandLine -replace '^("[^"]*"|\\S+)\\s*', '') -join ' ' }`,
  ],
  5000,
] as const;
const PRODUCT = /^(?:openclaw|clawdbot|moltbot|clawd)(?:[-.].*)?$/i;
const RUNTIMES = /^(?:node|nodejs|bun|deno)(?:\.exe)?$/i;

export const systemProcesses: ProcessDeps = {
  platform: process.platform,
  pid: process.pid,
  run: (command, args, timeoutMs) =>
    new Promise((resolve) => {
      execFile(command, [...args], { timeout: timeoutMs, maxBuffer: 16 * 1024 * 1024 }, (error, stdout) =>
        resolve(error === null ? stdout : undefined),
      );
    }),
};

/** One line for each process of OpenClaw. */
export async function openClawProcesses({ platform, pid: ownPid, run }: ProcessDeps): Promise<string[]> {
  const listing = platform === "win32" ? await run(...WINDOWS_LIST) : await run(...LIST);
  const processes = parsed(listing ?? "");
  const own = familyOf(ownPid, processes);
  const found = processes.filter(({ pid, words }) => !own.has(pid) && isOpenClaw(words));
  return found.map(({ pid, words }) => `process ${pid} (${basename(words[0] ?? "")})`); // arguments may hold a token
}

/** Each line: process, parent, command line. */
function parsed(listing: string): Running[] {
  return listing.split(/\r?\n/).flatMap((line) => {
    const found = /^\s*(\d+)\s+(\d+)\s+(\S.*)$/.exec(line);
    if (!found) return [];
    const words = found[3]?.match(/"[^"]*"|\S+/g)?.map((word) => word.replaceAll('"', "")) ?? [];
    return [{ pid: Number(found[1]), parent: Number(found[2]), words }];
  });
}

/** Our process, its parents and its children. */
function familyOf(pid: number, processes: readonly Running[]): ReadonlySet<number> {
  const family = new Set([pid]);
  const parents = new Map(processes.map((each) => [each.pid, each.parent]));
  for (let at = parents.get(pid); at !== undefined && !family.has(at); at = parents.get(at)) family.add(at);
  for (const each of processes) if (each.parent === pid) family.add(each.pid);
  return family;
}

/** The program itself, or a JavaScript runtime whose script belongs to it. An editor that opened such a path is neither. */
function isOpenClaw(words: readonly string[]): boolean {
  const [program = "", ...rest] = words;
  if (PRODUCT.test(basename(program))) return true;
  if (!RUNTIMES.test(basename(program))) return false;
  const script = rest.find((word) => !word.startsWith("-"));
  return script?.split(/[/\\]/).some((part) => PRODUCT.test(part)) ?? false;
}

/** Platforms that a running Hermes gateway of this home is connected to; none when it does not run. */
export function connectedPlatforms(home: string, isAlive: (pid: number) => boolean = isRunning): string[] {
  const json = (name: string): unknown => {
    const text = readTextFile(join(home, name));
    return jsonOf(text.ok ? text.value : undefined);
  };
  const [state, pidFile] = [recordOf(json("gateway_state.json")), json("gateway.pid")];
  const pid = Number(recordOf(pidFile)?.pid ?? pidFile ?? state?.pid);
  if (!Number.isSafeInteger(pid) || pid <= 0 || !isAlive(pid)) return [];
  return Object.entries(recordOf(state?.platforms) ?? {})
    .filter(([, platform]) => recordOf(platform)?.state === "connected")
    .map(([name]) => name);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
