// The ways in which a process can come by its locks, as flags for `startScript`.
import { spawnSync } from "node:child_process";

const preload = (name: string): string[] => ["--import", new URL(`./${name}`, import.meta.url).href];

/** `kernel`: also excludes programs that take only flock. */
export const LOCK_MODES = [
  { name: "koffi", flags: [], kernel: true },
  { name: "flock(1)", flags: preload("no-koffi.ts"), kernel: true },
  { name: "neither", flags: [...preload("no-koffi.ts"), ...preload("no-flock.ts")], kernel: false },
] as const;

export const hasFlockProgram = spawnSync("flock", ["--version"]).status === 0;

/** Without flock(1) on this machine that mode is the same as `neither`. */
export const TESTABLE_MODES = LOCK_MODES.filter(({ name }) => name !== "flock(1)" || hasFlockProgram);
