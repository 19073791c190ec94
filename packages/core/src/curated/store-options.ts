// What a MemoryStore can be told, and what holds when it is not.
import { resolve } from "node:path";
import { type Clock, systemClock, writeFileAtomic } from "../lib/index.ts";
import type { TargetOptions } from "./target-store.ts";
import { DEFAULT_MEMORY_CHAR_LIMIT, DEFAULT_USER_CHAR_LIMIT, type MemoryTarget } from "./types.ts";

export type MemoryStoreOptions = {
  readonly dir: string;
  readonly memoryCharLimit?: number;
  readonly userCharLimit?: number;
  /** Targets that config switched off: their writes are refused, their blocks not rendered. */
  readonly disabled?: readonly MemoryTarget[];
  readonly overflow?: "refuse" | "archive";
  /** Ids of the threat scanner and of the second gate that are never reported. */
  readonly scanAllow?: readonly string[];
  /** Texts that look like credentials may be stored; default false. */
  readonly allowSecrets?: boolean;
  readonly historyMaxBytes?: number;
  readonly historyKeep?: number;
  readonly lockTimeoutMs?: number;
  readonly clock?: Clock;
  /** Gets every line that goes to `warnings`, for a log. Never a memory text. */
  readonly log?: (line: string) => void;
  /** Replaces a file; for tests of failing disks. */
  readonly writeFile?: typeof writeFileAtomic;
};

const DEFAULT_LOCK_TIMEOUT_MS = 10_000;
const DEFAULT_HISTORY_MAX_BYTES = 1024 * 1024;
const DEFAULT_HISTORY_KEEP = 200;

const NUMBERS = [
  "memoryCharLimit",
  "userCharLimit",
  "historyMaxBytes",
  "historyKeep",
  "lockTimeoutMs",
] as const;

export function targetOptions(
  options: MemoryStoreOptions,
  target: MemoryTarget,
  warn: (line: string) => void,
  othersSequence: () => number = () => 0,
): TargetOptions {
  for (const name of NUMBERS) {
    const value = options[name];
    if (value === undefined || (Number.isFinite(value) && value >= 0)) continue;
    throw new TypeError(`MemoryStore: ${name} must be a number of at least 0, but is ${String(value)}.`);
  }
  return {
    dir: resolve(options.dir),
    target,
    limit:
      target === "user"
        ? (options.userCharLimit ?? DEFAULT_USER_CHAR_LIMIT)
        : (options.memoryCharLimit ?? DEFAULT_MEMORY_CHAR_LIMIT),
    lockTimeoutMs: options.lockTimeoutMs ?? DEFAULT_LOCK_TIMEOUT_MS,
    journal: {
      maxBytes: options.historyMaxBytes ?? DEFAULT_HISTORY_MAX_BYTES,
      keepChanges: options.historyKeep ?? DEFAULT_HISTORY_KEEP,
    },
    othersSequence,
    clock: options.clock ?? systemClock,
    write: options.writeFile ?? writeFileAtomic,
    warn,
  };
}
