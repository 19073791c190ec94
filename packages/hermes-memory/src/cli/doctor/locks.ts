// File locks: whether the kernel honours them in this directory, and whether somebody holds one right now.
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { explainGap, lockPaths, MEMORY_TARGETS, targetPaths } from "@hermes-memory/core/curated";
import { memoriesDirectory } from "@hermes-memory/core/home";
import { describeCause, mutexPath, randomHex, tryWithFileLocks } from "@hermes-memory/core/lib";
import { isDirectory } from "../inspect-files.ts";
import { type Finding, fail, fine, warn } from "./finding.ts";
import type { Patient } from "./patient.ts";

export function checkLocks({ home }: Patient): Finding[] {
  const memories = memoriesDirectory(home);
  const directory = isDirectory(memories) ? memories : home;
  return [probe(directory), ...MEMORY_TARGETS.flatMap((target) => held(targetPaths(memories, target).file))];
}

/** Takes a lock and tries to take it again. Only where the second attempt is turned away does the lock mean anything. */
function probe(directory: string): Finding {
  const path = join(directory, `.doctor-${randomHex(6)}.lock`);
  try {
    const second = tryWithFileLocks([path], (gap) => ({
      gap,
      isRefused: !tryWithFileLocks([path], () => undefined).ok,
    }));
    const { gap, isRefused } = second.ok ? second.value : { gap: undefined, isRefused: false };
    if (gap) {
      const { message, remedy } = explainGap(gap);
      return warn("locks", `${directory}: ${message}`, remedy);
    }
    if (isRefused) return fine("locks", `File locks work in ${directory}.`);
    const remedy = "Let one process at a time write, or move the home to a local file system.";
    return warn(
      "locks",
      `File locks do not work in ${directory} (a second lock was granted); writes go without them.`,
      remedy,
    );
  } catch (cause) {
    const remedy = "Check that your user can create files there.";
    return fail("locks", `No lock file can be made in ${directory}: ${describeCause(cause)}.`, remedy);
  } finally {
    for (const each of [path, mutexPath(path)]) rmSync(each, { force: true });
  }
}

/** Opening a lock file makes it, so only those that are there are tried. */
function held(file: string): Finding[] {
  return lockPaths(file)
    .filter((path) => existsSync(path))
    .flatMap((path): Finding[] => {
      try {
        if (tryWithFileLocks([path], () => undefined).ok) return [];
        const remedy =
          "Usually over in a moment. If it stays, find the holder with 'fuser' or 'lsof' and end it.";
        return [warn("locks", `Another process holds ${path} right now.`, remedy)];
      } catch (cause) {
        const remedy = "Give the file to your user; every writer has to open it.";
        return [fail("locks", `${path} cannot be opened: ${describeCause(cause)}.`, remedy)];
      }
    });
}
